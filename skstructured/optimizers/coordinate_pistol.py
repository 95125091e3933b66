"""PiSTOL coordinate by coordinate: every weight is a one-dimensional learner.

Storage, a row each for dense X and a column each for CSR: Θ, P = Σ|w g x|, W and Σ W (dim of each),
then for every feature M, the largest w|x| seen, and the clock of its last visit. The sum of W is
brought up to date where a weight is about to move, so that a sparse round costs its non-zeros.
"""

import math

from skstructured._engine.compiled import kernel
from skstructured._engine.state import OWN, WEIGHT_SUM, new_state
from skstructured._validation import check_positive
from skstructured.exceptions import GuaranteeError
from skstructured.optimizers._base import OnlineOptimizer

# The state vector, after the epoch's own entries.
PARAMETER_A, PARAMETER_B, LIPSCHITZ, CAPPED = range(OWN, OWN + 4)

#: Exponents are cut off here, so that scores stay finite.
LARGEST_EXPONENT = 300.0

#: Features whose α stays below this (w|x| below 1e-139 or so) count as zero: weights divide by it.
SMALLEST_ALPHA = 1e-280


@kernel
def coordinate_scale(state, x_sq, weight):
    """s = 1: the weights are stored as they are."""
    return 1.0


@kernel
def coordinate_step(state, raw, g, x_sq, weight):
    """u = −w."""
    return -weight


@kernel
def _weigh(Theta, by_feature, dim, k, j, state, b):
    """W = Θ b/α exp(Θ²/(2α)), α = a L M (L M + P), of one coordinate; exponents end at 300."""
    f = 4 * dim
    if by_feature:
        theta, path, most = Theta[j, k], Theta[j, dim + k], Theta[j, f]
    else:
        theta, path, most = Theta[k, j], Theta[dim + k, j], Theta[f, j]
    reach = state[LIPSCHITZ] * most
    alpha = state[PARAMETER_A] * reach * (reach + path)
    if theta == 0.0 or alpha < SMALLEST_ALPHA:
        return 0.0
    exponent = 0.5 * theta * theta / alpha
    if exponent > LARGEST_EXPONENT:
        exponent = LARGEST_EXPONENT
        state[CAPPED] += 1.0
    return theta * b / alpha * math.exp(exponent)


@kernel
def _catch_up(Theta, by_feature, dim, j, clock):
    """ΣW ← ΣW + (clock − last visit) W for one feature."""
    f = 4 * dim + 1
    if by_feature:
        passed, Theta[j, f] = clock - Theta[j, f], clock
    else:
        passed, Theta[f, j] = clock - Theta[f, j], clock
    if passed == 0.0:
        return
    for k in range(dim):
        if by_feature:
            Theta[j, 3 * dim + k] += passed * Theta[j, 2 * dim + k]
        else:
            Theta[3 * dim + k, j] += passed * Theta[2 * dim + k, j]


@kernel
def _move(Theta, by_feature, dim, j, x, g, u, state, b):
    """One feature of the row just seen: Θ ← Θ + u g x, P ← P + |u g x|, and W."""
    _catch_up(Theta, by_feature, dim, j, state[WEIGHT_SUM])
    for k in range(dim):
        d = u * g[k] * x
        if d == 0.0:
            continue
        if by_feature:
            Theta[j, k] += d
            Theta[j, dim + k] += abs(d)
            Theta[j, 2 * dim + k] = _weigh(Theta, True, dim, k, j, state, b)
        else:
            Theta[k, j] += d
            Theta[dim + k, j] += abs(d)
            Theta[2 * dim + k, j] = _weigh(Theta, False, dim, k, j, state, b)


@kernel
def _score(Theta, by_feature, dim, j, z, weight, raw, state, b):
    """One feature of the row to be played: M ← max(M, w|z|), W where M grew, raw ← raw + W z."""
    f = 4 * dim
    most, reach = Theta[j, f] if by_feature else Theta[f, j], weight * abs(z)
    grew = reach > most
    if grew:
        _catch_up(Theta, by_feature, dim, j, state[WEIGHT_SUM])
        if by_feature:
            Theta[j, f] = reach
        else:
            Theta[f, j] = reach
    for k in range(dim):
        if by_feature:
            if grew:
                Theta[j, 2 * dim + k] = _weigh(Theta, True, dim, k, j, state, b)
            raw[k] += Theta[j, 2 * dim + k] * z
        else:
            if grew:
                Theta[2 * dim + k, j] = _weigh(Theta, False, dim, k, j, state, b)
            raw[k] += Theta[2 * dim + k, j] * z


@kernel
def coordinate_dense(data, indices, indptr, width, row, ahead, Theta, state, g, u, weight, raw):
    """Move every weight by dense `row`, then score dense `ahead`; returns its ‖·‖²."""
    dim, features = raw.shape[0], Theta.shape[1]
    b, z_sq = state[PARAMETER_B] / features, 1.0 if features > width else 0.0
    for k in range(dim):
        raw[k] = 0.0
    for j in range(features):
        x = data[row * width + j] if j < width else 1.0
        z = data[ahead * width + j] if j < width else 1.0
        z_sq += z * z if j < width else 0.0
        if u != 0.0 and x != 0.0:
            _move(Theta, False, dim, j, x, g, u, state, b)
        if z != 0.0 and abs(z) < math.inf:
            _score(Theta, False, dim, j, z, weight, raw, state, b)
    return z_sq


@kernel
def coordinate_csr(data, indices, indptr, width, row, ahead, Theta, state, g, u, weight, raw):
    """Move every weight by CSR `row`, then score CSR `ahead`; returns its ‖·‖²."""
    dim, features = raw.shape[0], Theta.shape[0]
    b, intercept = state[PARAMETER_B] / features, features > width
    z_sq = 1.0 if intercept else 0.0
    for k in range(dim):
        raw[k] = 0.0
    if u != 0.0:
        for t in range(indptr[row], indptr[row + 1]):
            _move(Theta, True, dim, indices[t], data[t], g, u, state, b)
        if intercept:
            _move(Theta, True, dim, width, 1.0, g, u, state, b)
    for t in range(indptr[ahead], indptr[ahead + 1]):
        z = data[t]
        z_sq += z * z
        if abs(z) < math.inf:
            _score(Theta, True, dim, indices[t], z, weight, raw, state, b)
    if intercept:
        _score(Theta, True, dim, width, 1.0, weight, raw, state, b)
    return z_sq


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

    def __init__(self, a=0.08, b=1.0):
        self.a = a
        self.b = b

    def init(self, loss):
        """Check the parameters and return the initial state vector for a loss."""
        state = new_state(self.entries)
        state[PARAMETER_A] = check_positive("a", self.a)
        state[PARAMETER_B] = check_positive("b", self.b)
        state[LIPSCHITZ] = loss.space.geometry("l2").diameter
        return state

    def move_and_score_kernel(self, dim, sparse, average=False):
        """The row primitive; see `OnlineOptimizer`."""
        return coordinate_csr if sparse else coordinate_dense

    def weights(self, Theta, state, dim):
        """The last weights; see `OnlineOptimizer`."""
        return Theta[2 * dim : 3 * dim].copy()

    def average_weights(self, Theta, A, state, dim):
        """The mean of the weights played; see `OnlineOptimizer`."""
        W, summed, visit = Theta[2 * dim : 3 * dim], Theta[3 * dim : 4 * dim], Theta[4 * dim + 1]
        rounds = state[WEIGHT_SUM]
        return (summed + (rounds - visit) * W) / max(rounds, 1e-300)

    def certificate(self, loss, state, delta=None):
        """No theorem: a GuaranteeError."""
        raise GuaranteeError("No bound is stated for per_coordinate=True.")

    def check(self, state):
        """A sentence on what went wrong in the rounds that made `state`, or None."""
        return told_of_caps("PiSTOL", self.a, state)
