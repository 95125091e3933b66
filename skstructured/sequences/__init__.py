"""Label sequences: row-wise transformers for them, stacked matrices with lengths, and scores."""

from skstructured._base.ragged import Stacked
from skstructured.sequences.transformer import (
    SequenceTransformer,
    label_f1,
    label_f1_scorer,
    position_accuracy,
    position_accuracy_scorer,
    sequence_accuracy,
    sequence_accuracy_scorer,
)

__all__ = [
    "SequenceTransformer",
    "Stacked",
    "label_f1",
    "label_f1_scorer",
    "position_accuracy",
    "position_accuracy_scorer",
    "sequence_accuracy",
    "sequence_accuracy_scorer",
]
