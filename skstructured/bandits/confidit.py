"""Confidit: upper confidence bounds for every class."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from skstructured._base.parameters import Seed, parameters
from skstructured._base.shared_docs import documented
from skstructured._base.validation import check_positive, check_real
from skstructured._engine.compiled import kernel
from skstructured._learners.second_order import rotate_in, solve_transposed, solve_upper
from skstructured.bandits._rounds import mix_uniform
from skstructured.bandits._second_order import SecondOrderBandit
from skstructured.bandits.gaptron import BanditGaptronClassifier
from skstructured.estimators.online import OnlineStructuredPredictor
from skstructured.extend._types import Array, Features, Floats


@kernel
def solve_each(R, x, V, widths, u):
    """V_i = A_i⁻¹x and its width xᵀA_i⁻¹x for every class, A_i = R_iᵀR_i."""
    for i in range(R.shape[0]):
        widths[i] = solve_transposed(R[i], x, u)
        solve_upper(R[i], u, V[i])


@kernel
def widths_of(R, X, widths, u):
    """xᵀA_i⁻¹x of every row and class, into widths (n, K)."""
    for n in range(X.shape[0]):
        for i in range(R.shape[0]):
            widths[n, i] = solve_transposed(R[i], X[n], u)


def unit(Z):
    """Rows scaled to norm 1; zeros stay zeros."""
    norms = np.linalg.norm(Z, axis=1, keepdims=True)
    return Z / np.where(norms > 0.0, norms, 1.0)


@documented(BanditGaptronClassifier, OnlineStructuredPredictor)
@parameters
class ConfiditClassifier(SecondOrderBandit):
    r"""Confidit: upper confidence bounds for every class.

    Rows, standardised, are scaled to ‖x‖ = 1. Every class has ``A_i = (1+α)² I`` and w_i = 0; in a
    round ``w'_i = w_i + (clip(w_i·x, −α, 1) − w_i·x) A_i⁻¹x/(xᵀA_i⁻¹x)``, and the class of the
    largest ``w'_i·x + √(η xᵀA_i⁻¹x)`` is played, without randomization. s = 1 if it was right; else
    −1 with probability (1+α)/2, 1 otherwise. For the played class
    ``w ← (A + xxᵀ)⁻¹(A w' + sx)`` and ``A ← A + xxᵀ``.

    Parameters
    ----------
    alpha : float, default=1.0
        α in (−1, 1].
    eta : float, default=1.0
        η > 0, the width of the confidence bounds; tuned in practice.
    {BanditGaptronClassifier: classes}
    {OnlineStructuredPredictor: standardize}
    {BanditGaptronClassifier: fit_intercept, verbose, random_state, missing}

    Attributes
    ----------
    {BanditGaptronClassifier: classes_, missing_coef_, coef_, intercept_}
        They are those of rows that are scaled to norm 1 once they are standardised and have their
        intercept.
    {BanditGaptronClassifier: t_, n_mistakes_, n_features_in_, feature_names_in_}

    Notes
    -----
    No bound is stated. Its theorem assumes that labels are drawn from a linear model of the rows.

    References
    ----------
    Crammer, Gentile (2013), "Multiclass classification with bandit feedback using adaptive
    regularization".

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skstructured import ConfiditClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ConfiditClassifier(classes=[0, 1, 2], random_state=0)
    >>> actions, propensities = model.choose(X[:5])
    >>> model.update(X[:5], actions, actions == y[:5], propensities).t_
    5
    """

    draws = 2

    _no_theorem = "Its theorem assumes that labels are drawn from a linear model of the rows."

    alpha: float = 1.0
    eta: float = 1.0
    classes: ArrayLike | None = None
    standardize: bool | Literal["auto"] = "auto"
    fit_intercept: bool = True
    verbose: bool | int = 0
    random_state: Seed = None
    missing: Literal["mean", "indicator", "error"] = "mean"

    def _check_parameters(self):
        super()._check_parameters()
        check_positive("eta", self.eta)
        check_real("alpha", self.alpha, lambda v: -1.0 < v <= 1.0, "lie in (-1, 1]")

    def _setup(self, dim, width):
        self._W = np.zeros((dim, width))
        self._R = np.tile((1.0 + self.alpha) * np.eye(width), (dim, 1, 1))

    def _clipped(self, x):
        """w'·x of every class, xᵀA⁻¹x and A⁻¹x, for one unit row."""
        v, width, inner = np.empty(self._W.shape), np.empty(len(self._W)), self._W @ x
        solve_each(self._R, x, v, width, np.empty(len(x)))
        return np.clip(inner, -self.alpha, 1.0), inner, width, v

    def _scores_at(self, Z):
        return np.clip(unit(Z) @ self._W.T, -self.alpha, 1.0)

    def _bounds(self, X):
        """Upper confidence bounds (n, K) of the next rounds."""
        Z = unit(self._next(X))
        widths = np.empty((len(Z), len(self._W)))
        widths_of(self._R, Z, widths, np.empty(Z.shape[1]))
        return np.clip(Z @ self._W.T, -self.alpha, 1.0) + np.sqrt(self.eta * widths)

    def _distribution(self, theta, X):
        return mix_uniform(self._bounds(X), 0.0)

    def choose(self, X: Features, random_state: Seed = None) -> tuple[Array, Floats]:
        """Choose the class of the largest upper confidence bound; propensities are 1."""
        X = self._started(X)
        with self.lock:
            codes = np.argmax(self._bounds(X), axis=1)
        return self.classes_[codes], np.ones(len(codes))

    def replay(
        self, X: Features, actions: ArrayLike, rewards: ArrayLike, propensities: ArrayLike
    ) -> Floats:
        """Not available: without randomization there is no estimate from logged actions."""
        raise ValueError(
            "ConfiditClassifier does not use propensities and has no estimate on logged rounds."
        )

    def _round(self, z, truth, uniforms):
        """Play and learn one row; the position of the action, and its propensity, 1."""
        x = unit(z[None])[0]
        found = self._clipped(x)
        code = int(np.argmax(found[0] + np.sqrt(self.eta * found[2])))
        self._learn_one(x, found, code, code == truth, uniforms[1])
        return code, 1.0

    def _learn_at(self, Z, codes, rewards, propensities):
        uniforms = self.random_state_.random_sample((len(codes), 2))
        for x, code, reward, u in zip(unit(Z), codes, rewards, uniforms, strict=True):
            self._learn_one(x, self._clipped(x), code, reward == 1.0, u[1])

    def _learn_one(self, x, found, code, right, uniform):
        """Learn a unit row of which `_clipped` was `found`."""
        clipped, inner, width, v = found
        s = 1.0 if right or uniform < (1.0 - self.alpha) / 2.0 else -1.0
        touched = width > 0.0
        shift = np.divide(clipped - inner, width, out=np.zeros_like(inner), where=touched)
        self._W += shift[:, None] * v
        # A_new⁻¹(A w' + s x) = w' + (s − w'·x) A_new⁻¹ x, and A_new⁻¹ x = A⁻¹x/(1 + xᵀA⁻¹x).
        self._W[code] += (s - clipped[code]) / (1.0 + width[code]) * v[code]
        rotate_in(self._R[code], np.zeros(len(x)), x.copy(), 0.0)
