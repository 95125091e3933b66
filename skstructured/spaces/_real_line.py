"""Real numbers as outputs."""

import math

import numpy as np
from sklearn.utils import check_array, column_or_1d

from skstructured._component import Component


class RealLine(Component):
    """One real number a row, in units of `scale` around `centre`.

    Attributes
    ----------
    centre, scale : float
        y is learned as (y − centre)/scale.
    dim_ : int
        1.
    """

    task = None

    def fit(self, y):
        """Take centre and scale from outputs (n,), as few outliers as there may be; returns self.

        The median, and 1.4826 times the median distance from it, the deviation of normal outputs;
        the deviation itself where that is 0.
        """
        y = self._numbers(y)
        self.centre = float(np.median(y))
        scale = 1.4826 * float(np.median(np.abs(y - self.centre)))
        scale = scale if scale > 0.0 else float(np.std(y))
        self.scale = scale if scale > 0.0 and math.isfinite(scale) else 1.0
        self.dim_ = 1
        return self

    def fit_stream(self, y, classes=None):
        """Outputs as they are: of a stream nothing is known beforehand; returns self."""
        self.check_classes(classes)
        self.centre, self.scale, self.dim_ = 0.0, 1.0, 1
        return self

    def check_classes(self, classes):
        """A ValueError where there are classes."""
        if classes is not None:
            raise ValueError(f"classes={classes!r} was given to a regressor.")

    def pack(self, y):
        """Outputs (n,) in the units that are learned."""
        return (self._numbers(y) - self.centre) / self.scale

    def unpack(self, packed):
        """Outputs (n, 1) of packed ones."""
        return packed[:, None]

    def decode(self, V):
        """Outputs (n,) in units of y."""
        return V[:, 0] * self.scale + self.centre

    @staticmethod
    def _numbers(y):
        y = column_or_1d(y, warn=True)
        return check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
