"""What a mixture plays at a few new rows: experts are scored as they are stored, and mixed.

The rows of a stream that are predicted one by one would wait for the weights of every expert in
units of the rows, which take far longer than one row's scores.
"""

import functools
from typing import Any

import numpy as np
from numba import int64, types

from skstructured._engine.arrays import Floats, Kernel
from skstructured._engine.compiled import (
    CUBE,
    MATRIX,
    READ_INT64,
    READ_MATRIX,
    SCALE,
    address,
    is_compiled,
    kernel,
)
from skstructured._engine.copies import copy_into
from skstructured._engine.experts import means_of, score_experts
from skstructured._engine.mixing import SCORES, mix


def play_rows(
    scales: Any,
    kind: int,
    raw: Floats,
    vectors: Floats,
    averaged: bool,
    shares: Floats,
    played: Floats,
) -> None:
    """Scores `played` (n, dim) at raw scores Θz (n, N dim) of rows as standardised."""
    n, dim = played.shape
    experts = shares.shape[2]
    theta, means = np.empty((experts, dim)), np.empty((experts, dim))
    v, s, now = np.empty(experts), np.empty(vectors.shape[0]), np.empty_like(vectors)
    for e in range(len(now)):  # optimisers may note what they see in them
        copy_into(now[e], vectors[e])
    for i in range(n):
        score_experts(now, scales, raw[i], 0.0, 0.0, averaged, theta, s)
        if kind != SCORES:
            means_of(kind, theta, means)
        mix(kind, shares, theta, means, v, played[i])


@functools.cache
def _compiled() -> Kernel:
    given = (READ_INT64, int64, READ_MATRIX, READ_MATRIX, types.boolean, CUBE, MATRIX)
    return kernel(play_rows, signature=types.void(*given))


def play_rows_for(scales: list[Kernel]) -> Kernel:
    """`play_rows`, to be called with all but the experts' scale kernels."""
    if all(map(is_compiled, scales)):
        at = np.array([address(scale, SCALE) for scale in scales])
        return functools.partial(_compiled(), at)
    return functools.partial(play_rows, scales)
