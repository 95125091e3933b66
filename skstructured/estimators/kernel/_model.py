"""Learning with kernels: what a linear model is, in the coefficients of rows."""

import numpy as np

from skstructured._base.exceptions import GuaranteeError
from skstructured._base.foreign import check_state
from skstructured._base.validation import check_finite, check_integer, dtype_of
from skstructured._engine.epoch import epoch_for
from skstructured._engine.rows import Rows
from skstructured._engine.state import LinearState
from skstructured._learners.gates import settled
from skstructured._learners.routing import routed
from skstructured._learners.scaling import scale_of
from skstructured.estimators.kernel._attributes import KernelAttributes
from skstructured.estimators.kernel._expansion import Expansion, block_move_and_score
from skstructured.estimators.kernel._foreign import (
    PrecomputedKernel,
    foreign_kernel,
    is_precomputed,
)
from skstructured.estimators.kernel._support import support_for
from skstructured.estimators.kernel._values import (
    BLOCK,
    check_cache_size,
    finite_scores,
    kernel_function,
    width_of,
)

#: Products of about a second: signals wait for the rows that take them.
PRODUCTS = 1 << 32

#: Methods that the linear model's own stand in for without a kernel.
with_kernel = routed(lambda: KernelModel, lambda learner: learner._expansion is not None)


class KernelModel(KernelAttributes):
    """`OnlineLinearModel` over φ(x), where <φ(x), φ(z)> = k(x, z); it stands before that class.

    Needs the parameters `kernel`, `gamma`, `degree`, `coef0` and `cache_size`, and may have
    `budget`.
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
        self._cache = check_cache_size(self.cache_size)
        self._averaged = bool(self.average)
        vector = check_state(optimizer, optimizer.init(self.loss_))
        self._state = LinearState(dim, 1, vector, (1, 0), self._averaged)
        self._scale = scale_of(self, self.n_features_in_, True, dtype_of(self))
        self._scale.used = self._scale.used and not is_precomputed(self.kernel)
        self._params, work = self.loss_.kernel_arguments(dim)
        self._work = work[None]
        self._expansion, self._given = self._new_expansion(), None

    def _new_expansion(self, Z=None):
        """One without rows; the kernel's width goes by the rows Z, where there are any."""
        dim, budget = self.space_.dim_, getattr(self, "budget", None)
        if budget is not None:
            check_integer("budget", budget, lowest=2)
            if is_precomputed(self.kernel):
                raise ValueError(
                    f"budget must be None with kernel='precomputed', which keeps no rows, got "
                    f"{budget!r}."
                )
        shape = ((1 + self._averaged) * dim, self.n_features_in_, dtype_of(self))
        return Expansion(dim, support_for(self._function(Z), *shape), budget)

    def _function(self, Z=None):
        """The kernel, with a width that goes by the rows Z, where there are any."""
        foreign = foreign_kernel(self.kernel, self._intercept)
        if foreign is not None:
            return foreign
        gamma = "multiscale" if self.gamma is None else self.gamma
        width = width_of(gamma, self.kernel, self.n_features_in_, Z)
        return kernel_function(self.kernel, width, self.coef0, self.degree, self._intercept)

    def _partial_fit(self, X, y, classes, sample_weight):
        if is_precomputed(self.kernel):
            raise ValueError(
                "kernel='precomputed' is for fit: rows of a stream have no columns in a matrix of "
                "kernels; give partial_fit the features, and a kernel or a callable."
            )
        super()._partial_fit(X, y, classes, sample_weight)

    @with_kernel
    def _check_outputs(self, rows, y, sample_weight=None, stream=False):
        if self._is_precomputed() and rows.n_rows != rows.width:
            raise ValueError(
                "kernel='precomputed' needs the square matrix of kernels of all pairs of training "
                f"rows, got X of shape {(rows.n_rows, rows.width)}."
            )
        check_finite(self, rows)  # of kernels of what is not, nothing can be seen any more
        if stream and not self._scale.used:
            self._check_overflow(rows)
        return super()._check_outputs(rows, y, sample_weight, stream)

    def _check_overflow(self, rows):
        """A ValueError for a row whose kernel with itself is too large, before any is learned."""
        longest = self._expansion.function.longest(dtype_of(self))
        bad = rows.first_bad(False, 0.0, longest)
        if bad >= 0:
            raise ValueError(
                f"Row {bad} of X is too large for kernel={self.kernel!r}, where norms are at most "
                f"{longest:.4g}: rescale the features, or give standardize=True."
            )

    def _is_precomputed(self):
        return isinstance(self._expansion.function, PrecomputedKernel)

    def _prepared(self, X):
        """Transformed rows as the kernel takes them."""
        X = X.toarray() if hasattr(X, "toarray") else X
        X = np.ascontiguousarray(X, dtype=dtype_of(self))
        return self._expansion.function.prepared(X)

    @with_kernel
    def _make_passes(self, rounds):
        if self._expansion.budget is not None and self.max_iter > 1:
            raise ValueError(
                "budget is for one pass, whose rows leave for good: set max_iter=1, or "
                f"budget=None, got max_iter={self.max_iter!r} and budget={self.budget!r}."
            )
        every = np.arange(rounds.rows.n_rows)
        self._scale.apply(rounds.rows, every, rounds.weight)
        self._given = self._prepared(self._scale.transformed(rounds.rows).matrix)
        self._expansion = self._new_expansion(self._given)
        if self.max_iter > 1:
            self._expansion.fill(self._given, self._cache)
        super()._make_passes(rounds)
        self._expansion.settle(len(every))
        self._given = None

    @with_kernel
    def _loop_for(self, rows):
        """The loop for rows of kernels, and how many it learns at a time."""
        optimizer = self.optimizer_
        steps = (optimizer.scale_kernel, optimizer.step_kernel)
        learn, size = epoch_for((block_move_and_score, self.loss_.kernel, *steps))
        slow = PRODUCTS // max(self._expansion.cost, 1)
        return learn, max(BLOCK, min(size, slow))

    @with_kernel
    def _learn_block(self, learn, rows, block, V, weight, theta):
        """Rows of weight 0 are played, and take no place, so that others fall into the same blocks.

        The place of the row that stopped it, or -1.
        """
        start, idle = 0, weight == 0.0
        changes = [*(np.flatnonzero(idle[1:] != idle[:-1]) + 1), len(block)]
        for change in changes:
            while start < change:
                most = change if idle[start] else min(change, start + self._expansion.room)
                part = slice(start, most)
                given = (block[part], V[part], weight[part], theta[part])
                one = self._pass_by if idle[start] else self._learn_part
                stopped = one(learn, rows, *given)
                if stopped >= 0:
                    return start + stopped
                start = most
        return -1

    def _pass_by(self, learn, rows, block, V, weight, theta):
        """Count rows of weight 0, whose scores count for nothing."""
        theta[:] = 0.0
        self._count(weight)
        return -1

    def _learn_part(self, learn, rows, block, V, weight, theta):
        """Learn rows that fit into the open block; the place of the one that stopped it, or -1."""
        taken, undo = self._take(rows, block, weight)
        self._state.Theta, self._state.by_feature = self._expansion.Theta, True
        stopped = learn(*taken, V, weight, self._state, self._params, self._work, theta)
        learned = len(block) if stopped < 0 else stopped
        if stopped >= 0 and self._given is None:
            undo()
            self._scale.apply(rows, block[:stopped], weight[:stopped])
        self._count(weight[:learned])
        lost = self._expansion.keep(learned)
        if lost != 0.0:
            self.optimizer_.forget(self._state.vector, lost)
        if stopped >= 0:
            self._check_length(taken[1][stopped], block[stopped])
        return stopped

    def _take(self, rows, block, weight):
        """Rows as `Expansion.take` gives them, and a function that uncounts them in the scale."""
        if self._given is not None:
            return self._expansion.take(self._given[block], block, together=True), None
        ready, places, undo = self._scale.apply(rows, block, weight)
        index = self._expansion.given + np.arange(len(block))
        try:
            Z = self._prepared(ready.matrix[places])
            return self._expansion.take(Z, block if self._is_precomputed() else index), undo
        except BaseException:  # of a function of the user's
            undo()
            raise

    def _check_length(self, place, row):
        """A ValueError if a row stopped the loop because k(x, x) is negative."""
        square = self._expansion.length_sq(place)
        if square < 0.0:
            raise ValueError(
                f"kernel={self.kernel!r} must be positive for a row with itself, got "
                f"k(x, x) = {square:.4g} for row {row} of X."
            )

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
        if self._is_precomputed():
            raise ValueError("kernel='precomputed' has no k(x, x) of a row that is not in X.")
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
        Z = self._prepared(self._scale.transformed(Rows.from_array(X)).matrix)
        return finite_scores(self._expansion.scores(self._coefficients(averaged), Z), self.kernel)

    @settled
    @with_kernel
    def _thetas(self, X):
        return self._kernel_scores(X, bool(self.average))

    def certificate(self, delta=None):
        """The theorem that bounds the target loss of the rounds seen so far.

        As `OnlineLearner.certificate`; a GuaranteeError too once rows have left for `budget`.
        """
        self._check_none_left()
        return super().certificate(delta)

    def _check_none_left(self):
        """A GuaranteeError once support rows have left."""
        expansion = getattr(self, "_expansion", None)
        if expansion is not None and expansion.forgotten > 0:
            raise GuaranteeError(
                f"No theorem is about rows that leave: {expansion.forgotten} did, for "
                f"budget={expansion.budget}; budget=None keeps them all."
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_precomputed(self.kernel)
        return tags
