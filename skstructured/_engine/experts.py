"""What the epoch of a mixture does with each expert: score, step, fold, and renew its norm."""

from typing import Any

from skstructured._engine.arrays import Array, Floats
from skstructured._engine.compiled import as_scale, as_step, kernel
from skstructured._engine.mixing import SCORES, learn_log_losses, learn_losses
from skstructured._engine.state import (
    CLOCK,
    FLUSH,
    RESCALE,
    SCALED_WEIGHT_SUM,
    WEIGHT_SUM,
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
    x_sq: float,
    weight: float,
    averaged: bool,
    theta: Floats,
    s: Floats,
) -> float:
    """Scores of the experts, and of their averages, from raw ones; the sum of their sizes."""
    few, dim = vectors.shape[0], theta.shape[1]
    size = 0.0
    for e in range(few):
        vector = vectors[e]
        s[e] = as_scale(scales[e])(vector, x_sq, weight)
        played, total = vector[SCALED_WEIGHT_SUM], vector[WEIGHT_SUM]
        for k in range(dim):
            theta[e, k] = s[e] * raw[e * dim + k]
            size += abs(theta[e, k])
            if averaged:
                mean = played * raw[e * dim + k] + raw[(few + e) * dim + k]
                theta[few + e, k] = mean / total if total > 0.0 else 0.0
                size += abs(theta[few + e, k])
    return size


@kernel
def shift(g: Floats, y: Floats, sign: float) -> None:
    """Gradients ŷ − y to means ŷ, or back."""
    for b in range(g.shape[0]):
        for k in range(g.shape[1]):
            g[b, k] += sign * y[k]


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
    vector[SCALED_WEIGHT_SUM] += part * s
    vector[WEIGHT_SUM] += part
    vector[CLOCK] += weight
    return as_step(step)(vector, raw, g, x_sq, weight)


@kernel
def renew_expert(vector: Floats, Theta: Array, dim: int, dense: bool, e: int) -> None:
    """‖Θ_e‖², summed anew."""
    if dense:
        renew_norm(vector, Theta[e * dim : (e + 1) * dim], dim, Theta.shape[1])
    else:
        renew_norm(vector, Theta[:, e * dim : (e + 1) * dim], Theta.shape[0], dim)
