"""The stream behind the lower bound on the surrogate regret of the logistic loss."""

import math

import numpy as np
from sklearn.utils import check_random_state

from skstructured._base.component import Seed, parameters
from skstructured._base.validation import check_integer, check_real
from skstructured.evaluation.adversaries._base import ObliviousAdversary
from skstructured.extend._types import Array, Floats
from skstructured.extend.output_space import OutputSpace
from skstructured.spaces import Simplex


@parameters
class LowerBound(ObliviousAdversary):
    r"""The stream that proves the lower bound for the logistic loss (appendix H).

    The first ``M = ⌊(B² − ln²(dT))/ln²(2d)⌋`` rows are different basis vectors, with classes drawn
    uniformly; all others are one further basis vector with one class, drawn uniformly too. Nothing
    can be learned of the first M + 1 rounds, whereas the comparator U', whose column t is
    ``ln(2d) e_{i_t}`` and whose last is ``ln(dT) e_{i_{M+1}}``, has little loss in them. For every
    learner the expectation over the classes of ``Σ_t E[L_t] − Σ_t S_t(U')``, with the loss in base
    2, is at least

    .. math:: (M+1)\Bigl(1-\frac1d\Bigr) - M \log_2\frac{3d-1}{2d}
        - (T-M)\log_2\Bigl(1+\frac{d-1}{dT}\Bigr) = Ω(M).

    Parameters
    ----------
    n_rounds : int, default=1000
        T > M.
    comparator_norm : float or None, default=None
        B, which ``‖U'‖_F`` nearly is and never exceeds; None is ``√2 ln(dT)``, or what M = 1 needs
        if that is more: the regret then grows with ln²(dT)/ln²(2d).
    random_state : int, RandomState instance or None, default=None
        Seeds the classes.

    Attributes
    ----------
    comparator_ : ndarray of shape (d, M + 1)
        U' of the last draw; the intercept of a learner that has one is a zero column to append.
    least_regret_ : float
        The least expected surrogate regret against it, as above.

    Raises
    ------
    ValueError
        By `draw` for a space other than `Simplex`, and for a B that makes M < 1 or M ≥ T.

    Notes
    -----
    The printed proof bounds ``log_2(1 + x)`` by x, which holds the other way round on [0, 1]: its
    constant M/4 is too large (for d = 2 the first M rounds give 0.178 M), its rate is right.

    References
    ----------
    Sakaue, Bao, Tsuchiya, Oki (2024), Theorem 5.2 and appendix H; the last column of U' is printed
    with a wrong index.
    """

    n_rounds: int = 1000
    comparator_norm: float | None = None
    random_state: Seed = None

    def draw(self, space: OutputSpace) -> tuple[Floats, Array]:
        """Draw a stream (X, y) with M + 1 features; see `ObliviousAdversary.draw`."""
        if not isinstance(space, Simplex):
            raise ValueError(f"space must be a Simplex, got {type(space).__name__}.")
        check_integer("n_rounds", self.n_rounds, lowest=2)
        d, T = space._dimension(), self.n_rounds
        M = self._free_rounds(d, T)
        column = np.minimum(np.arange(T), M)
        classes = check_random_state(self.random_state).randint(d, size=M + 1)
        self.comparator_ = np.zeros((d, M + 1))
        self.comparator_[classes, np.arange(M + 1)] = math.log(2 * d)
        self.comparator_[classes[M], M] = math.log(d * T)
        comparator = M * math.log2(1.5 - 0.5 / d) + (T - M) * math.log2(1 + (d - 1) / (d * T))
        self.least_regret_ = (M + 1) * (1 - 1 / d) - comparator
        X = np.zeros((T, M + 1))
        X[np.arange(T), column] = 1.0
        return X, space.classes_[classes[column]]

    def _free_rounds(self, d, T):
        """M, the number of rounds with a feature of their own."""
        fixed, each = math.log(d * T) ** 2, math.log(2 * d) ** 2
        if self.comparator_norm is None:
            return min(max(1, math.floor(fixed / each + 1e-9)), T - 1)
        B, low, high = self.comparator_norm, math.sqrt(fixed + each), math.sqrt(fixed + T * each)
        wanted = f"lie in [{low:.4g}, {high:.4g}) for {d} classes and n_rounds={T}"
        check_real("comparator_norm", B, lambda v: low * (1 - 1e-9) <= v < high, wanted)
        return min(max(1, math.floor((B**2 - fixed) / each + 1e-9)), T - 1)
