"""The interface of regularizers."""

from abc import ABC

import numpy as np

from skstructured._base.component import Component
from skstructured.extend._types import Floats


class Regularizer(Component, ABC):
    """A convex function Ψ whose restriction to conv(Y) makes Ω = Ψ + I_conv(Y)."""

    def kernel_params(self) -> Floats:
        """Parameters handed to the compiled kernel, a float64 vector."""
        return np.empty(0)
