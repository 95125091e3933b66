"""Surrogate losses of margins and of residuals."""

import math
from enum import IntEnum
from typing import Self

import numpy as np
from scipy.special import expit, log_expit, log_softmax

from skstructured._base.validation import check_choice, check_real
from skstructured._engine.compiled import kernel, plain_integers
from skstructured.extend._types import Floats
from skstructured.extend.output_space import OutputSpace
from skstructured.extend.surrogate import Surrogate

#: Codes that kernels know the losses of margins and of residuals by.
MarginKind = plain_integers(
    IntEnum("MarginKind", "SMOOTH_HINGE HINGE LOGISTIC PERCEPTRON SQUARE", start=0)
)
ResidualKind = plain_integers(
    IntEnum("ResidualKind", "ABSOLUTE EPSILON_INSENSITIVE HUBER QUANTILE", start=0)
)


def kind_names(kinds):
    """Names of the members of an enum as users give them."""
    return tuple(name.lower() for name in kinds._fields)


def kind_code(kind, kinds):
    """The number of a kind in compiled functions; a ValueError lists the valid names."""
    check_choice("loss", kind, kind_names(kinds))
    return float(getattr(kinds, kind.upper()))


@kernel
def margin_loss(z, kind):
    """φ(z) and −φ'(z); at the corners of hinges the slope of the side on which a row is learned."""
    if kind == MarginKind.SMOOTH_HINGE:
        slack = max(1.0 - z, 0.0)
        return (1.0 - 2.0 * z, 2.0) if z <= 0.0 else (slack**2, 2.0 * slack)
    if kind == MarginKind.HINGE:
        return max(1.0 - z, 0.0), 1.0 if z < 1.0 else 0.0
    if kind == MarginKind.PERCEPTRON:
        return max(-z, 0.0), 1.0 if z <= 0.0 else 0.0
    if kind == MarginKind.SQUARE:
        return (1.0 - z) ** 2, 2.0 * (1.0 - z)
    value = (max(-z, 0.0) + math.log1p(math.exp(-abs(z)))) / math.log(2.0)
    return value, 1.0 / (1.0 + math.exp(min(z, 700.0))) / math.log(2.0)


@kernel
def margin_gradient(theta, truth, g, params, work):
    """g_k = v_k φ'(v_k θ_k), v the signs or 2y − 1 of indicators; returns Σ_k φ(v_k θ_k)."""
    value, kind = 0.0, int(params[0])
    for k in range(theta.shape[0]):
        v = 2.0 * truth[k] - 1.0 if params[1] > 0.0 else truth[k]
        loss, slope = margin_loss(v * theta[k], kind)
        value += loss
        g[k] = -v * slope
    return value


class MarginLoss(Surrogate):
    r"""Σ_k φ(v_k θ_k): one score for two classes, or one against the rest for each of K > 2.

    φ(z) is that of `IndicatorMargins` (Orabona 2014, section 6), or ``(1 − z)²`` for "square"
    (Zhang 2004), with unbounded slopes. Except for "perceptron" the sum bounds the mistakes.
    """

    kernel = staticmethod(margin_gradient)
    #: No decoder gains anything here: bounds are on the surrogate itself.
    bounds_surrogate = True
    #: Whether truths are indicators instead of signs.
    _of_indicators = False

    def __init__(self, space: str | OutputSpace | None = None, kind: str = "smooth_hinge") -> None:
        self.space = space
        self.kind = kind

    @property
    def lipschitz(self) -> float:
        """The largest norm of a gradient: that of φ times √dim."""
        slopes = dict.fromkeys(kind_names(MarginKind), 1.0)
        slopes |= {"smooth_hinge": 2.0, "logistic": 1.0 / math.log(2.0), "square": math.inf}
        check_choice("loss", self.kind, slopes)
        return slopes[self.kind] * math.sqrt(self.space.dim_)

    @property
    def has_probabilities(self) -> bool:  # type: ignore[override]  # by its kind
        """Whether means are probabilities: those of the logistic loss."""
        return self.kind == "logistic"

    def kernel_arguments(self, dim: int) -> tuple[Floats, Floats]:
        """Vectors (params, work) of the compiled function for scores of length `dim`."""
        return np.array([kind_code(self.kind, MarginKind), self._of_indicators]), np.zeros(0)

    def mean(self, theta: Floats) -> Floats:
        """2σ(θ) − 1 if they are probabilities, else the vertex of the largest score, (n, dim)."""
        theta = np.asarray(theta, dtype=np.float64)
        return 2.0 * expit(theta) - 1.0 if self.has_probabilities else self.space.argmax(theta)

    def log_proba(self, theta: Floats) -> Floats:
        """Logarithms of probabilities; for two classes to full precision in the tails."""
        share = log_expit(np.hstack([-theta, theta]) if theta.shape[1] == 1 else theta)
        return share if theta.shape[1] == 1 else log_softmax(share, axis=1)


class IndicatorMargins(MarginLoss):
    r"""Σ_k φ((2y_k − 1) θ_k): margin losses of labels, or of thresholds between ordinal classes.

    Each label of "hypercube" is a problem with two classes. So is each threshold of "ordinal": is y
    beyond it? The loss bounds the number of wrong labels, and the distance of ordinal classes, from
    above, except for "perceptron".

    Parameters
    ----------
    space : Hypercube or OrdinalChain
        A fitted space.
    kind : {"smooth_hinge", "hinge", "logistic", "perceptron"}, default="smooth_hinge"
        Which φ: ``1 − 2z`` if z ≤ 0, else ``max(1 − z, 0)²`` ("smooth_hinge"); ``max(1 − z, 0)``
        ("hinge"); ``log₂(1 + exp(−z))`` ("logistic"); ``max(−z, 0)`` ("perceptron").

    See Also
    --------
    FenchelYoung : Losses of all spaces, with regret bounds.
    GapSurrogate : The losses of Gaptron for classes.

    References
    ----------
    Rennie, Srebro (2005), "Loss functions for preference levels: regression with discrete ordered
    labels", for the construction from all thresholds.
    """

    has_probabilities = False
    _of_indicators = True

    def over(self, space: OutputSpace) -> Self:
        """A new one over a fitted space; see `Surrogate`."""
        check_choice(
            "loss", self.kind, tuple(name for name in kind_names(MarginKind) if name != "square")
        )
        if not space.has_indicators:
            valid_spaces = "multilabel outputs and ordinal classes"
            raise ValueError(f"loss={self!r} is only supported for {valid_spaces}; got {space!r}.")
        return super().over(space)


@kernel
def residual_gradient(theta, truth, g, params, work):
    """g = ℓ'(θ − y); returns ℓ(θ − y)."""
    r, kind, epsilon = theta[0] - truth[0], int(params[0]), params[1]
    size, sign = abs(r), 1.0 if r > 0.0 else -1.0 if r < 0.0 else 0.0
    if kind == ResidualKind.HUBER and size < epsilon:
        g[0] = r / epsilon
        return 0.5 * r * r / epsilon
    if kind == ResidualKind.EPSILON_INSENSITIVE and size <= epsilon:
        g[0] = 0.0
        return 0.0
    if kind == ResidualKind.QUANTILE:
        g[0] = 1.0 - params[2] if r > 0.0 else -params[2] if r < 0.0 else 0.0
        return g[0] * r
    g[0] = sign
    if kind == ResidualKind.HUBER:
        return size - 0.5 * epsilon
    return size - epsilon if kind == ResidualKind.EPSILON_INSENSITIVE else size


class ResidualLoss(Surrogate):
    r"""Compute a Lipschitz loss of the residual r = θ − y, with slopes up to 1.

    - "absolute": |r|;
    - "epsilon_insensitive": ``max(|r| − ε, 0)`` [2]_;
    - "huber": ``r²/(2ε)`` if |r| < ε, else ``|r| − ε/2`` [1]_;
    - "quantile": ``max(q(y − θ), (1 − q)(θ − y))``, the pinball loss, whose least mean is at the
      quantile q of y [3]_.

    Parameters
    ----------
    space : RealLine or None, default=None
        A fitted space; None is that of the learner whose `loss` it is.
    kind : {"absolute", "epsilon_insensitive", "huber", "quantile"}, default="huber"
        Which of the losses.
    epsilon : float or None, default=None
        ε, in the units in which y is learned. None is 0.2 for "huber" and 0.1 for
        "epsilon_insensitive".
    quantile : float, default=0.5
        The quantile q in (0, 1), for "quantile" only.

    See Also
    --------
    PiSTOLRegressor : A kernel regressor that uses these losses.
    StructuredRegressor : The regressor to try first.

    References
    ----------
    .. [1] Huber (1964), "Robust estimation of a location parameter".
    .. [2] Vapnik (1995), "The nature of statistical learning theory".
    .. [3] Koenker, Bassett (1978), "Regression quantiles".
    """

    kernel = staticmethod(residual_gradient)
    bounds_surrogate = True
    linear_in_outputs = False

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
        requirement = "be a number between 0 and 1"
        return check_real("quantile", self.quantile, lambda q: 0.0 < q < 1.0, requirement)

    def kernel_arguments(self, dim):
        """Vectors (params, work) of the compiled function."""
        code = kind_code(self.kind, ResidualKind)
        default = {"huber": 0.2, "epsilon_insensitive": 0.1}.get(self.kind, 0.0)
        epsilon = default if self.epsilon is None else self.epsilon
        allowed = "be a number at least 0, or None"
        epsilon = check_real("epsilon", epsilon, lambda v: 0.0 <= v < math.inf, allowed)
        return np.array([code, epsilon, self._quantile()]), np.zeros(0)

    def value_and_gradient(self, theta, V):
        """Values (n,) and gradients (n, 1), by NumPy; see `residual_gradient`."""
        kind, epsilon, q = self.kernel_arguments(1)[0]
        epsilon *= kind in (ResidualKind.HUBER, ResidualKind.EPSILON_INSENSITIVE)
        r = np.asarray(theta, dtype=np.float64) - V
        if kind == ResidualKind.QUANTILE:
            slope = np.where(r > 0.0, 1.0 - q, np.where(r < 0.0, -q, 0.0))
            return (slope * r)[:, 0], slope
        if kind == ResidualKind.HUBER and epsilon > 0.0:
            slope = np.clip(r / epsilon, -1.0, 1.0)
            return (slope * (r - 0.5 * epsilon * slope))[:, 0], slope
        slope = np.sign(r) * (np.abs(r) > epsilon)
        return (np.abs(r) - epsilon)[:, 0].clip(0.0), slope

    def curvature(self, theta, V, slopes):
        """|ℓ'(r)/r|: for |r| and Huber's loss no parabola of less curvature is above the loss.

        Parameters
        ----------
        theta, V : array-like of shape (n, 1)
            Scores and outputs.
        slopes : ndarray of shape (n, 1)
            The gradient there.

        Returns
        -------
        ndarray of shape (n, 1)
            Residuals below 0.05 count as 0.05.
        """
        return np.abs(slopes) / np.maximum(np.abs(theta - V), 0.05)

    def mean(self, theta):
        """θ itself."""
        return np.asarray(theta, dtype=np.float64)

    def link(self, mu, inside=0.0):
        """Scores whose mean is μ: μ itself; see `FenchelYoung`.

        Parameters
        ----------
        mu : array-like of shape (n, dim)
            Means.
        inside : float, default=0.0
            Ignored.

        Returns
        -------
        ndarray of shape (n, dim)
        """
        return np.asarray(mu, dtype=np.float64)
