"""Checks of user input, and of what custom spaces, decoders and optimizers return."""

import contextlib
import copy
import inspect
import math
from collections.abc import Callable, Iterable, Iterator
from numbers import Integral, Real
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import _check_sample_weight, validate_data

from skstructured._engine.rows import DOUBLE, LONGEST_ROW, SHORTEST_ROW, Rows
from skstructured._engine.state import OWN, State, is_learned
from skstructured._engine.types import Array, Floats

#: The end of the error for matrices, which names the learners of items.
ITEMS_ADVICE = (
    "X must be two-dimensional: one row of features per output. To rank or choose among items that "
    "have features, use ListwiseRanker, ConditionalLogit or ItemStructuredPredictor."
)

#: The end of the error for columns of strings.
STRINGS_ADVICE = "Encode string columns first: make_pipeline(TableEncoder(), estimator)."


@contextlib.contextmanager
def matrices_refused(X: Any, on_strings: str = STRINGS_ADVICE) -> Iterator[None]:
    """Add advice to errors for an X of strings, of huge numbers, or of matrices."""
    try:
        yield
    except OverflowError as error:
        raise ValueError(f"X has a number beyond float64: {error}.") from error
    except ValueError as error:
        if "could not convert string" in str(error):
            raise ValueError(f"{error}. {on_strings}") from error
        if not _rows_are_matrices(X):
            raise
        raise ValueError(
            f"{error} {ITEMS_ADVICE} For label sequences use space='sequence'."
        ) from error


def _rows_are_matrices(X: Any) -> bool:
    with contextlib.suppress(ValueError):  # of matrices of several shapes
        return np.ndim(X) > 2
    with contextlib.suppress(ValueError):
        return any(np.ndim(row) > 1 for row in X)
    return False


#: Sample weights are 0, or lie between this and one over it (docs/numbers.md).
HEAVIEST_WEIGHT = 1e20

#: The largest grade of an item whose gain is ``2^g − 1``.
LARGEST_GRADE = 60

#: Bounds on norms, and parameters that multiply them, are at most this and at least one over it.
LARGEST_SIZE = LONGEST_ROW * HEAVIEST_WEIGHT


def check_sparse(X: Any) -> None:
    """Raise a ValueError if the arrays of a sparse X do not fit together."""
    try:
        if X.format in ("csr", "csc"):
            copy.copy(X).check_format(full_check=True)
        elif X.format == "coo" and X.ndim == 2:
            type(X)((X.data, (X.row, X.col)), shape=X.shape)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X is not a valid sparse matrix: {error}") from None


def check_features(estimator: Any, X: Any, reset: bool, singles: bool = False) -> Any:
    """X as C-contiguous floats or CSR, checked against the fitted width and names, not for NaN.

    If they may be `singles`, those of a first X that is float32 are.
    """
    if issparse(X):
        check_sparse(X)
    options = {"accept_sparse": "csr", "order": "C", "ensure_all_finite": False}
    first = [np.float64, np.float32] if singles else np.float64
    dtype = first if reset else dtype_of(estimator)
    advice = getattr(estimator, "_instead_of_strings", STRINGS_ADVICE)
    # What float32 cannot hold is refused as inf.
    with np.errstate(over="ignore"), matrices_refused(X, advice):
        X = validate_data(estimator, X, reset=reset, dtype=dtype, **options)
    if reset:
        estimator._dtype = X.dtype
    if issparse(X):
        most = np.iinfo(np.int32).max
        if max(X.shape[1], X.nnz) > most:
            sizes = f"shape {X.shape}, {X.nnz} stored values"
            rule = f"at most {most} columns and values are supported"
            raise ValueError(f"X is sparse with int64 indices beyond int32 ({sizes}); {rule}.")
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
    return X


def dtype_of(estimator: Any) -> np.dtype[Any]:
    """The dtype of the rows that a learner takes."""
    return getattr(estimator, "_dtype", DOUBLE)


def check_standardize(estimator: Any) -> bool | str:
    """The parameter `standardize` of an estimator, False without it; a ValueError if invalid."""
    standardize = getattr(estimator, "standardize", False)
    if isinstance(standardize, (bool, np.bool_)) or standardize in ("auto", "moments"):
        return standardize
    raise ValueError(f'standardize must be a bool, "auto" or "moments", got {standardize!r}.')


def is_standardized(estimator: Any, fresh: bool = False) -> bool:
    """Whether a learner standardizes rows: as it was fitted, or by its parameter if `fresh`."""
    scale = None if fresh else getattr(estimator, "_scale", None)
    return getattr(estimator, "standardize", False) if scale is None else scale.used


def is_ready(estimator: Any, X: Any) -> bool:
    """Whether X already has the format of the kernels, so a chunk may skip `check_features`."""
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype != getattr(estimator, "_dtype", DOUBLE):
        return False
    width = getattr(estimator, "n_features_in_", None)
    has_shape = X.flags.c_contiguous and X.shape[0] > 0 and X.shape[1] == width
    return has_shape and not hasattr(estimator, "feature_names_in_")


def is_ready_row(estimator: Any, X: Any) -> bool:
    """Whether X is one CSR row that the kernels can read: columns in order, and of the width."""
    if not issparse(X) or X.format != "csr" or X.shape[:1] != (1,) or len(X.shape) != 2:
        return False
    width, columns = getattr(estimator, "n_features_in_", None), X.indices
    if X.dtype != dtype_of(estimator) or X.dtype != DOUBLE or columns.dtype != np.int32:
        return False
    if X.indptr.dtype != np.int32 or X.shape[1] != width or hasattr(estimator, "feature_names_in_"):
        return False
    if not (len(X.indptr) == 2 and X.indptr[0] == 0 and X.indptr[1] == len(columns) == len(X.data)):
        return False
    inside = len(columns) == 0 or (columns[0] >= 0 and columns[-1] < width)
    return bool(inside and (columns[1:] > columns[:-1]).all())


def read_rows(estimator: Any, X: Any, reset: bool = False, singles: bool = True) -> Rows:
    """`Rows` of X as scikit-learn checks it; values are not yet checked to be finite.

    With `singles` those of a first X that is float32 are, if the learner takes them.
    """
    if reset or not (is_ready(estimator, X) or is_ready_row(estimator, X)):
        singles = singles and getattr(estimator, "_learns_singles", False)
        X = check_features(estimator, X, reset, singles)
    return Rows.from_array(X)


def check_weights(sample_weight: ArrayLike | None, X: Any, n: int, stream: bool = False) -> Floats:
    """Sample weights of rounds as a float64 vector, each 0 or in range; ones for `None`."""
    if sample_weight is None:
        return np.ones(n)
    return check_range_of_weights("sample_weight", _nonnegative(sample_weight, X, n, stream))


def check_range_of_weights(name: str, weight: Floats) -> Floats:
    """Weights (n,), unchanged; a ValueError unless each is 0 or in range."""
    lightest = 1.0 / HEAVIEST_WEIGHT
    wrong = (weight != 0.0) & ~((weight >= lightest) & (weight <= HEAVIEST_WEIGHT))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        rule = f"must be 0 or lie between {lightest:g} and {HEAVIEST_WEIGHT:g}"
        remedy = "divide all weights by their mean"
        raise ValueError(f"{name} {rule}, got {weight[row]:g} for row {row}: {remedy}.")
    return weight


def check_positive_sum(name: str, weight: Array) -> None:
    """A ValueError for non-negative weights (n,) that are all zero."""
    if not weight.any():
        raise ValueError(f"{name} must have a positive sum, got zeros only.")


def _nonnegative(sample_weight: ArrayLike, X: Any, n: int, stream: bool) -> Floats:
    """Non-negative float64 weights (n,); only in a `stream` may all be zero."""
    weights = floats_of("sample_weight", sample_weight)
    if weights.shape == (n,) and not weights.any():
        if not stream:
            check_positive_sum("sample_weight", weights)
        return np.zeros(n)
    return _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)


def weighted_mean(values: Array, sample_weight: ArrayLike | None) -> float:
    """Mean of `values` (n,); a ValueError for negative weights, and if all are zero."""
    n, weight = len(values), np.ones(len(values))
    if sample_weight is not None:
        weight = _nonnegative(sample_weight, values, n, stream=True)
    check_positive_sum("sample_weight", weight)
    return float(np.average(values, weights=weight / weight.max()))


def check_lengths(n_rows: int, n_outputs: int) -> None:
    """X and y must have the same number of samples."""
    if n_rows != n_outputs:
        numbers = f"[{n_rows}, {n_outputs}]"
        raise ValueError(f"Found input variables with inconsistent numbers of samples: {numbers}")


def floats_of(name: str, values: Any) -> Floats:
    """`values` as float64; a ValueError that calls them `name` if they are not numbers."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be numbers: {error}.") from error


def check_real(name: str, value: object, allowed: Callable[[float], bool], rule: str) -> float:
    """`value` as a float; a ValueError unless it is a real number that `allowed` accepts."""
    with contextlib.suppress(OverflowError):  # an integer beyond float64
        if isinstance(value, Real) and not isinstance(value, bool) and allowed(float(value)):
            return float(value)
    raise ValueError(f"{name} must {rule}, got {value!r}.")


def check_positive(name: str, value: object, default: float | None = None) -> float:
    """`value` as a positive finite float, or `default` instead of `None`."""
    if value is None and default is not None:
        return default
    return check_real(name, value, lambda v: 0.0 < v < math.inf, "be a positive number")


def check_nonnegative(name: str, value: object) -> float:
    """`value` as a finite float of at least 0."""
    return check_real(name, value, lambda v: 0.0 <= v < math.inf, "be a non-negative number")


def check_share(name: str, value: object) -> float:
    """`value` as a float in [0, 1]."""
    return check_real(name, value, lambda v: 0.0 <= v <= 1.0, "lie in [0, 1]")


def check_bool(name: str, value: object) -> None:
    """A ValueError unless `value` is a bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be a bool, got {value!r}.")


def check_choice(name: str, value: object, allowed: Iterable[str]) -> None:
    """A ValueError unless `value` is one of the strings `allowed`."""
    if not (isinstance(value, str) and value in allowed):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}.")


def check_integer(name: str, value: Any, lowest: int = 1, highest: int | None = None) -> None:
    """A ValueError unless `value` is an integer from `lowest` to `highest`, or to int64's last."""
    most, is_integer = 2**63 - 1 if highest is None else highest, isinstance(value, Integral)
    if is_integer and not isinstance(value, bool) and lowest <= value <= most:
        return
    is_bounded = highest is not None or (is_integer and int(value) > most)
    allowed = f"from {lowest} to {most}" if is_bounded else f"at least {lowest}"
    raise ValueError(f"{name} must be an integer {allowed}, got {value!r}.")


def own_arrays(learner: Any) -> None:
    """Copy private arrays that joblib has memory-mapped: learning would fail or change the file."""
    for name, value in list(vars(learner).items()):
        if is_learned(name):
            setattr(learner, name, writable(value))


def writable(value: Any) -> Any:
    """`value`, or a copy if it is a memory-mapped or read-only array; its parts likewise."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(writable, value)) if type(value) in (tuple, list) else value
    if isinstance(value, (State, BaseEstimator)):
        vars(value).update({name: writable(attribute) for name, attribute in vars(value).items()})
    if not isinstance(value, np.ndarray):
        return value
    return value if type(value) is np.ndarray and value.flags.writeable else np.array(value)


def check_size(name: str, value: object, default: float | None = None) -> float:
    """`value` as by `check_positive`, within the range allowed for bounds on norms."""
    value, least = check_positive(name, value, default), 1.0 / LARGEST_SIZE
    if value != default and not least <= value <= LARGEST_SIZE:
        raise ValueError(f"{name} must lie between {least:g} and {LARGEST_SIZE:g}, got {value!r}.")
    return value


def check_finite(estimator: Any, rows: Rows, fresh: bool = False, offsets: Any = None) -> None:
    """NaN, inf and rows whose norm is out of range raise a ValueError; `fresh` as in `norms_of`.

    It names the row, or the sequence and the position if there are `offsets` of sequences.
    """
    # `Kernel` says it for those that have one, and the loop looks again once it is known
    intercept = getattr(estimator, "fit_intercept", hasattr(estimator, "kernel"))
    intercept = bool(intercept if fresh else getattr(estimator, "fit_intercept_", intercept))
    norms = norms_of(estimator, fresh)
    bad = rows.first_bad(offsets is not None or intercept, *norms)
    if bad < 0:
        return
    check_missing(estimator)
    if takes_gaps(estimator, fresh) and not rows.is_sparse:
        rows = rows.without_gaps()
        bad = rows.first_bad(offsets is not None or intercept, *norms)
    if bad >= 0 and offsets is None:
        raise_bad_row(estimator, rows.X, bad, fresh)
    if bad >= 0:
        _raise_bad_position(estimator, rows.matrix[bad : bad + 1], offsets, bad, fresh)


def _raise_bad_position(
    estimator: Any, row: Any, offsets: Any, position: int, fresh: bool
) -> NoReturn:
    """Raise the ValueError for the row (1, p) at a position of all sequences."""
    i = int(np.searchsorted(offsets, position, side="right")) - 1
    try:
        raise_bad_row(estimator, row, 0, fresh)
    except ValueError as error:
        what = str(error).splitlines()[0].replace("Row 0 of X", "This row")
        what = what.replace("row 0 of X", "this row")
        raise ValueError(f"Sequence {i} of X, position {position - offsets[i]}: {what}") from None


def check_missing(estimator: Any) -> str:
    """The parameter `missing`, "error" for estimators without it; a ValueError for others."""
    missing = getattr(estimator, "missing", "error")
    choices = getattr(estimator, "_missing_choices", ("mean", "indicator", "error"))
    check_choice("missing", missing, choices)
    return missing


def takes_gaps(estimator: Any, fresh: bool = False) -> bool:
    """Whether NaN in dense rows is a missing value: only if rows are standardized."""
    missing = getattr(estimator, "missing", "error")
    return missing != "error" and bool(is_standardized(estimator, fresh))


def is_precomputed(kernel: Any) -> bool:
    """Whether the parameter `kernel` is "precomputed": rows are those of a kernel matrix."""
    function = getattr(kernel, "function", kernel)
    return isinstance(function, str) and function == "precomputed"


def norms_of(estimator: Any, fresh: bool = False) -> tuple[float, float]:
    """The least and the largest norm of rows that a learner takes; `fresh` as above."""
    if is_standardized(estimator, fresh):
        return 0.0, 1e150  # rows are standardized before they are learned
    shortest, longest = SHORTEST_ROW, getattr(estimator, "longest_row", LONGEST_ROW)
    # Kernels of rows that are far away are small.
    far = is_precomputed(getattr(estimator, "kernel", None))
    return 0.0 if far else shortest, longest


def raise_bad_row(estimator: Any, X: Any, row: int, fresh: bool = False) -> NoReturn:
    """Raise the ValueError for a row whose norm, or whose scores, are out of range."""
    assert_all_finite(X, estimator_name=type(estimator).__name__, input_name="X")
    x = X[row : row + 1].data if issparse(X) else X[row]
    norm, (shortest, longest) = math.hypot(*x.tolist()), norms_of(estimator, fresh)
    if shortest <= norm <= longest:
        remedy = "Rescale the features, set standardize=True or reduce the step size"
        custom = "For a custom space, check that its means are finite"
        raise ValueError(f"The scores of row {row} of X are not finite. {remedy}. {custom}.")
    remedy = "Rescale the features" + " or regularize more" * (longest < LONGEST_ROW)
    if hasattr(estimator, "standardize") and not is_standardized(estimator, fresh):
        remedy += ", or set standardize=True"
    size = f"too {'large' if norm > 1.0 else 'small'}: its Euclidean norm is {norm:.4g}"
    rule = f"norms must be 0 or between {shortest:g} and {longest:.4g}"
    raise ValueError(f"Row {row} of X is {size}, and {rule}. {remedy}.")


Plugin = TypeVar("Plugin")


def is_builtin(space: object, method: str = "unpack") -> bool:
    """Whether a space's `method` is defined in the package: `unpack` then needs no check."""
    return getattr(type(space), method).__module__.startswith("skstructured.spaces.")


def all_builtin(space: object) -> bool:
    """Whether all methods of a space are the package's own, so no vertex needs a check."""
    return type(space).__module__.startswith("skstructured.spaces.")


def check_vertices(space: object, method: str, V: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """V, as ``space.method`` returned it, as C-contiguous float64 of this shape."""
    V = np.asarray(V)
    if V.shape != shape:
        refuse(space, method, f"an array of shape {shape}, got {V.shape}")
    if V.dtype.kind not in "biuf":
        refuse(space, method, f"real numbers, got an array of {V.dtype}")
    V = np.ascontiguousarray(V, dtype=np.float64)
    if not np.isfinite(V).all():
        row, column = np.argwhere(~np.isfinite(V))[0]
        entry = f"{V[row, column]:g} in column {column}"
        refuse(space, method, f"finite numbers, row {row} has {entry}")
    return V


def check_sign(space: Any, direction: Floats) -> None:
    """Raise a ValueError that names a space whose ``argmax`` minimizes <direction, y>."""
    best, other = space.argmax(np.array([direction, -direction])) @ direction
    if other > best:
        requirement = "a vertex with the largest <theta, y>"
        refuse(space, "argmax", f"{requirement}: it returned {best:g}, but {other:g} for −theta")


def refuse(component: object, method: str, requirement: str) -> NoReturn:
    """Raise the ValueError for a value of ``component.method`` that misses a `requirement`."""
    raise ValueError(f"{type(component).__name__}.{method} must return {requirement}.")


def check_dimension(space: Plugin) -> Plugin:
    """A fitted space, whose `dim_` is a positive integer; a ValueError names it otherwise."""
    dim = getattr(space, "dim_", None)
    if not isinstance(dim, Integral) or isinstance(dim, bool) or dim < 1:
        name = type(space).__name__
        raise ValueError(f"{name}.fit must set dim_ to a positive integer, got {dim!r}.")
    return space


def check_kernels(component: Plugin) -> Plugin:
    """The component; a TypeError names it unless its kernels can be called as loops do."""
    arguments = {
        "kernel": "theta, truth, g, params, work",
        "scale_kernel": "state, bound, weight",
        "step_kernel": "state, inner, square, bound, weight",
        "coordinate_kernel": "state, W, a, b, g",
    }
    for name, listed in arguments.items():
        if isinstance(inspect.getattr_static(component, name, property()), property):
            continue  # one that may only raise, or makes a kernel of its own
        kernel = getattr(component, name)
        try:
            kernel = inspect.signature(kernel)
            kernel.bind(*listed.split(", "))
        except TypeError:
            rule = f"must be a static method with the arguments ({listed}), got {kernel}"
            raise TypeError(f"{type(component).__name__}.{name} {rule}.") from None
    return component


def are_vertices(space: Any, V: Floats) -> bool:
    """Whether all rows of V are vertices of the space."""
    try:
        return bool(np.array_equal(space.encode(space.decode(V)), V))
    except ValueError:
        return False


def check_mixture(decoder: object, mixture: Any, space: Any, shape: Any) -> tuple[Floats, Floats]:
    """The pair that ``decoder.mixture`` returned; a ValueError names it if it does not fit.

    Whether vertices are in the space is checked for the first 20 rows.
    """
    if not isinstance(mixture, tuple) or len(mixture) != 2:
        kind = type(mixture).__name__
        refuse(decoder, "mixture", f"a pair of vertices and probabilities, got {kind}")
    V, p = check_vertices(decoder, "mixture", mixture[0], shape), np.asarray(mixture[1])
    is_real = p.shape == shape[:1] and p.dtype.kind in "biuf"
    if not (is_real and ((p >= 0.0) & (p <= 1.0 + 1e-9)).all()):
        refuse(decoder, "mixture", f"{shape[0]} probabilities in [0, 1], got {p.tolist()!r:.60}")
    if not are_vertices(space, V[:20]):
        name, rows = type(space).__name__, V[:20].tolist()
        refuse(decoder, "mixture", f"vertices of {name} alone, got {rows!r:.60}")
    return V, p


def check_state(optimizer: Any, state: Any) -> Floats:
    """The state that ``optimizer.init`` returned; a ValueError if kernels cannot use it."""
    needed = OWN + optimizer.entries
    ready = isinstance(state, np.ndarray) and state.dtype == np.float64 and state.ndim == 1
    if not (ready and len(state) >= needed and state.flags.c_contiguous and state.flags.writeable):
        text = f"{state.dtype} of shape {state.shape}" if hasattr(state, "dtype") else repr(state)
        made = "made by skstructured.extend.new_state, whose first entries are the loop's"
        requirement = f"a float64 vector of {needed} numbers or more, {made}; got {text}"
        refuse(optimizer, "init", requirement)
    return state
