"""The default mixture by rows: seconds, memory and losses beside trees, on covtype and letter.

Every fit has a process of its own and two threads, and has learned 300 rows before, so nothing is
compiled in its time. Told are seconds by the clock and of the processor, the most memory that the
process had, data and all, microseconds of a row that is predicted among 10,000 (letter: 6,000), and
errors and log-loss on these, which were not learned. Of a million rows 429,000 are there twice.
"""

import multiprocessing
import os
import resource
import time
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import log_loss

from benchmarks._common import Results, arguments
from benchmarks._pictures import pyplot
from benchmarks.data import covtype, load
from skstructured import StructuredPredictor

TESTED, CORES = 10_000, 2

ROWS = (1_500, 5_000, 20_000, 60_000, 200_000, 1_000_000)

#: Name -> make a learner.
LEARNERS = {
    "StructuredPredictor": lambda: StructuredPredictor(n_jobs=CORES, random_state=0),
    "random forest": lambda: RandomForestClassifier(n_jobs=CORES, random_state=0),
    "HistGradientBoosting": lambda: HistGradientBoostingClassifier(random_state=0),
}


def some(name, n):
    """Rows to learn and rows to predict of a data set, each X and y."""
    X, y = covtype() if name == "covtype" else (load(name)[part] for part in "Xy")
    order, tested = np.random.RandomState(0).permutation(len(y)), min(TESTED, len(y) - n)
    tested = tested if tested > 0 else TESTED
    learned = np.resize(order[tested:], n)
    return [(np.asarray(X[rows], dtype=float), y[rows]) for rows in (learned, order[:tested])]


def fitted(learner, name, n):
    """Seconds by the clock and of the processor, GiB, microseconds a row, error and log-loss."""
    warnings.simplefilter("ignore")
    (X, y), (X_new, y_new) = some(name, n)
    LEARNERS[learner]().fit(X[:300], y[:300]).predict(X_new[:300])
    began, worked = time.perf_counter(), time.process_time()
    model = LEARNERS[learner]().fit(X, y)
    seconds, work = time.perf_counter() - began, time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    began = time.perf_counter()
    proba = model.predict_proba(X_new)
    each = 1e6 * (time.perf_counter() - began) / len(X_new)
    error = np.mean(model.classes_[proba.argmax(axis=1)] != y_new)
    proba = proba / proba.sum(axis=1, keepdims=True)
    return seconds, work, peak, each, error, log_loss(y_new, proba, labels=model.classes_)


def draw(found, path):
    """Errors and seconds by rows."""
    figure, axes = pyplot().subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
    for name in LEARNERS:
        rows = [n for learner, n in found if learner == name]
        values = np.array([found[name, n] for n in rows])
        style = {"linewidth": 2.5} if name == "StructuredPredictor" else {"linestyle": "--"}
        for axis, column in zip(axes, (4, 0), strict=True):
            axis.loglog(rows, values[:, column], marker="o", markersize=4, label=name, **style)
    axes[0].set(xlabel="training rows", ylabel="share of new rows wrong")
    axes[1].set(xlabel="training rows", ylabel="seconds of a fit on two cores")
    axes[0].legend(fontsize=8)
    figure.savefig(path, dpi=120)


def main():
    """Print the table; draw the picture."""
    args = arguments(__doc__, picture={"help": "where to save the picture"})
    sizes = [("letter", 14_000), *(("covtype", n) for n in ROWS)]
    os.environ["OMP_NUM_THREADS"] = str(CORES)
    found, context = {}, multiprocessing.get_context("spawn")
    with (
        Results(__file__, args) as out,
        ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=1) as pool,
    ):
        for name, n in sizes[1:3] if args.quick else sizes:
            for learner in LEARNERS:
                numbers = pool.submit(fitted, learner, name, n).result()
                names = ("seconds", "work", "peak", "each", "error", "log_loss")
                row = {"name": name, "rows": n, "learner": learner} | dict(
                    zip(names, numbers, strict=True)
                )
                told = "{:8.1f} s ({:7.1f} s) {:6.2f} GiB {:7.1f} us {:8.4f} {:8.4f}"
                out.add(f"{name:8}{n:10,d} {learner:21}" + told.format(*numbers), **row)
                if name == "covtype":
                    found[learner, n] = numbers
    if args.picture:
        draw(found, args.picture)


if __name__ == "__main__":
    main()
