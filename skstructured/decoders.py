"""Decoders ψ: how scores become outputs."""

import numpy as np

from skstructured._foreign import check_vertices
from skstructured.base import Decoder, resolve
from skstructured.metrics import gains
from skstructured.spaces import Birkhoff

__all__ = ["MAP", "DiscountedGain", "Nearest", "Randomized", "Sampled"]


def _nearest(mu, loss):
    return check_vertices(loss.space, "nearest", loss.space.nearest(mu), mu.shape)


class MAP(Decoder):
    """Maximum a posteriori: the linear oracle ``argmax_{y ∈ Y} <θ, y>``. Deterministic."""

    def mixture(self, theta, mu, loss):
        """y* = argmax <θ, y> and p = 0."""
        best = check_vertices(loss.space, "argmax", loss.space.argmax(theta), theta.shape)
        return best, np.zeros(len(theta))


class Nearest(Decoder):
    """The vertex nearest to ŷ_Ω(θ) in the pair's norm (Sakaue et al. 2024, Prop. 3.2 and C.1).

    Deterministic. For the target losses of the shipped spaces, which are affine in the truth as
    well, it is also the calibrated decoding ``argmin_{y'} L(y'; ŷ_Ω(θ))`` (Blondel 2019).
    """

    def mixture(self, theta, mu, loss):
        """y* = nearest vertex to μ and p = 0."""
        return _nearest(mu, loss), np.zeros(len(mu))


class Randomized(Decoder):
    """Randomized decoding (Sakaue et al. 2024, Algorithm 1).

    With y* the vertex nearest to ŷ_Ω(θ), ``Δ* = ‖y* − ŷ‖`` and ``p = min(1, 2Δ*/ν)``, returns y*
    with probability 1 − p and otherwise a vertex drawn with mean exactly ŷ. Then
    ``E[L(ψ(θ); y)] ≤ 4γ/(λνc) S(θ; y)`` for every θ and y (Lemma 3.1).
    """

    exploits_gap = True

    def mixture(self, theta, mu, loss):
        """y* = nearest vertex to μ and p = min(1, 2‖y* − μ‖/ν)."""
        anchor = _nearest(mu, loss)
        constants = loss.constants_of(mu.shape[1])
        order = 1 if constants.norm == "l1" else 2
        distance = np.linalg.norm(anchor - mu, ord=order, axis=1)
        return anchor, np.minimum(1.0, 2.0 * distance / constants.nu)


class Sampled(Decoder):
    """Always a vertex drawn with mean ŷ_Ω(θ); with entropies over vertices, a Gibbs sample."""

    def mixture(self, theta, mu, loss):
        """y* = nearest vertex to μ and p = 1."""
        return _nearest(mu, loss), np.ones(len(mu))


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

    def __init__(self, gain="exponential"):
        self.gain = gain

    def mixture(self, theta, mu, loss):
        """y* = items by decreasing expected gain and p = 0."""
        if not isinstance(loss.space, Birkhoff):
            name = type(loss.space).__name__
            raise ValueError(f"decoder=DiscountedGain() is for Birkhoff, got the space {name}.")
        m = round(mu.shape[1] ** 0.5)
        expected = mu.reshape(-1, m, m) @ gains(np.arange(m - 1, -1, -1), self.gain)
        positions = np.argsort(np.argsort(-expected, axis=1, kind="stable"), axis=1)
        return loss.space.unpack(positions), np.zeros(len(mu))


DECODERS = {"map": MAP, "nearest": Nearest, "randomized": Randomized, "sampled": Sampled}


def resolve_decoder(decoder):
    """Decoder of a short-cut or instance; see `skstructured.base.resolve`."""
    return resolve("decoder", decoder, DECODERS, Decoder)
