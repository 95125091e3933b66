"""Rows that are hard to standardise, and to what error their units are known."""

import numpy as np
from conftest import INTERPRETED

N = 60 if INTERPRETED else 300


def odd_rows(kind, rng, n=N, p=4):
    """Rows that are hard to standardise."""
    X = rng.randn(n, p)
    if kind == "mixed":
        X *= [1e-150, 1.0, 1e100, 1e149]
    elif kind == "far":
        X += 1e8
    elif kind == "constant":
        X[:, 0], X[:, 1], X[: n // 2, 2] = 3.0, 0.0, 0.1
    elif kind == "outliers":
        X[n // 3, 1], X[n // 2, 2] = 1e9, -1e30
    elif kind == "growing":
        X *= np.logspace(-20, 20, n)[:, None]
    elif kind == "binary":
        X = (X > 0.5).astype(float)
    return X


#: Rows that are far from 0 are known to 8 digits of their deviation.
ERRORS = {kind: 1e-12 for kind in ("plain", "mixed", "constant", "outliers", "growing", "binary")}
ERRORS["far"] = 1e-4


def rows_with_gaps(rng, n=N, dtype=np.float64):
    """Rows (n, 4) of features of many sizes, and classes: gaps, NaN, tell of class 1.

    The first feature is never missing, the last one always.
    """
    whole = (rng.randn(n, 4) * [1.0, 100.0, 0.01, 1.0] + [0.0, 50.0, 3.0, 0.0]).astype(dtype)
    y = (whole[:, 1] > 50.0).astype(int) + (whole[:, 2] > 3.0)
    holes = rng.rand(n, 4) < np.where(y[:, None] == 1, 0.5, 0.1)
    holes[:, 0], holes[:, 3] = False, True
    return np.where(holes, np.nan, whole).astype(dtype), y
