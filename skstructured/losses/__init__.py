"""Losses of scores: Fenchel–Young losses over any space, and surrogates of mistakes and margins."""

from skstructured.losses.fenchel_young import FenchelYoung, LossConstants
from skstructured.losses.gap import GapSurrogate, ZeroOneLoss

__all__ = ["FenchelYoung", "GapSurrogate", "LossConstants", "ZeroOneLoss"]
