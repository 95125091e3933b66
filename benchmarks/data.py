"""The project's data sets for benchmarks: found as the tests find them, never downloaded."""

import os
from pathlib import Path

import numpy as np
from scipy import sparse


def path(name):
    """Where a data set is."""
    given = os.environ.get("SKSTRUCTURED_DATA")
    folder = Path(given) if given else Path(__file__).parents[2] / "shared" / "data"
    return folder / f"{name}.npz"


def load(name):
    with np.load(path(name), allow_pickle=False) as arrays:
        return dict(arrays)


def csr(arrays, suffix="", width=None):
    """CSR matrix of arrays `data` (ones where absent), `indices`, `indptr`, `shape`."""
    indices, indptr = arrays[f"indices{suffix}"], arrays[f"indptr{suffix}"]
    values = arrays.get(f"data{suffix}")
    values = np.ones(len(indices)) if values is None else values.astype(float)
    shape = tuple(arrays["shape"]) if width is None else (len(indptr) - 1, int(width))
    return sparse.csr_matrix((values, indices.astype(np.int32), indptr), shape=shape)


def a9a():
    """a9a: X, y, X_test, y_test; 123 binary features, labels ±1."""
    arrays = load("a9a")
    X, X_test = csr(arrays, "", arrays["d"]), csr(arrays, "_test", arrays["d"])
    return X, arrays["y"], X_test, arrays["y_test"]


def bibtex():
    """ml_bibtex: X, Y; 0/1 label matrix."""
    arrays = load("ml_bibtex")
    return csr(arrays), np.unpackbits(arrays["Y"], axis=1)[:, : int(arrays["n_labels"])]


def news20():
    """20 newsgroups as binary uni- and bigrams, rows of norm 1: X, y, X_test, y_test."""
    arrays = load("news20_bigram")
    delta, indptr = arrays["indices_delta"].astype(np.int64), arrays["indptr"].astype(np.int64)
    total, sizes = delta.cumsum(), np.diff(indptr)
    first = indptr[:-1][sizes > 0]
    indices = total - np.repeat(total[first] - delta[first], sizes[sizes > 0])
    values = np.repeat(1.0 / np.sqrt(np.maximum(sizes, 1)), sizes)
    X = sparse.csr_matrix((values, indices.astype(np.int32), indptr), shape=tuple(arrays["shape"]))
    X.sort_indices()
    train = arrays["is_train"].astype(bool)
    return X[train], arrays["y"][train], X[~train], arrays["y"][~train]


def covtype(n=None, seed=0):
    """covtype: X (n, 54) with the two categories one-hot, y; `n` rows drawn without replacement."""
    arrays = load("covtype")
    rows = np.random.RandomState(seed).permutation(len(arrays["y"]))[:n]
    one_hot = [np.eye(k)[arrays[name][rows]] for name, k in (("wilderness", 4), ("soil", 40))]
    return np.hstack([arrays["X_num"][rows].astype(float), *one_hot]), arrays["y"][rows]
