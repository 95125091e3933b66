"""Projection and convex decomposition over any polytope that has a linear oracle.

Wolfe's (1976) minimum-norm-point method, a fully corrective Frank–Wolfe with away steps: it keeps
affinely independent active vertices, moves to the nearest point of their affine hull, and drops
what leaves their convex hull. The Frank–Wolfe gap ``max_v <θ − x, v − x>`` certifies the result.
"""

from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from skstructured._base.validation import check_vertices
from skstructured._engine.compiled import (
    also_interpreted,
    is_kernel,
    kernel,
    kernel_over,
    with_globals,
)
from skstructured._engine.state import move_towards
from skstructured.extend._types import Floats, Kernel

#: The gap, relative to the numbers in it, and the number of steps at which a projection ends.
GAP_TOLERANCE, MAX_WOLFE_STEPS = 1e-12, 10_000

#: Vertices that a scratch vector keeps for an oracle in Python.
MAX_KEPT_VERTICES = 128


@also_interpreted
def _hull_weights(S: Floats, k: int, theta: Floats) -> Floats:
    """Weights, summing to 1, of the point nearest to theta in the affine hull of S[:k]."""
    edges = S[:k] - S[0]
    A = np.ones((k + 1, k + 1))
    b = np.ones(k + 1)
    A[k, k] = 0.0
    A[:k, :k] = np.dot(edges, edges.T)
    b[:k] = np.dot(edges, theta - S[0])
    return np.linalg.solve(A, b)[:k]  # type: ignore[return-value]  # of float64, as A and b


@kernel
def _move_hull_weights(target, S, w, k):
    """Move the weights w[:k] to `target`, or as far as none is negative; drop the zero ones.

    Returns how many vertices are left, and whether the target was reached.
    """
    if move_towards(target, w, k):
        return k, True
    n_vertices = 0
    for i in range(k):
        if w[i] > 1e-15:
            for j in range(S.shape[1]):
                S[n_vertices, j] = S[i, j]
            w[n_vertices] = w[i]
            n_vertices += 1
    return n_vertices, False


#: A point, the number of its active vertices, and the gap.
Projection: TypeAlias = tuple[Floats, int, float]

#: What copies of the functions below have: an oracle, `_wolfe` over it, and the property of Y.
POLYTOPE_ORACLE: Any = None
WOLFE: Any = None
HAS_CONSTANT_SUM = False


def _wolfe(theta: Floats, S: Floats, w: Floats, work: Floats, *listed: Floats) -> Projection:
    """Project theta on conv(Y). Fills the active vertices S and their weights w."""
    dim = theta.shape[0]
    direction, vertex, x = theta.copy(), np.zeros(dim), np.zeros(dim)
    POLYTOPE_ORACLE(direction, vertex, *listed)
    S[0] = vertex
    w[0] = 1.0
    x[:] = vertex
    k, gap = 1, np.inf
    for _ in range(MAX_WOLFE_STEPS):
        direction[:] = theta - x
        POLYTOPE_ORACLE(direction, vertex, *listed)
        gap = np.dot(direction, vertex - x)
        is_active = False
        for i in range(k):
            is_active = is_active or np.abs(S[i] - vertex).max() == 0.0
        # Rounding errors of the gap come from where the vertex differs from x, and only there.
        size = 1.0 + np.dot(np.abs(direction), np.abs(vertex - x))
        if is_active or k > dim or gap <= GAP_TOLERANCE * size:
            break
        S[k] = vertex
        w[k] = 0.0
        k, reached = k + 1, False
        while not reached:
            k, reached = _move_hull_weights(_hull_weights(S, k, theta), S, w, k)
        total = w[:k].sum()
        x[:] = 0.0
        for i in range(k):
            w[i] /= total
            x += w[i] * S[i]
    return x, k, gap


@also_interpreted
def _subtract_smallest(theta: Floats) -> Floats:
    """Subtract the score nearest to 0 from all; no score loses more than its last digit."""
    nearest = theta[0]
    for j in range(theta.shape[0]):
        if abs(theta[j]) < abs(nearest):
            nearest = theta[j]
    return theta - nearest


@kernel
def _best_listed(direction, vertex, V):
    """Write the first row of V with the largest score."""
    largest = -np.inf
    for row in V:
        score = 0.0
        for j in range(direction.shape[0]):
            score += row[j] * direction[j]
        if score > largest:
            largest, vertex[:] = score, row


def _wolfe_in_python(space: Any, theta: Floats, S: Floats, w: Floats, work: Floats) -> Projection:
    """`_wolfe` over vertices that earlier rows have listed, and those that ``space.argmax`` adds.

    The last call proves that no vertex is better. Behind the residual, `work` has the number of
    vertices so far, their size, and places for the last ones.
    """
    dim, over_listed = len(theta), kernel_over(_wolfe, POLYTOPE_ORACLE=_best_listed)
    if work[2] != dim:  # rounds of items have several sizes
        work[1:3] = 0.0, dim
    places, x, k, gap = work[3:].reshape(-1, dim), np.zeros(dim), 0, np.inf
    V = places[: int(work[1])].copy()
    for _ in range(1 + MAX_WOLFE_STEPS):
        if len(V):
            x, k, _ = over_listed(theta, S, w, work, V)
        ascent = theta - x
        vertex = check_vertices(space, "argmax", space.argmax(ascent[None]), (1, dim))
        step = vertex[0] - x
        gap, size = float(ascent @ step), 1.0 + np.abs(ascent) @ np.abs(step)
        if len(V) and (gap <= GAP_TOLERANCE * size or (vertex == V).all(axis=1).any()):
            break
        V = np.vstack([V, vertex])
        places[int(work[1]) % len(places)] = vertex
        work[1] += 1.0
    return x, k, gap


def project(space: Any, theta: ArrayLike) -> tuple[Floats, Floats, Floats, float]:
    """Projection x of theta (dim,) on conv(Y), with its active vertices, weights and gap."""
    theta = np.array(theta, dtype=np.float64)
    theta = _subtract_smallest(theta) if space.constant_sum else theta
    S, w = np.zeros((len(theta) + 2, len(theta))), np.zeros(len(theta) + 2)
    x, k, gap = _wolfe_of(space)(theta, S, w, np.zeros(projection_scratch(len(theta))))
    return x, S[:k], w[:k], gap


def _wolfe_of(space: Any) -> Kernel:
    """`_wolfe` over the oracle of a space, compiled if the oracle is."""
    if is_kernel(space.oracle_kernel):
        return kernel_over(_wolfe, POLYTOPE_ORACLE=space.oracle_kernel)
    return partial(_wolfe_in_python, space)


def projection_scratch(dim: int) -> int:
    """The length of the scratch vector."""
    return 3 + MAX_KEPT_VERTICES * dim


def projection_kernel(space: Any) -> Kernel:
    """The function (see `Oracle`) of the projection on a polytope, compiled if its oracle is."""
    wolfe = _wolfe_of(space)
    copied = kernel_over if is_kernel(wolfe) else with_globals
    return copied(_active_set_projection, WOLFE=wolfe, HAS_CONSTANT_SUM=space.constant_sum)


def _active_set_projection(
    theta: Floats, truth: Floats, mu: Floats, params: Floats, work: Floats
) -> float:
    dim = theta.shape[0]
    S, w = np.zeros((dim + 2, dim)), np.zeros(dim + 2)
    centered = _subtract_smallest(theta) if HAS_CONSTANT_SUM else theta
    x, _, gap = WOLFE(centered, S, w, work)
    work[0] = max(work[0], gap / (1.0 + np.abs(centered).max()))
    value = 0.0
    for j in range(dim):
        mu[j] = x[j] - truth[j]
        value += x[j] * (theta[j] - 0.5 * x[j])
    return value
