"""Checks of user input, called from public methods only."""

import contextlib
import math
from numbers import Real

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import _check_sample_weight, validate_data

from skstructured._driver import LONGEST, SHORTEST, Rows, index_range

INT32_MAX = np.iinfo(np.int32).max

#: Sample weights are 0 or lie between these (docs/numbers.md).
LIGHTEST, HEAVIEST = 1e-20, 1e20


def check_features(estimator, X, reset):
    """X as C-contiguous float64 or CSR, checked by scikit-learn against the fitted width and names.

    Values are not checked for NaN; see `check_finite`.
    """
    X = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr",
        dtype=np.float64,
        order="C",
        ensure_all_finite=False,
    )
    if issparse(X):
        check_csr(X)
        if max(X.shape[1], X.nnz) > INT32_MAX:
            raise ValueError(
                f"X is sparse with int64 indices beyond int32 (shape {X.shape}, {X.nnz} stored "
                f"values); at most {INT32_MAX} columns and values are supported."
            )
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    return X


def check_csr(X):
    """Row pointers and column numbers within their arrays: neither SciPy nor the kernels check."""
    stored = min(len(X.indices), len(X.data))
    if X.indptr[0] != 0 or X.indptr[-1] > stored or np.any(X.indptr[1:] < X.indptr[:-1]):
        raise ValueError(f"X.indptr must rise from 0 to at most the {stored} values stored in X.")
    low, high = index_range(X.indices[: X.indptr[-1]])
    if low < 0 or high >= X.shape[1]:
        raise ValueError(
            f"X.indices must lie between 0 and {X.shape[1] - 1} (X has {X.shape[1]} columns), "
            f"they go from {low} to {high}."
        )


def is_ready(estimator, X):
    """Whether X is already what the kernels read, so that a chunk may skip `check_features`."""
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype == np.float64
        and X.flags.c_contiguous
        and X.shape[0] > 0
        and X.shape[1] == getattr(estimator, "n_features_in_", None)
        and not hasattr(estimator, "feature_names_in_")
    )


def read_rows(estimator, X, reset=False):
    """X as scikit-learn checks it, and its `Rows`; values are not yet checked to be finite."""
    if reset or not is_ready(estimator, X):
        X = check_features(estimator, X, reset)
    return X, Rows.from_array(X)


def check_finite(estimator, X, rows):
    """NaN, inf and rows whose norm is out of range raise a ValueError."""
    intercept = getattr(estimator, "_intercept", getattr(estimator, "fit_intercept", False))
    longest = getattr(estimator, "longest_row", LONGEST)
    bad = rows.first_bad(intercept, longest)
    if bad >= 0:
        refuse_row(estimator, X, bad, longest)


def refuse_row(estimator, X, row, longest=LONGEST):
    """Raise the ValueError for a row whose norm, or whose scores, are out of range."""
    assert_all_finite(X, estimator_name=type(estimator).__name__, input_name="X")
    norm = _norm_of_row(X, row)
    if SHORTEST <= norm <= longest:
        raise ValueError(
            f"Row {row} of X has scores that are not finite float64 numbers: a parameter (a step, "
            "a scale, a norm) does not fit features of this size, or the space returns such means."
        )
    raise ValueError(
        f"Row {row} of X is too {'large' if norm > 1.0 else 'small'}: its norm is {norm:.4g}, and "
        f"rows must be 0 or have norms between {SHORTEST:g} and {longest:.4g}; rescale the "
        f"features{' or regularize more' if longest < LONGEST else ''}."
    )


def _norm_of_row(X, row):
    """‖x‖ without overflow."""
    x = X[row].data if issparse(X) else X[row]
    largest = np.abs(x).max(initial=0.0)
    return largest * float(np.linalg.norm(x / largest)) if largest > 0.0 else 0.0


def check_weights(sample_weight, X, n, stream=False):
    """Sample weights as a float64 vector, each 0 or in range; ones where None.

    scikit-learn refuses weights that are all zero; a chunk of a stream may well have them.
    """
    if sample_weight is None:
        return np.ones(n)
    if stream and np.shape(sample_weight) == (n,) and not np.any(sample_weight):
        return np.zeros(n)
    weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    wrong = (weight != 0.0) & ~((weight >= LIGHTEST) & (weight <= HEAVIEST))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"sample_weight must be 0 or lie between {LIGHTEST:g} and {HEAVIEST:g}; "
            f"row {row} has {weight[row]:g}."
        )
    return weight


def check_lengths(n_rows, n_outputs):
    """X and y must have the same number of samples."""
    if n_rows != n_outputs:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{n_rows}, {n_outputs}]"
        )


def check_positive(name, value, default=None):
    """`value` as a positive finite float, or `default` where it is None."""
    if value is None and default is not None:
        return default
    if not isinstance(value, Real) or isinstance(value, bool) or not 0.0 < value < math.inf:
        raise ValueError(f"{name} must be a positive number, got {value!r}.")
    return float(value)


def check_size(name, value, default=None):
    """`check_positive`, for a bound on norms, weighted or inverted: what they may be."""
    value, most = check_positive(name, value, default), LONGEST * HEAVIEST
    if value != default and not 1.0 / most <= value <= most:
        raise ValueError(f"{name} must lie between {1.0 / most:g} and {most:g}, got {value!r}.")
    return value


@contextlib.contextmanager
def unchanged_on_error(estimator):
    """Restore the attributes of `estimator` where the block raises."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
