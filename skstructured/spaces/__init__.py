"""Output spaces: what an output is, its vertices, its oracles and its target loss."""

from skstructured.base import OutputSpace, resolve
from skstructured.spaces.hypercube import Hypercube
from skstructured.spaces.ordinal import OrdinalChain
from skstructured.spaces.simplex import Simplex

__all__ = ["Hypercube", "OrdinalChain", "OutputSpace", "Simplex"]

SPACES = {"simplex": Simplex, "hypercube": Hypercube, "ordinal": OrdinalChain}


def resolve_space(space):
    """Space of a short-cut or instance; see `skstructured.base.resolve`."""
    return resolve("space", space, SPACES, OutputSpace)
