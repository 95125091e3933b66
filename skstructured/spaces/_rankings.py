"""Checks of permutation-valued outputs, shared by the two spaces of rankings and by metrics."""

import numpy as np
from sklearn.utils import check_array


def check_permutations(y, first, convention, other, size=None):
    """Rows of y as int64 permutations of first … first+size−1; a ValueError names the row.

    `convention` says what an entry means; `other` is the likely mistake of an offset by one.
    """
    y = check_array(y, dtype=None, ensure_all_finite=True, input_name="y")
    if y.dtype.kind not in "iuf" or np.any(y != np.rint(y)):
        raise ValueError(f"y must hold integers ({convention}), got {y.ravel()[:10].tolist()}.")
    y = y.astype(np.int64)
    m = y.shape[1]
    if m < 2:
        raise ValueError(f"y must rank at least two items (one column each), got {m} column.")
    if size is not None and m != size:
        raise ValueError(
            f"y must have {size} columns, one per item, as at the first call; got {m}."
        )
    ordered = np.sort(y, axis=1)
    wrong = (ordered != np.arange(first, first + m)).any(axis=1)
    if wrong.any():
        _refuse(y, int(np.flatnonzero(wrong)[0]), first, convention, other)
    return y


def _refuse(y, row, first, convention, other):
    values, m = y[row], y.shape[1]
    ordered = np.sort(values)
    if (np.diff(ordered) == 0).any():
        reason = f"it has ties at {int(ordered[1:][np.diff(ordered) == 0][0])}"
    elif np.array_equal(ordered, np.arange(1 - first, 1 - first + m)):
        reason = f"it looks {other}"
    else:
        reason = "it has values outside that range"
    raise ValueError(
        f"row {row} of y, {values[:10].tolist()}{' …' if m > 10 else ''}, is not a permutation of "
        f"{first}..{first + m - 1}: {reason}. Expected {convention}."
    )


def relevances(name, y):
    """How many items are behind each item in rankings y (n, m), an int64 array.

    y holds positions 0 … m−1, 0 = first, or ranks 1 … m, m = best; a ValueError calls it `name`.
    """
    y = np.asarray(y)
    first = int(y.size > 0 and y.min() > 0)
    convention = f"positions 0..m-1 (0 = first) or ranks 1..m (m = best) in {name}"
    y = check_permutations(y, first, convention, "like the other kind, and all rows must be of one")
    return y - 1 if first else y.shape[1] - 1 - y
