"""PiSTOL coordinate by coordinate: every weight is a one-dimensional learner.

Storage, a row each for dense X and a column each for CSR: Θ, P = Σ|w g x|, W and Σ W (dim of each),
then for every feature M, the largest w|x| seen, and the clock of its last visit. The sum of W is
brought up to date where a weight is about to move, so that a sparse round costs its non-zeros.
"""

import math

from skstructured._compiled import kernel
from skstructured._driver import OWN, TOTAL, WEIGHT

# The state vector, after the driver's own entries.
A, B, LIPSCHITZ, CAPPED = range(OWN, OWN + 4)

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
    alpha = state[A] * reach * (reach + path)
    if theta == 0.0 or alpha < SMALLEST_ALPHA:
        return 0.0
    exponent = 0.5 * theta * theta / alpha
    if exponent > LARGEST_EXPONENT:
        exponent = LARGEST_EXPONENT
        state[CAPPED] += 1.0
    return theta * b / alpha * math.exp(exponent)


@kernel
def _settle(Theta, by_feature, dim, j, clock):
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
    _settle(Theta, by_feature, dim, j, state[TOTAL])
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
def _score(Theta, by_feature, dim, j, z, raw, state, b):
    """One feature of the row to be played: M ← max(M, w|z|), W where M grew, raw ← raw + W z."""
    f = 4 * dim
    most, reach = Theta[j, f] if by_feature else Theta[f, j], state[WEIGHT] * abs(z)
    grew = reach > most
    if grew:
        _settle(Theta, by_feature, dim, j, state[TOTAL])
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
def coordinate_dense(data, indices, indptr, width, row, ahead, Theta, state, g, u, raw):
    """Move every weight by dense `row`, then score dense `ahead`; returns its ‖·‖²."""
    dim, features = raw.shape[0], Theta.shape[1]
    b, z_sq = state[B] / features, 1.0 if features > width else 0.0
    for k in range(dim):
        raw[k] = 0.0
    for j in range(features):
        x = data[row * width + j] if j < width else 1.0
        z = data[ahead * width + j] if j < width else 1.0
        z_sq += z * z if j < width else 0.0
        if u != 0.0 and x != 0.0:
            _move(Theta, False, dim, j, x, g, u, state, b)
        if z != 0.0 and abs(z) < math.inf:
            _score(Theta, False, dim, j, z, raw, state, b)
    return z_sq


@kernel
def coordinate_csr(data, indices, indptr, width, row, ahead, Theta, state, g, u, raw):
    """Move every weight by CSR `row`, then score CSR `ahead`; returns its ‖·‖²."""
    dim, features = raw.shape[0], Theta.shape[0]
    b, intercept = state[B] / features, features > width
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
            _score(Theta, True, dim, indices[t], z, raw, state, b)
    if intercept:
        _score(Theta, True, dim, width, 1.0, raw, state, b)
    return z_sq


def coordinate_kernel(sparse):
    """The row primitive for one storage of X."""
    return coordinate_csr if sparse else coordinate_dense
