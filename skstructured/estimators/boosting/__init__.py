"""Boosting a row at a time, and the shallow tree that grows a row at a time."""

from skstructured.estimators.boosting.olm import AdaBoostOLMClassifier
from skstructured.estimators.boosting.tree import OnlineTreeClassifier

__all__ = ["AdaBoostOLMClassifier", "OnlineTreeClassifier"]
