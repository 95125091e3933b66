"""What the adversaries share: the interface of a stream, unit rows, checks of parameters."""

from abc import ABC, abstractmethod
from numbers import Integral, Real

import numpy as np

from skstructured.base import Component


class ObliviousAdversary(Component, ABC):
    """An adversary that fixes its whole stream before the learner plays."""

    @abstractmethod
    def draw(self, space):
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
            User-side outputs of the space, one a row.

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


def check_integer(name, value, lowest=1, highest=None):
    """A ValueError unless `value` is an integer from `lowest` to `highest`."""
    if isinstance(value, Integral) and lowest <= value and (highest is None or value <= highest):
        return
    allowed = f"at least {lowest}" if highest is None else f"from {lowest} to {highest}"
    raise ValueError(f"{name} must be an integer {allowed}, got {value!r}.")


def check_real(name, value, allowed, wanted):
    """A ValueError unless `value` is a number that `allowed` accepts."""
    if not (isinstance(value, Real) and allowed(value)):
        raise ValueError(f"{name} must {wanted}, got {value!r}.")
