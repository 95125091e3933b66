"""Label sequences: row-wise transformers for them, and stacked matrices with lengths."""

from skstructured._ragged import Stacked
from skstructured.sequences.transformer import SequenceTransformer

__all__ = ["SequenceTransformer", "Stacked"]
