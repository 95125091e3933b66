"""The randomized prediction that exploits the gap of a surrogate."""

import numpy as np

from skstructured._base.validation import check_share
from skstructured.extend.decoder import Decoder
from skstructured.losses.gap import GapSurrogate, ZeroOneLoss
from skstructured.spaces import Simplex

__all__ = ["GapDecoder", "GapSurrogate", "ZeroOneLoss"]


class GapDecoder(Decoder):
    """Gaptron's prediction: ``p' = (1 − max(a, ρ)) e_{y*} + max(a, ρ)/K`` with the gap a(θ).

    Parameters
    ----------
    loss : {"logistic", "hinge", "smooth_hinge"}, default="logistic"
        The surrogate whose gap is exploited; see `GapSurrogate`.
    exploration : float, default=0.0
        ρ in [0, 1], the least mass spread over all classes.

    Notes
    -----
    Its theorems are those of `GaptronClassifier`; Lemma 3.1 of Sakaue et al. (2024), which
    `OnlineStructuredPredictor` relies on, does not hold for it.

    References
    ----------
    van der Hoeven (2020), Algorithm 1.
    """

    def __init__(self, loss="logistic", exploration=0.0):
        self.loss = loss
        self.exploration = exploration

    def mixture(self, theta, mu, loss):
        """y* and max(a, ρ)."""
        self._only_over(Simplex, loss)
        least = check_share("exploration", self.exploration)
        gaps = GapSurrogate(kind=self.loss).gaps(theta)
        return loss.space.argmax(theta), np.maximum(gaps, least)

    def draw_mean(self, theta, mu):
        """Uniform: 1/K everywhere."""
        return np.full(np.shape(theta), 1.0 / np.shape(theta)[1])
