"""The work of the loop on the experts of a mixture: scores, losses, steps, and folded weights."""

import math

from skstructured._engine.addresses import as_loss, as_scale, as_step
from skstructured._engine.compiled import FASTMATH, also_interpreted, kernel
from skstructured._engine.mixing import (
    ALONE,
    CLASSES,
    SCORES,
    learn_log_losses,
    learn_losses,
    lower_learning_rate,
    mix,
)
from skstructured._engine.move_and_score import SQUARE
from skstructured._engine.simd import LOWEST, exp_of
from skstructured._engine.state import (
    FLUSH,
    FRESH,
    INNER,
    LEFT,
    LEFT_OUT,
    MEAN_LOG,
    MET,
    REACH,
    RESCALE,
    SCALED_WEIGHT_SUM,
    SPREAD_LOG,
    WEIGHT_SUM,
    clear,
    copy_into,
    count_round,
    renew_norm,
    share_of,
)


@kernel
def fold_expert(Theta, dim, dense, averaged, e, few, vector):
    """Bring the sum of the weights of an expert up to date, and multiply Θ by its factor.

    ``A ← A + (Σ v s) Θ`` and ``Θ ← factor Θ``; the vector then requests no further folding.
    """
    factor, played, first, behind = vector[RESCALE], vector[SCALED_WEIGHT_SUM], e * dim, few * dim
    for i in range(dim if dense else Theta.shape[0]):
        for j in range(Theta.shape[1] if dense else dim):
            row, column = (first + i, j) if dense else (i, first + j)
            if averaged and dense:
                Theta[behind + row, column] += played * Theta[row, column]
            elif averaged:
                Theta[row, behind + column] += played * Theta[row, column]
            Theta[row, column] *= factor
    vector[RESCALE], vector[SCALED_WEIGHT_SUM], vector[FLUSH] = 1.0, 0.0, 0.0


@also_interpreted
def score_experts(learned, scales, raws, bounds, weight, dim, many, theta, s):
    """Scores of the experts, and of their averages, from raw ones; the sum of their sizes.

    Expert b has `many` of them, from ``theta[b * many]`` on. Its optimizer sees its own bound of
    the round.
    """
    _, _, summed, vectors, _, _, totals, _, kind, which, _, _ = learned
    few, size, averaged = vectors.shape[0], 0.0, summed and kind != ALONE
    if totals.shape[0] > SQUARE:
        bounds[1] = totals[SQUARE]
    for e in range(few):
        vector = vectors[e]
        s[e] = as_scale(scales[e])(vector, bounds[which[e]], weight)
        played, total = vector[SCALED_WEIGHT_SUM], vector[WEIGHT_SUM]
        size += abs(played + share_of(vector, weight) * s[e])
        at, behind = e * many, (few + e) * many
        for i in range(many // dim):
            for k in range(dim):
                raw = raws[i, e * dim + k]
                theta[at] = s[e] * raw
                size += abs(theta[at])
                at += 1
                if averaged:
                    mean = played * raw + raws[i, (few + e) * dim + k]
                    theta[behind] = mean / total if total > 0.0 else 0.0
                    size += abs(theta[behind])
                    behind += 1
    return size


#: Standard deviations of ln M from which the length M of a round is unusual.
FAR = 3.0

#: Losses of this share of their terms are rounding, which would be large for AdaHedge's first rate.
NOTHING = 1e-15


@kernel
def value_of(whole, theta, y, omega):
    """``Ω*(θ) + Ω − <θ, y>``, given Ω*(θ); 0 if it may be rounding."""
    value, size = whole + omega, abs(whole) + abs(omega)
    for k in range(theta.shape[0]):
        value -= theta[k] * y[k]
        size += abs(theta[k] * y[k])
    return value if value > NOTHING * size else 0.0


@also_interpreted
def judge_experts(
    loss, learned, constants, results, length, y, omega, weight, many, all_theta, all_g, losses, v,
    at, r
):  # fmt: skip
    """Losses and gradients of the experts, the play, and the weights of the experts after it.

    `length` entries of the loss's scratch are passed to the loss, all if it is 0. The scores that
    are played go to `scores` from `at` on, if there is room, and so do their gradient and loss.
    """
    _, _, summed, vectors, shares, rates, totals, sums, kind, _, numbers, _ = learned
    (params, options), (work, scores, gradients, values) = constants, results
    oracle, few, mixed = as_loss(loss), vectors.shape[0], kind != ALONE
    scratch = work[0, :length] if length > 0 else work[0]
    experts = 2 * few if summed and mixed else few
    theta = all_theta[: experts * many].reshape((experts, many))
    g = all_g[: experts * many].reshape((experts, many))
    lost = losses[:experts]
    if kind < SCORES:
        means_of(kind, theta, g)
        lower_learning_rate(shares, totals, weight)
    else:
        for b in range(experts):
            lost[b] = oracle(theta[b], y, g[b], params, scratch)
            if mixed and options[INNER] > 0:
                lost[b] = value_of(lost[b], theta[b], y, omega)
            forget(scratch, options, numbers)
    if scores.shape[0] > 0:
        if mixed:
            mix(kind, shares, theta, g, v[:experts], scores[at : at + many])
        else:
            copy_into(scores[at : at + many], theta[0])
    if gradients.shape[0] > 0:
        slope = gradients[at : at + many]
        if mixed:
            values[r] = oracle(scores[at : at + many], y, slope, params, scratch)
            forget(scratch, options, numbers)
        else:
            copy_into(slope, g[0])
            values[r] = lost[0]
    if mixed and weight > 0.0:
        learn_shares(kind, shares, rates, totals, g, y, weight, lost, sums)
    if kind < SCORES:  # means become gradients
        less_truth(g, y)


@kernel
def forget(work, options, numbers):
    """Reset the scratch of an iterative oracle; its residual is kept in `numbers`."""
    if options[FRESH] > 0:
        numbers[LEFT] = max(numbers[LEFT], work[0])
        clear(work)


@kernel
def usual_weight(weight, length, reach, numbers):
    """The weight to learn a round with: one that is unusually long reaches as far as usual ones.

    Its ln M is more than `FAR` standard deviations above the mean of the rounds before it. If
    no round was usual so far, it counts M⁻³, which is less than any reach grows.
    """
    if weight == 0.0:
        return 0.0
    size, share = math.log(length), 1.0
    above = size - numbers[MEAN_LOG]
    if above > 0.0 and numbers[MET] * above * above > FAR * FAR * numbers[SPREAD_LOG]:
        usual = numbers[REACH]
        share = min(1.0, usual / reach) if usual > 0.0 else math.exp(-3.0 * above)
    else:
        numbers[REACH] = max(numbers[REACH], reach)
    numbers[LEFT_OUT] += weight * (1.0 - share)
    numbers[MET] += 1.0
    numbers[MEAN_LOG] += above / numbers[MET]
    numbers[SPREAD_LOG] += above * (size - numbers[MEAN_LOG])
    return weight * share


@also_interpreted
def step_experts(
    learned, steps, raws, bounds, weight, dim, dense, ragged, many, g, G, count, s, move
):
    """Let the optimizers step; the moves of Θ: numbers for the columns of G, or for rows z u g."""
    Theta, _, summed, vectors, _, _, _, _, _, which, _, _ = learned
    few = vectors.shape[0]
    for e in range(few):
        vector, bound, at = vectors[e], bounds[which[e]], e * many
        inner, square = 0.0, 0.0
        for i in range(many // dim):
            for k in range(dim):
                inner += g[at] * raws[i, e * dim + k]
                square += g[at] * g[at]
                at += 1
        square = square_of(G, count, e * dim, (e + 1) * dim) if ragged else square * bound
        if bound == 0.0:  # what is not 0 is rounding
            inner, square = 0.0, 0.0
        count_round(vector, s[e], weight, share_of(vector, weight))
        u = as_step(steps[e])(vector, inner, square, bound, weight)
        if vector[RESCALE] != 1.0 or (summed and vector[FLUSH] > 0.0):
            fold_expert(Theta, dim, dense, summed, e, few, vector)
        for k in range(dim):
            c = e * dim + k
            move[c] = u if ragged else u * g[c]
            if summed:
                move[few * dim + c] = -vector[SCALED_WEIGHT_SUM] * move[c]


@kernel(fastmath=FASTMATH)
def square_of(G, count, start, stop):
    """Sum of squares of some columns of the first rows."""
    total = 0.0
    for t in range(count):
        for k in range(start, stop):
            total += G[t, k] * G[t, k]
    return total


@kernel
def pack(g, many, dim, packed):
    """Gradients of the first experts, `many` of each, side by side (rows, few · dim)."""
    for e in range(packed.shape[1] // dim):
        at = e * many
        for i in range(many // dim):
            for k in range(dim):
                packed[i, e * dim + k] = g[at]
                at += 1


@kernel(fastmath=FASTMATH)
def move_columns(Theta, j, factors, G, t):
    """Row j of Θ grows by row t of G, every column by its factor; of averages by the one behind."""
    wide = G.shape[1]
    for c in range(wide):
        Theta[j, c] += factors[c] * G[t, c]
    for c in range(Theta.shape[1] - wide):
        Theta[j, wide + c] += factors[wide + c] * G[t, c]


@kernel(fastmath={"contract"})
def means_of(kind, theta, means):
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
def less_truth(g, y):
    """Means ŷ to gradients ŷ − y."""
    for b in range(g.shape[0]):
        for k in range(g.shape[1]):
            g[b, k] -= y[k]


@kernel
def learn_shares(kind, shares, rates, totals, means, y, weight, losses, sums):
    """The experts' weights after a round."""
    if kind != SCORES:
        learn_log_losses(kind, shares, rates, totals, means, y, weight, losses, sums)
        return
    for b in range(losses.shape[0]):
        losses[b] *= weight
    learn_losses(shares, rates, totals, losses, sums)


@kernel
def renew_expert(vector, Theta, dim, dense, e):
    """‖Θ_e‖², summed again."""
    first, last = e * dim, (e + 1) * dim
    block = (first, last, 0, Theta.shape[1]) if dense else (0, Theta.shape[0], first, last)
    renew_norm(vector, Theta, block)
