"""Regularizers: the convex functions Ψ that turn scores into mean predictions."""

import numpy as np

from skstructured._base.component import resolve
from skstructured._base.validation import check_real
from skstructured.extend._types import Floats
from skstructured.extend.surrogate import Regularizer

__all__ = ["Shannon", "SquaredNorm", "Tsallis"]


class Shannon(Regularizer):
    r"""Negative Shannon entropy of the distribution over vertices.

    On the simplex ``Ψ(μ) = Σ μ ln μ`` (logistic loss); on the hypercube
    ``Σ μ ln μ + (1−μ) ln(1−μ)`` (independent sigmoids); on chains of ordinal classes the entropy
    over the vertices, ``Ω(μ) = min{Σ p ln p : E_p[Y] = μ}`` (a conditional random field).

    References
    ----------
    Blondel, Martins, Niculae (2020), "Learning with Fenchel–Young losses", section 4;
    Sakaue et al. (2024), appendix B.
    """


class SquaredNorm(Regularizer):
    r"""Half the squared Euclidean norm, ``Ψ(μ) = ½‖μ‖²``: ŷ_Ω(θ) is the projection of θ.

    Sparsemax on the simplex, SparseMAP on other polytopes.

    References
    ----------
    Martins, Astudillo (2016), "From softmax to sparsemax"; Niculae, Martins, Blondel, Cardie
    (2018), "SparseMAP".
    """


class Tsallis(Regularizer):
    r"""Negative Tsallis entropy, ``Ψ(μ) = Σ μ^α / (α(α−1))``: ŷ_Ω is α-entmax.

    1-strongly convex in ℓ2 on the simplex for every α in (1, 2]; α = 2 is sparsemax (up to a
    constant in Ψ), α → 1 tends to softmax.

    Parameters
    ----------
    alpha : float, default=1.5
        α in (1, 2].

    Raises
    ------
    ValueError
        When used, if `alpha` is outside (1, 2].

    References
    ----------
    Peters, Niculae, Martins (2019), "Sparse sequence-to-sequence models".
    """

    def __init__(self, alpha: float = 1.5) -> None:
        self.alpha = alpha

    def kernel_params(self) -> Floats:
        """The vector [α]."""
        name, allowed = "alpha of Tsallis", "lie in (1, 2]"
        return np.array([check_real(name, self.alpha, lambda v: 1.0 < v <= 2.0, allowed)])


REGULARIZERS = {"shannon": Shannon, "squared": SquaredNorm, "tsallis": Tsallis}


def resolve_regularizer(regularizer, space):
    """Regularizer of a short-cut or instance; None is the default of `space`."""
    value = space.default_regularizer if regularizer is None else regularizer
    return resolve("regularizer", value, REGULARIZERS, Regularizer)
