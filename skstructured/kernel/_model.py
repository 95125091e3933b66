"""Learning with kernels: what a linear model is, in the coefficients of rows."""

import functools

import numpy as np

from skstructured._engine.epoch import epoch_for
from skstructured._engine.rows import Rows
from skstructured._engine.state import LinearState
from skstructured._foreign import check_state
from skstructured._learners.scaling import scale_of
from skstructured._validation import check_finite, check_real
from skstructured.exceptions import GuaranteeError
from skstructured.kernel._expansion import Expansion, block_move_and_score
from skstructured.kernel._values import BLOCK, kernel_function, width_of

#: Products of about a second: signals wait for the rows that take them.
PRODUCTS = 1 << 32


def with_kernel(method):
    """A method of `KernelModel` that the linear model's own takes the place of without a kernel."""

    @functools.wraps(method)
    def chosen(self, *args, **kwargs):
        if self._expansion is not None:
            return method(self, *args, **kwargs)
        return getattr(super(KernelModel, self), method.__name__)(*args, **kwargs)

    return chosen


class KernelModel:
    """`OnlineLinearModel` over φ(x), where <φ(x), φ(z)> = k(x, z); it stands before that class.

    Needs the parameters `kernel`, `gamma`, `degree`, `coef0` and `cache_size`.
    """

    def _in_primal(self):
        """Whether weights are a matrix, because the kernel is linear, and all is as there."""
        return False

    def _start_state(self):
        if self._in_primal():
            self._expansion = None
            super()._start_state()
            return
        optimizer, dim = self.optimizer_, self.space_.dim_
        if optimizer.keeps_average or optimizer.blocks != (1, 0):
            raise ValueError(
                f"optimizer={optimizer!r} moves every feature by itself; kernels have none."
            )
        self._cache = (
            check_real("cache_size", self.cache_size, lambda v: v >= 0.0, "be at least 0") * 2**20
        )
        self._averaged = bool(self.average)
        vector = check_state(optimizer, optimizer.init(self.loss_))
        self._state = LinearState(dim, 1, vector, (1, 0), self._averaged)
        self._scale = scale_of(self, self.n_features_in_, True)
        self._params, work = self.loss_.kernel_arguments(dim)
        self._work = work[None]
        self._expansion = Expansion(dim, self.n_features_in_, self._averaged, self._function())
        self._given = None

    def _function(self, Z=None):
        """The kernel, with a width that goes by the rows Z, where there are any."""
        gamma = "multiscale" if self.gamma is None else self.gamma
        width = width_of(gamma, self.kernel, self.n_features_in_, Z)
        return kernel_function(self.kernel, width, self.coef0, self.degree, self._intercept)

    @with_kernel
    def _check_outputs(self, rows, y, sample_weight=None, stream=False):
        check_finite(self, rows)  # of kernels of what is not, nothing can be seen any more
        return super()._check_outputs(rows, y, sample_weight, stream)

    @with_kernel
    def _make_passes(self, rounds):
        every = np.arange(rounds.rows.n_rows)
        self._scale.apply(rounds.rows, every, rounds.weight)
        self._given = _dense(self._scale.transformed(rounds.rows).matrix)
        self._expansion.function = self._function(self._given)
        self._expansion.support(self._given, self._cache if self.max_iter > 1 else 0.0)
        super()._make_passes(rounds)
        self._expansion.settle()
        self._given = None

    @with_kernel
    def _loop_for(self, rows):
        """The loop for rows of kernels, and how many it learns at a time."""
        optimizer = self.optimizer_
        steps = (optimizer.scale_kernel, optimizer.step_kernel)
        learn, size = epoch_for((block_move_and_score, self.loss_.kernel, *steps))
        slow = PRODUCTS // max(self._expansion.blocks.size, 1)
        return learn, max(BLOCK, min(size, slow))

    @with_kernel
    def _learn_block(self, learn, rows, block, V, weight, theta):
        start = 0
        while start < len(block):
            part = slice(start, start + self._expansion.room)
            given = (block[part], V[part], weight[part], theta[part])
            stopped = self._learn_part(learn, rows, *given)
            if stopped >= 0:
                return start + stopped
            start += len(block[part])
        return -1

    def _learn_part(self, learn, rows, block, V, weight, theta):
        """Learn rows that fit into the open block; the place of the one that stopped it, or -1."""
        if self._given is None:
            ready, places, undo = self._scale.apply(rows, block, weight)
            taken = self._expansion.take(_dense(ready.matrix[places]))
        else:
            taken = self._expansion.take(self._given[block], block)
        self._state.Theta, self._state.by_feature = self._expansion.Theta, True
        stopped = learn(*taken, V, weight, self._state, self._params, self._work, theta)
        learned = len(block) if stopped < 0 else stopped
        if stopped >= 0 and self._given is None:
            undo()
            self._scale.apply(rows, block[:stopped], weight[:stopped])
        self._expansion.keep(learned)
        self._count(weight[:learned])
        return stopped

    @with_kernel
    def play(self, rounds, which, random_state=None):
        """The `Losses` of rounds played with the last weights; nothing is learned."""
        theta = self._kernel_scores(rounds.X[which], False)
        return self._losses(theta, self._vertices(rounds.packed[which]), random_state)

    @with_kernel
    def play_average(self, rounds, which, random_state=None):
        """The `Losses` of rounds played with the average so far; nothing is learned."""
        if not self.average:
            return super().play_average(rounds, which, random_state)
        theta = self._thetas(rounds.X[which])
        return self._losses(theta, self._vertices(rounds.packed[which]), random_state)

    @with_kernel
    def expected_losses(self, x, V):
        """Expected target losses (m,) of the next play at x (1, p) against each vertex (m, dim)."""
        twin, theta = self._twin(), np.empty((1, self.space_.dim_))
        rows, one = Rows.from_array(x), np.arange(1)
        weight = self._weights_of_rounds(np.ones(1), one)
        learn, _ = twin._loop_for(rows)
        twin._learn_block(learn, rows, one, np.array(V[:1]), weight, theta)
        same = [np.repeat(row, len(V), axis=0) for row in (theta, self.loss_.mean(theta))]
        return self._decoder().expected_loss(*same, V, self.loss_)

    def _twin(self):
        """A learner that is where this one is, and learns by itself."""
        twin = object.__new__(type(self))
        vars(twin).update(vars(self))
        for name in ("_state", "_scale", "_expansion"):
            setattr(twin, name, getattr(self, name).copy())
        twin._work = self._work.copy()
        return twin

    @with_kernel
    def comparison(self, rounds):
        """No comparator can be found by search: a GuaranteeError says what to use."""
        raise GuaranteeError(
            "Comparators of a kernel learner are functions: use certificate().bound(loss, norm) "
            "with the surrogate loss and the norm of one."
        )

    def _coefficients(self, averaged):
        """Coefficients (dim, n_support) of what predicts."""
        coefs, vector, dim = self._expansion.current(), self._state.vector, self.space_.dim_
        if averaged:
            return self.optimizer_.average_weights(coefs[:dim], coefs[dim:], vector, dim)
        return self.optimizer_.weights(coefs[:dim], vector, dim)

    def _kernel_scores(self, X, averaged):
        Z = _dense(self._scale.transformed(Rows.from_array(X)).matrix)
        return self._expansion.scores(self._coefficients(averaged), Z)

    @with_kernel
    def _thetas(self, X):
        return self._kernel_scores(X, bool(self.average))

    @property
    def dual_coef_(self):
        """Coefficients (dim, n_support) of what predicts; set by `fit` or `partial_fit`."""
        self._fitted_expansion("dual_coef_ is")
        return self._coefficients(bool(self.average))

    @property
    def support_vectors_(self):
        """Rows (n_support, p) as they were transformed; set by `fit` or `partial_fit`."""
        return self._fitted_expansion("support_vectors_ is").support_rows

    def _fitted_expansion(self, what):
        self._fitted_state(what)
        if self._expansion is None:
            raise AttributeError("With a linear kernel there are coef_ and intercept_.")
        return self._expansion

    def _without_kernel(name):
        """The linear model's attribute, which a learner with a kernel has not."""

        def read(self):
            if getattr(self, "_expansion", None) is not None:
                raise AttributeError(
                    "A kernel learner has dual_coef_ and support_vectors_, no weights."
                )
            return getattr(super(), name)

        return property(read)

    coef_, intercept_ = _without_kernel("coef_"), _without_kernel("intercept_")
    last_weights_ = _without_kernel("last_weights_")
    average_weights_ = _without_kernel("average_weights_")


def _dense(X):
    """Rows as a C-contiguous float64 array."""
    X = X.toarray() if hasattr(X, "toarray") else X
    return np.ascontiguousarray(X, dtype=np.float64)
