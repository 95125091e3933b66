"""Interfaces of losses: surrogates, and oracles and regularizers of Fenchel–Young losses."""

from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numba import int64, void

from skstructured._base.component import Component
from skstructured._base.exceptions import GuaranteeError
from skstructured._engine.compiled import kernel
from skstructured._engine.types import FUNCTION_TYPES, MATRIX, VECTOR, as_loss
from skstructured.extend._by_vertices import projection_kernel
from skstructured.extend._types import Array, Floats, Kernel
from skstructured.extend.output_space import OutputSpace


@kernel(signature=void(int64, *[MATRIX] * 3, *[VECTOR] * 3), function_type=FUNCTION_TYPES.loss)
def gradient_rows(loss, theta, truth, gradients, values, params, work):
    """One loss kernel over the rows of theta: writes every gradient and value."""
    loss = as_loss(loss)
    for i in range(theta.shape[0]):
        values[i] = loss(theta[i], truth[i], gradients[i], params, work)


def run_gradient_rows(
    kernel: Kernel, theta: Floats, truth: Array, params: Floats, work: Floats
) -> tuple[Floats, Floats]:
    """Gradients (n, dim) and values (n,) of a loss kernel at the rows of theta and truth."""
    gradients, values = np.empty(theta.shape), np.empty(len(theta))
    gradient_rows(kernel, theta, truth, gradients, values, params, work)
    return gradients, values


class Surrogate(Component):
    """A loss of scores with its own gradient, for ``loss=`` of a learner; the base class.

    A subclass has the parameter `space`, which learners set to their fitted space, and defines

    - ``kernel(theta, truth, g, params, work) -> value``, a static method, compiled by numba or
      plain Python: it writes the gradient of one row of scores into g and returns its loss;
    - ``mean(theta)``, the ŷ (n, dim) that decoders are given;
    - ``lipschitz``, the largest norm of a gradient in θ, which parameter-free steps need.

    The other members have defaults. Such a loss has no bound, unless a learner has a theorem on it.

    See Also
    --------
    skstructured.losses.FenchelYoung : Losses of a space and a regularizer, with bounds.
    skstructured.losses.GapSurrogate, skstructured.losses.ResidualLoss : Losses of this kind.
    Regularizer, Decoder : Other components.
    """

    #: As given; a fitted space once learners have set it.
    space: Any

    kernel: Kernel = None  # type: ignore[assignment]  # a subclass brings it

    #: Whether means are probabilities where the space says what of.
    has_probabilities: bool = False

    #: The norm in which decoders measure how far ŷ is from a vertex.
    norm: str = "l2"

    #: η C² of the step of gradient descent with ``eta="theory"``.
    descent_gain: float = 1.0

    @property
    def lipschitz(self) -> float:
        """The largest ‖∇ℓ‖ in θ."""
        name = type(self).__name__
        raise NotImplementedError(f"{name} must define lipschitz, the largest norm of gradients.")

    def over(self, space: OutputSpace) -> Self:
        """A new one over a fitted space; a ValueError if it does not support the space."""
        return type(self)(**{**self.get_params(deep=False), "space": space})

    def kernel_arguments(self, dim: int) -> tuple[Floats, Floats]:
        """Vectors (params, work) of the compiled function for scores of length `dim`."""
        return np.zeros(0), np.zeros(0)

    def value_and_gradient(self, theta: Floats, V: Floats) -> tuple[Floats, Floats]:
        """Values (n,) and gradients (n, dim) of many rows, by the compiled function."""
        theta, V = (np.ascontiguousarray(array, dtype=np.float64) for array in (theta, V))
        return run_gradient_rows(self.kernel, theta, V, *self.kernel_arguments(V.shape[1]))[::-1]

    def objective(self, theta: Floats, V: Floats) -> tuple[Floats, Floats]:
        """`value_and_gradient`, less what depends on V alone."""
        return self.value_and_gradient(theta, V)

    def value(self, theta: Floats, V: Floats) -> Floats:
        """Losses (n,) of scores for the true vertices V."""
        return self.value_and_gradient(theta, V)[0]

    def mean_and_value(self, theta: Floats, V: Floats) -> tuple[Floats, Floats]:
        """`mean` and `value`."""
        return self.mean(theta), self.value(theta, V)

    def omega(self, mu: Floats) -> Floats:
        """Zeros (n,): scores of classes are compared without Ω."""
        return np.zeros(len(mu))

    def conjugate(self, theta: Floats) -> Floats:
        """Zeros (n,), as `omega`."""
        return np.zeros(len(theta))

    def constants_of(self, dim: int | None = None) -> Any:
        """A GuaranteeError: constants are those of a `FenchelYoung` loss."""
        reason = "has no regularizer, so it has no constants"
        raise GuaranteeError(f"{self!r} {reason}: use a FenchelYoung loss.")

    def check_residual(self, work: Floats) -> None:
        """Return without a warning: such a loss has no iterations, and no residual."""


def _half_square(mu: Floats, regularizer: Any) -> Floats:
    return 0.5 * np.einsum("nk,nk->n", mu, mu)


@dataclass(frozen=True)
class Oracle:
    """All functions and constants of a Fenchel–Young loss for a (space, regularizer) pair.

    Attributes
    ----------
    kernel : numba function or None
        ``kernel(theta, truth, gradient, params, work) -> Ω*(θ)``, writing ŷ_Ω(θ) − truth, which
        is ŷ_Ω(θ) if `truth` is 0. None projects by the active-set method over the space's
        linear oracle.
    omega : callable
        ``omega(mu, regularizer) -> Ω(μ)`` of shape (n,); by default ½‖μ‖².
    norm : {"l1", "l2"}
        Norm of the strong convexity, and of the randomized decoding.
    convexity : callable
        ``convexity(dim) -> λ``, as printed by Sakaue et al. (2024).
    sharp : callable or None
        ``sharp(dim) -> (λ, λ₂)``: a larger λ that holds because the true output is a vertex, and
        the λ₂ with ``‖ŷ−y‖₂² ≤ (2/λ₂) S``; None if the printed constant is tight.
    work : callable
        ``work(dim)``: length of the compiled function's scratch vector.
    iterative : bool
        Whether the compiled function keeps the largest residual it was left with in ``work[0]``.
    log_proba : callable or None
        ``log_proba(theta)``: logarithms of the space's `mean_proba` of ŷ_Ω(θ), from the scores;
        None if probabilities may be 0, or are found by iterations.
    link : callable
        ``link(mu, regularizer) -> ∇Ω(μ)`` (n, dim): scores whose mean prediction is `mu`, a point
        inside conv(Y).
    batch : callable or None
        ``batch(theta) -> (ŷ_Ω(θ), Ω*(θ))`` of many rows by NumPy, which does not compile; None
        calls `kernel` for every row.
    curvature : callable
        ``curvature(mu)``: those of Ω* (n, dim) in each score, or bounds of them.
    """

    kernel: Callable | None
    omega: Callable = _half_square
    norm: str = "l2"
    convexity: Callable = lambda dim: 1.0
    sharp: Callable | None = None
    work: Callable = lambda dim: 2 * dim + 2
    iterative: bool = False
    log_proba: Callable | None = None
    link: Callable = lambda mu, regularizer: mu
    batch: Callable | None = None
    curvature: Callable = np.ones_like

    def kernel_for(self, space: OutputSpace) -> Kernel:
        """The compiled function, made for `space` if each space needs its own."""
        return self.kernel if self.kernel is not None else projection_kernel(space)


#: (space class, regularizer class) -> `Oracle`; a pair of one's own is a row put in here.
ORACLES: dict[tuple[type, type], Oracle] = {}


class Regularizer(Component, ABC):
    """A convex function Ψ whose restriction to conv(Y) makes Ω = Ψ + I_conv(Y); the base class.

    See Also
    --------
    skstructured.regularizers.Shannon : The regularizer of the logistic loss.
    skstructured.regularizers.SquaredNorm : The regularizer of projections.
    skstructured.losses.FenchelYoung : The loss of a space and a regularizer.

    Notes
    -----
    If `has_margin`, finite scores of an output have no loss (Blondel, Martins, Niculae 2020,
    section 5). This holds if the gradient of Ψ is bounded on conv(Y).
    """

    #: Whether finite scores of an output have no loss.
    has_margin: bool = False

    def kernel_params(self) -> Floats:
        """Parameters passed to the compiled function, a float64 vector."""
        return np.empty(0)
