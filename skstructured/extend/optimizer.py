"""Interfaces of online optimizers, and of those with a step for every weight."""

import functools
from abc import ABC, abstractmethod
from collections.abc import Sequence

from numba import int64

from skstructured._base.component import Component
from skstructured._base.exceptions import GuaranteeError
from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.mixing import THINNING
from skstructured._engine.move_and_score import move_and_score_kernel
from skstructured._engine.state import NORM_AT, SCALED_WEIGHT_SUM, WEIGHT_SUM, new_state
from skstructured.extend._types import Array, Bound, Floats, Ints, Kernel, Loss


@kernel
def unit_scale(state: Floats, bound: float, weight: float) -> float:
    """s = 1: Θ are the weights."""
    return 1.0


class OnlineOptimizer(Component, ABC):
    """How a learner moves: a state vector and two kernels over it.

    ``scale_kernel(state, bound, weight) -> s`` gives the weights ``W = s Θ`` of the round, before
    it is played; ``step_kernel(state, inner, square, bound, weight) -> u`` moves ``Θ ← Θ + u G``
    after it, G the gradient of the loss in W, without its scale. Both are functions of numbers:
    `inner` is <G, Θ> and `square` ‖G‖²; for a row x, G is ``g xᵀ`` and `bound` ‖x‖², the
    intercept's 1 included; for rounds of several rows `bound` is a bound on ‖G‖². The state belongs
    to the fitted estimator, its first entries to the loop: see `skstructured._engine.state`, whose
    `new_state` makes it.
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
        """The optimisers that move weights: itself, unless it is a mixture."""
        return [self]

    def rates(self) -> Sequence[float]:
        """Rates of sharing, of a mixture."""
        return (THINNING,)

    #: How many arrays of the shape of W, and how many numbers per feature, Θ consists of.
    blocks: tuple[int, int] = (1, 0)
    #: Whether the optimiser keeps averages by itself, in Θ; otherwise the loop keeps them in A.
    keeps_average = False

    def specialised(self) -> "OnlineOptimizer":
        """The optimiser that does the work: self, unless parameters choose another."""
        return self

    def move_and_score_kernel(self, dim: int, sparse: bool, average: bool = False) -> Kernel:
        """The row primitive; see `skstructured._engine.move_and_score`."""
        return move_and_score_kernel(dim, sparse, average)

    def weights(self, Theta: Floats, state: Floats, dim: int) -> Floats:
        """The last weights W (dim, width) behind the stored rows of Θ."""
        return self.scale_kernel(state.copy(), 0.0, 0.0) * Theta

    def average_weights(self, Theta: Floats, A: Floats, state: Floats, dim: int) -> Floats:
        """The mean (dim, width) of the weights played, weighted as the rounds were."""
        return (state[SCALED_WEIGHT_SUM] * Theta + A) / max(state[WEIGHT_SUM], 1e-300)

    def forget(self, state: Floats, lost: float) -> None:
        """Lower the ‖Θ‖² that `state` may keep, see `new_state`, by `lost`: rows left Θ.

        Θ is in the units of the steps u, as the kernels see it. Called by learners with kernels.
        """
        at = int(state[NORM_AT])
        if at > 0:
            state[at] = max(state[at] - lost, 0.0)

    def certificate(self, loss: Loss, state: Floats, delta: float | None = None) -> Bound:
        """The regret bound of the rounds that made `state`, or a GuaranteeError."""
        raise GuaranteeError(f"No regret bound is known for {type(self).__name__}.")

    def check(self, state: Floats) -> str | None:
        """A sentence on what went wrong in the rounds that made `state`, or None."""
        return None


def no_high_probability(optimizer: OnlineOptimizer, delta: float | None) -> None:
    """Refuse `delta` for an optimiser whose theorem is about the expectation."""
    if delta is not None:
        raise GuaranteeError(
            f"The bound of {type(optimizer).__name__} is about the expectation; one with "
            'probability 1 − delta needs GradientDescent(eta="high_probability").'
        )


@kernel
def weight_step(state: Floats, inner: float, square: float, bound: float, weight: float) -> float:
    """u = w, which multiplies gradients."""
    return weight


@kernel(fastmath=FASTMATH)
def _dot(x: Array, y: Array) -> float:
    total = 0.0
    for j in range(x.shape[0]):
        total += x[j] * y[j]
    return total


@functools.cache
def dense_kernel_for(coordinate: Kernel, numbers: int) -> Kernel:
    """The row primitive of dense rows, for a rule that keeps so many numbers for each weight."""

    @kernel
    def move_one(Theta: Floats, dim: int, k: int, j: int, state: Floats, g: float) -> None:
        summed, visit = (1 + numbers) * dim + k, (2 + numbers) * dim
        W, a, b = Theta[k, j], Theta[dim + k, j], 0.0
        if numbers > 1:
            b = Theta[2 * dim + k, j]
        Theta[summed, j] += (state[WEIGHT_SUM] - Theta[visit, j]) * W
        W, a, b = coordinate(state, W, a, b, g)
        Theta[k, j], Theta[dim + k, j] = W, a
        if numbers > 1:
            Theta[2 * dim + k, j] = b

    @kernel
    def move_and_score(
        data: Array, indices: Ints, indptr: Ints, width: int, row: int, ahead: int,
        Theta: Floats, state: Floats, g: Floats, u: float, weight: float, raw: Floats,
    ) -> float:  # fmt: skip
        dim, own = raw.shape[0], Theta.shape[1] - width
        x, z = data[row * width : (row + 1) * width], data[ahead * width : (ahead + 1) * width]
        if u != 0.0:
            for k in range(dim):
                c = u * g[k]
                for j in range(width):
                    if x[j] != 0.0:
                        move_one(Theta, dim, k, j, state, c * x[j])
                if own > 0:
                    move_one(Theta, dim, k, width, state, c)
            for j in range(width + own):
                if j == width or x[j] != 0.0:
                    Theta[(2 + numbers) * dim, j] = state[WEIGHT_SUM]
        for k in range(dim):
            raw[k] = _dot(z, Theta[k]) + (Theta[k, width] if own > 0 else 0.0)
        return _dot(z, z) + own

    return move_and_score


@functools.cache
def csr_kernel_for(coordinate: Kernel, numbers: int) -> Kernel:
    """The row primitive of CSR rows; see `dense_kernel_for`."""

    @kernel
    def move_feature(Theta: Floats, dim: int, j: int, state: Floats, g: Floats, c: float) -> None:
        summed, visit = (1 + numbers) * dim, (2 + numbers) * dim
        passed, b = state[WEIGHT_SUM] - Theta[j, visit], 0.0
        Theta[j, visit] = state[WEIGHT_SUM]
        for k in range(dim):
            W, a = Theta[j, k], Theta[j, dim + k]
            if numbers > 1:
                b = Theta[j, 2 * dim + k]
            Theta[j, summed + k] += passed * W
            W, a, b = coordinate(state, W, a, b, c * g[k])
            Theta[j, k], Theta[j, dim + k] = W, a
            if numbers > 1:
                Theta[j, 2 * dim + k] = b

    @kernel
    def move_and_score(
        data: Array, indices: Ints, indptr: Ints, width: int, row: int, ahead: int,
        Theta: Floats, state: Floats, g: Floats, u: float, weight: float, raw: Floats,
    ) -> float:  # fmt: skip
        dim, own = raw.shape[0], Theta.shape[0] - width
        z_sq = float(own)
        if u != 0.0:
            for t in range(indptr[row], indptr[row + 1]):
                if data[t] != 0.0:
                    move_feature(Theta, dim, int64(indices[t]), state, g, u * data[t])
            if own > 0:
                move_feature(Theta, dim, width, state, g, u)
        for k in range(dim):
            raw[k] = Theta[width, k] if own > 0 else 0.0
        for t in range(indptr[ahead], indptr[ahead + 1]):
            z, j = data[t], int64(indices[t])
            z_sq += z * z
            for k in range(dim):
                raw[k] += Theta[j, k] * z
        return z_sq

    return move_and_score


class CoordinateOptimizer(OnlineOptimizer):
    """An optimiser that moves each weight by itself, by one rule for all of them.

    A subclass brings

    - ``coordinate_kernel(state, W, a, b, g) -> (W, a, b)``, a static method, compiled by
      `skstructured.extend.kernel`: a weight and its two numbers after the gradient
      ``g = w (∂ℓ/∂θ_k) x_j``, w the sample weight. It is called where x_j is not 0;
    - ``numbers``, 1 or 2, how many of a and b it keeps; both are 0 at first;
    - ``parameters()``, the numbers that `coordinate_kernel` reads from ``state[OWN:]``.

    Averages, CSR rows, streams and weights are taken care of. Learners with kernels, and label
    sequences, have no such weights, and refuse it by name.
    """

    coordinate_kernel: Kernel = None  # type: ignore[assignment]  # a subclass brings it
    numbers = 1

    scale_kernel = staticmethod(unit_scale)
    step_kernel = staticmethod(weight_step)
    keeps_average = True

    def parameters(self) -> tuple[float, ...]:
        """Checked parameters, as the numbers that `coordinate_kernel` reads in the state."""
        return ()

    @property
    def entries(self) -> int:  # type: ignore[override]  # a number in most optimisers
        """How many numbers of the state are its own."""
        return len(self.parameters())

    @property
    def blocks(self) -> tuple[int, int]:  # type: ignore[override]
        """W, the numbers of each weight and Σ v W, and a clock for each feature."""
        return (2 + self.numbers, 1)

    def init(self, loss: Loss) -> Floats:
        """Check the parameters and return the initial state vector for a loss."""
        given = self.parameters()
        state = new_state(len(given))
        state[len(state) - len(given) :] = given
        return state

    def move_and_score_kernel(self, dim: int, sparse: bool, average: bool = False) -> Kernel:
        """The row primitive; see `OnlineOptimizer`."""
        made_for = csr_kernel_for if sparse else dense_kernel_for
        return made_for(self.coordinate_kernel, self.numbers)

    def weights(self, Theta: Floats, state: Floats, dim: int) -> Floats:
        """The last weights; see `OnlineOptimizer`."""
        return Theta[:dim].copy()

    def average_weights(self, Theta: Floats, A: Floats, state: Floats, dim: int) -> Floats:
        """The mean of the weights played; see `OnlineOptimizer`."""
        at, visit = (1 + self.numbers) * dim, Theta[(2 + self.numbers) * dim]
        summed = Theta[at : at + dim] + (state[WEIGHT_SUM] - visit) * Theta[:dim]
        return summed / max(state[WEIGHT_SUM], 1e-300)
