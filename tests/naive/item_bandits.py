"""Bandits whose actions have features, by inverses of whole matrices and sums over all rounds."""

import math

import numpy as np


def standardized(rows, statistics):
    """Rows (1, (x − mean)/deviation), by means and deviations (2, p)."""
    mean, deviation = statistics
    safe = np.where(deviation > 0.0, deviation, 1.0)
    Z = np.where(deviation > 0.0, (np.asarray(rows) - mean) / safe, 0.0)
    return np.hstack([np.ones((len(Z), 1)), Z])


class Ridge:
    """Weights, A and the least squares of all rows played, learned anew whenever asked."""

    def __init__(self, lam=1.0, free=0):
        self.lam, self.free = lam, free  # the first `free` weights are not regularized
        self.rows, self.rewards, self.weights = [], [], []

    def learn(self, x, reward, weight=1.0):
        self.rows.append(x)
        self.rewards.append(reward)
        self.weights.append(weight)

    def solve(self, transform=lambda rows: rows):
        """A, ŵ, and min_w λ‖w‖² + Σ w_t (r_t − <w, z_t>)²."""
        Z, y, s = transform(np.array(self.rows)), np.array(self.rewards), np.array(self.weights)
        penalty = self.lam * np.diag(np.arange(Z.shape[1]) >= self.free)
        A = penalty + (Z * s[:, None]).T @ Z
        w = np.linalg.inv(A) @ (Z.T @ (s * y))
        least = w @ penalty @ w + s @ (y - Z @ w) ** 2
        return A, w, least

    def noise(self, least):
        return math.sqrt(least / sum(self.weights))


def information(A, lam, free):
    """det A/det λI, of what the free weights do not explain."""
    rest = A[free:, free:] - A[free:, :free] @ np.linalg.inv(A[:free, :free]) @ A[:free, free:]
    return np.linalg.det(rest / lam)


def theory_radius(A, lam, R, S, delta, free=0):
    """β of Theorem 2 of Abbasi-Yadkori, Pál, Szepesvári (2011), with its determinants."""
    ratio = math.sqrt(information(A, lam, free))
    return R * math.sqrt(2 * math.log(ratio / delta)) + math.sqrt(lam) * S


def bounds(A, w, Z, beta):
    """Lower and upper confidence bounds of rows, one by one."""
    inverse = np.linalg.inv(A)
    margins = np.array([beta * math.sqrt(z @ inverse @ z) for z in Z])
    return Z @ w - margins, Z @ w + margins


def theorem_3(n, d, L, lam, R, S, delta):
    """The bound on the regret of Theorem 3, for rewards in [−1, 1] and λ ≥ max(1, L²)."""
    first = 4 * math.sqrt(n * d * math.log(lam + n * L / d))
    inner = math.sqrt(2 * math.log(1 / delta) + d * math.log(1 + n * L / (lam * d)))
    return first * (math.sqrt(lam) * S + R * inner)


def best_of_two(A, w, Z, deviation):
    """How likely the first of two actions is the best under N(ŵ, deviation² A⁻¹)."""
    z = Z[0] - Z[1]
    sigma = deviation * math.sqrt(z @ np.linalg.inv(A) @ z)
    return 0.5 * (1.0 + math.erf((z @ w) / (sigma * math.sqrt(2.0))))
