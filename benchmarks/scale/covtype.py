"""One pass over all of covtype: 581,012 rows, four fifths of them to learn, float32.

Ours with everything at its defaults, where not said otherwise, by `partial_fit` of chunks of 10,000
rows, the line also by `fit` with one pass, beside others on the same chunks. Points are those on
50,000 rows that were not learned; seconds are followed by those of the processor, which are less
where other work is done beside. Those that are slow see the first rows only: how many is in the
table.
"""

import time
import warnings

import numpy as np

from benchmarks._common import Results, arguments
from benchmarks.data import covtype
from benchmarks.scale._one_pass import PEERS, curve, line
from skstructured import OnlineStructuredPredictor

CHUNK, PREDICTED = 10_000, 50_000


class Fitted:
    """All rows so far, kept, and learned by `fit` when asked."""

    def __init__(self, learner):
        self.learner, self.rows, self.labels = learner, [], []

    def partial_fit(self, X, y, classes):
        self.rows.append(X)
        self.labels.append(y)

    def finish_fit(self):
        """Learn what was kept."""
        self.learner.fit(np.concatenate(self.rows), np.concatenate(self.labels))

    def predict(self, X):
        return self.learner.predict(X)


OURS = {
    "line, fit": lambda: Fitted(OnlineStructuredPredictor(max_iter=1, random_state=0)),
    "line, stream": line,
    "curves, stream": curve,
    "curves, stream, one optimizer, gamma=0.2": lambda: curve(
        optimizer="parameter_free", gamma=0.2
    ),
}

#: Rows, at most, of those that are not to see all.
AT_MOST = {
    "Vowpal Wabbit -q ::": 50_000,
    "Vowpal Wabbit --nn 20": 20_000,
    "river AMFClassifier": 5_000,
}


def clocks():
    """Seconds by the clock, and of the processor."""
    return np.array([time.perf_counter(), time.process_time()])


def judged(make, X, y, test):
    """Points, and seconds of learning by the clock and of the processor."""
    classes = np.arange(7)
    few = make()  # compiled before it is timed
    few.partial_fit(X[:500], y[:500], classes)
    if isinstance(few, Fitted):
        few.finish_fit()
    model, seconds = make(), np.zeros(2)
    for start in range(0, len(X), CHUNK):
        part = slice(start, start + CHUNK)
        started = clocks()
        model.partial_fit(X[part], y[part], classes)
        seconds += clocks() - started
    if hasattr(model, "finish_fit"):
        started = clocks()
        model.finish_fit()
        seconds = clocks() - started
    return 100.0 * np.mean(model.predict(test[0]) == test[1]), seconds


def main():
    """Print the table."""
    args = arguments(__doc__)
    warnings.simplefilter("ignore")
    X, y = covtype(10_000) if args.quick else covtype()
    X, y = X.astype(np.float32), np.unique(y, return_inverse=True)[1]
    order = np.random.RandomState(0).permutation(len(y))
    cut = 4 * len(y) // 5
    learned, new = order[:cut], order[cut:][:PREDICTED]
    with Results(__file__, args) as out:
        for name, make in {**OURS, **PEERS}.items():
            rows = learned[: AT_MOST.get(name, len(learned)) // (10 if args.quick else 1)]
            points, (wall, cpu) = judged(make, X[rows], y[rows], (X[new], y[new]))
            told = f"{name:42s} {len(rows):7,d} rows: {points:5.2f} points"
            numbers = {"rows": len(rows), "points": points, "seconds": wall, "processor": cpu}
            rate = len(rows) / cpu
            told = f"{told}, {wall:6.1f} s ({cpu:6.1f} s), {rate:8,.0f} rows a second of it"
            out.add(told, name=name, rate=rate, **numbers)


if __name__ == "__main__":
    main()
