"""Kernels of label sequences beside a vectorised numpy forward–backward, and published figures.

One thread. The figures of public tools are those of spec 8, on a machine where a dense row of
SGDClassifier (100 features, 10 classes) costs 10 µs: that row is measured in the same run. Medians,
in turns.
"""

import numpy as np
from scipy.special import logsumexp

from benchmarks._common import Results, arguments
from benchmarks._timing import median_seconds, side_by_side
from benchmarks.speed.kernels import sgd_row
from skstructured._chains import batch
from skstructured._chains.marginals import chain_gap, scratch_size

#: Sizes (positions, labels), and microseconds of public tools: marginals, best labels.
SIZES = {(20, 10): (151, 6), (100, 26): (4200, 247), (100, 100): (None, None)}


def numpy_marginals(unary, pair):
    """Marginals of positions, and of steps in all, by log-sum-exp."""
    M, step = len(unary), pair[0]
    forward, backward = unary.copy(), np.zeros_like(unary)
    for m in range(M - 1):
        forward[m + 1] += logsumexp(forward[m][:, None] + step, axis=0)
    for m in range(M - 2, -1, -1):
        backward[m] = logsumexp(step + (unary[m + 1] + backward[m + 1]), axis=1)
    log_z, after = logsumexp(forward[-1]), unary + backward
    pairs = np.exp(forward[:-1, :, None] + step + after[1:, None, :] - log_z)
    return np.exp(forward + backward - log_z), pairs.sum(axis=0)


def numpy_viterbi(unary, pair):
    best, back = unary[0], []
    for scores in unary[1:]:
        through = best[:, None] + pair[0]
        back.append(through.argmax(axis=0))
        best = scores + through.max(axis=0)
    labels = [int(best.argmax())]
    for before in reversed(back):
        labels.append(int(before[labels[-1]]))
    return np.array(labels[::-1])


class Bench:
    """Random chains of one size, and where their lines go."""

    def __init__(self, out, repeat, M, k):
        self.out, self.repeat, self.M, self.k = out, repeat, M, k
        self.rng = np.random.default_rng(0)
        self.unary, self.pair = self.rng.normal(size=(M, k)), self.rng.normal(size=(1, k, k))
        self.offsets = np.array([0, M])
        self.calls = max(1, 200_000 // (M * k * k))

    def line(self, name, ours, known=None, peer=None):
        """Seconds of a call, beside a public tool's microseconds and a peer's."""
        if peer is None:
            t, words = median_seconds(ours, self.repeat, self.calls), ""
        else:
            t, theirs, ratio = side_by_side(ours, peer, self.repeat)
            words = f", numpy {theirs * 1e6:.0f} us ({ratio:.0f} times)"
            t = median_seconds(ours, self.repeat, self.calls)
        if known:
            words += f", public tool {known} us ({known / t / 1e6:.0f} times)"
        text = f"{name} {self.M}x{self.k}: {t * 1e6:.2f} us{words}"
        self.out.add(text, kernel=name, positions=self.M, labels=self.k, us=t * 1e6)

    def forward_backward(self, known):
        unary, offsets, pair, M, k = self.unary, self.offsets, self.pair, self.M, self.k
        mu, _, total = batch.marginals(unary, offsets, pair, "sum")
        expected = numpy_marginals(unary, pair)
        assert np.allclose(mu, expected[0]) and np.allclose(total, expected[1])
        gap, each, work = np.empty((M, k)), np.empty((0, k, k)), np.empty(scratch_size(M, k))
        labels, steps = self.rng.integers(k, size=M), self.rng.normal(size=(M, k, k))
        self.line(
            "marginals, pairs summed",
            lambda: batch.marginals(unary, offsets, pair, "sum"),
            known,
            lambda: numpy_marginals(unary, pair),
        )
        self.line("gap of one", lambda: chain_gap(unary, pair, labels, gap, each, total, work))
        self.line("marginals, pairs each", lambda: batch.marginals(unary, offsets, pair, "each"))
        self.line("marginals, scores of 1e4", lambda: batch.marginals(1e4 * unary, offsets, pair))
        self.line("marginals, steps differ", lambda: batch.marginals(unary, offsets, steps, "sum"))

    def decoding(self, known):
        unary, offsets, pair, M = self.unary, self.offsets, self.pair, self.M
        assert np.array_equal(batch.viterbi(unary, offsets, pair)[0], numpy_viterbi(unary, pair))
        self.line(
            "Viterbi",
            lambda: batch.viterbi(unary, offsets, pair),
            known,
            lambda: numpy_viterbi(unary, pair),
        )
        self.line("five best", lambda: batch.nbest(unary, offsets, pair, 5))
        uniforms, many = self.rng.random((1, M)), self.rng.random((1000, M))
        mu, _, each = batch.marginals(unary, offsets, pair, "each")
        self.line("one draw", lambda: batch.sample(unary, offsets, pair, uniforms))
        self.line("1000 draws", lambda: batch.sample(unary, offsets, pair, many))
        self.line("one draw of a mean", lambda: batch.sample_mean(mu, offsets, each, uniforms))
        self.line("entropy", lambda: batch.entropy(unary, offsets, pair))


def sparse(out, repeat, M, k, scale):
    rng = np.random.default_rng(0)
    unary, pair = scale * rng.normal(size=(M, k)), scale * rng.normal(size=(1, k, k))
    found = batch.sparse_map(unary, pair)
    t = median_seconds(lambda: batch.sparse_map(unary, pair), repeat)
    warm = median_seconds(lambda: batch.sparse_map(unary, pair, start=found), repeat)
    many = len(found.weights)
    line = f"SparseMAP {M}x{k}, scores of {scale}: {t * 1e6:.0f} us, {many} sequences, gap "
    line += f"{found.gap:.0e}; {warm * 1e6:.0f} us from its own solution"
    out.add(line, kernel=f"SparseMAP, scores of {scale}", positions=M, labels=k, us=t * 1e6)


def main():
    args = arguments(__doc__, repeat=25)
    with Results(__file__, args) as out:
        unit = sgd_row(np.random.default_rng(0), args.repeat) * 1e6
        out.say(f"a dense row of SGDClassifier (p=100, K=10): {unit:.1f} us; reference machine 10")
        for (M, k), (marginals, best) in SIZES.items():
            bench = Bench(out, args.repeat, M, k)
            bench.forward_backward(marginals)
            bench.decoding(best)
        for M, k, scale in ((20, 10, 5.0), (20, 10, 1.0), (100, 26, 5.0)):
            sparse(out, min(args.repeat, 5), M, k, scale)


if __name__ == "__main__":
    main()
