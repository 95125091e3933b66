"""Max-margin models by enumeration of vertices: losses by LPs, optima by a QP solver."""

import numpy as np
from scipy.optimize import linprog, minimize


def max_min(L, V, v):
    """max_p min_r (Lp)_r + <v, Vᵀp> over mixtures p of the vertices V; L[predicted, true]."""
    m = len(V)
    cost = np.r_[-(V @ v), -1.0]
    A_ub = np.column_stack([-L, np.ones(m)])
    A_eq = np.r_[np.ones(m), 0.0][None]
    bounds = [(0, None)] * m + [(None, None)]
    result = linprog(cost, A_ub, np.zeros(m), A_eq, [1.0], bounds)
    assert result.status == 0
    return -result.fun


def max_min_loss(L, V, v, y):
    """S(v, y) of the max-min network, y a place in V."""
    return max_min(L, V, v) - v @ V[y]


def margin_loss(L, V, v, y):
    """S(v, y) of the structural SVM."""
    return np.max(L[:, y] + V @ v) - v @ V[y]


def quadratic_loss(L, V, v, y, costs):
    """‖v + c(y)‖²."""
    return np.sum((v + costs[y]) ** 2)


def objective(loss, L, V, W, F, y, alpha):
    """(1/n) Σ S(W f_i, y_i) + (α/2) ‖W‖² of weights (dim, p)."""
    total = sum(loss(L, V, W @ f, label) for f, label in zip(F, y, strict=True))
    return total / len(F) + 0.5 * alpha * np.sum(W**2)


def optimum(L, V, F, y, alpha, max_min):
    """The least objective, as a quadratic program in (W, ξ, ν) with a constraint a vertex.

    ξ_i ≥ Σ_r ν_ir L[r, y'] + <W f_i, φ(y') − φ(y_i)>; ν_i is the vertex y_i for the SVM.
    """
    (n, p), (m, dim) = F.shape, V.shape
    sizes = [dim * p, n, n * m if max_min else 0]
    rows, right = [], []
    for i in range(n):
        for t in range(m):
            row = np.zeros(sum(sizes))
            row[: dim * p] = -np.outer(V[t] - V[y[i]], F[i]).ravel()
            row[dim * p + i] = 1.0
            start = dim * p + n + i * m
            if max_min:
                row[start : start + m] = -L[:, t]
            rows.append(row)
            right.append(0.0 if max_min else L[t, y[i]])
    A, b = np.array(rows), np.array(right)
    constraints = [{"type": "ineq", "fun": lambda z: A @ z - b, "jac": lambda z: A}]
    if max_min:
        E = np.zeros((n, sum(sizes)))
        for i in range(n):
            E[i, dim * p + n + i * m : dim * p + n + (i + 1) * m] = 1.0
        constraints.append({"type": "eq", "fun": lambda z: E @ z - 1.0, "jac": lambda z: E})
    weight = np.r_[np.full(sizes[0], alpha), np.zeros(sizes[1] + sizes[2])]
    linear = np.r_[np.zeros(sizes[0]), np.full(n, 1.0 / n), np.zeros(sizes[2])]
    start = np.r_[np.zeros(sizes[0]), np.full(n, L.max()), np.full(sizes[2], 1.0 / m)]
    result = minimize(
        lambda z: 0.5 * (weight * z) @ z + linear @ z,
        start,
        jac=lambda z: weight * z + linear,
        bounds=[(None, None)] * (sizes[0] + n) + [(0.0, None)] * sizes[2],
        constraints=constraints,
        method="SLSQP",
        options={"maxiter": 2000, "ftol": 1e-13},
    )
    return result.fun
