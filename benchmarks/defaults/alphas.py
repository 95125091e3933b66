"""The default α of max-margin models beside fixed ones, and beside SVMs behind a scaler.

1 − score in % on 500 rows, 1,000 others learned, of eleven sets of classes, grades, label sets and
rankings (two thirds and one third of smaller ones); "!": the gap was above `tol` at the end.
"""

import warnings

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from benchmarks._common import Results, arguments
from benchmarks.data import load
from benchmarks.defaults._sets import classes
from skstructured import MaxMinMarginNetwork, StructuralSVM

ALPHAS = ("auto", 1e-2, 1e-3, 3e-4)
ROWS = 1500
OTHERS = {
    "abalone": ("ordinal", "y_eqfreq"),
    "ml_yeast": ("hypercube", "Y"),
    "ranking_wine": ("birkhoff", "rank"),
    "ranking_vehicle": ("birkhoff", "rank"),
}
CLASSES = ("iris", "wine", "breast_cancer", "digits", "segment", "satimage", "letter")


def problems(quick):
    """Space, name, X and y; at most `ROWS` rows in random order."""
    found = [("simplex", *one) for one in classes(quick) if one[0] in CLASSES]
    for name, (space, column) in {} if quick else OTHERS.items():
        arrays = load(name)
        found.append((space, name, arrays["X"].astype(float), arrays[column].astype(int)))
    for space, name, X, y in found if not quick else found[:2]:
        rows = np.random.RandomState(0).permutation(len(y))[:ROWS]
        yield space, name, X[rows], y[rows]


def error(model, X, y):
    """1 − score in %, and a mark where a warning came."""
    cut = 2 * len(y) // 3
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X[:cut], y[:cut])
    return 100.0 * (1.0 - model.score(X[cut:], y[cut:])), "!" if told else " "


def main():
    """Print the table."""
    args = arguments(__doc__)
    with Results(__file__, args) as out:
        every = list(problems(args.quick))
        out.say(f"{'':34}" + "".join(f"{name[-10:]:>12}" for _, name, *_ in every))
        for kind in (MaxMinMarginNetwork, StructuralSVM):
            for kernel in ("linear", "rbf"):
                for alpha in ALPHAS:
                    given = {"kernel": kernel, "alpha": alpha, "random_state": 0}
                    found = [error(kind(space, **given), X, y) for space, _, X, y in every]
                    tell(out, f"{kind.__name__} {kernel} {alpha}", found)
        for kind in (LinearSVC, SVC):
            scaled = [one for one in every if one[0] == "simplex"]
            found = [error(make_pipeline(StandardScaler(), kind()), X, y) for *_, X, y in scaled]
            tell(out, f"{kind.__name__}, scaled", found)


def tell(out, name, found):
    """A line of the table."""
    numbers = {f"set {i}": value for i, (value, _) in enumerate(found)}
    out.add(f"{name:34}" + "".join(f"{v:11.1f}{m}" for v, m in found), model=name, **numbers)


if __name__ == "__main__":
    main()
