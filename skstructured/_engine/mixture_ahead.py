"""Score every row as a mixture would predict it, then learn it, in one compiled loop."""

import functools
from typing import Any

import numpy as np
from numba import types

from skstructured._engine.addresses import READ_VECTOR, as_move_and_score
from skstructured._engine.arrays import Array, Floats, Kernel
from skstructured._engine.compiled import kernel
from skstructured._engine.epoch import BLOCK, SLOW_BLOCK, quiet
from skstructured._engine.experts import means_of, score_experts
from skstructured._engine.mixing import SCORES, mix
from skstructured._engine.mixture import (
    bound_kernels,
    call_of,
    compiled_epoch,
    mixture_epoch,
    signature_of,
    steps_of,
)


@kernel
def without_averages(shares: Floats, few: int, out: Floats) -> None:
    """Weights (groups, R, N) of the experts that are no averages, the first `few`, to sum 1."""
    out[:] = 0.0
    for group in range(shares.shape[0]):
        total = 0.0
        for r in range(shares.shape[1]):
            for e in range(few):
                total += shares[group, r, e]
        for r in range(shares.shape[1]):
            for e in range(few):
                out[group, r, e] = shares[group, r, e] / (total if total > 0.0 else 1.0)


def mixture_ahead_of(learn: Kernel) -> Kernel:
    """The loop that scores a row, and then lets an epoch of one row, `learn`, learn it."""

    def ahead(
        data: Array,
        indices: Array,
        indptr: Array,
        width: int,
        rows: Array,
        truth: Array,
        weight: Floats,
        Theta: Array,
        average: bool,
        shortest_sq: float,
        longest_sq: float,
        vectors: Floats,
        shares: Floats,
        rates: Floats,
        totals: Floats,
        sums: Floats,
        kind: int,
        inner: float,
        params: Floats,
        work: Floats,
        scores: Floats,
        before: Array,
        averaged: bool,
        kernels: tuple[Any, ...],
        scales: Any,
        steps: Any,
    ) -> int:
        """As `mixture_epoch`; `scores` are those of the rows in `before`, in the place of `data`.

        By the experts and, where `averaged`, by their averages, at a weight of 0.
        """
        move_and_score = as_move_and_score(kernels[0], Theta)
        few, dim, none = vectors.shape[0], truth.shape[1], scores[:0]
        experts = 2 * few if average else few
        raw, still = np.empty(experts * dim), np.zeros(experts * dim)
        theta, means = np.empty((experts, dim)), np.empty((experts, dim))
        v, s, none_sq, now = np.empty(experts), np.empty(few), np.zeros(few), np.empty_like(vectors)
        by_last = np.empty_like(shares)
        for r in range(truth.shape[0]):
            one, row = slice(r, r + 1), rows[r]
            places = (indices, indptr, width, row, row)
            move_and_score(before, *places, Theta, totals, still, 0.0, 0.0, raw)
            now[:] = vectors
            score_experts(now, scales, raw, none_sq, 0.0, average, theta, s)
            if kind != SCORES:
                means_of(kind, theta, means)
            counted = shares
            if average and not averaged:
                without_averages(shares, few, by_last)
                counted = by_last
            mix(kind, counted, theta, means, v, scores[r])
            given = (rows[one], truth[one], weight[one], Theta, average, shortest_sq, longest_sq)
            mixed = (vectors, shares, rates, totals, sums, kind, inner, params, work, none)
            if learn(data, indices, indptr, width, *given, *mixed, kernels, scales, steps) >= 0:
                return r
        return -1

    return ahead


@functools.cache
def _compiled_ahead() -> Kernel:
    loop = mixture_ahead_of(compiled_epoch())
    return kernel(loop, signature=signature_of(READ_VECTOR, types.boolean))


def mixture_ahead_for(
    kernels: tuple[Kernel, ...], experts: list[tuple[Kernel, Kernel]], inner: float
) -> tuple[Kernel, int]:
    """As `mixture_epoch_for`; the loop is called with `before` and `averaged` behind `scores`."""
    at = bound_kernels(kernels, experts)
    if at is not None:
        return functools.partial(call_of, _compiled_ahead(), at, inner), BLOCK
    given, loop = (kernels, *steps_of(experts)), mixture_ahead_of(mixture_epoch)
    return functools.partial(call_of, quiet(loop), given, inner), SLOW_BLOCK
