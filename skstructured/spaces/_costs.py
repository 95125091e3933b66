"""Cost matrices: what it costs to predict one label where another is true."""

import numpy as np
from sklearn.utils import check_array


def check_costs(cost_matrix, k):
    """The costs (k, k) of labels, [predicted, true]; a ValueError says what is wrong with them."""
    given = {"dtype": np.float64, "order": "C", "copy": True, "input_name": "cost_matrix"}
    try:
        A = check_array(cost_matrix, **given)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"cost_matrix must be a ({k}, {k}) matrix of numbers: {error}") from error
    if A.shape != (k, k):
        raise ValueError(f"cost_matrix must have shape {(k, k)} for {k} classes, got {A.shape}.")
    if (A < 0.0).any():
        i, j = np.argwhere(A < 0.0)[0]
        raise ValueError(f"cost_matrix must not be negative, got {A[i, j]:g} at [{i}, {j}].")
    if np.diag(A).any():
        i = int(np.flatnonzero(np.diag(A))[0])
        raise ValueError(f"cost_matrix must be 0 on its diagonal, got {A[i, i]:g} at [{i}, {i}].")
    if not A.any():
        raise ValueError("cost_matrix must have a positive entry, got zeros only.")
    return A


def unit_costs(cost_matrix, k):
    """`check_costs` in units of the largest."""
    costs = check_costs(cost_matrix, k)
    return costs / costs.max()
