"""Online learners with kernels."""
