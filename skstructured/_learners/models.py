"""Models behind the learners: weights that an optimizer updates, one row per round."""

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numba.core.errors import NumbaError

from skstructured._base.validation import (
    check_kernels,
    check_state,
    check_vertices,
    is_builtin,
    raise_bad_row,
    writable,
)
from skstructured._engine.move_and_score import dense_move_and_score_pairs, move_and_score_kernel
from skstructured._engine.one_row import (
    ROW_REFUSED,
    compiled_learn_row,
    compiled_play_row,
    play_rows_for,
)
from skstructured._engine.rounds import NO_FLOATS, STEPS_PER_ROW, Kernels, single_row_rounds
from skstructured._engine.rows import DOUBLE, Rows
from skstructured._engine.standardize import SINGLE_ROW, RunningScale
from skstructured._engine.state import (
    Call,
    LinearState,
    LoopOption,
    LoopState,
    MixtureKind,
    State,
    at_once,
    raise_frozen,
)
from skstructured._learners.batch_scaling import scale_of
from skstructured._learners.pass_selection import LINEAR_SEARCH
from skstructured._learners.weights import linear_scores
from skstructured.extend._types import Array, Floats, Ints, Kernel, Loss, Packed
from skstructured.extend.learner import Batch, Comparison
from skstructured.extend.optimizer import OnlineOptimizer
from skstructured.losses.fenchel_young import FenchelYoung
from skstructured.regularizers import RESIDUAL_TOL
from skstructured.spaces import hypercube, simplex

#: A function that is called with the result and the weights of every block, or None.
Note: TypeAlias = "Callable[[BlockResult, Floats], object] | None"


#: Rows that every model can learn at a time.
SMALLEST_BLOCK = 64


class Record(IntEnum):
    """What a block records of its rounds."""

    NOTHING = 0
    LOSSES = 1
    SCORES = 2  # that they were played with
    LAST = 3  # scores that `predict` would use just before each, by the last weights
    AVERAGE = 4  # the same, by the average


class BlockResult(NamedTuple):
    """Rounds of a block that was learned, up to the place `stopped` that stopped it, or −1."""

    stopped: int
    theta: Any  # scores (n, dim) or `Chains` that were played with; empty if not recorded
    truth: Any  # what they are compared with
    losses: tuple[Floats, Floats] | None = None  # from loops that know them without scores


def price_of_ties(loss: FenchelYoung, y: Floats) -> Floats:
    """What tied ranks y (n, d) add to bounds, (n,): ``c (Ω(v) − Ω(y)) − L(y; v)``, 0 without ties.

    The vertex v is an order of the tied items; see `Permutahedron`.
    """
    space: Any = loss.space
    v = space.nearest(y)
    return loss.constants_of().c * (loss.omega(v) - loss.omega(y)) - space.expected_loss(y, v)


class Model(State, ABC):
    """What is learned, and how a block of rounds moves it.

    The learner is fitted as far as `space_`, `loss_`, `optimizer_` and its width; it is not kept.
    Kernels move the `state`, `scale` standardizes rows, and the model may keep an average of the
    weights (`averaged`).
    """

    state: LinearState
    scale: RunningScale
    #: How numbers of passes are tried.
    search = LINEAR_SEARCH
    #: What scores of predictions are multiplied by; 1 but for kernels.
    factor = 1.0
    #: What it has in the place of kernels, and where its weights are then.
    without_kernels = "a linear kernel: use coef_ and intercept_"
    #: See `skstructured.extend.Model`: `learn` moves all at once, and records scores.
    in_place = records = True
    #: Whether `learn` records the scores of predictions, `Record.LAST` and `Record.AVERAGE`.
    scores_ahead = False
    #: Whether vertices of the space are checked, which those of the package need not be.
    checks_vertices = True
    #: Scratch of the loss, one row that all rounds share; none if each round has its own.
    work = np.empty((1, 0))
    #: Whether blocks are learned by small products, which take longer in several threads.
    small_products = False
    #: Rows to learn at a time; the state is stored for them.
    _block_size: Callable[[Rows], int]

    def __init__(self, learner: Any) -> None:
        self.space, self.loss, self.optimizer = learner.space_, learner.loss_, learner.optimizer_
        self.averaged = bool(learner.average)
        self.checks_vertices = not is_builtin(self.space)
        for optimizer in self.optimizer.experts():
            check_kernels(optimizer)
        vectors = self.optimizer.init(self.loss)
        if not self.optimizer.mixes:
            vectors = check_state(self.optimizer, vectors)[None]
        self._set_up(learner, vectors)
        self.state.vectors[:, LoopState.DECAYS] = float(learner.average == "polynomial")

    @property
    def n_rounds(self) -> int:
        """Rounds of the stream so far, those of `fit` counted once."""
        return int(self.state.vector[LoopState.ROUNDS])

    def check_can_learn(self) -> None:
        """Raise a RuntimeError if the state is the mean of others."""
        if not self.state.moves:
            raise_frozen()

    def owns_arrays(self) -> bool:
        """Whether the arrays can be written to; all are as the vectors of numbers are."""
        vectors = self.state.vectors
        return type(vectors) is np.ndarray and vectors.flags.writeable

    @abstractmethod
    def _set_up(self, learner: Any, vectors: Floats) -> None:
        """Set `scale`, and `state` with zero weights and the optimizers' `vectors`."""

    def _learn_at_once(self, kernels: Kernels, moving: Callable[[Any], list[Call]]) -> int:
        """Learn a block by the calls that move a state; the place that stopped it, or −1.

        The first call is the loop of the kernels. One in Python, which may be left anywhere, moves
        a copy.
        """
        if not kernels.in_python:
            try:
                calls = moving(self.state)  # compiles them, when that pays
            except NumbaError as error:
                raise self._cannot_compile(error) from None
            return at_once(*calls)[0]
        state, work = self.state.copy(), self.work
        vertices = work.copy()  # that an oracle in Python has listed
        (learn, *arguments), *calls = moving(state)
        try:
            stopped = learn(*arguments)
        except BaseException:
            work[...] = vertices
            raise
        at_once(*calls, (vars(self).update, {"state": state}))
        return stopped

    @abstractmethod
    def comparison(self, batch: Batch, weight: Floats) -> Comparison:
        """What a comparator over rounds of weights (n,) is measured by; see `OnlineLearner`."""

    @abstractmethod
    def scores(self, batch: Batch, averaged: bool) -> Any:
        """Scores of checked rows by the last weights, or by the average."""

    @abstractmethod
    def weights(self, averaged: bool) -> Floats:
        """The last weights, or their average, for untransformed rows; float64."""

    def check(self, learner: Any, batch: Batch, stream: bool) -> None:
        """A ValueError for rounds that the model cannot learn, before any is."""

    def prepare(self, learner: Any, batch: Batch) -> None:
        """Look at all rounds before the passes of `fit`."""

    def fresh_copy(self) -> "Model":
        """A copy, of a model that has learned nothing, for trials on the rounds it prepared for."""
        return self.copy()

    def scores_of(self, batch: Batch, which: Ints, averaged: bool) -> Any:
        """`scores` of some of the rounds that were prepared for."""
        return self.scores(batch.take(which), averaged)

    def finish_fit(self, n_rounds: int) -> None:
        """End the passes of `fit`, whose rounds count once as the beginning of a stream."""
        self.state.vector[LoopState.ROUNDS] = n_rounds

    def truths(self, packed: Packed) -> Any:
        """Vertices (n, dim) of packed outputs, as the kernels read them."""
        V = self.space.unpack(packed)
        if self.checks_vertices:
            return check_vertices(self.space, "unpack", V, (len(packed), self.space.dim_))
        return V

    def refuse(self, learner: Any, batch: Batch, place: int) -> None:
        """Raise the ValueError for the round that stopped learning."""
        raise_bad_row(learner, batch.X, place)

    def certified_loss(self) -> Loss:
        """The loss that certificates are about."""
        return self.loss

    def certificate(self, delta: float | None) -> Any:
        """The theorem about the rounds learned so far; `delta` as for `OnlineOptimizer`."""
        theorem, state = self._theorem(delta), self.state
        if state.between > 0.0:
            theorem.constants["left_out"] = state.between
        if "deviation" in theorem.constants:
            theorem.constants["deviation"] *= state.heaviest
        return theorem

    def _theorem(self, delta: float | None) -> Any:
        """The theorem of the optimizer, without the price of ties, for weights of 1 at most."""
        state: Any = self.state if self.optimizer.mixes else self.state.vector
        return self.optimizer.certificate(self.certified_loss(), state, delta)

    def _take_kernels(self) -> None:
        """Set the parameters of the loss, scratch that all rounds share, and the options."""
        self.params, work = self.loss.kernel_arguments(self.space.dim_)
        self.work, self.options = work[None], np.zeros(len(LoopOption), dtype=np.int64)
        self.options[LoopOption.DIM] = self.space.dim_

    @property
    def _mixed(self) -> bool:
        """Whether the loop has experts, or rounds of several rows."""
        return bool(self.optimizer.mixes)

    def _experts(self) -> list[OnlineOptimizer]:
        """The optimizers that update the model."""
        return self.optimizer.experts()

    def _kept(self, name: Any, make: Callable[[], Any]) -> Any:
        """The result of `make()`, kept once it is not None; it is not pickled."""
        value = self._loops.get(name)
        if value is None:
            value = self._loops[name] = make()
        return value

    @abstractmethod
    def _kernels(self) -> tuple[Kernel, ...]:
        """Move and score (None for rounds of many rows), the loss; prepare and gather of those."""

    def _bound(self) -> Kernels:
        """The kernels for the storage format of the state."""
        by_feature = self.state.by_feature
        return self._loops.get(by_feature) or self._kept(by_feature, self._new_kernels)

    def _cannot_compile(self, error: NumbaError) -> TypeError:
        lines = [line for line in str(error).splitlines() if "Failed in" not in line]
        components = f"{type(self.optimizer).__name__} or {type(self.loss).__name__}"
        return TypeError(f"numba cannot compile a kernel of {components}: {lines[0]}")

    def _new_kernels(self) -> Kernels:
        kernels = Kernels(self._kernels(), self._experts(), self._mixed)
        try:
            kernels.form_of(kernels.loop)
        except NumbaError as error:
            raise self._cannot_compile(error) from None
        return kernels

    @functools.cached_property
    def _loops(self) -> dict[Any, Any]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Without addresses of compiled kernels, which are those of this process."""
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_loops"}

    def diagnostics(self) -> list[str]:
        """Sentences about what went wrong; before that the loss warns of its residual."""
        (work,) = self.work
        if len(work) and work[0] > RESIDUAL_TOL:
            self.loss.check_residual(work)
        sentences = []
        for i, expert in self._kept("checks", self._checks):
            sentences.append(expert.check(self.state.vectors[i]))
        return list(filter(None, sentences))

    def _checks(self) -> list[tuple[int, OnlineOptimizer]]:
        """The experts that may find something wrong, with their places."""
        plain = OnlineOptimizer.check
        return [(i, e) for i, e in enumerate(self._experts()) if type(e).check is not plain]

    def blocks(self, batch: Batch, order: Ints, record: int) -> Sequence[Ints]:
        """Parts of `order`, each to be learned by one call of `learn`."""
        if 0 < len(order) <= SMALLEST_BLOCK:
            return [order]
        size = self._block_size(batch.rows)
        return [order[start : start + size] for start in range(0, len(order), size)]

    def learn(self, batch: Batch, block: Ints, weight: Floats, record: int) -> BlockResult:
        """Learn the rounds `block` (m,), of weights (m,), in order; returns a `BlockResult`."""
        V = self.truths(batch.packed[block])
        earlier = self._note(V, weight)  # before they are learned: a signal may come in between
        theta = np.empty((len(block) * (record > Record.NOTHING), self.space.dim_))
        stopped = self._learn(batch.rows, block, V, weight, theta, record)
        if stopped >= 0:
            self.state.heaviest, self.state.between = earlier
            self._note(V[:stopped], weight[:stopped])
        return BlockResult(stopped, theta, V)

    def _note(self, V: Floats, weight: Floats) -> tuple[float, float]:
        """Note the largest weight of a round, and what outputs between vertices add to bounds.

        Returns the numbers noted before.
        """
        state, earlier = self.state, (self.state.heaviest, self.state.between)
        state.heaviest = max(state.heaviest, float(weight.max(initial=0.0)))
        if isinstance(self.loss, FenchelYoung) and self.space.has_ties:
            state.between += float(weight @ price_of_ties(self.loss, V))
        return earlier

    @abstractmethod
    def _learn(
        self, rows: Rows, block: Ints, V: Floats, weight: Floats, theta: Floats, record: int
    ) -> int:
        """Learn a block; the place of the row that stopped it, or −1."""


class LinearModel(Model):
    """Weights (dim, p [+ 1]) of experts, one without a mixture, the intercept last.

    They are in the units of standardized rows. Scores of experts, and of the averages of their
    weights, are mixed by the weight of each.
    """

    #: Losses whose means are probabilities, which are mixed in the place of scores.
    mixed_kinds = {simplex.softmax: MixtureKind.CLASSES, hypercube.sigmoid: MixtureKind.LABELS}

    def _set_up(self, learner: Any, vectors: Floats) -> None:
        optimizer, self.intercept = self.optimizer, learner.fit_intercept_
        self.averaged = bool(learner.average and optimizer.averages)
        self.scale = self._new_scale(learner)
        self.width = self.scale.columns
        self._take_kernels()
        kind = MixtureKind.ALONE
        if optimizer.mixes:
            kind = self.mixed_kinds.get(self.loss.kernel, MixtureKind.SCORES)
        self.subtracts = kind == MixtureKind.SCORES and isinstance(self.loss, FenchelYoung)
        self.options[LoopOption.INNER] = self.subtracts
        dim, width = self.space.dim_, self.width + self.intercept
        summed = self.averaged and not optimizer.keeps_average
        rates = optimizer.rates()
        self.state = LinearState(dim, width, vectors, optimizer.blocks, summed, kind, rates)

    def _new_scale(self, learner: Any) -> RunningScale:
        """How rows are transformed."""
        return scale_of(learner, learner.n_features_in_, self.intercept)

    def _experts(self) -> list[OnlineOptimizer]:
        """See `Model`; they are kept with the loops."""
        return self._kept("experts", self.optimizer.experts)

    @property
    def mixes(self) -> bool:
        """Whether there are experts that are mixed."""
        return self.state.kind != MixtureKind.ALONE

    @property
    def scores_ahead(self) -> bool:  # type: ignore[override]
        """Whether weights are s Θ, and their average a sum of Θ and A; see `Model`."""
        kind, base = type(self.optimizer), OnlineOptimizer
        same = kind.weights is base.weights and kind.average_weights is base.average_weights
        return same and not self.optimizer.keeps_average

    def _kernels(self) -> tuple[Kernel, ...]:
        """Move and score, loss."""
        state, dim = self.state, self.space.dim_
        if not self.mixes:
            move = self.optimizer.move_and_score_kernel(dim, state.by_feature, state.summed)
        elif state.by_feature:
            move = move_and_score_kernel(state.n_experts * dim, True)
        else:
            move = dense_move_and_score_pairs
        return move, self.loss.kernel

    def _block_size(self, rows: Rows) -> int:
        """Rows to learn at a time; the state is stored for them."""
        self.state.store_for(self.scale.makes_sparse(rows))
        return self.scale.block_size(self._bound().block_size, rows)

    #: Whether `learn_alone` works.
    learns_alone = True

    def learn_alone(self, X: Floats, norms: tuple[float, float], V: Floats, weight: Floats) -> int:
        """Learn one row X (1, p) with the vertex V (1, dim).

        0 if it stops the model, `ROW_REFUSED` if its norm is not in range, else −1. In one call of
        a kernel if nothing else has to be done.
        """
        if weight.item() <= self.state.heaviest and not self.space.has_ties:
            return self._learn_single(X, norms, V, weight)
        earlier = self._note(V, weight)
        stopped = self._learn_single(X, norms, V, weight)
        if stopped != -1:
            self.state.heaviest, self.state.between = earlier
        return stopped

    def _learn_single(self, X, norms, V, weight):
        """`learn_alone`, without its note for bounds."""
        state, scale = self.state, self.scale
        dense = state.placed and not state.by_feature and scale.takes_dense
        if dense and X.dtype == DOUBLE and not self.subtracts:
            learn = self._kept("row", lambda: compiled_learn_row(self._bound()))
            if learn is not None:
                scaling = *scale.arrays, scale.used, scale.centered, scale.divided
                arguments = (self.intercept, *norms, X, V, weight, scaling, state.learned)
                return learn(*arguments, (self.params, self.options), self.work)
        rows = Rows.from_array(X)
        if rows.first_bad(self.intercept, *norms) >= 0:
            return ROW_REFUSED
        return self._learn(rows, SINGLE_ROW, V, weight, V[:0], Record.NOTHING)

    def _learn(
        self, rows: Rows, block: Ints, V: Floats, weight: Floats, theta: Floats, record: int
    ) -> int:
        """Transform, learn and count a block; the place of the row that stopped it, or −1."""
        ahead = record in (Record.LAST, Record.AVERAGE)
        ready, places, count, undo, earlier_data = self.scale.counted(rows, block, weight, ahead)
        self.state.store_for(ready.is_sparse)
        omega = self.loss.omega(V) if self.subtracts else NO_FLOATS
        kernels, rounds = self._bound(), single_row_rounds(places, V, weight, omega)
        results = (self.work, theta.reshape(-1), NO_FLOATS, NO_FLOATS)
        constants = self.params, self.options

        def moving(state: LinearState) -> list[Call]:
            if not ahead:
                return [kernels.call_of(ready, rounds, state, constants, results), count]
            played = earlier_data, record == Record.AVERAGE
            return [kernels.call_ahead(ready, rounds, state, played, constants, results), count]

        stopped = self._learn_at_once(kernels, moving)
        if stopped >= 0:  # the rows before it are counted again, without it
            at_once(undo)
            self.scale.apply(rows, block[:stopped], weight[:stopped])
        return stopped

    def shares(self, averaged: bool) -> Floats:
        """Weights (groups, R, N) of the experts: of all, or of those that are not averages.

        Not to be written to: of all they are those of the state.
        """
        if averaged or not self.averaged:
            return self.state.shares
        shares = np.array(self.state.shares)
        shares[:, :, len(self.state.vectors) :] = 0.0
        total = shares.sum(axis=(1, 2), keepdims=True)
        return shares / np.where(total > 0.0, total, 1.0)

    def expert_weights(self) -> Floats:
        """How much each expert counts: (N,), or (dim, N) if labels are mixed separately."""
        weights = self.state.shares.sum(axis=1)
        return weights if len(weights) > 1 else weights[0]

    def expert_losses(self) -> Floats:
        """Sums of the experts' surrogate losses, without the loss scale, (N,)."""
        return self.state.sums.copy()

    def expert_names(self) -> list[str]:
        """What the experts are called."""
        return self.optimizer.names(self.averaged)

    def weights(self, averaged: bool) -> Floats:
        """W of untransformed rows, for a mixture the mean of its experts'; see `Model`."""
        return self._mean(self._matrices(averaged), averaged)

    def _mean(self, matrices: Floats, averaged: bool) -> Floats:
        """The mean (dim, width) of the weights (N, dim, width) of N experts."""
        if len(matrices) == 1:
            return matrices[0]
        v = self.shares(averaged).sum(axis=1)
        return np.einsum("gn,nkp->kp" if len(v) == 1 else "kn,nkp->kp", v, matrices)

    def _matrices(self, averaged: bool, columns: Array | None = None) -> Floats:
        """W (N, dim, width) of the experts for untransformed rows, or of some columns.

        Of a mixture all, else the last one or the average.
        """
        places = columns
        if columns is not None and self.intercept:
            places = np.append(columns, self.width)
        matrices = self._stored_matrices(self.state.parts(places), averaged)
        return self.scale.fold(matrices, columns)

    def _stored_matrices(self, theta_and_sums: tuple[Floats, Floats], averaged: bool) -> Floats:
        """W (N, dim, width) of the experts for standardized rows, from Θ and the sums behind."""
        state, dim, optimizer = self.state, self.space.dim_, self.optimizer
        if not self.mixes:
            if averaged and self.averaged:
                return optimizer.average_weights(*theta_and_sums, state.vector, dim)[None]
            return optimizer.weights(theta_and_sums[0], state.vector, dim)[None]
        last, sums = (matrix.reshape(len(state.vectors), dim, -1) for matrix in theta_and_sums)
        each = list(zip(self._experts(), last, state.vectors, strict=True))
        matrices = [expert.weights(W, vector, dim) for expert, W, vector in each]
        for A, W, vector in zip(sums, last, state.vectors, strict=True) if self.averaged else ():
            scale, total = vector[[LoopState.SCALED_WEIGHT_SUM, LoopState.WEIGHT_SUM]]
            matrices.append((scale * W + A) / max(total, 1e-300))
        return np.stack(matrices)

    def scores(self, batch: Batch, averaged: bool) -> Floats:
        """Scores (n, dim) for predictions; of wide rows by the columns that have entries."""
        if self.mixes:
            return self._mixed_scores(batch.rows, averaged)
        chunks = self.scale.imputed_parts(batch.rows)
        return np.concatenate([self._linear_scores(rows, averaged) for rows in chunks])

    def _linear_scores(self, rows: Rows, averaged: bool) -> Floats:
        """`scores` of rows that are imputed."""
        columns, X = rows.columns() if self._is_wide(rows) else (None, rows.matrix)
        return linear_scores(self._matrices(averaged, columns)[0], X)

    def _is_wide(self, rows: Rows) -> bool:
        """Whether few of the columns have entries in these rows."""
        by_feature = getattr(self.state, "by_feature", False)
        return rows.is_sparse and by_feature and 2 * len(rows.indices) < rows.width

    def _mixed_scores(self, rows: Rows, averaged: bool) -> Floats:
        """`scores` of experts that are mixed, some rows at a time."""
        played, without = np.empty((rows.n_rows, self.space.dim_)), np.empty((0, 0))
        steps = float(len(played) * (STEPS_PER_ROW + self.space.dim_ * self.state.n_experts))
        play = play_rows_for(self._bound(), steps)
        learned, size = (without, 0, *map(writable, self.state.played)), 1024
        for start in range(0, len(played), size):
            span = slice(start, start + size)
            chunk = rows if len(played) <= size else rows.taken(span)
            play(learned, self._raw(self.scale.transformed_matrix(chunk)), averaged, played[span])
        return played

    def _raw(self, Z: Floats) -> Floats:
        """Θz of standardized rows."""
        return linear_scores(self.state.matrix, Z)

    def play_alone(self, X: Floats, norms: tuple[float, float], averaged: bool) -> Floats | None:
        """Scores and means (2, dim) at one dense float64 row, as `scores`.

        None if it needs more than one kernel: for optimizers whose weights are not s Θ, means that
        are not probabilities, rows out of range or with missing values, and scores that are not
        finite.
        """
        state, scale = self.state, self.scale
        if type(state.Theta) is not np.ndarray or state.by_feature or scale.indicators:
            return None  # what is mapped from a file is of another type
        play = self._kept("alone", self._play_loop)
        if play is None:
            return None
        out = np.empty((2, self.space.dim_))
        is_played = play(
            norms[0], norms[1], X, scale.statistics, scale.used, averaged,
            state.Theta, state.vectors, state.shares, state.kind, out,
        )  # fmt: skip
        return out if is_played else None

    def _play_loop(self) -> Kernel | None:
        """What plays a row by itself; None if a kernel is interpreted."""
        if not self.scores_ahead or self.loss.kernel not in self.mixed_kinds:
            return None
        return compiled_play_row(self._bound())

    def comparison(self, batch: Batch, weight: Floats) -> Comparison:
        """The data by which comparators are measured, over the rows as standardized in learning."""
        rows = batch.rows
        if self.scale.used:
            rows = self.scale.reset_copy().apply(rows, weight=weight)[0]
        return Comparison(self.loss, rows.matrix, self.space.unpack(batch.packed), self.intercept)
