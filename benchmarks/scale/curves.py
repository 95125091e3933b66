"""Ten million rows out of core whose classes are told apart by curves, learned in one pass.

50 features, noisy mixtures of 8 numbers; scores of 10 classes are random functions of these with
100 ReLUs, and the class is the largest of them plus Gumbel noise. Rows are made chunk by chunk, and
are nowhere stored; making them is not in the time. Told are points on 20,000 other rows, and rows
learned a second. Those that are slow see the first rows only, and boosting, which keeps its rows,
those that fit: how many is in the table.
"""

import time
import warnings

import numpy as np

from benchmarks._common import Results, arguments
from benchmarks._pictures import pyplot
from benchmarks.scale._one_pass import PEERS, curve, line

FEATURES, HIDDEN, UNITS, CLASSES, CHUNK, TESTED = 50, 8, 100, 10, 10_000, 20_000

#: Deviations of the noise in a feature, and the scale of that in a score.
BLUR, NOISE = np.float32(0.5), np.float32(0.1)

MARKS = (10_000, 100_000, 1_000_000, 10_000_000)

#: Name -> make a learner.
OURS = {
    "curves": curve,
    "curves, one optimizer": lambda: curve(optimizer="parameter_free"),
    "curves, one optimizer, 2400 features": lambda: curve(
        optimizer="parameter_free", n_components=2400
    ),
    "line": line,
}

#: Rows, at most, of those that are not to see all.
AT_MOST = {
    "curves": 10**6,
    "curves, one optimizer, 2400 features": 10**6,
    "Vowpal Wabbit": 10**5,
    "Vowpal Wabbit -q ::": 10**5,
    "Vowpal Wabbit --nn 20": 10**5,
    "river AMFClassifier": 10**4,
    "LightGBM, all rows kept": 10**5,
}


class Teacher:
    """Chunks of rows, each from a seed of its own."""

    def __init__(self):
        rng = np.random.RandomState(0)

        def normal(*shape):
            return rng.standard_normal(shape).astype(np.float32)

        self.views, self.outer = normal(HIDDEN, FEATURES), normal(UNITS, CLASSES)
        self.inner = np.sqrt(np.float32(2 / HIDDEN)) * normal(HIDDEN, UNITS)
        self.places = np.float32(0.5) * normal(UNITS)
        scores = self._scores(normal(20_000, HIDDEN))
        self.mean, self.deviation = scores.mean(axis=0), scores.std(axis=0)

    def _scores(self, U):
        return np.maximum(U @ self.inner + self.places, 0.0) @ self.outer

    def chunk(self, number, rows=CHUNK):
        """Rows, their classes, and the most probable ones."""
        rng = np.random.default_rng(number)
        U = rng.standard_normal((rows, HIDDEN), dtype=np.float32)
        scores = (self._scores(U) - self.mean) / self.deviation
        noise = NOISE * rng.gumbel(size=scores.shape)
        X = U @ self.views + BLUR * rng.standard_normal((rows, FEATURES), dtype=np.float32)
        return X, (scores + noise).argmax(axis=1), scores.argmax(axis=1)


def marks_of(make, teacher, rows, test):
    """Rows, points, and seconds of learning so far, at each mark."""
    X_new, y_new = test
    make().partial_fit(*teacher.chunk(0)[:2], np.arange(CLASSES))  # compiled before it is timed
    model, seconds = make(), 0.0
    for number in range(rows // CHUNK):
        X, y, _ = teacher.chunk(1 + number)
        started = time.perf_counter()
        model.partial_fit(X, y, np.arange(CLASSES))
        seconds += time.perf_counter() - started
        seen = CHUNK * (number + 1)
        if seen in MARKS:
            started = time.perf_counter()
            if hasattr(model, "finish_fit"):
                model.finish_fit()
                seconds = time.perf_counter() - started
            yield seen, 100.0 * np.mean(model.predict(X_new) == y_new), seconds


def draw(found, best, path):
    """Points by rows."""
    figure, axis = pyplot().subplots(figsize=(7.5, 4.2), layout="constrained")
    for name, marks in found.items():
        rows, points, _ = zip(*marks, strict=True)
        style = {"linewidth": 2.5} if name in OURS else {"linestyle": "--", "linewidth": 1.0}
        axis.semilogx(rows, points, marker="o", markersize=4, label=name, **style)
    axis.axhline(best, color="black", linewidth=0.8)
    axis.set(xlabel="rows, each learned once", ylabel="points on rows not learned")
    axis.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, dpi=120)


def main():
    """Print the table; draw the picture."""
    args = arguments(__doc__, picture={"help": "where to save the picture"})
    warnings.simplefilter("ignore")
    teacher, found = Teacher(), {}
    X, y, best = teacher.chunk(10**6, TESTED)
    with Results(__file__, args) as out:
        bound = 100.0 * np.mean(y == best)
        out.say(f"who knows the scores without noise has {bound:.2f} points")
        for name, make in {**OURS, **PEERS}.items():
            rows = min(AT_MOST.get(name, MARKS[-1]), 10_000 if args.quick else MARKS[-1])
            found[name] = []
            for seen, points, seconds in marks_of(make, teacher, rows, (X, y)):
                found[name].append((seen, points, seconds))
                rate = seen / seconds
                told = f"{name:37s} {seen:9,d} rows: {points:5.2f} points, {seconds:7.1f} s"
                numbers = {"rows": seen, "points": points, "seconds": seconds, "rate": rate}
                out.add(f"{told}, {rate:9,.0f} rows a second", name=name, **numbers)
        if args.picture:
            draw(found, bound, args.picture)


if __name__ == "__main__":
    main()
