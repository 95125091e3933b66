"""Online logistic regression, second order: matrices over all weights, one pass, no scaling."""

from skstructured.logistic.folklore import AioliClassifier, FolkloreClassifier

__all__ = ["AioliClassifier", "FolkloreClassifier"]
