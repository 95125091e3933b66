"""Linear models over rows as standardised, with random features of them behind."""

import copy
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skstructured._base.rows_in_range import check_finite
from skstructured._engine.state import CLOCK
from skstructured._learners.held_out import FOURIER, learned_rounds
from skstructured._learners.linear import LinearModel
from skstructured._learners.mixture import MixtureModel
from skstructured._learners.scaling import scale_of
from skstructured.estimators.kernel._approximations import features_of, new_features
from skstructured.estimators.kernel._beside_line import BesideLine
from skstructured.estimators.kernel._mapped_scale import MappedScale
from skstructured.estimators.kernel._tried_widths import MANY, tried_gamma
from skstructured.estimators.kernel._values import counted_rows, width_of

#: Rows, at most, by which the width of the kernel goes.
SEEN = 5000

#: Rows that are scored at a time.
SCORED = 1024

#: ‖φ‖² is so many times the number of features, which is what ‖z‖² is on average, or for CSR rows
#: so many times what ‖z‖² was seen to be, within these bounds.
BALANCE, SIZES = 3.0, (1e-12, 1e12)


class OverFeatures:
    """What is the same for all models over [z, φ(z)]."""

    search = FOURIER

    #: One row is transformed by more than a kernel.
    learns_alone = False
    play_alone: Any = None

    #: Set in the place of a new scale.
    given_scale = None

    def _new_scale(self, learner, dtype):
        """What standardises rows and maps them; widths are those of a stream."""
        if self.given_scale is not None:
            return self.given_scale
        inner = scale_of(learner, learner.n_features_in_, True, dtype)
        p = learner.n_features_in_
        gamma, multiscale = width_of(_gamma_of(learner), learner.kernel, p)
        rng = check_random_state(learner.random_state_.randint(2**31 - 1))
        features = new_features(learner, multiscale, rng, dtype)
        features.set_width(gamma, BALANCE * p)
        return MappedScale(inner, features)

    def check(self, learner, batch, stream):
        """See `Model`: of features of what is not finite, nothing can be seen any more."""
        check_finite(learner, batch.rows)
        self.scale.settle(batch.rows)
        if self.scale.is_sparse and self.state.vector[CLOCK] == 0.0:
            self._take_first(learner, batch)

    def _take_first(self, learner, batch):
        """Take widths and ‖φ‖² from the first row that counts, where rows are CSR."""
        first = np.flatnonzero(batch.weights > 0.0)[:1]
        entries = batch.rows.taken(first).data.astype(np.float64)
        size = np.count_nonzero(entries) if self.scale.used else float(entries @ entries)
        if size > 0.0:
            features, size = self.scale.features, float(np.clip(size, *SIZES))
            gamma, _ = width_of(_gamma_of(learner), features.kernel, size)
            features.set_width(gamma, BALANCE * size)

    def prepare(self, learner, batch):
        """Take the width of the kernel from some of the rows."""
        rows, features = batch.rows, self.scale.features
        chosen = counted_rows(batch.weights, SEEN)
        weight = batch.weights[chosen]
        some, scale = rows.taken(chosen), self.scale.inner.anew()
        scale.count_all(some, weight)
        Z = scale.transformed_matrix(some)
        if hasattr(Z, "toarray") and not self.scale.is_sparse:
            Z = Z.toarray()
        Z = Z[:, : self.scale.mapped]
        given = _gamma_of(learner)
        gamma, _ = width_of(given, features.kernel, Z.shape[1], Z, weight)
        square = features.square
        if self.scale.is_sparse and Z.nnz:
            squares = np.asarray(Z.multiply(Z).sum(axis=1)).ravel()
            square = BALANCE * float(np.clip(np.average(squares, weights=weight), *SIZES))
        features.set_width(gamma, square)
        features.balance(Z, weight)
        waves = features_of(features.kernel) == "fourier"
        if waves and given == "multiscale" and learned_rounds(batch) > MANY:
            features.set_width(tried_gamma(learner, batch, gamma), features.square)

    def tried(self, learner, batch, search):
        """See `Model`; where rows held out are lost less to a line, the features are left."""
        curve = super().tried(learner, batch, search)
        if curve is None:
            return None
        other = copy.copy(learner)
        other._model = self._without_features(learner)
        line = super().tried(other, batch, search)
        losses = [tried.loss_after(tried.chosen(search)) for tried in (line, curve)]
        if losses[0] < losses[1]:
            vars(self).update(vars(other._model))
            return line
        return curve

    def _without_features(self, learner):
        """The model over z alone, which has learned nothing."""
        twin = copy.copy(self)
        vars(twin).pop("_loops", None)
        twin.given_scale = MappedScale(self.scale.inner.anew(), self.scale.features.none())
        twin.has_lines, vectors = False, self._vectors_of_line()
        twin._set_up(learner, vectors)
        del twin.given_scale
        return twin

    def scores(self, batch, averaged):
        """See `Model`; features are computed for some rows at a time."""
        every = np.arange(batch.rows.n_rows)
        theta = np.empty((len(every), self.space.dim_))
        for start in range(0, len(every), SCORED):
            part = every[start : start + SCORED]
            theta[part] = super().scores(batch.take(part), averaged)
        return theta if self.factor == 1.0 else self.factor * theta


class FourierModel(OverFeatures, LinearModel):
    """One matrix of weights, moved by an optimiser."""

    def _vectors_of_line(self):
        return self.state.vector.copy()


class FourierMixtureModel(OverFeatures, BesideLine):
    """A mixture of them, and of lines."""

    def _vectors_of_line(self):
        return self.state.vectors[: len(self.state.vectors) // 2].copy()


def features_model(learner):
    """The model of a learner over [z, φ(z)], by its optimiser."""
    mixed = getattr(learner.optimizer_, "model", LinearModel) is MixtureModel
    return (FourierMixtureModel if mixed else FourierModel)(learner)


def _gamma_of(learner):
    return "multiscale" if learner.gamma is None else learner.gamma
