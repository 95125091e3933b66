"""Regularizers: the convex functions Ψ that turn scores into mean predictions.

The table `ORACLES` has the compiled function, Ω and the constants of each over the spaces.
"""

import itertools
import math
import warnings

import numpy as np
from scipy.special import log_expit, xlogy
from sklearn.exceptions import ConvergenceWarning

from skstructured import spaces
from skstructured._base.component import resolve
from skstructured._base.validation import check_real
from skstructured.extend._by_vertices import projection_scratch
from skstructured.extend._types import Floats
from skstructured.extend.output_space import OutputSpace
from skstructured.extend.surrogate import ORACLES, Oracle, Regularizer
from skstructured.spaces import _matching, hypercube, ordinal, permutahedron, simplex

__all__ = ["Shannon", "SquaredNorm", "Tsallis"]


class Shannon(Regularizer):
    r"""The negative Shannon entropy of the distribution over vertices.

    On the simplex ``Ψ(μ) = Σ μ ln μ`` (logistic loss); on the hypercube
    ``Σ μ ln μ + (1−μ) ln(1−μ)`` (independent sigmoids); on chains of ordinal classes the entropy
    over the vertices, ``Ω(μ) = min{Σ p ln p : E_p[Y] = μ}`` (a conditional random field).

    See Also
    --------
    SquaredNorm : Sparse means, by projections.
    Tsallis : Between the two, on the simplex.
    skstructured.losses.FenchelYoung : The loss that a regularizer and a space make.

    Notes
    -----
    The loss on the simplex is in section 4 of [1]_, that of chains in appendix B of [2]_.

    References
    ----------
    .. [1] Blondel, Martins, Niculae (2020), "Learning with Fenchel–Young losses".
    .. [2] Sakaue, Bao, Tsuchiya, Oki (2024), "Online structured prediction with Fenchel–Young
       losses and improved surrogate regret for online multiclass classification with logistic
       loss".
    """


class SquaredNorm(Regularizer):
    r"""Half the squared Euclidean norm, ``Ψ(μ) = ½‖μ‖²``: ŷ_Ω(θ) is the projection of θ.

    This is sparsemax [1]_ on the simplex and SparseMAP [2]_ on other polytopes.

    See Also
    --------
    Shannon : Positive probabilities for all vertices.
    Tsallis : Between the two, on the simplex.
    skstructured.losses.FenchelYoung : The loss that a regularizer and a space make.

    References
    ----------
    .. [1] Martins, Astudillo (2016), "From softmax to sparsemax".
    .. [2] Niculae, Martins, Blondel, Cardie (2018), "SparseMAP".
    """

    has_margin = True


class Tsallis(Regularizer):
    r"""The negative Tsallis entropy, ``Ψ(μ) = Σ μ^α / (α(α−1))``: ŷ_Ω is α-entmax.

    It is 1-strongly convex in ℓ2 on the simplex for every α in (1, 2]. With α = 2 the mean is
    sparsemax (Ψ differs by a constant); as α → 1 it tends to softmax.

    Parameters
    ----------
    alpha : float, default=1.5
        The order α of the entropy, in (1, 2].

    Raises
    ------
    ValueError
        When used, if `alpha` is outside (1, 2].

    See Also
    --------
    Shannon : The limit α → 1, softmax.
    SquaredNorm : The case α = 2, sparsemax.
    skstructured.losses.FenchelYoung : The loss that a regularizer and a space make.

    References
    ----------
    Peters, Niculae, Martins (2019), "Sparse sequence-to-sequence models".
    """

    has_margin = True

    def __init__(self, alpha: float = 1.5) -> None:
        self.alpha = alpha

    def kernel_params(self) -> Floats:
        """The vector [α]."""
        name, allowed = "alpha of Tsallis", "lie in (1, 2]"
        return np.array([check_real(name, self.alpha, lambda v: 1.0 < v <= 2.0, allowed)])


REGULARIZERS = {"shannon": Shannon, "squared": SquaredNorm, "tsallis": Tsallis}


def resolve_regularizer(regularizer, space):
    """Regularizer of a short name or instance; None is the default of `space`."""
    value = space.default_regularizer if regularizer is None else regularizer
    return resolve("regularizer", value, REGULARIZERS, Regularizer)


#: κ₀ = min over q in (0,1) of −2 ln(1−q)/q², attained where −ln(1−q) = q/(2(1−q)).
KAPPA_0 = 4.910814964568255

#: Residuals of iterative kernels above this are worth a warning.
RESIDUAL_TOL = 1e-9


def _entropy(mu, regularizer):
    return xlogy(mu, mu).sum(axis=1)


def _logarithms(mu, regularizer):
    return np.log(mu)


def _binary_entropies(mu, regularizer):
    return (xlogy(mu, mu) + xlogy(1 - mu, 1 - mu)).sum(axis=1)


def _log_odds(mu, regularizer):
    return np.log(mu) - np.log(1.0 - mu)


def _staircase_entropy(mu, regularizer):
    return _entropy(np.maximum(spaces.OrdinalChain().vertex_proba(mu), 0.0), regularizer)


def _staircase_link(mu, regularizer):
    return np.diff(np.log(spaces.OrdinalChain().vertex_proba(mu)), axis=1)


def _tsallis(mu, regularizer):
    alpha = regularizer.kernel_params()[0]
    return (mu**alpha).sum(axis=1) / (alpha * (alpha - 1.0))


def _tsallis_link(mu, regularizer):
    alpha = regularizer.kernel_params()[0]
    return mu ** (alpha - 1.0) / (alpha - 1.0)


def _variance(mu):
    return mu * (1.0 - mu)


def _variance_of_differences(mu):  # scores of classes move against each other
    return _variance(mu) * mu.shape[1] / max(mu.shape[1] - 1, 1)


ORACLES |= {
    (spaces.Simplex, Shannon): Oracle(
        simplex.softmax,
        _entropy,
        "l1",
        sharp=lambda dim: (KAPPA_0 / 4, KAPPA_0 / 2),
        log_proba=simplex.log_softmax,
        link=_logarithms,
        batch=simplex.softmax_rows,
        curvature=_variance_of_differences,
    ),
    (spaces.Simplex, SquaredNorm): Oracle(simplex.sparsemax),
    (spaces.Simplex, Tsallis): Oracle(simplex.entmax, _tsallis, link=_tsallis_link),
    (spaces.Hypercube, Shannon): Oracle(
        hypercube.sigmoid,
        _binary_entropies,
        convexity=lambda dim: 4.0,
        sharp=lambda dim: (KAPPA_0, KAPPA_0),
        log_proba=log_expit,
        link=_log_odds,
        batch=hypercube.sigmoid_rows,
        curvature=_variance,
    ),
    (spaces.Hypercube, SquaredNorm): Oracle(hypercube.clip),
    (spaces.OrdinalChain, Shannon): Oracle(
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
    (spaces.OrdinalChain, SquaredNorm): Oracle(ordinal.staircase_projection),
    (spaces.Permutahedron, SquaredNorm): Oracle(
        permutahedron.rank_projection, work=lambda dim: 6 * dim
    ),
    (spaces.Birkhoff, Shannon): Oracle(
        _matching.entropic_matching,
        _entropy,
        "l1",
        lambda dim: 1.0 / math.isqrt(dim),
        lambda dim: (KAPPA_0 / (4 * math.isqrt(dim)), KAPPA_0 / 2),
        _matching.matching_work,
        iterative=True,
        link=_logarithms,
        curvature=_variance,
    ),
    (spaces.Birkhoff, SquaredNorm): Oracle(
        _matching.matching_projection, work=_matching.matching_work, iterative=True
    ),
    (OutputSpace, SquaredNorm): Oracle(None, work=projection_scratch, iterative=True),
}


def find_oracle(space, regularizer):
    """The oracle of a space and a regularizer, or of classes that they derive from."""
    for pair in itertools.product(type(space).__mro__, type(regularizer).__mro__):
        if pair in ORACLES:
            return ORACLES[pair]
    description = f"{type(space).__name__} with {type(regularizer).__name__}"
    supported = ", ".join(f"{s.__name__} with {r.__name__}" for s, r in ORACLES)
    raise ValueError(f"There is no oracle for {description}; supported are {supported}.")


def warn_of_residual(oracle, work):
    """Warn if an iterative function did not converge, and forget the residual."""
    if oracle.iterative and work[0] > RESIDUAL_TOL:
        residual, work[0] = work[0], 0.0
        warnings.warn(
            f"An iterative oracle stopped before convergence, with residual {residual:.2g}.",
            ConvergenceWarning,
            stacklevel=2,
        )
