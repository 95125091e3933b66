"""Chains of labels: marginals, best labels and draws of a batch of them in one call.

It knows no space, loss or learner: scores in, numbers out.

A batch of n label sequences of N positions in all is ``unary`` (N, k), the scores of labels at
positions, with ``offsets`` (n + 1,): sequence i has the rows ``offsets[i]:offsets[i + 1]``, one or
more. ``pair`` has the scores of neighboring labels: (1, k, k) if all steps are alike, or (N, k, k),
that of a row and the next in its row (that of a last row is not used). −inf forbids a step, or a
label; other scores are finite. Scores of starts and ends are added to ``unary`` before.

``score(y) = Σ_m unary[m, y_m] + Σ_m pair[m, y_m, y_{m+1}]`` and ``p(y) ∝ exp(score(y))``.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from skstructured._chains.best_paths import (
    batch_mean_draws,
    batch_nbest,
    batch_scores,
    batch_viterbi,
)
from skstructured._chains.forward_backward import batch_log_probabilities, batch_marginals
from skstructured._chains.projection import add_vertices, projected
from skstructured._engine.types import Floats, Ints


def _plain(array, dtype=np.float64):
    """The array in the form of compiled functions: writable, so all are of one type."""
    return np.require(array, dtype, ["C", "W", "E"])


def _batch(unary, offsets, pair):
    return _plain(unary), _plain(offsets, np.int64), _plain(pair)


def check_possible(values: ArrayLike) -> None:
    """Raise a ValueError that names the first sequence without a valid labeling, by log Z."""
    lost = np.flatnonzero(~(np.asarray(values) > -np.inf))
    if len(lost):
        raise ValueError(
            f"Sequence {lost[0]} has no valid labeling: every path has a transition with score "
            "−inf."
        )


def marginals(
    unary: Floats,
    offsets: Ints,
    pair: Floats,
    pairs: str | None = None,
    weight: Floats | None = None,
    out: Floats | None = None,
) -> tuple[Floats, Floats, Floats | None]:
    """Marginals of positions, log Z, and marginals of steps, by forward–backward.

    Parameters
    ----------
    unary, offsets, pair : ndarrays
        The batch, as above.
    pairs : {None, "sum", "each"}, default=None
        Which marginals of steps: none, their sum over all steps of the batch (k, k), or those of
        each row and the next (N, k, k), with zeros in the last row of a sequence.
    weight : ndarray of shape (n,) or None, default=None
        Factors of the sequences in the sum; None for ones.
    out : ndarray of shape (N, k) or None, default=None
        Array for the marginals of positions.

    Returns
    -------
    mu : ndarray of shape (N, k)
        p(y_m = j); zeros if no labels are possible.
    log_z : ndarray of shape (n,)
        log Σ exp(score); −inf if no labels are possible, see `check_possible`.
    pairs : ndarray or None
        As requested by the parameter.
    """
    unary, offsets, pair = _batch(unary, offsets, pair)
    k, n = unary.shape[1], len(offsets) - 1
    mu = np.empty(unary.shape) if out is None else out
    each = np.zeros((len(unary) if pairs == "each" else 0, k, k))
    total = np.zeros((k if pairs == "sum" else 0, k))
    log_z, weight = np.empty(n), _plain(np.ones(n) if weight is None else weight)
    batch_marginals(unary, offsets, pair, weight, mu, log_z, each, total)
    return mu, log_z, {None: None, "sum": total, "each": each}[pairs]


def score(unary: Floats, offsets: Ints, pair: Floats, labels: Ints) -> Floats:
    """Scores (n,) of labels (N,)."""
    scores = np.empty(len(offsets) - 1)
    batch_scores(*_batch(unary, offsets, pair), _plain(labels, np.int64), scores)
    return scores


def log_probability(unary: Floats, offsets: Ints, pair: Floats, labels: Ints) -> Floats:
    """ln p (n,) of labels (N,), exact even if far below the scores; NaN if no label is possible."""
    values = np.empty(len(offsets) - 1)
    batch_log_probabilities(*_batch(unary, offsets, pair), _plain(labels, np.int64), values)
    return values


def viterbi(unary: Floats, offsets: Ints, pair: Floats) -> tuple[Ints, Floats]:
    """Labels (N,) of the largest scores, and these (n,); −inf if no labels are possible.

    Ties are decided for the first label from the last position on.
    """
    labels, scores = np.empty(len(unary), dtype=np.int64), np.empty(len(offsets) - 1)
    batch_viterbi(*_batch(unary, offsets, pair), labels, scores)
    return labels, scores


def nbest(unary: Floats, offsets: Ints, pair: Floats, n: int) -> tuple[Ints, Floats, Ints]:
    """The n best label sequences of each chain: labels (n, N), scores (chains, n), counts (chains).

    From the best; all different. If fewer are possible, ``counts`` has how many; the scores after
    them are −inf, and the labels −1.
    """
    unary, offsets, pair = _batch(unary, offsets, pair)
    labels, chains = np.full((n, len(unary)), -1, dtype=np.int64), len(offsets) - 1
    scores, counts = np.empty((chains, n)), np.empty(chains, dtype=np.int64)
    batch_nbest(unary, offsets, pair, labels, scores, counts)
    return labels, scores, counts


def sample_mean(mu: Floats, offsets: Ints, pairs: Floats, uniforms: Floats) -> Ints:
    """Exact draws, labels (draws, N), of given marginals ``mu`` (N, k) and ``pairs`` (N, k, k)."""
    labels = np.empty(np.shape(uniforms), dtype=np.int64)
    batch_mean_draws(*_batch(mu, offsets, pairs), _plain(uniforms), labels)
    return labels


class SparseMean(NamedTuple):
    """A projection on the hull of label sequences, and the few sequences that make it up."""

    mu: np.ndarray
    pairs: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    gap: float


def sparse_map(unary: Floats, pair: Floats) -> SparseMean:
    """SparseMAP of one chain: the marginals μ that are nearest to the scores, in the 2-norm.

    Parameters
    ----------
    unary, pair : ndarrays of shapes (M, k) and (1, k, k) or (M, k, k)
        The scores; a batch of one sequence.

    Returns
    -------
    SparseMean
        ``mu`` (M, k) and ``pairs`` (M, k, k), zeros in the last row, are the mean of ``labels`` (n,
        M) with ``weights`` (n,). ``½‖μ − μ*‖² ≤ gap``, which is at most rounding unless
        10,000 calls of Viterbi's algorithm were not enough.
    """
    M, k = np.shape(unary)
    unary, pair = (np.array(scores, dtype=np.float64, order="C") for scores in (unary, pair))
    labels, weights, gap, _ = projected(unary, pair, 10_000, False)
    check_possible([0.0 if len(weights) else -np.inf])
    mu, pairs = np.zeros((M, k)), np.zeros((M, k, k))
    add_vertices(labels, weights, len(weights), mu, pairs, 1.0)
    return SparseMean(mu, pairs, labels, weights, gap)
