"""The randomized prediction that exploits the gap of a surrogate."""

import numpy as np

from skstructured._base.validation import check_share
from skstructured.extend._types import Floats, Loss
from skstructured.extend.decoder import Decoder
from skstructured.losses.gap import GapSurrogate, ZeroOneLoss
from skstructured.spaces import Simplex

__all__ = ["GapDecoder", "GapSurrogate", "ZeroOneLoss"]


class GapDecoder(Decoder):
    """Gaptron's prediction: ``p' = (1 − max(a, ρ)) e_{y*} + max(a, ρ)/K`` with the gap a(θ).

    Parameters
    ----------
    loss : {"logistic", "hinge", "smooth_hinge"} or None, default=None
        The surrogate whose gap is exploited; see `GapSurrogate`. None is that of the learner, and
        "logistic" where it has another loss.
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

    only_over = Simplex

    def __init__(self, loss: str | None = None, exploration: float = 0.0) -> None:
        self.loss = loss
        self.exploration = exploration

    def mixture(self, theta: Floats, mu: Floats, loss: Loss) -> tuple[Floats, Floats]:
        """y* and max(a, ρ)."""
        self.check_space(loss)
        least = check_share("exploration", self.exploration)
        gaps = GapSurrogate(kind=self.kind_for(loss)).gaps(theta)
        return loss.space.argmax(theta), np.maximum(gaps, least)

    def kind_for(self, loss: Loss) -> str:
        """The kind of the surrogate whose gap is exploited with a learner's loss."""
        own = loss.kind if isinstance(loss, GapSurrogate) else "logistic"
        return own if self.loss is None else self.loss

    def keeps_bound(self, loss: Loss) -> bool:
        """Whether p' is Gaptron's for the loss: of the same kind, without further exploration."""
        same = isinstance(loss, GapSurrogate) and self.kind_for(loss) == loss.kind
        return same and self.exploration == 0.0

    def draw_mean(self, theta: Floats, mu: Floats) -> Floats:
        """Uniform: 1/K everywhere."""
        return np.full(np.shape(theta), 1.0 / np.shape(theta)[1])
