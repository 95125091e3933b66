"""Random arguments of learners, good and bad.

Every function returns ``(argument, wrong)``: `wrong` names what must be refused, or is None.
"""

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils import get_tags

#: What a fuzzed call may contain besides good input and arrays that are wrong.
AREAS = ("extremes", "foreign", "mapped", "parameters")

#: Groups of cases; that of a seed is the one at ``seed % len(GROUPS)``.
GROUPS = (
    *("online", "classes", "batch", "online", "classes", "sequences", "online", "binary"),
    *("numbers", "svmlight", "checkpoint", "chunks", "online", "classes", "arrays", "svmlight"),
    *("parquet", "checkpoint", "chunks", "monitors", "transformers", "tables"),
)

#: Values for a parameter of which most are wrong everywhere.
ODD = (None, 0, -1, 2.5, 10**400, True, np.nan, np.inf, 1e308, 5e-324, 1 + 2j, "x", [], b"", object)


class Finding(Exception):  # noqa: N818
    """Something that must not happen."""


def pick(rng, choices):
    """One of a sequence, whatever its entries are."""
    return choices[rng.randint(len(choices))]


def chance(rng, share):
    return rng.random_sample() < share


def unaligned(array):
    view = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    view[...] = array
    return view


def locked(array):
    array.flags.writeable = False
    return array


#: Ways to store features that every learner must read.
STORAGES = (
    np.ascontiguousarray,
    np.asfortranarray,
    lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    lambda X: X[::-1],
    lambda X: locked(X.copy()),
    unaligned,
    lambda X: np.clip(X, -1e30, 1e30).astype(np.float32),
    lambda X: X.astype(">f8"),
    lambda X: np.clip(np.rint(X), -100, 100).astype(np.int8),
    lambda X: X.tolist(),
    pd.DataFrame,
    sparse.csr_matrix,
    sparse.csr_array,
    sparse.csc_matrix,
    sparse.coo_array,
    lambda X: sparse.csr_matrix(np.clip(X, -1e30, 1e30).astype(np.float32)),
)


def _stored(X, name, array):
    X = X.copy()
    setattr(X, name, array)
    return X


def _entry(array, place, value):
    array = array.copy()
    array[place] = value
    return array


#: Ways to make the arrays of a compressed matrix with stored values not fit together.
MISFITS = {
    "no indptr": lambda X: _stored(X, "indptr", X.indptr[:0]),
    "short indptr": lambda X: _stored(X, "indptr", X.indptr[:-1]),
    "indptr of ends": lambda X: _stored(X, "indptr", np.r_[0, X.indptr[-1], X.indptr[-1:] * 0]),
    "long indptr": lambda X: _stored(X, "indptr", np.r_[X.indptr, X.indptr[-1]]),
    "indptr beyond": lambda X: _stored(X, "indptr", _entry(X.indptr, -1, X.indptr[-1] + 99)),
    "indptr far beyond": lambda X: _stored(X, "indptr", _entry(X.indptr, -1, 2**31 - 1)),
    "negative indptr": lambda X: _stored(X, "indptr", _entry(X.indptr, 0, -5)),
    "indptr not from 0": lambda X: _stored(X, "indptr", _entry(X.indptr, 0, 1)),
    "falling indptr": lambda X: _stored(X, "indptr", X.indptr[::-1]),
    "indptr of floats": lambda X: _stored(X, "indptr", X.indptr.astype(float)),
    "indptr a matrix": lambda X: _stored(X, "indptr", X.indptr[None]),
    "index beyond": lambda X: _stored(X, "indices", _entry(X.indices, -1, max(X.shape))),
    "index far beyond": lambda X: _stored(X, "indices", _entry(X.indices, 0, 2**30)),
    "negative index": lambda X: _stored(X, "indices", _entry(X.indices, 0, -1)),
    "indices of floats": lambda X: _stored(X, "indices", X.indices * np.nan),
    "short indices": lambda X: _stored(X, "indices", X.indices[:-1]),
    "short data": lambda X: _stored(X, "data", X.data[:-1]),
    "data a matrix": lambda X: _stored(X, "data", X.data[:, None]),
}


def misfit(rng, X):
    """CSR or CSC whose arrays do not fit, and what is wrong with them."""
    name, X = pick(rng, tuple(MISFITS)), np.where(X == 0.0, 1.0, X)
    kind = sparse.csr_matrix if chance(rng, 0.7) else sparse.csc_matrix
    return MISFITS[name](kind(X)), name


#: Features that are wrong wherever they come.
WRONG_FEATURES = {
    "NaN in X": lambda X: _entry(X, (-1, 0), np.nan),
    "inf in X": lambda X: _entry(X, (-1, -1), np.inf),
    "NaN in sparse X": lambda X: sparse.csr_matrix(_entry(X, (0, 0), np.nan)),
    "a row too large": lambda X: _entry(X, (-1, 0), 1e200),
    "no rows": lambda X: X[:0],
    "no columns": lambda X: X[:, :0],
    "X a vector": lambda X: X[0],
    "X of three axes": lambda X: X[None],
    "text in X": lambda X: np.full(X.shape, "a"),
    "complex X": lambda X: X + 1j,
    "no X": lambda X: None,
}


def is_a_gap(learner, wrong):
    """Whether what is wrong is what a learner takes for missing."""
    return wrong == "NaN in X" and get_tags(learner).input_tags.allow_nan


def features(rng, n, width, areas):
    """n rows of features, in any storage, sometimes wrong."""
    X = rng.randn(n, width) * (rng.random_sample((n, width)) < pick(rng, (1.0, 1.0, 0.4)))
    if "extremes" in areas and chance(rng, 0.1):
        X *= 10.0 ** rng.uniform(-170, 170)
    elif chance(rng, 0.2):
        X *= 10.0 ** rng.uniform(-3, 3)
    if chance(rng, 0.12):
        return misfit(rng, X)
    if chance(rng, 0.08):
        name = pick(rng, tuple(WRONG_FEATURES))
        return WRONG_FEATURES[name](X), name
    if n > 1 and chance(rng, 0.05):
        return X[:-1], "a row of X less"
    return pick(rng, STORAGES)(X), None


#: Kinds of outputs: (number, rng, size) -> valid y of that kind.
OUTPUTS = {
    "labels": lambda n, rng, size: np.r_[np.arange(size), rng.randint(size, size=n)][:n],
    "grades": lambda n, rng, size: OUTPUTS["labels"](n, rng, size),
    "sets": lambda n, rng, size: rng.randint(2, size=(n, size)),
    "positions": lambda n, rng, size: np.array([rng.permutation(size) for _ in range(n)]),
    "ranks": lambda n, rng, size: np.array([1 + rng.permutation(size) for _ in range(n)]),
    "numbers": lambda n, rng, size: rng.randn(n) * 10.0 ** rng.randint(-3, 4),
    "pairs": lambda n, rng, size: np.array([rng.permutation(size) < 2 for _ in range(n)]) * 1,
}

WRONG_OUTPUTS = {
    "NaN in y": lambda y: _entry(y.astype(float), (0,) * y.ndim, np.nan),
    "fractions in y": lambda y: y + 0.5,
    "an output less": lambda y: y[:-1] if len(y) > 1 else np.concatenate([y, y]),
    "y of three axes": lambda y: y.reshape((*y.shape, 1, 1)),
    "no y": lambda y: None,
    "y a mapping": lambda y: {0: 1},
}


def outputs(rng, n, kind, size, may_be_wrong=True):
    """n outputs of a kind, as an array or a list, sometimes wrong."""
    y = OUTPUTS[kind](n, rng, size)
    if may_be_wrong and chance(rng, 0.1):
        name = pick(rng, tuple(WRONG_OUTPUTS))
        may_be_right = name == "fractions in y" and kind in ("grades", "numbers")
        return WRONG_OUTPUTS[name](y), None if may_be_right else name
    return pick(rng, (np.asarray, np.asarray, np.ndarray.tolist, locked, unaligned))(y), None


WRONG_WEIGHTS = {
    "a negative weight": lambda w: _entry(w, 0, -1.0),
    "a weight of NaN": lambda w: _entry(w, 0, np.nan),
    "a weight of inf": lambda w: _entry(w, -1, np.inf),
    "a weight too large": lambda w: _entry(w, -1, 1e308),
    "a weight less": lambda w: np.r_[w, 1.0],
    "weights a matrix": lambda w: np.stack([w, w]),
    "weights of text": lambda w: np.full(len(w), "a"),
}


def weights(rng, n, areas):
    """Weights of n rounds, or None."""
    w = rng.choice([0.0, 0.3, 1.0, 2.0], size=n)
    if "extremes" in areas and chance(rng, 0.1):
        w *= 10.0 ** rng.uniform(-300, 300)
    elif "extremes" in areas and chance(rng, 0.3):  # the promised range, as one scale or mixed
        w = np.sign(w) * 10.0 ** rng.uniform(-20, 20, size=pick(rng, (1, n)))
    if chance(rng, 0.1):
        name = pick(rng, tuple(WRONG_WEIGHTS))
        return WRONG_WEIGHTS[name](w), name
    return pick(rng, (None, None, w, w.tolist(), np.zeros(n), np.ones(n, np.int32))), None
