"""Online logistic regression, literally: explicit matrices over all K p weights."""

import math
from decimal import Decimal, localcontext

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, ndtr, ndtri, softmax
from scipy.stats.qmc import Sobol

from naive.means import log_sum, root


def hessian(z):
    """Diag s − ssᵀ with s = softmax(z)."""
    s = softmax(z)
    return np.diag(s) - np.outer(s, s)


def hessian_of_cells(z, least):
    """Covariance of E[e_Y | cell of Y], Y ∼ s: classes of shares below least/K are one cell."""
    s, K = softmax(z), len(z)
    few = s * K < least
    cells = [np.arange(K) == k for k in range(K) if not few[k]] + ([few] if few.any() else [])
    masses = [s[cell].sum() for cell in cells]
    means = [cell * s / mass for cell, mass in zip(cells, masses, strict=True)]
    second = sum(mass * np.outer(m, m) for mass, m in zip(masses, means, strict=True))
    return second - np.outer(s, s)


def folklore_kappa(B, norm, K):
    """κ = 1/f(q), ``q = 1/(1 + (K − 1) exp(2B‖x‖))``, f by scipy's bounded search over logit p."""
    a = 2.0 * B * norm + np.log(K - 1)

    def ratio(t):
        p, apart = expit(t), t + a
        distance = np.log1p(np.exp(-a)) - np.log1p(np.exp(t)) + p * apart
        return p * (1.0 - p) * apart**2 / distance

    if a < 1e-5:
        return 0.5  # but for a²/20
    limits = (-min(a, 40.0), 0.0)
    return -1.0 / minimize_scalar(lambda t: -ratio(t), bounds=limits, method="bounded").fun


def minimised(value, gradient, second, start):
    """The minimiser of a smooth convex function by scipy's trust region and Newton."""
    found = minimize(value, start, jac=gradient, hess=second, method="trust-exact").x
    for _ in range(5):  # scipy stops where values do not change, at half the digits
        found = found - np.linalg.solve(second(found), gradient(found))
    return found


class Folklore:
    """Spec 5.1 with an explicit inverse; ``kappa(norm)`` gives the curvature of a round."""

    def __init__(self, K, p, lam, kappa, curvature=hessian):
        self.K, self.p, self.lam, self.kappa, self.curvature = K, p, lam, kappa, curvature
        self.A, self.G = lam * np.eye(K * p), np.zeros(K * p)
        self.mask, self.past = np.kron(np.eye(K), np.ones((p, p))), []

    def _each(self, x):
        """I_K ⊗ x, (K p, K)."""
        return np.kron(np.eye(self.K), x[:, None])

    def _blocks(self):
        """A⁻¹ with all but its K diagonal blocks set to 0."""
        return np.linalg.inv(self.A) * self.mask

    def logits(self, x, weight=1.0):
        """W x of the minimiser of ‖W‖²_A + <W, G> + w φ(W) over all K p weights, (3.3)."""
        each = self._each(x)
        linear = 0.5 * self.A @ self._blocks() @ each.sum(axis=1)

        def value(w):
            return w @ self.A @ w + w @ self.G + weight * (log_sum(each.T @ w) - w @ linear)

        def gradient(w):
            inner = each @ softmax(each.T @ w) - linear
            return 2.0 * self.A @ w + self.G + weight * inner

        def second(w):
            return 2.0 * self.A + weight * each @ hessian(each.T @ w) @ each.T

        return each.T @ minimised(value, gradient, second, np.zeros(self.K * self.p))

    def logits_of_surrogates(self, x):
        """The same, with λ‖W‖² and the surrogate (3.2) of every past round written out."""
        each, blocks = self._each(x), self._blocks()
        linear = 0.5 * self.A @ blocks @ each.sum(axis=1)

        def terms(w):
            for row, z, y, kappa in self.past:
                their = self._each(row)
                yield their, softmax(z) - y, hessian(z), their.T @ w - z, kappa

        def value(w):
            total = self.lam * w @ w + log_sum(each.T @ w) - w @ linear
            return total + sum(g @ d + kappa * d @ h @ d for _, g, h, d, kappa in terms(w))

        def gradient(w):
            total = 2.0 * self.lam * w + each @ softmax(each.T @ w) - linear
            return total + sum(E @ (g + 2.0 * kappa * h @ d) for E, g, h, d, kappa in terms(w))

        def second(w):
            total = 2.0 * self.lam * np.eye(len(w)) + each @ hessian(each.T @ w) @ each.T
            return total + sum(2.0 * kappa * E @ h @ E.T for E, _, h, _, kappa in terms(w))

        return each.T @ minimised(value, gradient, second, np.zeros(self.K * self.p))

    def potential(self, x, z, weight=1.0):
        """¼ w² tr(A⁻¹H), what the theorem adds for a round."""
        each = self._each(x)
        return 0.25 * weight**2 * np.trace(np.linalg.solve(self.A, each @ hessian(z) @ each.T))

    def update(self, x, z, y, weight=1.0):
        """The row, its logits and its distribution y of labels join A and G."""
        kappa, each = self.kappa(np.linalg.norm(x)), self._each(x)
        h = self.curvature(z)
        self.A += weight * kappa * each @ h @ each.T
        self.G += weight * each @ (softmax(z) - y - 2.0 * kappa * h @ z)
        self.past.append((x, z, y, kappa))


class Approximate(Folklore):
    """`Folklore` with all of A but its K diagonal blocks set to 0 after a row."""

    def update(self, x, z, y, weight=1.0):
        """The row joins A and G."""
        super().update(x, z, y, weight)
        self.A *= self.mask


class Gaussian(Folklore):
    """Spec 5.3, GAF: weights ∼ N(−½A⁻¹G, ½A⁻¹), and the round's loss expanded at a center."""

    def law(self, x):
        """Mean (K,) and covariance (K, K) of the logits of a row."""
        each, inverse = self._each(x), np.linalg.inv(self.A)
        return -0.5 * each.T @ inverse @ self.G, 0.5 * each.T @ inverse @ each

    def center(self, x, y, weight=1.0):
        """The z with z = m − wS(softmax(z) − y), as S at the least of ½qᵀwSq + log Σ exp z."""
        m, S = self.law(x)
        S = weight * S
        g = m + S @ y

        def gradient(q):
            return S @ (q - softmax(g - S @ q))

        def second(q):
            return S + S @ hessian(g - S @ q) @ S

        q = minimised(
            lambda q: 0.5 * q @ S @ q + log_sum(g - S @ q), gradient, second, np.full(self.K, 0.5)
        )
        return g - S @ q


class Aioli:
    """Spec 5.2: two classes, C = A⁻¹ over θ = w_1 − w_0 by Sherman and Morrison."""

    def __init__(self, p, lam, kappa):
        self.C, self.g, self.kappa = np.eye(p) / lam, np.zeros(p), kappa

    def margin(self, x, weight=1.0):
        """The root m of m + wq(σ(m) − ½) = c."""
        q, c = weight * x @ self.C @ x, -x @ self.C @ self.g
        return root(lambda m: m + q * (expit(m) - 0.5) - c, c - q / 2, c + q / 2)

    def update(self, x, m, y, weight=1.0):
        """Learn the probability y of class 1."""
        p, v = expit(m), self.C @ x
        a = 2 * self.kappa(np.linalg.norm(x)) * weight * p * (1 - p)
        self.C -= a * np.outer(v, v) / (1 + a * x @ v)
        self.g += weight * (p - y) * x - a * m * x


def mixture(logs, y, weight):
    """Losses of the mixture of parts with log probabilities (N, n, K), and its last shares (N,).

    In every round the shares are ``∝ exp(−Σ w ℓ/m)``, m the largest weight so far or 1.
    """
    losses, lost, heaviest = [0.0] * len(logs), [], 1.0
    for t in range(len(y)):
        heaviest = max(heaviest, weight[t])
        raised = [math.exp(-(loss - min(losses)) / heaviest) for loss in losses]
        mean = sum(v * math.exp(part[t][y[t]]) for v, part in zip(raised, logs, strict=True))
        lost.append(-math.log(mean / sum(raised)))
        losses = [loss - weight[t] * part[t][y[t]] for loss, part in zip(losses, logs, strict=True)]
    raised = np.exp(-(np.array(losses) - min(losses)) / heaviest)
    return np.array(lost), raised / raised.sum()


class OnlineNewton:
    """Spec 5.3: online Newton steps with the projection when the row arrives."""

    def __init__(self, K, p, B, gamma):
        self.K, self.B, self.gamma = K, B, gamma
        self.A, self.W = np.eye(K * p) / (gamma**2 * K * B**2), np.zeros(K * p)

    def logits(self, x):
        """Project W in the norm of A on |Wx|_∞ ≤ B‖x‖ by a generic solver; W x."""
        each = np.kron(np.eye(self.K), x[:, None])
        bound, start = self.B * np.linalg.norm(x), self.W
        S, u = each.T @ np.linalg.inv(self.A) @ each, each.T @ start
        if np.abs(u).max() > bound:
            inverse = np.linalg.inv(S)
            found = minimize(
                lambda z: 0.5 * (z - u) @ inverse @ (z - u),
                np.clip(u, -bound, bound),
                jac=lambda z: inverse @ (z - u),
                bounds=[(-bound, bound)] * self.K,
                method="L-BFGS-B",
                options={"ftol": 1e-16, "gtol": 1e-12, "maxiter": 1000},
            )
            self.W = start + np.linalg.inv(self.A) @ each @ inverse @ (found.x - u)
        return each.T @ self.W

    def update(self, x, z, y, weight=1.0):
        """A ← A + ggᵀ and W ← W − A⁻¹g/γ, g the gradient of the weighted loss."""
        g = weight * np.kron(softmax(z) - y, x)
        self.A += np.outer(g, g)
        self.W = self.W - np.linalg.solve(self.A, g) / self.gamma


def mean_of_sigmoid(mean, deviation):
    """E σ(u) of a Gaussian u, by a rule with so many points that nothing is left of its error."""
    step = min(1e-4, 0.01 / max(deviation, 1e-300))
    size = int(12.0 / step)
    if size > 5_000_000:  # a step function beside the Gaussian: by the logistic law
        step = 1e-4
        v = step * np.arange(-600_000, 600_001)
        return float(np.sum(expit(v) * expit(-v) * ndtr((mean - v) / deviation)) * step)
    e = step * np.arange(-size, size + 1)
    density = np.exp(-0.5 * e * e) / np.sqrt(2.0 * np.pi)
    return float(np.sum(density * expit(mean + deviation * e)) * step)


def mean_of_softmax(mean, covariance, power=17):
    """E softmax(z) of z ∼ N(mean, covariance), over 2^power points; right to some 1e-4.

    Of two classes by `mean_of_sigmoid`.
    """
    if len(mean) == 2:
        variance = np.array([-1, 1]) @ covariance @ [-1, 1]
        share = mean_of_sigmoid(mean[1] - mean[0], np.sqrt(variance))
        return np.array([1.0 - share, share])
    eigenvalues, vectors = np.linalg.eigh(covariance)
    kept = eigenvalues > 1e-12 * eigenvalues.max()
    root = vectors[:, kept] * np.sqrt(eigenvalues[kept])
    points = ndtri(Sobol(kept.sum(), seed=np.random.default_rng(99)).random(2**power))
    z = mean + points @ root.T
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True)).mean(axis=0)


def exact_aioli(X, y, weight, kappas, lam):
    """Margins of AIOLI (spec 5.2) with weights and κ of the rows, in decimals of 60 digits."""
    zero, margins = Decimal(0), []
    C = np.full((X.shape[1], X.shape[1]), zero)
    np.fill_diagonal(C, 1 / Decimal(lam))
    g = np.full(X.shape[1], zero)
    with localcontext() as context:
        context.prec = 60
        for row, label, w, kappa in zip(X, y, weight, kappas, strict=True):
            x, w = np.array([Decimal(float(v)) for v in row]), Decimal(float(w))
            v = C @ x
            q, c = x @ v, -(v @ g)
            m = _decimal_root(c, w * q)
            s = _decimal_share(m)
            a = 2 * s * (1 - s) * Decimal(float(kappa))
            C = C - w * a * np.outer(v, v) / (1 + w * a * q)
            g = g + w * (s - int(label) - a * m) * x
            margins.append(float(m))
    return np.array(margins)


def _decimal_share(m):
    """σ(m)."""
    e = (-abs(m)).exp()
    return (1 if m > 0 else e) / (1 + e)


def _decimal_root(c, a):
    """The root of m + a(σ(m) − ½) = c."""
    half = Decimal("0.5")
    return root(lambda m: m + a * (_decimal_share(m) - half) - c, c - a / 2, c + a / 2, 230)
