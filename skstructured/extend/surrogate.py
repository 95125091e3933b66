"""What losses of scores, other than Fenchel–Young losses, have in common."""

import numpy as np

from skstructured._base.component import Component


class Surrogate(Component):
    """A loss that has `mean`, `value` and a kernel, and no regularizer."""

    def kernel_arguments(self, dim):
        """Vectors (params, work) of the kernel for scores of length `dim`."""
        return np.zeros(0), np.zeros(0)

    def mean_and_value(self, theta, V):
        """`mean` and `value`."""
        return self.mean(theta), self.value(theta, V)

    def omega(self, mu):
        """Zeros (n,): scores of classes are compared as they are."""
        return np.zeros(len(mu))

    def check_residual(self, work):
        """Nothing iterates here."""
