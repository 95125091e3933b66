"""A mixture of linear models, each moved by an optimiser of its own."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from skstructured._base.validation import writable
from skstructured._engine.mixing import CLASSES, LABELS, SCORES, mix_rows
from skstructured._engine.mixture import (
    learn_row_for,
    mixture_epoch_for,
    play_row_for,
    play_rows_for,
)
from skstructured._engine.move_and_score import dense_move_and_score_pairs, move_and_score_kernel
from skstructured._engine.rows import DOUBLE, Rows
from skstructured._engine.state import DECAYS, SCALED_WEIGHT_SUM, WEIGHT_SUM, Call, MixtureState
from skstructured._learners.models import LinearModel
from skstructured._learners.weights import ExpertWeights, linear_scores
from skstructured.extend._types import Array, Floats, Ints, Kernel, Matrix
from skstructured.extend.learner import Batch
from skstructured.losses.fenchel_young import FenchelYoung
from skstructured.spaces import hypercube, simplex

#: Losses whose means are probabilities, which are mixed in the place of scores.
MIXED_AS = {simplex.softmax: CLASSES, hypercube.sigmoid: LABELS}

#: Rows that are scored at a time.
ROWS = 1024

#: Rows, at most, that are scored by the weights as they are stored.
FEW = 8


class MixtureModel(ExpertWeights, LinearModel):
    """Weights of several experts over the same rows, and how much each of them counts."""

    def __init__(self, learner: Any) -> None:
        self.space, self.loss, self.optimizer = learner.space_, learner.loss_, learner.optimizer_
        vectors = self._vectors()
        vectors[:, DECAYS] = float(learner._average_decays())
        self.averaged = bool(learner.average and self.optimizer.averages)
        self._set_up(learner, vectors)

    def _vectors(self) -> Floats:
        """The initial vectors of the experts, one per row."""
        return self.optimizer.init(self.loss)

    def _set_up(self, learner: Any, vectors: Floats) -> None:
        dim = self.space.dim_
        self.intercept = learner._intercept
        self.scale = self._new_scale(learner)
        self.width = self.scale.columns
        kind = MIXED_AS.get(self.loss.kernel, SCORES)
        rates, width = self.optimizer.rates(), self.width + self.intercept
        self.state = MixtureState(dim, width, vectors, kind, rates, self.averaged)
        self._inner = float(isinstance(self.loss, FenchelYoung))
        self._take_kernels()

    #: Every expert's weights are s Θ.
    scores_ahead = True

    def _new_loop(self, ahead: bool = False) -> tuple[Kernel, int]:
        kernels, experts = self._kernels()
        return mixture_epoch_for(kernels, experts, self._inner, ahead)

    def _kernels(self) -> tuple[Any, ...]:
        """Move and score, loss; scale and step of every expert."""
        state, experts = self.state, self._experts()
        move = dense_move_and_score_pairs
        if state.by_feature:
            move = move_and_score_kernel(state.n_experts * self.space.dim_, True)
        pairs = [(expert.scale_kernel, expert.step_kernel) for expert in experts]
        return (move, self.loss.kernel), pairs

    def certificate(self, delta: float | None) -> Any:
        """See `Model`."""
        return self.optimizer.certificate(self.loss, self.state, delta)

    def _learn(
        self, rows: Rows, block: Ints, V: Floats, weight: Floats, theta: Floats, record: int
    ) -> int:
        stopped = super()._learn(rows, block, V, weight, theta, record)
        if stopped >= 0:
            for _, sums, more, _ in self._besides(self.state, V[stopped:], weight[stopped:]):
                sums -= more
        return stopped

    def _besides(self, state: Any, V: Floats, weight: Floats) -> Sequence[Call]:
        """Ω of the truths; log-losses are whole, because Ω of a vertex is 0."""
        if not (self._inner and state.kind == SCORES):
            return ()
        return ((np.add, state.sums, weight @ self.loss.omega(V), state.sums),)

    def learn_alone(self, X: Floats, norms: tuple[float, float], V: Floats, weight: Floats) -> int:
        """As `LinearModel`, in one call of a kernel where nothing else has to be done."""
        state, scale = self.state, self.scale
        dense = state.placed and not state.by_feature and scale.counts_dense
        quick = dense and state.kind != SCORES and X.dtype == DOUBLE
        learn = self._row_loop() if quick else None
        if learn is None:
            return super().learn_alone(X, norms, V, weight)
        scaled = (scale.statistics, scale.counts, scale.centred, scale.divided)
        limits = (self.intercept, norms[1] * norms[1])
        return learn(*limits, X, V, weight, scaled, state.learned)

    def _row_loop(self) -> Kernel | None:
        """What learns a row by itself, kept with the loops; None for interpreted kernels."""
        if "row" not in self._loops:
            kernels, experts = self._kernels()
            self._loops["row"] = learn_row_for(kernels, experts, self._inner)
        return self._loops["row"]

    def _matrices(self) -> Floats:
        """W of every expert (N, dim, width) for rows as they are given."""
        return np.stack([self.scale.fold(W) for W in self._stored_matrices(self.state.parts)])

    def _matrices_of(self, columns: Array) -> Floats:
        """`_matrices` of some columns, and of the intercept."""
        places = np.append(columns, self.width) if self.intercept else columns
        stored = self._stored_matrices(self.state.parts_of(places))
        return np.stack([self.scale.fold(W, columns) for W in stored])

    def _stored_matrices(self, parts: tuple[Floats, Floats]) -> list[Floats]:
        """W of every expert (dim, width) for rows as standardised."""
        state, dim = self.state, self.space.dim_
        last, sums = (part.reshape(len(state.vectors), dim, -1) for part in parts)
        matrices = []
        for expert, W, vector in zip(self._experts(), last, state.vectors, strict=True):
            matrices.append(expert.weights(W, vector, dim))
        for W, A, vector in zip(last, sums, state.vectors, strict=True):
            if self.averaged:
                total = max(vector[WEIGHT_SUM], 1e-300)
                matrices.append((vector[SCALED_WEIGHT_SUM] * W + A) / total)
        return matrices

    def weights(self, averaged: bool) -> Floats:
        """The mean of the experts' weights; see `Model`."""
        v = self.shares(averaged).sum(axis=1)
        return np.einsum("gn,nkp->kp" if len(v) == 1 else "kn,nkp->kp", v, self._matrices())

    def scores(self, batch: Batch, averaged: bool) -> Floats:
        """What the mixture plays, (n, dim)."""
        shares = self.shares(averaged)
        if batch.rows.n_rows <= FEW and not batch.rows.is_sparse:
            return self._played_at_few(batch.rows, shares)
        rows = self.scale.completed(batch.rows)
        if self._is_wide(rows):
            columns, X = rows.columns()
            matrices = self._matrices_of(columns)
        else:
            matrices, X = self._matrices(), rows.matrix
        return self._played(matrices, shares, X)

    def _played_at_few(self, rows: Rows, shares: Floats) -> Floats:
        """`scores` of a few dense rows, without weights in their units."""
        state = self.state
        raw = self._raw(self.scale.transformed_matrix(rows))
        played = np.empty((len(raw), self.space.dim_))
        kept = (writable(state.vectors), state.summed, writable(shares))
        self._play()(state.kind, raw, *kept, played)
        return played

    def _raw(self, Z: Floats) -> Floats:
        """Θz of a few rows as standardised."""
        state, width = self.state, self.width
        Theta, few = state.matrix, len(state.vectors) * self.space.dim_
        raw = np.empty((Z.shape[0], len(Theta)))
        raw[:, :few] = Z @ Theta[:few, :width].T
        if state.summed:
            raw[:, few:] = Z @ Theta[few:, :width].T
        if self.intercept:
            raw += Theta[:, width]
        return raw

    def play_alone(self, X: Floats, longest: float) -> Floats | None:
        """Scores and means (2, dim) at one dense float64 row, as `scores` of the average.

        None where it takes more than a kernel: for other models, rows longer than `longest` or with
        gaps, and scores that are not finite.
        """
        state, scale = self.state, self.scale
        if state.kind == SCORES or state.by_feature or type(state.Theta) is not np.ndarray:
            return None  # what is mapped from a file is of another type
        if not scale.used or scale.indicators:
            return None
        if "alone" not in self._loops:
            scales = [one.scale_kernel for one in self._experts()]
            self._loops["alone"] = play_row_for(self.loss.kernel, scales)
        play, out = self._loops["alone"], np.empty((2, self.space.dim_))
        if play is None:
            return None
        how = (state.kind, self.intercept, state.summed, longest * longest)
        learned = (scale.statistics, state.Theta, state.vectors, state.shares)
        return out if play(*how, X, *learned, out) else None

    def _play(self) -> Kernel:
        """What mixes the scores of the experts, kept with the loops."""
        if "play" not in self._loops:
            self._loops["play"] = play_rows_for([one.scale_kernel for one in self._experts()])
        return self._loops["play"]

    def _experts(self) -> list[Any]:
        """See `ExpertWeights`; kept with the loops."""
        if "experts" not in self._loops:
            self._loops["experts"] = super()._experts()
        return self._loops["experts"]

    def _watched(self) -> list[tuple[int, Any]]:
        """See `ExpertWeights`; kept with the loops."""
        if "watched" not in self._loops:
            self._loops["watched"] = super()._watched()
        return self._loops["watched"]

    def _played(self, matrices: Floats, shares: Floats, X: Matrix) -> Floats:
        """`scores`, some rows at a time."""
        dim = matrices.shape[1]
        played = np.empty((X.shape[0], dim))
        for start in range(0, len(played), ROWS):
            rows = slice(start, start + ROWS)
            theta = self._scored(matrices, X[rows])
            means = theta
            if self.state.kind != SCORES:
                means = self.loss.mean(theta.reshape(-1, dim)).reshape(theta.shape)
            mix_rows(self.state.kind, writable(shares), theta, means, played[rows])
        return played

    def _scored(self, matrices: Floats, X: Matrix) -> Floats:
        """Scores (n, N, dim) by every expert."""
        experts, dim, _ = matrices.shape
        flat = linear_scores(matrices.reshape(experts * dim, -1), X)
        return np.ascontiguousarray(flat).reshape(-1, experts, dim)

    def trouble(self) -> list[str]:
        """As `Model`, of every expert."""
        self.loss.check_residual(self.work[0])
        return self._troubles()
