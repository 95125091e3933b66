"""Max-margin models by enumeration of vertices: losses by LPs, optima by a QP solver."""

import numpy as np
from scipy.optimize import linprog, minimize, nnls

from naive.chains import indicators


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


def row_tables(L, V, F, y):
    """As `chain_table`, of each row of F; weights (dim, p) of vertices are read row by row."""
    return [(np.array([np.kron(v, f) for v in V]), L, place) for f, place in zip(F, y, strict=True)]


def chain_features(x, labels, k):
    """Features of a label sequence: of positions with a 1, first and last label, steps."""
    ones, steps = indicators(np.asarray(labels), k)
    unary = np.column_stack([x, np.ones(len(x))]).T @ ones
    return np.concatenate([part.ravel() for part in (unary, ones[[0, -1]], steps.sum(axis=0))])


def chain_table(x, labels, A):
    """Features of all label sequences (m, d), their losses [predicted, true], and the true one."""
    k, M = len(A), len(x)
    every = np.indices((k,) * M).reshape(M, -1).T
    F = np.array([chain_features(x, row, k) for row in every])
    L = A[every[:, None, :], every[None, :, :]].mean(axis=2)
    return F, L, int(np.flatnonzero((every == labels).all(axis=1))[0])


def objective(tables, w, share, alpha, max_min):
    """Σ share S + (α/2)‖w‖² over tables of features, losses and true outputs."""
    total = 0.5 * alpha * w @ w
    for (F, L, truth), s in zip(tables, share, strict=True):
        loss = max_min_loss if max_min else margin_loss
        total += s * loss(L, F, w, truth)
    return total


def optimum(tables, share, alpha, max_min):
    """The least `objective`, as a quadratic program in (w, ξ, ν) with a constraint an output.

    ξ_i ≥ Σ_r ν_ir L[r, y'] + <w, φ(x_i, y') − φ(x_i, y_i)>; ν_i is y_i for the SVM.
    """
    d, n = tables[0][0].shape[1], len(tables)
    many = [len(L) if max_min else 0 for _, L, _ in tables]
    starts = d + n + np.r_[0, np.cumsum(many)]
    rows, right, sums = [], [], np.zeros((n if max_min else 0, starts[-1]))
    for i, (F, L, truth) in enumerate(tables):
        for t in range(len(F)):
            row = np.zeros(starts[-1])
            row[:d], row[d + i] = F[truth] - F[t], 1.0
            if max_min:
                row[starts[i] : starts[i + 1]] = -L[:, t]
            rows.append(row)
            right.append(0.0 if max_min else L[t, truth])
        if max_min:
            sums[i, starts[i] : starts[i + 1]] = 1.0
    A, b, bent = np.array(rows), np.array(right), np.zeros(starts[-1])
    bent[:d] = alpha
    linear = np.r_[np.zeros(d), share, np.zeros(sum(many))]
    constraints = [{"type": "ineq", "fun": lambda z: A @ z - b, "jac": lambda z: A}]
    if max_min:
        constraints.append({"type": "eq", "fun": lambda z: sums @ z - 1.0, "jac": lambda z: sums})
    first = np.r_[np.zeros(d), np.ones(n), np.repeat(1.0 / np.maximum(many, 1), many)]
    result = minimize(
        lambda z: 0.5 * (bent * z) @ z + linear @ z,
        first,
        jac=lambda z: bent * z + linear,
        bounds=[(None, None)] * (d + n) + [(0.0, None)] * sum(many),
        constraints=constraints,
        method="SLSQP",
        options={"maxiter": 2000, "ftol": 1e-14},
    )
    return result.fun


def mirror_prox(move_mu, move_nu, A, a, b, v, mu, nu, eta, K):
    """Algorithm 2, literally, of max_μ min_ν <ν, Aμ + b> + <a + v, μ>; means of the half-steps.

    ``move(point, gain)`` is the point of largest <gain, ·> − D(·, point), D that of the entropy.
    """
    halves = []
    for _ in range(K):
        half_mu = move_mu(mu, eta * (A.T @ nu + a + v))
        half_nu = move_nu(nu, -eta * (A @ mu + b))
        mu = move_mu(mu, eta * (A.T @ half_nu + a + v))
        nu = move_nu(nu, -eta * (A @ half_mu + b))
        halves.append((half_mu, half_nu))
    return [np.mean(side, axis=0) for side in zip(*halves, strict=True)]


def tilt(point, gain):
    """The move of Σ μ ln μ over the simplex."""
    e = point * np.exp(gain - gain.max())
    return e / e.sum()


def tilt_labels(point, gain):
    """The move of Σ μ ln μ + (1 − μ) ln(1 − μ) over the cube."""
    odds = point / (1.0 - point) * np.exp(gain)
    return odds / (1.0 + odds)


def tilt_matching(point, gain):
    """The move of Σ P ln P over doubly stochastic matrices: rows and columns in turn."""
    P = (point * np.exp(gain - gain.max())).reshape(2 * (int(np.sqrt(len(point))),))
    for _ in range(2_000):
        P /= P.sum(axis=1, keepdims=True)
        P /= P.sum(axis=0, keepdims=True)
    return P.ravel()


def step_to(V):
    """The move of ½‖μ‖² over the hull of V: the nearest point to μ + gain, by least squares."""

    def move(point, gain):
        heavy = 1e5
        rows, right = np.vstack([V.T, np.full(len(V), heavy)]), np.r_[point + gain, heavy]
        return nnls(rows, right)[0] @ V

    return move


def saddle_gap(V, A, a, b, v, mu, nu):
    """How far (μ, ν) is from a saddle point, over vertices V."""
    upper = np.max(V @ (A.T @ nu + a + v)) + b @ nu
    return upper - np.min(V @ (A @ mu + b)) - (a + v) @ mu


def block_frank_wolfe(oracle, K, truth, alpha, orders, counted):
    """Algorithm 4 with the steps 2n/(t + 2n): the last means, and those of the averaged weights.

    `oracle(v)` is a mean; `orders` are the rows of each pass, among those `counted`.
    """
    mu, mean, n = truth.copy(), truth.copy(), counted.sum()
    for t, i in enumerate(np.concatenate(orders)):
        v = K[i] @ (truth - mu) / (alpha * n)
        gamma = 2.0 * n / (t + 2.0 * n)
        mu[i] = (1.0 - gamma) * mu[i] + gamma * oracle(v)
        mean = t / (t + 2.0) * mean + 2.0 / (t + 2.0) * mu
    return mu, mean
