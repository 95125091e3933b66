"""What a linear learner of items learns: one weight for each of their features."""

import math
from enum import IntEnum
from typing import Any

import numpy as np

from skstructured._base.ragged import Ragged
from skstructured._engine.compiled import FASTMATH, kernel, plain_integers
from skstructured._engine.rows import Rows
from skstructured._engine.standardize import Counted
from skstructured._engine.state import LoopOption, clear, renamed
from skstructured._learners.batch_scaling import scale_of
from skstructured.extend._types import Floats, Ints
from skstructured.extend.learner import Batch
from skstructured.optimizers import GradientDescent
from skstructured.optimizers.step_mixture import RelativeStep
from skstructured.regularizers import RESIDUAL_TOL, find_oracle
from skstructured.sequences._model import add_position, add_scaled, gather_sparse, row_product
from skstructured.sequences._ragged import RoundKind

#: Items of a round, at most, whose products are all computed.
MAX_COMPARED_ITEMS = 64


#: Places in the options of the loop: whether there is an intercept, and whether rows may be
#: centered in each round, because a number added to all scores changes nothing.
ItemOption = plain_integers(IntEnum("ItemOption", "INTERCEPT CENTERED", start=len(LoopOption)))


@kernel
def item_matrix(data, width, first, M):
    """The M dense rows from `first`, as a matrix."""
    return data[first * width : (first + M) * width].reshape((M, width))


@kernel(fastmath=FASTMATH)
def less_first(data, width, places, offsets, out):
    """Dense rows of each round less its first; 0 if they are the same up to rounding.

    Features that all items share are then exactly 0, however large they are.
    """
    rounding = 1e-13  # of the features that differ
    for r in range(offsets.shape[0] - 1):
        first = data[places[offsets[r]] * width :]
        for m in range(offsets[r], offsets[r + 1]):
            row, apart, size = data[places[m] * width :], 0.0, 0.0
            for j in range(width):
                difference = row[j] - first[j]
                out[m, j] = difference
                apart += difference * difference
                size += row[j] * row[j]
            if apart <= rounding * rounding * size:
                size = 0.0  # without shared features
                for j in range(width):
                    size += row[j] * row[j] if out[m, j] != 0.0 else 0.0
                if apart <= rounding * rounding * size:
                    clear(out[m])


@kernel
def sparse_distance(data, indices, indptr, row, other):
    """‖x − z‖² of two CSR rows, whose columns are sorted: features that both have leave nothing."""
    s, t, total, behind = indptr[row], indptr[other], 0.0, np.iinfo(np.int64).max
    while s < indptr[row + 1] or t < indptr[other + 1]:
        left = indices[s] if s < indptr[row + 1] else behind
        right = indices[t] if t < indptr[other + 1] else behind
        difference = data[s] if left <= right else 0.0
        difference -= data[t] if right <= left else 0.0
        total += difference * difference
        s += left <= right
        t += right <= left
    return total


@kernel
def item_products(data, indices, indptr, width, first, M, centered, K):
    """K (M, M) = XXᵀ of the items; −½ their squared distances if CSR rows are `centered`.

    Both are the same when they are centered, but distances are exact when items are far from 0.
    """
    if indptr.shape[0] == 0:
        X = item_matrix(data, width, first, M)
        np.dot(X, X.T, K)
        return
    for a in range(M):
        for b in range(a + 1):
            if centered > 0:
                both = -0.5 * sparse_distance(data, indices, indptr, first + a, first + b)
            else:
                both = row_product(data, indices, indptr, width, first + a, first + b)
            K[a, b] = both
            K[b, a] = both


@kernel
def center_products(K, M, means):
    """K ← (I − J) K (I − J), J the mean over the items."""
    total = 0.0
    for a in range(M):
        mean = 0.0
        for b in range(M):
            mean += K[a, b]
        means[a] = mean / M
        total += mean / M
    total /= M
    for a in range(M):
        for b in range(M):
            K[a, b] += total - means[a] - means[b]


@kernel(fastmath=FASTMATH)
def _square(K, M, L):
    """L = K² of a symmetric K, the trace of K² returned."""
    trace = 0.0
    for a in range(M):
        for b in range(a + 1):
            both = 0.0
            for c in range(M):
                both += K[a, c] * K[b, c]
            L[a, b] = both
            L[b, a] = both
        trace += L[a, a]
    return trace


@kernel
def total_squares(data, indices, indptr, width, first, M, intercept, centered, mean):
    """``Σ‖x_i‖²``; if `centered`, of dense rows less ``M‖x̄‖²``, CSR ones by the first."""
    total, apart, is_sparse = 0.0, 0.0, indptr.shape[0] > 0
    for m in range(M):
        total += row_product(data, indices, indptr, width, first + m, first + m) + intercept
        if centered > 0 and is_sparse:
            apart += sparse_distance(data, indices, indptr, first + m, first)
    if centered <= 0:
        return total
    if is_sparse:
        return min(total, apart)
    X, off = item_matrix(data, width, first, M), 0.0
    mean[0] = 0.0
    for m in range(M):
        add_scaled(mean, 0, 1.0 / M, X, m)
    for j in range(width):
        off += mean[0, j] * mean[0, j]
    return total - M * off + 1e-15 * M * total


@kernel
def largest_eigenvalue(data, indices, indptr, width, first, M, intercept, centered, both, mean):
    """An upper bound on ``λ_max(XXᵀ)``, of the rows less their mean if they are `centered`.

    0 if rows are the same. For at most 64 items ``(tr K⁸)^{1/8}``, K their products, which is at
    most ``M^{1/8}`` too large; for more, the trace. Dense rows are those of `less_first`.
    """
    if M > MAX_COMPARED_ITEMS:
        return total_squares(data, indices, indptr, width, first, M, intercept, centered, mean)
    K, L = both[0, : M * M].reshape((M, M)), both[1, : M * M].reshape((M, M))
    item_products(data, indices, indptr, width, first, M, centered, K)
    largest = 0.0
    for a in range(M):
        for b in range(M):
            K[a, b] += intercept
            largest = max(largest, abs(K[a, b]))
    if largest == 0.0:
        return 0.0
    for a in range(M):
        for b in range(M):
            K[a, b] /= largest
    if centered > 0:
        center_products(K, M, L[0])
    _square(K, M, L)
    trace = _square(L, M, K)
    power = 4.0
    if trace > 0.0:
        trace, power = max(_square(K, M, L), 0.0), 8.0
    # What rounding may have taken off.
    return largest * (math.pow(trace, 1.0 / power) + 1e-14 * M)


@kernel(fastmath=FASTMATH)
def score_columns(X, Theta, raw):
    """Raw = XΘ of the first columns of Θ."""
    for m in range(X.shape[0]):
        for c in range(raw.shape[1]):
            total = 0.0
            for j in range(X.shape[1]):
                total += X[m, j] * Theta[j, c]
            raw[m, c] = total


@kernel
def prepare_items(data, indices, indptr, width, first, M, Theta, options, terms, room, raw, bounds):
    """Raw (M, .) = XΘ of the items from the row `first`; bounds on ‖Xᵀg‖² and C²/λ.

    `terms` are D² and 1/λ of the round, which `λ_max(XXᵀ)` is multiplied by.
    """
    intercept, centered = options[ItemOption.INTERCEPT], options[ItemOption.CENTERED]
    squares = MAX_COMPARED_ITEMS * MAX_COMPARED_ITEMS
    both, mean = room[: 2 * squares].reshape((2, squares)), room[2 * squares :].reshape((1, -1))
    place = (data, indices, indptr, width, first, M, intercept)
    largest = largest_eigenvalue(*place, centered, both, mean)
    bounds[0], bounds[1] = largest * terms[0], largest * terms[1]
    dense = indptr.shape[0] == 0
    if dense and raw.shape[1] == Theta.shape[1]:
        np.dot(item_matrix(data, width, first, M), Theta[:width], raw[:M])
    elif dense:
        score_columns(item_matrix(data, width, first, M), Theta, raw)
    for m in range(M):
        if not dense:
            clear(raw[m])
            add_position(data, indices, indptr, width, first + m, Theta, raw, m)
        if intercept > 0:
            for c in range(raw.shape[1]):
                raw[m, c] += Theta[width, c]


@kernel
def gather_items(data, indices, indptr, width, first, g, options, slot, touched, G):
    """G = Xᵀ g, its rows those of the features `touched`; how many these are."""
    M, count, sparse = g.shape[0], 0, indptr.shape[0] > 0
    if sparse:
        count = gather_sparse(data, indices, indptr, first, g, slot, touched, G)
        for t in range(count):
            slot[touched[t]] = -1
    else:
        np.dot(item_matrix(data, width, first, M).T, g, G[:width])
        for j in range(width):
            touched[j] = j
        count = width
    if options[ItemOption.INTERCEPT] > 0:
        touched[count] = width
        clear(G[count])
        for m in range(M):
            add_scaled(G, count, 1.0, g, m)
        count += 1
    return count


class MappedRounds:
    """The scale of ``ListwiseRanker(kernel="rbf")``, which older versions had."""

    def __setstate__(self, state: Any) -> None:
        raise ValueError('ListwiseRanker(kernel="rbf") is not supported any more: fit it again.')


class ItemRounds(RoundKind):
    """Rounds of items: Θ has rows of features and the intercept, with one weight each."""

    names = "items", "round"
    left_at_most = RESIDUAL_TOL
    by_ratio = (GradientDescent, RelativeStep)

    def __init__(self, steps: Any, centered: bool) -> None:
        self.steps, self.centered = steps, centered

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Read a saved object."""
        vars(self).update(renamed(state))

    def new_scale(self, learner: Any) -> Any:
        centered = learner.fit_intercept_ or self.centered
        columns = learner.n_features_in_ if self.steps is None else len(self.steps)
        scale = scale_of(learner, columns, centered)
        return scale if self.steps is None else scale.without_edges()  # steps are indicators

    def constants(self, model: Any) -> tuple[Floats, Ints]:
        space, regularizer = model.loss.space.space, model.loss.regularizer
        is_iterative = find_oracle(space, regularizer).iterative
        options = np.zeros(ItemOption.CENTERED + 1, np.int64)
        options[[LoopOption.DIM, LoopOption.INNER, LoopOption.FRESH]] = 1, 1, is_iterative
        options[LoopOption.ROOM] = 2 * MAX_COMPARED_ITEMS**2 + model.width
        options[[ItemOption.INTERCEPT, ItemOption.CENTERED]] = model.intercept, self.centered
        return regularizer.kernel_params(), options

    def kernels(self, loss: Any) -> Any:
        return loss.kernel, prepare_items, gather_items

    def numbers(self, model: Any, record: int) -> int:
        return 0 if self.steps is None else model.width

    def rows(self, rows: Rows, places: Ints) -> tuple[Rows, Ints]:
        if self.steps is None:
            return rows, places
        return self.steps.rows(rows.matrix[places]), np.arange(len(places))

    def counted(
        self, scale: Any, rows: Rows, places: Ints, weight: Floats, offsets: Ints
    ) -> Counted:
        scale.offsets = offsets
        pending = super().counted(scale, rows, places, weight, offsets)
        ready = pending.rows
        if not self.centered or ready.is_sparse:
            return pending
        out = np.empty((len(places), ready.width))
        less_first(ready.data, ready.width, pending.places, offsets, out)
        return pending._replace(rows=Rows.from_array(out), places=np.arange(len(places)))

    def terms(self, loss: Any, truth: Ragged, by_ratio: bool) -> tuple[Floats, Floats, Ints]:
        """Gradients grow with √M D, C²/λ with M/λ."""
        lengths = truth.lengths
        spread, flat, sizes = loss.sizes_of(lengths).T
        reach = lengths * flat if by_ratio else np.sqrt(lengths * spread)
        return loss.omegas(truth), np.column_stack([spread, flat, reach]), sizes.astype(np.int64)

    def played(self, loss: Any, truth: Ragged, results: tuple[Floats, ...]) -> tuple[Any, ...]:
        return Ragged(results[0], truth.offsets), truth

    def weights(self, model: Any, W: Floats) -> Floats:
        if model.intercept or not model.scale.centered:
            return model.scale.fold(W)
        return model.scale.fold(np.hstack([W, [[0.0]]]))[:, :-1]

    def scores(self, model: Any, batch: Batch, W: Floats) -> Any:
        rows, w, width = batch.rows, W[0], model.width
        row_blocks = [rows] if self.steps is None else self.steps.blocks(rows)
        theta = np.concatenate(
            [np.asarray(model.scale.imputed(block).matrix @ w[:width]) for block in row_blocks]
        )
        offsets: Any = batch.offsets
        return Ragged(theta + w[width] if model.intercept else theta, offsets)
