"""Weights of members that are mixed, by the literal formula and small steps of coordinates."""

import math


def squared_distance(v, means, truths, weight):
    """Σ_i w_i ‖Σ_e v_e μ_e(x_i) − y_i‖² / Σ_i w_i, one number after the other."""
    total = 0.0
    for i, y in enumerate(truths):
        mixture = [sum(v[e] * means[e][i][k] for e in range(len(v))) for k in range(len(y))]
        total += weight[i] * sum((m - t) ** 2 for m, t in zip(mixture, y, strict=True))
    return total / sum(weight)


def objective(v, lost, rows):
    """n D(v)/(2 D(v₀)) − Σ_e ln v_e, with equal weights v₀."""
    equal = [1.0 / len(v)] * len(v)
    return rows * lost(v) / (2.0 * lost(equal)) - sum(math.log(part) for part in v)


def mixing_weights(lost, few, rows):
    """The least objective over the simplex: mass goes from member to member while that helps."""
    v, step = [1.0 / few] * few, 0.1 / few
    least = objective(v, lost, rows)
    while step > 1e-7:
        better = False
        for a in range(few):
            for b in range(few):
                if a == b or v[a] <= step:
                    continue
                tried = list(v)
                tried[a], tried[b] = tried[a] - step, tried[b] + step
                now = objective(tried, lost, rows)
                if now < least - 1e-12 * abs(least):
                    v, least, better = tried, now, True
        step = step if better else step / 2.0
    return v
