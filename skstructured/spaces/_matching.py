"""Assignments: the maximal one, and mean matchings, as compiled functions.

Column minima as first potentials and the rows that have them as first matches, then shortest
augmenting paths for the rows left over (Jonker, Volgenant 1987), over costs c = −θ. Loops run along
rows and become vectors. Their bids between the two steps cost more here than they spare.
"""

import math

import numpy as np

from skstructured._engine.compiled import kernel
from skstructured._engine.simd import lesser
from skstructured._engine.state import copy_into, less
from skstructured.spaces.simplex import softmax_into, sparsemax_into

#: Column sums of mean matchings this close to 1 end the iterations.
COLUMN_SUM_TOL = 1e-13
MAX_NEWTON, MAX_SINKHORN = 200, 2000


@kernel
def _cost(score):
    """−θ, of NaN as of the least score; sizes are cut so that sums of them stay finite."""
    largest = 1e300
    return -(min(score, largest) if score >= -largest else -largest)


@kernel(fastmath={"nnan", "nsz"})  # costs are never NaN: minima then become vectors
def _lower(theta, i, prices, less, least, origin, whence):
    """`least` lowered to c_i − prices − less, with `whence` as `origin`; its least entry."""
    row, lowest = theta[i * least.shape[0] : (i + 1) * least.shape[0]], np.inf
    for j in range(least.shape[0]):
        cost = _cost(row[j]) - prices[j] - less
        lower = cost < least[j]
        least[j] = cost if lower else least[j]
        origin[j] = whence if lower else origin[j]
        lowest = lesser(lowest, least[j])
    return lowest


@kernel
def _place(values, value, prices, match):
    """The first column with `value`, before those with a row one without, if there are any.

    If no column qualifies, which happens for numbers out of range, one that is not taken.
    """
    m = values.shape[0]
    first_place = m
    for j in range(m):
        place = j if match[j + 1] > 0.0 else j - m
        place = place if values[j] == value else m
        first_place = place if place < first_place else first_place
    if first_place < m:
        return first_place + m if first_place < 0 else first_place
    for j in range(m):
        if prices[j] > -np.inf:
            return j
    return 0


@kernel
def _start(theta, m, v, match, free, zeros, origin):
    """v = column minima, each matched with a row that has it; returns how many rows are free."""
    v[:], zeros[:], match[:], free[:] = np.inf, 0.0, 0.0, 0.0
    for i in range(m):
        _lower(theta, i, zeros, 0.0, v, origin, i)
    for j in range(m):
        i = int(origin[j])
        if free[i] == 0.0:
            free[i], match[j + 1] = 1.0, i + 1
    n_free = 0
    for i in range(m):
        if free[i] == 0.0:
            free[n_free] = i + 1
            n_free += 1
    return n_free


@kernel
def _augment(theta, m, i, v, match, least, origin, prices, done):
    """Match row i (from 1) along a shortest path, and move the potentials v.

    Columns on the way keep their length in `done`, and have the price −∞. Every step takes one that
    had not been taken, so it ends for any numbers.
    """
    copy_into(prices, v)
    least[:], done[:], match[0], j, less = np.inf, 0.0, i, -1, 0.0
    while True:
        length = _lower(theta, int(match[j + 1]) - 1, prices, less, least, origin, j + 1)
        j = _place(least, length, prices, match)
        done[j + 1], least[j], prices[j] = length, np.inf, -np.inf
        if match[j + 1] == 0.0:
            break
        less = _cost(theta[(int(match[j + 1]) - 1) * m + j]) - v[j] - length
    for k in range(m):
        if prices[k] == -np.inf:
            v[k] += done[k + 1] - length
    while j >= 0:
        predecessor = int(origin[j]) - 1
        match[j + 1] = match[predecessor + 1]
        j = predecessor


@kernel(steps=15.0)
def assign(theta, m, u, v, match, scratch):
    """Maximal assignment of theta (m²,), flat.

    u, v (m+1,) become potentials with ``θ_ij + u_i + v_j ≤ 0``, 0 for matched pairs; match (m+1,)
    holds at j+1 the row of column j, counted from 1; scratch is (4m,). Scores beyond ±1e300 count
    as that, NaN as the least; it ends with a permutation for any numbers.
    """
    least, origin = scratch[:m], scratch[m : 2 * m]
    prices, free, columns = scratch[2 * m : 3 * m], scratch[3 * m :], v[1:]
    n_free = _start(theta, m, columns, match, free, prices, origin)
    for k in range(n_free):
        _augment(theta, m, int(free[k]), columns, match, least, origin, prices, u)
    u[0], v[0] = 0.0, 0.0
    for j in range(m):
        i = int(match[j + 1])
        u[i] = _cost(theta[(i - 1) * m + j]) - v[j + 1]


@kernel(steps=15.0)
def assign_rows(theta, V, m):
    """Maximal assignment of every row of theta (n, m²) into the 0/1 rows of V."""
    u, v, match, scratch = np.empty(m + 1), np.empty(m + 1), np.empty(m + 1), np.empty(4 * m)
    for n in range(theta.shape[0]):
        assign(theta[n], m, u, v, match, scratch)
        V[n, :] = 0.0
        for j in range(1, m + 1):
            V[n, (int(match[j]) - 1) * m + j - 1] = 1.0


@kernel
def _row(z, sparse, p, support):
    """p = sparsemax(z) or softmax(z); returns the conjugate Ω*(z)."""
    if sparse:
        return sparsemax_into(z, p, support)
    top, log_sum = softmax_into(z, p)
    return top + log_sum


@kernel
def _dual(C, v, m, sparse, P, columns, z, support):
    """D(v); writes the rows P and their column sums."""
    value = 0.0
    columns[:] = 0.0
    for i in range(m):
        for j in range(m):
            z[j] = C[i * m + j] + v[j]
        value -= _row(z, sparse, P[i * m : (i + 1) * m], support)
        for j in range(m):
            columns[j] += P[i * m + j]
    for j in range(m):
        value += v[j]
    return value


@kernel
def _newton_direction(P, columns, m, sparse, ridge, H, d):
    """d = (−∇²D + ridge + 11ᵀ/m)⁻¹ ∇D by Cholesky; 11ᵀ is the direction in which D is constant."""
    H[:] = 1.0 / m
    for i in range(m):
        p = P[i * m : (i + 1) * m]
        size = 0
        for j in range(m):
            size += p[j] > 0.0
        for j in range(m):
            if p[j] > 0.0:
                weight = 1.0 if sparse else p[j]
                H[j * m + j] += weight
                weight = weight / size if sparse else weight
                row = H[j * m : (j + 1) * m]
                for k in range(j + 1):
                    if sparse:
                        row[k] -= weight if p[k] > 0.0 else 0.0
                    else:
                        row[k] -= weight * p[k]
    for j in range(m):
        H[j * m + j] += ridge
        d[j] = 1.0 - columns[j]
    for j in range(m):
        for k in range(j):
            total = H[j * m + k]
            for t in range(k):
                total -= H[j * m + t] * H[k * m + t]
            H[j * m + k] = total / H[k * m + k]
        total = H[j * m + j]
        for t in range(j):
            total -= H[j * m + t] * H[j * m + t]
        H[j * m + j] = math.sqrt(max(total, 1e-14))
    for j in range(m):
        for t in range(j):
            d[j] -= H[j * m + t] * d[t]
        d[j] /= H[j * m + j]
    for j in range(m - 1, -1, -1):
        for t in range(j + 1, m):
            d[j] -= H[t * m + j] * d[t]
        d[j] /= H[j * m + j]


@kernel
def column_residual(columns):
    """How far a column sum is from 1."""
    worst = 0.0
    for j in range(columns.shape[0]):
        worst = max(worst, abs(columns[j] - 1.0))
    return worst


@kernel
def _newton(C, v, m, sparse, P, columns, trial, d, H, z, support):
    """Maximize D from v by damped Newton steps; returns the residual of the column sums."""
    value = _dual(C, v, m, sparse, P, columns, z, support)
    residual, boost = column_residual(columns), 1.0
    for _ in range(MAX_NEWTON):
        if residual <= COLUMN_SUM_TOL or boost > 1e6:
            break
        ridge = boost * max(0.1 * min(residual, 1.0), 1e-11)
        _newton_direction(P, columns, m, sparse, ridge, H, d)
        slope, largest = 0.0, 1e-300
        for j in range(m):
            slope += d[j] * (1.0 - columns[j])
            largest = max(largest, abs(d[j]))
        t, better = min(1.0, 30.0 / largest), False
        for _halving in range(30):
            for j in range(m):
                trial[j] = v[j] + t * d[j]
            reached = _dual(C, trial, m, sparse, P, columns, z, support)
            # Near the solution D no longer resolves the gain; the residual then decides.
            smaller = column_residual(columns) < (1.0 - 0.1 * t) * residual
            level = smaller and reached >= value - 1e-12 * (1.0 + abs(value))
            better = level or reached > value + 1e-4 * t * slope
            if better:
                break
            t *= 0.5
        if better:
            copy_into(v, trial)
            value, residual, boost = reached, column_residual(columns), max(1.0, 0.1 * boost)
        else:
            _dual(C, v, m, sparse, P, columns, z, support)
            boost *= 10.0
    return residual


@kernel(fastmath={"reassoc", "contract", "nsz", "arcp"})
def sinkhorn(K, b, columns, m, tolerance, max_iter, patience):
    """Scale b until the row-normalized a_i K_ij b_j has column sums 1; returns the residual.

    K is flat (m²,) and positive for all entries that matter; `columns` receives Σ_i a_i K_ij. Gives
    up early if the observed contraction would need more than `patience` further iterations.
    """
    residual = 1.0
    for iteration in range(max_iter):
        columns[:] = 0.0
        for i in range(m):
            row, total = K[i * m : (i + 1) * m], 0.0
            for j in range(m):
                total += row[j] * b[j]
            a = 1.0 / total
            for j in range(m):
                columns[j] += a * row[j]
        previous_residual, residual = residual, 0.0
        for j in range(m):
            residual = max(residual, abs(columns[j] * b[j] - 1.0))
        if residual <= tolerance:
            break
        if iteration >= 8 and residual * (residual / previous_residual) ** patience > tolerance:
            break
        for j in range(m):
            b[j] = 1.0 / columns[j]
    return residual


@kernel
def _repair(P, m, rows, columns):
    """Make P doubly stochastic to machine precision (Altschuler, Weed, Rigollet 2017, Alg. 2)."""
    for i in range(m):
        total = 0.0
        for j in range(m):
            total += P[i * m + j]
        for j in range(m):
            P[i * m + j] /= max(total, 1.0)
    columns[:] = 0.0
    for i in range(m):
        for j in range(m):
            columns[j] += P[i * m + j]
    missing = 0.0
    for i in range(m):
        rows[i] = 1.0
        for j in range(m):
            P[i * m + j] /= max(columns[j], 1.0)
            rows[i] -= P[i * m + j]
        rows[i] = max(rows[i], 0.0)
        missing += rows[i]
    for j in range(m):
        columns[j] = 1.0 - columns[j] / max(columns[j], 1.0)
    if missing > 0.0:
        for i in range(m):
            for j in range(m):
                P[i * m + j] += rows[i] * columns[j] / missing


@kernel
def _reduce(theta, m, assigned, high, C, scratch):
    """C = θ less the potentials of the assignment problem, or less the largest score; their sum."""
    rows, columns, match = scratch[: m + 1], scratch[m + 1 : 2 * m + 2], scratch[2 * m + 2 :]
    rows[:], columns[:], shift = 0.0 if assigned else -high, 0.0, 0.0
    if assigned:
        assign(theta, m, rows, columns, match[: m + 1], match[m + 1 :])
    for i in range(m):
        shift -= rows[i + 1] + columns[i + 1]
        for j in range(m):
            C[i * m + j] = theta[i * m + j] + rows[i + 1] + columns[j + 1]
    if assigned:  # C ≤ 0 with zeros where matched, whatever rounding made of it
        for k in range(m * m):
            C[k] = min(C[k], 0.0)
        for j in range(m):
            C[(int(match[j + 1]) - 1) * m + j] = 0.0
    return shift


@kernel
def _entropic_start(C, m, K, scaling, columns, v):
    """Column potentials v by Sinkhorn's scaling of K = exp(C)."""
    for k in range(m * m):
        K[k] = math.exp(C[k])
    scaling[:] = 1.0
    sinkhorn(K, scaling, columns, m, COLUMN_SUM_TOL, MAX_SINKHORN, 20.0 + 2.0 * m)
    for j in range(m):
        v[j] = math.log(scaling[j])


@kernel
def _matching(theta, truth, mu, work, sparse):
    """Regularized assignment of θ less truth into mu; returns Ω*(θ). work[0] keeps the residual."""
    m = int(math.sqrt(theta.shape[0]) + 0.5)
    C, H = work[1 : 1 + m * m], work[1 + m * m : 1 + 2 * m * m]
    scratch = work[1 + 2 * m * m :]
    v, columns, trial = scratch[:m], scratch[m : 2 * m], scratch[2 * m : 3 * m]
    d, z, support = scratch[3 * m : 4 * m], scratch[4 * m : 5 * m], scratch[5 * m : 6 * m]
    low, high = theta[0], theta[0]
    for k in range(m * m):
        low, high = min(low, theta[k]), max(high, theta[k])
    assigned = sparse or not high - low <= 30.0
    shift = _reduce(theta, m, assigned, high, C, scratch[6 * m :])
    v[:] = 0.0
    if not sparse:
        _entropic_start(C, m, H, trial, columns, v)
    residual = _newton(C, v, m, sparse, mu, columns, trial, d, H, z, support)
    work[0] = max(work[0], residual)
    if residual > COLUMN_SUM_TOL:
        _repair(mu, m, z, columns)
    less(mu, truth)
    return shift - _dual(C, v, m, sparse, H, columns, z, support)


@kernel(steps=100.0)
def entropic_matching(theta, truth, mu, params, work):
    """∇ = P − y, P the argmax of <θ,P> − Σ P ln P over doubly stochastic P; returns its value."""
    return _matching(theta, truth, mu, work, False)


@kernel(steps=100.0)
def matching_projection(theta, truth, mu, params, work):
    """∇ = μ − y, μ the projection of θ on the Birkhoff polytope; returns <θ,μ> − ½‖μ‖²."""
    return _matching(theta, truth, mu, work, True)


def matching_work(dim):
    """Length of the scratch vector of the two kernels."""
    m = math.isqrt(dim)
    return 1 + 2 * m * m + 6 * m + 3 * (m + 1) + 4 * m
