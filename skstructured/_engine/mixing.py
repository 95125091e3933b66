"""Experts in the loop: their scores, losses and steps, and the mixture that is played.

The weights of experts are ``u`` of shape (groups, R, N): for each group of outputs that is mixed by
itself, the joint weights of R rates of sharing and N experts, which sum to 1. A round multiplies
them by ``exp(−η ℓ)``; then each rate r shares, ``u_r ← (1 − α_r) u_r + α_r Σu_r/N``, and the rates
share among each other by the rate that thins out, so none is lost for ever.
"""

import math

from skstructured._engine.compiled import FASTMATH, also_interpreted, kernel
from skstructured._engine.simd import LOWEST_EXPONENT, exp_of
from skstructured._engine.state import (
    RENEWAL_ROUNDS,
    LoopOption,
    LoopState,
    MixtureKind,
    MixtureTotal,
    RoundSummary,
    clear,
    copy_into,
    count_round,
    less,
    share_of,
)
from skstructured._engine.types import as_loss, as_scale, as_step

#: Mixed probabilities are (1 − floor) p + floor/K: none is 0, and no loss is infinite.
PROBABILITY_FLOOR = 1e-9


@kernel
def thinning(t):
    """α = min{½, 1/((t + 2) ln²(t + 2))}: −Σ_{t≥1} ln(1 − α_t) is below 1.9."""
    logarithm = math.log(t + 2.0)
    return min(0.5, 1.0 / ((t + 2.0) * logarithm * logarithm))


@kernel
def marginal(u, v):
    """v (N,) of one group: weights of the experts over all rates."""
    v[:] = 0.0
    for r in range(u.shape[0]):
        for b in range(u.shape[1]):
            v[b] += u[r, b]


@kernel
def mix(kind, u, theta, means, v, played):
    """Scores `played` (dim,) of N experts with scores theta and means (N, dim); `v` is scratch.

    ``ln Σ v q`` of classes, q the floored probabilities; the logit of ``Σ v q``; or ``Σ v θ``.
    """
    experts, dim = theta.shape
    played[:] = 0.0
    for k in range(dim):
        if k == 0 or kind == MixtureKind.LABELS:
            marginal(u[k if kind == MixtureKind.LABELS else 0], v)
        source = theta if kind == MixtureKind.SCORES else means
        for b in range(experts):
            played[k] += v[b] * source[b, k]
    if kind == MixtureKind.CLASSES:
        for k in range(dim):
            played[k] = math.log((1.0 - PROBABILITY_FLOOR) * played[k] + PROBABILITY_FLOOR / dim)
    elif kind == MixtureKind.LABELS:
        for k in range(dim):
            q = (1.0 - PROBABILITY_FLOOR) * played[k] + 0.5 * PROBABILITY_FLOOR
            played[k] = math.log(q / (1.0 - q))


@kernel
def shared(u, rates, t):
    """Each rate shares among the experts, and the rates among each other; u (R, N) sums to 1."""
    n_rates, experts = u.shape
    between = thinning(t)
    for r in range(n_rates):
        alpha = thinning(t) if rates[r] < 0.0 else rates[r]
        total = 0.0
        for b in range(experts):
            total += u[r, b]
        after = (1.0 - between) * total + between / n_rates
        stay_factor, even = (1.0 - alpha) / total if total > 0.0 else 0.0, alpha / experts
        if total == 0.0:
            even = 1.0 / experts
        for b in range(experts):
            u[r, b] = after * (stay_factor * u[r, b] + even)


@kernel
def multiplied(u, losses, eta):
    """u ← u e^{−η ℓ}/Z; returns −ln Z. Losses are taken less their least, which is added again."""
    least, total = losses[0], 0.0
    for b in range(losses.shape[0]):
        least = min(least, losses[b])
    for b in range(losses.shape[0]):
        factor = exp_of(max(-eta * (losses[b] - least), LOWEST_EXPONENT))
        for r in range(u.shape[0]):
            u[r, b] *= factor
            total += u[r, b]
    inverse = 1.0 / total
    for r in range(u.shape[0]):
        for b in range(losses.shape[0]):
            u[r, b] *= inverse
    return eta * least - math.log(total)


@kernel
def temper_weights(u, power):
    """u ← u^power/Z: weights of a smaller η, by this share of the one before."""
    total = 0.0
    for r in range(u.shape[0]):
        for b in range(u.shape[1]):
            u[r, b] = u[r, b] ** power
            total += u[r, b]
    for r in range(u.shape[0]):
        for b in range(u.shape[1]):
            u[r, b] /= total


@kernel
def lower_learning_rate(u, totals, weight):
    """η ← 1/max w, before the round is played: with a larger η the bound of the mixture fails."""
    if weight > totals[MixtureTotal.HEAVIEST]:
        for k in range(u.shape[0]):
            temper_weights(u[k], totals[MixtureTotal.HEAVIEST] / weight)
        totals[MixtureTotal.HEAVIEST] = weight


@kernel
def learn_log_losses(kind, u, rates, totals, means, truth, weight, losses, sums):
    """Weights after a round of log-losses; η = 1/max w, because log-loss times w is 1/w-mixable."""
    experts, dim = means.shape
    lower_learning_rate(u, totals, weight)
    heaviest = totals[MixtureTotal.HEAVIEST]
    totals[MixtureTotal.ROUNDS] += 1.0
    for k in range(dim):
        if kind == MixtureKind.CLASSES and truth[k] == 0.0:
            continue
        floor = PROBABILITY_FLOOR / (dim if kind == MixtureKind.CLASSES else 2)
        for b in range(experts):
            q = (1.0 - PROBABILITY_FLOOR) * means[b, k] + floor
            losses[b] = -weight * math.log(q if truth[k] > 0.0 else 1.0 - q)
            sums[b] += losses[b]
        group = u[k if kind == MixtureKind.LABELS else 0]
        multiplied(group, losses, 1.0 / heaviest)
        shared(group, rates, totals[MixtureTotal.ROUNDS])


@kernel
def learn_losses(u, rates, totals, losses, sums):
    """Weights after a round of any losses (N,), times its weight: AdaHedge that shares.

    η = ln(RN)/Δ; Δ grows by the mixability gap ``<v, ℓ> + ln(Σ u e^{−ηℓ})/η`` of each round.
    """
    experts = losses.shape[0]
    price, least, mean = math.log(u.shape[1] * experts), losses[0], 0.0
    totals[MixtureTotal.ROUNDS] += 1.0
    for b in range(experts):
        least = min(least, losses[b])
        sums[b] += losses[b]
    for b in range(experts):
        losses[b] -= least
        for r in range(u.shape[1]):
            mean += u[0, r, b] * losses[b]
    gap = totals[MixtureTotal.GAP]
    if gap > 0.0:
        eta = price / gap
        gap += max(0.0, mean - multiplied(u[0].copy(), losses, eta) / eta)
        temper_weights(u[0], totals[MixtureTotal.GAP] / gap)
        multiplied(u[0], losses, price / gap)  # by the new rate: the old one may be huge
    elif mean > 0.0:
        gap = mean
        multiplied(u[0], losses, price / gap)
    totals[MixtureTotal.GAP] = gap
    shared(u[0], rates, totals[MixtureTotal.ROUNDS])


@kernel
def fold_expert(Theta, dim, dense, averaged, e, n_experts, vector):
    """``A ← A + (Σ v s) Θ`` and ``Θ ← factor Θ`` of an expert; its vector then requests neither."""
    factor, played, first = vector[LoopState.RESCALE], vector[LoopState.SCALED_WEIGHT_SUM], e * dim
    average_offset = n_experts * dim
    for i in range(dim if dense else Theta.shape[0]):
        for j in range(Theta.shape[1] if dense else dim):
            row, column = (first + i, j) if dense else (i, first + j)
            if averaged and dense:
                Theta[average_offset + row, column] += played * Theta[row, column]
            elif averaged:
                Theta[row, average_offset + column] += played * Theta[row, column]
            Theta[row, column] *= factor
    vector[LoopState.RESCALE] = 1.0
    vector[LoopState.SCALED_WEIGHT_SUM], vector[LoopState.FLUSH] = 0.0, 0.0


@also_interpreted
def score_experts(learned, scales, raws, bounds, weight, dim, n_scores, theta, s):
    """Scores of the experts, and of their averages, from raw ones; the sum of their sizes.

    Expert b has `n_scores` of them, from ``theta[b * n_scores]`` on.
    """
    _, _, summed, vectors, _, _, totals, _, kind, bound_indices, _, _ = learned
    n_experts, size, averaged = vectors.shape[0], 0.0, summed and kind != MixtureKind.ALONE
    if totals.shape[0] > MixtureTotal.SUBSET_SQ:
        bounds[1] = totals[MixtureTotal.SUBSET_SQ]
    for e in range(n_experts):
        vector = vectors[e]
        s[e] = as_scale(scales[e])(vector, bounds[bound_indices[e]], weight)
        played, total = vector[LoopState.SCALED_WEIGHT_SUM], vector[LoopState.WEIGHT_SUM]
        size += abs(played + share_of(vector, weight) * s[e])
        offset, average_offset = e * n_scores, (n_experts + e) * n_scores
        for i in range(n_scores // dim):
            for k in range(dim):
                raw = raws[i, e * dim + k]
                theta[offset] = s[e] * raw
                size += abs(theta[offset])
                offset += 1
                if averaged:
                    mean = played * raw + raws[i, (n_experts + e) * dim + k]
                    theta[average_offset] = mean / total if total > 0.0 else 0.0
                    size += abs(theta[average_offset])
                    average_offset += 1
    return size


@kernel
def value_of(whole, theta, y, omega):
    """``Ω*(θ) + Ω − <θ, y>``, given Ω*(θ); 0 if it may be rounding."""
    value, size = whole + omega, abs(whole) + abs(omega)
    for k in range(theta.shape[0]):
        value -= theta[k] * y[k]
        size += abs(theta[k] * y[k])
    # Rounding would be large for AdaHedge's first rate.
    return value if value > 1e-15 * size else 0.0


@also_interpreted
def judge_experts(
    loss, learned, constants, results, length, y, omega, weight, n_scores, all_theta, all_g, losses,
    v, offset, r
):  # fmt: skip
    """Losses and gradients of the experts, the play, and the weights of the experts after it.

    The loss gets `length` entries of its scratch, all if it is 0. The scores that are played are
    written to `scores` from `offset` on, if there is room, and so are their gradient and loss.
    """
    _, _, summed, vectors, shares, rates, totals, sums, kind, _, numbers, _ = learned
    (params, options), (work, scores, gradients, values) = constants, results
    oracle, n_experts, mixed = as_loss(loss), vectors.shape[0], kind != MixtureKind.ALONE
    scratch = work[0, :length] if length > 0 else work[0]
    experts = 2 * n_experts if summed and mixed else n_experts
    theta = all_theta[: experts * n_scores].reshape((experts, n_scores))
    g = all_g[: experts * n_scores].reshape((experts, n_scores))
    lost = losses[:experts]
    if kind < MixtureKind.SCORES:
        means_of(kind, theta, g)
        lower_learning_rate(shares, totals, weight)
    else:
        for b in range(experts):
            lost[b] = oracle(theta[b], y, g[b], params, scratch)
            if mixed and options[LoopOption.INNER] > 0:
                lost[b] = value_of(lost[b], theta[b], y, omega)
            forget(scratch, options, numbers)
    if scores.shape[0] > 0:
        if mixed:
            mix(kind, shares, theta, g, v[:experts], scores[offset : offset + n_scores])
        else:
            copy_into(scores[offset : offset + n_scores], theta[0])
    if gradients.shape[0] > 0:
        slope = gradients[offset : offset + n_scores]
        if mixed:
            values[r] = oracle(scores[offset : offset + n_scores], y, slope, params, scratch)
            forget(scratch, options, numbers)
        else:
            copy_into(slope, g[0])
            values[r] = lost[0]
    if kind == MixtureKind.SCORES and weight > 0.0:
        for b in range(experts):
            lost[b] *= weight
        learn_losses(shares, rates, totals, lost, sums)
    if kind < MixtureKind.SCORES:
        if weight > 0.0:
            learn_log_losses(kind, shares, rates, totals, g, y, weight, lost, sums)
        for b in range(experts):  # means become gradients
            less(g[b], y)


@kernel
def forget(work, options, numbers):
    """Reset the scratch of an iterative oracle; its residual is kept in `numbers`."""
    if options[LoopOption.FRESH] > 0:
        numbers[RoundSummary.LEFT] = max(numbers[RoundSummary.LEFT], work[0])
        clear(work)


@kernel
def usual_weight(weight, length, reach, numbers):
    """The weight to learn a round with: one that is unusually long reaches as far as usual ones.

    If no round was usual so far, it counts M⁻³, which is less than any reach grows.
    """
    if weight == 0.0:
        return 0.0
    size, share = math.log(length), 1.0
    above = size - numbers[RoundSummary.MEAN_LOG]
    n_rounds, spread = numbers[RoundSummary.MET], numbers[RoundSummary.SPREAD_LOG]
    if above > 0.0 and n_rounds * above * above > 9.0 * spread:  # three standard deviations
        usual = numbers[RoundSummary.REACH]
        share = min(1.0, usual / reach) if usual > 0.0 else math.exp(-3.0 * above)
    else:
        numbers[RoundSummary.REACH] = max(numbers[RoundSummary.REACH], reach)
    numbers[RoundSummary.LEFT_OUT] += weight * (1.0 - share)
    numbers[RoundSummary.MET] += 1.0
    numbers[RoundSummary.MEAN_LOG] += above / numbers[RoundSummary.MET]
    numbers[RoundSummary.SPREAD_LOG] += above * (size - numbers[RoundSummary.MEAN_LOG])
    return weight * share


@also_interpreted
def step_experts(
    learned, steps, raws, bounds, weight, dim, dense, ragged, n_scores, g, G, count, s, move
):
    """Let the optimizers step; the moves of Θ: numbers for the columns of G, or for rows z u g."""
    Theta, _, summed, vectors, _, _, _, _, _, bound_indices, _, _ = learned
    n_experts = vectors.shape[0]
    for e in range(n_experts):
        vector, bound, offset = vectors[e], bounds[bound_indices[e]], e * n_scores
        inner, square = 0.0, 0.0
        for i in range(n_scores // dim):
            for k in range(dim):
                inner += g[offset] * raws[i, e * dim + k]
                square += g[offset] * g[offset]
                offset += 1
        square = square_of(G, count, e * dim, (e + 1) * dim) if ragged else square * bound
        if bound == 0.0:  # what is not 0 is rounding
            inner, square = 0.0, 0.0
        count_round(vector, s[e], weight, share_of(vector, weight))
        u = as_step(steps[e])(vector, inner, square, bound, weight)
        if vector[LoopState.RESCALE] != 1.0 or (summed and vector[LoopState.FLUSH] > 0.0):
            fold_expert(Theta, dim, dense, summed, e, n_experts, vector)
        for k in range(dim):
            c = e * dim + k
            move[c] = u if ragged else u * g[c]
            if summed:
                move[n_experts * dim + c] = -vector[LoopState.SCALED_WEIGHT_SUM] * move[c]


@kernel(fastmath=FASTMATH)
def square_of(G, count, start, stop):
    """Sum of squares of some columns of the first rows."""
    total = 0.0
    for t in range(count):
        for k in range(start, stop):
            total += G[t, k] * G[t, k]
    return total


@kernel
def pack(g, n_scores, dim, packed):
    """Gradients of the first experts, `n_scores` of each, side by side (rows, experts · dim)."""
    for e in range(packed.shape[1] // dim):
        offset = e * n_scores
        for i in range(n_scores // dim):
            for k in range(dim):
                packed[i, e * dim + k] = g[offset]
                offset += 1


def _move_row(Theta, j, factors, G, t):
    wide, rest = G.shape[1], Theta.shape[1] - G.shape[1]
    Theta[j, :wide] += factors[:wide] * G[t]
    Theta[j, wide:] += factors[wide : wide + rest] * G[t, :rest]


@kernel(fastmath=FASTMATH, python=_move_row)
def move_columns(Theta, j, factors, G, t):
    """Row j of Θ grows by row t of G, times the factors of weights, and of averages behind them."""
    wide = G.shape[1]
    for c in range(wide):
        Theta[j, c] += factors[c] * G[t, c]
    for c in range(Theta.shape[1] - wide):
        Theta[j, wide + c] += factors[wide + c] * G[t, c]


@kernel(fastmath={"contract"})
def means_of(kind, theta, means):
    """Probabilities of classes, or of labels, at the scores (N, dim) of all experts at once.

    Exponentials of all are one loop over vectors. Sums keep their order, because `exp_of` rounds by
    adding a number that reordered sums would take off again.
    """
    experts, dim = theta.shape
    scores, flat = theta.reshape(-1), means.reshape(-1)
    if kind == MixtureKind.CLASSES:
        for b in range(experts):
            top = theta[b, 0]
            for k in range(1, dim):
                top = max(top, theta[b, k])
            for k in range(dim):
                means[b, k] = max(theta[b, k] - top, LOWEST_EXPONENT)
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
        e = exp_of(max(-abs(scores[i]), LOWEST_EXPONENT))
        flat[i] = (1.0 if scores[i] >= 0.0 else e) / (1.0 + e)


@kernel(inline=True)
def renew_expert(vector, Theta, dim, dense, e):
    """Count a round, and after many of them sum ‖Θ_e‖² again, if it is kept."""
    vector[LoopState.RENEWED] += 1.0
    if vector[LoopState.RENEWED] < RENEWAL_ROUNDS or vector[LoopState.NORM_AT] == 0.0:
        return
    first, last, total = e * dim, (e + 1) * dim, 0.0
    block = (first, last, 0, Theta.shape[1]) if dense else (0, Theta.shape[0], first, last)
    top, bottom, left, right = block
    for i in range(top, bottom):
        row_total = 0.0
        for j in range(left, right):
            row_total += Theta[i, j] * Theta[i, j]
        total += row_total
    vector[int(vector[LoopState.NORM_AT])], vector[LoopState.RENEWED] = total, 0.0
