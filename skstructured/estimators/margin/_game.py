"""Matrix games, solved exactly: the max-min oracle of a list of outputs."""

import numpy as np

from skstructured._engine.compiled import kernel
from skstructured.estimators.margin._saddle import ZERO, pivot


@kernel
def _fill(B):
    """Dictionary of ``max Σ y, w = 1 − Bᵀy ≥ 0, y ≥ 0`` with B scaled to [1, 2]; Σ y is last."""
    (rows, cols), low, high = B.shape, B.min(), B.max()
    scale = 1.0 / (high - low) if high > low else 1.0
    D = np.ones((cols + 1, rows + 1))
    for j in range(cols):
        for r in range(rows):
            D[j, r] = -1.0 - (B[r, j] - low) * scale
    D[cols, rows] = 0.0
    return D


@kernel
def _entering(D, cols, free, by_number):
    """Column of the largest gain, or of the variable that comes first; −1 at the end."""
    found = -1
    for t in range(len(free)):
        if D[cols, t] > ZERO:
            better = found < 0 or D[cols, t] > D[cols, found]
            if free[t] < free[found] if by_number and found >= 0 else better:
                found = t
    return found


@kernel
def _leaving(D, cols, column, basic):
    """Row of the least ratio; ties go to the variable that comes first."""
    found, least = -1, 0.0
    for j in range(cols):
        if D[j, column] < -ZERO:
            ratio = max(D[j, len(D[j]) - 1], 0.0) / -D[j, column]
            if found < 0 or ratio < least or (ratio == least and basic[j] < basic[found]):
                found, least = j, ratio
    return found


@kernel
def solve_game(B, mu, nu):
    r"""Optimal mixtures of the game ``max_μ min_ν νᵀBμ`` by the simplex method.

    With B > 0, as it is moved to be, the mixture ν is y/Σy for the y of ``max Σ y, Bᵀy ≤ 1``, and
    μ is the dual solution, also divided by its sum (Dantzig 1951): both come from one dictionary,
    which starts at y = 0. After 4 (rows + cols) steps the rule is Bland's, which cannot cycle.

    Parameters
    ----------
    B : ndarray (rows, cols)
        What the maximising side, which chooses columns, gets.
    mu, nu : ndarray (cols,) and (rows,)
        Receive the mixtures of columns and of rows.
    """
    (rows, cols), D = B.shape, _fill(B)
    basic, free = rows + np.arange(cols), np.arange(rows)
    for step in range(50 * (rows + cols)):
        column = _entering(D, cols, free, step > 4 * (rows + cols))
        row = _leaving(D, cols, column, basic) if column >= 0 else -1
        if row < 0:
            break
        pivot(D, cols + 1, rows + 1, row, column)
        basic[row], free[column] = free[column], basic[row]
    mu[:], nu[:] = 0.0, 0.0
    for j in range(cols):
        if basic[j] < rows:
            nu[basic[j]] = max(D[j, rows], 0.0)
    for r in range(rows):
        if free[r] >= rows:
            mu[free[r] - rows] = max(-D[cols, r], 0.0)
    mu /= mu.sum()
    nu /= nu.sum()
