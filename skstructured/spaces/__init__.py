"""Output spaces: the type of an output, its vertices, its oracles and its target loss."""

from skstructured._base.component import resolve
from skstructured.extend.output_space import OutputSpace
from skstructured.spaces.birkhoff import Birkhoff
from skstructured.spaces.hypercube import Hypercube
from skstructured.spaces.ordinal import OrdinalChain
from skstructured.spaces.permutahedron import Permutahedron
from skstructured.spaces.sequence import LabelSequence
from skstructured.spaces.simplex import Simplex

__all__ = [
    "Birkhoff",
    "Hypercube",
    "LabelSequence",
    "OrdinalChain",
    "OutputSpace",
    "Permutahedron",
    "Simplex",
]

#: The field's words for what an output is.
SPACES_BY_TASK = {
    "multiclass": Simplex,
    "multilabel": Hypercube,
    "assignment": Birkhoff,
    "ranking": Permutahedron,
}

SPACES_BY_NAME = {
    "simplex": Simplex,
    "hypercube": Hypercube,
    "ordinal": OrdinalChain,
    "birkhoff": Birkhoff,
    "permutahedron": Permutahedron,
    "sequence": LabelSequence,
} | SPACES_BY_TASK


def resolve_space(space: str | OutputSpace | None) -> OutputSpace:
    """Space of a short-cut or instance; see `skstructured._base.component.resolve`."""
    return resolve("space", space, SPACES_BY_NAME, OutputSpace)
