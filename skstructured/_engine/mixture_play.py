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
from skstructured._engine.experts import means_of, score_experts
from skstructured._engine.mixing import SCORES, mix


def play_rows(
    kind: int,
    raw: Floats,
    vectors: Floats,
    averaged: bool,
    shares: Floats,
    played: Floats,
    scales: Any,
) -> None:
    """Scores `played` (n, dim) at raw scores Θz (n, N dim) of rows as standardised.

    `vectors` are copies: optimisers may note what they see in them.
    """
    n, dim = played.shape
    experts = shares.shape[2]
    theta, means = np.empty((experts, dim)), np.empty((experts, dim))
    v, s = np.empty(experts), np.empty(vectors.shape[0])
    for i in range(n):
        score_experts(vectors, scales, raw[i], 0.0, 0.0, averaged, theta, s)
        if kind != SCORES:
            means_of(kind, theta, means)
        mix(kind, shares, theta, means, v, played[i])


@functools.cache
def _compiled() -> Kernel:
    given = (int64, READ_MATRIX, MATRIX, types.boolean, CUBE, MATRIX, READ_INT64)
    return kernel(play_rows, signature=types.void(*given))


def play_rows_for(scales: list[Kernel]) -> Kernel:
    """`play_rows`, to be called with all but the experts' scale kernels."""
    if all(map(is_compiled, scales)):
        at = np.array([address(scale, SCALE) for scale in scales])
        return lambda *given: _compiled()(*given, at)
    return functools.partial(play_rows, scales=scales)
