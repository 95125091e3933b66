"""Progressive validation, results and plots."""

from skstructured.evaluation._result import ProgressiveResult, StreamResult
from skstructured.evaluation.validation import RegretDisplay, progressive_validate

__all__ = ["ProgressiveResult", "RegretDisplay", "StreamResult", "progressive_validate"]
