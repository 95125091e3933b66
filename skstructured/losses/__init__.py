"""Losses of scores: Fenchel–Young losses of any space, and surrogates of mistakes and margins."""

from skstructured._base.plugins import check_kernels
from skstructured.extend.surrogate import Surrogate
from skstructured.losses.fenchel_young import FenchelYoung, LossConstants
from skstructured.losses.gap import GapSurrogate, ZeroOneLoss
from skstructured.losses.surrogates import IndicatorMargins, ResidualLoss
from skstructured.spaces import Hypercube, OrdinalChain, Simplex

__all__ = [
    "FenchelYoung",
    "GapSurrogate",
    "IndicatorMargins",
    "LossConstants",
    "ResidualLoss",
    "ZeroOneLoss",
]

#: What a string for ``loss=`` stands for, by the space; "fenchel_young" is for all of them.
SURROGATES = {
    (Simplex, "hinge"): GapSurrogate(kind="hinge"),
    (Simplex, "smooth_hinge"): GapSurrogate(kind="smooth_hinge"),
    (Simplex, "perceptron"): ZeroOneLoss(),
    **{
        (space, kind): IndicatorMargins(kind=kind)
        for space in (Hypercube, OrdinalChain)
        for kind in ("hinge", "smooth_hinge", "perceptron")
    },
}

#: The loss of a regularizer, which every space has.
FENCHEL_YOUNG = "fenchel_young"


def fenchel_young_of(loss):
    """The `FenchelYoung` of a string or instance; None for a surrogate of another kind."""
    if isinstance(loss, str) and loss == FENCHEL_YOUNG:
        return FenchelYoung()
    return loss if isinstance(loss, FenchelYoung) else None


def resolve_surrogate(loss, space):
    """The `Surrogate` of a string or instance over a space, fitted or not.

    Raises
    ------
    ValueError
        For a string that is not a loss of the space; the message lists the valid ones.
    TypeError
        For anything that is neither a string nor a `Surrogate`, and for a kernel with other
        arguments than loops call it with.
    """
    if isinstance(loss, Surrogate):
        return check_kernels(loss.over(space))
    if not isinstance(loss, str):
        advice = "a custom loss is a class with a kernel and mean, derived from Surrogate"
        raise TypeError(
            f"loss must be a string or an instance of Surrogate, got {loss!r}: {advice}."
        )
    surrogates = {
        name: surrogate for (kind, name), surrogate in SURROGATES.items() if isinstance(space, kind)
    }
    if loss not in surrogates:
        valid = ", ".join(map(repr, [FENCHEL_YOUNG, *surrogates]))
        name = type(space).__name__
        raise ValueError(f"loss={loss!r} is not known for {name}; its losses are {valid}.")
    return surrogates[loss].over(space)
