"""The state of a linear learner: W = s Θ, the sums behind Θ, and a vector of numbers."""

import threading
from _thread import allocate_lock, start_new_thread
from enum import IntEnum
from itertools import starmap
from operator import call
from typing import Any, NoReturn, Self, TypeAlias

import numpy as np

from skstructured._engine.compiled import FASTMATH, Kernel, kernel, plain_integers
from skstructured._engine.types import Array, Floats

#: A function and its arguments.
Call: TypeAlias = tuple[Any, ...]


def at_once(*calls: Call) -> list[Any]:
    """Make calls that no signal handler interrupts; return their results.

    Handlers run between two instructions of Python in the main thread, and here all calls are one
    instruction. Kernels that are still interpreted are called in another thread meanwhile.
    """
    ready, is_interpreted = [], False
    for function, *args in calls:
        form = function.form_for(args) if isinstance(function, Kernel) else function
        is_interpreted |= isinstance(getattr(form, "__self__", None), Kernel)
        ready.append((form, *args))
    if is_interpreted and threading.current_thread() is threading.main_thread():
        return _in_another_thread(ready)
    return list(starmap(call, ready))


def _in_another_thread(calls: Any) -> list[Any]:
    """`at_once`; an error of a handler that runs meanwhile is raised when the calls are done."""
    done, results, errors, started = allocate_lock(), [], [], []  # type: ignore[var-annotated]

    def make_calls() -> None:
        try:
            results.append(list(starmap(call, calls)))
        except BaseException as error:
            errors.append(error)
        finally:
            done.release()

    done.acquire()
    while done.locked() or not started:
        start = [] if started else [(start_new_thread, make_calls, ()), (started.append, True)]
        try:
            list(starmap(call, [*start, (done.acquire,), (done.release,)]))
        except BaseException as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return results[0]  # type: ignore[no-any-return]


@plain_integers
class LoopState(IntEnum):
    """Entries of every optimizer's vector that belong to the loop."""

    # A factor to be multiplied into Θ, 1 for none; Σ v s over the rounds since the last such sweep
    # and Σ v over all, v their shares in the average; whether the sum of the weights must be
    # brought up to date before Θ moves; Σ w; and whether shares are w t³ instead of w.
    RESCALE, SCALED_WEIGHT_SUM, WEIGHT_SUM, FLUSH, CLOCK, DECAYS = range(6)
    # Rounds since ‖Θ‖² was summed again, its position (0 if it is not kept), and rounds learned.
    RENEWED, NORM_AT, ROUNDS = range(6, 9)


#: The position at which an optimizer's own entries begin.
OWN = len(LoopState)

#: Rounds after which ‖Θ‖² is summed again: its recursion loses a few last digits in each.
RENEWAL_ROUNDS = 1 << 16

#: The s below which the loop is asked to multiply it into Θ: once in many rounds.
SMALLEST_SCALE = 2.0**-10


@plain_integers
class LoopOption(IntEnum):
    """Positions in the options of a loop; those behind are read by `prepare` and `gather`."""

    # Scores of a row; whether the loop adds Ω(y) − <θ, y> to Ω*(θ); whether the loss's scratch
    # restarts in every round, and holds a residual; rows of scores that a round has in addition to
    # those of its rows; and numbers of scratch of `prepare`.
    DIM, INNER, FRESH, EXTRA, ROOM = range(5)


@plain_integers
class RoundSummary(IntEnum):
    """Positions in the numbers that a model keeps about its rounds."""

    # The largest w times each of the two bounds of a round, and residual of the loss's oracle.
    LARGEST_SQ, LARGEST_RATIO, LEFT = range(3)
    # Rounds, the mean of ln M of their lengths M, and the sum of squares around it; the largest
    # reach of those of usual length; and the weight left out.
    MET, MEAN_LOG, SPREAD_LOG, REACH, LEFT_OUT = range(3, 8)


@plain_integers
class MixtureKind(IntEnum):
    """Probabilities of classes are mixed, or of each label by itself, or scores; or one expert."""

    CLASSES, LABELS, SCORES, ALONE = range(4)


@plain_integers
class MixtureTotal(IntEnum):
    """Entries of the vector of totals; the last four if some experts read only a few features."""

    # Rounds that counted; the largest weight of a round, 1 at least; and Δ of `learn_losses`.
    ROUNDS, HEAVIEST, GAP = range(3)
    # Rows of Θ in one block of experts, rows of it before those of experts that read the first
    # features alone, how many features these are, and ‖z‖² of them in the row scored last.
    SUBSET_BLOCK, SUBSET_START, SUBSET_WIDTH, SUBSET_SQ = range(3, 7)


#: A rate of sharing below 0 stands for `thinning`.
THINNING = -1.0

#: Bytes in a cache line.
CACHE_LINE = 64


def new_state(entries: int, norm_at: int = 0) -> Floats:
    """Make the state vector of an optimizer.

    Parameters
    ----------
    entries : int
        The number of the optimizer's own entries; they are zero, and begin at `OWN`.
    norm_at : int, default=0
        The position of ‖Θ‖², if the optimizer keeps it; it is then summed again from time to time.

    Returns
    -------
    ndarray of shape (OWN + entries,)

    See Also
    --------
    OnlineOptimizer : The interface of optimizers.
    kernel : Compile a function.
    """
    vector = np.zeros(OWN + entries)
    vector[LoopState.RESCALE], vector[LoopState.NORM_AT] = 1.0, norm_at
    return vector


@kernel
def share_of(vector, weight):
    """The share of the coming round of weight w in the average: w, or w t³ with t = Σ w."""
    if vector[LoopState.DECAYS] == 0.0:
        return weight
    clock = vector[LoopState.CLOCK] + weight
    return weight * clock * clock * clock


@kernel
def count_round(vector, s, weight, share):
    """Σ v s, Σ v and Σ w grow by a round, and so does the number of rounds."""
    vector[LoopState.SCALED_WEIGHT_SUM] += share * s
    vector[LoopState.WEIGHT_SUM] += share
    vector[LoopState.CLOCK] += weight
    vector[LoopState.ROUNDS] += 1.0


@kernel
def flush_if_grown(vector, norm_sq, flushed):
    """Request an update of the sum of the weights if the norm is 16 times that in `flushed`.

    Θ grows as s falls, so the two terms of the sum would cancel.
    """
    if norm_sq > 256.0 * vector[flushed]:
        vector[LoopState.FLUSH] = 1.0 if vector[flushed] > 0.0 else vector[LoopState.FLUSH]
        vector[flushed] = norm_sq


def raise_frozen() -> NoReturn:
    """The RuntimeError of an average of shards, which does not have the state of an optimizer."""
    raise RuntimeError(
        "Averaged models (average_fitted) cannot be trained further: train the estimators of the "
        "shards and average them again, or call fit, which restarts."
    )


#: Names of attributes today, by those that older versions have saved.
NAMES = {"centre": "center", "centred": "centered", "_kind": "kind"}
NAMES |= {"_intercept": "fit_intercept_", "_model": "model_"}


def renamed(state: dict[str, Any]) -> dict[str, Any]:
    """The state of a saved object, under the names that its attributes have today."""
    return {NAMES.get(name, name): value for name, value in state.items()}


class State:
    """Base of objects that hold learned arrays; see `skstructured._base.validation.writable`."""

    def copy(self) -> Self:
        """An independent copy, with copies of the arrays and of the parts that learn."""
        twin = object.__new__(type(self))
        vars(twin).update({name: own(value) for name, value in vars(self).items()})
        return twin

    #: Whether an optimizer can go on from this state.
    moves = True

    def check_can_learn(self) -> None:
        """Raise a RuntimeError if a learner cannot continue from this state."""
        if not self.moves:
            raise_frozen()


def is_learned(name: str) -> bool:
    """Whether the attribute of an estimator with this name has arrays that rounds change."""
    return name[0] == "_" or name == "model_"


def own(value: Any) -> Any:
    """A copy of an array, or of an object with arrays; other values unchanged."""
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        return type(value)(map(own, value))
    return value.copy() if isinstance(value, (np.ndarray, State)) else value


def aligned_zeros(shape: tuple[int, ...], allocate: Any = np.zeros) -> Floats:
    """Zeros that start at a cache line."""
    size, spare = int(np.prod(shape)), CACHE_LINE // 8
    array = allocate(size + spare)
    start = -(array.ctypes.data // 8) % spare
    return array[start : start + size].reshape(shape)


def aligned(array: Array) -> Array:
    """`array` itself if it is C-contiguous, owned and starts at a cache line, else such a copy."""
    if array.flags.c_contiguous and array.flags.writeable and array.ctypes.data % CACHE_LINE == 0:
        return array
    return aligned_copy(array)


def aligned_copy(array: Array) -> Array:
    """A C-contiguous copy that starts at a cache line."""
    copy = aligned_zeros(array.shape, np.empty)
    copy[...] = array
    return copy


class LinearState(State):
    """The state of E experts, one without a mixture: Θ of all, sums behind, and their weights.

    `vectors` (E, length) are made by `new_state`. Θ of an expert consists of ``blocks[0]`` arrays
    of shape (dim, width) and ``blocks[1]`` numbers per feature. If `summed`, the sums of the
    weights played are kept behind Θ; in a mixture their means are experts too.
    """

    def __init__(
        self,
        dim: int,
        width: int,
        vectors: Floats,
        blocks: tuple[int, int] = (1, 0),
        summed: bool = False,
        kind: int = MixtureKind.ALONE,
        rates: Floats | None = None,
    ) -> None:
        n_optimizers, self.Theta, self.by_feature = len(vectors), None, False
        self.vectors, self.summed, self.kind = vectors, summed, int(kind)
        self._own = n_optimizers * blocks[0] * dim + blocks[1]
        self._shape = (self._own + summed * n_optimizers * dim, width)
        self.n_experts = n_optimizers * (2 if summed and kind != MixtureKind.ALONE else 1)
        self.rates = np.array([THINNING]) if rates is None else rates
        groups = dim if kind == MixtureKind.LABELS else 1
        shape = groups, len(self.rates), self.n_experts
        self.shares = np.full(shape, 1.0 / (len(self.rates) * self.n_experts))
        self.totals, self.sums = np.array([0.0, 1.0, 0.0]), np.zeros(self.n_experts)
        #: Which of a round's two bounds each optimizer sees.
        self.which = np.zeros(n_optimizers, dtype=np.int64)
        self.heaviest, self.between = 1.0, 0.0
        #: A `RoundSummary`, and scratch of `gather`: an entry per row of Θ, −1 at first.
        self.numbers, self.slot = np.zeros(len(RoundSummary)), np.empty(0, dtype=np.int64)

    Theta: Any
    #: The largest weight of a round, 1 at least; and what ties added to bounds.
    heaviest, between = 1.0, 0.0
    #: Whether Θ was seen to start at a cache line; what was unpickled need not.
    placed = False

    def __getstate__(self) -> dict[str, Any]:
        """Without `placed`."""
        return {name: value for name, value in vars(self).items() if name != "placed"}

    @property
    def vector(self) -> Floats:
        """The vector of the first expert, which counts the rounds as all do."""
        return self.vectors[0]

    def store_for(self, by_feature: bool) -> None:
        """Allocate Θ, or transpose it, for CSR rows (`by_feature`) or dense ones."""
        is_same = by_feature == self.by_feature
        if self.placed and is_same:
            return
        if self.Theta is None:
            Theta = aligned_zeros(self._shape[::-1] if by_feature else self._shape)
        else:
            Theta = aligned(self.Theta if is_same else self.Theta.T)
        # No call stands between these assignments, so no signal handler runs there.
        self.Theta, self.by_feature, self.placed = Theta, by_feature, True

    @property
    def learned(self) -> tuple[Any, ...]:
        """The arrays that loops get, and change."""
        mixed = (self.shares, self.rates, self.totals, self.sums, self.kind)
        rounds = (self.which, self.numbers, self.slot)
        return self.Theta, self._own, self.summed, self.vectors, *mixed, *rounds

    @property
    def played(self) -> tuple[Any, ...]:
        """`learned` without the weights."""
        return self.learned[2:]

    @property
    def matrix(self) -> Array:
        """Θ and the sums behind it as for dense rows, in any storage; zeros before a row."""
        if self.Theta is None:
            return np.zeros(self._shape)
        return self.Theta.T if self.by_feature else self.Theta

    def parts(self, columns: Array | None = None) -> tuple[Array, Array]:
        """Θ and the sums behind it, views; copies of some columns, if Θ is stored by feature."""
        matrix = self.matrix if columns is None else self.Theta[columns].T
        return matrix[: self._own], matrix[self._own :]

    def copy(self) -> Self:
        """An independent copy."""
        twin, attributes = object.__new__(type(self)), vars(self).items()
        vars(twin).update({k: value if k == "Theta" else own(value) for k, value in attributes})
        if self.Theta is not None:
            twin.Theta = aligned_copy(self.Theta)
        return twin


@kernel
def move_towards(target, weights, n):
    """Move n convex weights to `target`, or until one of them is 0; whether it was reached."""
    step, worst = 1.0, -1
    for i in range(n):
        if target[i] <= 1e-14 and weights[i] > target[i]:
            limit = weights[i] / (weights[i] - target[i])
            if limit < step or worst < 0:
                step, worst = min(limit, step), i
    for i in range(n):
        weights[i] += step * (target[i] - weights[i])
    if worst >= 0:
        weights[worst] = 0.0
    return worst < 0


def _copy_array(target: Array, source: Array) -> None:
    target[:] = source[: len(target)]


@kernel(python=_copy_array)
def copy_into(target, source):
    """Set target to source: numba takes seconds to compile ``target[:] = source``."""
    for k in range(target.shape[0]):
        target[k] = source[k]


def _clear_array(target: Array) -> None:
    target[:] = 0.0


@kernel(python=_clear_array)
def clear(target):
    """Set target to 0, by a loop for the same reason."""
    for k in range(target.shape[0]):
        target[k] = 0.0


@kernel(inline=True)
def less(mean, truth):
    """Mean ← mean − truth: the last line of a function that has written a mean."""
    for k in range(mean.shape[0]):
        mean[k] -= truth[k]


def _add_array(target: Array, factor: float, row: Array) -> None:
    target += factor * row[: len(target)]


@kernel(fastmath=FASTMATH, python=_add_array)
def axpy(target, factor, row):
    """Add factor · row to target."""
    for k in range(target.shape[0]):
        target[k] += factor * row[k]


def _inner_arrays(x: Array, y: Array) -> Any:
    return x @ y[: len(x)]


@kernel(fastmath=FASTMATH, python=_inner_arrays)
def inner(x, y):
    """<x, y> by a loop: BLAS takes longer to compile, and to call for short rows."""
    total = 0.0
    for k in range(x.shape[0]):
        total += x[k] * y[k]
    return total
