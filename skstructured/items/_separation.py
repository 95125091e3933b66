"""Choices that some weights predict without fault: there is no optimum then."""

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from skstructured.extend._types import Floats
from skstructured.items._choice_likelihood import Likelihood

#: Seconds that the search for such weights may take.
PATIENCE = 20.0


def separating_direction(likelihood: Likelihood) -> Floats | None:
    """Weights v (p,) with ``vᵀ(z_chosen − z_i) ≥ 0`` for all items, and > 0 for some; None if none.

    Along them the likelihood rises for ever (Albert and Anderson 1984). It is a linear programme:
    the largest sum of the margins, for v in a box, is 0 where there is no such v. None also where
    it takes longer than `PATIENCE`.
    """
    others = np.ones(likelihood.Z.shape[0], dtype=bool)
    others[likelihood.chosen] = False
    rows = np.repeat(likelihood.chosen, likelihood.lengths)[others]
    margins = likelihood.Z[rows] - likelihood.Z[others]
    if margins.shape[0] == 0:
        return None
    sums = np.asarray(margins.mean(axis=0)).ravel()
    A = -sparse.csr_matrix(margins)
    found = linprog(
        -sums, A, np.zeros(len(rows)), bounds=(-1.0, 1.0), options={"time_limit": PATIENCE}
    )
    if found.x is None:
        return None
    reached = margins @ found.x
    is_one = reached.min() >= -1e-6 and reached.max() > 1e-4
    return found.x if is_one else None
