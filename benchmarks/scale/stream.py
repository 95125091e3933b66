"""A stream of ten million sparse rows with a million features: rows a second, and memory.

Rows are made chunk by chunk, feature j as often as 1/j, labels by a plane through hashed weights.
`progressive_validate` plays and learns them with the defaults; making them is not in the time. Told
are, for every million, rows learned a second and the resident memory of the process; at the end
how far numbers that follow the weights by recursions are from the weights.
"""

import resource
import time

import numpy as np
import psutil
from scipy import sparse

from benchmarks._common import Results, arguments
from skstructured import OnlineStructuredPredictor
from skstructured._engine.state import LoopState
from skstructured.evaluation import progressive_validate
from skstructured.evaluation.validation import compile_validation

FEATURES, ENTRIES, CLASSES, CHUNK, MILLION = 10**6, 20, 5, 10_000, 10**6


class Stream:
    """Chunks of rows, and the seconds that making them took."""

    def __init__(self, rows):
        self.rows, self.seconds = rows, 0.0
        rng = np.random.RandomState(0)
        self._weights = rng.randn(1024, CLASSES)  # of the feature's number modulo 1024

    def chunk(self, number):
        """Rows `number` times CHUNK and on."""
        rng = np.random.RandomState(number)
        columns = (
            np.exp(rng.random_sample((CHUNK, ENTRIES)) * np.log(FEATURES)).astype(np.int32) - 1
        )
        columns.sort(axis=1)
        values = rng.random_sample((CHUNK, ENTRIES))
        scores = np.einsum("ij,ijk->ik", values, self._weights[columns % 1024])
        y = np.argmax(scores + 0.5 * rng.standard_normal(scores.shape), axis=1)
        indptr = np.arange(0, CHUNK * ENTRIES + 1, ENTRIES, dtype=np.int32)
        X = sparse.csr_matrix((values.ravel(), columns.ravel(), indptr), (CHUNK, FEATURES))
        X.sum_duplicates()
        return X, y

    def __iter__(self):
        for number in range(self.rows // CHUNK):
            started = time.perf_counter()
            chunk = self.chunk(number)
            self.seconds += time.perf_counter() - started
            yield chunk


class Watch:
    """Marks of a stream: rows, seconds of learning, resident memory."""

    def __init__(self, stream):
        self.stream, self.started, self.marks = stream, time.perf_counter(), []

    def __call__(self, done, total):
        if done % MILLION == 0 or done == self.stream.rows:
            spent = time.perf_counter() - self.started - self.stream.seconds
            self.marks.append((done, spent, psutil.Process().memory_info().rss))


def tell(out, marks):
    """A line a million, and how the last compares with the first."""
    rates, before = [], (0, 0.0)
    for done, spent, memory in marks:
        rates.append((done - before[0]) / (spent - before[1]))
        line = f"{done:>11,} rows  {rates[-1]:>10,.0f} rows/s  {memory / 2**20:8.1f} MiB resident"
        out.add(line, rows=done, rate=rates[-1], resident=memory)
        before = done, spent
    out.say(f"memory at the end over that after the first mark: {marks[-1][2] / marks[0][2]:.4f}")
    out.say(f"rate of the last mark over that of the first: {rates[-1] / rates[0]:.3f}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    out.say(f"peak {peak / 1024:.1f} MiB")


def errors(out, model):
    """How far the recursion of ‖Θ‖² and the statistics of the rows are from what they stand for."""
    state = model._state
    true = float(np.sum(state.parts()[0] ** 2))
    kept = float(state.vector[int(state.vector[LoopState.NORM_AT])])
    out.say(f"‖Θ‖² by recursion is off by {abs(kept - true) / true:.1e} of it")


def main():
    """Run the stream, and tell."""
    given = {"type": int, "default": 10 * MILLION, "help": "rows, a multiple of 10,000"}
    args = arguments(__doc__, rows=given)
    stream = Stream(20 * CHUNK if args.quick else args.rows)
    model = OnlineStructuredPredictor(random_state=0)
    compile_validation(model, *stream.chunk(0), range(CLASSES))
    with Results(__file__, args) as out:
        watch = Watch(stream)
        given = {"random_state": 0, "classes": range(CLASSES), "progress": watch}
        result = progressive_validate(model, stream, **given, play="randomized")
        tell(out, watch.marks)
        errors(out, result.estimator)
        late = result.chunks[len(result.chunks) // 2 :, 2].mean()
        out.say(f"wrong: {result.expected_target_loss:.2%}, in the second half {late:.2%}")
        out.say(f"new rows: at most {result.risk_bound():.2%} wrong, with 95% confidence")


if __name__ == "__main__":
    main()
