"""Random features beside all kernels and the line: accuracy, seconds, and the cost of a row.

Raw rows, everything at its defaults but for what a column says. Tables: "sets" (half of the rows to
learn, 4,000 at most; the mean over halves), "components" (numbers of features), and "rows" (seconds
of a pass over 10⁴ and 10⁵ rows).
"""

import time
import warnings

import numpy as np

from benchmarks._common import Results, arguments
from benchmarks.data import load
from benchmarks.defaults import _sets as sets
from benchmarks.defaults.passes import everything
from skstructured import KernelStructuredPredictor, OnlineStructuredPredictor

#: Halves that the means are over.
HALVES = 2


def curve(space="simplex", **given):
    """The learner over random features."""
    return KernelStructuredPredictor(space, approximation="fourier", **given)


#: name -> learner of a space, and a seed
ONE = {"max_iter": 1}
LEARNERS = {
    "line, one pass": lambda s, r: OnlineStructuredPredictor(s, random_state=r, **ONE),
    "features, one pass": lambda s, r: curve(s, random_state=r, **ONE),
    "kernels, one pass": lambda s, r: KernelStructuredPredictor(s, random_state=r, **ONE),
    "line": lambda s, r: OnlineStructuredPredictor(s, random_state=r),
    "features, ten passes": lambda s, r: curve(s, random_state=r, max_iter=10),
    "features": lambda s, r: curve(s, random_state=r),
    "kernels, 20 passes": lambda s, r: KernelStructuredPredictor(s, random_state=r, max_iter=20),
    "kernels": lambda s, r: KernelStructuredPredictor(s, random_state=r),
}


def judged(make, space, X, y, seed):
    """Points of `score` on rows that were not learned, and seconds of `fit`."""
    X, y, X_new, y_new = sets.halves(X, y, seed)
    model, started = make(space, seed), time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - started
    return 100.0 * model.score(X_new, y_new), seconds


def table_of_sets(out, quick):
    """Points and seconds of all learners on all sets."""
    out.say("points / seconds: " + " | ".join(LEARNERS))
    found = []
    for name, space, X, y in everything("kernel", quick):
        for make in LEARNERS.values():  # compiled before it is timed
            make(space, 0).fit(X[:60], y[:60])
        many = range(1 if quick else HALVES)
        means = np.mean(
            [[judged(m, space, X, y, r) for m in LEARNERS.values()] for r in many], axis=0
        )
        found.append(means)
        shown = " | ".join(f"{points:6.1f} {seconds:6.2f}" for points, seconds in means)
        numbers = {f"points of {one}": p for one, p in zip(LEARNERS, means[:, 0], strict=True)}
        out.add(f"{name:20s} {shown}", table="sets", name=name, **numbers)
    summary(out, np.array(found))


def summary(out, found):
    """What the table says as a whole."""
    place = {name: i for i, name in enumerate(LEARNERS)}
    points = found[:, :, 0]

    def compared(first, second):
        less = points[:, place[first]] - points[:, place[second]]
        out.say(
            f"{first} less {second}: mean {less.mean():+.2f}, median {np.median(less):+.2f}, least "
            f"{less.min():+.2f}, more than a point below on {np.sum(less < -1.0)} of {len(less)}"
        )

    compared("features, one pass", "kernels, one pass")
    compared("features, one pass", "line, one pass")
    compared("features, ten passes", "kernels, 20 passes")
    compared("features", "kernels")
    compared("features", "line")
    better = np.maximum(points[:, place["line"]], points[:, place["features, ten passes"]])
    less = points[:, place["features"]] - better
    out.say(
        f"features less the better of line and ten passes of features: mean {less.mean():+.2f}, "
        f"least {less.min():+.2f}, more than half a point below on {np.sum(less < -0.5)} of "
        f"{len(less)}"
    )


def table_of_components(out, quick):
    """One pass, and ten, by the number of features."""
    out.say()
    for n in (300, 1200) if quick else (300, 600, 1200, 2400, 4800):
        rows = []
        for name, space, X, y in everything("kernel", True):
            if name not in ("digits", "waveform", "breast_cancer"):
                continue
            rows.append([judged(_of(n, passes), space, X, y, 0) for passes in (1, 10)])
        for name in () if quick else ("segment", "satimage", "letter"):
            arrays = load(name)
            given = ("simplex", arrays["X"].astype(float), arrays["y"], 0)
            rows.append([judged(_of(n, passes), *given) for passes in (1, 10)])
        (one, first), (ten, last) = np.mean(rows, axis=0)
        line = f"{n:5d} features: {one:.2f} in {first:.2f} s, ten passes {ten:.2f} in {last:.2f} s"
        out.add(line, table="components", n=n, one=one, ten=ten)


def _of(n, passes):
    given = {"n_components": n, "max_iter": passes}
    return lambda space, seed: curve(space, random_state=seed, **given)


def table_of_rows(out, quick):
    """Seconds of one pass, and the exponent in the number of rows."""
    out.say()
    rng = np.random.RandomState(0)
    many = (1000, 10_000) if quick else (10_000, 100_000)
    X = rng.randn(many[-1], 10).astype(np.float32)
    y = (np.sin(2.0 * X) @ rng.randn(10, 3)).argmax(axis=1)
    curve(**ONE).fit(X[:1000], y[:1000])
    seconds = []
    for n in many:
        started = time.perf_counter()
        model = curve(random_state=0, **ONE).fit(X[:n], y[:n])
        seconds.append(time.perf_counter() - started)
        score = model.score(X[:5000], y[:5000])
        line = f"{n} rows of 10 features: {seconds[-1]:.2f} s, {1e6 * seconds[-1] / n:.1f} µs a row"
        out.add(f"{line}, {score:.1%}", table="rows", n=n, seconds=seconds[-1])
    power = np.polyfit(np.log(many), np.log(seconds), 1)[0]
    out.say(f"exponent {power:.3f}")


TABLES = {
    "sets": table_of_sets,
    "components": table_of_components,
    "rows": table_of_rows,
}


def main():
    args = arguments(__doc__, only={"choices": list(TABLES), "help": "one table"})
    warnings.simplefilter("ignore")
    with Results(__file__, args) as out:
        for name, table in TABLES.items():
            if args.only in (None, name):
                table(out, args.quick)


if __name__ == "__main__":
    main()
