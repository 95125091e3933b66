"""What the adversaries share: the interface of a stream, unit rows."""

from abc import ABC, abstractmethod

import numpy as np

from skstructured._base.component import Component
from skstructured.extend._types import Array, Floats
from skstructured.extend.output_space import OutputSpace


class ObliviousAdversary(Component, ABC):
    """An adversary that fixes its whole stream before the learner plays."""

    @abstractmethod
    def draw(self, space: OutputSpace) -> tuple[Floats, Array]:
        """Draw a stream.

        Parameters
        ----------
        space : OutputSpace
            A fitted space. A short stream need not show every class of it; `play` tells them to
            the learner, whereas a learner fitted on `y` alone knows only those in `y`.

        Returns
        -------
        X : ndarray of shape (n_rounds, n_features)
        y : ndarray
            User-side outputs of the space, one per row.

        Raises
        ------
        ValueError
            For a parameter out of its range.
        sklearn.exceptions.NotFittedError
            For a space that has not been fitted.
        """


def unit_rows(rng, n, p):
    """Rows (n, p) uniform on the unit sphere."""
    X = rng.standard_normal((n, p))
    return X / np.linalg.norm(X, axis=1, keepdims=True)
