"""Who learns: of first and second order, with kernels, boosted, and in batch."""

__all__: list = []
