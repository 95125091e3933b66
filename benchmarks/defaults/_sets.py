"""Data sets for tables of defaults and of kernels: names, features, outputs; halves of them."""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from benchmarks.data import bibtex, covtype, load

RANKINGS = ("authorship", "bodyfat", "iris", "pendigits", "segment", "vehicle", "wine", "wisconsin")

#: Rows of a half.
MOST = 4000


def halves(X, y, seed):
    """Rows to learn, and others to predict: half of the rows each, `MOST` at most."""
    order = np.random.RandomState(seed).permutation(len(y))
    half = min(len(y) // 2, MOST)
    first, second = order[:half], order[half : half + MOST]
    return X[first], y[first], X[second], y[second]


def classes(quick=False):
    """Dense sets of classes: name, X, y."""
    for read in (load_iris, load_wine, load_breast_cancer, load_digits):
        yield read.__name__[5:], *read(return_X_y=True)
    if quick:
        return
    for name in ("segment", "satimage", "letter", "elec2"):
        arrays = load(name)
        yield name, arrays["X"].astype(float), arrays["y"]
    yield "abalone", load("abalone")["X"], load("abalone")["y_eqfreq"]
    yield "covtype", *covtype(50_000)


def label_sets():
    """Sets of label sets: name, X, Y."""
    scene, yeast = load("ml_scene"), load("ml_yeast")
    parts = [np.vstack([scene[f"{part}_train"], scene[f"{part}_test"]]) for part in "XY"]
    yield "scene", parts[0].astype(float), parts[1].astype(int)
    yield "yeast", yeast["X"].astype(float), yeast["Y"].astype(int)
    X, Y = bibtex()
    yield "bibtex", X, Y.astype(int)


def grades():
    """Sets of ordered classes, by equal frequency: name, X, y."""
    for name in ("abalone", "machine", "stocks"):
        arrays = load(name)
        yield name, arrays["X"], arrays["y_eqfreq"].astype(int)


def rankings(quick=False):
    """Sets of rankings: name, X, ranks with the largest for the best item."""
    for name in RANKINGS[1:3] if quick else RANKINGS:
        arrays = load(f"ranking_{name}")
        yield name, arrays["X"], (arrays["rank"].shape[1] - arrays["rank"]).astype(int)
