"""Experiments behind papers: mistakes, bounds, rates, accuracy."""
