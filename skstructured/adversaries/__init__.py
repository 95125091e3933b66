"""Streams to hold learners against: noisy, drifting, separable, adaptive and worst-case."""

from skstructured.adversaries._base import ObliviousAdversary
from skstructured.adversaries.adaptive import GreedyAdversary, play
from skstructured.adversaries.lower_bound import LowerBound
from skstructured.adversaries.streams import Drifting, LabelNoise, Separable

__all__ = [
    "Drifting",
    "GreedyAdversary",
    "LabelNoise",
    "LowerBound",
    "ObliviousAdversary",
    "Separable",
    "play",
]
