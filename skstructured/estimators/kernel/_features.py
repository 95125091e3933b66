"""Random Fourier features φ of rows, with E <φ(x), φ(z)> = k(x, z)."""

import numpy as np

from skstructured._base.validation import check_choice, check_integer
from skstructured._engine.sincos import write_waves
from skstructured._engine.state import Learned
from skstructured.estimators._auto import is_auto
from skstructured.estimators.kernel._values import check_coef0, kernel_of

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


class RandomMap(Learned):
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

    They are orthogonal to each other p + 1 at a time; each by itself is normal, so that with
    ``z̃ = (z, √coef0)`` ``E <φ(x), φ(z)> = c k(x, z)`` (Cho, Saul 2009, order 1) holds as without.
    The factor c has the mean of ‖φ(z)‖² be `square`: over rows that are given to `balance`, or,
    before any is, of a row with ‖z‖² = p. It does not depend on outputs.

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
    """The approximation that belongs to a kernel; None where there is none."""
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
        right = f"{found!r} is for this one, and 'none'" if found else "'none'"
        raise ValueError(
            f"approximation={given!r} is for kernel={names}, got kernel={kernel.function!r}; "
            f"approximation={right} takes every kernel."
        )
    if found == "relu":
        check_coef0("arc-cosine", kernel.coef0)
    if kernel.budget is not None:
        raise ValueError(
            f"budget is for support rows, and with approximation={given!r} there are none: set "
            f"budget=None, got {kernel.budget!r}."
        )
    return True


def count_of(learner):
    """Random features of a learner: an even number where each has a cosine and a sine."""
    count, pairs = learner.n_components, features_of(kernel_of(learner).function) == "fourier"
    if is_auto(count):
        count = MORE if learner._many_rows else USUAL
    return count + count % 2 * pairs


def new_features(learner, multiscale, rng):
    """The map that makes φ, drawn anew; its width is still to be set."""
    p, n, kernel = learner.n_features_in_, count_of(learner), kernel_of(learner)
    if kernel.function == ReluMap.kernel:
        return ReluMap(p, n, float(kernel.coef0), rng)
    return FourierMap(kernel.function, p, n, multiscale, rng)
