"""Real numbers as outputs."""

import numpy as np
from sklearn.utils import check_array, column_or_1d

from skstructured._base.component import Component
from skstructured._base.validation import check_weights
from skstructured._engine.robust_columns import weighted_quantile
from skstructured._engine.state import renamed
from skstructured.extend.learner import RowReader


def _middle_scale(sizes, weight):
    """``Σ d²/Σ d`` of sizes d (n,) between their quantiles ½ and ⅘, in normal deviations."""
    order = np.argsort(sizes)
    below = np.cumsum(weight[order])
    start = np.searchsorted(2.0 * below, below[-1], side="right")
    stop = np.searchsorted(5.0 * below, 4.0 * below[-1], side="right")
    middle = order[start : max(stop, start + 1)]
    largest = sizes[middle].max()
    if largest == 0.0:
        return 0.0
    shares = sizes[middle] / largest
    normal = 0.97996  # E z²/E|z| of normal z for which |z| is between these quantiles
    return largest * float(np.average(shares, weights=weight[middle] * shares)) / normal


class RealLine(Component):
    """One real number per row: y is learned as ``(y − center)/scale``."""

    task = None
    has_ties = False
    reader = RowReader()

    def __setstate__(self, state):
        """Read a saved space."""
        super().__setstate__(renamed(state))

    def fit(self, y, sample_weight=None):
        """Take `center` and `scale` from outputs (n,) with weights (n,), or ones; returns self.

        The median m, and ``Σ d²/Σ d`` of the distances d = |y − m| that lie between the quantiles ½
        and ⅘ of them, in units of a standard normal deviate. So a fifth of outliers of any size
        barely changes it. If at least four fifths of the outputs are the median, the other ones
        alone count, such as claims among policies of which most have none.
        """
        y = self._numbers(y)
        weight = check_weights(sample_weight, y, len(y))
        self.center = float(weighted_quantile(y, weight, 0.5))
        sizes = np.abs(y - self.center)
        usual = float(np.average(np.sqrt(sizes), weights=weight)) ** 2
        rounding = 1e-13 * max(abs(self.center), usual)
        self.scale = _middle_scale(sizes, weight)
        if self.scale <= rounding:
            differ = (sizes > rounding) & (weight > 0.0)
            self.scale = _middle_scale(sizes[differ], weight[differ]) if differ.any() else 1.0
        self.dim_ = 1
        return self

    def fit_stream(self, y, classes=None):
        """Keep the units of y, because the outputs of a stream are unknown; returns self."""
        self.check_classes(classes)
        self.center, self.scale, self.dim_ = 0.0, 1.0, 1
        return self

    def check_classes(self, classes):
        """Raise a ValueError if classes are given."""
        if classes is not None:
            raise ValueError(f"classes={classes!r} was given, but regressors have no classes.")

    def pack(self, y):
        """Outputs (n,) in the units that are learned."""
        return (self._numbers(y) - self.center) / self.scale

    def unpack(self, packed):
        """Outputs (n, 1) of packed ones."""
        return packed[:, None]

    def decode(self, V):
        """Outputs (n,) in units of y, the largest float at most."""
        largest = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            return np.clip(V[:, 0] * self.scale + self.center, -largest, largest)

    @staticmethod
    def _numbers(y):
        y = column_or_1d(y, warn=True)
        try:
            with np.errstate(invalid="ignore"):  # scikit-learn's sum of them may be inf - inf
                y = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
        except ValueError as error:
            if "could not convert" not in str(error):
                raise
            advice = "For labels use StructuredPredictor"
            raise ValueError(f"y must hold one number per row: {error}. {advice}.") from None
        largest = 1e300  # differences and sums of a few are finite
        if len(y) and np.abs(y).max() > largest:
            worst = int(np.argmax(np.abs(y)))
            raise ValueError(
                f"y must lie between -{largest:g} and {largest:g}, got {y[worst]:.4g} in row "
                f"{worst}."
            )
        return y
