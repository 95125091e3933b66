"""A step found by cross-validation against learners that have none to find: error and time.

    python benchmarks/cross_validation.py --picture docs/cross_validation.png \
        > benchmarks/results/cross_validation.txt

Everyone makes one averaged pass over the same rows in the same order. The searches try 10 steps by
5 folds and learn once more with the best; the others learn once, as they are. "points" are
percentage points of test error above the best searched learner, the better of two *on the test
rows*, which favours the searches. Seconds: learning, the whole search included, kernels compiled.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import sys
from typing import NamedTuple

import numpy as np
from compare_online import seconds
from data import a9a, bibtex, covtype, load
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler

from skstructured import OnlineStructuredPredictor
from skstructured.optimizers import GradientDescent

#: Steps in units of 1/mean ‖x‖²: half decades, from hardly moving to a perceptron's.
STEPS = np.logspace(-2, 2.5, 10)
SEARCHED = ("OGD, step searched", "SGDClassifier, step searched")
ONE_PASS = ("parameter_free", "pistol", "adaptive", "ogd")
REPEAT, CLOSE = 5, 1.0


class Problem(NamedTuple):
    name: str
    space: str
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


class Result(NamedTuple):
    error: float
    seconds: float
    note: str = ""


def problem(name, space, X, y, X_test, y_test):
    """Standardise dense features on the training part, and shuffle it once for all learners."""
    if not sparse.issparse(X):
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    order = np.random.RandomState(0).permutation(len(y))
    return Problem(name, space, X[order], y[order], X_test, y_test)


def split(X, y):
    """70 % to learn from, 30 % to test on."""
    order, cut = np.random.RandomState(0).permutation(len(y)), int(0.7 * len(y))
    return X[order[:cut]], y[order[:cut]], X[order[cut:]], y[order[cut:]]


def problems():
    """The six data sets, then rankings once more as ranks, which is not counted."""
    letter, satimage = load("letter"), load("satimage")
    X, y, n = letter["X"].astype(float), letter["y"], 15_000
    yield problem("letter", "simplex", X[:n], y[:n], X[n:], y[n:])
    X, X_test = (satimage[name].astype(float) for name in ("X", "X_test"))
    yield problem("satimage", "simplex", X, satimage["y"], X_test, satimage["y_test"])
    yield problem("a9a", "simplex", *a9a())
    yield problem("covtype", "simplex", *split(*covtype(60_000)))
    yield problem("bibtex", "hypercube", *split(*bibtex()))
    arrays = load("ranking_pendigits")
    X, rank = arrays["X"], arrays["rank"].astype(int)
    yield problem("pendigits", "birkhoff", *split(X, rank))
    yield problem("pendigits", "permutahedron", *split(X, rank.shape[1] - rank))


def mean_square(X):
    """Mean of ‖x‖², the intercept's 1 included."""
    return 1.0 + (X.multiply(X) if sparse.issparse(X) else X * X).sum() / X.shape[0]


def share_right(model, X, y):
    """Accuracy for classes, 1 − Hamming loss for label sets."""
    return np.mean(model.predict(X) == y)


def search_ours(task):
    model = OnlineStructuredPredictor(task.space, optimizer=GradientDescent(), average=True)
    return GridSearchCV(model, {"optimizer__eta": STEPS / mean_square(task.X)}, cv=5)


def search_sgd(task):
    # Rows come shuffled; in one order for all learners.
    model, prefix = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=1.0), ""
    model.set_params(max_iter=1, tol=None, average=True, shuffle=False)
    if task.space == "hypercube":
        model, prefix = OneVsRestClassifier(model), "estimator__"
    grid = {f"{prefix}eta0": STEPS / mean_square(task.X)}
    return GridSearchCV(model, grid, cv=5, scoring=share_right)


def searched(search, task):
    spent = seconds(lambda: search.fit(task.X, task.y))
    scores, best = search.cv_results_["mean_test_score"], search.best_index_
    near = np.sum(scores >= scores[best] - 0.005)
    where = "inside" if 0 < best < len(STEPS) - 1 else "AT THE END OF"
    note = f"step {STEPS[best]:.3g}/mean |x|^2, place {best + 1} of {len(STEPS)}, {where} the grid"
    note += f"; {near} steps within 0.5 points of it in the folds"
    return Result(1.0 - search.score(task.X_test, task.y_test), spent, note)


def one_pass(optimizer, task):
    model = OnlineStructuredPredictor(task.space, optimizer=optimizer, average=True)
    times = [seconds(lambda: model.fit(task.X, task.y)) for _ in range(REPEAT)]
    return Result(1.0 - model.score(task.X_test, task.y_test), float(np.median(times)))


def warm_up(task):
    """Compile every kernel on a hundred rows (of all classes, where a number of them counts)."""
    X, y = task.X[:100], task.y[:100]
    for optimizer in ONE_PASS:
        model = OnlineStructuredPredictor(task.space, optimizer=optimizer, average=True)
        model.fit(X, y).score(X, y)


def run(task):
    warm_up(task)
    results = {SEARCHED[0]: searched(search_ours(task), task)}
    if task.space in ("simplex", "hypercube"):
        results[SEARCHED[1]] = searched(search_sgd(task), task)
    return results | {name: one_pass(name, task) for name in ONE_PASS}


def best_searched(results):
    return min((results[name] for name in SEARCHED if name in results), key=lambda r: r.error)


def report(task, results):
    kind = "sparse" if sparse.issparse(task.X) else "dense"
    (n, p), best = task.X.shape, best_searched(results)
    print(f"{task.name}, {task.space}: {n} rows, {len(task.y_test)} to test, {p} {kind} features")
    for name, (error, spent, note) in results.items():
        line = f"  {name:29} error {100 * error:6.2f} %  {spent:8.3f} s"
        if name in ONE_PASS:
            line += f"  {100 * (error - best.error):+6.2f} points ({error / best.error:.2f} times"
            line += f" the errors), {100 * spent / best.seconds:.2g} % of the time"
        print(line + (f"  {note}" if note else ""), flush=True)
    if task.space in ("simplex", "hypercube"):
        guess = DummyClassifier(strategy="most_frequent").fit(task.X, task.y)
        error = 1.0 - share_right(guess, task.X_test, task.y_test)
        print(f"  {'(most frequent output, no x)':29} error {100 * error:6.2f} %")


def conclude(title, tables, names):
    """On how many data sets the best of `names` is close to the best searched learner."""
    close, shares, gaps = [], [], []
    for task, results in tables:
        best = best_searched(results)
        found = min((results[name] for name in names), key=lambda r: r.error)
        gaps.append(100 * (found.error - best.error))
        shares.append(100 * sum(results[name].seconds for name in names) / best.seconds)
        if gaps[-1] <= CLOSE:
            close.append(task.name)
    print(
        f"{title}: within {CLOSE} point of the best searched learner on {len(close)} of "
        f"{len(tables)} ({', '.join(close)}), largest gap {max(gaps):+.2f} points;\n"
        f"  in {np.median(shares):.2g} % of its time (median; {min(shares):.2g} to "
        f"{max(shares):.2g} %)"
    )


# Okabe and Ito's colours; every learner has a shape of its own besides.
LOOKS = {
    SEARCHED[0]: ("s", "#000000"),
    SEARCHED[1]: ("D", "#0072B2"),
    "parameter_free": ("o", "#D55E00"),
    "pistol": ("^", "#CC79A7"),
    "adaptive": ("v", "#009E73"),
    "ogd": ("X", "#E69F00"),
}


def draw(tables, picture):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(10.5, 6.6), layout="constrained")
    for ax, (task, results) in zip(axes.flat, tables, strict=True):
        panel(ax, task, results)
    axes[1, 1].set_xlabel("seconds of learning, the whole search included")
    figure.supylabel("test error, %", fontsize="medium")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(picture, dpi=120)


def panel(ax, task, results):
    best = 100 * best_searched(results).error
    ax.axhspan(best, best + CLOSE, color="0.9", lw=0, label="within 1 point of the best search")
    for name, (error, spent, _) in results.items():
        marker, colour = LOOKS[name]
        ax.plot(spent, 100 * error, marker, color=colour, ms=8, mec="white", mew=0.7, label=name)
    ax.set(title=f"{task.name} ({task.space})", xscale="log")
    ax.margins(0.12)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", help="where to save the picture")
    picture = parser.parse_args().picture
    print(f"command: python {' '.join(sys.argv)}")
    print(f"one thread; load at start {os.getloadavg()[0]:.2f}; one pass: median of {REPEAT}")
    tables = []
    for task in problems():
        tables.append((task, run(task)))
        report(*tables[-1])
    six = tables[:-1]
    for name in ONE_PASS:
        conclude(name, six, (name,))
    conclude("the better of parameter_free and pistol (both learned)", six, ONE_PASS[:2])
    if picture:
        draw(six, picture)


if __name__ == "__main__":
    main()
