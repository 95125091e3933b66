"""Names of types that several subpackages use in their annotations."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NewType, Protocol, TypeAlias

from numpy.typing import ArrayLike
from scipy import sparse

from skstructured._base.component import Seed
from skstructured._base.ragged import Ragged
from skstructured._engine.arrays import Array, Floats, Ints, Kernel

__all__ = ["Array", "Floats", "Ints", "Kernel", "Seed"]

#: Embeddings: an array, or a list where label sequences have several lengths.
Vectors: TypeAlias = Floats | list[Floats]

#: Rows as learners keep them: an array, or a CSR matrix.
Matrix: TypeAlias = Array | sparse.csr_array | sparse.csr_matrix

#: X as users give it: rows, frames, sparse matrices, or label sequences.
Features: TypeAlias = (
    ArrayLike | sparse.sparray | sparse.spmatrix | Ragged | Sequence[ArrayLike | Matrix]
)

#: y as users give it, and as they get it back from spaces in which it is an array or a list.
Outputs: TypeAlias = ArrayLike | Sequence[ArrayLike] | Ragged

#: Outputs as a space packs them, an entry per round: what they are, only the space knows.
Packed: TypeAlias = Any

#: What users may give or leave out: labels, weights.
Given: TypeAlias = ArrayLike | None

if not TYPE_CHECKING:  # for `help`, which else shows all that they stand for
    Features, Outputs, Given = (NewType(name, object) for name in ("Features", "Outputs", "Given"))


class Bound(Protocol):
    """The interface of the bounds that learners and optimizers return."""

    def bound(self, comparator_loss: float, norm: float) -> float:
        """A bound on the sum of target losses."""

    def regret(self, norm: float) -> float:
        """The part of it that exceeds the comparator's loss."""


class Loss(Protocol):
    """The members of a `Surrogate` or `FenchelYoung` that learners and decoders use."""

    #: What the parameter is: a short-cut or a space, a fitted space once learners have set it.
    space: Any

    @property
    def norm(self) -> str:
        """The norm in which ŷ is compared with vertices."""

    @property
    def kernel(self) -> Kernel:
        """Writes the gradient of a row of scores, and returns its loss."""

    @property
    def lipschitz(self) -> float:
        """The largest ‖∇ℓ‖ in θ."""

    @property
    def has_probabilities(self) -> bool:
        """Whether means are probabilities."""

    def kernel_arguments(self, dim: int) -> tuple[Floats, Floats]:
        """Parameters, and scratch, of the kernel."""

    def mean(self, theta: Floats) -> Floats:
        """The ŷ that decoders are given."""

    def value(self, theta: Floats, V: Floats) -> Floats:
        """Losses for the true vertices V."""

    def mean_and_value(self, theta: Floats, V: Floats) -> tuple[Floats, Floats]:
        """`mean` and `value`."""

    def omega(self, mu: Floats) -> Floats:
        """Ω of means."""

    def conjugate(self, theta: Floats) -> Floats:
        """Ω* of scores."""

    def constants_of(self, dim: int | None = None) -> Any:
        """Constants of theory, if there are any."""

    def check_residual(self, work: Floats) -> None:
        """Warn if a solver was left with a residual."""
