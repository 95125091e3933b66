"""Target losses of any space as costs: ``L(y', y) = <y', c(y)> + a(y)``, and c(y) = A y + b."""

import numpy as np

from skstructured._base.exceptions import GuaranteeError
from skstructured._base.foreign import check_vertices, refuse

#: Relative differences below this are rounding.
ROUNDING = 1e-8

#: Vertices beside those of y that a loss is judged by, per entry of the embedding.
TRIALS = 3


def random_vertices(space, n):
    """n vertices of the largest random scores."""
    theta = np.random.RandomState(0).randn(n, space.dim_)
    return check_vertices(space, "argmax", space.argmax(theta), theta.shape)


def target_costs(space, V):
    """c(y) (n, dim) and a(y) (n,) of vertices V; a ValueError where the loss is not so.

    They are what ``space.target_costs(V)`` returns, where there is such a method, and else come
    from ``expected_loss`` at 0 and at the unit vectors. Both are checked at vertices.
    """
    n, dim = V.shape
    if hasattr(space, "target_costs"):
        C, constant = space.target_costs(V)
        C = check_vertices(space, "target_costs", C, V.shape)
        constant = np.reshape(constant, (-1, 1))
        constant = check_vertices(space, "target_costs", constant, (n, 1))[:, 0]
    else:
        constant = np.asarray(space.expected_loss(np.zeros(V.shape), V), dtype=np.float64)
        C, unit = np.empty(V.shape), np.zeros(V.shape)
        for k in range(dim):
            unit[:, k] = 1.0
            C[:, k] = space.expected_loss(unit, V) - constant
            unit[:, k] = 0.0
    others = random_vertices(space, n)
    _check(space, np.einsum("nk,nk->n", others, C) + constant, space.expected_loss(others, V))
    return C, constant


def _check(space, found, given):
    if not np.abs(found - given).max() <= ROUNDING * (1.0 + np.abs(given).max()):
        refuse(
            space,
            "expected_loss",
            "a loss that is affine in the mean, or its costs by target_costs(V) -> (C, constant): "
            "max-margin models learn no other",
        )


def affine_costs(space, V):
    """A, b, a and the number a₀ of ``L(y', y) = <y', A y + b> + <a, y> + a₀``; else a ValueError.

    Found by least squares from the costs of vertices, which tell it on the hull of all.
    """
    V = np.concatenate([V[: 4 * space.dim_], random_vertices(space, TRIALS * space.dim_ + 8)])
    C, constant = target_costs(space, V)
    given = np.column_stack([C, constant])
    found = np.linalg.lstsq(np.column_stack([V, np.ones(len(V))]), given, rcond=None)[0]
    left = np.abs(np.column_stack([V, np.ones(len(V))]) @ found - given).max()
    if not left <= ROUNDING * (1.0 + np.abs(given).max()):
        refuse(
            space,
            "expected_loss",
            "a loss that is affine in the true output too: the max-min network learns no other, "
            "StructuralSVM does",
        )
    A = np.ascontiguousarray(found[:-1, :-1].T)
    return A, found[-1, :-1].copy(), found[:-1, -1].copy(), float(found[-1, -1])


def lipschitz_constant(A):
    """C = (k − q)/(1 − q) of symmetric costs A (k, k) (Proposition C.10); else a GuaranteeError.

    q is the largest ``Σ |A_ty − A_tz|/A_yz`` of two classes, over the classes t beside them.
    """
    k, q = len(A), 0.0
    for y in range(k):
        for z in range(y):
            gaps = np.abs(A[:, y] - A[:, z])
            rest = gaps.sum() - gaps[y] - gaps[z]
            q = max(q, rest / A[y, z] if A[y, z] > 0.0 else np.inf)
    if not np.array_equal(A, A.T) or q >= 1.0:
        raise GuaranteeError(
            "Theorem 3.3 states a constant for symmetric costs with Σ_t |A_ty − A_tz| < A_yz over "
            "the other classes t, as 0–1 costs are; these are not such."
        )
    return (k - q) / (1.0 - q)
