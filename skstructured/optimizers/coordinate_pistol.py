"""PiSTOL coordinate by coordinate: every weight is a one-dimensional learner.

Storage, a row each for dense X and a column each for CSR: Θ, P = Σ|w g x|, W and Σ W (dim of each),
then for every feature M, the largest w|x| seen, and the clock of its last visit. The sum of W is
brought up to date where a weight is about to move, so that a sparse round costs its non-zeros.
Loops run over neighbours, features for dense rows and outputs for CSR rows, and become vectors.
"""

import functools

from numba import int64

from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import check_positive
from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.exponential import exp_of
from skstructured._engine.move_and_score import LARGEST_KNOWN_DIM, prefetch_row
from skstructured._engine.state import OWN, WEIGHT_SUM, new_state
from skstructured.extend._types import Floats, Kernel, Loss
from skstructured.extend.optimizer import OnlineOptimizer
from skstructured.guarantees.certificates import Certificate

# The state vector, after the epoch's own entries.
PARAMETER_A, PARAMETER_B, LIPSCHITZ, CAPPED = range(OWN, OWN + 4)

#: Products may be fused into sums, whose order stays: it matters to rounding by `exp_of`.
FUSED = {"contract"}

#: A w|x| beyond it, or NaN, is not kept: its row stops the epoch.
LARGEST = 1e300

#: Exponents are cut off here, so that scores stay finite.
LARGEST_EXPONENT = 300.0

#: Features whose α stays below this (w|x| below 1e-139 or so) count as zero: weights divide by it.
SMALLEST_ALPHA = 1e-280


@kernel
def coordinate_scale(state: Floats, x_sq: float, weight: float) -> float:
    """s = 1: the weights are stored as they are."""
    return 1.0


@kernel
def coordinate_step(state: Floats, raw: Floats, g: Floats, x_sq: float, weight: float) -> float:
    """u = −w."""
    return -weight


@kernel(inline=True)
def _weight(theta, path, reach, a, b):
    """W = Θ b/α exp(Θ²/(2α)), α = a R (R + P), R = L M, and whether the exponent is cut off."""
    alpha = a * reach * (reach + path)
    ratio = theta / alpha if alpha >= SMALLEST_ALPHA else 0.0
    exponent = 0.5 * theta * ratio
    beyond = exponent > LARGEST_EXPONENT
    return b * ratio * exp_of(LARGEST_EXPONENT if beyond else exponent), beyond


@kernel(fastmath=FUSED)
def _shift(theta, path, c, x):
    """Θ ← Θ + c x and P ← P + |c x| of neighbours."""
    for i in range(x.shape[0]):
        theta[i] += c * x[i]
        path[i] += abs(c * x[i])


@kernel(fastmath=FUSED)
def _weigh_features(theta, path, most, W, c, x, state, b):
    """W of one output, whose weights moved by c x; only those that moved count as cut off."""
    a, lipschitz, capped = state[PARAMETER_A], state[LIPSCHITZ], 0
    for j in range(x.shape[0]):
        W[j], beyond = _weight(theta[j], path[j], lipschitz * most[j], a, b)
        capped += beyond & (c * x[j] != 0.0)
    state[CAPPED] += capped


@kernel
def _weigh_one(Theta, dim, k, j, state, b):
    """W of one output and feature, stored for dense rows."""
    theta, path, reach = Theta[k, j], Theta[dim + k, j], state[LIPSCHITZ] * Theta[4 * dim, j]
    Theta[2 * dim + k, j], beyond = _weight(theta, path, reach, state[PARAMETER_A], b)
    state[CAPPED] += beyond


@kernel(fastmath=FUSED)
def _catch_up_all(Theta, dim, clock):
    """ΣW ← ΣW + (clock − last visit) W for all features, stored for dense rows."""
    visit = Theta[4 * dim + 1]
    for k in range(dim):
        W, summed = Theta[2 * dim + k], Theta[3 * dim + k]
        for j in range(visit.shape[0]):
            summed[j] += (clock - visit[j]) * W[j]
    visit[:] = clock


@kernel
def _move_dense(Theta, dim, x, g, u, state, b):
    """Θ ← Θ + u g xᵀ, P ← P + |u g xᵀ|, and W, an output at a time."""
    width, most = x.shape[0], Theta[4 * dim]
    _catch_up_all(Theta, dim, state[WEIGHT_SUM])
    for k in range(dim):
        c, theta, path, W = u * g[k], Theta[k], Theta[dim + k], Theta[2 * dim + k]
        if c != 0.0:
            _shift(theta, path, c, x)
            _weigh_features(theta, path, most, W, c, x, state, b)
            if Theta.shape[1] > width:
                theta[width] += c
                path[width] += abs(c)
                _weigh_one(Theta, dim, k, width, state, b)


@kernel
def _reach_dense(Theta, dim, j, reach, state, b):
    """M ← max(M, w|z|) of one feature, and W where it grew."""
    most, visit = Theta[4 * dim], Theta[4 * dim + 1]
    if not most[j] < reach < LARGEST:
        return
    passed, visit[j], most[j] = state[WEIGHT_SUM] - visit[j], state[WEIGHT_SUM], reach
    for k in range(dim):
        Theta[3 * dim + k, j] += passed * Theta[2 * dim + k, j]
        _weigh_one(Theta, dim, k, j, state, b)


@kernel
def _any_above(z, weight, most):
    """Whether an entry of w|z| exceeds that of M."""
    found = False
    for j in range(z.shape[0]):
        found |= weight * abs(z[j]) > most[j]
    return found


@kernel(fastmath=FASTMATH)
def _dot(x, y):
    """<x, y> over the length of x."""
    total = 0.0
    for j in range(x.shape[0]):
        total += x[j] * y[j]
    return total


@kernel
def coordinate_dense(data, indices, indptr, width, row, ahead, Theta, state, g, u, weight, raw):
    """Move every weight by dense `row`, then score dense `ahead`; returns its ‖·‖²."""
    dim, features = raw.shape[0], Theta.shape[1]
    x, z = data[row * width : (row + 1) * width], data[ahead * width : (ahead + 1) * width]
    b, intercept = state[PARAMETER_B] / features, features > width
    if u != 0.0:
        _move_dense(Theta, dim, x, g, u, state, b)
    if _any_above(z, weight, Theta[4 * dim]):
        for j in range(width):
            _reach_dense(Theta, dim, j, weight * abs(z[j]), state, b)
    if intercept:
        _reach_dense(Theta, dim, width, weight, state, b)
    for k in range(dim):
        raw[k] = _dot(z, Theta[2 * dim + k]) + (Theta[2 * dim + k, width] if intercept else 0.0)
    return _dot(z, z) + (1.0 if intercept else 0.0)


@kernel(inline=True)
def move_csr(Theta, j, dim, c, g, state, b):
    """One feature of the row just seen: ΣW, Θ ← Θ + c g, P ← P + |c g|, and W."""
    a, reach, capped = state[PARAMETER_A], state[LIPSCHITZ] * Theta[j, 4 * dim], 0
    passed = state[WEIGHT_SUM] - Theta[j, 4 * dim + 1]
    Theta[j, 4 * dim + 1] = state[WEIGHT_SUM]
    for k in range(dim):
        Theta[j, 3 * dim + k] += passed * Theta[j, 2 * dim + k]
        theta, path = Theta[j, k] + c * g[k], Theta[j, dim + k] + abs(c * g[k])
        W, beyond = _weight(theta, path, reach, a, b)
        Theta[j, k], Theta[j, dim + k], Theta[j, 2 * dim + k] = theta, path, W
        capped += beyond & (c * g[k] != 0.0)
    state[CAPPED] += capped


@kernel
def reach_csr(Theta, j, dim, reach, state, b):
    """M ← w|z| of one feature, where it grows, and W."""
    a, far, capped = state[PARAMETER_A], state[LIPSCHITZ] * reach, 0
    passed = state[WEIGHT_SUM] - Theta[j, 4 * dim + 1]
    Theta[j, 4 * dim], Theta[j, 4 * dim + 1] = reach, state[WEIGHT_SUM]
    for k in range(dim):
        Theta[j, 3 * dim + k] += passed * Theta[j, 2 * dim + k]
        Theta[j, 2 * dim + k], beyond = _weight(Theta[j, k], Theta[j, dim + k], far, a, b)
        capped += beyond
    state[CAPPED] += capped


@functools.cache
def coordinate_csr_for(known_dim):
    """`coordinate_dense` for CSR rows; loops over `known_dim` outputs (any if 0) are unrolled."""

    @kernel(fastmath=FUSED)
    def coordinate_csr(data, indices, indptr, width, row, ahead, Theta, state, g, u, weight, raw):
        dim = known_dim if known_dim > 0 else raw.shape[0]
        features, stride = Theta.shape[0], 4 * dim + 2
        b, own = state[PARAMETER_B] / features, features - width
        start, stop, z_sq = indptr[row], indptr[row + 1], float(own)
        first, last = indptr[ahead], indptr[ahead + 1]
        if u != 0.0:
            for t in range(start, stop + own):
                if first + t - start < last:
                    coming = int64(indices[first + t - start])
                    prefetch_row(Theta, coming * stride, 0, stride, stride)
                x, j = (data[t], int64(indices[t])) if t < stop else (1.0, width)
                move_csr(Theta, j, dim, u * x, g, state, b)
        raw[:] = 0.0
        for t in range(first, last + own):
            z, j = (data[t], int64(indices[t])) if t < last else (1.0, width)
            z_sq += z * z if t < last else 0.0
            if Theta[j, 4 * dim] < weight * abs(z) < LARGEST:
                reach_csr(Theta, j, dim, weight * abs(z), state, b)
            for k in range(dim):
                raw[k] += Theta[j, 2 * dim + k] * z
        return z_sq

    return coordinate_csr


def told_of_caps(name, a, state):
    """A sentence on exponents that were cut off, or None."""
    if state[CAPPED] > 0.0:
        return (
            f"{name}'s exponent exceeded {LARGEST_EXPONENT:g} {state[CAPPED]:.0f} times "
            f"and was cut off there: a={a!r} is too small for these data."
        )
    return None


class CoordinatePiSTOL(OnlineOptimizer):
    r"""`PiSTOL` for every weight by itself: what ``PiSTOL(per_coordinate=True)`` stands for.

    With ``θ = −Σ w g x`` of one weight, ``W = θ (b/p)/α exp(θ²/(2α))`` and
    ``α = a L M (L M + Σ |w g x|)``, M the largest w|x| of its feature so far.

    Parameters
    ----------
    a : float, default=0.08
        Caution, in units of L·M.
    b : float, default=1.0
        Scale of the weights, shared by the p features.

    References
    ----------
    Orabona (2014), appendix A.
    """

    scale_kernel = staticmethod(coordinate_scale)
    step_kernel = staticmethod(coordinate_step)
    entries = 4
    blocks = (4, 2)
    keeps_average = True
    #: Its α and exponents take more range than float32 has.
    single_precision = False

    def __init__(self, a: float = 0.08, b: float = 1.0) -> None:
        self.a = a
        self.b = b

    def init(self, loss: Loss) -> Floats:
        """Check the parameters and return the initial state vector for a loss."""
        state = new_state(self.entries)
        state[PARAMETER_A] = check_positive("a", self.a)
        state[PARAMETER_B] = check_positive("b", self.b)
        state[LIPSCHITZ] = loss.lipschitz
        return state

    def move_and_score_kernel(self, dim: int, sparse: bool, average: bool = False) -> Kernel:
        """The row primitive; see `OnlineOptimizer`."""
        known = dim if dim <= LARGEST_KNOWN_DIM else 0
        return coordinate_csr_for(known) if sparse else coordinate_dense

    def weights(self, Theta: Floats, state: Floats, dim: int) -> Floats:
        """The last weights; see `OnlineOptimizer`."""
        return Theta[2 * dim : 3 * dim].copy()

    def average_weights(self, Theta: Floats, A: Floats, state: Floats, dim: int) -> Floats:
        """The mean of the weights played; see `OnlineOptimizer`."""
        W, summed, visit = Theta[2 * dim : 3 * dim], Theta[3 * dim : 4 * dim], Theta[4 * dim + 1]
        rounds = state[WEIGHT_SUM]
        return (summed + (rounds - visit) * W) / max(rounds, 1e-300)

    def certificate(self, loss: Loss, state: Floats, delta: float | None = None) -> Certificate:
        """Raise a GuaranteeError: no theorem covers this learner."""
        raise GuaranteeError("No bound is stated for per_coordinate=True.")

    def check(self, state: Floats) -> str | None:
        """A sentence on what went wrong in the rounds that made `state`, or None."""
        return told_of_caps("PiSTOL", self.a, state)
