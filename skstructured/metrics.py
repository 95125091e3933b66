"""Metrics of label rankings, and scorers.

Scorers, for ``scoring=`` of `GridSearchCV` and `cross_val_score`:

- `kendall_tau_scorer`, `spearman_rho_scorer`: agreement of rankings, positions or ranks;
- `ndcg_scorer`: NDCG of rankings, positions ("birkhoff") or ranks ("permutahedron");
- `expected_target_loss_scorer`: minus the exact expected target loss of the outputs of `sample`.

Pass the objects themselves, ``scoring=ndcg_scorer``, or several as a dictionary,
``scoring={"tau": kendall_tau_scorer, "ndcg": ndcg_scorer}``. There are no strings for them, because
scikit-learn's ``get_scorer`` accepts only its own names and cannot be extended.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import make_scorer

from skstructured._base.pipelines import final_learner
from skstructured._base.validation import check_choice, weighted_mean
from skstructured.extend._types import Features, Floats, Given, Ints, Outputs
from skstructured.spaces.permutahedron import relevances

__all__ = [
    "as_positions",
    "as_ranks",
    "expected_target_loss_scorer",
    "kendall_tau",
    "kendall_tau_scorer",
    "ndcg",
    "ndcg_of_rankings",
    "ndcg_scorer",
    "spearman_rho",
    "spearman_rho_scorer",
]


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
    spearman_rho : Squared differences of positions instead of pairs.
    ndcg_of_rankings : A score that gives the first items more weight.
    scipy.stats.kendalltau : The same for grades and scores with ties.
    """
    a, b = _two_rankings(y_pred, y_true)
    i, j = np.triu_indices(a.shape[1], 1)
    tau = (np.sign(a[:, i] - a[:, j]) * np.sign(b[:, i] - b[:, j])).mean(axis=1)
    return float(tau.mean()) if average else tau


def spearman_rho(y_pred: ArrayLike, y_true: ArrayLike, average: bool = False) -> Floats | float:
    """Compute Spearman's ρ of each pair of rankings without ties.

    ``ρ = 1 − 6 Σ (a − b)²/(m(m²−1))``. It equals 1 − 2L for the target loss L of `Permutahedron`.

    Parameters
    ----------
    y_pred, y_true : array-like of shape (n, m)
        Positions or ranks, both in the same sense.
    average : bool, default=False
        Whether to return the mean over the pairs, a number, as scorers of scikit-learn need it:
        ``make_scorer(spearman_rho, average=True)`` is `spearman_rho_scorer`.

    Returns
    -------
    ndarray of shape (n,) or float, in [−1, 1]

    See Also
    --------
    kendall_tau : Pairs in the same order instead of squared differences.
    ndcg_of_rankings : A score that gives the first items more weight.
    """
    a, b = _two_rankings(y_pred, y_true)
    m = a.shape[1]
    rho = 1.0 - 6.0 * ((a - b) ** 2).sum(axis=1) / (m * (m**2 - 1))
    return float(rho.mean()) if average else rho


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


def gains(relevance, gain):
    """Gains of relevances: 2^relevance − 1 ("exponential") or the relevance ("linear")."""
    check_choice("gain", gain, ("exponential", "linear"))
    relevance = np.asarray(relevance, dtype=np.float64)
    return relevance if gain == "linear" else np.exp2(relevance) - 1.0


def ndcg(y_pred: ArrayLike, relevance: ArrayLike, gain: str = "exponential") -> Floats:
    """Compute the normalized discounted cumulative gain (NDCG) of each predicted ranking.

    It is ``Σ_j gain_j / log2(2 + position_j)``, divided by its largest value, and 1 if no item is
    relevant. It is affine in the permutation matrix P of the prediction:
    ``<P, gain ⊗ discount>``.

    Parameters
    ----------
    y_pred : array-like of shape (n, m)
        Position of each item, 0 = first.
    relevance : array-like of shape (n, m)
        Non-negative relevance of each item.
    gain : {"exponential", "linear"}, default="exponential"
        Whether an item gains 2^relevance − 1 or its relevance.

    Returns
    -------
    ndarray of shape (n,), in [0, 1]

    Raises
    ------
    ValueError
        If a row of y_pred does not have each of 0 … m − 1 once; the message names the row.

    See Also
    --------
    ndcg_of_rankings : The same for true outputs that are rankings.
    skstructured.items.metrics.ndcg : The same for grades and scores, in groups of any size.

    Notes
    -----
    The second argument is not a ranking, so ``make_scorer(ndcg)`` would mix up the arguments. If
    the outputs y are rankings, use `ndcg_scorer` or `ndcg_of_rankings`. NDCG is defined in [1]_;
    the affine form is that of [2]_.

    References
    ----------
    .. [1] Järvelin, Kekäläinen (2002), "Cumulated gain-based evaluation of IR techniques".
    .. [2] Blondel (2019), "Structured prediction with projection oracles".
    """
    worth, discount = gains(relevance, gain), 1.0 / np.log2(np.arange(np.shape(y_pred)[1]) + 2.0)
    reached = (worth * discount[_positions(y_pred)]).sum(axis=1)
    best = (-np.sort(-worth, axis=1) * discount).sum(axis=1)
    share = np.divide(reached, best, out=np.ones_like(best), where=best > 0)
    return np.minimum(share, 1.0)  # both sums are rounded, in different orders


def _positions(y_pred):
    """Rows of positions; a ValueError unless each is a permutation."""
    y_pred = np.asarray(y_pred)
    right = (np.sort(y_pred, axis=1) == np.arange(y_pred.shape[1])).all(axis=1)
    if not right.all():
        raise ValueError(
            f"Row {int(np.argmin(right))} of y_pred must have each of the positions 0 to "
            f"{y_pred.shape[1] - 1} once. For grades and scores use "
            "skstructured.items.metrics.ndcg."
        )
    return y_pred.astype(np.intp)


def ndcg_of_rankings(
    y_true: ArrayLike, y_pred: ArrayLike, gain: str = "exponential", average: bool = False
) -> Floats | float:
    """Compute the NDCG of each predicted ranking if the true outputs are rankings too.

    The relevance of an item is the number of items behind it in the true ranking: m − 1 for the
    first item, 0 for the last. The score is then that of `ndcg`.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n, m)
        Rankings as outputs of a space: positions 0 … m−1, 0 = first ("birkhoff"), or ranks 1 … m,
        m = best ("permutahedron"). The smallest number of each array decides which of them it has.
    gain : {"exponential", "linear"}, default="exponential"
        Whether an item gains 2^relevance − 1 or its relevance. With exponential gains the first
        few items decide; they overflow float64 with more than 1000 items.
    average : bool, default=False
        Whether to return the mean over the rankings, a number, as scorers of scikit-learn need it:
        ``make_scorer(ndcg_of_rankings, average=True)`` is `ndcg_scorer`, and
        ``make_scorer(ndcg_of_rankings, gain="linear", average=True)`` the one with linear gains.

    Returns
    -------
    ndarray of shape (n,) or float, in [0, 1]

    Raises
    ------
    ValueError
        If a row is not a permutation (the message names it), if the shapes differ, or if the gain
        is unknown.

    See Also
    --------
    ndcg : The same for given relevances.
    kendall_tau, spearman_rho : Scores in which all items have the same weight.

    References
    ----------
    Järvelin, Kekäläinen (2002), "Cumulated gain-based evaluation of IR techniques".

    Examples
    --------
    >>> from skstructured.metrics import ndcg_of_rankings
    >>> ndcg_of_rankings([[0, 1, 2]], [[0, 1, 2]])
    array([1.])
    >>> ndcg_of_rankings([[3, 2, 1]], [[3, 1, 2]], gain="linear").round(4)  # ranks
    array([0.9502])
    """
    truth, guess = relevances("y_true", y_true), relevances("y_pred", y_pred)
    if truth.shape != guess.shape:
        raise ValueError(
            f"y_true and y_pred must have the same shape, got {truth.shape} and {guess.shape}."
        )
    values = ndcg(truth.shape[1] - 1 - guess, truth, gain)
    return float(values.mean()) if average else values


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
    behind = relevances("y", y)
    return behind.shape[1] - 1 - behind


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
    return relevances("y", y) + 1


#: Mean Kendall's τ, Spearman's ρ and NDCG of predicted rankings.
kendall_tau_scorer = make_scorer(kendall_tau, average=True)
spearman_rho_scorer = make_scorer(spearman_rho, average=True)
ndcg_scorer = make_scorer(ndcg_of_rankings, average=True)


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
    ndcg_scorer, kendall_tau_scorer : Scorers of predicted rankings.
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
