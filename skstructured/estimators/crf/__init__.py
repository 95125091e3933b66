"""Conditional random fields over any output space, learned in batch."""

from skstructured.estimators.crf.estimator import ConditionalRandomField

__all__ = ["ConditionalRandomField"]
