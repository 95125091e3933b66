"""What the epoch of a mixture does with each expert: score, step, fold, and renew its norm."""

from typing import Any

import numpy as np

from skstructured._engine.addresses import as_scale, as_step
from skstructured._engine.arrays import Array, Floats
from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.mixing import CLASSES, GAP, SCORES, learn_log_losses, learn_losses
from skstructured._engine.move_and_score import move_pairs
from skstructured._engine.simd import LOWEST, exp_of
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
    raws: Floats,
    bounds: Floats,
    which: Array,
    weight: float,
    averaged: bool,
    dim: int,
    theta: Floats,
    s: Floats,
) -> float:
    """Scores of the experts, and of their averages, from raw ones; the sum of their sizes.

    Optimisers see the bound of the round that `which` says.
    """
    few, rows, size = vectors.shape[0], theta.shape[1] // dim, 0.0
    for e in range(few):
        vector = vectors[e]
        s[e] = as_scale(scales[e])(vector, bounds[which[e]], weight)
        played, total = vector[SCALED_WEIGHT_SUM], vector[WEIGHT_SUM]
        size += abs(played + share_of(vector, weight) * s[e])
        for i in range(rows):
            for k in range(dim):
                raw, at = raws[i, e * dim + k], i * dim + k
                theta[e, at] = s[e] * raw
                size += abs(theta[e, at])
                if averaged:
                    mean = played * raw + raws[i, (few + e) * dim + k]
                    theta[few + e, at] = mean / total if total > 0.0 else 0.0
                    size += abs(theta[few + e, at])
    return size


#: Losses of this share of their terms are rounding, which would be large for AdaHedge's first rate.
NOTHING = 1e-15


@kernel
def value_of(whole: float, theta: Floats, y: Floats, omega: float) -> float:
    """``Ω*(θ) + Ω − <θ, y>``, given Ω*(θ); 0 where it may be rounding."""
    value, size = whole + omega, abs(whole) + abs(omega)
    for k in range(theta.shape[0]):
        value -= theta[k] * y[k]
        size += abs(theta[k] * y[k])
    return value if value > NOTHING * size else 0.0


@kernel
def inner_of(g: Floats, raws: Floats, e: int, dim: int) -> float:
    """<G, Θ> of an expert, which is <g, raw>."""
    total, at = 0.0, 0
    for i in range(g.shape[0] // dim):
        for k in range(dim):
            total += g[at] * raws[i, e * dim + k]
            at += 1
    return total


@kernel(fastmath=FASTMATH)
def square_of(G: Floats, count: int, e: int, dim: int) -> float:
    """Sum of squares of the columns of an expert in `count` rows; of row e itself if it is −1."""
    total = 0.0
    if count < 0:
        for k in range(dim):
            total += G[e, k] * G[e, k]
        return total
    for t in range(count):
        for k in range(e * dim, (e + 1) * dim):
            total += G[t, k] * G[t, k]
    return total


@kernel
def pack(g: Floats, dim: int, packed: Floats) -> None:
    """Gradients (N, rows · dim) of the first experts, side by side (rows, few · dim)."""
    rows = g.shape[1] // dim
    for e in range(packed.shape[1] // dim):
        for i in range(rows):
            for k in range(dim):
                packed[i, e * dim + k] = g[e, i * dim + k]


@kernel(fastmath=FASTMATH)
def move_columns(Theta: Array, j: int, factors: Floats, G: Array, t: int) -> None:
    """Row j of Θ grows by row t of G, every column by its factor; of averages by the one behind."""
    wide = G.shape[1]
    for c in range(wide):
        Theta[j, c] += factors[c] * G[t, c]
    for c in range(Theta.shape[1] - wide):
        Theta[j, wide + c] += factors[wide + c] * G[t, c]


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
    vector: Floats, step: Any, inner: float, square: float, bound: float, weight: float, s: float
) -> float:
    """Count a round of an expert; its step u."""
    count_round(vector, s, weight, share_of(vector, weight))
    return as_step(step)(vector, inner, square, bound, weight)


@kernel
def renew_expert(vector: Floats, Theta: Array, dim: int, dense: bool, e: int) -> None:
    """‖Θ_e‖², summed anew."""
    if dense:
        renew_norm(vector, Theta[e * dim : (e + 1) * dim], dim, Theta.shape[1])
    else:
        renew_norm(vector, Theta[:, e * dim : (e + 1) * dim], Theta.shape[0], dim)


#: Entries behind those of every mixture: rows of Θ of one part, rows of it before those of such
#: experts, the features that these read, and ‖z‖² of them in the row that was scored last.
PART, FIRST, FEATURES, SQUARE = range(GAP + 1, GAP + 5)


def with_near(totals: Floats, dim: int, experts: int, near: int, features: int) -> Floats:
    """Totals of a mixture of `experts`, the last `near` of which read the first features."""
    return np.append(totals, [experts * dim, (experts - near) * dim, features, 0.0])


@kernel(fastmath=FASTMATH)
def near_move_and_score(
    data: Array,
    indices: Array,
    indptr: Array,
    width: int,
    row: int,
    ahead: int,
    Theta: Array,
    totals: Floats,
    move: Floats,
    u: float,
    weight: float,
    raw: Floats,
) -> float:
    """`dense_move_and_score_pairs` for rows of Θ of both kinds; there is always an intercept."""
    x = data[row * width : (row + 1) * width]
    z = data[ahead * width : (ahead + 1) * width]
    part, first, near = int(totals[PART]), int(totals[FIRST]), int(totals[FEATURES])
    z_sq = 1.0
    for j in range(near):
        z_sq += z[j] * z[j]
    totals[SQUARE] = z_sq
    for j in range(near, width):
        z_sq += z[j] * z[j]
    for start in range(0, raw.shape[0], part):
        move_pairs(Theta, x, z, u, move, raw, start, start + first)
        move_pairs(Theta, x[:near], z[:near], u, move, raw, start + first, start + part)
    for k in range(raw.shape[0]):
        Theta[k, width] += u * move[k]
        raw[k] += Theta[k, width]
    return z_sq
