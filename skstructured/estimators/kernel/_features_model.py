"""Linear models over rows as standardised, with random features of them behind."""

import copy
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skstructured._base.validation import check_finite
from skstructured._engine.move_and_score import with_near
from skstructured._engine.rows import CACHED, LEAST_BLOCK, Rows
from skstructured._engine.standardize import FIRST
from skstructured._engine.state import Learned
from skstructured._learners.batch_scaling import scale_of
from skstructured._learners.models import LinearModel
from skstructured._learners.pass_selection import FOURIER, learned_rounds
from skstructured.estimators.kernel._features import features_of, new_features
from skstructured.estimators.kernel._values import MANY, counted_rows, tried_gamma, width_of
from skstructured.extend.optimizer import no_high_probability
from skstructured.guarantees.certificates import certificate_of


class MappedScale(Learned):
    """What a `RunningScale` is to a model, for rows [z, φ(z)], z as such a scale makes them.

    Nothing of φ is stored: it is computed for each block of rows, which are dense.

    Parameters
    ----------
    inner : RunningScale
        What makes z, and the indicators of gaps, which stand between z and φ(z).
    features : RandomMap
        What makes φ.
    """

    def __init__(self, inner, features):
        self.inner, self.features = inner, features
        self.mapped = inner.statistics.shape[1]
        self.used, self.indicators = inner.used, inner.indicators

    @property
    def columns(self):
        """Columns of rows as they are learned."""
        return self.inner.columns + self.features.columns

    def makes_sparse(self, rows):
        """No rows are CSR behind it."""
        return False

    def block_size(self, size, rows):
        """Rows to transform at a time, that stay in cache meanwhile."""
        return min(size, max(LEAST_BLOCK, CACHED // max(self.columns, 1)))

    def apply(self, rows, order=None, weight=None):
        """See `RunningScale`."""
        mapped = self._behind(*self.inner.apply(rows, order, weight))
        return mapped, _all_of(mapped)

    def counted(self, rows, order, weight, ahead=False):
        """See `RunningScale`."""
        found = self.inner.counted(rows, order, weight, ahead)
        mapped = self._behind(found.rows, found.places)
        before = mapped.data
        if ahead and self.used:
            before = self._behind(_with_data(found.rows, found.before), found.places).data
        return found._replace(rows=mapped, places=_all_of(mapped), before=before)

    def _behind(self, ready, places):
        """Rows z in the order of `places`, with φ behind."""
        return self._mapped(ready.matrix if self.used else ready.matrix[places])

    def transformed_matrix(self, rows):
        """Rows as they are transformed now; they are not counted."""
        return self.transformed(rows).matrix

    def transformed(self, rows):
        """`transformed_matrix` as rows."""
        return self._mapped(self.inner.transformed_matrix(rows))

    #: Weights are those of transformed rows.
    completed = transformed

    def fold(self, W, columns=None):
        """Weights of `completed` rows, which are those of transformed ones."""
        return W

    def anew(self):
        """A new scale with the same features, which has seen no rows."""
        return MappedScale(dense(self.inner.anew()), self.features)

    def _mapped(self, Z):
        Z = Z.toarray() if hasattr(Z, "toarray") else Z
        return Rows.from_array(self.features.behind(Z, self.mapped))


def _all_of(rows):
    return FIRST if rows.n_rows == 1 else np.arange(rows.n_rows)


def _with_data(rows, data):
    """Rows with other numbers in their places."""
    return rows._replace(data=data, X=data.reshape(rows.n_rows, -1))


def dense(scale):
    """A new `RunningScale`, told that rows are dense: CSR ones are then made so."""
    scale.makes_sparse(Rows.from_array(np.empty((0, 1))))
    return scale


#: CSR rows have at most so many columns: they are made dense.
WIDEST = 4096

#: Rows, at most, by which the width of the kernel goes.
SEEN = 5000

#: Rows that are scored at a time.
SCORED = 1024

#: ‖φ‖² is so many times the number of features, which is what ‖z‖² is on average.
BALANCE = 3.0


class FeatureModel(LinearModel):
    """A linear model over [z, φ(z)]; a mixture has as many experts over z alone.

    The latter are the last ones; each has the optimiser of one of the former, which sees ‖z‖² in
    the place of ‖[z, φ(z)]‖².
    """

    search = FOURIER
    without_kernels = (
        "random features: last_weights_ are those of [z, phi(z)], z the rows as standardised"
    )

    #: One row is transformed by more than a kernel.
    learns_alone = False
    play_alone: Any = None

    #: Set in the place of a new scale, of a model without features.
    given_scale = None

    def _set_up(self, learner, vectors):
        self.has_lines = self.optimizer.mixes and self.given_scale is None
        super()._set_up(learner, np.vstack([vectors] * (1 + self.has_lines)))
        if self.has_lines:
            state, many = self.state, len(self.state.vectors)
            near = (self.space.dim_, many, many // 2, self.scale.inner.columns)
            state.totals, state.which[many // 2 :] = with_near(state.totals, *near), 1

    def _experts(self):
        return super()._experts() * (1 + self.has_lines)

    def expert_names(self):
        """See `LinearModel`."""
        names = self.optimizer.names(False)
        if self.has_lines:
            names = names + [f"{name} of the line" for name in names]
        return names + [f"average of {name}" for name in names] if self.averaged else names

    def certificate(self, delta):
        """See `Model`: bounds against every U are those of experts over [z, φ(z)]."""
        if not self.has_lines:
            return super().certificate(delta)
        no_high_probability(self.optimizer, delta)
        return certificate_of(self.optimizer, self.loss, self.state, self.expert_names())

    def _raw(self, Z):
        if not self.has_lines:
            return super()._raw(Z)
        raw, half = np.empty((Z.shape[0], len(self.state.matrix))), len(self.state.vectors) // 2
        rows, near, width = half * self.space.dim_, self.scale.inner.columns, self.width
        for at, start in enumerate(range(0, raw.shape[1], rows)):
            columns, part = near if at % 2 else width, slice(start, start + rows)
            Theta = self.state.matrix[part]
            raw[:, part] = Z[:, :columns] @ Theta[:, :columns].T + Theta[:, width]
        return raw

    def _new_scale(self, learner):
        """What standardises rows and maps them; widths are those of a stream."""
        if self.given_scale is not None:
            return self.given_scale
        inner = dense(scale_of(learner, learner.n_features_in_, True))
        p = learner.n_features_in_
        gamma, multiscale = width_of(_gamma_of(learner), learner.kernel, p)
        rng = check_random_state(learner.random_state_.randint(2**31 - 1))
        features = new_features(learner, multiscale, rng)
        features.set_width(gamma, BALANCE * p)
        return MappedScale(inner, features)

    def check(self, learner, batch, stream):
        """See `Model`: of features of what is not finite, nothing can be seen any more."""
        if batch.rows.is_sparse and batch.rows.width > WIDEST:
            raise ValueError(
                f"Random features make CSR rows dense, which may have at most {WIDEST:,} columns, "
                f"got {batch.rows.width:,}: put TruncatedSVD() before it in a pipeline, or take "
                "OnlineStructuredPredictor, which is linear."
            )
        check_finite(learner, batch.rows)

    def prepare(self, learner, batch):
        """Take the width of the kernel from some of the rows."""
        features, scale = self.scale.features, self.scale.anew().inner
        chosen = counted_rows(batch.weights, SEEN)
        weight, some = batch.weights[chosen], batch.rows.matrix[chosen]
        some = Rows.from_array(some.toarray() if batch.rows.is_sparse else some)
        scale.count_all(some, weight)
        Z = scale.transformed_matrix(some)[:, : self.scale.mapped]
        given = _gamma_of(learner)
        gamma, _ = width_of(given, features.kernel, Z.shape[1], Z, weight)
        features.set_width(gamma, features.square)
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
            learner._model = other._model
            return line
        return curve

    def _without_features(self, learner):
        """The model over z alone, which has learned nothing."""
        twin, state = object.__new__(FeatureModel), self.state
        vars(twin).update({name: value for name, value in vars(self).items() if name != "_loops"})
        twin.given_scale = MappedScale(self.scale.anew().inner, self.scale.features.none())
        few = len(state.vectors) // (1 + self.has_lines)
        twin._set_up(learner, state.vectors[:few].copy())
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


def _gamma_of(learner):
    return "multiscale" if learner.gamma is None else learner.gamma
