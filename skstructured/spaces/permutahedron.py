"""Label rankings as rank vectors: the permutations of 1 … d, d = best."""

import itertools
import math
from typing import NamedTuple, Self

import numpy as np
from scipy.stats import rankdata
from sklearn.utils import check_array, check_random_state

from skstructured._engine.compiled import kernel
from skstructured._engine.state import copy_into, less
from skstructured.extend._types import Floats, Outputs, Seed
from skstructured.extend.output_space import Geometry, OutputSpace


class Numbering(NamedTuple):
    """How the items of a row are numbered, from `first` on, in the words of errors."""

    first: int
    convention: str
    mistake: str  # the likely one: an offset by one


RANK_NUMBERING = Numbering(
    1,
    "y[i, j] = rank of item j, a permutation of 1..d per row with d = best",
    "0-based. Which end is best? Ranks r with 0 = worst become r + 1; positions p with 0 = first "
    "become d − p (scikit-learn's cross_val_predict, for methods other than predict, renumbers "
    "from 0)",
)


def check_permutations(y, numbering, size=None):
    """Rows of y as int64 permutations of first … first+size−1; a ValueError names the row."""
    y = _rankings(y)
    gaps = np.argwhere(np.isnan(y)) if y.dtype.kind == "f" else ()
    if len(gaps):
        row, item = gaps[0]
        raise ValueError(
            f"Row {row} of y contains NaN for item {item}, but every row must rank all items "
            f"({numbering.convention}). Leave out rows that are not complete. The space "
            '"ranking" accepts ties, and NaN behind all ranked items.'
        )
    if y.dtype.kind not in "iuf" or np.any(y != np.rint(y)):
        values = y.ravel()[:10].tolist()
        raise ValueError(f"y must hold integers ({numbering.convention}), got {values}.")
    y = y.astype(np.int64)
    m = _check_width(y, size)
    wrong = (np.sort(y, axis=1) - numbering.first != np.arange(m)).any(axis=1)
    if wrong.any():
        _refuse(y, int(np.flatnonzero(wrong)[0]), numbering)
    return y


def _rankings(y):
    """Rankings as an array, NaN included; a ValueError for numbers that are not in rows."""
    y = check_array(y, dtype=None, ensure_2d=False, ensure_all_finite="allow-nan", input_name="y")
    if y.ndim != 2:
        raise ValueError(
            f"y must have a row for each ranking and a column for each item, got shape {y.shape}. "
            "To rank items that have features, by grades, use StructuredRanker with qid."
        )
    return y


def _check_width(y, size):
    m = y.shape[1]
    if m < 2:
        raise ValueError(f"y must rank at least two items (one column each), got {m} column.")
    if size is not None and m != size:
        raise ValueError(f"y must have {size} columns, one per item, as in training; got {m}.")
    return m


def _refuse(y, row, numbering):
    (first, convention, mistake), values, m = numbering, y[row], y.shape[1]
    ordered = np.sort(values)
    if (np.diff(ordered) == 0).any():
        reason = f"it has ties at {int(ordered[1:][np.diff(ordered) == 0][0])}"
    elif np.array_equal(ordered, np.arange(1 - first, 1 - first + m)):
        reason = f"it looks {mistake}"
    else:
        reason = "it has values outside that range"
    raise ValueError(
        f"Row {row} of y, {values[:10].tolist()}{' …' if m > 10 else ''}, is not a permutation of "
        f"{first}..{first + m - 1}: {reason}. Expected {convention}."
    )


def relevances(y):
    """How many items are behind each item in rankings y (n, m), an int64 array.

    y holds positions 0 … m−1, 0 = first, or ranks 1 … m, m = best.
    """
    y = np.asarray(y)
    first = int(y.size > 0 and y.min() > 0)
    convention = "positions 0..m-1 (0 = first) or ranks 1..m (m = best) in y"
    mistake = "like the other kind, and all rows must be of one"
    y = check_permutations(y, Numbering(first, convention, mistake))
    return y - 1 if first else y.shape[1] - 1 - y


def mean_ranks(y, size=None):
    """Rows of y as float64, NaN as the mean of the last ranks; a ValueError names the row.

    Tied items must have the mean of their ranks: y is then the mean over the orders of these.
    """
    y = _rankings(y)
    if y.dtype.kind not in "iuf":
        check_permutations(y, RANK_NUMBERING)
    _check_width(y, size)
    absent = np.isnan(y)
    ranks = rankdata(np.where(absent, -np.inf, y), axis=1)
    wrong = ((ranks != y) & ~absent).any(axis=1) | absent.all(axis=1)
    if wrong.any():
        _refuse_ranks(y, ranks, int(np.argmax(wrong)))
    return ranks


def _refuse_ranks(y, ranks, row):
    y_row = y[row]
    if np.isnan(y_row).all():
        raise ValueError(f"Row {row} of y ranks no item: all are NaN. Leave it out.")
    if len(np.unique(y_row)) == len(y_row) and not np.isnan(y_row).any():
        _refuse(y, row, RANK_NUMBERING)
    raise ValueError(
        f"Row {row} of y, {y_row[:10].tolist()}, must be {ranks[row, :10].tolist()} if its largest "
        "number is the best: tied items share the mean of their ranks, and items that are not "
        "ranked (NaN) are behind all others. For all rows this is "
        "scipy.stats.rankdata(np.nan_to_num(y, nan=-np.inf), axis=1)."
    )


def list_permutations(name, size):
    """All permutations (size!, size) of 0 … size−1; a ValueError for more than 8! of them."""
    if size > 8:
        raise ValueError(f"{size}! vertices are too many to list; at most {name} = 8 is supported.")
    return np.array(list(itertools.permutations(range(size))))


@kernel
def sort_descending(theta, order, spare):
    """Indices of theta, largest first, into `order`; stable bottom-up merge sort."""
    dim = theta.shape[0]
    run = 8
    for start in range(0, dim, run):
        for i in range(start, min(start + run, dim)):
            j = i
            while j > start and theta[int(order[j - 1])] < theta[i]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = i
    while run < dim:
        for start in range(0, dim, 2 * run):
            middle, stop = min(start + run, dim), min(start + 2 * run, dim)
            i, j = start, middle
            for k in range(start, stop):
                left = j >= stop or (i < middle and theta[int(order[i])] >= theta[int(order[j])])
                spare[k] = order[i] if left else order[j]
                i, j = (i + 1, j) if left else (i, j + 1)
        copy_into(order, spare)
        run *= 2


@kernel
def rank_vertex(theta, vertex):
    """The ranks of theta, ties to the first item."""
    dim = theta.shape[0]
    order = np.empty(dim)
    sort_descending(theta, order, np.empty(dim))
    for i in range(dim):
        vertex[int(order[i])] = dim - i


@kernel
def pool_ranks(s, out, base, total, size):
    """Project sorted scores: out = w̄_B + (s − s̄_B) over the blocks B of the isotonic fit of s − w.

    A block keeps its first score, the sum of s relative to it, and its size: scores within a block
    differ by less than d, so scores of any magnitude lose no digits. The last block stays in
    registers, takes as many scores as it can before it looks back, and divides only once.
    """
    dim, blocks, i = s.shape[0], 0, 1
    start, below, n = s[0], 0.0, 1.0
    while i < dim:
        gap = start - s[i]
        # The means of w = (d, …, 1) over two adjacent blocks differ by half their joint size.
        if gap * n + below >= 0.5 * n * (n + 1.0):
            base[blocks], total[blocks], size[blocks] = start, below, n
            blocks += 1
            start, below, n, i = s[i], 0.0, 1.0, i + 1
            continue
        while not gap * n + below >= 0.5 * n * (n + 1.0):
            below, n, i = below - gap, n + 1.0, i + 1
            if i == dim:
                break
            gap = start - s[i]
        while blocks > 0:
            gap, n_previous = base[blocks - 1] - start, size[blocks - 1]
            apart = gap * n_previous * n + total[blocks - 1] * n - below * n_previous
            if apart >= 0.5 * n_previous * n * (n_previous + n):
                break
            blocks -= 1
            below += total[blocks] - n * gap
            start, n = base[blocks], n_previous + n
    base[blocks], total[blocks], size[blocks] = start, below, n
    position = 0
    for b in range(blocks + 1):
        n = size[b]
        level, stop = dim - position - 0.5 * (n - 1.0) - total[b] / n, position + int(n)
        out[position] = level
        for k in range(position + 1, stop):
            out[k] = level + (s[k] - base[b])
        position = stop


@kernel
def rank_projection(theta, truth, mu, params, work):
    """∇ = μ − y, μ the projection of θ on the permutahedron; returns <θ,μ> − ½‖μ‖²."""
    dim = theta.shape[0]
    order, s, out = work[:dim], work[dim : 2 * dim], work[2 * dim : 3 * dim]
    sort_descending(theta, order, s)
    for i in range(dim):
        s[i] = theta[int(order[i])]
    base, total, size = work[3 * dim : 4 * dim], work[4 * dim : 5 * dim], work[5 * dim :]
    pool_ranks(s, out, base, total, size)
    value = 0.0
    for i in range(dim):
        mu[int(order[i])] = out[i]
        value += out[i] * (s[i] - 0.5 * out[i])
    less(mu, truth)
    return value


@kernel
def draw_ranks(mu, uniforms, drawn, work):
    """Draw a permutation with mean μ: at most d−1 random swaps (Hardy, Littlewood, Pólya).

    Moving surplus from an earlier to a later position is the T-transform (1−t) I + t Swap; the
    swaps, each made with its own probability t, carry w = (d, …, 1) to a vector with mean μ.
    """
    dim = mu.shape[0]
    order, w = work[:dim], work[dim : 2 * dim]
    value, stack = work[2 * dim : 3 * dim], work[3 * dim : 4 * dim]
    sort_descending(mu, order, w)
    top, used = 0, 0
    for k in range(dim):
        w[k] = value[k] = dim - k
    for k in range(dim):
        target = mu[int(order[k])]
        while top > 0 and target - w[k] > 1e-12 * dim:
            j = int(stack[top - 1])
            surplus = w[j] - mu[int(order[j])]
            move = min(surplus, target - w[k])
            if used < uniforms.shape[0] and uniforms[used] * (w[j] - w[k]) < move:
                value[j], value[k] = value[k], value[j]
            used += 1
            w[j] -= move
            w[k] += move
            if surplus - move <= 1e-12 * dim:
                top -= 1
        if w[k] - target > 1e-12 * dim:
            stack[top] = k
            top += 1
    for k in range(dim):
        drawn[int(order[k])] = value[k]


@kernel
def draw_rank_rows(mu, uniforms, drawn):
    """`draw_ranks` over the rows of mu."""
    work = np.empty(4 * mu.shape[1])
    for i in range(mu.shape[0]):
        draw_ranks(mu[i], uniforms[i], drawn[i], work)


class Permutahedron(OutputSpace):
    r"""Label rankings of d items as ranks 1 … d, d = best, with a normalized Spearman loss.

    ``y[i, j]`` is the rank of item j in row i, and the largest rank is the best. If 1 is the best
    in your data, pass ``d + 1 − y``: no data show which end is best. The target loss is
    ``<y − (d+1)/2, y − y'>/M``, ``M = d(d²−1)/6``: 0 for the true ranking, 1 for its reverse.
    Regularizer: `SquaredNorm`, whose ŷ_Ω(θ) is a projection by sorting and pooling in O(d log d)
    [1]_.

    Tied items have the mean of their ranks, as those of `scipy.stats.rankdata`, and NaN is an item
    that is not ranked, tied with all such items behind the others. The target loss is then the mean
    over the orders of tied items, minus its minimum: 0 for each of these orders.

    Attributes
    ----------
    dim_ : int
        Number d of items, at least 2.

    See Also
    --------
    Birkhoff : Permutations as positions, with 0 = first: positions p are the ranks d − p.
    skstructured.ListwiseRanker : Learning to rank items that have features.

    Notes
    -----
    The constant γ = √(3/(d(d²−1))) is tight: the loss only depends on the centered y [2]_. The
    sampler uses random swaps [3]_.

    Lemma 3.1 of [2]_ does not hold at ties. Near a tie the expected target loss is linear in
    ``‖μ − y‖``, and the surrogate loss S quadratic. It holds for the means of both losses over the
    orders v of the tied items. Those are the losses plus ``L(y; v)`` and ``c (Ω(v) − Ω(y))``. So
    every bound on the target loss adds ``c (Ω(v) − Ω(y)) − L(y; v)`` per round, times its weight.
    `certificate` includes the sum over all rounds, as ``constants["left_out"]``.

    References
    ----------
    .. [1] Blondel, Teboul, Berthet, Djolonga (2020). Fast differentiable sorting and ranking. ICML.

    .. [2] Sakaue, Bao, Tsuchiya, Oki (2024), appendix C; see `FenchelYoung`.

    .. [3] Hardy, Littlewood, Pólya (1929). Some simple inequalities satisfied by convex functions.
       Messenger of Mathematics.
    """

    constant_sum = has_ties = True
    instead_of_probabilities = (
        ' predict_mean returns the mean rank of each label. With space="assignment" each label has '
        "a probability per position."
    )

    def fit(self, y: Outputs) -> Self:
        """Learn the number of items from rank vectors (n, d); returns self."""
        self.dim_ = mean_ranks(y).shape[1]
        return self

    def encode(self, y: Outputs) -> Floats:
        """Rank vectors (n, d) as float64, NaN as a tie behind; a ValueError names a wrong row."""
        return mean_ranks(y, self._dimension())

    def decode(self, V: Floats) -> Outputs:
        """Rank vectors (n, d): integers, unless ties have the means of an even number of ranks."""
        ranks = super().decode(V)
        return ranks if np.array_equal(ranks, V) else np.rint(2.0 * np.asarray(V)) / 2.0

    def argmax(self, theta: Floats) -> Floats:
        """Ranks of the scores, ties to the first item (n, d)."""
        order = np.argsort(-np.asarray(theta, dtype=np.float64), axis=1, kind="stable")
        V = np.empty(order.shape)
        np.put_along_axis(V, order, np.arange(order.shape[1], 0, -1.0)[None], axis=1)
        return V

    def nearest(self, mu: Floats) -> Floats:
        """Nearest vertex in ℓ2: the ranks of μ (Prop. C.1), (n, d)."""
        return self.argmax(mu)

    def sample(self, mu: Floats, random_state: Seed = None) -> Floats:
        """Draw a permutation with mean μ by random swaps, in O(d log d) per row."""
        mu = np.ascontiguousarray(mu, dtype=np.float64)
        rng = check_random_state(random_state)
        drawn = np.empty_like(mu)
        draw_rank_rows(mu, rng.random_sample((len(mu), mu.shape[1] - 1)), drawn)
        return drawn

    def vertices(self) -> Floats:
        """All d! permutations; d ≤ 8."""
        return list_permutations("d", self._dimension()) + 1.0

    def expected_loss(self, mu: Floats, V: Floats) -> Floats:
        """Spearman loss <y, y − μ>/M, of shape (n,)."""
        d = np.shape(V)[1]
        return np.einsum("nd,nd->n", V - (d + 1) / 2.0, V - mu) * 6.0 / (d * (d**2 - 1))

    def geometry(self, norm: str, dim: int | None = None) -> Geometry:
        """ν, D, γ in ℓ2: √2, √(d(d²−1)/3), √(3/(d(d²−1))); in ℓ1: 2, ⌊d²/2⌋, 3/(d(d+1))."""
        d = self._dimension(dim)
        cube = d * (d**2 - 1)
        if norm == "l1":
            return Geometry(2.0, float(d**2 // 2), 3.0 / (d * (d + 1)))
        return Geometry(math.sqrt(2), math.sqrt(cube / 3), math.sqrt(3 / cube))
