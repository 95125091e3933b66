"""Oracles and samplers of the ranking spaces beside what is used today.

Peers: POT's Sinkhorn (pip install pot; left out where it is missing), an L-BFGS solver of the dual
of the Birkhoff projection, scipy's isotonic regression and assignment. fast-soft-sort is not on
PyPI: the figure beside ours is one measured earlier, and both are put in units of a row of
SGDClassifier in the same run; a plain numba pool-adjacent-violators (what that kernel is) runs
beside ours too. Medians, in turns.
"""

import importlib.util

import numpy as np
from numba import njit
from scipy.optimize import isotonic_regression, linear_sum_assignment, minimize
from sklearn.linear_model import SGDClassifier

from benchmarks._common import Results, arguments
from benchmarks._timing import median_seconds, side_by_side, timed
from skstructured.spaces._matching import (
    assign_rows,
    entropic_matching,
    matching_projection,
    matching_work,
    sinkhorn,
)
from skstructured.spaces.birkhoff import draw_matching_rows
from skstructured.spaces.permutahedron import draw_rank_rows, pool_ranks, rank_projection

NOTHING = np.empty(0)


class Bench:
    """Where lines go, how often to repeat, random numbers, and the seconds of an SGD row."""

    def __init__(self, out, repeat):
        self.out, self.repeat, self.rng = out, repeat, np.random.default_rng(0)
        self.unit = sgd_row(self.rng, repeat)

    def compare(self, name, ours, theirs, calls=20):
        """Print both times, and return ours in seconds."""
        a, b, ratio = side_by_side(ours, theirs, self.repeat, calls)
        line = f"{name}: ours {a * 1e6:.2f} us, peer {b * 1e6:.2f} us, {ratio:.2f} times"
        row = {"ours_us": a * 1e6, "peer_us": b * 1e6, "times_faster": ratio}
        self.out.add(line, kernel=name, **row)
        return a


def sgd_row(rng, repeat):
    X, y = rng.normal(size=(20_000, 100)), rng.integers(10, size=20_000)
    model = SGDClassifier(loss="log_loss", max_iter=1, tol=None)
    return median_seconds(lambda: model.fit(X, y), min(repeat, 5)) / len(y)


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


def permutahedron(bench, n, many=1000):
    s, w = -np.sort(-bench.rng.normal(size=n) * n / 4), np.arange(n, 0, -1.0)
    out, base, offset, size, y, fit = np.empty((6, n))
    t = bench.compare(
        f"permutahedron pooling n={n}, {many} times, plain numba pooling",
        lambda: pool_many(s, out, base, offset, size, many),
        lambda: plain_many(s, w, y, fit, base, size, many),
        calls=1,
    )
    assert np.allclose(out, s - isotonic_regression(s - w, increasing=False).x, atol=1e-9)
    assert np.allclose(out, fit)
    bench.out.say(
        f"  {t / many * 1e6:.2f} us, {t / many / bench.unit:.3f} SGD rows (fast-soft-sort's "
        "kernel: 1.1 us where an SGD row costs 10 us, 0.11 SGD rows)"
    )
    bench.compare(
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


def birkhoff_projection(bench, m):
    theta, zeros, mu = bench.rng.normal(size=m * m), *np.zeros((2, m * m))
    C, work = theta.reshape(m, m), np.zeros(matching_work(m * m))
    bench.compare(
        f"Birkhoff l2 projection n={m}, L-BFGS dual",
        lambda: matching_projection(theta, zeros, mu, NOTHING, work),
        lambda: lbfgs_dual(C, m),
        calls=3,
    )
    ours, theirs = gap(C, mu.reshape(m, m)), gap(C, lbfgs_dual(C, m))
    times = theirs / max(ours, 1e-16)
    bench.out.say(f"  error: ours {ours:.1e}, L-BFGS {theirs:.1e}, {times:.0f} times")


def marginal_error(P):
    """How far the sums of rows and columns are from uniform."""
    return sum(np.linalg.norm(P.sum(axis=axis) - 1.0 / len(P)) for axis in (0, 1))


def our_sinkhorn(scores, m, tolerance):
    K, b, columns = np.exp(scores), np.ones(m), np.empty(m)
    sinkhorn(K, b, columns, m, tolerance, 10_000, 1e9)
    P = K.reshape(m, m) * b
    return P / (m * P.sum(axis=1, keepdims=True))


def entropic_task(rng, m, reg=0.1):
    """Scores, a tolerance that makes ours no less exact than POT's, its task, and its error."""
    import ot

    cost, uniform = rng.random((m, m)), np.full(m, 1.0 / m)
    scores, tolerance = (-cost / reg).ravel(), 1e-6

    def theirs():
        return ot.sinkhorn(uniform, uniform, cost, reg, stopThr=1e-9, numItermax=10_000)

    reached = marginal_error(theirs())
    while marginal_error(our_sinkhorn(scores, m, tolerance)) > reached and tolerance > 1e-15:
        tolerance /= 2
    return scores, tolerance, theirs, reached


def entropic(bench, m):
    """Sinkhorn beside POT's."""
    scores, tolerance, theirs, reached = entropic_task(bench.rng, m)
    ours = marginal_error(our_sinkhorn(scores, m, tolerance))
    name = f"Sinkhorn n={m}, marginal error ours {ours:.0e}, POT {reached:.0e}"
    bench.compare(name, lambda: our_sinkhorn(scores, m, tolerance), theirs, calls=5)


def assignment(bench, m):
    theta, V = bench.rng.normal(size=(20, m * m)), np.empty((20, m * m))
    bench.compare(
        f"assignment n={m}, 20 problems, scipy",
        lambda: assign_rows(theta, V, m),
        lambda: [linear_sum_assignment(-t.reshape(m, m)) for t in theta],
    )


def matching_draws(m, n, rng, repeat):
    """Seconds a draw at the entropic matching of random scores; a draw uses its matrix up."""
    theta, mu, work = 1.5 * rng.normal(size=m * m), np.empty(m * m), np.zeros(matching_work(m * m))
    entropic_matching(theta, np.zeros(m * m), mu, NOTHING, work)
    uniforms, times = rng.random((n, (m - 1) ** 2 + 1)), []
    for _ in range(repeat + 1):
        P = np.tile(mu, (n, 1))
        times.append(timed(lambda P=P: draw_matching_rows(P, m, uniforms))[1])
    return np.median(times[1:]) / n


def rank_draws(d, n, rng, repeat):
    theta, mu, work = rng.normal(size=d) * d / 3, np.empty(d), np.empty(6 * d)
    rank_projection(theta, np.zeros(d), mu, NOTHING, work)
    mu, drawn, uniforms = np.tile(mu, (n, 1)), np.empty((n, d)), rng.random((n, d - 1))
    return median_seconds(lambda: draw_rank_rows(mu, uniforms, drawn), repeat) / n


def samplers(bench):
    rng, repeat = bench.rng, bench.repeat
    for name, t in (
        ("sampler Birkhoff m=10", matching_draws(10, 300, rng, repeat)),
        ("sampler Birkhoff m=30", matching_draws(30, 100, rng, repeat)),
        ("sampler permutahedron d=50", rank_draws(50, 1000, rng, repeat)),
    ):
        line = f"{name}: {t * 1e6:.2f} us a draw, {t / bench.unit:.2f} SGD rows"
        bench.out.add(line, kernel=name, ours_us=t * 1e6)


def run(bench):
    bench.out.say(
        "a dense row of SGDClassifier (p=100, K=10): "
        f"{bench.unit * 1e6:.1f} us; reference machine 10"
    )
    permutahedron(bench, 100)
    birkhoff_projection(bench, 20)
    birkhoff_projection(bench, 100)
    if importlib.util.find_spec("ot"):
        entropic(bench, 100)
    else:
        bench.out.say("Sinkhorn: left out, POT is not installed")
    assignment(bench, 10)
    assignment(bench, 100)
    samplers(bench)


def main():
    args = arguments(__doc__, repeat=15)
    with Results(__file__, args) as out:
        run(Bench(out, args.repeat))


if __name__ == "__main__":
    main()
