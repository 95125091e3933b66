"""Online learners with kernels."""

from skstructured.kernel.structured import KernelStructuredPredictor

__all__ = ["KernelStructuredPredictor"]
