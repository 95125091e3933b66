"""A step found by cross-validation against learners that have none to find: error and time.

Everyone makes one averaged pass over the same rows in the same order. The searches try 10 steps by
5 folds and learn once more with the best; the others learn once, as they are. "points" are
percentage points of test error above the best searched learner, the better of two *on the test
rows*, which favours the searches. Seconds: learning, the whole search included, kernels compiled.
"""

import warnings
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler

from benchmarks._common import Results, arguments
from benchmarks._pictures import pyplot
from benchmarks._plain import predictor
from benchmarks._timing import median_seconds, timed
from benchmarks.data import a9a, bibtex, covtype, load
from skstructured.optimizers import GradientDescent

#: Steps in units of 1/mean ‖x‖²: half decades, from hardly moving to a perceptron's.
STEPS = np.logspace(-2, 2.5, 10)
SEARCHED = ("OGD, step searched", "SGDClassifier, step searched")
ONE_PASS = ("parameter_free", "pistol", "adaptive", "ogd")
CLOSE = 1.0
#: Rows of a quick run.
FEW = 300


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
    model = predictor(task.space, optimizer=GradientDescent(), average="uniform")
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
    spent = timed(lambda: search.fit(task.X, task.y))[1]
    scores, place = search.cv_results_["mean_test_score"], search.best_index_
    near = np.sum(scores >= scores[place] - 0.005) - 1
    where = "interior" if 0 < place < len(STEPS) - 1 else "AT THE END"
    note = f"step {STEPS[place]:.3g}, place {place + 1} of {len(STEPS)}, {where}"
    note += f"; {near} others within 0.5 points in the folds"
    return Result(1.0 - search.score(task.X_test, task.y_test), spent, note)


def one_pass(optimizer, task, repeat):
    model = predictor(task.space, optimizer=optimizer, average="uniform")
    spent = median_seconds(lambda: model.fit(task.X, task.y), repeat)
    return Result(1.0 - model.score(task.X_test, task.y_test), spent)


def warm_up(task):
    """Compile the kernels of the searches, for learning and predicting, on 100 rows."""
    X, y = task.X[:100], task.y[:100]
    predictor(task.space, average="uniform").fit(X, y).score(X, y)


def run(task, repeat):
    warm_up(task)
    results = {SEARCHED[0]: searched(search_ours(task), task)}
    if task.space in ("simplex", "hypercube"):
        results[SEARCHED[1]] = searched(search_sgd(task), task)
    return results | {name: one_pass(name, task, repeat) for name in ONE_PASS}


def best(results, names):
    """The smallest test error among `names`, as far as they are there."""
    return min((results[name] for name in names if name in results), key=lambda r: r.error)


def report(out, task, results):
    kind, (n, p) = "sparse" if sparse.issparse(task.X) else "dense", task.X.shape
    out.say(f"{task.name}, {task.space}: {n} rows, {len(task.y_test)} to test, {p} {kind} features")
    rival = best(results, SEARCHED)
    for name, (error, spent, note) in results.items():
        line = f"  {name:29} error {100 * error:6.2f} %  {spent:8.3f} s"
        if name in ONE_PASS:
            line += beside(error, spent, rival)
        row = {"learner": name, "error": error, "seconds": spent, "note": note}
        out.add(line + (f"  {note}" if note else ""), data=task.name, space=task.space, **row)
    if task.space in ("simplex", "hypercube"):
        guess = DummyClassifier(strategy="most_frequent").fit(task.X, task.y)
        error = 1.0 - share_right(guess, task.X_test, task.y_test)
        out.say(f"  {'(most frequent output, no x)':29} error {100 * error:6.2f} %")


def beside(error, spent, rival):
    """How far behind the searched rival, at what share of its time."""
    gap, times, share = 100 * (error - rival.error), error / rival.error, spent / rival.seconds
    return f"  {gap:+6.2f} points ({times:.2f} times the errors), {100 * share:.2g} % of the time"


def conclude(out, title, tables, names, rivals=SEARCHED):
    """On how many data sets the best of `names` is close to the best of `rivals`."""
    gaps, shares = {}, []
    for task, results in tables:
        if any(name in results for name in rivals):
            found, rival = best(results, names), best(results, rivals)
            gaps[task.name] = 100 * (found.error - rival.error)
            shares.append(100 * sum(results[name].seconds for name in names) / rival.seconds)
    close, worst = [name for name in gaps if gaps[name] <= CLOSE], max(gaps, key=gaps.get)
    out.say(
        f"  {title}: {len(close)} of {len(gaps)} ({', '.join(close)}); largest gap "
        f"{gaps[worst]:+.2f} ({worst});\n      time {np.median(shares):.2g} % "
        f"(median; {min(shares):.2g} to {max(shares):.2g} %)"
    )


def conclusions(out, tables):
    out.say(f"within {CLOSE} point of the better search, and the share of its time:")
    for name in ONE_PASS:
        conclude(out, name, tables, (name,))
    conclude(out, "better of parameter_free and pistol on test, both timed", tables, ONE_PASS[:2])
    out.say(f"within {CLOSE} point of the searched SGDClassifier, where it applies:")
    for name in ONE_PASS:
        conclude(out, name, tables, (name,), SEARCHED[1:])


# Okabe and Ito's colours; every learner has a shape and size of its own besides, so that markers
# on one place are all seen.
LOOKS = {
    SEARCHED[0]: {"marker": "s", "color": "#000000", "ms": 8},
    SEARCHED[1]: {"marker": "D", "color": "#0072B2", "ms": 8},
    "parameter_free": {"marker": "o", "color": "#D55E00", "ms": 11},
    "pistol": {"marker": "^", "color": "#CC79A7", "ms": 12},
    "adaptive": {"marker": "v", "color": "#009E73", "ms": 7},
    "ogd": {"marker": "x", "color": "#000000", "mec": "#000000", "ms": 8, "mew": 1.5},
}
UNITS = {"simplex": "wrong classes", "hypercube": "wrong labels", "birkhoff": "misplaced items"}


def draw(tables, picture):
    figure, axes = pyplot().subplots(2, 3, figsize=(10.5, 6.8), layout="constrained")
    for ax, (task, results) in zip(axes.flat, tables, strict=True):
        panel(ax, task, results)
    figure.supxlabel("seconds of learning, the whole search included", fontsize="medium")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(picture, dpi=120)


def panel(ax, task, results):
    for name in (name for name in LOOKS if name in results):
        error, spent, _ = results[name]
        ax.plot(spent, 100 * error, label=name, ls="none", **{"mec": "white"} | LOOKS[name])
    ax.set(title=task.name, ylabel=f"{UNITS[task.space]}, %", xscale="log")
    ax.margins(0.15)
    ax.locator_params(axis="y", nbins=6)
    # Shaded after the limits are known, which are the learners' own.
    low, (bottom, top) = 100 * best(results, SEARCHED).error, ax.get_ylim()
    label = f"within {CLOSE:g} point of the better search"
    ax.axhspan(low, low + CLOSE, color="0.9", lw=0, label=label, zorder=0)
    ax.set_ylim(bottom, top)


def fewer(task):
    return task._replace(X=task.X[:FEW], y=task.y[:FEW])


def main():
    args = arguments(__doc__, repeat=5, picture={"help": "where to save the picture"})
    if args.quick:
        warnings.simplefilter("ignore")  # for labels that a few rows lack
    with Results(__file__, args) as out:
        out.say("steps in units of 1/mean |x|^2; searches are timed once")
        tables = []
        for task in map(fewer, problems()) if args.quick else problems():
            tables.append((task, run(task, args.repeat)))
            report(out, *tables[-1])
        conclusions(out, tables[:-1])
    if args.picture:
        draw(tables[:-1], args.picture)


if __name__ == "__main__":
    main()
