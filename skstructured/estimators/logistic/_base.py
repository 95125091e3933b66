"""The base of second-order logistic learners: one compiled pass, and no matrix W of weights."""

import math
import warnings
from abc import abstractmethod
from dataclasses import KW_ONLY
from itertools import pairwise
from typing import Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skstructured._base.component import Seed, parameters
from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import check_positive
from skstructured._engine.state import at_once
from skstructured._learners import classifier
from skstructured._learners.batch_scaling import ranges_of, scale_of
from skstructured._learners.classifier import ClassScores
from skstructured._learners.decoding import answered
from skstructured._learners.lock import learning_aside, locked
from skstructured._learners.passes import with_progress
from skstructured._learners.predictions import DecodedPredictions
from skstructured.decoders import MAP, Nearest, Sampled, resolve_decoder
from skstructured.estimators.logistic._full_matrix import LOOK, RoundLimit
from skstructured.extend._types import Ints
from skstructured.extend.decoder import Decoder
from skstructured.extend.learner import Batch, Comparison, Losses, OnlineLearner
from skstructured.guarantees.certificates import Certificate
from skstructured.losses import FenchelYoung
from skstructured.spaces import Simplex

#: Numbers of transformed rows that are ready at a time, rows predicted at most, products of about a
#: second; and residuals of logits, in units of their size, that are told.
READY, BLOCK, PRODUCTS, UNSOLVED = 1 << 20, 4096, 1 << 32, 1e-8

#: Entries of new rows, as transformed, are cut there, far from where squares are inf: a feature
#: that was tiny in all rows learned is huge.
WIDEST = 1e60


@locked
@parameters
class LogisticLearner(DecodedPredictions, OnlineLearner):
    """Rounds of dense rows, standardized on arrival, with an object that plays and learns.

    `_new_weights(K, width)` of a subclass makes it, `SecondOrderRounds`; it has a parameter
    `feature_norm`.
    """

    _: KW_ONLY
    decoder: str | Decoder = "map"
    standardize: bool | Literal["auto", "moments"] = "auto"
    missing: Literal["mean", "indicator", "error"] = "mean"
    fit_intercept: bool = True
    verbose: bool | int = 0
    random_state: Seed = None

    feature_ranges_ = property(ranges_of)

    @abstractmethod
    def _new_weights(self, K, width):
        """Check the parameters; the learned state, for rows of `width` features."""

    fit, partial_fit, learn = classifier.fit, classifier.partial_fit, classifier.learn
    begin, resume, _first = ClassScores.begin, ClassScores.resume, ClassScores._first
    _rows, _with_labels = ClassScores._rows, ClassScores._with_labels
    _check_labels = ClassScores._check_labels

    def _start(self, space):
        self.space_, self.classes_ = space, space.classes_
        self.random_state_ = check_random_state(self.random_state)
        self._intercept = bool(self.fit_intercept)
        self._scale = scale_of(self, self.n_features_in_, self._intercept, forgets=False)
        R = self.feature_norm
        self._R = math.inf if R is None else check_positive("feature_norm", R)
        self.loss_ = self._loss(space)
        self._decoder().check_space(self.loss_)
        self._weights = self._new_weights(space.dim_, self._scale.columns + self._intercept)
        self.t_ = 0

    @property
    def _row_limits(self):
        above = f"above feature_norm={self._R:g}. Increase it, or set it to None for no limit."
        return [RoundLimit(self._R * (1.0 + 1e-12), 0, above)] if math.inf > self._R else []

    def _loss(self, space):
        unit = 1.0 if isinstance(self._decoder(), Sampled) else 1.0 / math.log(2.0)
        return FenchelYoung(space, "shannon", scale=unit)

    def _unfitted_loss(self):
        return FenchelYoung(Simplex(), "shannon", scale=1.0)

    def _decoder(self):
        return resolve_decoder(self.decoder)

    def _check_certified(self, theorem, delta):
        """Raise an error unless a theorem on the sum of the logistic losses covers the play."""
        check_is_fitted(self, "classes_")
        if delta is not None:
            raise GuaranteeError(
                f"{theorem} holds in expectation only: call certificate() without delta."
            )
        if not isinstance(self._decoder(), (MAP, Nearest, Sampled)):
            raise GuaranteeError(
                f"No bound is known for the decoder {self.decoder!r}: use 'map' or 'sampled'."
            )

    def _bound(self, theorem, quadratic, offset, constants):
        """The `Certificate` of a bound in nats, in the unit of `loss_`."""
        unit = self.loss_.scale_
        named = "nats" if unit == 1.0 else "bits"
        radius = constants["radius"]
        return Certificate(theorem, unit * quadratic, unit * offset, radius, constants, named)

    def play(self, rounds: Batch, which: Ints, random_state: Seed = None) -> Losses:
        """The `Losses` of rounds with the current state; nothing is learned."""
        rounds = rounds.take(which)
        return self._losses(self._thetas(rounds), self.space_.unpack(rounds.packed), random_state)

    def answer(self, rounds: Batch, which: Ints) -> Losses:
        """The `Losses` of predictions of rounds; nothing is learned."""
        rounds = rounds.take(which)
        return answered(self._decode(self._thetas(rounds)), self.space_.unpack(rounds.packed))

    def play_and_learn(self, rounds: Batch, which: Ints, random_state: Seed = None) -> Losses:
        """Play each round, then learn it; the `Losses`."""
        theta = self._learn(rounds, np.asarray(which))
        return self._losses(theta, self.space_.unpack(rounds.packed[which]), random_state)

    def comparison(self, rounds: Batch) -> Comparison:
        """The data by which comparators are measured, over the rows as standardized in learning."""
        rows = self._scale.reset_copy().apply(rounds.rows)[0]
        return Comparison(
            self.loss_, rows.matrix, self.space_.unpack(rounds.packed), self._intercept
        )

    def _learn(self, rounds, order):
        """Learn rounds in `order`; the logits (n, K) played."""
        wide, slow = READY // max(rounds.rows.width, 1), PRODUCTS // self._weights.products
        # Rows to learn before another thread may read, 2^m: a second's work at most.
        played, size = [], 1 << max(0, min(LOOK, wide, slow).bit_length() - 1)
        self._refuse_long_rows(rounds.rows, order, rounds.weights, size)
        n, first = len(order), size - self.t_ % size  # no block goes beyond a look at P
        for start, stop in with_progress(self, [*pairwise([0, *range(first, n, size), n])], n):
            block = order[start:stop]
            V = self.space_.unpack(rounds.packed[block])
            with self.lock:
                played.append(self._learn_block(rounds.rows, block, V, rounds.weights[block]))
        return np.concatenate(played)

    def _refuse_long_rows(self, rows, order, weight, size):
        """Refuse a row that is too large, or longer than `feature_norm`, before any is learned."""
        limits = [*self._weights.limits, *self._row_limits]
        limits = [limit for limit in limits if limit.concerns(weight[order])]
        scale = self._scale.copy()
        for start in range(0, len(order) if limits else 0, size):
            block = order[start : start + size]
            ready, places = scale.apply(rows, block, weight[block])
            Z = classifier.with_intercept(ready.matrix[places], self._intercept)
            for limit in limits:
                limit.check(Z, weight[block], block)

    def _learn_block(self, rows, block, V, weight):
        """Learn a block; the logits played."""
        if self._weights.in_place:
            return self._learn_part(rows, block, V, weight)
        with learning_aside(self, continues=True) as twin:
            return twin._learn_part(rows, block, V, weight)

    def _learn_part(self, rows, block, V, weight):
        """Learn rows by calls that move all that was learned; the logits played."""
        logits = np.empty(V.shape)
        ready, places, count, *_ = self._scale.counted(rows, block, weight)
        Z = classifier.with_intercept(ready.matrix[places], self._intercept)
        known = {"t_": self.t_ + len(Z)}
        learn = self._weights.calls(Z, np.ascontiguousarray(V), weight, logits)
        at_once(*learn, count, (vars(self).update, known))
        self._weights.tidy()
        return logits

    def _thetas(self, batch):
        """Logits (n, K) of rows that are not standardized yet."""
        with self.lock:
            matrix, logits = self._scale.transformed(batch.rows).matrix, []
            size = max(1, min(BLOCK, READY // max(batch.rows.width, 1)))
            for start in range(0, batch.rows.n_rows, size):
                Z = classifier.with_intercept(matrix[start : start + size], self._intercept)
                for limit in self._row_limits:
                    limit.check(Z, np.ones(len(Z)), start + np.arange(len(Z)))
                logits.append(self._weights.logits(np.clip(Z, -WIDEST, WIDEST)))
            return np.concatenate(logits)

    def _warn_diagnostics(self) -> None:
        """Warn about predictions whose equations were not solved."""
        if self._weights.residual > UNSOLVED:
            warnings.warn(
                f"Logits did not converge (relative error {self._weights.residual:.1g}): radius, "
                "alpha or a sample weight is too extreme.",
                ConvergenceWarning,
                stacklevel=3,
            )
