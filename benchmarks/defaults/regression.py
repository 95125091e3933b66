"""What `PiSTOLRegressor` should do by default: R² on clean, noisy, outlying, zero-inflated outputs.

Half of the rows are learned (of 800 at most), the others predicted, three shuffles. Outliers are 12
deviations above, in 5% and 20% of the outputs that are learned; R² there is of the outputs without
them, and so where noise was added. "zeros" has 55% of outputs 0, "censored" those above their 70%
quantile cut off there. "mean" is over all sets, none counted below -1. "moved" is the largest
change of a prediction, in deviations of y, where y is multiplied by 1e6 and back: rounding alone.
"""

import warnings

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import HuberRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from benchmarks._common import Results, arguments
from benchmarks.data import load
from skstructured import PiSTOLRegressor
from skstructured.losses import ResidualLoss

MOST, SEEDS = 800, 3
GRID = {"kernelridge__alpha": [0.01, 0.1, 1.0], "kernelridge__gamma": [0.01, 0.1, 0.5]}


def sets(quick):
    """Name, X, y, and whether y is without noise."""
    rng = np.random.RandomState(0)
    X = rng.randn(MOST, 5)
    yield "linear", X, X @ [1, 2, 0, 0, -1], True
    yield "curved", X, 2.0 * np.sin(2.0 * X[:, 0]) + X[:, 1] ** 2 + X[:, 2], True
    yield "diabetes", *load_diabetes(return_X_y=True), False
    for name in () if quick else ("machine", "stocks", "abalone"):
        arrays = load(name)
        rows = np.random.RandomState(0).permutation(len(arrays["X"]))[:MOST]
        yield name, arrays["X"][rows].astype(float), arrays["y_cont"][rows].astype(float), False


def outputs(f, exact):
    """What was done to outputs: name, those that are learned, those that are scored."""
    rng, n, deviation = np.random.RandomState(1), len(f), f.std()
    yield "clean", f, f
    if exact:
        yield "noisy", f + deviation * rng.randn(n), f
    for share in (0.05, 0.2):
        yield f"outliers {share:.0%}", f + 12.0 * deviation * (rng.rand(n) < share), f
    zeros = np.where(rng.rand(n) < 0.55, 0.0, f)
    yield "zeros", zeros, zeros
    censored = np.minimum(f, np.quantile(f, 0.7))
    yield "censored", censored, censored


def models(kernel):
    """Name -> new model: ours by loss, ε, a and passes, and what it is compared with."""
    tried = [("huber", 1.35, 0.08, 20), ("huber", 1.35, 0.08, 1), ("absolute", None, 0.08, 5)]
    tried += [("huber", e, a, m) for e, a in ((0.1, 0.3), (0.3, 0.3)) for m in (10,)]
    tried += [("huber", 0.2, a, m) for a in (0.15, 0.3, 0.6) for m in (5, 10, 20)]
    found = {}
    for loss, epsilon, a, passes in tried:
        given = {"a": a, "max_iter": passes, "random_state": 0}
        given["loss"] = ResidualLoss(kind=loss, epsilon=epsilon)
        name = f"{loss} {epsilon or ''} a={a} x{passes}"
        found[name] = lambda given=given: PiSTOLRegressor(kernel, **given)
    found["default"] = lambda: PiSTOLRegressor(kernel, random_state=0)
    found["SVR()"] = lambda: make_pipeline(StandardScaler(), SVR())
    found["HuberRegressor()"] = lambda: make_pipeline(
        StandardScaler(), HuberRegressor(max_iter=999)
    )
    ridge = make_pipeline(StandardScaler(), KernelRidge(kernel="rbf"))
    found["KernelRidge, searched"] = lambda: GridSearchCV(ridge, GRID)
    return found


def score(new, X, learned, scored):
    """R² of three halves, and how far rounding moves predictions."""
    found, moved = [], 0.0
    for seed in range(SEEDS):
        order = np.random.RandomState(seed).permutation(len(X))
        one, other = order[: len(X) // 2], order[len(X) // 2 :]
        y, truth = learned[one], scored[other]
        p = new().fit(X[one], y).predict(X[other])
        found.append(1.0 - np.mean((p - truth) ** 2) / truth.var())
    again = new().fit(X[one], 1e6 * y).predict(X[other]) / 1e6
    moved = np.abs(again - p).max() / y.std()
    return np.mean(found), moved


def main():
    args = arguments(__doc__, kernel={"default": "rbf", "choices": ["rbf", "linear"]})
    warnings.simplefilter("ignore")
    problems = [
        (name, X, *given) for name, X, f, exact in sets(args.quick) for given in outputs(f, exact)
    ]
    kept = {}
    with Results(__file__, args) as out:
        for name, X, kind, learned, scored in problems:
            out.say(f"{name}, {kind}")
            for model, new in models(args.kernel).items():
                value, moved = score(new, X, learned, scored)
                line = f"  {model:28} R2 {value:6.3f}  moved {moved:.0e}"
                kept.setdefault(model, []).append(max(value, -1.0))
                out.add(line, data=name, kind=kind, model=model, r2=value, moved=moved)
        out.say("mean R2, none below -1")
        for model, r2 in kept.items():
            out.say(f"  {model:28} {np.mean(r2):.3f}")


if __name__ == "__main__":
    main()
