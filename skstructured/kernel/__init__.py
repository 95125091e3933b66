"""Online learners with kernels."""

from skstructured.kernel.classic import AveragedKernelSGDClassifier, KernelPerceptronClassifier
from skstructured.kernel.pistol import PiSTOLClassifier, PiSTOLRegressor
from skstructured.kernel.structured import KernelStructuredPredictor

__all__ = [
    "AveragedKernelSGDClassifier",
    "KernelPerceptronClassifier",
    "KernelStructuredPredictor",
    "PiSTOLClassifier",
    "PiSTOLRegressor",
]
