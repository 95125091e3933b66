"""What a Fenchel–Young loss knows of a space and a regularizer, and the table of such pairs."""

from collections.abc import Callable
from dataclasses import dataclass

from skstructured.extend._by_vertices import projection_kernel
from skstructured.extend._types import Kernel
from skstructured.extend.output_space import OutputSpace


@dataclass(frozen=True)
class Oracle:
    """Everything a Fenchel–Young loss needs to know of a (space, regularizer) pair.

    Attributes
    ----------
    kernel : numba function or None
        ``kernel(theta, truth, gradient, params, work) -> Ω*(θ)``, writing ŷ_Ω(θ) − truth, which
        is ŷ_Ω(θ) where `truth` is 0. None projects by the active-set method over the space's
        linear oracle.
    omega : callable
        ``omega(mu, regularizer) -> Ω(μ)`` of shape (n,).
    norm : {"l1", "l2"}
        Norm of the strong convexity, and of the randomized decoding.
    convexity : callable
        ``convexity(dim) -> λ``, as printed by Sakaue et al. (2024).
    sharp : callable or None
        ``sharp(dim) -> (λ, λ₂)``: a larger λ that holds because the truth is a vertex, and the
        λ₂ with ``‖ŷ−y‖₂² ≤ (2/λ₂) S``; None where the printed constant is tight.
    work : callable
        ``work(dim)``: length of the kernel's scratch vector.
    iterative : bool
        Whether the kernel keeps the largest residual it was left with in ``work[0]``.
    log_proba : callable or None
        ``log_proba(theta)``: logarithms of the space's `mean_proba` of ŷ_Ω(θ), from the scores;
        None where probabilities may be 0, or have to be found by iterations.
    """

    kernel: Callable | None
    omega: Callable
    norm: str
    convexity: Callable
    sharp: Callable | None = None
    work: Callable = lambda dim: 2 * dim + 2
    iterative: bool = False
    log_proba: Callable | None = None

    def kernel_for(self, space: OutputSpace) -> Kernel:
        """The kernel, made for `space` where each space needs its own."""
        return self.kernel if self.kernel is not None else projection_kernel(space)


#: (space class, regularizer class) -> `Oracle`; a pair of one's own is a row put in here.
ORACLES: dict[tuple[type, type], Oracle] = {}
