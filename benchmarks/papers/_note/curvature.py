"""Theorem 1: 1/κ* by the code, by a literal search, and by random laws; the bound before it."""

import numpy as np

from skstructured.estimators.logistic._rounds import largest_curvature

CLASSES = (2, 10, 100)
REACHES = tuple(0.25 * 2.0 ** (k / 4) for k in range(21))


def coins(a):
    """f by a search over p: the largest Var/KL of two coins with logits t and −a."""
    t = -a + np.linspace(1e-3, a + 3.0, 200_001)
    p, q = 1.0 / (1.0 + np.exp(-t)), 1.0 / (1.0 + np.exp(a))
    divergence = p * np.log(p / q) + (1.0 - p) * np.log((1.0 - p) / (1.0 - q))
    return float((p * (1.0 - p) * (t + a) ** 2 / divergence).max())


def laws(K, c, rng, n=100_000):
    """The largest Var/KL of many random pairs, s anything and s' of logits in [−c, c]."""
    spread = np.exp(rng.uniform(-2.0, 2.0, size=(n, 1)))
    s = softmax(spread * rng.randn(n, K))
    signs = rng.choice([-1.0, 1.0], size=(n, K))
    logits = c * np.where(rng.rand(n, 1) < 0.5, signs, rng.uniform(-1.0, 1.0, (n, K)))
    logits[: n // 4] = np.where(np.arange(K) == 0, -c, c)
    X = np.log(s) - np.log(softmax(logits))
    divergence = (s * X).sum(axis=1)
    variance = (s * X**2).sum(axis=1) - divergence**2
    return float((variance / divergence)[divergence > 1e-6].max())


def softmax(theta):
    shares = np.exp(theta - theta.max(axis=1, keepdims=True))
    return np.maximum(shares / shares.sum(axis=1, keepdims=True), 1e-300)


def run(results, quick):
    """One line for every K and BR."""
    rng, draws = np.random.RandomState(0), 2_000 if quick else 100_000
    results.say("K    BR      1/κ*  searched  random  2BR+ln(K-1)+2")
    for K in CLASSES:
        for c in REACHES:
            a = 2.0 * c + np.log(K - 1)
            found = (
                1.0 / largest_curvature(a),
                coins(a),
                laws(K, c, rng, min(draws, 3_000_000 // K)),
            )
            cells = "".join(f"{value:9.4f}" for value in (*found, a + 2.0))
            numbers = dict(zip(("ours", "searched", "random"), found, strict=True))
            results.add(f"{K:<4}{c:6.3f}{cells}", table="curvature", K=K, BR=c, **numbers)
