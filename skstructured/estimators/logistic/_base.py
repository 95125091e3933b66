"""Second-order logistic learners: their model, a compiled pass without a matrix W of weights."""

import math
import warnings
from dataclasses import KW_ONLY
from itertools import pairwise
from typing import Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from skstructured._base.component import Seed, parameters
from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import check_positive
from skstructured._engine.state import at_once
from skstructured._learners.batch_scaling import scale_of
from skstructured._learners.models import BlockResult
from skstructured._learners.weights import with_intercept
from skstructured.decoders import MAP, Nearest, Sampled, resolve_decoder
from skstructured.estimators.logistic._full_matrix import ROUNDS_PER_CHECK, RoundLimit
from skstructured.extend.decoder import Decoder
from skstructured.extend.learner import Comparison, Model
from skstructured.guarantees.certificates import Certificate
from skstructured.losses import FenchelYoung


@parameters
class LogisticParameters:
    """Parameters that second-order logistic learners share, behind those of each."""

    _: KW_ONLY
    decoder: str | Decoder = "map"
    standardize: bool | Literal["auto", "moments"] = "auto"
    missing: Literal["mean", "indicator", "error"] = "mean"
    fit_intercept: bool = True
    verbose: bool | int = 0
    random_state: Seed = None


def logistic_parts(self, space):
    """Return the logistic loss over a fitted space, in bits or nats, and no optimizer."""
    unit = 1.0 if isinstance(self._given_decoder(), Sampled) else 1.0 / math.log(2.0)
    return FenchelYoung(space, "shannon", scale=unit), None


def take_decoder(self):
    """Check that the decoder supports the loss."""
    self._given_decoder().check_space(self.loss_)


def check_certified(learner, theorem, delta):
    """Raise an error unless a theorem on the sum of the logistic losses covers the play."""
    check_is_fitted(learner, "classes_")
    if delta is not None:
        raise GuaranteeError(
            f"{theorem} holds in expectation only: call certificate() without delta."
        )
    if not isinstance(resolve_decoder(learner.decoder), (MAP, Nearest, Sampled)):
        raise GuaranteeError(
            f"No bound is known for the decoder {learner.decoder!r}: use 'map' or 'sampled'."
        )


def certificate_in_unit(learner, theorem, quadratic, offset, constants):
    """The `Certificate` of a bound in nats, in the unit of the learner's loss."""
    unit = learner.loss_.scale_
    named = "nats" if unit == 1.0 else "bits"
    radius = constants["radius"]
    return Certificate(theorem, unit * quadratic, unit * offset, radius, constants, named)


class SecondOrderModel(Model):
    """Standardized dense rows, and `SecondOrderRounds`, ``new_rounds(K, width)``."""

    records = True
    #: Transformed numbers at a time, rows predicted at a time, and products of about a second.
    numbers_per_block, rows_per_block, products_per_call = 1 << 20, 4096, 1 << 32

    def __init__(self, learner, new_rounds):
        self.loss, self.space = learner.loss_, learner.space_
        self.intercept = learner.fit_intercept_
        self.scale = scale_of(learner, learner.n_features_in_, self.intercept, forgets=False)
        R = learner.feature_norm
        self._R = math.inf if R is None else check_positive("feature_norm", R)
        self.rounds = new_rounds(self.space.dim_, self.scale.columns + self.intercept)

    @property
    def in_place(self):
        return self.rounds.in_place

    @property
    def _row_limits(self):
        above = f"above feature_norm={self._R:g}. Increase it, or set it to None for no limit."
        return [RoundLimit(self._R * (1.0 + 1e-12), 0, above)] if math.inf > self._R else []

    def blocks(self, batch, order, record):
        """See `Model`; no block goes beyond a look at P. Rows that are too large are refused."""
        wide = self.numbers_per_block // max(batch.rows.width, 1)
        slow = self.products_per_call // self.rounds.products
        # Rows to learn before another thread may read, 2^m: a second's work at most.
        size = 1 << max(0, min(ROUNDS_PER_CHECK, wide, slow).bit_length() - 1)
        self._refuse_long_rows(batch.rows, order, batch.weights, size)
        n, first = len(order), size - self.n_rounds % size
        return [order[start:stop] for start, stop in pairwise([0, *range(first, n, size), n])]

    def _refuse_long_rows(self, rows, order, weight, size):
        """Refuse a row that is too large, or longer than `feature_norm`, before any is learned."""
        limits = [*self.rounds.limits, *self._row_limits]
        limits = [limit for limit in limits if limit.concerns(weight[order])]
        scale = self.scale.copy()
        for start in range(0, len(order) if limits else 0, size):
            block = order[start : start + size]
            ready, places = scale.apply(rows, block, weight[block])
            Z = with_intercept(ready.matrix[places], self.intercept)
            for limit in limits:
                limit.check(Z, weight[block], block)

    def learn(self, batch, indices, weight, record):
        """Learn rows by calls that move all that was learned; see `Model`."""
        V = np.ascontiguousarray(self.space.unpack(batch.packed[indices]))
        logits = np.empty(V.shape)
        ready, places, count, *_ = self.scale.counted(batch.rows, indices, weight)
        Z = with_intercept(ready.matrix[places], self.intercept)
        attributes = {"n_rounds": self.n_rounds + len(Z)}
        learn = self.rounds.calls(Z, V, weight, logits)
        at_once(*learn, count, (vars(self).update, attributes))
        self.rounds.tidy()
        return BlockResult(-1, logits, V)

    def scores(self, batch, averaged):
        """Logits (n, K) of rows that are not standardized yet."""
        matrix, logits = self.scale.transformed(batch.rows).matrix, []
        wide = self.numbers_per_block // max(batch.rows.width, 1)
        size = max(1, min(self.rows_per_block, wide))
        largest = 1e60  # of a feature that was tiny in all rows learned; squares stay finite
        for start in range(0, batch.rows.n_rows, size):
            Z = with_intercept(matrix[start : start + size], self.intercept)
            for limit in self._row_limits:
                limit.check(Z, np.ones(len(Z)), start + np.arange(len(Z)))
            logits.append(self.rounds.logits(np.clip(Z, -largest, largest)))
        return np.concatenate(logits)

    def comparison(self, batch, weight):
        """The data by which comparators are measured, over the rows as standardized in learning."""
        rows = self.scale.reset_copy().apply(batch.rows)[0]
        return Comparison(self.loss, rows.matrix, self.space.unpack(batch.packed), self.intercept)

    def diagnostics(self):
        """Warn about predictions whose equations were not solved; there are no sentences."""
        if self.rounds.residual > 1e-8:
            warnings.warn(
                f"Logits did not converge (relative error {self.rounds.residual:.1g}): radius, "
                "alpha or a sample weight is too extreme.",
                ConvergenceWarning,
                stacklevel=5,
            )
        return []


def new_second_order_model(self):
    """Return a `SecondOrderModel` that has learned nothing; see `OnlineEstimator`."""
    return SecondOrderModel(self, self._new_weights)
