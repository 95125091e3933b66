"""Kernels with nothing to tune, against tuned SVMs: accuracy, and time of all it takes to get it.

Half of the rows, 4,000 at most, are learned, the rest (4,000 at most) predicted; means over three
shuffles. SVC is searched over 5 C × 4 gamma with 5 folds on standardised rows; ours gets raw rows
and its defaults. Other spaces: the linear learner with its defaults, ours, and kernel ridge (of
ranks, grades or labels; rounded, sorted or cut at a half) searched over 3 alpha × 4 gamma.
"""

import time
import warnings

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks._common import Results, arguments
from benchmarks.defaults._sets import classes, grades, halves, label_sets, rankings
from skstructured import KernelStructuredPredictor, OnlineStructuredPredictor

CLASSES = ("iris", "wine", "digits", "segment", "satimage", "letter")
RANKINGS = ("vehicle", "segment", "pendigits", "wine")
SHUFFLES = 3
GAMMAS = [0.01, 0.1, 1.0]


def svc():
    """SVC on standardised rows, searched."""
    grid = {"svc__C": [0.1, 1, 10, 100, 1000], "svc__gamma": ["scale", *GAMMAS]}
    return GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid, cv=5)


class Ridge:
    """Kernel ridge, searched, whose numbers are made outputs of a space."""

    def __init__(self, space):
        self.space = space

    def fit(self, X, y):
        """Learn, after a search."""
        pipeline = make_pipeline(StandardScaler(), KernelRidge(kernel="rbf"))
        grid = {"kernelridge__alpha": [0.01, 0.1, 1.0], "kernelridge__gamma": [0.003, *GAMMAS]}
        self.center = y.mean(axis=0)
        self.model = GridSearchCV(pipeline, grid, cv=5).fit(X, y - self.center)
        self.range = y.min(), y.max()
        return self

    def predict(self, X):
        """Outputs of the space."""
        given = self.model.predict(X) + self.center
        if self.space == "hypercube":
            return (given > 0.5).astype(int)
        if self.space == "permutahedron":
            return np.argsort(np.argsort(given, axis=1), axis=1) + 1
        return np.clip(np.rint(given), *self.range).astype(int)


def measure(make, tasks):
    """Mean loss, in %, and seconds to fit, of a learner on pairs of halves."""
    losses, seconds = [], 0.0
    for (X, y, Z, truth), loss in tasks:
        started = time.perf_counter()
        model = make().fit(X, y)
        seconds += time.perf_counter() - started
        losses.append(100 * loss(model.predict(Z), truth))
    return np.mean(losses), seconds / len(tasks)


def compare(out, table, name, learners, tasks):
    """A line of a table: loss and seconds of every learner."""
    found = {label: measure(make, tasks) for label, make in learners.items()}
    numbers = "".join(f"{loss:10.2f} {took:7.2f} s" for loss, took in found.values())
    named = {f"{label}_loss": loss for label, (loss, _) in found.items()}
    named |= {f"{label}_seconds": took for label, (_, took) in found.items()}
    out.add(f"{name:<12}{numbers}", table=table, set=name, **named)
    return np.array(list(found.values()))


def mistakes(predicted, truth):
    """Share of wrong classes."""
    return np.mean(predicted != truth)


def mean_loss(space):
    """Mean target loss of a space."""
    return lambda predicted, truth: np.mean(space.target_loss(predicted, truth))


def others(quick):
    """Name, space, X, y of problems over other spaces."""
    for name, X, y in rankings(quick):
        if name in RANKINGS:
            yield name, "permutahedron", X, y
    if quick:
        return
    for name, X, y in grades():
        yield name, "ordinal", X, y
    for name, X, y in label_sets():
        if name != "bibtex":
            yield name, "hypercube", X, y


def main():
    """Print the tables."""
    args = arguments(__doc__)
    shuffles = range(1 if args.quick else SHUFFLES)
    with Results(__file__, args) as out, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out.say("\nclasses: mistakes in %, seconds; ours, SVC searched")
        learners = {"ours": lambda: KernelStructuredPredictor(random_state=0), "SVC": svc}
        table = []
        for name, X, y in classes(args.quick):
            if name in CLASSES:
                tasks = [(halves(X, y, seed), mistakes) for seed in shuffles]
                table.append(compare(out, "classes", name, learners, tasks))
        mean = np.mean(table, axis=0)
        out.say(
            f"mean {mean[0, 0]:.2f} and {mean[1, 0]:.2f}; time {mean[1, 1] / mean[0, 1]:.0f} : 1"
        )
        out.say("\nother spaces: target loss in %, seconds; linear, kernel, kernel ridge searched")
        for name, space, X, y in others(args.quick):
            space_ = OnlineStructuredPredictor(space)._unfitted_space().fit(y)
            learners = {
                "linear": lambda s=space: OnlineStructuredPredictor(s, random_state=0),
                "kernel": lambda s=space: KernelStructuredPredictor(s, random_state=0),
                "ridge": lambda s=space: Ridge(s),
            }
            tasks = [(halves(X, y, seed), mean_loss(space_)) for seed in shuffles]
            compare(out, "other spaces", name, learners, tasks)


if __name__ == "__main__":
    main()
