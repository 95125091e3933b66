"""Progressive validation, off-policy evaluation, results and plots, and streams for learners."""

from skstructured.evaluation._result import ProgressiveResult, StreamResult
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
from skstructured.evaluation.off_policy import PolicyValue, cross_fitted_rewards, off_policy_value
from skstructured.evaluation.validation import progressive_validate, random_stop

__all__ = [
    "Drifting",
    "GreedyAdversary",
    "LabelNoise",
    "LowerBound",
    "ObliviousAdversary",
    "PolicyValue",
    "ProgressiveResult",
    "RegretDisplay",
    "RiskCoverageDisplay",
    "Separable",
    "StreamResult",
    "cross_fitted_rewards",
    "off_policy_value",
    "play",
    "progressive_validate",
    "random_stop",
]
