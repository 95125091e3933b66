"""Decoders ψ: how scores become outputs."""

from skstructured._base.component import resolve
from skstructured.decoders.rules import (
    MAP,
    ExpectedF1,
    GapDecoder,
    MinimumRisk,
    Nearest,
    Randomized,
    Sampled,
    Threshold,
)
from skstructured.extend.decoder import Decoder

__all__ = [
    "MAP",
    "ExpectedF1",
    "GapDecoder",
    "MinimumRisk",
    "Nearest",
    "Randomized",
    "Sampled",
    "Threshold",
]

DECODERS = {
    "f1": ExpectedF1,
    "gap": GapDecoder,
    "map": MAP,
    "min_risk": MinimumRisk,
    "nearest": Nearest,
    "randomized": Randomized,
    "sampled": Sampled,
    "threshold": Threshold,
}


def resolve_decoder(decoder):
    """Decoder of a short name or instance; see `skstructured._base.component.resolve`."""
    return resolve("decoder", decoder, DECODERS, Decoder)
