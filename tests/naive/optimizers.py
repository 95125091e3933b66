"""Optimisers on the whole matrix W, and the play of their rounds."""

import math

import numpy as np

from naive.rounds import learn_rounds, loss_of, of_rows


def gradient_descent(
    loss, X, V, weight=None, feature_norm=None, radius=math.inf, eta=None, intercept=True
):
    """Scores of every round and final W of gradient descent in dual-averaging form (spec 1.4)."""
    k = loss.constants_of(V.shape[1])
    m = min(0.5, k.a) if k.a > 0 else 0.5
    rate = (lambda sq: eta) if eta else lambda sq: 2 * m / (k.smoothness * sq)
    learner = Descent((V.shape[1], X.shape[1] + intercept), rate, radius, k.c, feature_norm)
    played, weights = play(learner, loss, X, V, weight, intercept)
    return played, weights[-1]


def play(learner, loss, X, V, weight=None, intercept=True):
    """The scores that a literal learner plays of rows, and all its W, the last after all rounds."""
    X = np.hstack([X, np.ones((len(X), 1))]) if intercept else X
    weight = np.ones(len(X)) if weight is None else weight
    found = learn_rounds([learner], of_rows(X, V), loss_of(loss), weight)
    return np.array(found.scores), found.weights[:, 0]


class Descent:
    """W = −η Σ c G on the ball of a radius, η = rate(max w‖x‖²) or of a norm that is given."""

    def __init__(self, shape, rate, radius=math.inf, c=1.0, feature_norm=None):
        self.total, self.rate, self.radius, self.c = np.zeros(shape), rate, radius, c
        self.given, self.largest = feature_norm, 0.0

    def play(self, norm, w):
        self.largest = max(self.largest, w * norm**2)
        sq = self.given**2 if self.given else self.largest
        W = -self.rate(sq) * self.total if sq > 0 else 0.0 * self.total
        return W * min(1.0, self.radius / max(np.linalg.norm(W), 1e-300))

    def learn(self, G):
        self.total = self.total + self.c * G


class AdaptiveGradientDescent:
    """Spec 1.4, OGD adaptive: W ← Π(W − η_t G_t), η_t = B/√(2Σ‖G‖²), on the ball of radius B/2."""

    def __init__(self, shape, c, diameter, share=1.0):
        self.W, self.c, self.B, self.total = np.zeros(shape), c, diameter, 0.0
        self.share = share

    def play(self, norm, w):
        return self.W.copy()

    def learn(self, G):
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

    def play(self, norm, w):
        self.N = max(self.N, w * norm)
        if self.N > 0:
            self.v = min(max(self.v, -0.5 / self.N), 0.5 / self.N)
        return self.v * self.wealth * self.direction.W

    def learn(self, G):
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
        self.direction.learn(G)


class PiSTOL:
    """f = g b/α exp(‖g‖²/2α), α = a L N (L N + Σ‖s‖‖x‖), on the whole matrix."""

    def __init__(self, shape, diameter, a, b, feature_norm=0.0):
        self.total, self.path, self.N = np.zeros(shape), 0.0, feature_norm
        self.L, self.a, self.b = diameter, a, b

    def play(self, norm, w):
        self.N = max(self.N, w * norm)
        alpha = self.a * self.L * self.N * (self.L * self.N + self.path)
        if alpha == 0:
            return np.zeros_like(self.total)
        exponent = min((self.total**2).sum() / (2 * alpha), 300.0)
        return self.total * self.b / alpha * math.exp(exponent)

    def learn(self, G):
        self.total = self.total - G
        self.path += float(np.linalg.norm(G))


class CoordinatePiSTOL:
    """One-dimensional PiSTOL for every weight, with b/p; R is L N, or the largest |g| if larger.

    Without N it is twice the largest |g|.

    A weight is computed anew, and its exponent counted if it is beyond 300, if g is not 0.
    """

    def __init__(self, shape, diameter, a, b, feature_norm=0.0):
        self.total, self.path, self.W = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self.R, self.a, self.b = diameter * feature_norm, a, b / shape[1]
        self.room, self.capped = 1 if feature_norm else 2, 0

    def play(self, norm, w):
        return self.W.copy()

    def learn(self, G):
        self.total, self.path = self.total - G, self.path + np.abs(G)
        for k, j in np.ndindex(G.shape):
            R = max(self.R, self.room * abs(G[k, j]))
            if G[k, j] != 0.0:
                alpha = self.a * R * (R + self.path[k, j])
                exponent = self.total[k, j] ** 2 / (2 * alpha)
                self.capped += exponent > 300.0
                self.W[k, j] = self.total[k, j] * self.b / alpha * math.exp(min(exponent, 300.0))
        self.R = max(self.R, self.room * np.abs(G).max())


class AdaGrad:
    """Duchi, Hazan, Singer (2011): W ← W − η G/√(Σ G²), entry by entry."""

    def __init__(self, shape, eta):
        self.W, self.squares, self.eta = np.zeros(shape), np.zeros(shape), eta

    def play(self, norm, w):
        return self.W.copy()

    def learn(self, G):
        self.squares += G**2
        moved = self.squares > 0.0
        self.W[moved] -= self.eta * G[moved] / np.sqrt(self.squares[moved])


class FTRLProximal:
    """McMahan et al. (2013), Algorithm 1, entry by entry."""

    def __init__(self, shape, alpha, beta, l1, l2):
        self.z, self.n = np.zeros(shape), np.zeros(shape)
        self.alpha, self.beta, self.l1, self.l2 = alpha, beta, l1, l2

    def play(self, norm, w):
        W = np.zeros_like(self.z)
        for k, j in np.ndindex(W.shape):
            z, n = self.z[k, j], self.n[k, j]
            if abs(z) > self.l1:
                curvature = (self.beta + math.sqrt(n)) / self.alpha + self.l2
                W[k, j] = -(z - math.copysign(self.l1, z)) / curvature
        return W

    def learn(self, G):
        sigma = (np.sqrt(self.n + G**2) - np.sqrt(self.n)) / self.alpha
        self.z += G - sigma * self.play(0.0, 0.0)
        self.n += G**2
