"""Maximal assignment: the linear oracle of the Birkhoff polytope."""

import numpy as np

from skstructured._engine.compiled import kernel

#: Scores of a larger size count as this: sums of m of them stay finite.
LARGEST = 1e300


@kernel
def assign(theta, m, u, v, match, scratch):
    """Maximal assignment by shortest augmenting paths (Jonker, Volgenant 1987).

    theta is flat (m²,); u, v (m+1,) become potentials with ``θ_ij + u_i + v_j ≤ 0``, 0 where
    matched; match (m+1,) holds at j+1 the row of column j, counted from 1; scratch is (3m+3,).
    Scores beyond ±1e300 count as that, NaN as the least. Every step takes a column that was not
    `used`, so that it ends with a permutation whatever the numbers are.
    """
    way, least, used = scratch[: m + 1], scratch[m + 1 : 2 * m + 2], scratch[2 * m + 2 :]
    u[:], v[:], match[:] = 0.0, 0.0, 0.0
    for i in range(1, m + 1):
        match[0], j0 = i, 0
        least[:], used[:] = np.inf, 0.0
        while True:
            used[j0] = 1.0
            row, delta, j1 = int(match[j0]), np.inf, 0
            for j in range(1, m + 1):
                if used[j] == 0.0:
                    score = theta[(row - 1) * m + j - 1]
                    score = min(score, LARGEST) if score >= -LARGEST else -LARGEST
                    cost = -score - u[row] - v[j]
                    if cost < least[j] or least[j] == np.inf:
                        least[j], way[j] = cost, j0
                    if least[j] < delta or j1 == 0:
                        delta, j1 = least[j], j
            for j in range(m + 1):
                if used[j] != 0.0:
                    u[int(match[j])] += delta
                    v[j] -= delta
                else:
                    least[j] -= delta
            j0 = j1
            if match[j0] == 0.0:
                break
        while j0 != 0:
            j1 = int(way[j0])
            match[j0] = match[j1]
            j0 = j1


@kernel
def assign_rows(theta, V, m):
    """Maximal assignment of every row of theta (n, m²) into the 0/1 rows of V."""
    u, v, match, scratch = np.empty(m + 1), np.empty(m + 1), np.empty(m + 1), np.empty(3 * m + 3)
    for n in range(theta.shape[0]):
        assign(theta[n], m, u, v, match, scratch)
        V[n, :] = 0.0
        for j in range(1, m + 1):
            V[n, (int(match[j]) - 1) * m + j - 1] = 1.0
