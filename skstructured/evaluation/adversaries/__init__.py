"""Streams to test learners on: noisy, drifting, separable, adaptive and worst-case."""

from skstructured.evaluation.adversaries.adaptive import GreedyAdversary, play
from skstructured.evaluation.adversaries.streams import (
    Drifting,
    LabelNoise,
    LowerBound,
    ObliviousAdversary,
    Separable,
)

__all__ = [
    "Drifting",
    "GreedyAdversary",
    "LabelNoise",
    "LowerBound",
    "ObliviousAdversary",
    "Separable",
    "play",
]
