"""The compiled loop of all linear learners: a round is one row, a label sequence, or some items.

Each of E experts, one without a mixture, has weights ``W = s Θ``: its optimizer owns the number s
and a vector, so steps, projections and bets never sweep over Θ. The sum of the weights played is
``(Σ v s) Θ + A``, v the shares of the rounds in the average. Θ of all experts, and behind them
the sums A, are one array: below each other for dense rows, next to each other for CSR rows, label
sequences and items.
"""

import functools
from typing import Any

import numpy as np
from numba import int64, types

from skstructured._engine.compiled import (
    FASTMATH,
    also_interpreted,
    count_steps,
    in_python,
    interpreted,
    is_kernel,
    kernel,
)
from skstructured._engine.mixing import (
    fold_expert,
    judge_experts,
    means_of,
    mix,
    move_columns,
    pack,
    renew_expert,
    score_experts,
    step_experts,
    usual_weight,
)
from skstructured._engine.move_and_score import WAITING_ROWS, add_dense_rows, scores_of_row
from skstructured._engine.rows import LONGEST_ROW, SHORTEST_ROW, Rows, in_range
from skstructured._engine.state import (
    Call,
    LinearState,
    LoopOption,
    LoopState,
    MixtureKind,
    clear,
    copy_into,
    count_round,
    share_of,
)
from skstructured._engine.types import (
    FUNCTION_TYPES,
    LOOP_TYPE,
    READ_ROWS,
    READ_VECTOR,
    Array,
    Floats,
    address,
    as_gather,
    as_loop,
    as_loss,
    as_move_and_score,
    as_prepare,
    as_scale,
    as_step,
)

#: Rows that compiled loops learn at a time.
LOOP_BLOCK = 4096

#: Interpreted steps of a row and an expert, without products of weights.
STEPS_PER_ROW = 50.0


@kernel
def most_touched(indptr, width, firsts, lengths):
    """The most features that the rows of one round have."""
    most = 0
    for r in range(lengths.shape[0] if indptr.shape[0] > 0 else 0):
        most = max(most, indptr[firsts[r] + lengths[r]] - indptr[firsts[r]])
    return most if indptr.shape[0] > 0 else width


@kernel(signature=LOOP_TYPE.signature, worth=1e7)
def learn_rounds(rows, rounds, learned, constants, results, kernels, scales, steps):
    """Learn rounds in order; returns the first whose norm or scores are out of range, or −1.

    Each round: raw scores of all experts; s of each, from a bound on ‖∂θ/∂Θ‖² and the weight;
    ``θ_e = s_e raw_e``, and of its average ``((Σ v s) raw + A)/Σ v``; losses and gradients g in θ;
    the scores played, by `mix`, and the weights of the experts; with the gradient G of each in Θ,
    u = step(<G, Θ>, ‖G‖²); ``Θ ← Θ + u G`` and ``A ← A − u (Σ v s) G``.
    """
    _, _, indptr, width = rows
    order, lengths, truth, weight, omega, terms, sizes = rounds
    Theta, _, summed, vectors, _, _, totals, _, kind, _, numbers, slot = learned
    options, move_and_score = constants[1], as_move_and_score(kernels[0])
    prepare, gather = as_prepare(kernels[2]), as_gather(kernels[3])
    n, n_experts, dim = weight.shape[0], vectors.shape[0], options[LoopOption.DIM]
    extra = options[LoopOption.EXTRA]
    ragged, mixed, longest = lengths.shape[0] > 0, kind != MixtureKind.ALONE, 1
    for r in range(lengths.shape[0]):
        longest = max(longest, lengths[r])
    longest += extra
    dense = indptr.shape[0] == 0 and not ragged
    columns, most = n_experts * dim * (2 if summed and (mixed or dense) else 1), 0
    if ragged:
        most = min(most_touched(indptr, width, order, lengths) + 3 + dim, Theta.shape[0])
    raw, move = np.empty(longest * columns), np.empty((2 if summed else 1) * n_experts * dim)
    raws, theta, g = raw.reshape((longest, columns)), np.empty(raw.size), np.empty(raw.size)
    y, losses, v = np.empty(longest * dim), np.empty(columns), np.empty(columns)
    s = np.empty(n_experts)
    bounds, room = np.zeros(2), np.empty(options[LoopOption.ROOM])
    packed = np.empty((longest if ragged else 0, n_experts * dim))
    G, touched = np.empty((most, n_experts * dim)), np.empty(most, dtype=np.int64)
    length, scored, offset, truths, count = dim, 1, 0, 0, 0
    shortest_sq, longest_sq = SHORTEST_ROW * SHORTEST_ROW, LONGEST_ROW * LONGEST_ROW
    state = totals if mixed else vectors[0]
    clear(move)
    if not ragged:
        place = order[0]
        bounds[0] = move_and_score(*rows, place, place, Theta, state, move, 0.0, weight[0], raw)
    for r in range(n):
        w = weight[r]
        if ragged:
            length = lengths[r]
            scored, w = length + extra, usual_weight(w, length, terms[r, 2], numbers)
            prepare(*rows, order[r], length, Theta, options, terms[r], room, raws, bounds)
        elif not in_range(bounds[0], shortest_sq, longest_sq):
            return r
        n_scores = scored * dim
        if not score_experts(learned, scales, raws, bounds, w, dim, n_scores, theta, s) < np.inf:
            return r
        for k in range(length):
            y[k] = truth[truths + k]
        omega_r = omega[r] if omega.shape[0] > 0 else 0.0
        size_r = sizes[r] if sizes.shape[0] > 0 else 0
        judge_experts(
            kernels[1], learned, constants, results, size_r, y[:length], omega_r, w, n_scores,
            theta, g, losses, v, offset, r,
        )  # fmt: skip
        if ragged:
            pack(g, n_scores, dim, packed)
            count = gather(*rows, order[r], packed[:scored], options, slot, touched, G)
            for i in range(2):
                numbers[i] = max(numbers[i], w * bounds[i])
        step_experts(
            learned, steps, raws, bounds, w, dim, dense, ragged, n_scores, g, G, count, s, move
        )
        if ragged:
            for t in range(count):
                move_columns(Theta, touched[t], move, G, t)
        else:
            after = min(r + 1, n - 1)
            u, coming = 1.0 if w > 0.0 else 0.0, order[after]
            bounds[0] = move_and_score(
                *rows, order[r], coming, Theta, state, move, u, weight[after], raw
            )
        for e in range(n_experts):
            renew_expert(vectors[e], Theta, dim, dense, e)
        offset += n_scores
        truths += length
    return -1


@kernel(fastmath=FASTMATH)
def scaled(raw, s, theta):
    """Scores θ = s raw; the sum of their sizes."""
    size = 0.0
    for k in range(raw.shape[0]):
        theta[k] = s * raw[k]
        size += abs(theta[k])
    return size


@kernel(fastmath=FASTMATH)
def inner_and_square(g, raw):
    """<g, raw> and ‖g‖²."""
    inner, square = 0.0, 0.0
    for k in range(g.shape[0]):
        inner += g[k] * raw[k]
        square += g[k] * g[k]
    return inner, square


@kernel(signature=LOOP_TYPE.signature, worth=4e6)
def learn_rows(  # the hot loop
    rows, rounds, learned, constants, results, kernels, scales, steps
):
    """`learn_rounds` for one optimizer and rounds of one row each.

    Terms of the average of dense rows wait. Losses may have scratch for each round.
    """
    data, indices, indptr, width = rows
    order, truth, weight = rounds[0], rounds[2], rounds[3]
    Theta, A_start, summed, vectors, _, _, _, _, _, _, _, _ = learned
    (params, options), (work, scores, _, _) = constants, results
    move_and_score, loss = as_move_and_score(kernels[0]), as_loss(kernels[1])
    scale, step = as_scale(scales[0]), as_step(steps[0])
    n, dim, vector = weight.shape[0], options[LoopOption.DIM], vectors[0]
    A, scratch = Theta[A_start:], work[0]
    dense = indptr.shape[0] == 0
    waiting, is_fused, turns = summed and dense, summed and not dense, work.shape[0] > 1
    raw, theta, y = np.empty(dim), np.empty(dim), np.empty(dim)
    waits = np.empty((WAITING_ROWS, dim))
    move, start, stopped, offset = np.empty(2 * dim if is_fused else dim), 0, -1, 0
    g, none, n_experts = move[:dim], int64(0), int64(1)  # literals have copies of functions
    shortest_sq, longest_sq = SHORTEST_ROW * SHORTEST_ROW, LONGEST_ROW * LONGEST_ROW
    clear(move)
    x_sq = move_and_score(
        data, indices, indptr, width, order[0], order[0], Theta, vector, move, 0.0, weight[0], raw
    )
    for r in range(n):
        w = weight[r]
        if not in_range(x_sq, shortest_sq, longest_sq):
            stopped = r
            break
        s = scale(vector, x_sq, w)
        share = share_of(vector, w)
        size = abs(vector[LoopState.SCALED_WEIGHT_SUM] + share * s) + scaled(raw, s, theta)
        if not size < np.inf:
            stopped = r
            break
        for k in range(dim):
            y[k] = truth[offset + k]
        if turns:
            loss(theta, y, g, params, work[r])
        else:
            loss(theta, y, g, params, scratch)
        if scores.shape[0] > 0:
            for k in range(dim):
                scores[offset + k] = theta[k]
        inner, square = inner_and_square(g, raw)
        count_round(vector, s, w, share)
        u = step(vector, inner, square * x_sq, x_sq, w)
        if vector[LoopState.RESCALE] != 1.0 or (summed and vector[LoopState.FLUSH] > 0.0):
            if waiting:
                add_dense_rows(data, width, order[start:r], waits, A)
                start = r
            fold_expert(Theta, dim, dense, summed, none, n_experts, vector)
        if summed:
            played = vector[LoopState.SCALED_WEIGHT_SUM]
            for k in range(dim):
                if is_fused:
                    move[dim + k] = -played * g[k]
                else:
                    waits[r - start, k] = -u * played * g[k]
        if waiting and r + 1 - start == WAITING_ROWS:
            add_dense_rows(data, width, order[start : r + 1], waits, A)
            start = r + 1
        after = min(r + 1, n - 1)
        x_sq = move_and_score(
            data, indices, indptr, width, order[r], order[after], Theta, vector, move,
            u if w > 0.0 else 0.0, weight[after], raw,
        )  # fmt: skip
        renew_expert(vector, Theta, dim, dense, none)
        offset += dim
    if waiting:
        add_dense_rows(data, width, order[start : n if stopped < 0 else stopped], waits, A)
    return stopped


#: What is left out of the arguments of a loop.
NO_FLOATS = np.empty(0)


def single_row_rounds(
    order: Array, truth: Floats, weight: Floats, omega: Floats = NO_FLOATS
) -> Any:
    """Rounds of one row each, in the form of loops; truths are (n, dim)."""
    none = np.empty(0, dtype=np.int64)
    return order, none, truth.reshape(-1), weight, omega, np.empty((0, 2)), none


class Kernels:
    """Functions of a loop, the first of `FUNCTION_TYPES`, and those that its experts step by.

    If any is a Python function, loops are never compiled. With `several` experts, or rounds of
    several rows, the loop is `learn_rounds`.
    """

    def __init__(self, kernels: Any, experts: Any, several: bool = False) -> None:
        scales = [expert.scale_kernel for expert in experts]
        steps = [expert.step_kernel for expert in experts]
        self.functions: Any = (*kernels, *[None] * (4 - len(kernels))), scales, steps
        self.loop: Any = learn_rounds if several else learn_rows
        functions = [self.loop, *filter(None, kernels), *scales, *steps]
        self.in_python = not all(map(is_kernel, functions))

    @functools.cached_property
    def addresses(self) -> Any:
        """`functions`, compiled, as loops get them."""
        kernels, scales, steps = self.functions
        typed = zip(kernels, FUNCTION_TYPES[:4], strict=True)
        return (
            tuple([address(f, kind) if f else 0 for f, kind in typed]),
            np.array([address(f, FUNCTION_TYPES.scale) for f in scales]),
            np.array([address(f, FUNCTION_TYPES.step) for f in steps]),
        )

    @functools.cached_property
    def interpreted_functions(self) -> Any:
        """`functions`, interpreted."""
        return tuple([[interpreted(f) for f in functions] for functions in self.functions])

    def form_of(self, loop: Any, steps: float = 0.0) -> Any:
        """The form of a loop to call with so many steps, and the functions to hand it."""
        if self.in_python:
            return in_python(loop), self.functions
        if loop.is_warm or loop.compiles(steps):
            return loop.dispatcher, self.addresses
        return loop.interpret, self.interpreted_functions

    def _steps_of(self, rows: Rows, rounds: Any, state: LinearState) -> float:
        """Interpreted steps of rounds: products of weights, losses, and what each row takes."""
        n = rounds[1].sum() if len(rounds[1]) else len(rounds[3])
        losses = STEPS_PER_ROW * n + count_steps(self.functions[0][1]) * len(rounds[2])
        products = rows.width * state.matrix.shape[0]
        if rows.is_sparse:  # each entry moves and adds a slice of weights
            products = 8.0 * len(rows.data) / max(rows.n_rows, 1)
        return len(state.vectors) * losses + n * products * count_steps(self.functions[0][0])

    @property
    def block_size(self) -> int:
        """Rows to learn at a time."""
        return 64 if self.in_python or not self.loop.compiles() else LOOP_BLOCK

    def call_of(self, rows: Rows, rounds: Any, state: LinearState, *arguments: Any) -> Call:
        """The `Call` of the loop: its arguments are those of `learn_rounds` without functions."""
        is_decided = self.in_python or self.loop.is_warm
        steps = 0.0 if is_decided else self._steps_of(rows, rounds, state)
        form, functions = self.form_of(self.loop, steps)
        return form, rows[:4], rounds, state.learned, *arguments, *functions

    def call_ahead(
        self, rows: Rows, rounds: Any, state: LinearState, played: Any, *arguments: Any
    ) -> Call:
        """The `Call` of `ahead`; `played` are its rows and whether averages play them."""
        form, functions = self.form_of(ahead, self._steps_of(rows, rounds, state))
        if self.in_python:
            loop = in_python(self.loop)
        elif functions is self.interpreted_functions:
            loop = interpreted(self.loop)
        else:
            loop = address(self.loop, LOOP_TYPE)
        return form, loop, rows.arrays, *played, rounds, state.learned, *arguments, *functions


@kernel
def without_averages(shares, n_experts, out):
    """Weights (groups, R, N) of experts that are not averages, the first `n_experts`, to sum 1."""
    out[:] = 0.0
    for group in range(shares.shape[0]):
        total = 0.0
        for r in range(shares.shape[1]):
            for e in range(n_experts):
                total += shares[group, r, e]
        for r in range(shares.shape[1]):
            for e in range(n_experts):
                out[group, r, e] = shares[group, r, e] / (total if total > 0.0 else 1.0)


@also_interpreted
def play_raw(learned, scales, raws, averaged, theta, means, out):
    """Scores `out` (dim,) that are played at raw ones (1, 2 E dim), by the averages or the last.

    The round has weight 0; theta and means (2 E, dim) are scratch.
    """
    summed, vectors, shares, rates, totals, sums, kind, bound_indices, numbers, slot = learned[2:]
    n_experts, dim = vectors.shape[0], out.shape[0]
    vectors_copy, s, v = np.empty_like(vectors), np.empty(n_experts), np.empty(shares.shape[2])
    for e in range(n_experts):  # optimizers may note what they see in them
        copy_into(vectors_copy[e], vectors[e])
    mixed_as = min(kind, MixtureKind.SCORES)  # averages of one expert are scored here too
    mixing_state = (shares, rates, totals, sums, mixed_as, bound_indices, numbers, slot)
    held = (learned[0], learned[1], summed, vectors_copy, *mixing_state)
    score_experts(held, scales, raws, np.zeros(2), 0.0, dim, dim, theta.reshape(-1), s)
    if kind == MixtureKind.ALONE:
        copy_into(out, theta[1 if averaged and summed else 0])
        return
    if kind < MixtureKind.SCORES:
        means_of(kind, theta, means)
    if summed and not averaged:
        by_last = np.empty_like(shares)
        without_averages(shares, n_experts, by_last)
        mix(kind, by_last, theta, means, v, out)
    else:
        mix(kind, shares, theta, means, v, out)


@kernel(
    signature=int64(int64, READ_ROWS, READ_VECTOR, types.boolean, *LOOP_TYPE.signature.args[1:]),
    worth=4e6,
)
def ahead(
    loop, rows, prior_data, averaged, rounds, learned, constants, results, kernels, scales, steps
):
    """Score each row of `prior_data` as predictions are, and then have the loop learn it alone."""
    _, indices, indptr, width = rows
    order, lengths, truth, weight, omega, terms, sizes = rounds
    Theta, summed, vectors, options = learned[0], learned[2], learned[3], constants[1]
    learn, (work, scores, none, _) = as_loop(loop), results
    dim, n_models = options[LoopOption.DIM], vectors.shape[0] * (2 if summed else 1)
    raws = np.empty((1, n_models * dim))
    theta, means = np.empty((n_models, dim)), np.empty((n_models, dim))
    for r in range(weight.shape[0]):
        span = slice(r, r + 1)
        scores_of_row(prior_data, indices, indptr, width, order[r], Theta, raws[0])
        play_raw(learned, scales, raws, averaged, theta, means, scores[r * dim : (r + 1) * dim])
        label = truth[r * dim : (r + 1) * dim]
        single_round = (order[span], lengths, label, weight[span], omega[span], terms, sizes)
        nothing = (work, none, none, none)
        if learn(rows, single_round, learned, constants, nothing, kernels, scales, steps) >= 0:
            return r
    return -1
