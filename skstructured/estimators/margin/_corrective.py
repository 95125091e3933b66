"""Blocks of classes with any costs, solved by few points of the graph of h at a time."""

import numpy as np

from skstructured._engine.compiled import kernel
from skstructured._engine.copies import copy_into
from skstructured.estimators.margin._mixtures import mean_of
from skstructured.estimators.margin._oracles import as_oracle, concave_part
from skstructured.estimators.margin._saddle import solve_saddle

#: Most points, and so calls of the oracle, in a block.
POINTS = 48

#: What a block may leave of its gap, and of the size of H, which is rounding.
SLACK, ROUNDING = 0.01, 1e-15


@kernel
def _add(a, points, height, z, q, bend, scores):
    """Products of point a with those before it; its score is ``h + <v + q μ_i, a>``."""
    scores[a] = height
    for k in range(points.shape[1]):
        scores[a] += z[k] * points[a, k]
    for t in range(a + 1):
        total = 0.0
        for k in range(points.shape[1]):
            total += points[t, k] * points[a, k]
        bend[t, a], bend[a, t] = q * total, q * total


@kernel
def solve_by_vertices(kind, oracle, A, v, ell, q, mu, out):
    r"""Where ``h(μ) + <v, μ> − (q/2)‖μ − μ_i‖²`` is largest, nearly, into out.

    The oracle at the scores ``v − q (μ − μ_i)`` gives a point of the graph of h, and a small
    quadratic program the best mixture of those so far: fully corrective Frank–Wolfe steps. Of the
    mixtures that are no worse than μ_i it is the one with the least gap.
    """
    best_point = as_oracle(oracle)
    points, bend = np.empty((POINTS, v.shape[0])), np.empty((POINTS, POINTS))
    scores, weights, z = np.empty(POINTS), np.empty(POINTS), v + q * mu
    point, vertex, here = mu.copy(), mu.copy(), v.copy()
    no_rows, no_group = np.empty((1, 1)), np.empty(1, dtype=np.int64)
    level, least, allowed = -np.inf, np.inf, 0.0
    for a in range(POINTS):
        copy_into(points[a], vertex)
        reached, rise = concave_part(kind, A, vertex, ell), 0.0
        _add(a, points, reached, z, q, bend, scores)
        if a > 0:
            given = (bend, scores, no_rows, no_group, 0, 0, weights[: a + 1], no_rows[0])
            if not solve_saddle(*given):
                break
            mean_of(points, 0, a + 1, weights, point)
            reached = concave_part(kind, A, point, ell)
        for k in range(len(v)):
            here[k] = z[k] - q * point[k]
            reached += here[k] * point[k]
            rise += 0.5 * q * (point[k] ** 2 - mu[k] ** 2)
        gap = best_point(A, here, ell, vertex) - reached
        if a == 0:
            level = reached - ROUNDING * (1.0 + abs(reached))
            allowed = max(SLACK * gap, ROUNDING * (1.0 + abs(reached)))
        if gap < least and reached + rise >= level:
            least = gap
            copy_into(out, point)
        if gap <= allowed:
            break
