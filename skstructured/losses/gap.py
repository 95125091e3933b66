"""Surrogates of the zero-one loss with a gap that a randomized prediction can use."""

import math
from enum import IntEnum
from typing import Self

import numpy as np

from skstructured._engine.compiled import kernel, plain_integers
from skstructured._engine.state import clear
from skstructured.extend._types import Floats
from skstructured.extend.output_space import OutputSpace
from skstructured.extend.surrogate import Surrogate
from skstructured.losses.surrogates import MarginKind, kind_code, margin_loss
from skstructured.spaces import Simplex
from skstructured.spaces.simplex import log_softmax, softmax_into, softmax_rows

#: Codes that kernels know the surrogates by; they get them as floats.
GapKind = plain_integers(IntEnum("GapKind", "LOGISTIC HINGE SMOOTH_HINGE", start=0))


@kernel
def best_other(theta, y):
    """The class of the largest score among those other than y; ties go to the first."""
    best = 1 if y == 0 else 0
    for k in range(theta.shape[0]):
        if k != y and theta[k] > theta[best]:
            best = k
    return best


@kernel
def best_class(theta):
    """y*, the class of the largest score; ties go to the first."""
    best = 0
    for k in range(1, theta.shape[0]):
        if theta[k] > theta[best]:
            best = k
    return best


@kernel
def gap(theta, kind):
    """The gap a(θ): the mass that p' spreads over all classes.

    logistic ``1 − 1[p* ≥ ½] p*``; hinge ``0 if m* > 1/K else 1 − m*``; smooth hinge
    ``(1 − min(1, m*))²``; with p* the largest softmax and m* the margin of y*.
    """
    top, code = best_class(theta), int(kind)
    if code == GapKind.LOGISTIC:
        total = 0.0
        for k in range(theta.shape[0]):
            total += math.exp(theta[k] - theta[top])
        return 1.0 - 1.0 / total if total <= 2.0 else 1.0
    margin = theta[top] - theta[best_other(theta, top)]
    if code == GapKind.HINGE:
        return 0.0 if margin > 1.0 / theta.shape[0] else 1.0 - margin
    return (1.0 - min(1.0, margin)) ** 2


@kernel
def _gaps(theta, kind):
    a = np.empty(theta.shape[0])
    for i in range(theta.shape[0]):
        a[i] = gap(theta[i], kind)
    return a


@kernel
def add_gradient(theta, y, kind, share, g):
    """g ← g + share · ∇ℓ(θ; y); returns ℓ(θ; y).

    The hinge is 0 if y* = y with a margin above 1/K.
    """
    dim, code = theta.shape[0], int(kind)
    if code == GapKind.LOGISTIC:
        top, total, unit = best_class(theta), 0.0, share / math.log(2.0)
        for k in range(dim):
            total += math.exp(theta[k] - theta[top])
        for k in range(dim):
            g[k] += unit * math.exp(theta[k] - theta[top]) / total
        g[y] -= unit
        return (math.log(total) - (theta[y] - theta[top])) / math.log(2.0)
    other = best_other(theta, y)
    margin = theta[y] - theta[other]
    if code == GapKind.HINGE and margin > 1.0 / dim:
        return 0.0
    margin_kind = MarginKind.HINGE if code == GapKind.HINGE else MarginKind.SMOOTH_HINGE
    value, slope = margin_loss(margin, margin_kind)
    g[other] += share * slope
    g[y] -= share * slope
    return value


@kernel
def gap_gradient(theta, truth, g, params, work):
    """g = ∇ℓ(θ; y); returns ℓ(θ; y)."""
    y = best_class(truth)
    if int(params[0]) == GapKind.LOGISTIC:
        top, log_sum = softmax_into(theta, g)
        g[y] -= 1.0
        for k in range(theta.shape[0]):
            g[k] /= math.log(2.0)
        return (log_sum - (theta[y] - top)) / math.log(2.0)
    clear(g)
    return add_gradient(theta, y, params[0], 1.0, g)


@kernel
def mistake_gradient(theta, truth, g, params, work):
    """g = e_{y*} − e_y; returns 1[y* ≠ y]."""
    top = best_class(theta)
    for k in range(theta.shape[0]):
        g[k] = (1.0 if k == top else 0.0) - truth[k]
    return 1.0 - truth[top]


def only_classes(loss, space):
    """The space; a ValueError unless its outputs are classes."""
    if not space.scores_classes:
        raise ValueError(f"loss={loss!r} is only supported for classes; got the space {space!r}.")
    return space


class ZeroOneLoss(Surrogate):
    """Count the mistakes of the Perceptron, which it corrects by e_{y*} − e_y.

    Parameters
    ----------
    space : Simplex
        A fitted space.

    See Also
    --------
    MulticlassPerceptron : The learner of this loss.
    GapSurrogate : Convex losses with a gap.
    """

    kernel = staticmethod(mistake_gradient)
    lipschitz = math.sqrt(2.0)

    def __init__(self, space: str | OutputSpace | None = None) -> None:
        self.space = space

    def mean(self, theta: Floats) -> Floats:
        """e_{y*} of every row, (n, K)."""
        return Simplex().argmax(np.asarray(theta))

    def over(self, space: OutputSpace) -> Self:
        """A new one over a fitted space; see `Surrogate`."""
        return super().over(only_classes(self, space))


class GapSurrogate(Surrogate):
    r"""Compute a surrogate ℓ(θ; y) of the zero-one loss on the simplex (Table 1 of [1]_).

    With the margin ``m(y) = θ_y − max_{k≠y} θ_k`` and y* the class of the largest score:

    - "logistic": ``−log₂ softmax(θ)_y``;
    - "hinge": ``max(1 − m(y), 0)``, but 0 if y* = y and m(y) > 1/K;
    - "smooth_hinge": ``1 − 2m(y)`` if m(y) ≤ 0, else ``max(1 − m(y), 0)²``.

    Parameters
    ----------
    space : Simplex
        A fitted space.
    kind : {"logistic", "hinge", "smooth_hinge"}, default="logistic"
        Which of the surrogates.

    See Also
    --------
    GaptronClassifier : The learner of these losses.
    skstructured.decoders.GapDecoder : The decoder that uses the gap.
    FenchelYoung : Losses of all spaces.

    References
    ----------
    .. [1] van der Hoeven (2020), "Exploiting the surrogate gap in online multiclass
       classification".
    """

    kernel = staticmethod(gap_gradient)

    def __init__(self, space: str | OutputSpace | None = None, kind: str = "logistic") -> None:
        self.space = space
        self.kind = kind

    def over(self, space: OutputSpace) -> Self:
        """A new one over a fitted space; see `Surrogate`."""
        _ = self.code  # names an unknown kind
        return super().over(only_classes(self, space))

    @property
    def lipschitz(self) -> float:
        """The largest ‖∇ℓ‖: √2 times the largest slope."""
        return math.sqrt(2.0) * {"logistic": 1.0 / math.log(2.0), "hinge": 1.0}.get(self.kind, 2.0)

    @property
    def descent_gain(self) -> float:  # type: ignore[override]
        """η C² of Table 2 of van der Hoeven (2020): ln 2/2K, (1 − 1/K)/K and 1/4K.

        The table's 1/2K for the smooth hinge is an erratum: the proof of Theorem 3 needs 1/4K.
        """
        K = self.space.dim_
        gains = {"logistic": 0.5 * math.log(2.0), "hinge": 1.0 - 1.0 / K, "smooth_hinge": 0.25}
        return gains[self.kind] / K

    @property
    def code(self) -> float:
        """The number of the surrogate in compiled functions; a ValueError lists the valid names."""
        return kind_code(self.kind, GapKind)

    @property
    def has_probabilities(self) -> bool:  # type: ignore[override]  # by its kind
        """Whether means are probabilities: the logistic loss has them."""
        return self.kind == "logistic"

    def kernel_arguments(self, dim: int) -> tuple[Floats, Floats]:
        """Vectors (params, work) of the compiled function for scores of length `dim`."""
        return np.array([self.code]), np.zeros(0)

    def mean(self, theta: Floats) -> Floats:
        """softmax(θ) for the logistic loss; e_{y*} for the others, which have no probabilities."""
        theta = np.asarray(theta, dtype=np.float64)
        is_logistic = self.code == GapKind.LOGISTIC
        return softmax_rows(theta)[0] if is_logistic else Simplex().argmax(theta)

    def log_proba(self, theta: Floats) -> Floats:
        """Log softmax(θ), (n, K), to full precision in the tails; for the logistic loss."""
        return log_softmax(_scores(theta))

    def value_and_gradient(self, theta: Floats, V: Floats) -> tuple[Floats, Floats]:
        """Values (n,) of a fixed comparator and gradients (n, K): the hinge is the plain one."""
        theta, V = _scores(theta), np.asarray(V, dtype=np.float64)
        if V.shape != theta.shape:
            raise ValueError(f"V must have the shape of theta, {theta.shape}, got {V.shape}.")
        if self.code == GapKind.HINGE:
            return _plain_hinge(theta, V)
        return super().value_and_gradient(theta, V)

    def mean_and_value(self, theta: Floats, V: Floats) -> tuple[Floats, Floats]:
        """`mean`, and the losses (n,) of learning: the hinge is 0 for confident predictions."""
        theta = _scores(theta)
        return self.mean(theta), super().value_and_gradient(theta, V)[0]

    def gaps(self, theta: Floats) -> Floats:
        """a(θ) of every row, of shape (n,)."""
        return _gaps(_scores(theta), self.code)


def _scores(theta):
    theta = np.ascontiguousarray(theta, dtype=np.float64)
    if theta.ndim != 2:
        raise ValueError(f"theta must have shape (n, K), got {theta.shape}.")
    return theta


def _plain_hinge(theta, V):
    rows, y = np.arange(len(V)), np.argmax(V, axis=1)
    k = np.argmax(np.where(V > 0, -np.inf, theta), axis=1)
    values = 1.0 - theta[rows, y] + theta[rows, k]
    gradient = np.zeros_like(theta)
    gradient[rows, k] += values > 0
    gradient[rows, y] -= values > 0
    return np.maximum(values, 0.0), gradient
