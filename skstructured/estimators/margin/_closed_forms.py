r"""Blocks solved exactly: where ``h(μ) + <v, μ> − (q/2)‖μ − μ_i‖²`` is largest over conv(Y)."""

import numpy as np
from numba import float64, int64, types

from skstructured._base.exceptions import GuaranteeError
from skstructured._base.plugins import check_vertices, refuse
from skstructured._engine.addresses import MATRIX, VECTOR, function_at
from skstructured._engine.compiled import kernel
from skstructured.estimators.margin._atoms import dot
from skstructured.estimators.margin._games import solve_saddle
from skstructured.spaces._matching import assign, matching_projection
from skstructured.spaces.permutahedron import rank_projection, rank_vertex, sort_descending

#: Max-min oracles, and those of linear losses.
ZERO_ONE, ORDINAL, GAME, HAMMING = range(4)
LINEAR_CLASS, LINEAR_LABELS, LINEAR_MATCHING, LINEAR_RANKS = range(4, 8)

#: oracle(A, v, ell, out) -> H(μ*), of games an upper bound that it attains but for rounding; it
#: writes μ* into out. `A` is the cost matrix (k, k), or (1, 1) with the cost of a label or item.
ORACLE = types.FunctionType(float64(MATRIX, VECTOR, VECTOR, VECTOR))
as_oracle = function_at(ORACLE)


@kernel
def zero_one_oracle(A, v, ell, out):
    r"""``max_μ c (1 − max_r μ_r) + <v, μ>`` over the simplex; μ into out.

    Uniform on the set S of the largest scores that maximises ``(Σ_S v + c (|S| − 1))/|S|``
    (Fathony et al. 2016; Nowak-Vila, Bach, Rudi 2020).
    """
    k, cost = v.shape[0], A[1, 0]
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
def ordinal_oracle(A, v, ell, out):
    r"""``max_μ min_r Σ_j c |r − j| μ_j + <v, μ>``, the largest (v_i + v_j + c (j − i))/2.

    Half of μ is at argmax v_i − c i and half at argmax v_j + c j.
    """
    i, j, cost = 0, 0, A[1, 0]
    for k in range(v.shape[0]):
        i = k if v[k] - cost * k > v[i] - cost * i else i
        j = k if v[k] + cost * k > v[j] + cost * j else j
    out[:] = 0.0
    out[i] += 0.5
    out[j] += 0.5
    return 0.5 * (v[i] + v[j] + cost * (j - i))


@kernel
def game_oracle(A, v, ell, out):
    r"""``max_μ min_r (Aμ)_r + <v, μ>`` as a saddle point; the bound is by ν."""
    k, nu, upper = len(v), np.empty(len(v)), -np.inf
    if not solve_saddle(np.zeros((k, k)), v, A, np.zeros(k, dtype=np.int64), k, 1, out, nu):
        out[:], nu[:] = 0.0, 1.0 / k
        out[np.argmax(v)] = 1.0
    for j in range(k):
        upper = max(upper, v[j] + dot(nu, A[:, j].copy()))
    return upper


@kernel
def hamming_oracle(A, v, ell, out):
    r"""``max_μ Σ_m c min(μ_m, 1 − μ_m) + v_m μ_m`` over [0,1]^d, label by label.

    The Hamming loss ``c Σ_m ν_m (1 − μ_m) + (1 − ν_m) μ_m`` is a sum over labels and so is the set
    of ν, hence its least value is ``c Σ_m min(μ_m, 1 − μ_m)``. Every term is concave in μ_m with
    kinks at 0, ½ and 1, where it is 0, (c + v_m)/2 and v_m: μ_m is 1 where v_m > c, 0 where
    v_m < −c, and ½ between.
    """
    value, cost = 0.0, A[0, 0]
    for m in range(v.shape[0]):
        out[m] = 1.0 if v[m] > cost else 0.0 if v[m] < -cost else 0.5
        value += max(0.0, v[m], 0.5 * (cost + v[m]))
    return value


@kernel
def linear_class_oracle(A, v, ell, out):
    """The class of the largest ℓ + v."""
    best = 0
    for k in range(v.shape[0]):
        best = k if ell[k] + v[k] > ell[best] + v[best] else best
    out[:] = 0.0
    out[best] = 1.0
    return ell[best] + v[best]


@kernel
def linear_labels_oracle(A, v, ell, out):
    """Labels with a positive ℓ + v."""
    value = 0.0
    for m in range(v.shape[0]):
        out[m] = 1.0 if ell[m] + v[m] > 0.0 else 0.0
        value += max(ell[m] + v[m], 0.0)
    return value


@kernel
def best_matching(theta, vertex):
    """The maximal assignment of theta (m²,)."""
    m = int(np.sqrt(theta.shape[0]) + 0.5)
    work = np.empty((3, m + 1))
    assign(theta, m, work[0], work[1], work[2], np.empty(4 * m))
    vertex[:] = 0.0
    for j in range(m):
        vertex[(int(work[2, j + 1]) - 1) * m + j] = 1.0


@kernel
def linear_matching_oracle(A, v, ell, out):
    """The assignment of ℓ + v."""
    theta = v + ell
    best_matching(theta, out)
    return dot(theta, out)


@kernel
def linear_ranks_oracle(A, v, ell, out):
    """The ranks of ℓ + v."""
    theta = v + ell
    rank_vertex(theta, out)
    return dot(theta, out)


@kernel
def concave_part(kind, A, mu, ell):
    """h(μ), with A as oracles have it."""
    k, value = mu.shape[0], 0.0
    if kind >= LINEAR_CLASS:
        for j in range(k):
            value += ell[j] * mu[j]
    elif kind == ZERO_ONE:
        top = 0.0
        for j in range(k):
            top = max(top, mu[j])
        value = A[1, 0] * (1.0 - top)
    elif kind == HAMMING:
        for j in range(k):
            value += A[0, 0] * min(mu[j], 1.0 - mu[j])
    else:
        value = np.inf
        for r in range(k):
            row = 0.0
            for j in range(k):
                row += A[r, j] * mu[j]
            value = min(value, row)
    return value


#: What a block may leave of H, which is rounding.
ROUNDING = 1e-15


@kernel
def solve_costs(kind, oracle, A, v, ell, q, mu, out):
    r"""Classes of the max-min network with any costs: a saddle point in μ and ν, or μ_i."""
    k, reached = len(v), concave_part(kind, A, mu, ell)
    G, group, nu = np.zeros((k, k)), np.zeros(k, dtype=np.int64), np.empty(k)
    for j in range(k):
        G[j, j] = q
        reached += v[j] * mu[j]
    gap = as_oracle(oracle)(A, v, ell, out) - reached
    if gap <= ROUNDING * (1.0 + abs(reached)) or not solve_saddle(
        G, v + q * mu, A, group, k, 1, out, nu
    ):
        out[:] = mu


#: solve(kind, oracle, A, v, ell, q, mu, out), with the address of the kind's oracle.
BLOCK = types.FunctionType(
    types.void(int64, int64, MATRIX, VECTOR, VECTOR, float64, VECTOR, VECTOR)
)
as_solver = function_at(BLOCK)


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
    k = z.shape[0]
    order, ordered = np.empty(k), np.empty(k)
    sort_descending(z, order, ordered)
    for s in range(k):
        ordered[s] = z[int(order[s])]
    return ordered


@kernel
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
def solve_classes(kind, oracle, A, v, ell, q, mu, out):
    """Classes of the SVM: the projection of ``μ_i + (v + ℓ)/q`` on the simplex."""
    z = mu + (v + ell) / q
    _on_simplex(z, _sorted(z), np.inf, 1.0, out)


@kernel
def solve_matchings(kind, oracle, A, v, ell, q, mu, out):
    """Assignments of the SVM: the projection of ``μ_i + (v + ℓ)/q`` on the Birkhoff polytope."""
    dim = v.shape[0]
    m = int(np.sqrt(dim) + 0.5)
    work = np.zeros(1 + 2 * dim + 6 * m + 3 * (m + 1) + 4 * m)
    matching_projection(mu + (v + ell) / q, np.zeros(dim), out, np.empty(0), work)


@kernel
def solve_ranks(kind, oracle, A, v, ell, q, mu, out):
    """Rankings of the SVM: the projection of ``μ_i + (v + ℓ)/q`` on the permutahedron."""
    dim = v.shape[0]
    z = mu + (v + ell) / q
    rank_projection(z, np.zeros(dim), out, np.empty(0), np.zeros(6 * dim))


@kernel
def solve_zero_one(kind, oracle, A, v, ell, q, mu, out):
    """Classes of the max-min network.

    With ``z = μ_i + v/q``, ``c (1 − s) + <v, μ> − …`` with μ ≤ s gives μ = clip(z − τ, 0, s),
    where s is best if ``Σ (z − a)_+ = c/q`` with a = τ + s, and Σμ = 1 if
    ``Σ (min(z, a) − τ)_+ = 1``: two levels.
    """
    z = np.empty(v.shape[0])
    for k in range(v.shape[0]):
        z[k] = mu[k] + v[k] / q
    ordered = _sorted(z)
    _on_simplex(z, ordered, excess_level(ordered, A[A.shape[0] - 1, 0] / q), 1.0, out)


@kernel
def solve_ordinal(kind, oracle, A, v, ell, q, mu, out):
    """Ordinal classes of the max-min network.

    Against the prediction r it is the projection of ``μ_i + (v + c |r − j|)/q``, which is best if r
    is a median of it. If medians pass from one side of a cut to the other, half of μ is on each.
    """
    k, cost, z, step = len(v), A[1, 0] / q, mu + v / q, 0
    r, total = 0, mu[0]
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
def solve_labels(kind, oracle, A, v, ell, q, mu, out):
    """Labels: ``z = μ_i + v/q`` of the SVM moved by ℓ/q, else towards ½ by c/q, not beyond."""
    for k in range(v.shape[0]):
        z = mu[k] + v[k] / q
        if kind == HAMMING:
            z = min(z + A[0, 0] / q, 0.5) if z < 0.5 else max(z - A[0, 0] / q, 0.5)
        else:
            z += ell[k] / q
        out[k] = min(max(z, 0.0), 1.0)


#: The oracle of each kind, and what solves its blocks.
KINDS = {
    ZERO_ONE: (zero_one_oracle, solve_zero_one),
    ORDINAL: (ordinal_oracle, solve_ordinal),
    GAME: (game_oracle, solve_costs),
    HAMMING: (hamming_oracle, solve_labels),
    LINEAR_CLASS: (linear_class_oracle, solve_classes),
    LINEAR_LABELS: (linear_labels_oracle, solve_labels),
    LINEAR_MATCHING: (linear_matching_oracle, solve_matchings),
    LINEAR_RANKS: (linear_ranks_oracle, solve_ranks),
}


#: Relative differences below this are rounding.
AFFINE_ROUNDING = 1e-8

#: Vertices beside those of y that a loss is judged by, per entry of the embedding.
TRIALS = 3


def random_vertices(space, n):
    """n vertices of the largest random scores."""
    theta = np.random.RandomState(0).randn(n, space.dim_)
    return check_vertices(space, "argmax", space.argmax(theta), theta.shape)


def target_costs(space, V):
    """c(y) (n, dim) and a(y) (n,) of vertices V; a ValueError where the loss is not so.

    They are what ``space.target_costs(V)`` returns, where there is such a method, and else come
    from ``expected_loss`` at 0 and at the unit vectors. Both are checked at vertices.
    """
    n, dim = V.shape
    if hasattr(space, "target_costs"):
        C, constant = space.target_costs(V)
        C = check_vertices(space, "target_costs", C, V.shape)
        constant = np.reshape(constant, (-1, 1))
        constant = check_vertices(space, "target_costs", constant, (n, 1))[:, 0]
    else:
        constant = np.asarray(space.expected_loss(np.zeros(V.shape), V), dtype=np.float64)
        C, unit = np.empty(V.shape), np.zeros(V.shape)
        for k in range(dim):
            unit[:, k] = 1.0
            C[:, k] = space.expected_loss(unit, V) - constant
            unit[:, k] = 0.0
    others = random_vertices(space, n)
    _check(space, np.einsum("nk,nk->n", others, C) + constant, space.expected_loss(others, V))
    return C, constant


def _check(space, found, given):
    if not np.abs(found - given).max() <= AFFINE_ROUNDING * (1.0 + np.abs(given).max()):
        refuse(
            space,
            "expected_loss",
            "a loss that is affine in the mean, or its costs by target_costs(V) -> (C, constant): "
            "max-margin models learn no other",
        )


def affine_costs(space, V):
    """A, b, a and the number a₀ of ``L(y', y) = <y', A y + b> + <a, y> + a₀``; else a ValueError.

    Found by least squares from the costs of vertices, which tell it on the hull of all.
    """
    V = np.concatenate([V[: 4 * space.dim_], random_vertices(space, TRIALS * space.dim_ + 8)])
    C, constant = target_costs(space, V)
    given = np.column_stack([C, constant])
    found = np.linalg.lstsq(np.column_stack([V, np.ones(len(V))]), given, rcond=None)[0]
    left = np.abs(np.column_stack([V, np.ones(len(V))]) @ found - given).max()
    if not left <= AFFINE_ROUNDING * (1.0 + np.abs(given).max()):
        refuse(
            space,
            "expected_loss",
            "a loss that is affine in the true output too: the max-min network learns no other, "
            "StructuralSVM does",
        )
    A = np.ascontiguousarray(found[:-1, :-1].T)
    return A, found[-1, :-1].copy(), found[:-1, -1].copy(), float(found[-1, -1])


def lipschitz_constant(A):
    """C = (k − q)/(1 − q) of symmetric costs A (k, k) (Proposition C.10); else a GuaranteeError.

    q is the largest ``Σ |A_ty − A_tz|/A_yz`` of two classes, over the classes t beside them.
    """
    k, q = len(A), 0.0
    for y in range(k):
        for z in range(y):
            gaps = np.abs(A[:, y] - A[:, z])
            rest = gaps.sum() - gaps[y] - gaps[z]
            q = max(q, rest / A[y, z] if A[y, z] > 0.0 else np.inf)
    if not np.array_equal(A, A.T) or q >= 1.0:
        raise GuaranteeError(
            "Theorem 3.3 states a constant for symmetric costs with Σ_t |A_ty − A_tz| < A_yz over "
            "the other classes t, as 0–1 costs are; these are not such."
        )
    return (k - q) / (1.0 - q)
