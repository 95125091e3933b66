"""Max-margin models of structured outputs, learned in batch, with kernels."""
