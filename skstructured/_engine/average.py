"""The sum of the weights played, kept as ``(Σ v s) Θ + A`` without a sweep per round.

v is the share of a round, w or w t³: see `skstructured._engine.state.share_of`. A lies behind Θ in
one array and moves by the same rank-one terms, −(Σ v s) times those of Θ. With CSR rows a row of
Θ and of A are neighbours and move together, as one row twice as long. With dense rows, which touch
all of A, the terms wait in a block and are added many rows to a sweep; every entry takes its terms
one by one in the order of the rounds, so that chunks of any size give the same bits.

Where Θ is float32, A is float64 in an array of its own: its terms are a millionth of it after a
million rounds. What Θ loses by rounding is in no term of A, and would be counted for all rounds
before it too, so that A is brought up to date after `WINDOW` rounds.
"""

import numpy as np
from numpy.typing import DTypeLike

from skstructured._engine.arrays import Array, Floats
from skstructured._engine.compiled import kernel

#: Dense rows wait in blocks this long: they are still in cache when their terms are added.
WAITING = 48

#: Rounds after which the sum of float32 weights is brought up to date.
WINDOW = 1024

#: Bytes in a cache line.
LINE = 64


@kernel(fastmath={"contract"})
def add_dense(data: Array, width: int, rows: Array, terms: Floats, A: Array) -> None:
    """A ← A + Σ_r terms_r x_rᵀ, three rows to a sweep over A."""
    dim, n, r = terms.shape[1], rows.shape[0], 0
    while r < n:
        together = n - r >= 3
        x = data[rows[r] * width : (rows[r] + 1) * width]
        if together:
            y = data[rows[r + 1] * width : (rows[r + 1] + 1) * width]
            z = data[rows[r + 2] * width : (rows[r + 2] + 1) * width]
        for k in range(dim):
            a, c = A[k], terms[r, k]
            if together:
                d, e = terms[r + 1, k], terms[r + 2, k]
                for j in range(width):
                    a[j] = ((a[j] + c * x[j]) + d * y[j]) + e * z[j]
            else:
                for j in range(width):
                    a[j] = a[j] + c * x[j]
        r += 3 if together else 1
    if A.shape[1] > width:
        for r in range(n):
            for k in range(dim):
                A[k, width] += terms[r, k]


@kernel
def fold(
    Theta: Array, A: Array, dim: int, dense: bool, average: bool, factor: float, played: float
) -> None:
    """A ← A + played Θ where there is an A, then Θ ← factor Θ: the one sweep over weights.

    A is an array for dense rows; for CSR rows it is found behind Θ.
    """
    features = Theta.shape[1] if dense else Theta.shape[0]
    for i in range(dim if dense else features):
        for j in range(features if dense else dim):
            if average and dense:
                A[i, j] += played * Theta[i, j]
            elif average:
                Theta[i, dim + j] += played * Theta[i, j]
            Theta[i, j] *= factor


def aligned_zeros(shape: tuple[int, ...], dtype: DTypeLike = np.float64) -> Array:
    """Zeros that start at a cache line."""
    itemsize = np.dtype(dtype).itemsize
    size, spare = int(np.prod(shape)), LINE // itemsize
    array = np.zeros(size + spare, dtype=dtype)
    start = -(array.ctypes.data // itemsize) % spare
    return array[start : start + size].reshape(shape)


def aligned(array: Array) -> Array:
    """`array` itself if it is C-contiguous, ours and starts at a cache line, else such a copy."""
    if array.flags.c_contiguous and array.flags.writeable and array.ctypes.data % LINE == 0:
        return array
    copy = aligned_zeros(array.shape, array.dtype)
    copy[...] = array
    return copy
