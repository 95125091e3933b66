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


def steps_problem(n, depth=3, p=15, classes=5, n_tested=10_000, n_functions=10, seed=0):
    """X, y, X_test, y_test: labels of sums of step functions, each of up to `depth` columns.

    A function is a full tree of this depth with random columns, thresholds and values of leaves.
    """
    rng = np.random.default_rng(seed)
    X, scores = rng.random((n + n_tested, p)), np.zeros((n + n_tested, classes))
    for _ in range(n_functions):
        n_nodes, nodes = 2**depth - 1, np.zeros(len(X), dtype=int)
        columns, thresholds = rng.integers(p, size=n_nodes), rng.uniform(0.2, 0.8, n_nodes)
        for _ in range(depth):
            nodes = 2 * nodes + 1 + (X[np.arange(len(X)), columns[nodes]] > thresholds[nodes])
        scores += rng.normal(size=(n_nodes + 1, classes))[nodes - n_nodes]
    y = labels(1.5 * scores, rng)
    return X[:n], y[:n], X[n:], y[n:]


def checkerboard(n, p=6, n_tested=10_000, seed=0):
    """X, y, X_test, y_test: colors of 4 x 4 squares in the first two of p columns."""
    X = np.random.default_rng(seed).random((n + n_tested, p))
    y = np.floor(4.0 * X[:, :2]).sum(axis=1).astype(int) % 2
    return X[:n], y[:n], X[n:], y[n:]


def shells(n, p=5, classes=4, n_tested=10_000, seed=0):
    """X, y, X_test, y_test: shells of a normal distribution, each with as many rows."""
    X = np.random.default_rng(seed).normal(size=(n + n_tested, p))
    radii = np.linalg.norm(X, axis=1)
    y = np.searchsorted(np.quantile(radii, np.arange(1, classes) / classes), radii)
    return X[:n], y[:n], X[n:], y[n:]
