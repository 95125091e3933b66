"""Learners over given experts: weights from their losses, and the option to abstain."""

from skstructured.experts.abstention import AbstainingHedgeClassifier
from skstructured.experts.hedge import AdaHedge

__all__ = ["AbstainingHedgeClassifier", "AdaHedge"]
