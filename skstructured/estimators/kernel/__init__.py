"""Online learners with kernels."""

from skstructured.estimators.kernel.classic import (
    AveragedKernelSGDClassifier,
    KernelPerceptronClassifier,
)
from skstructured.estimators.kernel.pistol import PiSTOLClassifier, PiSTOLRegressor
from skstructured.estimators.kernel.structured import KernelStructuredPredictor

__all__ = [
    "AveragedKernelSGDClassifier",
    "KernelPerceptronClassifier",
    "KernelStructuredPredictor",
    "PiSTOLClassifier",
    "PiSTOLRegressor",
]
