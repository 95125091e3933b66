"""Metrics of rankings of the items of rounds: NDCG, MAP, MRR and Kendall's τ-b.

For a grid search use scikit-learn's ``make_scorer(ndcg, k=10)``, with
``set_score_request(qid=True)`` to pass the rounds.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import ndcg_score

from skstructured._base.validation import check_integer, check_lengths, weighted_mean
from skstructured.extend._types import Floats, Given
from skstructured.items._reading import check_numbers, gains_of, read_items

__all__ = ["average_precision", "ndcg", "reciprocal_rank"]


def _mean_over_rounds(
    metric: Callable[..., float], y_true: Any, y_score: Any, qid: Any, sample_weight: Given
) -> float:
    """Weighted mean of a metric of grades and scores over the rounds that have one, or NaN."""
    if qid is None:
        items = read_items([np.empty((len(part), 0)) for part in y_true])
    else:
        items = read_items(np.empty((len(qid), 0)), qid)
    grades = check_numbers("y_true", items.stacked(y_true, "y_true"))
    scores = check_numbers("y_score", items.stacked(y_score, "y_score"))
    values = np.array([metric(grades[rows], scores[rows]) for rows in items.rounds], dtype=float)
    defined, weight = ~np.isnan(values), items.of_rounds(sample_weight, "sample_weight")
    if weight is not None:
        check_lengths(len(values), len(weight))
    if weighted_mean(defined, weight) == 0.0:
        return float("nan")
    return weighted_mean(values[defined], None if weight is None else np.asarray(weight)[defined])


def ndcg(
    y_true: Any,
    y_score: Any,
    qid: Given = None,
    *,
    k: int | None = None,
    sample_weight: Given = None,
) -> float:
    r"""Mean normalized discounted cumulative gain, NDCG@k, over rounds.

    It is ``Σ_i (2^{g_i} − 1)/log₂(1 + place_i)`` over the first k places, divided by its largest
    possible value [1]_. Tied scores count as the mean over their orders [2]_. Rounds whose grades
    are all 0 are left out.

    Parameters
    ----------
    y_true : array-like of shape (N,), or list of n arrays (m,)
        Grades of the items, 0 or more.
    y_score : array-like of shape (N,), or list of n arrays (m,)
        Scores, higher for items that are ranked first.
    qid : array-like of shape (N,) or None, default=None
        Round of each item; None for lists.
    k : int or None, default=None
        Number of places that count; None is all.
    sample_weight : array-like of shape (n,) or (N,) or None, default=None
        Weights of the rounds.

    Returns
    -------
    float
        In [0, 1]; NaN if all grades are 0 in every round of positive weight.

    Raises
    ------
    ValueError
        For grades below 0, scores that are not finite, and lengths that differ.

    See Also
    --------
    average_precision : MAP, for relevance that is yes or no.
    reciprocal_rank : MRR, for the first relevant item only.

    References
    ----------
    .. [1] Järvelin, Kekäläinen (2002). Cumulated gain-based evaluation of IR techniques. ACM
       Transactions on Information Systems.

    .. [2] McSherry, Najork (2008). Computing information retrieval performance measures efficiently
       in the presence of tied scores. ECIR.

    Examples
    --------
    >>> from skstructured.items.metrics import ndcg
    >>> round(ndcg([2, 0, 1, 0], [3.0, 2.0, 1.0, 0.0], qid=[7, 7, 7, 7]), 3)
    0.964
    """
    if k is not None:
        check_integer("k", k)

    def one(grades: Floats, scores: Floats) -> float:
        gains = gains_of(grades)
        if not gains.any():
            return np.nan
        return 1.0 if len(gains) == 1 else ndcg_score(gains[None], scores[None], k=k)

    return _mean_over_rounds(one, y_true, y_score, qid, sample_weight)


def average_precision(
    y_true: Any, y_score: Any, qid: Given = None, *, sample_weight: Given = None
) -> float:
    """Mean average precision, MAP, over rounds; all grades above 0 are relevant.

    For each relevant item of a round, take the share of relevant items up to its place; then
    average. Ties are in the given order. Rounds without a relevant item are left out.

    Parameters
    ----------
    y_true : array-like of shape (N,), or list of n arrays (m,)
        Grades of the items.
    y_score : array-like of shape (N,), or list of n arrays (m,)
        Scores, higher for items that are ranked first.
    qid : array-like of shape (N,) or None, default=None
        Round of each item; None for lists.
    sample_weight : array-like of shape (n,) or (N,) or None, default=None
        Weights of the rounds.

    Returns
    -------
    float
        In [0, 1]; NaN if no item is relevant in any round of positive weight.

    Raises
    ------
    ValueError
        For numbers that are not finite, and lengths that differ.

    See Also
    --------
    ndcg : Graded relevance.
    reciprocal_rank : MRR, for the first relevant item only.
    """

    def one(grades: Floats, scores: Floats) -> float:
        relevant = (grades > 0.0)[np.argsort(-scores, kind="stable")]
        shares = np.cumsum(relevant) / np.arange(1, len(relevant) + 1)
        return float(shares[relevant].mean()) if relevant.any() else np.nan

    return _mean_over_rounds(one, y_true, y_score, qid, sample_weight)


def reciprocal_rank(
    y_true: Any, y_score: Any, qid: Given = None, *, sample_weight: Given = None
) -> float:
    """Mean reciprocal rank, MRR, over rounds: 1/place of the first item with a grade above 0.

    Ties are in the given order. Rounds without such an item are left out.

    Parameters
    ----------
    y_true : array-like of shape (N,), or list of n arrays (m,)
        Grades of the items.
    y_score : array-like of shape (N,), or list of n arrays (m,)
        Scores, higher for items that are ranked first.
    qid : array-like of shape (N,) or None, default=None
        Round of each item; None for lists.
    sample_weight : array-like of shape (n,) or (N,) or None, default=None
        Weights of the rounds.

    Returns
    -------
    float
        In [0, 1]; NaN if no item is relevant in any round of positive weight.

    Raises
    ------
    ValueError
        For numbers that are not finite, and lengths that differ.

    See Also
    --------
    ndcg : Graded relevance.
    average_precision : MAP, for all relevant items.
    """

    def one(grades: Floats, scores: Floats) -> float:
        relevant = (grades > 0.0)[np.argsort(-scores, kind="stable")]
        return 1.0 / (1.0 + np.argmax(relevant)) if relevant.any() else np.nan

    return _mean_over_rounds(one, y_true, y_score, qid, sample_weight)
