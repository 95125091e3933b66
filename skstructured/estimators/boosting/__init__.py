"""Online boosting, and the shallow trees that it combines: both learn one row at a time."""

from skstructured.estimators.boosting.olm import AdaBoostOLMClassifier
from skstructured.estimators.boosting.tree import OnlineTreeClassifier

__all__ = ["AdaBoostOLMClassifier", "OnlineTreeClassifier"]
