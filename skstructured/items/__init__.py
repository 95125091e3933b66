"""Items that have features: choices, learning to rank, assignments."""

import sys

from skstructured.items._spaces import ItemLoss
from skstructured.items.choice import ChoiceSummary, ConditionalLogit
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

# Saved objects name the modules that their classes were in.
sys.modules[f"{__name__}._loss"] = sys.modules[ItemLoss.__module__]
sys.modules[f"{__name__}._choice_report"] = sys.modules[ChoiceSummary.__module__]
