"""Agreement of rankings; also the names of `certificates` and `comparators`."""

import numpy as np

from skstructured.certificates import Certificate
from skstructured.comparators import best_comparator, comparator_for, comparator_losses

__all__ = [
    "Certificate",
    "best_comparator",
    "comparator_for",
    "comparator_losses",
    "kendall_tau",
    "ndcg",
    "spearman_rho",
]


def kendall_tau(y_pred, y_true):
    """Kendall's τ of each pair of rankings without ties.

    The share of pairs of items in the same order less the share in the other.

    Parameters
    ----------
    y_pred, y_true : array-like of shape (n, m)
        Positions or ranks, both in the same sense.

    Returns
    -------
    ndarray of shape (n,), in [−1, 1]
    """
    a, b = _two_rankings(y_pred, y_true)
    i, j = np.triu_indices(a.shape[1], 1)
    return (np.sign(a[:, i] - a[:, j]) * np.sign(b[:, i] - b[:, j])).mean(axis=1)


def spearman_rho(y_pred, y_true):
    """Spearman's ρ = 1 − 6 Σ (a − b)²/(m(m²−1)) of each pair of rankings without ties.

    It equals 1 − 2L for the target loss L of `Permutahedron`.

    Parameters
    ----------
    y_pred, y_true : array-like of shape (n, m)
        Positions or ranks, both in the same sense.

    Returns
    -------
    ndarray of shape (n,), in [−1, 1]
    """
    a, b = _two_rankings(y_pred, y_true)
    m = a.shape[1]
    return 1.0 - 6.0 * ((a - b) ** 2).sum(axis=1) / (m * (m**2 - 1))


def _two_rankings(a, b):
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if a.ndim != 2 or a.shape != b.shape or a.shape[1] < 2:
        raise ValueError(
            f"rankings must have the same shape (n, m) with m ≥ 2, got {a.shape} and {b.shape}."
        )
    return a, b


def gains(relevance, gain):
    """Gains of relevances: 2^relevance − 1 ("exponential") or the relevance ("linear")."""
    if gain not in ("exponential", "linear"):
        raise ValueError(f'gain must be "exponential" or "linear", got {gain!r}.')
    relevance = np.asarray(relevance, dtype=np.float64)
    return relevance if gain == "linear" else np.exp2(relevance) - 1.0


def ndcg(y_pred, relevance, gain="exponential"):
    """Normalised discounted cumulative gain of each predicted ranking.

    ``Σ_j gain_j / log2(2 + position_j)``, divided by its largest value; 1 where no item is
    relevant. In the permutation matrix P of the prediction it is affine, ``<P, gain ⊗ discount>``.

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

    References
    ----------
    Järvelin, Kekäläinen (2002); Blondel (2019), "Structured prediction with projection oracles",
    for the affine form.
    """
    worth, discount = gains(relevance, gain), 1.0 / np.log2(np.arange(np.shape(y_pred)[1]) + 2.0)
    reached = (worth * discount[np.asarray(y_pred, dtype=np.intp)]).sum(axis=1)
    best = (-np.sort(-worth, axis=1) * discount).sum(axis=1)
    return np.divide(reached, best, out=np.ones_like(best), where=best > 0)
