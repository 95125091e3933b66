"""Random features φ of rows, with E <φ(x), φ(z)> = k(x, z), and linear models over [z, φ(z)]."""

import copy
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from skstructured._base.validation import check_choice, check_finite, check_integer
from skstructured._engine.move_and_score import with_feature_subset
from skstructured._engine.rows import CACHED, LEAST_BLOCK, Rows
from skstructured._engine.sincos import write_waves
from skstructured._engine.standardize import FIRST
from skstructured._engine.state import State
from skstructured._learners.batch_scaling import scale_of
from skstructured._learners.models import LinearModel
from skstructured._learners.pass_selection import FOURIER, learned_rounds
from skstructured.estimators._auto import is_auto
from skstructured.estimators.kernel._values import (
    MANY,
    check_coef0,
    counted_rows,
    kernel_of,
    tried_gamma,
    width_of,
)
from skstructured.extend.optimizer import no_high_probability
from skstructured.guarantees.certificates import certificate_of

#: Kernels that are the mean of cosines over frequencies that can be drawn.
DRAWN = ("rbf", "laplacian")

#: Factors of γ of the three kernels whose mean is "multiscale".
OCTAVES = (0.25, 1.0, 4.0)


def orthogonal_frequencies(p, m, rng):
    """Columns (p, m) of normal vectors that are orthogonal to each other, p at a time."""
    blocks = []
    for start in range(0, m, p):
        size = min(p, m - start)
        Q, R = np.linalg.qr(rng.standard_normal((p, min(p, m))))
        lengths = np.sqrt(rng.chisquare(p, size=size))
        blocks.append((Q * np.sign(np.diag(R)))[:, :size] * lengths)
    return np.hstack(blocks)


def frequencies_of(kernel, p, m, rng):
    """Frequencies (p, m) of a kernel with γ = 1, in radians."""
    if kernel == "laplacian":
        return rng.standard_cauchy((p, m))
    return np.sqrt(2.0) * orthogonal_frequencies(p, m, rng)


class RandomMap(State):
    """What makes φ(z) of rows z, `columns` numbers each.

    Parameters
    ----------
    p, columns : int
        Features of rows, and of φ.
    """

    def __init__(self, p, columns):
        self.p, self.columns = p, columns

    def balance(self, Z, weight):
        """Have the mean ‖φ(z)‖² of rows Z of some weights (n,) be `square`, if it is not."""

    def none(self):
        """Without any feature."""
        twin = self.copy()
        twin.columns = 0
        return twin

    def behind(self, Z, width):
        """Rows (n, columns) of Z, whose first `width` columns are mapped, with φ behind them."""
        out = np.empty((len(Z), Z.shape[1] + self.columns))
        out[:, : Z.shape[1]] = Z
        if self.columns > 0:
            self._write(Z[:, :width], out)
        return out

    def _write(self, Z, out):
        """Write φ of rows Z into the last columns of `out`."""
        raise NotImplementedError


class FourierMap(RandomMap):
    r"""φ(x) = (a cos ω_jᵀx, a sin ω_jᵀx), j = 1 … m, with ω_j drawn once.

    Parameters
    ----------
    kernel : {"rbf", "laplacian"}
        Frequencies are normal, orthogonal p at a time (Yu et al. 2016), with variance 2γ; or
        independent Cauchy variables with scale γ.
    p, n_components : int
        Features, and 2m; odd numbers are rounded up.
    multiscale : bool
        Whether γ is the middle of three.
    rng : RandomState
        Draws the frequencies.

    Attributes
    ----------
    frequencies : ndarray of shape (p, m)
        With γ = 1.
    octave : ndarray of shape (m,)
        By what γ is multiplied, with `multiscale`.
    """

    def __init__(self, kernel, p, n_components, multiscale, rng):
        many = -(-n_components // 2)
        super().__init__(p, 2 * many)
        factors = OCTAVES[:many] if multiscale else (1.0,)
        sizes = [len(part) for part in np.array_split(np.arange(many), len(factors))]
        self.kernel, self.octave = kernel, np.repeat(factors, sizes)
        self.shares = np.repeat([1.0 / (len(sizes) * size) for size in sizes], sizes)
        self.frequencies = np.hstack([frequencies_of(kernel, p, size, rng) for size in sizes])

    def set_width(self, gamma, square):
        """Take the frequencies of γ, and ‖φ‖² = `square`."""
        self.gamma, self.square = gamma, square
        widths = gamma * self.octave
        factors = widths if self.kernel == "laplacian" else np.sqrt(widths)
        self.turns = self.frequencies * (factors / (2.0 * np.pi))
        self.amplitudes = np.sqrt(square * self.shares)

    def _write(self, Z, out):
        write_waves(Z @ self.turns, self.amplitudes, out)


class ReluMap(RandomMap):
    r"""φ(z) = √(2c/m) max(0, ω_jᵀz̃), j = 1 … m, with ω_j normal, for the arc-cosine kernel.

    They are orthogonal to each other in groups of p + 1, and each is normal. So with
    ``z̃ = (z, √coef0)`` ``E <φ(x), φ(z)> = c k(x, z)`` (Cho, Saul 2009, order 1) holds as without.
    The factor c makes the mean of ‖φ(z)‖² equal to `square`: over the rows given to `balance`, or,
    before that, for a row with ‖z‖² = p. It does not depend on outputs.

    Attributes
    ----------
    weights : ndarray of shape (p + 1, m)
        ω, the last row that of the constant.
    """

    kernel = "arc-cosine"

    def __init__(self, p, n_components, coef0, rng):
        super().__init__(p, n_components)
        self.coef0, self.weights = coef0, orthogonal_frequencies(p + 1, n_components, rng)

    def set_width(self, gamma, square):
        """Take the ‖φ‖² of a row with ‖z‖² = p; the kernel has no γ."""
        self.square = square
        self._take_size(self.p + self.coef0)

    def balance(self, Z, weight):
        """See `RandomMap`."""
        squares = np.einsum("ij,ij->i", Z, Z, dtype=np.float64)
        size = np.average(squares, weights=weight) + self.coef0
        if 0.0 < size < np.inf:
            self._take_size(size)

    def _take_size(self, size):
        """Have ‖φ‖² be `square` if ‖z̃‖² is `size`."""
        self.scaled = np.sqrt(2.0 / self.columns * self.square / size) * self.weights
        self.scaled[-1] *= np.sqrt(self.coef0)

    def _write(self, Z, out):
        out[:, -self.columns :] = np.maximum(Z @ self.scaled[:-1] + self.scaled[-1], 0.0)


#: What `approximation` may be.
APPROXIMATIONS = ("none", "fourier", "relu", "auto")

#: Random features, and those of `fit` where rows are many, of which more are worth their time.
USUAL, MORE = 1200, 4000

#: Rows, at most, of which "auto" takes all kernels.
ALL_KERNELS = 5000

#: Kernel -> its random features.
FEATURES_OF = dict.fromkeys(DRAWN, "fourier") | {"arc-cosine": "relu"}


def features_of(kernel):
    """The random features of a kernel; None if it has no such features."""
    return FEATURES_OF.get(kernel) if isinstance(kernel, str) else None


def wants_features(learner, rows):
    """Whether random features stand for the kernel, for so many rows of `fit`, 0 in a stream.

    A ValueError for parameters that do not go together.
    """
    given, kernel = learner.approximation, kernel_of(learner)
    found = features_of(kernel.function)
    check_choice("approximation", given, APPROXIMATIONS)
    if not is_auto(learner.n_components):
        check_integer("n_components", learner.n_components)
    if given == "none" or (
        given == "auto" and (rows <= ALL_KERNELS or kernel.budget is not None or found is None)
    ):
        return False
    if given not in ("auto", found):
        names = " and ".join(repr(name) for name, one in FEATURES_OF.items() if one == given)
        right = f"{found!r} or 'none'" if found else "'none'"
        raise ValueError(
            f"approximation={given!r} is only supported for kernel={names}; got "
            f"kernel={kernel.function!r}. Use approximation={right}."
        )
    if found == "relu":
        check_coef0("arc-cosine", kernel.coef0)
    if kernel.budget is not None:
        raise ValueError(
            f"budget cannot be combined with approximation={given!r}, which keeps no support rows. "
            f"Set budget=None; got {kernel.budget!r}."
        )
    return True


def expect_rows(learner, rounds):
    """Note how many rows `fit` is about to learn."""
    learner._rows_to_fit = rounds.rows.n_rows


def choose_features(learner):
    """Decide by the rows that `fit` expects whether random features stand for a kernel."""
    rows = vars(learner).pop("_rows_to_fit", 0)
    learner._many_rows, learner._approximates = rows > MANY, wants_features(learner, rows)


def count_of(learner):
    """Number of random features of a learner: even if each has a cosine and a sine."""
    count, pairs = learner.n_components, features_of(kernel_of(learner).function) == "fourier"
    if is_auto(count):
        count = MORE if learner._many_rows else USUAL
    return count + count % 2 * pairs


def new_features(learner, multiscale, rng):
    """A newly drawn map φ; its width is still to be set."""
    p, n, kernel = learner.n_features_in_, count_of(learner), kernel_of(learner)
    if kernel.function == ReluMap.kernel:
        return ReluMap(p, n, float(kernel.coef0), rng)
    return FourierMap(kernel.function, p, n, multiscale, rng)


class MappedScale(State):
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
        """Number of columns of transformed rows."""
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
        """Rows by the current transformation; they are not counted."""
        return self.transformed(rows).matrix

    def transformed(self, rows):
        """`transformed_matrix` as rows."""
        return self._mapped(self.inner.transformed_matrix(rows))

    #: Weights are those of transformed rows.
    imputed = transformed

    def fold(self, W, columns=None):
        """Weights of `imputed` rows, which are those of transformed ones."""
        return W

    def reset_copy(self):
        """A new scale with the same features, which has seen no rows."""
        return MappedScale(dense(self.inner.reset_copy()), self.features)

    def _mapped(self, Z):
        Z = Z.toarray() if hasattr(Z, "toarray") else Z
        return Rows.from_array(self.features.behind(Z, self.mapped))


def _all_of(rows):
    return FIRST if rows.n_rows == 1 else np.arange(rows.n_rows)


def _with_data(rows, data):
    """Rows with other numbers in their places."""
    return rows._replace(data=data, X=data.reshape(rows.n_rows, -1))


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

#: ‖φ‖² is so many times the number of features, which is what ‖z‖² is on average.
BALANCE = 3.0


class FeatureModel(LinearModel):
    """A linear model over [z, φ(z)]; a mixture has as many experts over z alone.

    The latter are the last ones; each has the optimizer of one of the former, which sees ‖z‖²
    instead of ‖[z, φ(z)]‖².
    """

    search, small_products = FOURIER, True
    without_kernels = (
        "random features: last_weights_ are those of [z, phi(z)], with z the standardized rows"
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
            state.totals, state.which[many // 2 :] = with_feature_subset(state.totals, *near), 1

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
        """The standardization and the map of rows; widths are those of a stream."""
        if self.given_scale is not None:
            return self.given_scale
        inner = dense(scale_of(learner, learner.n_features_in_, True))
        p = learner.n_features_in_
        gamma, multiscale = width_of(learner.gamma, kernel_of(learner).function, p)
        rng = check_random_state(learner.random_state_.randint(2**31 - 1))
        features = new_features(learner, multiscale, rng)
        features.set_width(gamma, BALANCE * p)
        return MappedScale(inner, features)

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
        features, scale = self.scale.features, self.scale.reset_copy().inner
        chosen = counted_rows(batch.weights, SEEN)
        weight, some = batch.weights[chosen], batch.rows.matrix[chosen]
        some = Rows.from_array(some.toarray() if batch.rows.is_sparse else some)
        scale.count_all(some, weight)
        Z = scale.transformed_matrix(some)[:, : self.scale.mapped]
        gamma, _ = width_of(learner.gamma, features.kernel, Z.shape[1], Z, weight)
        features.set_width(gamma, features.square)
        features.balance(Z, weight)
        waves = features_of(features.kernel) == "fourier"
        if waves and learner.gamma in (None, "multiscale") and learned_rounds(batch) > MANY:
            features.set_width(tried_gamma(learner, batch, gamma), features.square)

    def tried(self, learner, batch, search):
        """See `Model`; features are dropped if the linear model has the lower held-out loss."""
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
        twin.given_scale = MappedScale(self.scale.reset_copy().inner, self.scale.features.none())
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
