"""Regularizers: the convex functions Ψ that turn scores into mean predictions."""

import numpy as np

from skstructured._base.component import resolve
from skstructured._base.validation import check_real
from skstructured.extend._types import Floats
from skstructured.extend.surrogate import Regularizer

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
