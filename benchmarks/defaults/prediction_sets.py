"""How often prediction sets hold the true output, and how large they are.

First simulations: 396 rows are drawn, 99 of them held out by `fit`, and 200 new ones; the share of
new rows whose sets hold the output at alpha .1, a mean over 1,000 of these, its standard error, and
the mean share of what a set leaves open. Exact is .900: 90 of 100 places. Then streams that move,
in their own order, each row's set made before it is learned, with the level that follows (step_size
.02) and with one that stays (0); the first 1,000 rows, and all. Last, sets of classes beside
MAPIE's (``conformity_score="lac"``) around the same estimators and rows held out: coverage, classes
in a set, and seconds to make the sets, for MAPIE also to calibrate, without those to fit.
"""

import time
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks._common import Results, arguments
from benchmarks.defaults._streams import moving
from skstructured import OnlineStructuredPredictor, PredictionSets

ROWS, NEW, HELD_OUT = 396, 200, 0.25
TASKS = ("classes", "ordinal", "multilabel", "assignments", "label rankings", "numbers")
SPACES = dict(
    zip(TASKS, ("simplex", "ordinal", "hypercube", "birkhoff", "permutahedron"), strict=False)
)


def outputs(task, noisy):
    """Outputs of noisy scores (n, 4)."""
    return {
        "classes": lambda: noisy.argmax(axis=1),
        "ordinal": lambda: np.digitize(noisy[:, 0], [-1.0, 0.0, 1.0]),
        "multilabel": lambda: (noisy > 0).astype(int),
        "assignments": lambda: noisy.argsort(axis=1),
        "label rankings": lambda: noisy.argsort(axis=1).argsort(axis=1) + 1,
        "numbers": lambda: noisy[:, 0],
    }[task]()


def simulated(task, seed):
    """Coverage of new rows, and what their sets leave open."""
    rng = np.random.RandomState(seed)
    X = rng.randn(ROWS + NEW, 5)
    y = outputs(task, X[:, :4] + rng.randn(ROWS + NEW, 4))
    known = task in SPACES
    learner = (
        OnlineStructuredPredictor(SPACES[task], max_iter=1, random_state=0) if known else Ridge()
    )
    model = PredictionSets(learner, calibration_size=HELD_OUT, random_state=seed)
    model.fit(X[:ROWS], y[:ROWS])
    sets = model.predict_set(X[ROWS:])
    size = sets.mean() if known else (sets[:, 1] - sets[:, 0]).mean()
    return model.covered(X[ROWS:], y[ROWS:]).mean(), size


def simulations(out, quick):
    out.say(f"{'simulations':20s} coverage   error    size")
    for task in TASKS:
        found = np.array([simulated(task, seed) for seed in range(50 if quick else 1000)])
        mean, error = found.mean(axis=0), found[:, 0].std() / np.sqrt(len(found))
        text = f"{task:20s}  {mean[0]:.4f}  {error:.4f}  {mean[1]:6.3f}"
        row = {"coverage": mean[0], "error": error, "size": mean[1]}
        out.add(text, table="simulations", name=task, **row)


def streams(out, quick):
    out.say(
        "\nstreams              rows   .02: first 1,000      all   size | 0: first      all   size"
    )
    for name, X, y in moving(quick):
        text, row = f"{name:18s} {len(y):6d}", {}
        for step in (0.02, 0.0):
            model = PredictionSets(OnlineStructuredPredictor(), step_size=step)
            model.partial_fit(X[:1000], y[:1000], classes=np.unique(y))
            first, sizes = model.coverage_, []
            for start in range(1000, len(y), 100):
                part = slice(start, start + 100)
                sizes.append(model.predict_set(X[part]).sum(axis=1).mean())
                model.partial_fit(X[part], y[part])
            found = first, model.coverage_, float(np.mean(sizes))
            text += f"   {found[0]:10.3f} {found[1]:8.3f} {found[2]:6.2f}"
            row |= dict(
                zip(
                    (f"first_{step:g}", f"all_{step:g}", f"size_{step:g}"),
                    found,
                    strict=True,
                )
            )
        out.add(text, table="streams", name=name, **row)


def mapie_sets(model, held_out, X):
    """MAPIE's sets around a fitted estimator; None where it is not installed."""
    try:
        from mapie.classification import SplitConformalClassifier
    except ImportError:
        return None
    other = SplitConformalClassifier(
        model, confidence_level=0.9, conformity_score="lac", prefit=True
    )
    return other.conformalize(*held_out).predict_set(X)[1][:, :, 0]


def beside(out):
    out.say("\nsets of classes               ours                       MAPIE")
    for read in (load_digits, load_wine, load_breast_cancer):
        X, y = read(return_X_y=True)
        found = []
        for seed in range(20):
            a, b, c, d = train_test_split(X, y, test_size=0.3, random_state=seed)
            model = PredictionSets(
                make_pipeline(StandardScaler(), LogisticRegression()), random_state=seed
            ).fit(a, c)
            held = np.random.RandomState(seed).permutation(len(a))[: model.n_scores_]
            started = time.perf_counter()
            sets = model.predict_set(b)
            between = time.perf_counter()
            other = mapie_sets(model.estimator_, (a[held], c[held]), b)
            ended = time.perf_counter()
            row = [sets[np.arange(len(d)), d].mean(), sets.sum(axis=1).mean(), between - started]
            if other is not None:
                at = np.arange(len(d)), d
                row += [other[at].mean(), other.sum(axis=1).mean(), ended - between]
            found.append(row)
        mean = np.mean(found, axis=0)
        text = "   ".join(
            f"{mean[i]:.3f} {mean[i + 1]:5.2f} {mean[i + 2]:8.5f} s" for i in range(0, len(mean), 3)
        )
        out.add(
            f"{read.__name__[5:]:20s}  {text}",
            table="beside",
            name=read.__name__,
            **{f"n{i}": v for i, v in enumerate(mean)},
        )


def main():
    args = arguments(__doc__)
    with Results(__file__, args) as out, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        simulations(out, args.quick)
        streams(out, args.quick)
        beside(out)


if __name__ == "__main__":
    main()
