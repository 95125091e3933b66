"""Progressive validation, its results and plots, and streams to test learners on."""

from skstructured.evaluation._result import ProgressiveResult
from skstructured.evaluation._stream_result import StreamResult
from skstructured.evaluation.adversaries import (
    Drifting,
    GreedyAdversary,
    LabelNoise,
    LowerBound,
    ObliviousAdversary,
    Separable,
    play,
)
from skstructured.evaluation.display import RegretDisplay, RiskCoverageDisplay
from skstructured.evaluation.validation import progressive_validate

__all__ = [
    "Drifting",
    "GreedyAdversary",
    "LabelNoise",
    "LowerBound",
    "ObliviousAdversary",
    "ProgressiveResult",
    "RegretDisplay",
    "RiskCoverageDisplay",
    "Separable",
    "StreamResult",
    "play",
    "progressive_validate",
]
