"""The table of oracles: a compiled function, Ω and the constants of each (space, regularizer)."""

import itertools
import math
import warnings

import numpy as np
from scipy.special import log_expit, xlogy
from sklearn.exceptions import ConvergenceWarning

from skstructured.extend._by_vertices import projection_scratch
from skstructured.extend.output_space import OutputSpace
from skstructured.extend.surrogate import ORACLES, Oracle
from skstructured.regularizers import Shannon, SquaredNorm, Tsallis
from skstructured.spaces import (
    Birkhoff,
    Hypercube,
    OrdinalChain,
    Permutahedron,
    Simplex,
    hypercube,
    ordinal,
    permutahedron,
    simplex,
)
from skstructured.spaces import _matching as matching

#: κ₀ = min over q in (0,1) of −2 ln(1−q)/q², attained where −ln(1−q) = q/(2(1−q)).
KAPPA_0 = 4.910814964568255


def _half_square(mu, regularizer):
    return 0.5 * np.einsum("nk,nk->n", mu, mu)


def _entropy(mu, regularizer):
    return xlogy(mu, mu).sum(axis=1)


def _binary_entropies(mu, regularizer):
    return (xlogy(mu, mu) + xlogy(1 - mu, 1 - mu)).sum(axis=1)


def _staircase_entropy(mu, regularizer):
    p = np.maximum(OrdinalChain().vertex_proba(mu), 0.0)
    return xlogy(p, p).sum(axis=1)


def _tsallis(mu, regularizer):
    alpha = regularizer.kernel_params()[0]
    return (mu**alpha).sum(axis=1) / (alpha * (alpha - 1.0))


def _logarithms(mu, regularizer):
    return np.log(mu)


def _log_odds(mu, regularizer):
    return np.log(mu) - np.log(1.0 - mu)


def _staircase_link(mu, regularizer):
    return np.diff(np.log(OrdinalChain().vertex_proba(mu)), axis=1)


def _tsallis_link(mu, regularizer):
    alpha = regularizer.kernel_params()[0]
    return mu ** (alpha - 1.0) / (alpha - 1.0)


def _variance(mu):
    return mu * (1.0 - mu)


def _variance_of_differences(mu):  # scores of classes move against each other
    return _variance(mu) * mu.shape[1] / max(mu.shape[1] - 1, 1)


def _one(dim):
    return 1.0


def _projection(kernel, **more):
    return Oracle(kernel, _half_square, "l2", _one, **more)


ORACLES |= {
    (Simplex, Shannon): Oracle(
        simplex.softmax,
        _entropy,
        "l1",
        _one,
        lambda dim: (KAPPA_0 / 4, KAPPA_0 / 2),
        log_proba=simplex.log_softmax,
        link=_logarithms,
        batch=simplex.softmax_rows,
        curvature=_variance_of_differences,
    ),
    (Simplex, SquaredNorm): _projection(simplex.sparsemax),
    (Simplex, Tsallis): Oracle(simplex.entmax, _tsallis, "l2", _one, link=_tsallis_link),
    (Hypercube, Shannon): Oracle(
        hypercube.sigmoid,
        _binary_entropies,
        "l2",
        lambda dim: 4.0,
        lambda dim: (KAPPA_0, KAPPA_0),
        log_proba=log_expit,
        link=_log_odds,
        batch=hypercube.sigmoid_rows,
        curvature=_variance,
    ),
    (Hypercube, SquaredNorm): _projection(hypercube.clip),
    (OrdinalChain, Shannon): Oracle(
        ordinal.staircase_marginals,
        _staircase_entropy,
        "l1",
        lambda dim: 1.0 / dim**2,
        lambda dim: (KAPPA_0 / dim**2, KAPPA_0 / dim),
        log_proba=ordinal.log_staircase,
        link=_staircase_link,
        batch=ordinal.staircase_rows,
        curvature=_variance,
    ),
    (OrdinalChain, SquaredNorm): _projection(ordinal.staircase_projection),
    (Permutahedron, SquaredNorm): _projection(
        permutahedron.rank_projection, work=lambda dim: 6 * dim
    ),
    (Birkhoff, Shannon): Oracle(
        matching.entropic_matching,
        _entropy,
        "l1",
        lambda dim: 1.0 / math.isqrt(dim),
        lambda dim: (KAPPA_0 / (4 * math.isqrt(dim)), KAPPA_0 / 2),
        matching.matching_work,
        True,
        link=_logarithms,
        curvature=_variance,
    ),
    (Birkhoff, SquaredNorm): _projection(
        matching.matching_projection, work=matching.matching_work, iterative=True
    ),
    (OutputSpace, SquaredNorm): _projection(None, work=projection_scratch, iterative=True),
}

#: Residuals of iterative kernels above this are worth a warning.
RESIDUAL_TOL = 1e-9


def warn_of_residual(oracle, work):
    """Warn if an iterative function did not converge, and forget the residual."""
    if oracle.iterative and work[0] > RESIDUAL_TOL:
        residual, work[0] = work[0], 0.0
        warnings.warn(
            f"An iterative oracle stopped before convergence, with residual {residual:.2g}.",
            ConvergenceWarning,
            stacklevel=2,
        )


def find_oracle(space, regularizer):
    """The oracle of a space and a regularizer, or of classes that they derive from."""
    for pair in itertools.product(type(space).__mro__, type(regularizer).__mro__):
        if pair in ORACLES:
            return ORACLES[pair]
    description = f"{type(space).__name__} with {type(regularizer).__name__}"
    supported = ", ".join(f"{s.__name__} with {r.__name__}" for s, r in ORACLES)
    raise ValueError(f"There is no oracle for {description}; supported are {supported}.")
