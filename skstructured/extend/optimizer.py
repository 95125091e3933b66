"""The interface of online optimisers."""

from abc import ABC, abstractmethod

from skstructured._base.component import Component
from skstructured._base.exceptions import GuaranteeError
from skstructured._engine.compiled import kernel
from skstructured._engine.move_and_score import move_and_score_kernel
from skstructured._engine.state import SCALED_WEIGHT_SUM, WEIGHT_SUM
from skstructured.extend._types import Bound, Floats, Kernel, Loss


@kernel
def unit_scale(state: Floats, x_sq: float, weight: float) -> float:
    """s = 1: Θ are the weights."""
    return 1.0


class OnlineOptimizer(Component, ABC):
    """How a learner moves: a state vector and two kernels over it.

    ``scale_kernel(state, x_sq, weight) -> s`` gives the weights ``W = s Θ`` of the round, before it
    is played; ``step_kernel(state, raw, g, x_sq, weight) -> u`` moves ``Θ ← Θ + u g xᵀ`` after it,
    where ``raw = Θx`` and g is the gradient of the loss in θ, without its scale. The state belongs
    to the fitted estimator, its first entries to the epoch: see `skstructured._engine.state`, whose
    `new_state` makes it.
    """

    scale_kernel: Kernel = None  # type: ignore[assignment]  # a subclass brings both
    step_kernel: Kernel = None  # type: ignore[assignment]

    #: How many entries of the state, behind the epoch's own, belong to the kernels.
    entries: int = 0

    @abstractmethod
    def init(self, loss: Loss) -> Floats:
        """Check the parameters and return the initial state, a float64 vector."""

    #: How many arrays of the shape of W, and how many numbers per feature, Θ consists of.
    blocks: tuple[int, int] = (1, 0)
    #: Whether its row primitive reads float32 rows and moves a float32 Θ; else float32 rows are
    #: converted to float64, block by block.
    single_precision = True
    #: Whether the optimiser keeps averages by itself, in Θ; otherwise the epoch keeps them in A.
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
        """Lower the ‖Θ‖² that `state` may keep by `lost`, because rows left Θ.

        Θ is in the units of the steps u, as the kernels see it. Called by learners with kernels.
        """
        return None

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
