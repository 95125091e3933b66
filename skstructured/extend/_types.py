"""Names of types that several subpackages use in their annotations."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NewType, TypeAlias

from numpy.typing import ArrayLike
from scipy import sparse

from skstructured._base.component import Seed
from skstructured._base.ragged import Ragged
from skstructured._engine.types import Array, Floats, Ints, Kernel

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

#: A `Surrogate` or a `FenchelYoung`, whose members learners and decoders use.
Loss: TypeAlias = Any

#: A bound of a learner or an optimizer: ``bound(comparator_loss, norm)``, and the ``regret(norm)``
#: in it, which is what exceeds the comparator's loss.
Bound: TypeAlias = Any

#: What users may give or leave out: labels, weights.
Given: TypeAlias = ArrayLike | None

if not TYPE_CHECKING:  # for `help`, which else shows all that they stand for
    names = "Features", "Outputs", "Given", "Loss", "Bound"
    Features, Outputs, Given, Loss, Bound = (NewType(name, object) for name in names)
