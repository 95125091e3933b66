"""Online learners with kernels."""

from skstructured.estimators.kernel._values import Kernel
from skstructured.estimators.kernel.margins import (
    AveragedKernelSGDClassifier,
    KernelPerceptronClassifier,
    PiSTOLClassifier,
    PiSTOLRegressor,
)
from skstructured.estimators.kernel.structured import KernelStructuredPredictor

__all__ = [
    "AveragedKernelSGDClassifier",
    "Kernel",
    "KernelPerceptronClassifier",
    "KernelStructuredPredictor",
    "PiSTOLClassifier",
    "PiSTOLRegressor",
]
