"""Progressive validation, off-policy evaluation, results and plots."""

from skstructured.evaluation._result import ProgressiveResult, StreamResult
from skstructured.evaluation.display import RegretDisplay
from skstructured.evaluation.off_policy import PolicyValue, cross_fitted_rewards, off_policy_value
from skstructured.evaluation.validation import progressive_validate, random_stop

__all__ = [
    "PolicyValue",
    "ProgressiveResult",
    "RegretDisplay",
    "StreamResult",
    "cross_fitted_rewards",
    "off_policy_value",
    "progressive_validate",
    "random_stop",
]
