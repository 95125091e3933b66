"""Compiled sweeps that count rows, one by one, and transform them by the counts."""

import math
from enum import IntEnum
from typing import Any

import numpy as np

from skstructured._engine.compiled import FASTMATH, kernel, plain_integers
from skstructured._engine.rows import SHORTEST_ROW
from skstructured._engine.state import clear, copy_into, inner
from skstructured._engine.types import Array, Floats


@plain_integers
class Statistic(IntEnum):
    """Rows of the statistics of every feature; behind them are the first rows of robust ones."""

    # Mean, deviation, one over it (0 for none), Σ w z and Σ w z² of the rows since they were
    # brought up to date, in units of the deviation.
    MEAN, DEVIATION, INVERSE, SUM, SQUARES = range(5)
    # Σ w of the rows that lack the feature, among those in the means, and since; edges, beyond
    # which cells count as these; deviations from the mean up to which a cell counts.
    MISSED, MISSED_SINCE, LOW, HIGH, LIMIT, KEPT = range(5, 11)


@plain_integers
class RowCount(IntEnum):
    """Counts of rows."""

    # Σ w of the rows in the means and deviations, and of the rows since; number of both; how many
    # times a row counts; how that grows, 0 if it does not; and whether statistics are robust.
    COUNTED, RECENT, N_COUNTED, GAIN, GROWTH, ROBUST = range(6)


#: Deviations below this count as 0.
SMALLEST_DEVIATION = 1e-290

#: First rows of a stream, which are kept until robust statistics start from them.
FIRST_ROWS = 32

#: Deviations from the mean up to which cells count, of ordinary columns and of those of which half
#: of the first cells are equal; E min(z², 4) of normal z.
NARROW_LIMIT, WIDE_LIMIT, NARROW_MEAN_SQUARE = 2.0, 5.0, 0.7737


def _transform_array(x: Floats, statistics: Floats, z: Floats) -> Any:
    mean, inverse = statistics[Statistic.MEAN], statistics[Statistic.INVERSE]
    low, high = statistics[Statistic.LOW], statistics[Statistic.HIGH]
    scaled = (np.minimum(np.maximum(x, low), high) - mean) * inverse
    z[:] = np.where(np.abs(scaled) > SHORTEST_ROW, scaled, 0.0)
    return scaled @ scaled


@kernel(fastmath=FASTMATH, python=_transform_array)
def transform(x, statistics, z):
    """z = (x − mean)/deviation of cells within the edges, or 0; ‖z‖², NaN if a cell is missing.

    Numbers that are negligible in units of the deviation become 0, and so does NaN.
    """
    mean, inverse = statistics[Statistic.MEAN], statistics[Statistic.INVERSE]
    low, high = statistics[Statistic.LOW], statistics[Statistic.HIGH]
    size = 0.0
    for j in range(x.shape[0]):
        cell = low[j] if x[j] < low[j] else x[j]
        d = (high[j] if cell > high[j] else cell) - mean[j]
        scaled = d * inverse[j]
        size += scaled * scaled
        z[j] = scaled if abs(scaled) > SHORTEST_ROW else 0.0
    return size


@kernel(fastmath=FASTMATH)
def count_constants(statistics):
    """Features without deviation so far."""
    count, inverse = 0.0, statistics[Statistic.INVERSE]
    for j in range(inverse.shape[0]):
        count += 1.0 if inverse[j] == 0.0 else 0.0
    return count


@kernel(fastmath=FASTMATH)
def changes(x, statistics):
    """Whether a feature without deviation so far has changed."""
    count, mean, inverse = 0.0, statistics[Statistic.MEAN], statistics[Statistic.INVERSE]
    for j in range(x.shape[0]):
        count += 1.0 if (inverse[j] == 0.0 and abs(x[j] - mean[j]) > 0.0) else 0.0
    return count > 0.0


def _gather_array(z: Floats, weight: float, statistics: Floats) -> None:
    limit = statistics[Statistic.LIMIT]
    d = np.minimum(np.maximum(z, -limit), limit)
    statistics[Statistic.SUM] += weight * d
    statistics[Statistic.SQUARES] += weight * d * d


@kernel(python=_gather_array)
def gather(z, weight, statistics):
    """Σ w z and Σ w z² grow by one row, whose cells count up to the limits of their columns."""
    total, squares = statistics[Statistic.SUM], statistics[Statistic.SQUARES]
    limit = statistics[Statistic.LIMIT]
    for j in range(z.shape[0]):
        d = -limit[j] if z[j] < -limit[j] else z[j]
        d = limit[j] if d > limit[j] else d
        total[j] += weight * d
        squares[j] += weight * d * d


@kernel(fastmath=FASTMATH)
def complete(X, statistics, out):
    """Dense rows X with edges instead of cells beyond them, and means instead of missing ones."""
    mean = statistics[Statistic.MEAN]
    low, high = statistics[Statistic.LOW], statistics[Statistic.HIGH]
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            cell = low[j] if X[i, j] < low[j] else X[i, j]
            cell = high[j] if cell > high[j] else cell
            out[i, j] = cell if cell == cell else mean[j]


@kernel
def count_gaps(x, weight, statistics):
    """Σ w of the rows without a feature grow by one row."""
    for j in range(x.shape[0]):
        if x[j] != x[j]:
            statistics[Statistic.MISSED_SINCE, j] += weight


@kernel
def refresh(x, weight, statistics, counts, centered, divided):
    """Bring means and deviations up to date, with row x; without `divided` the latter are 1.

    Rows since the last time are added in units of the deviation, the row by itself and without
    its square: numbers of any size neither over- nor underflow.
    """
    counted_weight, since = counts[RowCount.COUNTED], counts[RowCount.RECENT]
    total, squares = statistics[Statistic.SUM], statistics[Statistic.SQUARES]
    limits, gain = statistics[Statistic.LIMIT], counts[RowCount.GAIN]
    means, deviations = statistics[Statistic.MEAN], statistics[Statistic.DEVIATION]
    missed, lately = statistics[Statistic.MISSED], statistics[Statistic.MISSED_SINCE]
    for j in range(x.shape[0]):
        there, fresh, limit = counted_weight - missed[j], since - lately[j], limits[j]
        old, unit = there + fresh, NARROW_MEAN_SQUARE if limit == NARROW_LIMIT else 1.0
        mean, deviation = means[j], deviations[j]
        if fresh > 0.0:
            times = gain if gain * fresh <= 0.5 * old else max(1.0, 0.5 * old / fresh)
            shift = times * total[j] / old if centered else 0.0
            coefficient = there - (times - 1.0) * fresh
            spread = (coefficient + times * squares[j] / unit) / old - shift * shift
            mean += deviation * shift
            deviation *= math.sqrt(max(spread, 0.0))
        missed[j] += lately[j]
        if x[j] == x[j]:
            all_, share = old + weight, weight / (old + weight)
            share = min(gain * share, max(share, 0.5)) if gain > 1.0 else share
            d = x[j] - mean
            if deviation > 0.0:
                d = min(max(d, -limit * deviation), limit * deviation)
            if old == 0.0 and centered:
                mean, d, share = x[j], 0.0, 1.0
            left = old / all_ if gain == 1.0 else 1.0 - share
            coefficient = (share * left if centered else share) / unit
            z = d / deviation if deviation > SMALLEST_DEVIATION else math.inf
            if abs(z) < 1e150:  # numbers below it have a square
                deviation *= math.sqrt(left + z * z * coefficient)
            else:
                deviation = math.hypot(deviation * math.sqrt(left), d * math.sqrt(coefficient))
            mean += share * d
        else:
            missed[j] += weight
        lately[j] = 0.0
        means[j], deviations[j] = mean if centered else 0.0, deviation if divided else 1.0
    set_edges(statistics)
    counts[RowCount.COUNTED], counts[RowCount.RECENT] = (counted_weight + since) + weight, 0.0


@kernel
def set_edges(statistics):
    """Set what follows from new means and deviations; no row has come since."""
    mean, deviation = statistics[Statistic.MEAN], statistics[Statistic.DEVIATION]
    inverse, limit = statistics[Statistic.INVERSE], statistics[Statistic.LIMIT]
    low, high = statistics[Statistic.LOW], statistics[Statistic.HIGH]
    for j in range(mean.shape[0]):
        varies = deviation[j] > SMALLEST_DEVIATION
        inverse[j] = 1.0 / deviation[j] if varies else 0.0
        reach = 3.0 * deviation[j] if varies and limit[j] < math.inf else math.inf
        low[j], high[j] = mean[j] - reach, mean[j] + reach
    clear(statistics[Statistic.SUM])
    clear(statistics[Statistic.SQUARES])


@kernel
def sort(numbers, count):
    """Sort the first few of some numbers."""
    for i in range(1, count):
        number, k = numbers[i], i
        while k > 0 and numbers[k - 1] > number:
            numbers[k] = numbers[k - 1]
            k -= 1
        numbers[k] = number


@kernel
def start_robustly(statistics, centered):
    """Statistics of the first rows, whose cells count up to two robust deviations from the median.

    These are 1.48 times the median distance from it; if that is 0, cells count up to five times the
    third quartile of the other distances.
    """
    first = statistics[Statistic.KEPT :]
    cells, distances = np.empty(FIRST_ROWS), np.empty(FIRST_ROWS)
    for j in range(first.shape[1]):
        n, same = 0, 0
        for i in range(first.shape[0]):
            if first[i, j] == first[i, j]:
                cells[n] = first[i, j]
                n += 1
        if n == 0:
            continue
        sort(cells, n)
        center = 0.5 * (cells[(n - 1) // 2] + cells[n // 2]) if centered else 0.0
        for i in range(n):
            distances[i] = abs(cells[i] - center)
            same += distances[i] == 0.0
        sort(distances, n)
        normal_median = 0.6745  # of |z|, z normal
        reach = NARROW_LIMIT / normal_median * 0.5 * (distances[(n - 1) // 2] + distances[n // 2])
        limit, unit = NARROW_LIMIT, NARROW_MEAN_SQUARE
        if reach == 0.0:
            limit, unit = WIDE_LIMIT, 1.0
            reach = WIDE_LIMIT * distances[min(same + 3 * (n - same) // 4, n - 1)]
        mean, squares = 0.0, 0.0
        for i in range(n):
            mean += min(max(cells[i] - center, -reach), reach) / n
        for i in range(n):
            d = min(max(cells[i] - center, -reach), reach) - (mean if centered else 0.0)
            squares += d * d / n
        statistics[Statistic.LIMIT, j] = limit
        statistics[Statistic.MEAN, j] = center + mean if centered else 0.0
        statistics[Statistic.DEVIATION, j] = math.sqrt(squares / unit)
    set_edges(statistics)


@kernel
def count_at_once(x, weight, statistics, counts, centered, divided):
    """Bring the statistics up to date with row x; with the last of the first rows robustly."""
    n = int(counts[RowCount.N_COUNTED])
    if n > FIRST_ROWS:
        counts[RowCount.GAIN] = max(1.0, counts[RowCount.GROWTH] * n**0.3)
    refresh(x, weight, statistics, counts, centered, divided)
    if counts[RowCount.ROBUST] > 0.0 and n == FIRST_ROWS:
        start_robustly(statistics, centered)


@kernel(inline=True)
def round_of(offsets, r):
    """Positions of the rows of round r; without offsets a round is one row."""
    return (offsets[r], offsets[r + 1]) if offsets.shape[0] > 0 else (r, r + 1)


@kernel(steps=0.5)
def standardize_rows(
    data, width, rows, offsets, weight, statistics, counts, centered, divided, out, prior_out
):
    """Count and transform dense `rows`, one after the other, into `out` (n, width).

    Rows of weight zero are not counted, and become 0. `prior_out`, if it has rows, receives each
    row by the transformation before it is counted. With `offsets`, the first rows of rounds of
    several rows, those of a round are transformed alike, after all of them are counted.
    """
    ahead, robust = prior_out.shape[0] > 0, counts[RowCount.ROBUST] > 0.0
    constant = count_constants(statistics) > 0.0
    for g in range(offsets.shape[0] - 1 if offsets.shape[0] > 0 else rows.shape[0]):
        start, stop = round_of(offsets, g)
        for r in range(start, stop):
            x, w = data[rows[r] * width : (rows[r] + 1) * width], weight[r]
            if w == 0.0:
                if ahead:
                    transform(x, statistics, prior_out[r])
                clear(out[r])
                continue
            size = transform(x, statistics, out[r])
            lacks = size != size
            size = inner(out[r], out[r]) if lacks else size
            if ahead:
                copy_into(prior_out[r], out[r])
            is_first = robust and counts[RowCount.N_COUNTED] < FIRST_ROWS
            if is_first:
                copy_into(statistics[Statistic.KEPT + int(counts[RowCount.N_COUNTED])], x)
            counts[RowCount.N_COUNTED] += 1.0
            late = 32.0 * (counts[RowCount.RECENT] + w) >= counts[RowCount.COUNTED]
            unlike = not size <= 25.0 * width or (constant and changes(x, statistics))
            if late or is_first or unlike:
                count_at_once(x, w, statistics, counts, centered, divided)
                constant = count_constants(statistics) > 0.0
                transform(x, statistics, out[r])
            else:
                gather(out[r], w, statistics)
                if lacks:
                    count_gaps(x, w, statistics)
                counts[RowCount.RECENT] += w
        for r in range(start, stop - 1):  # the last one is
            if weight[r] > 0.0:
                transform(data[rows[r] * width : (rows[r] + 1) * width], statistics, out[r])


@kernel
def exchange(statistics, counts, grown, count, forward):
    """Exchange the scales of columns, the means and weights of their logarithms with `grown`.

    Rows of `grown` (4, …) are columns, and these three; the first `count` are exchanged, from the
    last one on backwards unless `forward`. Behind them is the number of rows.
    """
    counts[RowCount.N_COUNTED], grown[0, -1] = grown[0, -1], counts[RowCount.N_COUNTED]
    for i in range(count):
        t = i if forward else count - 1 - i
        j = int(grown[0, t])
        for k, row in enumerate((Statistic.DEVIATION, Statistic.SUM, Statistic.SQUARES)):
            grown[k + 1, t], statistics[row, j] = statistics[row, j], grown[k + 1, t]
        scale = statistics[Statistic.DEVIATION, j]
        statistics[Statistic.INVERSE, j] = 1.0 / scale if scale > SMALLEST_DEVIATION else 0.0


@kernel
def count_entry(size, weight, robust, statistics, j):
    """The scale of a column grows to the size of an entry, or shrinks to five geometric means."""
    scale = max(statistics[Statistic.DEVIATION, j], size)
    if robust:
        statistics[Statistic.SQUARES, j] += weight
        share = weight / statistics[Statistic.SQUARES, j]
        statistics[Statistic.SUM, j] += share * (math.log(size) - statistics[Statistic.SUM, j])
        scale = min(scale, 5.0 * math.exp(statistics[Statistic.SUM, j]))
    statistics[Statistic.DEVIATION, j] = scale
    statistics[Statistic.INVERSE, j] = 1.0 / scale if scale > SMALLEST_DEVIATION else 0.0


@kernel
def divide_entries(data, indices, first, last, inverse, limit, out, place):
    """Entries of one CSR row, divided by the scale of their columns, into `out` from `place` on."""
    for t in range(first, last):
        z = data[t] * inverse[indices[t]]
        z = -limit if z < -limit else z
        z = limit if z > limit else z
        out[place] = z if abs(z) > SHORTEST_ROW else 0.0
        place += 1


@kernel
def scale_entries(
    data, indices, indptr, rows, offsets, weight, statistics, counts, columns, out, prior_out, grown
):
    """Divide the entries of CSR `rows` by the scale of their columns so far, into `out`.

    Arguments are as in `standardize_rows`. `statistics` are afterwards as before: `grown`
    (4, entries + 1) receives those of columns that changed, see `exchange`; returns how many.
    """
    largest, inverse = statistics[Statistic.DEVIATION], statistics[Statistic.INVERSE]
    means, weights = statistics[Statistic.SUM], statistics[Statistic.SQUARES]
    count, place, robust = 0, 0, counts[RowCount.ROBUST] > 0.0
    limit = 1.0 if robust else math.inf
    grown[0, -1] = counts[RowCount.N_COUNTED]
    for g in range(offsets.shape[0] - 1 if offsets.shape[0] > 0 else rows.shape[0]):
        start, stop = round_of(offsets, g)
        begin = place
        for r in range(start, stop):
            first, last, w = indptr[rows[r]], indptr[rows[r] + 1], weight[r]
            if prior_out.shape[0] > 0:
                divide_entries(data, indices, first, last, inverse, limit, prior_out, place)
            counts[RowCount.N_COUNTED] += 1.0 if w > 0.0 else 0.0
            # After the first 128 rows, all entries of every 32nd are counted, 32 times.
            times = 1.0 if counts[RowCount.N_COUNTED] <= 128.0 else 32.0
            least = 0.0 if robust and counts[RowCount.N_COUNTED] % times == 0.0 else math.inf
            for t in range(first, last):
                j, x = indices[t], abs(np.float64(data[t]))
                columns[place + t - first] = j
                if w > 0.0 and (x > largest[j] or x > least):
                    grown[0, count], grown[1, count] = j, largest[j]
                    grown[2, count], grown[3, count] = means[j], weights[j]
                    count += 1
                    count_entry(x, w if x > largest[j] else times * w, robust, statistics, j)
            if w > 0.0:
                divide_entries(data, indices, first, last, inverse, limit, out, place)
            else:
                clear(out[place : place + last - first])
            place += last - first
        for r in range(start, stop - 1):  # the last one is
            first, last = indptr[rows[r]], indptr[rows[r] + 1]
            if weight[r] > 0.0:
                divide_entries(data, indices, first, last, inverse, limit, out, begin)
            begin += last - first
    exchange(statistics, counts, grown, count, False)
    return count


def moments_of(X: Array, weight: Floats, centered: bool) -> tuple[Floats, Floats, Floats]:
    """Σ w of the rows that have each feature, their means and their deviations, (p,) each.

    Rows of weight 0 may be of any size. Deviations of constants are 0, and numbers of any size
    neither over- nor underflow: means are those of differences from the first row, and squares
    those of quotients by the largest.
    """
    X, weight = np.asarray(X[weight > 0.0], dtype=np.float64), weight[weight > 0.0]
    there = ~np.isnan(X)
    total = weight @ there
    share = weight[:, None] * there / np.where(total > 0.0, total, 1.0)
    mean = _means(X, there, share) if centered else np.zeros(X.shape[1])
    apart = np.where(there, X - mean, 0.0)
    size = np.abs(apart).max(axis=0, initial=0.0)
    apart /= np.where(size > 0.0, size, 1.0)
    return total, mean, size * np.sqrt(np.sum(share * apart * apart, axis=0))


def _means(X: Floats, there: Array, share: Floats) -> Floats:
    if len(X) == 0:
        return np.zeros(X.shape[1])
    first = X[there.argmax(axis=0), np.arange(X.shape[1])]
    first[np.isnan(first)] = 0.0
    return first + np.sum(share * np.where(there, X - first, 0.0), axis=0)
