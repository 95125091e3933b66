"""Random Fourier features φ of rows, whose products tend to a Gaussian kernel; models over them."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skstructured._base.validation import check_choice, check_finite, check_integer
from skstructured._engine.move_and_score import with_feature_subset
from skstructured._engine.rows import Rows, rows_in_cache
from skstructured._engine.simd import write_waves
from skstructured._engine.state import State
from skstructured._learners.batch_scaling import scale_of
from skstructured._learners.models import LinearModel
from skstructured._learners.pass_selection import FOURIER_SEARCH
from skstructured.estimators._auto import is_auto
from skstructured.estimators.kernel._values import counted_rows, kernel_of, width_of
from skstructured.guarantees.certificates import mixture_certificate

#: Factors of γ of the three kernels whose mean is "multiscale".
OCTAVES = (0.25, 1.0, 4.0)

#: ‖φ‖² is so many times the number of features, which is what ‖z‖² is on average.
BALANCE = 3.0


def frequencies_of(p, m, rng):
    """Frequencies (p, m) of a Gaussian kernel with γ = 1, in radians.

    They are normal, and orthogonal to each other, p at a time.
    """
    blocks = []
    for start in range(0, m, p):
        size = min(p, m - start)
        Q, R = np.linalg.qr(rng.standard_normal((p, min(p, m))))
        lengths = np.sqrt(rng.chisquare(p, size=size))
        blocks.append((Q * np.sign(np.diag(R)))[:, :size] * lengths)
    return np.sqrt(2.0) * np.hstack(blocks)


class FourierMap(State):
    r"""φ(z) = (a cos ω_jᵀz, a sin ω_jᵀz), j = 1 … m, with normal ω_j drawn once (Yu et al. 2016).

    Parameters
    ----------
    p, n_components : int
        Features, and 2m; odd numbers are rounded up.
    multiscale : bool
        Whether γ is the middle of three.
    rng : RandomState
        Draws the frequencies.

    Attributes
    ----------
    columns : int
        Number of columns of φ.
    frequencies : ndarray of shape (p, m)
        With γ = 1.
    octave : ndarray of shape (m,)
        By what γ is multiplied, with `multiscale`.
    amplitudes : ndarray of shape (m,)
        The factors a.
    """

    def __init__(self, p, n_components, multiscale, rng):
        n_frequencies = -(-n_components // 2)
        factors = OCTAVES[:n_frequencies] if multiscale else (1.0,)
        sizes = [len(indices) for indices in np.array_split(np.arange(n_frequencies), len(factors))]
        shares = np.repeat([1.0 / (len(sizes) * size) for size in sizes], sizes)
        self.columns, self.octave = 2 * n_frequencies, np.repeat(factors, sizes)
        self.amplitudes = np.sqrt(BALANCE * p * shares)
        self.frequencies = np.hstack([frequencies_of(p, size, rng) for size in sizes])

    def copy(self):
        """The map itself: learning rows does not change it."""
        return self

    def set_width(self, gamma):
        """Take the frequencies of γ."""
        self.gamma = gamma
        self.turns = self.frequencies * (np.sqrt(gamma * self.octave) / (2.0 * np.pi))

    def behind(self, Z, width):
        """Rows (n, columns) of Z, whose first `width` columns are mapped, with φ behind them."""
        out = np.empty((len(Z), Z.shape[1] + self.columns))
        out[:, : Z.shape[1]] = Z
        write_waves(Z[:, :width] @ self.turns, self.amplitudes, out)
        return out


def fourier_map(learner, gamma, count):
    """A newly drawn map of a learner, whose width is that of a stream."""
    p = learner.n_features_in_
    width, multiscale = width_of(gamma, "rbf", p)
    rng = check_random_state(learner.random_state_.randint(2**31 - 1))
    features = FourierMap(p, count, multiscale, rng)
    features.set_width(width)
    return features


#: Random features, unless a number is given.
USUAL = 1200


def count_of(learner):
    """Number of random features that stand for the kernel, 0 with the kernel itself.

    A ValueError for parameters that do not go together.
    """
    approximation, kernel = learner.approximation, kernel_of(learner)
    count = USUAL if is_auto(learner.n_components) else learner.n_components
    check_choice("approximation", approximation, ("none", "fourier"))
    check_integer("n_components", count)
    if approximation == "none":
        return 0
    if kernel.function != "rbf":
        raise ValueError(
            f"approximation={approximation!r} is only supported for kernel='rbf'; got "
            f"kernel={kernel.function!r}. Use approximation='none'."
        )
    return count


class MappedScale(State):
    """What a `RunningScale` is to a model, for rows [z, φ(z)], z as such a scale makes them.

    Nothing of φ is stored: it is computed for each block of rows, which are dense.

    Parameters
    ----------
    inner : RunningScale
        What makes z, and the indicators of gaps, which stand between z and φ(z).
    features : FourierMap
        What makes φ.
    """

    def __init__(self, inner, features):
        self.inner, self.features = inner, features
        self.mapped = inner.statistics.shape[1]
        self.used, self.indicators = inner.used, inner.indicators

    @property
    def columns(self):
        """Number of columns of transformed rows."""
        return self.inner.columns + self.features.columns

    def makes_sparse(self, rows):
        """No rows are CSR behind it."""
        return False

    def block_size(self, size, rows):
        """Rows to transform at a time, that stay in cache meanwhile."""
        return rows_in_cache(size, self.columns)

    def apply(self, rows, order=None, weight=None):
        """See `RunningScale`."""
        mapped = self._behind(*self.inner.apply(rows, order, weight))
        return mapped, np.arange(mapped.n_rows)

    def counted(self, rows, order, weight, ahead=False):
        """See `RunningScale`."""
        pending = self.inner.counted(rows, order, weight, ahead)
        mapped = self._behind(pending.rows, pending.places)
        earlier_data = mapped.data
        if ahead and self.used:
            matrix = pending.before.reshape(pending.rows.n_rows, -1)
            earlier = pending.rows._replace(data=pending.before, X=matrix)
            earlier_data = self._behind(earlier, pending.places).data
        return pending._replace(rows=mapped, places=np.arange(mapped.n_rows), before=earlier_data)

    def _behind(self, ready, places):
        """Rows z in the order of `places`, with φ behind."""
        return self._mapped(ready.matrix if self.used else ready.matrix[places])

    def transformed_matrix(self, rows):
        """Rows by the current transformation; they are not counted."""
        return self.transformed(rows).matrix

    def transformed(self, rows):
        """`transformed_matrix` as rows."""
        return self._mapped(self.inner.transformed_matrix(rows))

    def imputed_parts(self, rows):
        """Rows for which weights are: transformed ones, which are few at a time already."""
        yield self.transformed(rows)

    def fold(self, W, columns=None):
        """Weights of transformed rows, unchanged."""
        return W

    def reset_copy(self):
        """A new scale with the same features, which has seen no rows."""
        return MappedScale(dense(self.inner.reset_copy()), self.features)

    def _mapped(self, Z):
        Z = Z.toarray() if hasattr(Z, "toarray") else Z
        return Rows.from_array(self.features.behind(Z, self.mapped))


def dense(scale):
    """A new `RunningScale` for dense rows: CSR ones are converted."""
    scale.makes_sparse(Rows.from_array(np.empty((0, 1))))
    return scale


#: CSR rows have at most so many columns: they are made dense.
WIDEST = 4096

#: Rows, at most, by which the width of the kernel goes.
SEEN = 5000

#: Rows that are scored at a time.
SCORED = 1024


class FeatureModel(LinearModel):
    """A linear model over [z, φ(z)]; a mixture has as many experts over z alone.

    The latter are the last ones; each has the optimizer of one of the former, which sees ‖z‖²
    instead of ‖[z, φ(z)]‖².
    """

    search, small_products = FOURIER_SEARCH, True
    without_kernels = (
        "random features: last_weights_ are those of [z, phi(z)], with z the standardized rows"
    )

    #: One row is transformed by more than a kernel.
    learns_alone = False
    play_alone: Any = None

    def _set_up(self, learner, vectors):
        self.has_lines = self.optimizer.mixes
        super()._set_up(learner, np.vstack([vectors] * (1 + self.has_lines)))
        if self.has_lines:
            state, n_experts = self.state, len(self.state.vectors)
            near = (self.space.dim_, n_experts, n_experts // 2, self.scale.inner.columns)
            state.totals = with_feature_subset(state.totals, *near)
            state.which[n_experts // 2 :] = 1

    def _experts(self):
        return super()._experts() * (1 + self.has_lines)

    def expert_names(self):
        """See `LinearModel`."""
        names = self.optimizer.names(False)
        if self.has_lines:
            names = names + [f"{name} of the line" for name in names]
        return names + [f"average of {name}" for name in names] if self.averaged else names

    def _theorem(self, delta):
        """See `Model`: bounds against every U are those of experts over [z, φ(z)]."""
        if not self.has_lines:
            return super()._theorem(delta)
        return mixture_certificate(
            self.optimizer, self.loss, self.state, delta, self.expert_names()
        )

    def _raw(self, Z):
        if not self.has_lines:
            return super()._raw(Z)
        raw, half = np.empty((Z.shape[0], len(self.state.matrix))), len(self.state.vectors) // 2
        rows, near, width = half * self.space.dim_, self.scale.inner.columns, self.width
        for block_index, start in enumerate(range(0, raw.shape[1], rows)):
            columns, block = near if block_index % 2 else width, slice(start, start + rows)
            Theta = self.state.matrix[block]
            raw[:, block] = Z[:, :columns] @ Theta[:, :columns].T + Theta[:, width]
        return raw

    def _new_scale(self, learner):
        """The standardization and the map of rows; widths are those of a stream."""
        inner = dense(scale_of(learner, learner.n_features_in_, True))
        return MappedScale(inner, fourier_map(learner, learner.gamma, count_of(learner)))

    def check(self, learner, batch, stream):
        """See `Model`; values that are not finite cannot be recognized after the map."""
        if batch.rows.is_sparse and batch.rows.width > WIDEST:
            raise ValueError(
                f"Random features are only supported for CSR rows with at most {WIDEST:,} columns; "
                f"got {batch.rows.width:,}. Put TruncatedSVD() before the estimator in a "
                "pipeline, or use OnlineStructuredPredictor, which is linear."
            )
        check_finite(learner, batch.rows)

    def prepare(self, learner, batch):
        """Take the width of the kernel from some of the rows."""
        scale = self.scale.reset_copy().inner
        chosen = counted_rows(batch.weights, SEEN)
        weight, sample = batch.weights[chosen], batch.rows.matrix[chosen]
        sample = Rows.from_array(sample.toarray() if batch.rows.is_sparse else sample)
        scale.count_all(sample, weight)
        Z = scale.transformed_matrix(sample)[:, : self.scale.mapped]
        self.scale.features.set_width(width_of(learner.gamma, "rbf", Z.shape[1], Z, weight)[0])

    def scores(self, batch, averaged):
        """See `Model`; features are computed for some rows at a time."""
        theta = np.empty((batch.rows.n_rows, self.space.dim_))
        for start in range(0, len(theta), SCORED):
            chunk = slice(start, start + SCORED)
            theta[chunk] = super().scores(batch.take(chunk), averaged)
        return theta if self.factor == 1.0 else self.factor * theta
