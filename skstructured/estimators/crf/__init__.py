"""Conditional random fields over any output space, learned in batch."""
