"""Theorem 3: what sharing costs, and a mixture against its bounds on random and hostile experts."""

import math

import numpy as np

from skstructured._engine.mixing import learn_log_losses, marginal, mix, thinning
from skstructured._engine.state import THINNING, MixtureKind


def sharing(results, quick):
    """−Σ ln(1 − α_t) up to a number of rounds, and what the rest is at most."""
    n = 10_000 if quick else 10_000_000
    t = np.arange(1.0, n + 1.0)
    alpha = np.minimum(0.5, 1.0 / ((t + 2.0) * np.log(t + 2.0) ** 2))
    assert alpha[0] == thinning(1.0)
    spent, rest = -np.log1p(-alpha).sum(), (1.0 + alpha[-1]) / math.log(n + 2.0)
    line = f"sharing costs {spent:.4f} in {n} rounds, at most {rest:.4f} after them"
    results.add(line, table="sharing", rounds=n, spent=float(spent), rest=rest)


def stream(rng, N, T, K, hostile):
    """Probabilities (T, N, K) of experts, of which one leads first and another later."""
    q = rng.dirichlet(np.ones(K), size=(T, N))
    leaders = np.where(np.arange(T) < T // 2, 0, 1)
    y = rng.randint(K, size=T)
    q[np.arange(T), leaders] = np.where(np.arange(K) == y[:, None], 0.9, 0.1 / (K - 1))
    return q, (None if hostile else y), leaders


def play(q, y, weight):
    """Losses of the mixture and of the experts; where y is None the least likely class is true."""
    T, N, K = q.shape
    rates, totals = np.array([THINNING, 0.001, 0.01]), np.array([0.0, 1.0, 0.0])
    u, sums, v = np.full((1, 3, N), 1.0 / (3 * N)), np.zeros(N), np.empty(N)
    losses, played, mixed, every = np.empty(N), np.empty(K), np.zeros(T), np.zeros((T, N))
    for t in range(T):
        mix(MixtureKind.CLASSES, u, q[t], q[t], v, played)
        k = int(np.argmin(played)) if y is None else y[t]
        mixed[t], before = -weight * played[k], sums.copy()
        learn_log_losses(
            MixtureKind.CLASSES, u, rates, totals, q[t], np.eye(K)[k], weight, losses, sums
        )
        every[t] = sums - before
    marginal(u[0], v)
    return mixed, every


def bounds(results, quick):
    """The largest of losses less their bound, over streams."""
    rng, streams, T = np.random.RandomState(0), 10 if quick else 300, 600
    worst = {"staying": -math.inf, "one change": -math.inf}
    for i in range(streams):
        N, K = 2 + i % 7, 2 + i % 4
        q, y, leaders = stream(rng, N, T, K, i % 3 == 0)
        mixed, every = play(q, y, 1.0 if i % 2 else 0.25)
        staying = every.sum(axis=0).min() + math.log(3 * N) + 3.8
        alpha = thinning(float(T // 2))
        changed = every[np.arange(T), leaders].sum() + math.log(3 * N) + 3.8 + math.log(N / alpha)
        worst["staying"] = max(worst["staying"], mixed.sum() - staying)
        worst["one change"] = max(worst["one change"], mixed.sum() - changed)
    for name, value in worst.items():
        line = f"mixture less its bound, {name}, {streams} streams: at most {value:.3f}"
        results.add(line, table="mixture", kind=name, streams=streams, excess=float(value))
