"""Metrics of label rankings, and scorers.

Scorers, for ``scoring=`` of `GridSearchCV` and `cross_val_score`:

- `kendall_tau_scorer`: agreement of rankings, positions or ranks;
- `expected_target_loss_scorer`: minus the exact expected target loss of the outputs of `sample`.

Pass the objects themselves, ``scoring=kendall_tau_scorer``. There are no strings for them, because
scikit-learn's ``get_scorer`` accepts only its own names and cannot be extended.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import make_scorer
from sklearn.pipeline import Pipeline

from skstructured._base.validation import weighted_mean
from skstructured.extend._types import Features, Floats, Given, Ints, Outputs
from skstructured.spaces.permutahedron import relevances

__all__ = [
    "as_positions",
    "as_ranks",
    "expected_target_loss_scorer",
    "kendall_tau",
    "kendall_tau_scorer",
]


def final_learner(estimator: Any, X: Any = None) -> tuple[Any, Any]:
    """The fitted learner at the end of searches and pipelines, and the X that it receives."""
    if hasattr(estimator, "best_estimator_"):
        return final_learner(estimator.best_estimator_, X)
    if isinstance(estimator, Pipeline):
        if X is not None and len(estimator) > 1:
            X = estimator[:-1].transform(X)
        return final_learner(estimator[-1], X)
    return estimator, X


def kendall_tau(y_pred: ArrayLike, y_true: ArrayLike, average: bool = False) -> Floats | float:
    """Compute Kendall's τ of each pair of rankings.

    τ is the share of pairs of items in the same order minus the share in the opposite order. A tied
    pair counts as 0, so τ is the mean over the orders of tied items.

    Parameters
    ----------
    y_pred, y_true : array-like of shape (n, m)
        Positions or ranks, both in the same sense.
    average : bool, default=False
        Whether to return the mean over the pairs, a number, as scorers of scikit-learn need it:
        ``make_scorer(kendall_tau, average=True)`` is `kendall_tau_scorer`.

    Returns
    -------
    ndarray of shape (n,) or float, in [−1, 1]

    See Also
    --------
    skstructured.spaces.Permutahedron : Spearman's ρ is 1 − 2L for its target loss L.
    skstructured.items.metrics.ndcg : A score of graded items that gives the first more weight.
    scipy.stats.kendalltau : The same for grades and scores with ties.
    """
    a, b = _two_rankings(y_pred, y_true)
    i, j = np.triu_indices(a.shape[1], 1)
    tau = (np.sign(a[:, i] - a[:, j]) * np.sign(b[:, i] - b[:, j])).mean(axis=1)
    return float(tau.mean()) if average else tau


def _two_rankings(a, b):
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if a.ndim != 2 or a.shape != b.shape or a.shape[1] < 2:
        raise ValueError(
            f"Rankings must have the same shape (n, m) with m ≥ 2, got {a.shape} and {b.shape}."
        )
    if np.isnan(a).any() or np.isnan(b).any():
        raise ValueError(
            "Rankings must not contain NaN. Complete ranks, of which the largest is the best, by "
            "scipy.stats.rankdata(np.nan_to_num(y, nan=-np.inf), axis=1)."
        )
    return a, b


def as_positions(y: ArrayLike) -> Ints:
    """Convert rankings to positions, the outputs of "birkhoff".

    Parameters
    ----------
    y : array-like of shape (n, m)
        Ranks 1 … m, m for the best, or positions 0 … m − 1, 0 for the first.

    Returns
    -------
    ndarray of shape (n, m)
        Positions: m minus the ranks.

    Raises
    ------
    ValueError
        If a row is neither.

    See Also
    --------
    as_ranks : The other way around.
    skstructured.spaces.Birkhoff : The space whose outputs are positions.

    Examples
    --------
    >>> from skstructured.metrics import as_positions, as_ranks
    >>> as_positions([[3, 1, 2]]), as_ranks([[0, 2, 1]])
    (array([[0, 2, 1]]), array([[3, 1, 2]]))
    """
    relevance = relevances(y)
    return relevance.shape[1] - 1 - relevance


def as_ranks(y: ArrayLike) -> Ints:
    """Convert rankings to ranks, the outputs of "permutahedron".

    Parameters
    ----------
    y : array-like of shape (n, m)
        Positions 0 … m − 1, 0 for the first, or ranks 1 … m, m for the best.

    Returns
    -------
    ndarray of shape (n, m)
        Ranks: m minus the positions.

    Raises
    ------
    ValueError
        If a row is neither.

    See Also
    --------
    as_positions : The other way around.
    skstructured.spaces.Permutahedron : The space whose outputs are ranks.
    """
    return relevances(y) + 1


#: Mean Kendall's τ of predicted rankings.
kendall_tau_scorer = make_scorer(kendall_tau, average=True)


def expected_target_loss_scorer(
    estimator: Any, X: Features, y: Outputs, sample_weight: Given = None
) -> float:
    """Score an estimator by minus the mean expected target loss of `sample`, for ``scoring=``.

    The expectation is exact. `score` uses `predict`, which is the same for several decoders, for
    example for all on the simplex; a grid search over ``decoder`` needs this scorer.

    Parameters
    ----------
    estimator : estimator
        A fitted learner with `expected_target_loss`, or a pipeline or search that ends in one.
    X : {array-like, sparse matrix} of shape (n, p)
        Features.
    y : array-like
        Outputs in the form of the learner's space.
    sample_weight : array-like of shape (n,) or None, default=None
        Non-negative weights of the rows.

    Returns
    -------
    float in [−1, 0]

    Raises
    ------
    TypeError
        If the estimator has no `expected_target_loss`.
    ValueError
        If weights are negative or all zero, and as ``estimator.expected_target_loss``.

    See Also
    --------
    kendall_tau_scorer : The mean Kendall's τ of predicted rankings.
    skstructured.evaluation.progressive_validate : Expected target losses along a stream.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skstructured import OnlineStructuredPredictor
    >>> from skstructured.metrics import expected_target_loss_scorer
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OnlineStructuredPredictor(shuffle=True, random_state=0)
    >>> grid = {"decoder": ["randomized", "sampled"]}
    >>> search = GridSearchCV(model, grid, scoring=expected_target_loss_scorer).fit(X, y)
    >>> search.best_params_
    {'decoder': 'randomized'}
    """
    learner, X = final_learner(estimator, X)
    if not hasattr(learner, "expected_target_loss"):
        raise TypeError(
            f"{type(learner).__name__} has no expected_target_loss; use a learner of skstructured "
            "that has sample."
        )
    return -weighted_mean(learner.expected_target_loss(X, y), sample_weight)
