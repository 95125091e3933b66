"""Losses of scores: Fenchel–Young losses of any space, and surrogates of mistakes and margins."""

from skstructured._base.validation import check_kernels
from skstructured.extend.surrogate import Surrogate
from skstructured.losses.fenchel_young import FenchelYoung, LossConstants
from skstructured.losses.gap import GapSurrogate, ZeroOneLoss
from skstructured.losses.surrogates import IndicatorMargins, ResidualLoss

__all__ = [
    "FenchelYoung",
    "GapSurrogate",
    "IndicatorMargins",
    "LossConstants",
    "ResidualLoss",
    "ZeroOneLoss",
]


def fenchel_young_of(loss):
    """The `FenchelYoung` of a string or instance; None for a surrogate of another kind."""
    if isinstance(loss, str) and loss == "fenchel_young":
        return FenchelYoung()
    return loss if isinstance(loss, FenchelYoung) else None


def named_surrogates(space):
    """What strings for ``loss=`` stand for over a space, besides "fenchel_young"."""
    kinds = ("hinge", "smooth_hinge")
    if space.scores_classes:
        return {kind: GapSurrogate(kind=kind) for kind in kinds} | {"perceptron": ZeroOneLoss()}
    if space.has_indicators:
        return {kind: IndicatorMargins(kind=kind) for kind in (*kinds, "perceptron")}
    return {}


def resolve_surrogate(loss, space):
    """The `Surrogate` of a string or instance over a space, fitted or not."""
    if isinstance(loss, Surrogate):
        return check_kernels(loss.over(space))
    if not isinstance(loss, str):
        advice = "a custom loss is a class with a kernel and mean, derived from Surrogate"
        raise TypeError(
            f"loss must be a string or an instance of Surrogate, got {loss!r}: {advice}."
        )
    surrogates = named_surrogates(space)
    if loss not in surrogates:
        valid = ", ".join(map(repr, ["fenchel_young", *surrogates]))
        name = type(space).__name__
        raise ValueError(f"loss={loss!r} is not known for {name}; its losses are {valid}.")
    return surrogates[loss].over(space)
