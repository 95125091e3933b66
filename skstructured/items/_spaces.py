"""Rounds of items as an output space: the same kind of output, over as many items as there are."""

import functools
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from skstructured.extend._types import Floats
from skstructured.extend.output_space import Geometry, OutputSpace
from skstructured.spaces import Permutahedron


class TiedRanks(Permutahedron):
    """Rankings whose truths may have ties: losses are means over the orders of what is tied.

    ``E_y L(μ; y) = (Σ_k (k − k̄)² − <ȳ − k̄, μ − k̄>)/M`` with the mean ȳ of the rank vectors y, and
    k̄ = (d + 1)/2. One item has no loss.
    """

    def expected_loss(self, mu: Floats, V: Floats) -> Floats:
        """Spearman's loss (n,) of means mu and truths V, mean rank vectors, both (n, d)."""
        d = np.shape(V)[1]
        if d < 2:
            return np.zeros(len(V))
        middle = (d + 1) / 2.0
        half = d * (d**2 - 1) / 12.0
        return 0.5 * (1.0 - np.einsum("nd,nd->n", V - middle, mu - middle) / half)

    def geometry(self, norm: str, dim: int | None = None) -> Geometry:
        """As of `Permutahedron`; of one item as of two, whose numbers are larger."""
        return super().geometry(norm, max(self._dimension(dim), 2))


class OverItems(OutputSpace):
    """Outputs of rounds that have a number of items each; one vector of weights scores all.

    Parameters
    ----------
    space : OutputSpace
        The space, over any number of items.

    Attributes
    ----------
    dim_ : int
        1: how many weights a feature has.
    first_ : int
        How many items the first round has.
    """

    dim_ = 1
    first_ = 2

    def __init__(self, space: OutputSpace) -> None:
        self.space = space

    @property
    def constant_sum(self) -> bool:  # type: ignore[override]
        """Whether a number added to the scores of all items changes nothing."""
        return self.space.constant_sum

    def fit(self, y: Any) -> Self:
        """Learn how many items the first of the truths, `Ragged`, has."""
        self.first_ = int(y.lengths[0])
        return self

    def fit_stream(self, y: Any, classes: Any = None) -> Self:
        """As `fit`; a ValueError if there are classes."""
        self.check_classes(classes)
        return self.fit(y)

    def check_classes(self, classes: Any) -> None:
        """A ValueError if there are classes: items have no class labels."""
        if classes is not None:
            raise ValueError(f"classes={classes!r} was given, but items have no class labels.")

    def pack(self, y: Any) -> Any:
        """Truths, `Ragged` points of the polytopes."""
        return y

    def unpack(self, packed: Any) -> Any:
        """The same."""
        return packed

    def argmax(self, theta: Floats) -> Floats:
        """As of the space over so many items."""
        return self.over(theta.shape[1]).argmax(theta)

    @functools.cached_property
    def _over(self) -> dict[int, OutputSpace]:
        return {}

    def over(self, dim: int) -> OutputSpace:
        """The space with embeddings of this dimension."""
        if dim not in self._over:
            space = clone(self.space)
            space.dim_ = dim
            self._over[dim] = space
        return self._over[dim]

    def __getstate__(self) -> Any:
        """Without the spaces of each size."""
        return {name: value for name, value in vars(self).items() if name != "_over"}
