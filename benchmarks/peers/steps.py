"""Are the defaults as good as gradient boosting when classes depend on features in steps?

Simulated classes, see `benchmarks.synthetic`, and 10,000 test rows. "sums": labels of sums of step
functions of depth 2, 3 and 5, of 10, 20 and 40 features, with 3, 5 and 8 classes; "board": colors
of 4 x 4 squares in two of six features; "shells": four shells in five dimensions. Compared are
`StructuredPredictor`, scikit-learn's and LightGBM's gradient boosting, and a random forest, all at
their defaults and in one thread: error, log-loss, and seconds of the processor for a fit. Nothing
is compiled in these, because a fit of other rows comes first. The last lines have what is asked of
`StructuredPredictor`: for sums its log-loss and seconds in units of LightGBM's, at most 1 and 10;
for boards its mean error in units of HistGradientBoosting's, at most 1.2; for shells its error, at
most 0.06. Needs lightgbm.
"""

import time
import warnings

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import log_loss

from benchmarks import synthetic
from benchmarks._common import Results, arguments
from skstructured import StructuredPredictor

#: Name -> make a learner.
LEARNERS = {
    "StructuredPredictor": lambda: StructuredPredictor(random_state=0),
    "HistGradientBoosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "LightGBM": lambda: LGBMClassifier(n_jobs=1, verbose=-1, random_state=0),
    "random forest": lambda: RandomForestClassifier(n_jobs=1, random_state=0),
}

#: Depth, features and classes of sums.
SUMS = ((2, 10, 3), (3, 20, 5), (5, 40, 8))

#: What is measured.
NAMES = ("error", "log-loss", "seconds")


def problems():
    """Kind, parameters, rows and seed of a problem, and its X, y, X_test, y_test."""
    for n, n_seeds in ((5_000, 2), (20_000, 1), (100_000, 1)):
        for depth, p, classes in SUMS:
            for seed in range(n_seeds):
                arrays = synthetic.steps_problem(n, depth, p, classes, seed=seed)
                yield "sums", f"{depth}, {p}, {classes}", n, seed, arrays
    for kind, make, sizes, seeds in (
        ("board", synthetic.checkerboard, (500, 1_500, 3_000), range(20, 28)),
        ("shells", synthetic.shells, (1_900, 2_100, 3_400), range(3)),
    ):
        for n in sizes:
            for seed in seeds:
                yield kind, "", n, seed, make(n, seed=seed)


def measured(learner, X, y, X_test, y_test):
    """Error, log-loss, and seconds of the processor."""
    began = time.process_time()
    model = LEARNERS[learner]().fit(X, y)
    seconds = time.process_time() - began
    proba = model.predict_proba(X_test)
    error = float(np.mean(model.classes_[proba.argmax(axis=1)] != y_test))
    proba = proba / proba.sum(axis=1, keepdims=True)
    return error, log_loss(y_test, proba, labels=model.classes_), seconds


def compare(out, quick):
    """Lines of all problems; errors, log-losses and seconds (n_learners, 3) by kind and rows."""
    measurements = {}
    for kind, parameters, n, seed, arrays in problems():
        if quick and n > 1_500:
            continue
        values = np.array([measured(learner, *arrays) for learner in LEARNERS])
        measurements.setdefault((kind, n), []).append(values)
        row = {"kind": kind, "parameters": parameters, "rows": n, "seed": seed}
        for learner, numbers in zip(LEARNERS, values.tolist(), strict=True):
            row |= dict(zip((f"{learner}: {name}" for name in NAMES), numbers, strict=True))
        cells = "".join("   {:.4f} {:.4f} {:6.1f} s".format(*numbers) for numbers in values)
        out.add(f"{kind:7}{parameters:9}{n:8,d}{seed:3d}{cells}", **row)
    return measurements


def conclude(out, measurements):
    """What is asked of the first learner, by kind and rows."""
    for (kind, n), values in measurements.items():
        (ours, trees, light, _), all_losses = np.mean(values, axis=0), np.array(values)
        if kind == "sums":
            ratios = all_losses[:, 0] / all_losses[:, 2]
            text = f"log-loss {ratios[:, 1].mean():.3f} of LightGBM's (asked: 1), "
            text += f"seconds {ours[2] / light[2]:.1f} of LightGBM's (asked: 10)"
        elif kind == "board":
            text = f"error {ours[0]:.4f}, "
            text += f"{ours[0] / trees[0]:.2f} of HistGradientBoosting's (asked: 1.2)"
        else:
            text = f"error {ours[0]:.4f} (asked: 0.06)"
        out.say(f"{kind:7}{n:8,d} rows: {text}")


def main():
    """Print the tables."""
    args = arguments(__doc__)
    warnings.simplefilter("ignore")
    measured("StructuredPredictor", *synthetic.steps_problem(3_100, n_tested=100, seed=9))
    with Results(__file__, args) as out:
        out.say("error, log-loss and seconds of " + ", ".join(LEARNERS))
        conclude(out, compare(out, args.quick))


if __name__ == "__main__":
    main()
