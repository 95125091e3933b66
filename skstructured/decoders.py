"""Decoders ψ: how scores become outputs."""

import numpy as np

from skstructured.base import Decoder, resolve

__all__ = ["MAP", "Nearest", "Randomized", "Sampled"]


class MAP(Decoder):
    """Maximum a posteriori: the linear oracle ``argmax_{y ∈ Y} <θ, y>``. Deterministic."""

    def mixture(self, theta, mu, loss):
        """y* = argmax <θ, y> and p = 0."""
        return loss.space.argmax(theta), np.zeros(len(theta))


class Nearest(Decoder):
    """The vertex nearest to ŷ_Ω(θ) in the pair's norm (Sakaue et al. 2024, Prop. 3.2 and C.1).

    Deterministic. For the target losses of the shipped spaces, which are affine in the truth as
    well, it is also the calibrated decoding ``argmin_{y'} L(y'; ŷ_Ω(θ))`` (Blondel 2019).
    """

    def mixture(self, theta, mu, loss):
        """y* = nearest vertex to μ and p = 0."""
        return loss.space.nearest(mu), np.zeros(len(mu))


class Randomized(Decoder):
    """Randomized decoding (Sakaue et al. 2024, Algorithm 1).

    With y* the vertex nearest to ŷ_Ω(θ), ``Δ* = ‖y* − ŷ‖`` and ``p = min(1, 2Δ*/ν)``, returns y*
    with probability 1 − p and otherwise a vertex drawn with mean exactly ŷ. Then
    ``E[L(ψ(θ); y)] ≤ 4γ/(λνc) S(θ; y)`` for every θ and y (Lemma 3.1).
    """

    exploits_gap = True

    def mixture(self, theta, mu, loss):
        """y* = nearest vertex to μ and p = min(1, 2‖y* − μ‖/ν)."""
        anchor = loss.space.nearest(mu)
        constants = loss.constants_of(mu.shape[1])
        order = 1 if constants.norm == "l1" else 2
        distance = np.linalg.norm(anchor - mu, ord=order, axis=1)
        return anchor, np.minimum(1.0, 2.0 * distance / constants.nu)


class Sampled(Decoder):
    """Always a vertex drawn with mean ŷ_Ω(θ); with entropies over vertices, a Gibbs sample."""

    def mixture(self, theta, mu, loss):
        """y* = nearest vertex to μ and p = 1."""
        return loss.space.nearest(mu), np.ones(len(mu))


DECODERS = {"map": MAP, "nearest": Nearest, "randomized": Randomized, "sampled": Sampled}


def resolve_decoder(decoder):
    """Decoder of a short-cut or instance; see `skstructured.base.resolve`."""
    return resolve("decoder", decoder, DECODERS, Decoder)
