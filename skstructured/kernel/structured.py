"""The online learner with kernels over any output space."""

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
from skstructured.online import OnlineStructuredPredictor

__all__ = ["KernelStructuredPredictor"]

#: Products of about a second: signals wait for the rows that take them.
PRODUCTS = 1 << 32


class KernelStructuredPredictor(OnlineStructuredPredictor):
    r"""Predict classes, label sets, grades, matchings or rankings by kernels, with nothing to tune.

    The defaults are the place to start where rows are at most some ten thousands and classes are
    not told apart by a linear model: raw features in, no step size, no bandwidth, no C. Then choose
    `space` by what an output is; ``max_iter=100`` where passes still help; ``partial_fit`` for
    streams, whose rows are all kept.

    It is `OnlineStructuredPredictor` with θ_t = W_t φ(x_t), where <φ(x), φ(z)> = k(x, z): weights
    are ``W = s Σ_i β_i φ(x_i)ᵀ``, and a round costs a kernel with every row before it,

    .. math:: θ_t = s \sum_{i<t} β_i k(x_i, x_t), \quad β_t = u_t c(\hat y_Ω(θ_t) - y_t),

    with the scale s and the step u_t of the optimiser, for which ``‖φ(x)‖² = k(x, x)`` and scores
    are all that is to be known. What is proved of the linear learner holds, with norms of U in the
    space of the kernel. With `PiSTOL` it is the parameter-free kernel method of Orabona (2014).

    Parameters
    ----------
    space, regularizer : default="simplex", None
        As in `OnlineStructuredPredictor`.
    kernel : {"rbf", "laplacian", "linear", "poly", "sigmoid"}, default="rbf"
        k(x, z): ``exp(−γ‖x−z‖²)``, ``exp(−γ‖x−z‖₁)``, ``<x, z>``, ``(γ<x, z> + coef0)^degree``, or
        ``tanh(γ<x, z> + coef0)``, which is no kernel but used as one.
    gamma : float, "multiscale" or "scale", default="multiscale"
        γ. "multiscale" is for "rbf" the mean of three kernels, with γ/4, γ and 4γ, γ one over the
        median ‖x−z‖² of rows; for others it is "scale". "scale" is 1/(p v), v the variance of all
        numbers of X. `fit` takes median and variance from the rows as standardised; a stream, which
        cannot, takes 2p and 1, what they are for standardised features that are independent.
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=1.0
        Added in "poly" and "sigmoid".
    loss_scale, decoder, optimizer, average : default="theory", "randomized", "parameter_free", True
        As in `OnlineStructuredPredictor`; optimisers that move each feature by itself are refused.
    standardize : bool or "auto", default="auto"
        As in `OnlineStructuredPredictor` (CSR rows are divided by their columns' largest entries,
        not centred), but that `fit` knows all rows beforehand, and so takes
        their mean and deviation from the start.
    fit_intercept : bool, default=False
        Whether 1 is added to the kernel.
    max_iter : int, default=30
        Most passes of `fit`.
    cache_size : float, default=200
        Megabytes in which `fit` keeps the kernels of all pairs of rows between passes, in single
        precision; where they do not fit they are computed in every pass.
    tol : float or None, default=None
        As in `OnlineStructuredPredictor`; None makes all passes.
    shuffle, class_weight, verbose, random_state, constants
        As in `OnlineStructuredPredictor`.

    Attributes
    ----------
    support_vectors_ : ndarray of shape (n_support, p)
        Rows as they were transformed; after `fit` filled up with rows of zeros to a multiple of 64.
    dual_coef_ : ndarray of shape (dim, n_support)
        Their coefficients in what predicts: averaged with `average`, else the last.
    classes_, space_, loss_, optimizer_, t_, n_iter_, loss_curve_, n_features_in_, feature_names_in_
        As in `OnlineStructuredPredictor`.

    Raises
    ------
    ValueError
        When used: a parameter out of its range, an optimiser that moves each feature by itself, and
        as `OnlineStructuredPredictor`; the fitted state is then unchanged.

    Notes
    -----
    Memory: the rows, once more, and `cache_size` during `fit`. CSR rows are made dense. Kernels are
    computed by differences of rows and sums in one order, so that chunks of any size give the same
    bits, and offsets lose no digits.

    References
    ----------
    Orabona (2014), "Simultaneous model selection and optimization through parameter-free stochastic
    learning"; Sakaue, Bao, Tsuchiya, Oki (2024); Kivinen, Smola, Williamson (2004).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from skstructured import KernelStructuredPredictor
    >>> X, y = load_digits(return_X_y=True)
    >>> model = KernelStructuredPredictor(random_state=0).fit(X[:1000], y[:1000])
    >>> model.score(X[1000:], y[1000:]) > 0.95
    True
    """

    def __init__(
        self,
        space="simplex",
        regularizer=None,
        kernel="rbf",
        gamma="multiscale",
        degree=3,
        coef0=1.0,
        loss_scale="theory",
        decoder="randomized",
        optimizer="parameter_free",
        average=True,
        standardize="auto",
        fit_intercept=False,
        max_iter=30,
        tol=None,
        shuffle=True,
        class_weight=None,
        cache_size=200,
        verbose=0,
        random_state=None,
        constants="paper",
    ):
        self.space = space
        self.regularizer = regularizer
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.loss_scale = loss_scale
        self.decoder = decoder
        self.optimizer = optimizer
        self.average = average
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.cache_size = cache_size
        self.verbose = verbose
        self.random_state = random_state
        self.constants = constants

    def _start_state(self):
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
        width = width_of(self.gamma, self.kernel, self.n_features_in_, Z)
        return kernel_function(self.kernel, width, self.coef0, self.degree, self._intercept)

    def _check_outputs(self, rows, y, sample_weight=None, stream=False):
        check_finite(self, rows)  # of kernels of what is not, nothing can be seen any more
        return super()._check_outputs(rows, y, sample_weight, stream)

    def _make_passes(self, rounds):
        every = np.arange(rounds.rows.n_rows)
        self._scale.apply(rounds.rows, every, rounds.weight)
        self._given = _dense(self._scale.transformed(rounds.rows).matrix)
        self._expansion.function = self._function(self._given)
        self._expansion.support(self._given, self._cache if self.max_iter > 1 else 0.0)
        super()._make_passes(rounds)
        self._expansion.settle()
        self._given = None

    def _loop_for(self, rows):
        """The loop for rows of kernels, and how many it learns at a time."""
        optimizer = self.optimizer_
        steps = (optimizer.scale_kernel, optimizer.step_kernel)
        learn, size = epoch_for((block_move_and_score, self.loss_.kernel, *steps))
        slow = PRODUCTS // max(self._expansion.blocks.size, 1)
        return learn, max(BLOCK, min(size, slow))

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

    def play(self, rounds, which, random_state=None):
        """The `Losses` of rounds played with the last weights; nothing is learned."""
        theta = self._kernel_scores(rounds.X[which], False)
        return self._losses(theta, self._vertices(rounds.packed[which]), random_state)

    def play_average(self, rounds, which, random_state=None):
        """The `Losses` of rounds played with the average so far; nothing is learned."""
        if not self.average:
            return super().play_average(rounds, which, random_state)
        theta = self._thetas(rounds.X[which])
        return self._losses(theta, self._vertices(rounds.packed[which]), random_state)

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

    def _thetas(self, X):
        return self._kernel_scores(X, bool(self.average))

    @property
    def dual_coef_(self):
        """Coefficients (dim, n_support) of what predicts; set by `fit` or `partial_fit`."""
        self._fitted_state("dual_coef_ is")
        return self._coefficients(bool(self.average))

    @property
    def support_vectors_(self):
        """Rows (n_support, p) as they were transformed; set by `fit` or `partial_fit`."""
        self._fitted_state("support_vectors_ is")
        return self._expansion.support_rows

    def _no_weights(self):
        raise AttributeError("A kernel learner has dual_coef_ and support_vectors_, no weights.")

    coef_ = intercept_ = last_weights_ = average_weights_ = property(_no_weights)


def _dense(X):
    """Rows as a C-contiguous float64 array."""
    X = X.toarray() if hasattr(X, "toarray") else X
    return np.ascontiguousarray(X, dtype=np.float64)
