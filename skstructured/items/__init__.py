"""Items with features of their own: choices, learning to rank, assignments."""

from skstructured.items.predictor import ItemStructuredPredictor
from skstructured.items.ranker import ListwiseRanker

__all__ = ["ItemStructuredPredictor", "ListwiseRanker"]
