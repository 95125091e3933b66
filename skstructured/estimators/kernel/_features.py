"""Random Fourier features φ of rows, with E <φ(x), φ(z)> = k(x, z)."""

import copy
import math

import numpy as np

from skstructured._base.validation import check_choice, check_integer, check_real
from skstructured._engine.compiled import kernel
from skstructured._engine.rows import Rows
from skstructured._engine.sincos import (
    ABREAST,
    TILE,
    add_rows,
    add_waves,
    append_waves,
    in_tiles,
    wave_numbers,
)
from skstructured._engine.state import Learned
from skstructured.estimators._auto import is_auto

#: Kernels that are the mean of cosines over frequencies that can be drawn.
DRAWN = ("rbf", "laplacian")

#: Columns of CSR rows are hashed into at most so many features of φ.
BUCKETS = 4096

#: Factors of γ of the three kernels whose mean is "multiscale".
OCTAVES = (0.25, 1.0, 4.0)


def orthogonal_frequencies(p, m, rng, few=False):
    """Columns (p, m) of normal vectors that are orthogonal to each other, p at a time.

    With `few` no more of them are drawn than are taken, as for wide rows.
    """
    blocks = []
    for start in range(0, m, p):
        size = min(p, m - start)
        Q, R = np.linalg.qr(rng.standard_normal((p, min(p, m) if few else p)))
        lengths = np.sqrt(rng.chisquare(p, size=size))
        blocks.append((Q * np.sign(np.diag(R)))[:, :size] * lengths)
    return np.hstack(blocks)


def frequencies_of(kernel, p, m, rng, few=False):
    """Frequencies (p, m) of a kernel with γ = 1, in radians."""
    if kernel == "laplacian":
        return rng.standard_cauchy((p, m))
    return np.sqrt(2.0) * orthogonal_frequencies(p, m, rng, few)


class FourierMap(Learned):
    r"""φ(x) = (a cos ω_jᵀx, a sin ω_jᵀx), j = 1 … m, with ω_j drawn once.

    Parameters
    ----------
    kernel : {"rbf", "laplacian"}
        Frequencies are normal, orthogonal p at a time (Yu et al. 2016), with variance 2γ; or
        independent Cauchy variables with scale γ.
    p, n_components : int
        Features, and 2m; odd numbers are rounded up.
    rng : RandomState
        Draws the frequencies.
    dtype : dtype
        Of rows.

    Attributes
    ----------
    frequencies : ndarray of shape (p, m)
        With γ = 1; drawn when they are first asked for, or by `drawn_for`.
    octave : ndarray of shape (m,)
        By what γ is multiplied, with `multiscale`.
    """

    #: Whether rows are CSR, and φ is written behind their entries.
    reads_sparse = False

    #: Set by `set_width` once there are frequencies.
    tiles = None

    def __init__(self, kernel, p, n_components, multiscale, rng, dtype):
        self.kernel, self.dtype, self.p = kernel, np.dtype(dtype), p
        parts = np.array_split(np.arange(-(-n_components // 2)), len(OCTAVES) if multiscale else 1)
        parts = [part for part in parts if len(part)]
        factors = OCTAVES if multiscale else (1.0,)
        self.sizes, self.rng, self._drawn = list(map(len, parts)), rng, None
        self.octave = np.repeat(factors[: len(parts)], self.sizes)
        shares = [np.full(len(part), 1.0 / (len(parts) * len(part))) for part in parts]
        self.shares = np.concatenate(shares)
        self.numbers = wave_numbers(dtype)

    @property
    def columns(self):
        """Features of φ."""
        return 2 * len(self.octave)

    @property
    def frequencies(self):
        """See the class."""
        if self._drawn is None:
            self._draw(self.p, copy.deepcopy(self.rng))
        return self._drawn

    @frequencies.setter
    def frequencies(self, value):
        self._drawn = value

    def _draw(self, p, rng, few=False):
        drawn = [frequencies_of(self.kernel, p, size, rng, few) for size in self.sizes]
        self._drawn = np.hstack(drawn)

    def drawn_for(self, sparse):
        """The map, with its frequencies, of dense rows; or one of CSR rows in its place."""
        if self._drawn is None and sparse:
            return SparseFourierMap(self)
        if self.tiles is None:
            self._drawn = self.frequencies
            self.set_width(self.gamma, self.square)
        return self

    def set_width(self, gamma, square):
        """Take the frequencies of γ, where they are drawn, and ‖φ‖² = `square`."""
        self.gamma, self.square = gamma, square
        widths = gamma * self.octave
        factors = widths if self.kernel == "laplacian" else np.sqrt(widths)
        if self._drawn is not None:
            self.tiles = in_tiles(self._drawn * (factors / (2.0 * np.pi)), self.dtype)
        self.amplitudes = np.sqrt(square * self.shares).astype(self.dtype)

    def balance(self, Z, weight):
        """Nothing is to be done: ‖φ‖² is `square` for every row."""

    def none(self):
        """Without any feature."""
        twin = self.copy()
        twin.frequencies, twin.octave, twin.shares = (
            each[..., :0] for each in (self.frequencies, self.octave, self.shares)
        )
        twin.set_width(self.gamma, self.square)
        return twin

    def behind(self, Z, width):
        """Rows (n, columns) of Z, whose first `width` columns are mapped, with φ behind them."""
        self.drawn_for(False)
        steps = np.zeros((len(Z), self.tiles.shape[1] // TILE), dtype=self.dtype)
        steps[:, :width] = Z[:, :width]
        out = np.empty((len(Z), Z.shape[1] + self.columns), dtype=self.dtype)
        out[:, : Z.shape[1]] = Z
        add_waves(steps, self.tiles, self.amplitudes, self.numbers, out)
        return out


class SparseFourierMap(FourierMap):
    r"""`FourierMap` of CSR rows, with frequencies of at most `BUCKETS` features.

    Of more columns than that it is φ(Sx): the columns are hashed into buckets, each with a random
    sign, so that E <Sx, Sz> = <x, z> (Charikar, Chen, Farach-Colton 2002; Weinberger et al. 2009).

    Parameters
    ----------
    other : FourierMap
        What it stands for, of which nothing was drawn.

    Attributes
    ----------
    places : ndarray of shape (p,)
        The bucket of each column, in int32; of few columns, the columns themselves.
    signs : ndarray of shape (p,)
        1 and −1; of few columns 1.
    """

    reads_sparse = True

    def __init__(self, other):
        vars(self).update(vars(other))
        self.dtype, rng = np.dtype(np.float64), copy.deepcopy(self.rng)
        height, self.numbers = min(self.p, BUCKETS), wave_numbers(self.dtype)
        self._draw(height, rng, few=True)
        self.places, self.signs = np.arange(self.p, dtype=np.int32), np.ones(self.p)
        if self.p > height:
            self.places = rng.randint(height, size=self.p).astype(np.int32)
            self.signs = 2.0 * rng.randint(2, size=self.p) - 1.0
        self.set_width(self.gamma, self.square)

    def behind_rows(self, rows, order, width):
        """`Rows` in `order` of CSR rows of `width` columns, with φ of them behind."""
        counts = rows.indptr[order + 1] - rows.indptr[order]
        size = int(counts.sum(dtype=np.int64)) + len(order) * self.columns
        out, columns = np.empty(size), np.empty(size, dtype=np.int32)
        indptr = np.zeros(len(order) + 1, dtype=np.int32)
        how = (self.places, self.signs, self.tiles, self.amplitudes, self.numbers, width)
        append_waves(*rows.arrays[:3], order, *how, out, columns, indptr)
        return Rows(out, columns, indptr, width + self.columns, len(order), None)


class BalancedMap(Learned):
    """φ with E <φ(x), φ(z)> = c k(x, z), where k(z, z) = (γ‖z‖² + coef0)^degree.

    With ``x̃ = (√γ x, √coef0)``, the row with a constant behind it, k is one of x̃ and z̃ alone. The
    factor c has the mean of ‖φ(z)‖² be `square`: over rows that are given to `balance`, or, before
    any is, of a row with ‖z‖² = p. It does not depend on outputs.

    Parameters
    ----------
    p, n_components : int
        Features of rows, and of φ.
    degree : int
        How often <x̃, z̃> is multiplied with itself.
    coef0 : float
        The square of the constant.
    dtype : dtype
        Of rows.
    """

    kernel = ""

    def __init__(self, p, n_components, degree, coef0, dtype):
        self.p, self.columns, self.dtype = p, n_components, np.dtype(dtype)
        self.degree, self.coef0 = degree, coef0

    def set_width(self, gamma, square):
        """Take γ, and the ‖φ‖² of a row with ‖z‖² = p."""
        self.gamma, self.square = gamma, square
        self._take_size(gamma * self.p + self.coef0)

    def balance(self, Z, weight):
        """Take c from rows Z, which count as much as their weights (n,)."""
        norms = self.gamma * np.einsum("ij,ij->i", Z, Z, dtype=np.float64) + self.coef0
        largest = norms.max(initial=0.0)
        if 0.0 < largest < np.inf:
            mean = np.average((norms / largest) ** self.degree, weights=weight)
            self._take_size(largest * mean ** (1.0 / self.degree))

    def _take_size(self, size):
        """Have ‖φ‖² be `square` where ‖z̃‖² is `size`: factors (p + 1,) of one copy of (z, 1)."""
        factors = np.full(self.p + 1, np.sqrt(self.gamma))
        factors[-1] = np.sqrt(self.coef0)
        self._take_factors(factors * (self.square ** (0.5 / self.degree) / np.sqrt(size)))

    def none(self):
        """Without any feature."""
        twin = self.copy()
        twin.columns = 0
        return twin

    def behind(self, Z, width):
        """Rows (n, columns) of Z, whose first `width` columns are mapped, with φ behind them."""
        out = np.empty((len(Z), Z.shape[1] + self.columns), dtype=self.dtype)
        out[:, : Z.shape[1]] = Z
        if self.columns > 0:
            self._write(Z[:, :width], out[:, Z.shape[1] :])
        return out

    def _take_factors(self, factors):
        raise NotImplementedError

    def _write(self, Z, out):
        raise NotImplementedError


@kernel
def write_positive(Z, tiles, constants, out):
    """Write max(0, b + Zω) to `out` (n, m), sums over the features of a row in their order.

    Z (n, p) has zeros up to whole steps of features, weights ω are those of `in_tiles`, and so are
    the constants b, (tiles, TILE).
    """
    n, m = Z.shape[0], out.shape[1]
    t = np.empty((ABREAST, TILE), dtype=Z.dtype)
    for tile in range(tiles.shape[0]):
        start, stop, i = tile * TILE, min(m, (tile + 1) * TILE), 0
        while i < n:
            t[:] = constants[tile]
            count = add_rows(Z, i, tiles[tile], t)
            for q in range(count):
                for j in range(stop - start):
                    out[i + q, start + j] = 0.0 if t[q, j] < 0.0 else t[q, j]
            i += count


class ReluMap(BalancedMap):
    r"""φ(z) = √(2c/m) max(0, ω_jᵀz̃), j = 1 … m, with ω_j normal, for the arc-cosine kernel.

    They are orthogonal to each other p + 1 at a time; each by itself is normal, so that
    ``E <φ(x), φ(z)> = c k(x, z)`` (Cho, Saul 2009, order 1) holds as without. See `BalancedMap`.

    Attributes
    ----------
    weights : ndarray of shape (p + 1, m)
        ω, the last row that of the constant.
    """

    kernel = "arc-cosine"

    def __init__(self, p, n_components, coef0, rng, dtype):
        super().__init__(p, n_components, 1, coef0, dtype)
        self.weights = orthogonal_frequencies(p + 1, n_components, rng)

    def set_width(self, gamma, square):
        """Take the ‖φ‖² of a row with ‖z‖² = p; the kernel has no γ."""
        super().set_width(1.0, square)

    def _take_factors(self, factors):
        share = np.sqrt(2.0 / self.weights.shape[1])
        weights = self.weights * (share * factors)[:, None]
        self.tiles = in_tiles(weights[: self.p], self.dtype)
        self.constants = in_tiles(weights[self.p :], self.dtype)[:, :TILE].copy()

    def _write(self, Z, out):
        steps = np.zeros((len(Z), self.tiles.shape[1] // TILE), dtype=self.dtype)
        steps[:, : self.p] = Z
        write_positive(steps, self.tiles, self.constants, out)


#: Rows whose sketches are held at a time: some hundred kilobytes, which stay in the cache.
TOGETHER = 16


@kernel
def add_counts(Z, places, factors, out):
    """Add factor times feature to its place in each copy, out (n, degree, m); 1 is the last."""
    p = Z.shape[1]
    for i in range(Z.shape[0]):
        for j in range(places.shape[0]):
            for a in range(p):
                out[i, j, places[j, a]] += factors[j, a] * Z[i, a]
            out[i, j, places[j, p]] += factors[j, p]


@kernel
def multiply_spectra(spectra, out):
    """Out (n, f) = products of complex numbers (n, degree, f), in the order of the copies."""
    for i in range(out.shape[0]):
        for k in range(out.shape[1]):
            whole = spectra[i, 0, k]
            for j in range(1, spectra.shape[1]):
                whole = whole * spectra[i, j, k]
            out[i, k] = whole


class SketchMap(BalancedMap):
    r"""The tensor sketch of √c z̃ ⊗ … ⊗ z̃, for the polynomial kernel (Pham, Pagh 2013).

    A copy j = 1 … degree sends feature a to the place h_j(a) with the sign s_j(a), both drawn once,
    and adds up what meets there; φ is the convolution of the copies on a circle of m places, whose
    product ``<φ(x), φ(z)>`` is c <x̃, z̃>^degree on average. See `BalancedMap`.

    Attributes
    ----------
    places, signs : ndarray of shape (degree, p + 1)
        h and s, last those of the constant.
    """

    kernel = "poly"

    def __init__(self, p, n_components, degree, coef0, rng, dtype):
        super().__init__(p, n_components, degree, coef0, dtype)
        self.places = rng.randint(n_components, size=(degree, p + 1)).astype(np.int64)
        self.signs = 2.0 * rng.randint(2, size=(degree, p + 1)) - 1.0

    def _take_factors(self, factors):
        self.factors = (self.signs * factors).astype(self.dtype)

    def _write(self, Z, out):
        Z = np.ascontiguousarray(Z, dtype=self.dtype)
        for start in range(0, len(Z), TOGETHER):
            part = slice(start, start + TOGETHER)
            counts = np.zeros((len(Z[part]), self.degree, self.columns), dtype=self.dtype)
            add_counts(Z[part], self.places, self.factors, counts)
            if self.degree == 1:
                out[part] = counts[:, 0]
            else:
                out[part] = self._convolved(counts)

    def _convolved(self, counts):
        """Copies (n, degree, m) convolved; transforms of numpy work on each row by itself."""
        spectra = np.fft.rfft(counts)
        product = np.empty((len(counts), spectra.shape[2]), dtype=spectra.dtype)
        multiply_spectra(spectra, product)
        return np.fft.irfft(product, self.columns)


#: What `approximation` may be.
APPROXIMATIONS = ("none", "fourier", "sketch", "relu", "auto")

#: Random features, and those of `fit` where rows are many, of which more are worth their time.
USUAL, MORE = 1200, 4000

#: Rows, at most, of which "auto" takes all kernels.
ALL_KERNELS = 5000

#: Kernel -> its random features.
FEATURES_OF = dict.fromkeys(DRAWN, "fourier") | {"poly": "sketch", "arc-cosine": "relu"}


def features_of(kernel):
    """The approximation that belongs to a kernel; None where there is none."""
    return FEATURES_OF.get(kernel) if isinstance(kernel, str) else None


def has_features(learner):
    """Whether there are random features of a learner's kernel, as its parameters are."""
    found = features_of(learner.kernel)
    return found == "fourier" or (found is not None and _coef0(learner) >= 0.0)


def check_features(learner):
    """A ValueError unless the parameters `approximation`, `kernel` and its own go together."""
    given, kernel = learner.approximation, learner.kernel
    found = features_of(kernel)
    if found != given:
        names = " and ".join(repr(name) for name, one in FEATURES_OF.items() if one == given)
        right = f"{found!r} is for this one, and 'none'" if found else "'none'"
        raise ValueError(
            f"approximation={given!r} is for kernel={names}, got kernel={kernel!r}; "
            f"approximation={right} takes every kernel."
        )
    if given == "sketch":
        check_integer("degree", learner.degree)
    if given != "fourier" and _coef0(learner) < 0.0:
        raise ValueError(
            f"coef0 must be at least 0 with approximation={given!r}, whose rows have √coef0 as one "
            f"more feature, got {learner.coef0!r}."
        )


def _coef0(learner):
    return check_real("coef0", learner.coef0, math.isfinite, "be a number")


def wants_features(learner, rows):
    """Whether random features stand for the kernel, for so many rows of `fit`, 0 in a stream.

    A ValueError for parameters that do not go together.
    """
    check_choice("approximation", learner.approximation, APPROXIMATIONS)
    if not is_auto(learner.n_components):
        check_integer("n_components", learner.n_components)
    if learner.approximation == "auto":
        return rows > ALL_KERNELS and learner.budget is None and has_features(learner)
    if learner.approximation == "none":
        return False
    check_features(learner)
    if learner.budget is not None:
        raise ValueError(
            f"budget is for support rows, and with approximation={learner.approximation!r} there "
            f"are none: set budget=None, got {learner.budget!r}."
        )
    return True


def count_of(learner):
    """Random features of a learner: an even number where each has a cosine and a sine."""
    count, pairs = learner.n_components, features_of(learner.kernel) == "fourier"
    if is_auto(count):
        count = MORE if learner._many_rows else USUAL
    return count + count % 2 * pairs


def new_features(learner, multiscale, rng, dtype):
    """The map that makes φ, drawn anew; its width is still to be set."""
    p, n = learner.n_features_in_, count_of(learner)
    found = features_of(learner.kernel)
    if found == "sketch":
        return SketchMap(p, n, learner.degree, _coef0(learner), rng, dtype)
    if found == "relu":
        return ReluMap(p, n, _coef0(learner), rng, dtype)
    return FourierMap(learner.kernel, p, n, multiscale, rng, dtype)
