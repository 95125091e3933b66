"""Interfaces of online optimizers, and of those with one step size per weight."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numba import int64

from skstructured._base.component import Component
from skstructured._base.exceptions import GuaranteeError
from skstructured._engine.compiled import kernel, kernel_over
from skstructured._engine.move_and_score import move_and_score_kernel
from skstructured._engine.state import THINNING, LoopState, new_state
from skstructured.extend._types import Bound, Floats, Kernel, Loss


@kernel
def unit_scale(state, bound, weight):
    """s = 1: Θ are the weights."""
    return 1.0


class OnlineOptimizer(Component, ABC):
    """Update the weights of a learner: a state vector and two compiled functions; the base class.

    ``scale_kernel(state, bound, weight) -> s`` returns the s of the weights ``W = s Θ`` of the
    round, before it is played. ``step_kernel(state, inner, square, bound, weight) -> u`` returns
    the u of the update ``Θ ← Θ + u G`` after it, G the gradient of the loss in W, without its
    scale. Both are functions of numbers: `inner` is <G, Θ> and `square` ‖G‖². For a row x, G is
    ``g xᵀ`` and `bound` ‖x‖², the intercept's 1 included; for rounds of several rows `bound` is a
    bound on ‖G‖². The state belongs to the fitted estimator, its first entries to the loop: see
    `new_state`, which makes it.

    See Also
    --------
    CoordinateOptimizer : Optimizers with one step size per weight.
    new_state : Make the state vector.
    kernel : Compile a function.
    skstructured.optimizers.GradientDescent : An optimizer of this kind.
    """

    scale_kernel: Kernel = None  # type: ignore[assignment]  # a subclass brings both
    step_kernel: Kernel = None  # type: ignore[assignment]

    #: How many entries of the state, behind the loop's own, belong to the kernels.
    entries: int = 0

    @abstractmethod
    def init(self, loss: Loss) -> Floats:
        """Check the parameters and return the initial state, a float64 vector."""

    #: Whether it is a mixture of several `experts`, and whether their averages may be kept.
    mixes, averages = False, True

    def experts(self) -> list["OnlineOptimizer"]:
        """The optimizers that move weights: itself, unless it is a mixture."""
        return [self]

    def rates(self) -> Floats:
        """Rates of sharing, of a mixture."""
        return np.array([THINNING])

    #: How many arrays of the shape of W, and how many numbers per feature, Θ consists of.
    blocks: tuple[int, int] = (1, 0)
    #: Whether the optimizer keeps averages by itself, in Θ; otherwise the loop keeps them in A.
    keeps_average = False

    def specialised(self) -> "OnlineOptimizer":
        """The optimizer that does the work: self, unless parameters choose another."""
        return self

    def move_and_score_kernel(self, dim: int, sparse: bool, average: bool = False) -> Kernel:
        """The row primitive; see `skstructured._engine.move_and_score`."""
        return move_and_score_kernel(dim, sparse, average)

    def weights(self, Theta: Floats, state: Floats, dim: int) -> Floats:
        """The last weights W (dim, width) behind the stored rows of Θ."""
        return self.scale_kernel(state.copy(), 0.0, 0.0) * Theta

    def average_weights(self, Theta: Floats, A: Floats, state: Floats, dim: int) -> Floats:
        """The mean (dim, width) of the weights played, weighted as the rounds were."""
        scale, total = state[[LoopState.SCALED_WEIGHT_SUM, LoopState.WEIGHT_SUM]]
        return (scale * Theta + A) / max(total, 1e-300)

    def certificate(self, loss: Loss, state: Floats, delta: float | None = None) -> Bound:
        """The regret bound of the rounds that made `state`, or a GuaranteeError."""
        raise GuaranteeError(f"No regret bound is known for {type(self).__name__}.")

    def check(self, state: Floats) -> str | None:
        """A sentence on problems in the rounds that made `state`, or None."""
        return None


def no_high_probability(optimizer: OnlineOptimizer, delta: float | None) -> None:
    """Raise a GuaranteeError for `delta` if the optimizer's theorem is about the expectation."""
    if delta is not None:
        other = 'probability 1 − delta use GradientDescent(eta="high_probability")'
        rule = f"The bound of {type(optimizer).__name__} only holds in expectation"
        raise GuaranteeError(f"{rule}; for one with {other}.")


@kernel
def weight_step(state, inner, square, bound, weight):
    """u = w, which multiplies gradients."""
    return weight


#: What copies of the functions below have: whether rows are CSR, and the rule.
HAS_CSR_ROWS = False
COORDINATE_RULE: Any = None
MOVE_FEATURE: Any = None


@kernel(inline=True)
def _entry_position(block, dim, k, j, sparse):
    """The position of score k and feature j in a block of Θ, next to or below the others."""
    return (j, block * dim + k) if sparse else (block * dim + k, j)


def _move_feature(Theta, dim, j, state, g, c):
    """Move the weights of a feature by a rule with two numbers each: Θ = (W, a, b, Σ v W, Σ v)."""
    # The sums are those at the last visit of the feature.
    visit = _entry_position(4, dim, 0, j, HAS_CSR_ROWS)
    passed, Theta[visit] = state[LoopState.WEIGHT_SUM] - Theta[visit], state[LoopState.WEIGHT_SUM]
    for k in range(dim):
        at_W = _entry_position(0, dim, k, j, HAS_CSR_ROWS)
        at_a = _entry_position(1, dim, k, j, HAS_CSR_ROWS)
        at_b = _entry_position(2, dim, k, j, HAS_CSR_ROWS)
        Theta[_entry_position(3, dim, k, j, HAS_CSR_ROWS)] += passed * Theta[at_W]
        Theta[at_W], Theta[at_a], Theta[at_b] = COORDINATE_RULE(
            state, Theta[at_W], Theta[at_a], Theta[at_b], c * g[k]
        )


def _move_and_score(data, indices, indptr, width, row, ahead, Theta, state, g, u, weight, raw):
    dim, n_intercepts = raw.shape[0], (Theta.shape[0] if HAS_CSR_ROWS else Theta.shape[1]) - width
    start, stop = row * width, (row + 1) * width
    first, last = ahead * width, (ahead + 1) * width
    if HAS_CSR_ROWS:
        start, stop = indptr[row], indptr[row + 1]
        first, last = indptr[ahead], indptr[ahead + 1]
    if u != 0.0:
        for t in range(start, stop):
            if data[t] != 0.0:
                j = int64(indices[t]) if HAS_CSR_ROWS else t - start
                MOVE_FEATURE(Theta, dim, j, state, g, u * data[t])
        if n_intercepts > 0:
            MOVE_FEATURE(Theta, dim, width, state, g, u)
    z_sq = float(n_intercepts)
    for k in range(dim):
        raw[k] = 0.0
        if n_intercepts > 0:
            raw[k] = Theta[_entry_position(0, dim, k, width, HAS_CSR_ROWS)]
    for t in range(first, last):
        z, j = data[t], int64(indices[t]) if HAS_CSR_ROWS else t - first
        z_sq += z * z
        for k in range(dim):
            raw[k] += Theta[_entry_position(0, dim, k, j, HAS_CSR_ROWS)] * z
    return z_sq


class CoordinateOptimizer(OnlineOptimizer):
    """Update each weight by itself, by one rule for all of them; the base class.

    A subclass defines

    - ``coordinate_kernel(state, W, a, b, g) -> (W, a, b)``, a static method, compiled by
      `skstructured.extend.kernel`: a weight and its two numbers, 0 at first, after the
      gradient ``g = w (∂ℓ/∂θ_k) x_j``, w the sample weight. It is called if x_j is not 0;
    - ``parameters()``, the numbers that `coordinate_kernel` reads from ``state[OWN:]``.

    Averages, CSR rows, streams and weights work without further code. Learners with kernels, and
    label sequences, have no such weights; they raise an error that names the optimizer.

    See Also
    --------
    OnlineOptimizer : Optimizers of the whole weight matrix.
    skstructured.optimizers.CoordinatePiSTOL : An optimizer of this kind.
    kernel : Compile a function.
    """

    coordinate_kernel: Kernel = None  # type: ignore[assignment]  # a subclass brings it

    scale_kernel = staticmethod(unit_scale)
    step_kernel = staticmethod(weight_step)
    keeps_average = True
    #: W, the numbers of each weight and Σ v W, and a clock for each feature.
    blocks = (4, 1)

    def parameters(self) -> tuple[float, ...]:
        """Checked parameters, as the numbers that `coordinate_kernel` reads in the state."""
        return ()

    @property
    def entries(self) -> int:  # type: ignore[override]  # a number in most optimizers
        """The number of entries that it has in the state."""
        return len(self.parameters())

    def init(self, loss: Loss) -> Floats:
        """Check the parameters and return the initial state vector for a loss."""
        params = self.parameters()
        state = new_state(len(params))
        state[len(state) - len(params) :] = params
        return state

    def move_and_score_kernel(self, dim: int, sparse: bool, average: bool = False) -> Kernel:
        """The row primitive of the coordinate rule."""
        rule = self.coordinate_kernel
        mover = kernel_over(_move_feature, COORDINATE_RULE=rule, HAS_CSR_ROWS=sparse)
        return kernel_over(_move_and_score, MOVE_FEATURE=mover, HAS_CSR_ROWS=sparse)

    def weights(self, Theta: Floats, state: Floats, dim: int) -> Floats:
        """The last weights W (dim, width)."""
        return Theta[:dim].copy()

    def average_weights(self, Theta: Floats, A: Floats, state: Floats, dim: int) -> Floats:
        """The mean (dim, width) of the weights played."""
        start, visit = 3 * dim, Theta[4 * dim]
        summed = Theta[start : start + dim] + (state[LoopState.WEIGHT_SUM] - visit) * Theta[:dim]
        return summed / max(state[LoopState.WEIGHT_SUM], 1e-300)
