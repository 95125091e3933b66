"""Cosines and sines of products of rows with frequencies, in one order for every row.

CSR rows are multiplied entry by entry, in the order in which they are stored.
"""

import math

import numpy as np
from numpy.typing import DTypeLike

from skstructured._engine.arrays import Array
from skstructured._engine.compiled import kernel

#: Frequencies that are worked on together, and features that are added at a time: loops over the
#: former become vectors, and the latter spare loads and stores.
TILE, STEP = 128, 8

#: Rows that frequencies are read for at a time, half a step of features each.
ABREAST, HALF = 4, 4

#: Terms of the sine's series: of a quarter of a turn they leave 3e-16, and seven of them 1e-9.
TERMS = 10

#: Bytes of a number in single precision, of which fewer terms are taken.
SINGLE = 4

#: Behind the terms: a quarter of a turn, and turns beyond which there is no phase any more.
QUARTER, LARGEST = TERMS, TERMS + 1


def wave_numbers(dtype: DTypeLike) -> Array:
    """The numbers that `add_waves` computes with, in the precision of its rows."""
    terms = [
        (-1.0) ** n * math.tau ** (2 * n + 1) / math.factorial(2 * n + 1) for n in range(TERMS)
    ]
    return np.array([*terms, 0.25, 0.25 / np.finfo(dtype).eps], dtype=dtype)


def in_tiles(frequencies: Array, dtype: DTypeLike) -> Array:
    """Frequencies (p, m) as (tiles, steps · TILE), with zeros up to whole steps and tiles."""
    p, m = frequencies.shape
    tiles, height = -(-m // TILE), -(-p // STEP) * STEP
    out = np.zeros((height, tiles * TILE), dtype=dtype)
    out[:p, :m] = frequencies
    cut = np.ascontiguousarray(out.reshape(height, tiles, TILE).swapaxes(0, 1))
    return cut.reshape(tiles, height * TILE)


@kernel(fastmath={"contract"})
def add_step(t: Array, z: Array, w: Array) -> None:
    """Add the products of four features z with their frequencies to t (TILE,), one by one."""
    a, b, c, d = z[0], z[1], z[2], z[3]
    for j in range(TILE):
        t[j] = (((t[j] + a * w[j]) + b * w[TILE + j]) + c * w[2 * TILE + j]) + d * w[3 * TILE + j]


@kernel(fastmath={"contract"})
def add_steps(t: Array, x: Array, y: Array, z: Array, v: Array, w: Array) -> None:
    """As `add_step` to every row of t (4, TILE), for four features of the rows x, y, z and v."""
    t0, t1, t2, t3 = t[0], t[1], t[2], t[3]
    a0, b0, c0, d0 = x[0], x[1], x[2], x[3]
    a1, b1, c1, d1 = y[0], y[1], y[2], y[3]
    a2, b2, c2, d2 = z[0], z[1], z[2], z[3]
    a3, b3, c3, d3 = v[0], v[1], v[2], v[3]
    for j in range(TILE):
        a, b, c, d = w[j], w[TILE + j], w[2 * TILE + j], w[3 * TILE + j]
        t0[j] = (((t0[j] + a0 * a) + b0 * b) + c0 * c) + d0 * d
        t1[j] = (((t1[j] + a1 * a) + b1 * b) + c1 * c) + d1 * d
        t2[j] = (((t2[j] + a2 * a) + b2 * b) + c2 * c) + d2 * d
        t3[j] = (((t3[j] + a3 * a) + b3 * b) + c3 * c) + d3 * d


@kernel
def add_rows(Z: Array, i: int, tile: Array, t: Array) -> int:
    """Add Zω of some rows from i on to the first rows of t (4, TILE); returns how many."""
    count = ABREAST if i + ABREAST <= Z.shape[0] else 1
    for k in range(0, Z.shape[1], HALF):
        w, stop = tile[k * TILE : (k + HALF) * TILE], k + HALF
        if count == 1:
            add_step(t[0], Z[i, k:stop], w)
        else:
            add_steps(t, Z[i, k:stop], Z[i + 1, k:stop], Z[i + 2, k:stop], Z[i + 3, k:stop], w)
    return count


@kernel(fastmath={"contract"})
def waves_of(t: Array, amplitudes: Array, numbers: Array, cosines: Array, sines: Array) -> None:
    """a cos(2πt) and a sin(2πt), by the series of the sine within a quarter of a turn."""
    c0, c1, c2, c3, c4 = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    c5, c6, c7, c8, c9 = numbers[5], numbers[6], numbers[7], numbers[8], numbers[9]
    quarter, largest, none = numbers[QUARTER], numbers[LARGEST], numbers[0] - numbers[0]
    for j in range(amplitudes.shape[0]):
        r = t[j] - np.rint(t[j])
        r = r if abs(t[j]) < largest else none
        up = quarter - abs(r)
        s = quarter - abs(abs(r) - quarter)
        s = s if r >= none else -s
        u, v = up * up, s * s
        p, q = c8 + u * c9, c8 + v * c9
        p, q = c7 + u * p, c7 + v * q
        p, q = c6 + u * p, c6 + v * q
        p, q = c5 + u * p, c5 + v * q
        p, q = c4 + u * p, c4 + v * q
        p, q = c3 + u * p, c3 + v * q
        p, q = c2 + u * p, c2 + v * q
        p, q = c1 + u * p, c1 + v * q
        cosines[j] = amplitudes[j] * (up * (c0 + u * p))
        sines[j] = amplitudes[j] * (s * (c0 + v * q))


@kernel(fastmath={"contract"})
def single_waves_of(
    t: Array, amplitudes: Array, numbers: Array, cosines: Array, sines: Array
) -> None:
    """As `waves_of`, with the seven terms that matter in single precision."""
    c0, c1, c2, c3 = numbers[0], numbers[1], numbers[2], numbers[3]
    c4, c5, c6 = numbers[4], numbers[5], numbers[6]
    quarter, largest, none = numbers[QUARTER], numbers[LARGEST], numbers[0] - numbers[0]
    for j in range(amplitudes.shape[0]):
        r = t[j] - np.rint(t[j])
        r = r if abs(t[j]) < largest else none
        up = quarter - abs(r)
        s = quarter - abs(abs(r) - quarter)
        s = s if r >= none else -s
        u, v = up * up, s * s
        p, q = c5 + u * c6, c5 + v * c6
        p, q = c4 + u * p, c4 + v * q
        p, q = c3 + u * p, c3 + v * q
        p, q = c2 + u * p, c2 + v * q
        p, q = c1 + u * p, c1 + v * q
        cosines[j] = amplitudes[j] * (up * (c0 + u * p))
        sines[j] = amplitudes[j] * (s * (c0 + v * q))


@kernel
def add_waves(Z: Array, tiles: Array, amplitudes: Array, numbers: Array, out: Array) -> None:
    """Write a cos(2πt), and behind all of them a sin(2πt), t = Zω, into the last columns of `out`.

    Z (n, p) has zeros up to whole steps of features, frequencies are those of `in_tiles`; a is
    (m,), and `out` (n, 2m at least). A row is worked on by itself and every t is a sum over the
    features in their order, so that what a row becomes does not depend on those beside it.
    """
    n, m, single = Z.shape[0], amplitudes.shape[0], Z.itemsize == SINGLE
    begin = out.shape[1] - 2 * m
    t = np.empty((ABREAST, TILE), dtype=Z.dtype)
    for tile in range(tiles.shape[0]):
        start, stop = tile * TILE, min(m, (tile + 1) * TILE)
        chosen, i = amplitudes[start:stop], 0
        while i < n:
            t[:] = 0.0
            count = add_rows(Z, i, tiles[tile], t)
            for q in range(count):
                cosines = out[i + q, begin + start : begin + stop]
                sines = out[i + q, begin + m + start : begin + m + stop]
                if single:
                    single_waves_of(t[q], chosen, numbers, cosines, sines)
                else:
                    waves_of(t[q], chosen, numbers, cosines, sines)
            i += count


@kernel(fastmath={"contract"})
def add_four(t: Array, x: Array, a: Array, b: Array, c: Array, d: Array) -> None:
    """Add the products of four entries x with their frequencies to t (TILE,), one by one."""
    e, f, g, h = x[0], x[1], x[2], x[3]
    for j in range(TILE):
        t[j] = (((t[j] + e * a[j]) + f * b[j]) + g * c[j]) + h * d[j]


@kernel(fastmath={"contract"})
def add_one(t: Array, x: float, a: Array) -> None:
    """Add the products of an entry x with its frequencies to t (TILE,)."""
    for j in range(TILE):
        t[j] += x * a[j]


@kernel
def add_products(t: Array, x: Array, at: Array, tile: Array) -> None:
    """Add the products of entries x, the frequencies of which begin at `at` of a tile, to t."""
    n = x.shape[0]
    fours = n // 4 * 4
    for k in range(0, fours, 4):
        i, j, m, o = at[k], at[k + 1], at[k + 2], at[k + 3]
        four = (tile[i : i + TILE], tile[j : j + TILE], tile[m : m + TILE], tile[o : o + TILE])
        add_four(t, x[k : k + 4], four[0], four[1], four[2], four[3])
    for k in range(fours, n):
        add_one(t, x[k], tile[at[k] : at[k] + TILE])


@kernel
def append_waves(
    data: Array,
    indices: Array,
    indptr: Array,
    rows: Array,
    places: Array,
    signs: Array,
    tiles: Array,
    amplitudes: Array,
    numbers: Array,
    begin: int,
    out: Array,
    columns: Array,
    pointers: Array,
) -> None:
    """Write CSR `rows`, with the waves of `add_waves` behind the entries of each, as CSR rows.

    Column j is read as feature ``places[j]``, times ``signs[j]``; columns behind them are not
    mapped. Waves stand in the columns from `begin` on. `out` and `columns` have room for the
    entries and the waves of all rows, and `pointers` is the row pointers of what is written.
    """
    n, m, known, count = rows.shape[0], amplitudes.shape[0], places.shape[0], 0
    x, at = np.zeros(out.shape[0], dtype=out.dtype), np.zeros(out.shape[0], dtype=np.int64)
    starts = np.zeros(n + 1, dtype=np.int64)
    for i in range(n):
        first, place = indptr[rows[i]], pointers[i]
        size = indptr[rows[i] + 1] - first
        for k in range(size):
            j = indices[first + k]
            out[place + k], columns[place + k] = data[first + k], j
            if j < known:
                x[count], at[count] = signs[j] * data[first + k], places[j] * TILE
                count += 1
        starts[i + 1] = count
        pointers[i + 1] = place + size + 2 * m
        for k in range(2 * m):
            columns[place + size + k] = begin + k
    t = np.empty(TILE, dtype=out.dtype)
    for tile in range(tiles.shape[0]):
        start, stop = tile * TILE, min(m, (tile + 1) * TILE)
        for i in range(n):
            for j in range(TILE):
                t[j] = 0.0
            entries = slice(starts[i], starts[i + 1])
            add_products(t, x[entries], at[entries], tiles[tile])
            behind = pointers[i + 1] - 2 * m
            cosines = out[behind + start : behind + stop]
            sines = out[behind + m + start : behind + m + stop]
            waves_of(t, amplitudes[start:stop], numbers, cosines, sines)
