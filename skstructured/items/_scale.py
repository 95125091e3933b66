"""Items as standardised: all of a round by the same means and deviations, its own rows included."""

from typing import Any

import numpy as np

from skstructured._engine.arrays import Array, Floats
from skstructured._engine.compiled import kernel
from skstructured._engine.moments import (
    DEVIATION,
    INVERSE,
    SMALLEST,
    exchange,
    standardize_rows,
    transform,
)
from skstructured._engine.rows import SHORTEST, Rows
from skstructured._engine.standardize import Counted, Moments, RunningScale
from skstructured.extend._types import Ints


@kernel
def standardize_rounds(
    data: Array,
    width: int,
    rows: Array,
    offsets: Array,
    weight: Floats,
    statistics: Floats,
    counts: Floats,
    centred: bool,
    divided: bool,
    out: Array,
) -> None:
    """Count the rows of a round, one after the other, and transform them when all are counted."""
    for r in range(offsets.shape[0] - 1):
        start, stop = offsets[r], offsets[r + 1]
        part, none = out[start:stop], out[:0]
        learned = (statistics, counts, centred, divided)
        standardize_rows(data, width, rows[start:stop], weight[start:stop], *learned, part, none)
        for i in range(start, stop):
            if weight[i] > 0.0:
                transform(data[rows[i] * width : (rows[i] + 1) * width], statistics, out[i])


@kernel
def divide_rounds(
    data: Array,
    indices: Array,
    indptr: Array,
    rows: Array,
    offsets: Array,
    weight: Floats,
    statistics: Floats,
    columns: Array,
    out: Array,
    grown: Floats,
) -> int:
    """Divide the entries of a round by the largest of their columns so far, the round included.

    `statistics` and `grown` are as in `scale_entries`; returns how many grew.
    """
    largest, inverse, place, count = statistics[DEVIATION], statistics[INVERSE], 0, 0
    for r in range(offsets.shape[0] - 1):
        for i in range(offsets[r], offsets[r + 1]):
            for t in range(indptr[rows[i]], indptr[rows[i] + 1]):
                j, x = indices[t], abs(np.float64(data[t]))
                if x > largest[j] and weight[i] > 0.0:
                    grown[0, count], grown[1, count] = j, largest[j]
                    count += 1
                    largest[j] = x
                    inverse[j] = 1.0 / x if x > SMALLEST else 0.0
        for i in range(offsets[r], offsets[r + 1]):
            for t in range(indptr[rows[i]], indptr[rows[i] + 1]):
                z = data[t] * inverse[indices[t]]
                columns[place] = indices[t]
                out[place] = z if weight[i] > 0.0 and abs(z) > SHORTEST else 0.0
                place += 1
    exchange(statistics, grown, count, False)
    return count


class RoundScale(RunningScale):
    """`RunningScale` of items: rows of one round are transformed alike."""

    _offsets: Ints

    def counted_rounds(self, rows: Rows, order: Ints, weight: Floats, offsets: Ints) -> Counted:
        """As `counted`, of rounds: round r has the rows ``order[offsets[r]:offsets[r + 1]]``."""
        self._offsets = offsets
        return self.counted(rows, order, weight)

    def apply_rounds(
        self, rows: Rows, order: Ints, weight: Floats, offsets: Ints
    ) -> tuple[Rows, Array]:
        """As `apply`, of rounds."""
        self._offsets = offsets
        return self.apply(rows, order, weight)

    def _standardize(
        self, rows: Rows, order: Ints, weight: Floats, moments: Moments, out: Array, _: Array
    ) -> None:
        given = (rows.data, rows.width, order, self._offsets, weight)
        standardize_rounds(*given, *moments, self.centred, self.divided, out)

    def _divide(self, rows: Rows, order: Ints, weight: Floats, *into: Any) -> int:
        columns, out, _, grown = into
        given = (rows.data, rows.indices, rows.indptr, order, self._offsets, weight)
        return divide_rounds(*given, self.statistics, columns, out, grown)
