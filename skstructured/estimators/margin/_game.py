"""Matrix games, solved exactly: the max-min oracle of a list of outputs."""

from skstructured._engine.compiled import kernel

#: Reduced costs and entries of the tableau closer to 0 than this count as 0.
ZERO = 1e-12


@kernel
def _fill(B, rows, cols, T):
    """Tableau of ``max Σ y, Bᵀy ≤ 1, y ≥ 0``, B scaled to [1, 2]; rows for B's columns."""
    low, high, size = B[0, 0], B[0, 0], rows + cols
    for r in range(rows):
        for j in range(cols):
            low, high = min(low, B[r, j]), max(high, B[r, j])
    scale = 1.0 / (high - low) if high > low else 1.0
    for j in range(cols + 1):
        for t in range(size + 1):
            T[j, t] = 0.0
    for j in range(cols):
        for r in range(rows):
            T[j, r] = 1.0 + (B[r, j] - low) * scale
        T[j, rows + j] = 1.0
        T[j, size] = 1.0
    for r in range(rows):
        T[cols, r] = -1.0


@kernel
def _entering(T, cols, size, first):
    """Column of the most negative reduced cost, or of the first (Bland's rule); −1 at the end."""
    found, least = -1, -ZERO
    for t in range(size):
        if T[cols, t] < least:
            found, least = t, T[cols, t]
            if first:
                return found
    return found


@kernel
def _leaving(T, cols, size, column, basis):
    """Row of the least ratio, of equals the one whose variable comes first."""
    found, least = -1, 0.0
    for j in range(cols):
        if T[j, column] > ZERO:
            ratio = T[j, size] / T[j, column]
            if found < 0 or ratio < least or (ratio == least and basis[j] < basis[found]):
                found, least = j, ratio
    return found


@kernel
def _pivot(T, cols, size, row, column):
    pivot = 1.0 / T[row, column]
    for t in range(size + 1):
        T[row, t] *= pivot
    for j in range(cols + 1):
        factor = T[j, column]
        if j != row and factor != 0.0:
            for t in range(size + 1):
                T[j, t] -= factor * T[row, t]
    for j in range(cols):
        T[j, size] = max(T[j, size], 0.0)


@kernel
def _normalise(p, size):
    total = 0.0
    for k in range(size):
        p[k] = max(p[k], 0.0)
        total += p[k]
    for k in range(size):
        p[k] /= total


@kernel
def solve_game(B, rows, cols, mu, nu, T, basis):
    r"""Optimal mixtures of the game ``max_μ min_ν νᵀBμ`` by the simplex method.

    With B > 0, as it is moved to be, the mixture ν is y/Σy for the y of ``max Σ y, Bᵀy ≤ 1``, and
    μ is the dual solution, also divided by its sum (Dantzig 1951): both come from one tableau,
    which starts at y = 0. After 4 (rows + cols) steps the rule is Bland's, which cannot cycle.

    Parameters
    ----------
    B : ndarray (at least rows, at least cols)
        What the maximising side, which chooses columns, gets.
    mu, nu : ndarray
        Receive the mixtures of columns and of rows.
    T, basis : ndarray (cols + 1, rows + cols + 1), (cols,)
        Scratch.
    """
    size = rows + cols
    _fill(B, rows, cols, T)
    for j in range(cols):
        basis[j] = rows + j
    for step in range(50 * size):
        column = _entering(T, cols, size, step > 4 * size)
        row = _leaving(T, cols, size, column, basis) if column >= 0 else -1
        if row < 0:
            break
        _pivot(T, cols, size, row, column)
        basis[row] = column
    for j in range(cols):
        mu[j] = T[cols, rows + j]
    for r in range(rows):
        nu[r] = 0.0
    for j in range(cols):
        if basis[j] < rows:
            nu[int(basis[j])] = T[j, size]
    _normalise(mu, cols)
    _normalise(nu, rows)
