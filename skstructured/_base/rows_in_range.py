"""Which rows a learner takes: finite ones of norms in range, and gaps where it fills them."""

from typing import Any, NoReturn

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import assert_all_finite

from skstructured._base.validation import (
    check_choice,
    dtype_of,
    is_standardized,
    takes_singles_as_they_are,
)
from skstructured._engine.rows import LONGEST, SHORTEST, SINGLE_NORMS, Rows

#: Rows that are standardised before they are learned may be as long as this, and as short as any.
LONGEST_GIVEN = 1e150

#: What may be done about features that are missing; learners in batch have no indicators.
MISSING = ("mean", "indicator", "error")


def check_finite(estimator: Any, rows: Rows, fresh: bool = False) -> None:
    """NaN, inf and rows whose norm is out of range raise a ValueError; `fresh` as in `norms_of`."""
    intercept = getattr(estimator, "fit_intercept", False)
    intercept = bool(intercept if fresh else getattr(estimator, "_intercept", intercept))
    bad, rows = first_bad(estimator, rows, intercept, fresh)
    if bad >= 0:
        refuse_row(estimator, rows.X, bad, fresh)


def first_bad(estimator: Any, rows: Rows, intercept: bool, fresh: bool = False) -> tuple[int, Rows]:
    """The first row that a learner refuses, or −1; and the rows, without the gaps that it takes."""
    norms = norms_of(estimator, fresh)
    bad = rows.first_bad(intercept, *norms)
    if bad >= 0:
        check_missing(estimator)
    if bad >= 0 and takes_gaps(estimator, fresh) and not rows.is_sparse:
        rows = rows.without_gaps()
        bad = rows.first_bad(intercept, *norms)
    return bad, rows


def check_missing(estimator: Any) -> str:
    """The parameter `missing`, "error" for estimators without it; a ValueError for others."""
    given = getattr(estimator, "missing", "error")
    check_choice("missing", given, getattr(estimator, "_missing_choices", MISSING))
    return given


def takes_gaps(estimator: Any, fresh: bool = False) -> bool:
    """Whether NaN in dense rows is what is missing: of rows that are standardised."""
    given = getattr(estimator, "missing", "error")
    return given != "error" and bool(is_standardized(estimator, fresh))


def norms_of(estimator: Any, fresh: bool = False) -> tuple[float, float]:
    """The least and the largest norm of rows that a learner takes; `fresh` as above."""
    if is_standardized(estimator, fresh):
        return 0.0, LONGEST_GIVEN
    shortest, longest = SHORTEST, getattr(estimator, "longest_row", LONGEST)
    if takes_singles_as_they_are(estimator, fresh):
        shortest, longest = SINGLE_NORMS
    kernel = getattr(estimator, "kernel", None)
    far = isinstance(kernel, str) and kernel == "precomputed"  # kernels of rows far away are small
    return 0.0 if far else shortest, longest


def refuse_row(estimator: Any, X: Any, row: int, fresh: bool = False) -> NoReturn:
    """Raise the ValueError for a row whose norm, or whose scores, are out of range."""
    assert_all_finite(X, estimator_name=type(estimator).__name__, input_name="X")
    norm, (shortest, longest) = _norm_of_row(X, row), norms_of(estimator, fresh)
    if shortest <= norm <= longest:
        raise ValueError(
            f"Row {row} of X has scores that are not finite {np.dtype(dtype_of(estimator))} "
            "numbers: a parameter (a step, "
            "a scale, a norm) does not fit features of this size, or the space returns such means."
        )
    raise ValueError(
        f"Row {row} of X is too {'large' if norm > 1.0 else 'small'}: its norm is {norm:.4g}, and "
        f"rows must be 0 or have norms between {shortest:g} and {longest:.4g}; "
        f"{_remedy(estimator, longest, fresh)}."
    )


def _remedy(estimator: Any, longest: float, fresh: bool) -> str:
    """What is to be done about rows that are too large or too small."""
    single = takes_singles_as_they_are(estimator, fresh)
    ways = " or begin with float64 rows" if single else " or regularize more"
    raw = hasattr(estimator, "standardize") and not is_standardized(estimator, fresh)
    own = ", or give standardize=True" if raw else ""
    return f"rescale the features{ways if longest < LONGEST else ''}{own}"


def _norm_of_row(X: Any, row: int) -> float:
    """‖x‖ without overflow."""
    x = (X[row : row + 1].data if issparse(X) else X[row]).astype(np.float64)
    largest = np.abs(x).max(initial=0.0)
    return largest * float(np.linalg.norm(x / largest)) if largest > 0.0 else 0.0
