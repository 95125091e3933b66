"""SOBA, and the second-order Perceptron that it becomes with full information."""

import math

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from skstructured._compiled import kernel
from skstructured._learning import exclusive, uninterrupted
from skstructured._validation import (
    check_finite,
    check_positive,
    own_arrays,
    read_rows,
    unchanged_on_error,
)
from skstructured._weights import LinearWeights
from skstructured.bandits._rounds import spread
from skstructured.bandits._second_order import (
    SecondOrderBandit,
    along,
    expand,
    reduce_term,
    rotate_in,
    solve_transposed,
    solve_upper,
)
from skstructured.learner import Losses, OnlineLearner, Rounds
from skstructured.spaces import Simplex
from skstructured.surrogates import best_other


@kernel
def soba_update(R, r, basis, W, sums, theta, x, right, p, z, u, g):
    """One correct round: g = z/√p', z = (e_ȳ − e_right) ⊗ x/√p', ȳ the best other class.

    ``m = (<W,z>² + 2<W,g>)/(1 + zᵀA⁻¹z)``; where m + Σ m_s over earlier updates is not negative,
    ``A ← A + zzᵀ`` and ``b ← b − g = b − z/√p'``, and ``W ← A⁻¹b``; see `reduce_term`, `rotate_in`.
    """
    root = np.sqrt(p)
    for k in range(g.shape[0]):
        g[k] = 0.0
    g[best_other(theta, right)], g[right] = 1.0 / root, -1.0 / root
    inner = along(W, g, x)
    reduce_term(basis, g, x, z)
    q = solve_transposed(R, z, u)
    m = (inner * inner + 2.0 * inner / root) / (1.0 + q)
    if m + sums[0] < 0.0:
        return
    sums[0] += m
    sums[1] += q / (p * (1.0 + q))
    rotate_in(R, r, z, -1.0 / root)
    solve_upper(R, r, u)
    expand(basis, u, W)


class SOBAClassifier(SecondOrderBandit):
    r"""SOBA: a second-order Perceptron with bandit feedback.

    Plays ``(1 − ρ) e_{y*} + ρ/K``. Only where the choice ỹ was right, with
    ``g = (e_ȳ − e_ỹ) ⊗ x/p'`` (ȳ the best other class), ``z = √p' g`` and
    ``m = (<W,z>² + 2<W,g>)/(1 + zᵀA⁻¹z)``: if m plus the m of earlier updates is not negative,
    ``A ← A + zzᵀ``, ``b ← b − g``, ``W = A⁻¹b``; A starts at a·I.

    Parameters
    ----------
    a : float, default=1.0
        Regularization.
    exploration : float or None, default=None
        ρ; None is ``min(½, √(K/T))``: the order T^{−1/2} of the theorem, with a constant of ours.
    horizon : int or None, default=None
        T of the default ρ; None takes the round.
    classes, fit_intercept, random_state
        As in `BanditGaptronClassifier`.

    Attributes
    ----------
    classes_, coef_, intercept_, t_, n_mistakes_, n_features_in_, feature_names_in_
        As in `BanditGaptronClassifier`.

    Notes
    -----
    ``Σ m = min_U [a‖U‖² + Σ(2<U,g> + <U,z>²)] + Σ q/(p'(1+q))``, q = zᵀA⁻¹z, over updates: an
    identity, which fixes the √p'.

    References
    ----------
    Beygelzimer, Orabona, Zhang (2017), "Efficient online bandit multiclass learning with Õ(√T)
    regret".
    """

    def __init__(
        self,
        a=1.0,
        exploration=None,
        horizon=None,
        classes=None,
        fit_intercept=True,
        random_state=None,
    ):
        self.a = a
        self.exploration = exploration
        self.horizon = horizon
        self.classes = classes
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _check_parameters(self):
        super()._check_parameters()
        self._regularization_root()

    def _regularization_root(self):
        return math.sqrt(check_positive("a", self.a))

    def _setup(self, dim, width):
        super()._setup(dim, width)
        size, self._basis = (dim - 1) * width, np.zeros((dim - 1, dim))
        self._R, self._r, self._sums = math.sqrt(self.a) * np.eye(size), np.zeros(size), np.zeros(2)
        self._work = (np.empty(size), np.empty(size), np.empty(dim))

    def _distribution(self, theta, X):
        return spread(theta, self._rho())

    def _learn_rows(self, X, codes, rewards, propensities):
        X = np.ascontiguousarray(self._dense(X))
        theta, W = X @ self._W.T, self._W.reshape(-1)
        for i in np.flatnonzero(rewards):
            arrays = (self._R, self._r, self._basis, W, self._sums, theta[i], X[i])
            soba_update(*arrays, codes[i], propensities[i], *self._work)


class SecondOrderPerceptron(LinearWeights, OnlineLearner, ClassifierMixin, BaseEstimator):
    r"""The multiclass second-order Perceptron, with full information.

    `SOBAClassifier` with p' = 1 and the true label always revealed: ``g = z = (e_ȳ − e_y) ⊗ x``, ȳ
    the best class other than y, and the same rule for when to update.

    Parameters
    ----------
    a : float, default=1.0
        Regularization: A starts at a·I.
    fit_intercept : bool, default=True
        Append a constant feature 1.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels.
    coef_, intercept_ : ndarray
        Weights.
    t_ : int
        Rounds learned.
    n_mistakes_ : int
        Mistakes on the way.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    References
    ----------
    Cesa-Bianchi, Conconi, Gentile (2005), "A second-order Perceptron algorithm"; the multiclass
    form is that of Beygelzimer, Orabona, Zhang (2017).
    """

    def __init__(self, a=1.0, fit_intercept=True):
        self.a = a
        self.fit_intercept = fit_intercept

    @property
    def longest_row(self):
        """As for `SOBAClassifier`."""
        return SOBAClassifier(self.a).longest_row

    @exclusive
    def fit(self, X, y):
        """Learn one pass from scratch; returns self."""
        with unchanged_on_error(self):
            X, rows = read_rows(self, X, reset=True)
            check_finite(self, X, rows)
            self._start(Simplex().fit(y))
            return self._learn(X, self._core._check_labels(rows, y))

    @exclusive
    def partial_fit(self, X, y, classes=None):
        """Learn rows in order, one round each; `classes` on the first call. Returns self."""
        with unchanged_on_error(self):
            first = not hasattr(self, "_core")
            X, rows = read_rows(self, X, reset=first)
            check_finite(self, X, rows)
            if first:
                self._start(Simplex().fit_stream(y, classes))
            codes = self._core._check_labels(rows, y)
        own_arrays(self._core)
        return self._learn(X, codes)

    def begin(self, X, y, classes=None):
        """Start a stream whose classes are `classes` or those of y; its `Rounds`."""
        with unchanged_on_error(self):
            X, rows = read_rows(self, X, reset=True)
            check_finite(self, X, rows)
            self._start(Simplex().fit(y if classes is None else classes))
            codes = self._core._check_labels(rows, y)
        return Rounds(X, rows, codes, np.ones(len(codes)))

    def play(self, rounds, which, random_state=None):
        """The `Losses` of the classes of the largest scores: mistakes, which it also corrects."""
        best = np.argmax(self._core._thetas(rounds.X[which]), axis=1)
        mistakes = (best != rounds.packed[which]).astype(np.float64)
        return Losses(mistakes, mistakes, np.full(len(mistakes), np.nan))

    def learn(self, rounds, which):
        """Learn rounds in the order of `which`."""
        self._learn(rounds.X[which], rounds.packed[which])

    def expected_losses(self, x, V):
        """Mistakes (m,) of the next prediction at x (1, p) against each vertex (m, K)."""
        return 1.0 - V[:, np.argmax(self._core._thetas(x)[0])]

    def _start(self, space):
        """Weights and matrix are those of a `SOBAClassifier` that never plays."""
        core = SOBAClassifier(self.a, fit_intercept=self.fit_intercept)
        core.n_features_in_ = self.n_features_in_
        core._start(space)
        self._core, self.classes_, self.t_, self.n_mistakes_ = core, space.classes_, 0, 0

    def _learn(self, X, codes):
        core, X = self._core, np.ascontiguousarray(self._core._dense(X))
        W = core._W.reshape(-1)
        for x, code in zip(X, codes, strict=True):
            theta = core._W @ x
            arrays = (core._R, core._r, core._basis, W, core._sums, theta, x)
            with uninterrupted():
                self.n_mistakes_ += int(np.argmax(theta) != code)
                soba_update(*arrays, code, 1.0, *core._work)
                self.t_ += 1
        return self

    def decision_function(self, X):
        """Scores of the classes, (n, K); with two classes their difference, (n,)."""
        theta = self._thetas(X)
        return theta[:, 1] - theta[:, 0] if theta.shape[1] == 2 else theta

    def predict(self, X):
        """The class of the largest score of every row."""
        best = np.argmax(self._thetas(X), axis=1)
        return self.classes_[best]

    def _thetas(self, X):
        check_is_fitted(self, "classes_")
        X, rows = read_rows(self, X)
        check_finite(self, X, rows)
        return self._core._thetas(X)

    def _weights(self):
        return self._core._weights()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
