"""Oracles and samplers of the ranking spaces beside what is used today.

    OMP_NUM_THREADS=1 python benchmarks/kernels.py > benchmarks/results/kernels.txt

Peers: POT's Sinkhorn (pip install pot), an L-BFGS solver of the dual of the Birkhoff projection,
scipy's isotonic regression and assignment. fast-soft-sort is not on PyPI: the figure beside ours is
one measured earlier, and both are put in units of a row of SGDClassifier in the same run; a plain
numba pool-adjacent-violators (what that kernel is) runs beside ours too. Medians, in turns.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import sys
import time

import numpy as np
from numba import njit
from scipy.optimize import isotonic_regression, linear_sum_assignment, minimize
from sklearn.linear_model import SGDClassifier

from skstructured.spaces._assignment import assign_rows
from skstructured.spaces._matching_kernels import (
    entropic_matching,
    matching_projection,
    matching_work,
    sinkhorn,
)
from skstructured.spaces.birkhoff import draw_matching_rows
from skstructured.spaces.permutahedron import draw_rank_rows, pool_ranks, rank_projection

NOTHING = np.empty(0)


def seconds(task, calls):
    started = time.perf_counter()
    for _ in range(calls):
        task()
    return (time.perf_counter() - started) / calls


def compare(name, ours, theirs, calls=20, repeat=9):
    ours(), theirs()
    times = np.array([(seconds(ours, calls), seconds(theirs, calls)) for _ in range(repeat)])
    a, b = np.median(times, axis=0)
    ratio = np.median(times[:, 1] / times[:, 0])
    print(f"{name}: ours {a * 1e6:.2f} us, peer {b * 1e6:.2f} us, {ratio:.2f} times", flush=True)
    return a


@njit(nogil=True)
def pool_many(s, out, base, offset, size, many):
    for _ in range(many):
        pool_ranks(s, out, base, offset, size)


@njit(nogil=True)
def plain_pooling(y, fit, sums, counts):
    """Non-increasing isotonic fit by pooling, with block means compared as they are divided."""
    blocks = 0
    for i in range(y.shape[0]):
        sums[blocks], counts[blocks] = y[i], 1.0
        while blocks > 0 and sums[blocks - 1] / counts[blocks - 1] < sums[blocks] / counts[blocks]:
            sums[blocks - 1] += sums[blocks]
            counts[blocks - 1] += counts[blocks]
            blocks -= 1
        blocks += 1
    i = 0
    for b in range(blocks):
        mean = sums[b] / counts[b]
        for _ in range(int(counts[b])):
            fit[i] = mean
            i += 1


@njit(nogil=True)
def plain_many(s, w, y, fit, sums, counts, many):
    for _ in range(many):
        for i in range(y.shape[0]):
            y[i] = s[i] - w[i]
        plain_pooling(y, fit, sums, counts)
        for i in range(y.shape[0]):
            fit[i] = s[i] - fit[i]


def permutahedron(n, rng, unit):
    s = -np.sort(-rng.normal(size=n) * n / 4)
    out, base, offset, size = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    w, many = np.arange(n, 0, -1.0), 1000
    pool_many(s, out, base, offset, size, 1)
    assert np.allclose(out, s - isotonic_regression(s - w, increasing=False).x, atol=1e-9)
    y, fit = np.empty(n), np.empty(n)

    def plain():
        plain_many(s, w, y, fit, base, size, many)

    t = compare(
        f"permutahedron pooling n={n}, 1000 times, plain numba pooling",
        lambda: pool_many(s, out, base, offset, size, many),
        plain,
        calls=1,
        repeat=15,
    )
    assert np.allclose(out, fit)
    print(
        f"  {t / many * 1e6:.2f} us, {t / many / unit:.3f} SGD rows (fast-soft-sort's kernel: "
        "1.1 us where an SGD row costs 10 us, 0.11 SGD rows)"
    )
    compare(
        f"permutahedron pooling n={n}, called from Python, scipy isotonic",
        lambda: pool_ranks(s, out, base, offset, size),
        lambda: isotonic_regression(s - w, increasing=False),
    )


def lbfgs_dual(C, m):
    """Projection on the Birkhoff polytope by L-BFGS on its smooth dual, to default tolerance."""

    def objective(z):
        X = np.maximum(C + z[:m, None] + z[None, m:], 0.0)
        grad = np.concatenate([X.sum(axis=1) - 1.0, X.sum(axis=0) - 1.0])
        return 0.5 * (X**2).sum() - z.sum(), grad

    z = minimize(objective, np.zeros(2 * m), jac=True, method="L-BFGS-B").x
    return np.maximum(C + z[:m, None] + z[None, m:], 0.0)


def gap(theta, P):
    """Optimality gap and worst row or column sum of a claimed projection."""
    G = theta - P
    rows, columns = linear_sum_assignment(-G)
    sums = max(np.abs(P.sum(axis=0) - 1).max(), np.abs(P.sum(axis=1) - 1).max())
    return max(G[rows, columns].sum() - (G * P).sum(), sums)


def birkhoff_projection(m, rng):
    theta, work, mu = rng.normal(size=m * m), np.zeros(matching_work(m * m)), np.empty(m * m)
    C = theta.reshape(m, m)
    compare(
        f"Birkhoff l2 projection n={m}, L-BFGS dual",
        lambda: matching_projection(theta, theta, mu, NOTHING, work),
        lambda: lbfgs_dual(C, m),
        calls=3,
    )
    ours, theirs = gap(C, mu.reshape(m, m)), gap(C, lbfgs_dual(C, m))
    print(f"  error: ours {ours:.1e}, L-BFGS {theirs:.1e}, {theirs / max(ours, 1e-16):.0f} times")


def entropic(m, rng, tolerance=1e-9):
    import ot

    cost, uniform = rng.random((m, m)), np.full(m, 1.0 / m)
    reg = 0.1

    def theirs():
        return ot.sinkhorn(uniform, uniform, cost, reg, stopThr=tolerance, numItermax=10_000)

    def error(P):
        return np.linalg.norm(P.sum(axis=0) - uniform) + np.linalg.norm(P.sum(axis=1) - uniform)

    scores, b, columns = (-cost / reg).ravel(), np.ones(m), np.empty(m)

    def ours():
        K = np.exp(scores)
        b[:] = 1.0
        sinkhorn(K, b, columns, m, ours_tolerance, 10_000, 1e9)
        P = K.reshape(m, m) * b
        return P / (m * P.sum(axis=1, keepdims=True))

    reached, ours_tolerance = error(theirs()), 1e-6
    while error(ours()) > reached and ours_tolerance > 1e-15:
        ours_tolerance /= 2
    name = f"Sinkhorn n={m}, marginal error ours {error(ours()):.0e}, POT {reached:.0e}"
    compare(name, ours, theirs, calls=5)


def sgd_row(rng):
    X, y = rng.normal(size=(20_000, 100)), rng.integers(10, size=20_000)
    model = SGDClassifier(loss="log_loss", max_iter=1, tol=None)
    times = [seconds(lambda: model.fit(X, y), 1) for _ in range(5)]
    return np.median(times) / 20_000


def matching_draws(m, n, rng):
    """Seconds a draw at the entropic matching of random scores."""
    theta, mu, work = 1.5 * rng.normal(size=m * m), np.empty(m * m), np.zeros(matching_work(m * m))
    entropic_matching(theta, theta, mu, NOTHING, work)
    uniforms, times = rng.random((n, (m - 1) ** 2 + 1)), []
    for _ in range(10):
        P = np.tile(mu, (n, 1))
        started = time.perf_counter()
        draw_matching_rows(P, m, uniforms)
        times.append(time.perf_counter() - started)
    return np.median(times[1:]) / n


def rank_draws(d, n, rng):
    theta, mu, work = rng.normal(size=d) * d / 3, np.empty(d), np.empty(6 * d)
    rank_projection(theta, theta, mu, NOTHING, work)
    mu, drawn, uniforms = np.tile(mu, (n, 1)), np.empty((n, d)), rng.random((n, d - 1))
    times = [seconds(lambda: draw_rank_rows(mu, uniforms, drawn), 1) for _ in range(10)]
    return np.median(times[1:]) / n


def samplers(rng, unit):
    for name, t in (
        ("Birkhoff m=10", matching_draws(10, 300, rng)),
        ("Birkhoff m=30", matching_draws(30, 100, rng)),
        ("permutahedron d=50", rank_draws(50, 1000, rng)),
    ):
        print(f"sampler {name}: {t * 1e6:.2f} us a draw, {t / unit:.2f} SGD rows")


def assignment(m, rng):
    theta, V = rng.normal(size=(20, m * m)), np.empty((20, m * m))
    compare(
        f"assignment n={m}, 20 problems, scipy",
        lambda: assign_rows(theta, V, m),
        lambda: [linear_sum_assignment(-t.reshape(m, m)) for t in theta],
    )


def main():
    rng = np.random.default_rng(0)
    print(f"command: python {' '.join(sys.argv)}")
    unit = sgd_row(rng)
    print(f"a dense row of SGDClassifier (p=100, K=10): {unit * 1e6:.1f} us; reference machine 10")
    permutahedron(100, rng, unit)
    birkhoff_projection(20, rng)
    birkhoff_projection(100, rng)
    entropic(100, rng)
    assignment(10, rng)
    assignment(100, rng)
    samplers(rng, unit)


if __name__ == "__main__":
    main()
