"""The decoder of label rankings for NDCG."""

import numpy as np

from skstructured.extend._types import Floats, Loss
from skstructured.extend.decoder import Decoder
from skstructured.metrics import gains
from skstructured.spaces import Birkhoff


class DiscountedGain(Decoder):
    """Calibrated decoding for NDCG on `Birkhoff`: items sorted by their expected gain.

    With P the matrix (items × positions) of a ranking and relevance ``m − 1 − position`` in the
    truth, ``NDCG(y'; y) = <P(y') discount, P(y) gain>/const`` is affine in the truth, so that its
    expectation under ŷ_Ω(θ) is largest where items are sorted by ``ŷ gain``. Deterministic.

    Parameters
    ----------
    gain : {"exponential", "linear"}, default="exponential"
        Whether an item gains 2^relevance − 1 or its relevance; see `skstructured.metrics.ndcg`.

    Raises
    ------
    ValueError
        Over any other space than `Birkhoff`.

    References
    ----------
    Blondel (2019), "Structured prediction with projection oracles", section 4 and appendix.
    """

    only_over = Birkhoff

    def __init__(self, gain: str = "exponential") -> None:
        self.gain = gain

    def mixture(self, theta: Floats, mu: Floats, loss: Loss) -> tuple[Floats, Floats]:
        """y* = items by decreasing expected gain and p = 0."""
        self.check_space(loss)
        m = round(mu.shape[1] ** 0.5)
        expected = mu.reshape(-1, m, m) @ gains(np.arange(m - 1, -1, -1), self.gain)
        positions = np.argsort(np.argsort(-expected, axis=1, kind="stable"), axis=1)
        return loss.space.unpack(positions), np.zeros(len(mu))
