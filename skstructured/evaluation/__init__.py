"""Progressive validation, results and plots."""

from skstructured.evaluation._result import ProgressiveResult, StreamResult
from skstructured.evaluation.display import RegretDisplay
from skstructured.evaluation.validation import progressive_validate

__all__ = ["ProgressiveResult", "RegretDisplay", "StreamResult", "progressive_validate"]
