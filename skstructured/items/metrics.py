"""NDCG of rankings of the items of rounds.

For a grid search use scikit-learn's ``make_scorer(ndcg, k=10)``, with
``set_score_request(qid=True)`` to pass the rounds.
"""

from typing import Any

import numpy as np
from sklearn.metrics import ndcg_score

from skstructured._base.ragged import Ragged
from skstructured._base.validation import check_integer, check_lengths, weighted_mean
from skstructured.extend._types import Floats, Given
from skstructured.items._reading import check_numbers, gains_of, read_items

__all__ = ["ndcg"]


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
    sklearn.metrics.average_precision_score : Relevance that is yes or no; apply it to each round.

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
    if qid is None:
        items = read_items([np.empty((len(grades), 0)) for grades in y_true])
    else:
        items = read_items(np.empty((np.size(qid), 0)), qid)
    gains = gains_of(check_numbers("y_true", items.stacked(y_true, "y_true")))
    scores = check_numbers("y_score", items.stacked(y_score, "y_score"))
    rounds = [Ragged(numbers, items.offsets).unstack() for numbers in (gains, scores)]
    values = np.array([_ndcg(g, s, k) for g, s in zip(*rounds, strict=True)])
    defined, weight = ~np.isnan(values), items.round_weights(sample_weight)
    if weight is not None:
        check_lengths(len(values), len(weight))
    if weighted_mean(defined, weight) == 0.0:
        return float("nan")
    return weighted_mean(values[defined], None if weight is None else np.asarray(weight)[defined])


def _ndcg(gains: Floats, scores: Floats, k: int | None) -> float:
    """NDCG@k of a round; NaN if nothing is gained."""
    if not gains.any():
        return np.nan
    return 1.0 if len(gains) == 1 else ndcg_score(gains[None], scores[None], k=k)
