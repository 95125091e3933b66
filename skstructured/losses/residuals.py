"""Losses of residuals, which regressors are trained by."""

import math

import numpy as np

from skstructured._base.validation import check_choice, check_real
from skstructured._engine.compiled import kernel
from skstructured._engine.gradients import run_gradient_rows
from skstructured.extend.surrogate import Surrogate

#: Codes that the kernel knows the losses by.
KINDS = {"absolute": 0.0, "epsilon_insensitive": 1.0, "huber": 2.0, "quantile": 3.0}
ABSOLUTE, INSENSITIVE, HUBER, QUANTILE = KINDS.values()

#: ε where none is given.
EPSILON = {"huber": 0.2, "epsilon_insensitive": 0.1}


@kernel
def residual_gradient(theta, truth, g, params, work):
    """g = ℓ'(θ − y); returns ℓ(θ − y)."""
    r, epsilon = theta[0] - truth[0], params[1]
    size, sign = abs(r), 1.0 if r > 0.0 else -1.0 if r < 0.0 else 0.0
    if params[0] == HUBER and size < epsilon:
        g[0] = r / epsilon
        return 0.5 * r * r / epsilon
    if params[0] == INSENSITIVE and size <= epsilon:
        g[0] = 0.0
        return 0.0
    if params[0] == QUANTILE:
        g[0] = 1.0 - params[2] if r > 0.0 else -params[2] if r < 0.0 else 0.0
        return g[0] * r
    g[0] = sign
    return (
        size
        - (epsilon if params[0] == INSENSITIVE else 0.0)
        - (0.5 * epsilon if params[0] == HUBER else 0.0)
    )


class ResidualLoss(Surrogate):
    r"""A Lipschitz loss of the residual r = θ − y, with slopes up to 1.

    - "absolute": |r|;
    - "epsilon_insensitive": ``max(|r| − ε, 0)``;
    - "huber": ``r²/(2ε)`` where |r| < ε, else ``|r| − ε/2``;
    - "quantile": ``max(q(y − θ), (1 − q)(θ − y))``, the pinball loss, whose least mean is at the
      quantile q of y.

    Parameters
    ----------
    space : RealLine
        A fitted space.
    kind : {"absolute", "epsilon_insensitive", "huber", "quantile"}, default="huber"
        Which one.
    epsilon : float or None, default=None
        ε, in the units that are learned; None is 0.2 for "huber" and 0.1 for the other.
    quantile : float, default=0.5
        q in (0, 1), of "quantile" alone.

    References
    ----------
    Huber (1964), "Robust estimation of a location parameter"; Vapnik (1995); Koenker, Bassett
    (1978), "Regression quantiles".
    """

    kernel = staticmethod(residual_gradient)
    bounds_surrogate = True

    def __init__(self, space=None, kind="huber", epsilon=None, quantile=0.5):
        self.space = space
        self.kind = kind
        self.epsilon = epsilon
        self.quantile = quantile

    @property
    def lipschitz(self):
        """The largest slope: 1, and the larger of q and 1 − q for quantiles."""
        return max(self._quantile(), 1.0 - self._quantile()) if self.kind == "quantile" else 1.0

    def _quantile(self):
        return check_real(
            "quantile", self.quantile, lambda q: 0.0 < q < 1.0, "be a number between 0 and 1"
        )

    def kernel_arguments(self, dim):
        """Vectors (params, work) of the kernel."""
        check_choice("loss", self.kind, tuple(KINDS))
        epsilon = EPSILON.get(self.kind, 0.0) if self.epsilon is None else self.epsilon
        allowed = "be a number at least 0, or None"
        epsilon = check_real("epsilon", epsilon, lambda v: 0.0 <= v < math.inf, allowed)
        return np.array([KINDS[self.kind], epsilon, self._quantile()]), np.zeros(0)

    def mean(self, theta):
        """θ itself."""
        return np.asarray(theta, dtype=np.float64)

    def value_and_gradient(self, theta, V):
        """Values (n,) and gradients (n, 1)."""
        theta, V = (np.ascontiguousarray(given, dtype=np.float64) for given in (theta, V))
        return run_gradient_rows(self.kernel, theta, V, *self.kernel_arguments(1))[::-1]
