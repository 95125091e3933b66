"""The synthetic problems of the timings: labels of a noisy linear model, on dense or CSR rows."""

import numpy as np
from scipy import sparse

N, CLASSES, NON_ZEROS = 20_000, 10, 100
#: Rows of a quick run.
FEW = 1000


def labels(scores, rng):
    """Labels of a linear model with noise, so that accuracies mean something."""
    return np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)


def dense_problem(n=N, p=100, classes=CLASSES, seed=0):
    """X, y, X_test, y_test, with n rows each."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * n, p))
    y = labels(X @ rng.normal(size=(p, classes)) * 0.5, rng)
    return X[:n], y[:n], X[n:], y[n:]


def sparse_problem(n=N, p=100_000, classes=CLASSES, seed=0):
    """`dense_problem` with `NON_ZEROS` entries a row, in CSR."""
    rng, entries = np.random.default_rng(seed), 2 * n * NON_ZEROS
    indices = rng.integers(0, p, size=entries).astype(np.int32)
    indptr = np.arange(0, entries + 1, NON_ZEROS, dtype=np.int32)
    X = sparse.csr_matrix((rng.normal(size=entries), indices, indptr), shape=(2 * n, p))
    X.sum_duplicates()
    y = labels(X @ rng.normal(size=(p, classes)) * 0.5, rng)
    return X[:n], y[:n], X[n:], y[n:]


def problems(quick=False):
    """Both with their titles."""
    n = FEW if quick else N
    yield f"dense n={n}, p=100, K={CLASSES}", dense_problem(n)
    yield f"CSR n={n}, p=100000, {NON_ZEROS} non-zeros, K={CLASSES}", sparse_problem(n)
