r"""Rows whose blocks have closed forms, and compiled passes over them.

Solve a block exactly: the μ with the largest ``h(μ) + <v, μ> − (q/2)‖μ − μ_i‖²`` over conv(Y).
"""

from enum import IntEnum

import numpy as np
from numba import float64, types

from skstructured._engine.compiled import FASTMATH, kernel, plain_integers
from skstructured._engine.state import axpy, copy_into, inner
from skstructured._engine.types import MATRIX, VECTOR, function_at
from skstructured.estimators.margin._atoms import solve_saddle
from skstructured.spaces._matching import assign, matching_projection
from skstructured.spaces.permutahedron import rank_projection, rank_vertex, sort_descending


@plain_integers
class BlockKind(IntEnum):
    """Blocks of the max-min network, and those of linear losses."""

    ZERO_ONE, ORDINAL, GAME, HAMMING = range(4)
    LINEAR_CLASS, LINEAR_LABELS, LINEAR_MATCHING, LINEAR_RANKS = range(4, 8)


@plain_integers
class StepRule(IntEnum):
    """How far a block moves: by 2n/(t + 2n), by line search, or all the way to its best."""

    FIXED, SEARCH, BEST = range(3)


#: block(A, v, ell, q, mu, out) writes the best mean into out. For q = 0 it is an oracle, and
#: returns H there, of games an upper bound that it attains but for rounding. `A` is the cost matrix
#: (k, k), or (1, 1) with the cost of a label or item.
BLOCK_SIGNATURE = types.FunctionType(float64(MATRIX, VECTOR, VECTOR, float64, VECTOR, VECTOR))
as_block = function_at(BLOCK_SIGNATURE)


@kernel
def excess_level(z, total):
    """τ with ``Σ (z_k − τ)_+ = total`` > 0, of sorted z, the largest first."""
    k = z.shape[0]
    above, level = 0.0, 0.0
    for s in range(k):
        above += z[s]
        level = (above - total) / (s + 1)
        if s + 1 == k or z[s + 1] <= level:
            break
    return level


@kernel
def _sorted(z):
    """Entries of z, the largest first."""
    return -np.sort(-z)


def _on_simplex_of_arrays(z, ordered, top, mass, out):
    np.minimum(ordered, top, out=ordered)
    np.maximum(np.minimum(z, top) - excess_level(ordered, mass), 0.0, out=out)
    out *= mass / out.sum()


@kernel(python=_on_simplex_of_arrays)
def _on_simplex(z, ordered, top, mass, out):
    """Out = ``(min(z, top) − τ)_+`` of that mass; `ordered` are the entries of z."""
    for k in range(z.shape[0]):
        ordered[k] = min(ordered[k], top)
    level, total = excess_level(ordered, mass), 0.0
    for k in range(z.shape[0]):
        out[k] = max(min(z[k], top) - level, 0.0)
        total += out[k]
    for k in range(z.shape[0]):
        out[k] *= mass / total


@kernel
def zero_one(A, v, ell, q, mu, out):
    r"""``max_μ c (1 − max_r μ_r) + <v, μ> − …`` over the simplex.

    For q = 0, μ is uniform on the set S of the largest scores that maximizes
    ``(Σ_S v + c (|S| − 1))/|S|`` (Fathony et al. 2016; Nowak-Vila, Bach, Rudi 2020). Else, with
    ``z = μ_i + v/q`` and μ ≤ s, it is clip(z − τ, 0, s), and s is best if ``Σ (z − a)_+ = c/q``
    with a = τ + s, and Σμ = 1 if ``Σ (min(z, a) − τ)_+ = 1``: two levels.
    """
    k, cost = v.shape[0], A[1, 0]
    if q > 0.0:
        z = mu + v / q
        ordered = _sorted(z)
        _on_simplex(z, ordered, excess_level(ordered, cost / q), 1.0, out)
        return 0.0
    order = np.empty(k)
    sort_descending(v, order, np.empty(k))
    total, best, size = 0.0, 0.0, 0
    for s in range(k):
        total += v[int(order[s])]
        value = (total + cost * s) / (s + 1)
        if s == 0 or value > best:
            best, size = value, s + 1
    out[:] = 0.0
    for s in range(size):
        out[int(order[s])] = 1.0 / size
    return best


@kernel
def ordinal(A, v, ell, q, mu, out):
    r"""``max_μ min_r Σ_j c |r − j| μ_j + <v, μ> − …`` over the simplex.

    For q = 0 the largest (v_i + v_j + c (j − i))/2: half of μ is at argmax v_i − c i and half at
    argmax v_j + c j.
    """
    if q > 0.0:
        _between_medians(A[1, 0] / q, mu + v / q, mu, out)
        return 0.0
    i, j, cost = 0, 0, A[1, 0]
    for k in range(v.shape[0]):
        i = k if v[k] - cost * k > v[i] - cost * i else i
        j = k if v[k] + cost * k > v[j] + cost * j else j
    out[:] = 0.0
    out[i] += 0.5
    out[j] += 0.5
    return 0.5 * (v[i] + v[j] + cost * (j - i))


@kernel
def _between_medians(cost, z, mu, out):
    """Ordinal classes for q > 0, cost c/q.

    Against the prediction r it is the projection of ``z + c |r − j|/q``, which is best if r is a
    median of it. If medians pass from one side of a cut to the other, half of μ is on each.
    """
    k, step, r, total = len(z), 0, 0, mu[0]
    while total < 0.5 and r < k - 1:
        r += 1
        total += mu[r]
    while True:
        w = z + cost * np.abs(np.arange(k) - r)
        _on_simplex(w, _sorted(w), np.inf, 1.0, out)
        below = out[:r].sum()
        turn = -1 if below > 0.5 else 1 if below + out[r] < 0.5 and r < k - 1 else 0
        if turn == 0:
            return
        if turn == -step:
            break
        r, step = r + turn, turn
    cut = r if step > 0 else r + 1
    for half in (slice(0, cut), slice(cut, k)):
        _on_simplex(w[half], _sorted(w[half]), np.inf, 0.5, out[half])


@kernel
def game(A, v, ell, q, mu, out):
    r"""``max_μ min_r (Aμ)_r + <v, μ> − …`` as a saddle point, or μ_i; the bound is by ν."""
    k, nu, upper = len(v), np.empty(len(v)), -np.inf
    G, group = np.zeros((k, k)), np.zeros(k, dtype=np.int64)
    if not solve_saddle(G, v, A, group, k, 1, out, nu):
        out[:], nu[:] = 0.0, 1.0 / k
        out[np.argmax(v)] = 1.0
    for j in range(k):
        upper = max(upper, v[j] + inner(nu, A[:, j].copy()))
        G[j, j] = q
    if q > 0.0:
        reached = h_plus(np.int64(BlockKind.GAME), A, v, mu, ell)
        still = upper - reached <= 1e-15 * (1.0 + abs(reached))
        if still or not solve_saddle(G, v + q * mu, A, group, k, 1, out, nu):
            out[:] = mu
    return upper


@kernel
def hamming(A, v, ell, q, mu, out):
    r"""``max_μ Σ_m c min(μ_m, 1 − μ_m) + v_m μ_m − …`` over [0,1]^d, label by label.

    The Hamming loss ``c Σ_m ν_m (1 − μ_m) + (1 − ν_m) μ_m`` is a sum over labels and so is the set
    of ν, hence its least value is ``c Σ_m min(μ_m, 1 − μ_m)``. Every term is concave in μ_m with
    kinks at 0, ½ and 1, and is 0, (c + v_m)/2 and v_m there: for q = 0, μ_m is 1 if v_m > c, 0 if
    v_m < −c, and ½ between. Else it is μ_i + v/q moved towards ½ by c/q, not beyond.
    """
    value, cost = 0.0, A[0, 0]
    for m in range(v.shape[0]):
        if q > 0.0:
            z = mu[m] + v[m] / q
            z = min(z + cost / q, 0.5) if z < 0.5 else max(z - cost / q, 0.5)
            out[m] = min(max(z, 0.0), 1.0)
        else:
            out[m] = 1.0 if v[m] > cost else 0.0 if v[m] < -cost else 0.5
            value += max(0.0, v[m], 0.5 * (cost + v[m]))
    return value


@kernel
def linear_class(A, v, ell, q, mu, out):
    """The class of the largest ℓ + v, or the projection of ``μ_i + (v + ℓ)/q`` on the simplex."""
    theta = v + ell
    if q > 0.0:
        z = mu + theta / q
        _on_simplex(z, _sorted(z), np.inf, 1.0, out)
        return 0.0
    out[:] = 0.0
    out[np.argmax(theta)] = 1.0
    return theta.max()


@kernel
def linear_labels(A, v, ell, q, mu, out):
    """Labels with a positive ℓ + v, or the projection of ``μ_i + (v + ℓ)/q`` on the cube."""
    value = 0.0
    for m in range(v.shape[0]):
        if q > 0.0:
            out[m] = min(max(mu[m] + v[m] / q + ell[m] / q, 0.0), 1.0)
        else:
            out[m] = 1.0 if ell[m] + v[m] > 0.0 else 0.0
            value += max(ell[m] + v[m], 0.0)
    return value


@kernel
def best_matching(k, theta, vertex):
    """The maximal assignment of theta (m²,)."""
    m = int(np.sqrt(theta.shape[0]) + 0.5)
    work = np.empty((3, m + 1))
    assign(theta, m, work[0], work[1], work[2], np.empty(4 * m))
    vertex[:] = 0.0
    for j in range(m):
        vertex[(int(work[2, j + 1]) - 1) * m + j] = 1.0


@kernel
def linear_matching(A, v, ell, q, mu, out):
    """The assignment of ℓ + v, or the projection of ``μ_i + (v + ℓ)/q`` on all mixtures of them."""
    dim, theta = v.shape[0], v + ell
    if q > 0.0:
        m = int(np.sqrt(dim) + 0.5)
        work = np.zeros(1 + 2 * dim + 6 * m + 3 * (m + 1) + 4 * m)
        matching_projection(mu + theta / q, np.zeros(dim), out, np.empty(0), work)
        return 0.0
    best_matching(0, theta, out)
    return inner(theta, out)


@kernel
def linear_ranks(A, v, ell, q, mu, out):
    """The ranks of ℓ + v, or the projection of ``μ_i + (v + ℓ)/q`` on the permutahedron."""
    dim, theta = v.shape[0], v + ell
    if q > 0.0:
        rank_projection(mu + theta / q, np.zeros(dim), out, np.empty(0), np.zeros(6 * dim))
        return 0.0
    rank_vertex(theta, out)
    return inner(theta, out)


#: What solves the blocks of each `BlockKind`.
BLOCK_SOLVERS = (
    zero_one, ordinal, game, hamming, linear_class, linear_labels, linear_matching, linear_ranks
)  # fmt: skip


@kernel
def h_plus(kind, A, v, mu, ell):
    """H(μ) = h(μ) + <v, μ>, with A as blocks have it."""
    value = np.inf
    if kind >= BlockKind.LINEAR_CLASS:
        value = inner(ell, mu)
    elif kind == BlockKind.ZERO_ONE:
        value = A[1, 0] * (1.0 - mu.max())
    elif kind == BlockKind.HAMMING:
        value = A[0, 0] * np.minimum(mu, 1.0 - mu).sum()
    else:
        for r in range(mu.shape[0]):
            value = min(value, inner(A[r], mu))
    return value + inner(v, mu)


def _read_arrays(learned, i, v):
    (data, indices, indptr, width), K, W, scores = learned
    if len(K):
        v[:] = scores[:, i]
        return
    if len(indptr):
        entries = slice(indptr[i], indptr[i + 1])
        v[:] = data[entries] @ W[indices[entries]]
    else:
        v[:] = data[i * width : (i + 1) * width] @ W[:width]
    if len(W) > width:
        v += W[width]


@kernel(fastmath=FASTMATH, python=_read_arrays)
def read_row_scores(learned, i, v):
    """v = the scores of row i: the stored ones with kernels, else Wᵀx, W (p + intercept, dim)."""
    (data, indices, indptr, width), K, W, scores = learned
    if K.shape[0] > 0:
        copy_into(v, scores[:, i])
        return
    sparse = indptr.shape[0] > 0
    start = indptr[i] if sparse else i * width
    stop = indptr[i + 1] if sparse else start + width
    for k in range(v.shape[0]):
        v[k] = W[width, k] if W.shape[0] > width else 0.0
    for t in range(start, stop):
        a, x = indices[t] if sparse else t - start, data[t]
        for k in range(v.shape[0]):
            v[k] += x * W[a, k]


def _follow_arrays(learned, i, d, step):
    (data, indices, indptr, width), K, W, scores = learned
    d = step * d
    if len(K):
        scores -= d[:, None] * K[i]
        return
    if len(indptr):
        entries = slice(indptr[i], indptr[i + 1])
        np.subtract.at(W, indices[entries], data[entries, None] * d)
    else:
        W[:width] -= data[i * width : (i + 1) * width, None] * d
    if len(W) > width:
        W[width] -= d


@kernel(fastmath=FASTMATH, python=_follow_arrays)
def follow_row(learned, i, d, step):
    """Weights or scores after the mean of row i has moved by d: its coefficients lose step d."""
    (data, indices, indptr, width), K, W, scores = learned
    if K.shape[0] > 0:
        for k in range(d.shape[0]):
            if d[k] != 0.0:
                axpy(scores[k], -step * d[k], K[i])
        return
    sparse = indptr.shape[0] > 0
    start = indptr[i] if sparse else i * width
    stop = indptr[i + 1] if sparse else start + width
    for t in range(start, stop):
        a, x = indices[t] if sparse else t - start, -step * data[t]
        for k in range(d.shape[0]):
            W[a, k] += x * d[k]
    if W.shape[0] > width:
        axpy(W[width], -step, d)


@kernel
def read_scores(learned, ends, T, i, v):
    """v = the scores of a sequence that begins at row i; of a row, if there are no labels."""
    k = len(T)
    last = len(v) - k * k
    width = k if k > 0 else last
    for m in range(last // width):
        read_row_scores(learned, i + m, v[m * width : m * width + width])
    axpy(v[:k], 1.0, ends[0])
    axpy(v[last - k : last], 1.0, ends[1])
    copy_into(v[last:], T.ravel())


@kernel
def follow(learned, ends, T, i, d, step):
    """What is learned after the mean of a sequence at row i, or of a row, has moved by d."""
    k = len(T)
    last = len(d) - k * k
    width = k if k > 0 else last
    for m in range(last // width):
        follow_row(learned, i + m, d[m * width : m * width + width], step)
    axpy(ends[0], -step, d[:k])
    axpy(ends[1], -step, d[last - k : last])
    axpy(T.ravel(), -step, d[last:])


@kernel
def chord_step(gain, bend):
    """The step in [0, 1] of the largest ``γ gain − γ² bend/2``."""
    return 0.0 if gain <= 0.0 else 1.0 if gain >= bend else gain / bend


@kernel
def shrink(gamma, d):
    """d ← γd, less rounding errors; whether anything is left."""
    moved = False
    for k in range(d.shape[0]):
        d[k] = gamma * d[k] if abs(gamma * d[k]) > 1e-15 else 0.0
        moved = moved or d[k] != 0.0
    return moved


@kernel
def move(solver, rule, fixed, costs, v, ell, q, mu, out):
    """The move of a block at scores v into out; whether there is any."""
    kind, A, _, _ = costs
    best = rule == StepRule.BEST and q > 0.0
    as_block(solver)(A, v, ell, q if best else 0.0, mu, out)
    gain = 0.0 if best else h_plus(kind, A, v, out, ell) - h_plus(kind, A, v, mu, ell)
    axpy(out, -1.0, mu)
    if best:
        gamma = 1.0
    else:
        gamma = fixed if rule == StepRule.FIXED else chord_step(gain, q * inner(out, out))
    return shrink(gamma, out)


@kernel(function_type=BLOCK_SIGNATURE)
def row_pass(solver, learned, squares, order, fixed, rule, costs, steps, mu):
    """One pass over the blocks in `order`; `squares` are k(x, x), `steps` shares over α."""
    C, codes = costs[2], costs[3]
    dim = mu.shape[1]
    v, out = np.empty(dim), np.empty(dim)
    for t in range(order.shape[0]):
        i = order[t]
        read_row_scores(learned, i, v)
        q = squares[i] * steps[i]
        if move(solver, rule, fixed[t], costs, v, C[codes[i]], q, mu[i], out):
            axpy(mu[i], 1.0, out)
            follow_row(learned, i, out, steps[i])


@kernel(function_type=BLOCK_SIGNATURE)
def upper_bounds(solver, costs, V, mu, bounds, reached):
    """Upper bounds on max H of every row, and H at its μ."""
    kind, A, C, codes = costs
    solve_block = as_block(solver)
    out = np.empty(mu.shape[1])
    for i in range(mu.shape[0]):
        ell = C[codes[i]]
        reached[i] = h_plus(kind, A, V[i], mu[i], ell)
        bounds[i] = max(solve_block(A, V[i], ell, 0.0, mu[i], out), reached[i])
