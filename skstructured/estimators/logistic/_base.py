"""The base of second-order logistic learners: one compiled pass, and no matrix W of weights."""

import math
import warnings
from abc import abstractmethod
from dataclasses import KW_ONLY
from typing import Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skstructured._base.component import Seed, parameters
from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import (
    check_bool,
    check_choice,
    check_finite,
    check_lengths,
    check_positive,
    check_weights,
    own_arrays,
    read_rows,
    unchanged_on_error,
)
from skstructured._engine.rows import LONGEST, Rows
from skstructured._engine.state import at_once
from skstructured._learners.batch_scaling import scale_of
from skstructured._learners.classifier import with_intercept
from skstructured._learners.lock import Locked, learned_aside
from skstructured._learners.passes import is_verbose, with_progress
from skstructured._learners.predictions import DecodedPredictions, OverClasses
from skstructured.decoders import MAP, Nearest, Sampled, resolve_decoder
from skstructured.estimators.logistic._full_matrix import RoundLimit
from skstructured.extend._types import Features, Floats, Given, Ints, Outputs
from skstructured.extend.decoder import Decoder
from skstructured.extend.learner import Batch, Comparison, Losses, OnlineLearner
from skstructured.losses import FenchelYoung

#: Numbers of transformed rows that are ready at a time, rows at most, products of about a second;
#: and residuals of logits, in units of their size, that are told.
READY, BLOCK, PRODUCTS, UNSOLVED = 1 << 20, 4096, 1 << 32, 1e-8

#: Entries of new rows, as transformed, are cut there, far from where squares are inf: a feature
#: that was tiny in all rows learned is huge.
WIDEST = 1e60


@parameters
class LogisticLearner(Locked, OverClasses, DecodedPredictions, OnlineLearner):
    """Rounds of dense rows, standardised as they arrive, with an object that plays and learns.

    `_new_weights(K, width)` of a subclass makes it: ``learn(Z, Y, weight)``, the logits (n, K)
    played, ``logits(Z)``, ``copy()``, ``residual``; it has a parameter `feature_norm`.
    """

    _: KW_ONLY
    iterate: Literal["last", "random"] = "last"
    decoder: str | Decoder = "map"
    standardize: bool | Literal["auto"] = "auto"
    missing: Literal["mean", "indicator", "error"] = "mean"
    fit_intercept: bool = True
    shuffle: bool = True
    verbose: bool | int = 0
    random_state: Seed = None

    @abstractmethod
    def _new_weights(self, K, width):
        """Check the parameters; what is learned, for rows of `width` features."""

    def fit(self, X: Features, y: Outputs, sample_weight: Given = None) -> Self:
        """Learn one pass from scratch.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, p)
            Features.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,) or None, default=None
            Non-negative weights of the rounds.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For a bad parameter, NaN or inf in X, bad labels, lengths that differ; the fitted state
            is then unchanged.
        """
        check_bool("shuffle", self.shuffle)
        with unchanged_on_error(self, aside=True) as new:
            rounds = new._begin(X, y, None, sample_weight)
            order = np.arange(len(rounds.packed))
            new._learn(rounds, new.random_state_.permutation(order) if self.shuffle else order)
        self.warn_of_trouble()
        return self

    def partial_fit(
        self, X: Features, y: Outputs, classes: Given = None, sample_weight: Given = None
    ) -> Self:
        """Learn the rows in order, one round each; chunks of any size give the same result.

        Parameters
        ----------
        X, y, classes, sample_weight : array-like
            Rows, labels and weights as in `fit`; `classes` are all labels, needed at the first
            call.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For what `fit` refuses, and for labels that are not among the classes.
        """
        first = not hasattr(self, "classes_")
        with unchanged_on_error(self, first) as new:
            is_verbose(self)
            if first:
                rounds = new._begin(X, y, classes, sample_weight, stream=True)
                new._learn(rounds, np.arange(len(rounds.packed)))
            else:
                if classes is not None:
                    self.space_.check_classes(classes)
                rounds = self.resume(X, y, sample_weight)
        if not first:
            own_arrays(self)
            self._learn(rounds, np.arange(len(rounds.packed)))
        self.warn_of_trouble()
        return self

    def begin(self, X: Features, y: Outputs, classes: Given = None) -> Batch:
        """Start a stream whose classes are `classes` or those of y; its `Batch`."""
        with unchanged_on_error(self, aside=True) as new:
            return new._begin(X, y, y if classes is None else classes, stream=True)

    def resume(self, X: Features, y: Outputs, sample_weight: Given = None) -> Batch:
        """`Batch` of further rows of the stream that is being learned."""
        rows = read_rows(self, X)
        check_finite(self, rows)
        return self._with_outputs(rows, y, sample_weight, stream=True)

    def _begin(self, X, y, classes, sample_weight=None, stream=False):
        rows, space = read_rows(self, X, reset=True), self._unfitted_space()
        check_finite(self, rows, fresh=True)
        self._start(space.fit_stream(y, classes) if stream else space.fit(y))
        return self._with_outputs(rows, y, sample_weight, stream)

    def _start(self, space):
        self.space_, self.classes_ = space, space.classes_
        self.random_state_ = check_random_state(self.random_state)
        self._intercept = bool(self.fit_intercept)
        self._scale = scale_of(self, self.n_features_in_, self._intercept)
        check_choice("iterate", self.iterate, ("last", "random"))
        R = self.feature_norm
        self._R = math.inf if R is None else check_positive("feature_norm", R)
        self.loss_ = self._loss(space)
        self._decoder().check_space(self.loss_)
        self._weights = self._new_weights(space.dim_, self._scale.columns + self._intercept)
        self.t_, self._counted, self._kept = 0, 0, None

    @property
    def _row_limits(self):
        above = f"above feature_norm={self._R:g}; give a larger one, or None for no limit."
        return [RoundLimit(self._R * (1.0 + 1e-12), 0, above)] if math.inf > self._R else []

    def _loss(self, space):
        unit = 1.0 if isinstance(self._decoder(), Sampled) else 1.0 / math.log(2.0)
        return FenchelYoung(space, "shannon", scale=unit)

    def _unfitted_loss(self):
        return FenchelYoung(self._unfitted_space(), "shannon", scale=1.0)

    def _decoder(self):
        return resolve_decoder(self.decoder)

    def _check_certified(self, theorem, delta):
        """Raise an error unless a theorem on the sum of the logistic losses covers the play."""
        check_is_fitted(self, "classes_")
        if delta is not None:
            raise GuaranteeError(f"{theorem} bounds the expectation: leave delta out.")
        if not isinstance(self._decoder(), (MAP, Nearest, Sampled)):
            raise GuaranteeError(f"No theorem is stated for the decoder {self.decoder!r}.")

    def _with_outputs(self, rows, y, sample_weight=None, stream=False):
        packed = self.space_.pack(y)
        check_lengths(rows.n_rows, len(packed))
        return Batch(rows, packed, check_weights(sample_weight, packed, rows.n_rows, stream))

    def play(self, rounds: Batch, which: Ints, random_state: Seed = None) -> Losses:
        """The `Losses` of rounds played with what has been learned; nothing is learned."""
        rounds = rounds.take(which)
        theta = self._logits(self._weights, self._scale, rounds.rows)
        return self._losses(theta, self.space_.unpack(rounds.packed), random_state)

    def learn(self, rounds: Batch, which: Ints) -> None:
        """Learn rounds in the order of `which`."""
        self._learn(rounds, np.asarray(which))

    def play_and_learn(self, rounds: Batch, which: Ints, random_state: Seed = None) -> Losses:
        """Play each round, learn it, and go on; `Losses`."""
        played = []
        self._learn(rounds, np.asarray(which), lambda theta, V: played.append((theta, V)))
        theta, V = (np.concatenate(part) for part in zip(*played, strict=True))
        return self._losses(theta, V, random_state)

    def expected_losses(self, x: Floats, V: Floats) -> Floats:
        """Expected target losses (m,) of the next play at x (1, p) against each vertex (m, K)."""
        check_is_fitted(self)
        row, scale = Rows.from_array(x), self._scale.copy()
        scale.apply(row)  # it counts before it is played
        theta = self._logits(self._weights, scale, row)
        same = [np.repeat(row, len(V), axis=0) for row in (theta, self.loss_.mean(theta))]
        return self._decoder().expected_loss(*same, V, self.loss_)

    def comparison(self, rounds: Batch) -> Comparison:
        """What a comparator is measured by: over the rows as they were standardised."""
        rows = self._scale.anew().apply(rounds.rows)[0]
        return Comparison(
            self.loss_, rows.matrix, self.space_.unpack(rounds.packed), self._intercept
        )

    def _learn(self, rounds, order, note=None):
        """Learn rounds in `order`; ``note(logits, V)`` is told of every block played."""
        rows, weight = rounds.rows, rounds.weights
        size = self._rows_at_a_time(rows)
        limits = [*self._weights.limits, *self._row_limits]
        limits = [limit for limit in limits if limit.concerns(weight[order])]
        if limits:
            self._refuse_long_rows(rows, order, weight, size, limits)
        for start in with_progress(self, range(0, len(order), size), len(order)):
            block = order[start : start + size]
            V, now = self.space_.unpack(rounds.packed[block]), weight[block]
            with self.lock:
                theta = self._learn_block(rows, block, V, now)
            if note is not None:
                note(theta, V)

    def _refuse_long_rows(self, rows, order, weight, size, limits):
        """Refuse a row that is too large, or longer than `feature_norm`, before any is learned."""
        scale = self._scale.copy()
        for start in range(0, len(order), size):
            block = order[start : start + size]
            ready, places = scale.apply(rows, block, weight[block])
            Z = with_intercept(ready.matrix[places], self._intercept)
            for limit in limits:
                limit.check(Z, weight[block], block)

    def _rows_at_a_time(self, rows):
        """Rows to learn before another thread may read: a second's work at most."""
        wide, slow = READY // max(rows.width, 1), PRODUCTS // self._weights.products
        return max(1, min(BLOCK, wide, slow))

    def _learn_block(self, rows, block, V, weight):
        """Learn a block; the logits played. A random stop keeps what is known within it."""
        if self.iterate == "last" and hasattr(self._weights, "calls"):
            return self._learn_in_place(rows, block, V, weight)
        with learned_aside(self, draws=True) as twin:
            hit, played = twin._stops(weight), []
            for part in (slice(0, hit), slice(hit, None)):
                if part.start == hit and hit < len(block):
                    twin._kept = (twin._weights.copy(), twin._scale.copy())
                if len(block[part]):
                    played.append(twin._learn_part(rows, block[part], V[part], weight[part]))
            return np.concatenate(played)

    def _learn_in_place(self, rows, block, V, weight):
        """Learn a block in compiled calls; the logits played."""
        logits, start = np.empty(V.shape), 0
        while start < len(block):
            part = slice(start, start + self._weights.room())
            ready, places, count, *_ = self._scale.counted(rows, block[part], weight[part])
            Z = with_intercept(ready.matrix[places], self._intercept)
            known = {"t_": self.t_ + len(Z)}
            known["_counted"] = self._counted + int(np.count_nonzero(weight[part]))
            learn = self._weights.calls(
                Z, np.ascontiguousarray(V[part]), weight[part], logits[part]
            )
            at_once(*learn, count, (vars(self).update, known))
            start += len(Z)
        self._weights.tidy()
        return logits

    def _stops(self, weight):
        """Place of the last round at which a random stop takes what was learned before it."""
        if self.iterate == "last":
            return len(weight)
        live = np.flatnonzero(weight > 0.0)
        number = self._counted + 1.0 + np.arange(len(live))
        hits = live[self.random_state_.random_sample(len(live)) * number < 1.0]
        return int(hits[-1]) if len(hits) else len(weight)

    def _learn_part(self, rows, block, V, weight):
        ready, places = self._scale.apply(rows, block, weight)
        Z = with_intercept(ready.matrix[places], self._intercept)
        theta = self._weights.learn(Z, np.ascontiguousarray(V), weight)
        self.t_ += len(block)
        self._counted += int(np.count_nonzero(weight))
        return theta

    def _logits(self, weights, scale, rows):
        """Logits (n, K) of rows as `scale` transforms them."""
        matrix, found = scale.transformed(rows).matrix, []
        size = max(1, min(BLOCK, READY // max(rows.width, 1)))
        for start in range(0, rows.n_rows, size):
            Z = with_intercept(matrix[start : start + size], self._intercept)
            for limit in self._row_limits:
                limit.check(Z, np.ones(len(Z)), start + np.arange(len(Z)))
            found.append(weights.logits(np.clip(Z, -WIDEST, WIDEST)))
        return np.concatenate(found)

    def _thetas(self, batch):
        with self.lock:
            kept = self._kept if self.iterate == "random" else None
            return self._logits(*(kept or (self._weights, self._scale)), batch.rows)

    def warn_of_trouble(self) -> None:
        """Tell of predictions whose equations were not solved."""
        if self._weights.residual > UNSOLVED:
            warnings.warn(
                f"Logits did not converge (relative error {self._weights.residual:.1g}): radius, "
                "alpha or a sample weight is too extreme.",
                ConvergenceWarning,
                stacklevel=3,
            )

    @property
    def longest_row(self) -> float:
        """The largest norm of a row that is taken as it is."""
        return LONGEST
