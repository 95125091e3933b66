"""Streams for tables of defaults: such as change on their way, and such as stay."""

import math

import numpy as np

from benchmarks.data import load
from benchmarks.defaults._sets import classes, grades, label_sets, rankings

#: Rounds of the synthetic streams, and after how many of them the abrupt one changes.
N, PERIOD = 20_000, 4000

#: Rows of a set that are shuffled and played.
MOST = 20_000


def synthetic(kind, n=N, p=10, K=4, seed=0):
    """Rows that are normal, and classes of linear scores with Gumbel noise (spec 10.4).

    "abrupt": new weights every 4,000 rounds; "gradual": weights that walk; "recurring": two sets of
    weights in turn; "label shift": a class that is likely, and another one later; "none".
    """
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, p)), np.empty(n, dtype=int)
    several = [1.5 * rng.normal(size=(K, p)) for _ in range(1 + n // PERIOD)]
    W, step = several[0], 4e-4
    for t in range(n):
        if kind == "abrupt":
            W = several[t // PERIOD]
        elif kind == "recurring":
            W = several[(t // 2500) % 2]
        elif kind == "gradual":
            W = W * math.sqrt(1 - step) + 1.5 * math.sqrt(step) * rng.normal(size=W.shape)
        bias = 3.0 * np.eye(K)[(t // 3000) % K] if kind == "label shift" else 0.0
        y[t] = np.argmax(W @ X[t] + bias + rng.gumbel(size=K))
    return X, y


def sea(n=N, seed=0):
    """Two features of three decide by their sum, whose threshold changes (Street, Kim 2001)."""
    rng = np.random.default_rng(seed)
    X = 10.0 * rng.random((n, 3))
    thresholds = np.array([8.0, 9.0, 7.0, 9.5])[np.arange(n) * 4 // n]
    y = (X[:, 0] + X[:, 1] <= thresholds).astype(int)
    wrong = rng.random(n) < 0.1
    return X, np.where(wrong, 1 - y, y)


def hyperplane(n=N, p=10, seed=0):
    """A hyperplane whose weights drift, each in a direction that turns (Hulten et al. 2001)."""
    rng = np.random.default_rng(seed)
    X, w, y = rng.random((n, p)), rng.random(p), np.empty(n, dtype=int)
    direction = rng.choice([-1.0, 1.0], size=p)
    for t in range(n):
        y[t] = X[t] @ w >= 0.5 * w.sum()
        w = w + 0.001 * direction
        direction = np.where(rng.random(p) < 0.001, -direction, direction)
    wrong = rng.random(n) < 0.05
    return X, np.where(wrong, 1 - y, y)


def moving(quick=False):
    """Streams of classes in their own order: name, X, y."""
    for kind in ("abrupt", "gradual", "recurring", "label shift"):
        yield kind, *synthetic(kind, 4000 if quick else N)
    if quick:
        return
    yield "SEA", *sea()
    yield "hyperplane", *hyperplane()
    yield "elec2", load("elec2")["X"].astype(float), load("elec2")["y"]
    arrays = load("covtype")
    X = np.hstack([arrays["X_num"], np.eye(4)[arrays["wilderness"]]])[:50_000]
    yield "covtype, in order", X.astype(float), arrays["y"][:50_000]
    yield "shuttle, in order", load("river_shuttle")["X"].astype(float), load("river_shuttle")["y"]


def shuffled(X, y, seed=0):
    """At most `MOST` rows in random order."""
    order = np.random.RandomState(seed).permutation(X.shape[0])[:MOST]
    return X[order], y[order]


def still(quick=False):
    """Sets in random order: name, space, X, y."""
    yield "none", "simplex", *synthetic("none", 4000 if quick else N)
    for name, X, y in classes(quick):
        yield name, "simplex", *shuffled(X, y)
    if quick:
        return
    for name in ("phishing", "bananas"):
        arrays = load(f"river_{name}")
        yield name, "simplex", *shuffled(arrays["X"].astype(float), arrays["y"])
    for name, X, Y in label_sets():
        if name != "bibtex":
            yield name, "hypercube", *shuffled(X, Y)
    for name, X, y in grades():
        yield f"{name}, grades", "ordinal", *shuffled(X, y)
    for name, X, Y in rankings():
        yield f"{name}, ranks", "permutahedron", *shuffled(X, Y)
