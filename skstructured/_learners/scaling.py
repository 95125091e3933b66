"""The parameter `standardize` of learners."""

import numpy as np
from numpy.typing import DTypeLike

from skstructured._base.rows_in_range import check_missing
from skstructured._engine.standardize import RunningScale


def scale_of(
    learner: object,
    width: int,
    intercept: bool,
    dtype: DTypeLike = np.float64,
    kind: type[RunningScale] = RunningScale,
) -> RunningScale:
    """A new `RunningScale` as ``learner.standardize`` says; a ValueError where that is unclear.

    "auto" is True for every kind of rows that there is today. Rows are centred where an intercept
    makes up for it. Learners without the parameter take rows as they are. Kernels are given dense
    rows of this dtype.
    """
    missing = check_missing(learner)
    wanted = getattr(learner, "standardize", False)
    if not (isinstance(wanted, (bool, np.bool_)) or wanted == "auto"):
        raise ValueError(f'standardize must be a bool or "auto", got {wanted!r}.')
    return kind(width, bool(intercept), bool(wanted), dtype, missing == "indicator")
