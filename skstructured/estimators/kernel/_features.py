"""Random Fourier features φ of rows, whose products tend to a Gaussian kernel; models over them."""

from typing import Any

import numpy as np

from skstructured._base.validation import check_choice, check_finite, check_integer
from skstructured._engine.move_and_score import with_feature_subset
from skstructured._engine.rows import Rows, rows_in_cache
from skstructured._engine.simd import write_waves
from skstructured._engine.state import State
from skstructured._learners.batch_scaling import scale_of
from skstructured._learners.models import LinearModel
from skstructured._learners.pass_selection import FOURIER_SEARCH
from skstructured.estimators._auto import draw_seeds, is_auto
from skstructured.estimators.kernel._values import counted_rows, kernel_of, width_of


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

    ‖φ‖² is three times the number p of features, which is the mean of ‖z‖². There are
    `n_components` columns, or one more; with `multiscale`, γ is the middle of three.
    """

    def __init__(self, p, n_components, multiscale, rng):
        n_frequencies = -(-n_components // 2)
        factors = (0.25, 1.0, 4.0)[:n_frequencies] if multiscale else (1.0,)
        sizes = [len(indices) for indices in np.array_split(np.arange(n_frequencies), len(factors))]
        shares = np.repeat([1.0 / (len(sizes) * size) for size in sizes], sizes)
        self.columns, self.octave = 2 * n_frequencies, np.repeat(factors, sizes)
        self.amplitudes = np.sqrt(3.0 * p * shares)
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


def count_of(learner):
    """Number of random features, 0 with the kernel itself; a ValueError for bad parameters."""
    approximation, kernel = learner.approximation, kernel_of(learner)
    count = 1200 if is_auto(learner.n_components) else learner.n_components
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

    Nothing of φ is stored: it is computed for each block of rows, which are dense. The `inner` one
    makes z, and the indicators of missing values between z and φ(z); it has not seen rows yet.
    """

    def __init__(self, inner, features):
        self.inner, self.features, inner.kind = inner, features, "dense"
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
        mapped = self._behind(*self.inner.apply(rows, order, weight))
        return mapped, np.arange(mapped.n_rows)

    def counted(self, rows, order, weight, ahead=False):
        pending = self.inner.counted(rows, order, weight, ahead)
        mapped = self._behind(pending.rows, pending.places)
        places, prior_data = np.arange(mapped.n_rows), mapped.data
        if ahead and self.used:
            matrix = pending.prior_data.reshape(pending.rows.n_rows, -1)
            earlier = pending.rows._replace(data=pending.prior_data, X=matrix)
            prior_data = self._behind(earlier, pending.places).data
        return pending._replace(rows=mapped, places=places, prior_data=prior_data)

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
        return MappedScale(self.inner.reset_copy(), self.features)

    def _mapped(self, Z):
        Z = Z.toarray() if hasattr(Z, "toarray") else Z
        return Rows.from_array(self.features.behind(Z, self.mapped))


class FeatureModel(LinearModel):
    """A linear model over [z, φ(z)]; a mixture has as many experts over z alone, the last ones."""

    search, small_products = FOURIER_SEARCH, True
    without_kernels = (
        "random features: last_weights_ are those of [z, phi(z)], with z the standardized rows"
    )

    #: One row is transformed by more than a kernel.
    learns_alone = False
    play_alone: Any = None

    #: CSR rows have at most so many columns: they are made dense.
    widest = 4096

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
        names = self.optimizer.names(False)
        if self.has_lines:
            names = names + [f"{name} of the line" for name in names]
        return names + [f"average of {name}" for name in names] if self.averaged else names

    def _theorem(self, delta):
        if not self.has_lines:
            return super()._theorem(delta)
        return self.optimizer.certificate(self.loss, self.state, delta, self.expert_names())

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
        count, p = count_of(learner), learner.n_features_in_
        width, multiscale = width_of(learner.gamma, "rbf", p)
        rng = np.random.RandomState(draw_seeds(learner.random_state_))
        features = FourierMap(p, count, multiscale, rng)
        features.set_width(width)
        return MappedScale(scale_of(learner, p, True), features)

    def check(self, learner, batch, stream):
        """A ValueError for wide CSR rows, and values that the map makes finite."""
        if batch.rows.is_sparse and batch.rows.width > self.widest:
            raise ValueError(
                f"Random features are only supported for CSR rows with at most {self.widest:,} "
                f"columns; got {batch.rows.width:,}. Put TruncatedSVD() before the estimator in a "
                "pipeline, or use OnlineStructuredPredictor, which is linear."
            )
        check_finite(learner, batch.rows)

    def prepare(self, learner, batch):
        """Take the width of the kernel from some of the rows."""
        scale = self.scale.reset_copy().inner
        chosen = counted_rows(batch.weights, 5000)
        weight, sample = batch.weights[chosen], batch.rows.matrix[chosen]
        sample = Rows.from_array(sample.toarray() if batch.rows.is_sparse else sample)
        scale.count_all(sample, weight)
        Z = scale.transformed_matrix(sample)[:, : self.scale.mapped]
        self.scale.features.set_width(width_of(learner.gamma, "rbf", Z.shape[1], Z, weight)[0])

    def scores(self, batch, averaged):
        """Scores (n, dim); features are computed for some rows at a time."""
        theta, size = np.empty((batch.rows.n_rows, self.space.dim_)), 1024
        for start in range(0, len(theta), size):
            chunk = slice(start, start + size)
            theta[chunk] = super().scores(batch.take(chunk), averaged)
        return theta if self.factor == 1.0 else self.factor * theta
