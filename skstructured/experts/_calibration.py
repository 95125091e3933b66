"""Calibration of opinions in [−1, 1], by Platt's sigmoid or isotonic regression."""

import numpy as np
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from skstructured.experts._binary import GRID

#: What `calibrate` may be but None.
METHODS = ("sigmoid", "isotonic")


class Sigmoid:
    """Platt's: P(second class) = 1/(1 + exp(−(a u + b))), fitted to softened labels."""

    def __init__(self, said, codes):
        counts = np.bincount(codes, minlength=2)
        right = (counts + 1.0) / (counts + 2.0)
        labels, weight = np.r_[codes, 1 - codes], np.r_[right[codes], 1.0 - right[codes]]
        model = LogisticRegression(C=1e6, tol=1e-8, max_iter=1000)
        self._model = model.fit(np.r_[said, said][:, None], labels, sample_weight=weight)

    def __call__(self, said):
        """Calibrated opinions (n,)."""
        share = self._model.predict_proba(said[:, None])[:, 1] if len(said) else np.empty(0)
        return np.rint((2.0 * share - 1.0) * GRID) / GRID


class Isotonic:
    """The monotone P(second class) of the least squared error."""

    def __init__(self, said, codes):
        model = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        self._model = model.fit(said, codes)

    def __call__(self, said):
        """Calibrated opinions (n,)."""
        share = self._model.predict(said) if len(said) else np.empty(0)
        return np.rint((2.0 * share - 1.0) * GRID) / GRID


def calibrator(method, said, codes):
    """A map of opinions (n,) to calibrated ones, or None: without a method, or a second class."""
    if method is None or len(np.unique(codes)) < 2:
        return None
    return {"sigmoid": Sigmoid, "isotonic": Isotonic}[method](said, codes)


def calibrated_out_of_fold(method, said, codes, fold):
    """Opinions (n,) of each fold by the map of the other folds' opinions and labels."""
    found = said.copy()
    for k in np.unique(fold):
        inside, outside = fold == k, fold != k
        how = calibrator(method, said[outside], codes[outside])
        if how is not None:
            found[inside] = how(said[inside])
    return found
