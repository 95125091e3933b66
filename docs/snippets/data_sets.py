"""Data sets of the pages: NumPy files in the folder SKSTRUCTURED_DATA."""

import os
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.preprocessing import normalize

#: Maximum number of rows of each part; None for all.
ROWS = None


def read(name):
    """Return the arrays of one data set."""
    with np.load(Path(os.environ["SKSTRUCTURED_DATA"]) / f"{name}.npz") as arrays:
        return dict(arrays)


def shuffled_parts(X, y, share=0.7):
    """Return X, y, X_new, y_new: training and test rows."""
    order = np.random.RandomState(0).permutation(X.shape[0])
    cut = int(share * len(order))
    learn, new = order[:cut][:ROWS], order[cut:][:ROWS]
    return X[learn], y[learn], X[new], y[new]


def news20():
    """Posts in 20 newsgroups: 1.6 million indicators of words and word pairs, rows of norm 1."""
    z = read("news20_bigram")
    deltas, lengths = z["indices_delta"].astype(np.int64), np.diff(z["indptr"])
    starts, some = z["indptr"][:-1][lengths > 0], lengths[lengths > 0]
    ends = deltas.cumsum()
    indices = ends - np.repeat(ends[starts] - deltas[starts], some)
    X = csr_matrix((np.ones(len(indices)), indices, z["indptr"]), shape=z["shape"])
    learn = np.flatnonzero(z["is_train"])
    learn = np.random.RandomState(0).permutation(learn)[:ROWS]
    new, y = np.flatnonzero(~z["is_train"])[:ROWS], z["classes"][z["y"]]
    return normalize(X[learn]), y[learn], normalize(X[new]), y[new]


def abalone():
    """Abalone shells, and their age as one of ten ordinal classes."""
    z = read("abalone")
    return shuffled_parts(z["X"], z["y_eqfreq"])


def pendigits():
    """Pen-drawn digits, and a ranking of the ten digits by similarity."""
    z = read("ranking_pendigits")
    return shuffled_parts(z["X"], z["rank"].astype(int))


def bibtex():
    """Bibliography entries as sparse words, and 159 tags as indicators."""
    z = read("ml_bibtex")
    X = csr_matrix((z["data"], z["indices"], z["indptr"]), shape=z["shape"])
    return shuffled_parts(X, np.unpackbits(z["Y"], axis=1)[:, : z["n_labels"]])


def ocr():
    """Handwritten words as lists of letters, 128 pixels each."""
    z = read("ocr")
    ends = z["lengths"].cumsum(dtype=np.int64)[:-1]
    X, y = np.split(z["X"].astype(float), ends), np.split(z["y"], ends)
    order = np.random.RandomState(0).permutation(len(X))
    learn, new = order[z["fold"][order] > 0][:ROWS], order[z["fold"][order] == 0][:ROWS]
    return [X[i] for i in learn], [y[i] for i in learn], [X[i] for i in new], [y[i] for i in new]
