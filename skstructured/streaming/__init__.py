"""Rows that do not fit into memory, or on one machine: chunks, and shards."""

from skstructured.streaming.chunks import array_chunks, fit_chunks

__all__ = ["array_chunks", "fit_chunks"]
