"""Items that have features: choices, learning to rank, assignments."""

from skstructured.items._choice_report import ChoiceSummary
from skstructured.items.choice import ConditionalLogit
from skstructured.items.metrics import ndcg
from skstructured.items.predictor import ItemStructuredPredictor
from skstructured.items.ranker import ListwiseRanker
from skstructured.items.structured import StructuredRanker

__all__ = [
    "ChoiceSummary",
    "ConditionalLogit",
    "ItemStructuredPredictor",
    "ListwiseRanker",
    "StructuredRanker",
    "ndcg",
]
