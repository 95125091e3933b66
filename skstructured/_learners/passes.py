"""Lines about how far learning has come."""

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from skstructured._base.validation import check_integer
from skstructured.extend._types import Array

SECONDS_BETWEEN_LINES = 1.0


def is_verbose(model: object) -> bool:
    """Whether a learner's `verbose`, by default 0, asks for lines."""
    verbose = getattr(model, "verbose", 0)
    if not isinstance(verbose, (bool, np.bool_)):
        check_integer("verbose", verbose, lowest=0)
    return verbose > 0


def with_progress(
    model: object, starts: Sequence[Any] | Array, total: int, what: str = "rows"
) -> Iterable[Any]:
    """The items of `starts`, the starts of blocks; with `verbose`, a line is printed per second."""
    return _with_messages(starts, total, what) if is_verbose(model) else starts


def _with_messages(starts: Sequence[Any] | Array, total: int, what: str) -> Iterator[Any]:
    started = last = time.perf_counter()
    for done, start in enumerate(starts):
        clock = time.perf_counter()
        if clock - last >= SECONDS_BETWEEN_LINES:
            print(f"{done / len(starts):.0%} of {total} {what} learned in {clock - started:.0f} s")
            last = clock
        yield start
