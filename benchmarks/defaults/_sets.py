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


def noisy():
    """Synthetic sets of classes that are mostly noise, and an ill-conditioned one: name, X, y."""
    rng = np.random.RandomState(0)
    yield "pure noise", rng.randn(200, 50), rng.randint(2, size=200)
    X = rng.randn(500, 30)
    yield "weak signal", X, (X[:, 0] + 2.0 * rng.randn(500) > 0.0).astype(int)
    X = rng.randn(2000, 20)
    yield "noisy line", X, (X @ rng.randn(20) + 4.0 * rng.randn(2000) > 0.0).astype(int)
    Z, (U, _, V) = rng.randn(1500, 10), np.linalg.svd(rng.randn(10, 10))
    y = (Z @ rng.randn(10) + 0.3 * rng.randn(1500) > 0.0).astype(int)
    yield "ill-conditioned", Z @ (U * 10.0 ** (-np.arange(10) / 3.0)) @ V, y
    y = rng.randint(4, size=1000)
    yield "blobs", 0.8 * rng.randn(1000, 5) + np.eye(5)[y], y
    yield "waveform", *waveform(rng, 3000)


def waveform(rng, n):
    """Convex combinations of two of three triangles, and noise (Breiman et al. 1984)."""
    triangles = np.array([np.maximum(6 - abs(np.arange(1, 22) - c), 0) for c in (7, 15, 11)])
    y, u = rng.randint(3, size=n), rng.rand(n, 1)
    first, second = np.array([(0, 1), (0, 2), (1, 2)])[y].T
    return u * triangles[first] + (1.0 - u) * triangles[second] + rng.randn(n, 21), y


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
