"""Literal, slow references: what the kernels must equal."""

import math

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from skstructured.regularizers import Shannon, Tsallis
from skstructured.spaces import OrdinalChain


def omega(space, regularizer, mu, weights=None):
    """Ψ(μ), term by term; with the weights over vertices for conditional random fields."""

    def xlogx(p):
        return sum(v * math.log(v) for v in p if v > 0)

    if isinstance(regularizer, Shannon) and isinstance(space, OrdinalChain):
        return xlogx(weights)
    if isinstance(regularizer, Shannon):
        two_sided = space.task == "multilabel"
        return xlogx(mu) + (xlogx(1 - mu) if two_sided else 0.0)
    if isinstance(regularizer, Tsallis):
        alpha = regularizer.alpha
        return sum(max(v, 0.0) ** alpha for v in mu) / (alpha * (alpha - 1))
    return 0.5 * float(mu @ mu)


def mean_and_conjugate(space, regularizer, theta):
    """Maximise <θ,μ> − Ψ(μ) over weights on the listed vertices, by a generic solver."""
    V = space.vertices()

    def objective(weights):
        mu = weights @ V
        return omega(space, regularizer, mu, weights) - float(theta @ mu)

    m = len(V)
    if isinstance(regularizer, Shannon):  # an interior optimum: any weights are a softmax
        found = minimize(lambda z: objective(softmax(z)), V @ theta * 0.5, method="BFGS")
        return softmax(found.x) @ V, -found.fun
    best = None
    for start in (np.full(m, 1 / m), 0.9 * np.eye(m)[np.argmax(V @ theta)] + 0.1 / m):
        found = minimize(
            objective,
            start,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * m,
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0},
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        if best is None or found.fun < best.fun:
            best = found
    weights = np.maximum(best.x, 0) / np.maximum(best.x, 0).sum()
    return weights @ V, -best.fun


def isotonic_staircase(theta):
    """Projection on 1 ≥ μ_1 ≥ … ≥ μ_d ≥ 0 by the min-max formula of isotonic regression."""
    d = len(theta)
    fit = [
        max(min(np.mean(theta[i : j + 1]) for i in range(k + 1)) for j in range(k, d))
        for k in range(d)
    ]
    return np.clip(fit, 0.0, 1.0)


def simplex_projection(theta):
    """Projection on the simplex: try every support size."""
    ordered = sorted(theta, reverse=True)
    tau = max((sum(ordered[:k]) - 1) / k for k in range(1, len(ordered) + 1))
    return np.maximum(theta - tau, 0.0)


def gradient_descent(
    loss, X, V, weight=None, feature_norm=None, radius=math.inf, eta=None, intercept=True
):
    """Scores of every round and final W of gradient descent in dual-averaging form (spec 1.4)."""
    X = np.hstack([X, np.ones((len(X), 1))]) if intercept else X
    weight = np.ones(len(X)) if weight is None else weight
    k = loss.constants_of(V.shape[1])
    m = min(0.5, k.a) if k.a > 0 else 0.5
    total, largest, played = np.zeros((V.shape[1], X.shape[1])), 0.0, []

    def weights():
        C_sq = feature_norm**2 if feature_norm else largest
        step = eta or (0.0 if C_sq == 0 else 2 * m / (k.smoothness * C_sq))
        W = -step * total
        norm = np.linalg.norm(W)
        return W * (radius / norm) if norm > radius else W

    for x, v, w in zip(X, V, weight, strict=True):
        largest = max(largest, w * float(x @ x))
        theta = weights() @ x
        played.append(theta)
        total += w * k.c * np.outer(loss.mean(theta[None])[0] - v, x)
    return np.array(played), weights()


def play(learner, loss, X, V, weight=None, intercept=True):
    """Rounds of a literal learner with `play(w ‖x‖, w x) -> W` and `learn(G, x)`.

    Returns the scores played, and all the weights played, then those after the last round.
    """
    X = np.hstack([X, np.ones((len(X), 1))]) if intercept else X
    weight = np.ones(len(X)) if weight is None else weight
    scores, weights = [], []
    for x, v, w in zip(X, V, weight, strict=True):
        W = learner.play(w * float(np.linalg.norm(x)), w * x)
        weights.append(W)
        scores.append(W @ x)
        learner.learn(w * np.outer(loss.mean((W @ x)[None])[0] - v, x), x)
    return np.array(scores), np.array([*weights, learner.play(0.0, 0.0 * X[0])])


class AdaptiveGradientDescent:
    """Spec 1.4, OGD adaptive: W ← Π(W − η_t G_t), η_t = B/√(2Σ‖G‖²), on the ball of radius B/2."""

    def __init__(self, shape, c, diameter, share=1.0):
        self.W, self.c, self.B, self.total = np.zeros(shape), c, diameter, 0.0
        self.share = share

    def play(self, norm, x):
        return self.W.copy()

    def learn(self, G, x):
        self.total += float(((self.c * G) ** 2).sum())
        if self.total > 0:
            step = self.share * self.B / math.sqrt(2 * self.total)
            self.W = self.W - step * self.c * G
        self.W = self.W * min(1.0, self.B / 2 / max(np.linalg.norm(self.W), 1e-300))


class ParameterFree:
    """Coin betting by ONS times adaptive descent on the unit ball, gradients in units of c·D_2."""

    def __init__(self, shape, diameter, wealth, feature_norm=0.0):
        self.direction = AdaptiveGradientDescent(shape, 1.0, 2.0, share=0.5)
        self.wealth, self.v, self.z_sq, self.N = wealth, 0.0, 0.0, feature_norm
        self.D_2 = diameter

    def play(self, norm, x):
        self.N = max(self.N, norm)
        if self.N > 0:
            self.v = min(max(self.v, -0.5 / self.N), 0.5 / self.N)
        return self.v * self.wealth * self.direction.W

    def learn(self, G, x):
        G = G / self.D_2
        g = float((G * self.direction.W).sum())
        assert abs(g) <= self.N * (1 + 1e-12)
        z = g / (1 - g * self.v)
        self.wealth *= 1 - g * self.v
        assert self.wealth > 0
        self.z_sq += z * z
        if self.N > 0:
            self.v -= 2 / (2 - math.log(3)) * z / (self.N**2 + self.z_sq)
            self.v = min(max(self.v, -0.5 / self.N), 0.5 / self.N)
        self.direction.learn(G, x)


class PiSTOL:
    """f = g b/α exp(‖g‖²/2α), α = a L N (L N + Σ‖s‖‖x‖), on the whole matrix."""

    def __init__(self, shape, diameter, a, b, feature_norm=0.0):
        self.total, self.path, self.N = np.zeros(shape), 0.0, feature_norm
        self.L, self.a, self.b = diameter, a, b

    def play(self, norm, x):
        self.N = max(self.N, norm)
        alpha = self.a * self.L * self.N * (self.L * self.N + self.path)
        if alpha == 0:
            return np.zeros_like(self.total)
        exponent = min((self.total**2).sum() / (2 * alpha), 300.0)
        return self.total * self.b / alpha * math.exp(exponent)

    def learn(self, G, x):
        self.total = self.total - G
        self.path += float(np.linalg.norm(G))


class CoordinatePiSTOL:
    """One-dimensional PiSTOL for every weight, with b/p and the largest w|x_j| for N."""

    def __init__(self, shape, diameter, a, b):
        self.total, self.path = np.zeros(shape), np.zeros(shape)
        self.N, self.L, self.a, self.b = np.zeros(shape[1]), diameter, a, b / shape[1]

    def play(self, norm, x):
        self.N = np.maximum(self.N, np.abs(x))
        W = np.zeros_like(self.total)
        for k in range(W.shape[0]):
            for j in range(W.shape[1]):
                alpha = self.a * self.L * self.N[j] * (self.L * self.N[j] + self.path[k, j])
                if alpha > 0:
                    exponent = min(self.total[k, j] ** 2 / (2 * alpha), 300.0)
                    W[k, j] = self.total[k, j] * self.b / alpha * math.exp(exponent)
        return W

    def learn(self, G, x):
        self.total = self.total - G
        self.path += np.abs(G)


def margins(theta):
    """m(y) = θ_y − max of the others, for every y."""
    return np.array([t - max(np.delete(theta, y)) for y, t in enumerate(theta)])


def gap_surrogate(kind, theta, y):
    """(ℓ, ∇ℓ in θ, gap a) of spec 4.1, case by case."""
    K, m, star = len(theta), margins(theta), int(np.argmax(theta))
    other = max((k for k in range(K) if k != y), key=lambda k: theta[k])
    direction = np.eye(K)[other] - np.eye(K)[y]
    if kind == "logistic":
        p = softmax(theta)
        top = p.max()
        gradient = (p - np.eye(K)[y]) / math.log(2)
        return (
            float(-log_softmax(theta)[y]) / math.log(2),
            gradient,
            1.0 - (top if top >= 0.5 else 0.0),
        )
    if kind == "hinge":
        a = 1 - max(1.0 if m[star] > 1 / K else 0.0, m[star])
        a = 0.0 if m[star] > 1 / K else a
        if star == y and m[star] > 1 / K:
            return 0.0, 0.0 * direction, a
        return max(1 - m[y], 0.0), direction * (1.0 if m[y] < 1 else 0.0), a
    a = (1 - min(1.0, m[star])) ** 2
    if m[y] <= 0:
        return 1 - 2 * m[y], 2 * direction, a
    return max(1 - m[y], 0.0) ** 2, 2 * max(1 - m[y], 0.0) * direction, a


def gaptron_step(kind, K, X_sq):
    """η of the full-information table."""
    if kind == "logistic":
        return math.log(2) / (2 * K * X_sq)
    return (1 - 1 / K) / (K * X_sq) if kind == "hinge" else 1 / (4 * K * X_sq)


def gaptron(kind, K, X, y, radius=math.inf):
    """Scores, probabilities p' and final W of Gaptron, X learned by dual averaging."""
    total, largest, scores, played = np.zeros((K, X.shape[1])), 0.0, [], []
    for x, label in zip(X, y, strict=True):
        largest = max(largest, float(x @ x))
        W = -gaptron_step(kind, K, largest) * total if largest > 0 else 0 * total
        norm = np.linalg.norm(W)
        W = W * (radius / norm) if norm > radius else W
        theta = W @ x
        _, gradient, a = gap_surrogate(kind, theta, label)
        p = np.full(K, a / K)
        p[int(np.argmax(theta))] += 1 - a
        scores.append(theta)
        played.append(p)
        total += np.outer(gradient, x)
    W = -gaptron_step(kind, K, largest) * total
    norm = np.linalg.norm(W)
    return np.array(scores), np.array(played), W * min(1.0, radius / max(norm, 1e-300))
