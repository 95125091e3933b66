"""What the epoch of a mixture does with each expert: score, step, fold, and renew its norm."""

from typing import Any

from skstructured._engine.addresses import as_scale, as_step
from skstructured._engine.arrays import Array, Floats
from skstructured._engine.compiled import kernel
from skstructured._engine.exponential import LOWEST, exp_of
from skstructured._engine.mixing import CLASSES, SCORES, learn_log_losses, learn_losses
from skstructured._engine.state import (
    FLUSH,
    RESCALE,
    SCALED_WEIGHT_SUM,
    WEIGHT_SUM,
    count_round,
    renew_norm,
    share_of,
)


@kernel
def fold_expert(
    Theta: Array, dim: int, dense: bool, averaged: bool, e: int, few: int, vector: Floats
) -> None:
    """As `average.fold`, of one expert; its vector then asks for nothing more."""
    factor, played = vector[RESCALE], vector[SCALED_WEIGHT_SUM]
    features = Theta.shape[1] if dense else Theta.shape[0]
    for j in range(features):
        for k in range(e * dim, (e + 1) * dim):
            if dense:
                if averaged:
                    Theta[few * dim + k, j] += played * Theta[k, j]
                Theta[k, j] *= factor
            else:
                if averaged:
                    Theta[j, few * dim + k] += played * Theta[j, k]
                Theta[j, k] *= factor
    vector[RESCALE], vector[SCALED_WEIGHT_SUM], vector[FLUSH] = 1.0, 0.0, 0.0


@kernel
def score_experts(
    vectors: Floats,
    scales: Any,
    raw: Floats,
    squares: Floats,
    weight: float,
    averaged: bool,
    theta: Floats,
    s: Floats,
) -> float:
    """Scores of the experts, and of their averages, from raw ones; the sum of their sizes.

    `squares` are ‖x‖², as each of them reads the row.
    """
    few, dim = vectors.shape[0], theta.shape[1]
    size = 0.0
    for e in range(few):
        vector = vectors[e]
        s[e] = as_scale(scales[e])(vector, squares[e], weight)
        played, total = vector[SCALED_WEIGHT_SUM], vector[WEIGHT_SUM]
        for k in range(dim):
            theta[e, k] = s[e] * raw[e * dim + k]
            size += abs(theta[e, k])
            if averaged:
                mean = played * raw[e * dim + k] + raw[(few + e) * dim + k]
                theta[few + e, k] = mean / total if total > 0.0 else 0.0
                size += abs(theta[few + e, k])
    return size


@kernel(fastmath={"contract"})
def means_of(kind: int, theta: Floats, means: Floats) -> None:
    """Probabilities of classes, or of labels, at the scores (N, dim) of all experts at once.

    Exponentials of all are one loop over vectors: one by one they would take half of a round. Sums
    keep their order, because `exp_of` rounds by adding what reordered sums would take off again.
    """
    experts, dim = theta.shape
    scores, flat = theta.reshape(-1), means.reshape(-1)
    if kind == CLASSES:
        for b in range(experts):
            top = theta[b, 0]
            for k in range(1, dim):
                top = max(top, theta[b, k])
            for k in range(dim):
                means[b, k] = max(theta[b, k] - top, LOWEST)
        for i in range(flat.shape[0]):
            flat[i] = exp_of(flat[i])
        for b in range(experts):
            total = 0.0
            for k in range(dim):
                total += means[b, k]
            inverse = 1.0 / total
            for k in range(dim):
                means[b, k] *= inverse
        return
    for i in range(flat.shape[0]):
        e = exp_of(max(-abs(scores[i]), LOWEST))
        flat[i] = (1.0 if scores[i] >= 0.0 else e) / (1.0 + e)


@kernel
def less_truth(g: Floats, y: Floats) -> None:
    """Means ŷ to gradients ŷ − y."""
    for b in range(g.shape[0]):
        for k in range(g.shape[1]):
            g[b, k] -= y[k]


@kernel
def learn_shares(
    kind: int,
    shares: Floats,
    rates: Floats,
    totals: Floats,
    means: Floats,
    y: Floats,
    weight: float,
    losses: Floats,
    sums: Floats,
) -> None:
    """The experts' weights after a round."""
    if kind != SCORES:
        learn_log_losses(kind, shares, rates, totals, means, y, weight, losses, sums)
        return
    for b in range(losses.shape[0]):
        losses[b] *= weight
    learn_losses(shares, rates, totals, losses, sums)


@kernel
def settle_step(
    vector: Floats, step: Any, raw: Floats, g: Floats, x_sq: float, weight: float, s: float
) -> float:
    """Count a round of an expert; its step u."""
    part = share_of(vector, weight)
    count_round(vector, s, weight, part)
    return as_step(step)(vector, raw, g, x_sq, weight)


@kernel
def renew_expert(vector: Floats, Theta: Array, dim: int, dense: bool, e: int) -> None:
    """‖Θ_e‖², summed anew."""
    if dense:
        renew_norm(vector, Theta[e * dim : (e + 1) * dim], dim, Theta.shape[1])
    else:
        renew_norm(vector, Theta[:, e * dim : (e + 1) * dim], Theta.shape[0], dim)
