"""The estimators: of first and second order, with kernels, boosted, and learned in batch."""

__all__: list = []
