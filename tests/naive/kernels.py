"""Learners with kernels, literally: a Gram matrix, explicit coefficients, naive averages."""

import math

import numpy as np

from naive.rounds import round_shares


def rbf(gamma):
    """k(x, z) = exp(−γ‖x−z‖²)."""
    return lambda x, z: math.exp(-gamma * float((x - z) @ (x - z)))


def multiscale(gamma):
    """The mean of `rbf` with γ/4, γ and 4γ."""
    return lambda x, z: sum(rbf(gamma * f)(x, z) for f in (0.25, 1.0, 4.0)) / 3.0


def laplacian(gamma):
    """k(x, z) = exp(−γ‖x−z‖₁)."""
    return lambda x, z: math.exp(-gamma * float(np.abs(x - z).sum()))


def poly(gamma, coef0, degree):
    """k(x, z) = (γ<x, z> + coef0)^degree."""
    return lambda x, z: (gamma * float(x @ z) + coef0) ** degree


def sigmoid(gamma, coef0):
    """k(x, z) = tanh(γ<x, z> + coef0)."""
    return lambda x, z: math.tanh(gamma * float(x @ z) + coef0)


def arc_cosine(coef0):
    """‖x‖‖z‖(sin θ + (π − θ) cos θ)/π of (x, √coef0).

    The angle is that of Kahan, twice the one between sums and differences of rows of norm 1.
    """

    def value(x, z):
        x, z = (np.append(row, math.sqrt(coef0)) for row in (x, z))
        sizes = [float(np.linalg.norm(row)) for row in (x, z)]
        if min(sizes) == 0.0:
            return 0.0
        u, v = x / sizes[0], z / sizes[1]
        angle = 2.0 * math.atan2(np.linalg.norm(u - v), np.linalg.norm(u + v))
        curve = math.sin(angle) + (math.pi - angle) * math.cos(angle)
        return sizes[0] * sizes[1] * curve / math.pi

    return value


def linear(x, z):
    """k(x, z) = <x, z>."""
    return float(x @ z)


def gram(kernel, X, Z):
    """k(x, z) of all pairs, (len(Z), len(X))."""
    return np.array([[kernel(x, z) for x in X] for z in Z])


def _played(G, gradient, dim, average, weights_of):
    """Scores (n, dim), the weights of every round and after the last, and their average.

    `gradient(theta, t)` is s_t, `G` the Gram matrix of the rows, and `weights_of(S, t)` makes the
    weights of round t of the gradients S before it.
    """
    n = len(G)
    S, played, weights = np.zeros((n, dim)), np.zeros((n, dim)), np.zeros((n + 1, n, dim))
    for t in range(n):
        weights[t] = weights_of(S, t)
        played[t] = G[t] @ weights[t]
        S[t] = gradient(played[t], t)
    weights[n] = weights_of(S, n)
    mean = np.tensordot(round_shares(np.ones(n), average), weights[:-1], axes=1)
    return played, weights[n], mean


def pistol(G, gradient, dim, a, b, L, average="polynomial"):
    """Algorithm 3 with vectors: the scores (n, dim) played, and the coefficients of the average.

    ‖g‖² is the Gram form. The paper's average is "uniform".
    """

    def weights_of(S, t):
        reach = L * math.sqrt(np.diag(G)[: t + 1].max())
        path = sum(np.linalg.norm(S[:t], axis=1) * np.sqrt(np.diag(G)[:t]))
        alpha = a * reach * (reach + path)
        return -S * b / alpha * math.exp(np.sum(S * (G @ S)) / (2.0 * alpha))

    played, _, mean = _played(G, gradient, dim, average, weights_of)
    return played, mean


def gradient_descent(G, gradient, step, average="polynomial"):
    """W_t+1 = W_t − η s_t φ(x_t): scores played, coefficients last and averaged."""
    return _played(G, gradient, len(gradient(None, 0)), average, lambda S, t: -step * S)
