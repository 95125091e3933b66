"""Bandit learners: `play(x, u) -> (action, propensity)`, `learn(right, u)`."""

import math

import numpy as np
from scipy.special import softmax

from naive.gaps import gap_surrogate
from naive.means import root


class Drawing:
    """Actions drawn from probabilities p."""

    def answer(self, p, u):
        self.action = min(int((np.cumsum(p) <= u).sum()), len(p) - 1)
        self.p = p[self.action]
        return self.action, self.p

    def mostly(self, theta, rho, u):
        """The best action, but for a share rho of the rounds that all actions share."""
        p = np.full(self.K, rho / self.K)
        p[int(np.argmax(theta))] += 1 - rho
        return self.answer(p, u)

    def rho(self, power):
        """The exploration that is given, or min(½, (K/t)^power)."""
        return self.given if self.given is not None else min(0.5, (self.K / self.t) ** power)


class Gaptron(Drawing):
    """Spec 4.2: dual averaging with the running maximum of ‖x‖, W on the ball of radius D."""

    def __init__(self, kind, K, p, D, horizon=None, exploration=None):
        self.kind, self.K, self.D, self.T, self.given = kind, K, D, horizon, exploration
        self.total, self.X, self.t = np.zeros((K, p)), 0.0, 0

    def rates(self):
        K, X, D, T = self.K, self.X, self.D, self.T or self.t
        rho = {
            "logistic": K * X * D / math.sqrt(T * math.log(2)),
            "hinge": math.sqrt(K**3 * X**2 * D**2 / (2 * (1 - 1 / K) * (K - 1) * T)),
            "smooth_hinge": math.sqrt(2 * K**2 * X**2 * D**2 / T),
        }[self.kind]
        rho = min(1.0, rho) if self.given is None else self.given
        if rho == 0:
            return math.log(2) * math.exp(-2 * D * X) / (2 * K**2 * X**2), 0.0
        eta = {
            "logistic": rho * math.log(2) / (2 * K**2 * X**2),
            "hinge": rho * (1 - 1 / K) / (K**2 * X**2),
            "smooth_hinge": rho / (4 * K**2 * X**2),
        }[self.kind]
        return eta, rho

    def weights(self):
        W = -self.rates()[0] * self.total
        return W * min(1.0, self.D / max(np.linalg.norm(W), 1e-300))

    def play(self, x, u):
        self.t, self.X = self.t + 1, max(self.X, float(np.linalg.norm(x)))
        self.x, self.theta = x, self.weights() @ x
        a = max(gap_surrogate(self.kind, self.theta, 0)[2], self.rates()[1])
        return self.mostly(self.theta, a, u)

    def learn(self, right, u=None):
        if right:
            gradient = gap_surrogate(self.kind, self.theta, self.action)[1]
            self.total += np.outer(gradient, self.x) / self.p


class Banditron(Drawing):
    def __init__(self, K, p, exploration=None):
        self.W, self.K, self.given, self.t = np.zeros((K, p)), K, exploration, 0

    def weights(self):
        return self.W

    def play(self, x, u):
        self.t += 1
        self.x, self.top = x, int(np.argmax(self.W @ x))
        return self.mostly(self.W @ x, self.rho(1 / 3), u)

    def learn(self, right, u=None):
        g = np.eye(self.K)[self.action] * (right / self.p) - np.eye(self.K)[self.top]
        self.W = self.W + np.outer(g, self.x)


class SOBA(Drawing):
    def __init__(self, K, p, a, exploration=None):
        self.A, self.b, self.K = a * np.eye(K * p), np.zeros(K * p), K
        self.given, self.t, self.m = exploration, 0, 0.0

    def weights(self):
        return np.linalg.solve(self.A, self.b).reshape(self.K, -1)

    def play(self, x, u):
        self.t += 1
        self.x, self.W = x, self.weights()
        self.theta = self.W @ x
        return self.mostly(self.theta, self.rho(1 / 2), u)

    def learn(self, right, u=None):
        if not right:
            return
        others = [k for k in range(self.K) if k != self.action]
        other = max(others, key=lambda k: self.theta[k])
        e = np.eye(self.K)
        g = np.kron(e[other] - e[self.action], self.x) / self.p
        z, w = math.sqrt(self.p) * g, self.W.ravel()
        q = z @ np.linalg.solve(self.A, z)
        m = ((w @ z) ** 2 + 2 * w @ g) / (1 + q)
        if m + self.m >= 0:
            self.m += m
            self.A, self.b = self.A + np.outer(z, z), self.b - g


class Newtron(Drawing):
    def __init__(self, K, p, alpha, beta, D, exploration=None):
        self.K, self.alpha, self.beta, self.D, self.given = K, alpha, beta, D, exploration
        self.A, self.b, self.t = np.eye(K * p) / D, np.zeros(K * p), 0

    def weights(self):
        """Minimise ½ wᵀAw − bᵀw over the ball: bisect the multiplier in the eigenbasis."""
        values, Q = np.linalg.eigh(self.A)
        c = Q.T @ self.b
        room = lambda mu: self.D - np.linalg.norm(c / (values + mu))  # noqa: E731
        high = 1.0
        while room(high) < 0:
            high *= 2
        mu = 0.0 if room(0.0) >= 0 else root(room, 0.0, high)
        return (Q @ (c / (values + mu))).reshape(self.K, -1)

    def play(self, x, u):
        self.t += 1
        self.x, self.W, rho = x, self.weights(), self.rho(1 / 2)
        self.P = softmax(self.alpha * (self.W @ x))
        return self.answer((1 - rho) * self.P + rho / self.K, u)

    def learn(self, right, u=None):
        shift = np.eye(self.K)[self.action] - 1 / self.K
        share = self.P[self.action] - (1.0 if right else 0.0)
        g, kappa = np.kron(share / self.p * shift, self.x), self.p if right else 1.0
        self.A = self.A + kappa * self.beta * np.outer(g, g)
        self.b = self.b + (kappa * self.beta * (g @ self.W.ravel()) - 1) * g


class Confidit:
    def __init__(self, K, p, alpha, eta):
        self.A = [(1 + alpha) ** 2 * np.eye(p) for _ in range(K)]
        self.w, self.alpha, self.eta = np.zeros((K, p)), alpha, eta

    def weights(self):
        return self.w

    def play(self, x, u):
        x = x / np.linalg.norm(x)
        upper = []
        for i, A in enumerate(self.A):
            v = np.linalg.solve(A, x)
            inner = self.w[i] @ x
            self.w[i] = self.w[i] + (np.clip(inner, -self.alpha, 1) - inner) * v / (x @ v)
            upper.append(self.w[i] @ x + math.sqrt(self.eta * (x @ v)))
        self.x, self.action = x, int(np.argmax(upper))
        return self.action, 1.0

    def learn(self, right, u=None):
        s = 1.0 if right or u < (1 - self.alpha) / 2 else -1.0
        i = self.action
        new = self.A[i] + np.outer(self.x, self.x)
        self.w[i] = np.linalg.solve(new, self.A[i] @ self.w[i] + s * self.x)
        self.A[i] = new
