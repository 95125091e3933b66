"""Cost matrices that users give."""

import numpy as np
from sklearn.utils import check_array


def check_costs(cost_matrix, k):
    """The cost matrix (k, k) of classes; a ValueError says what is wrong with it."""
    A = check_array(cost_matrix, dtype=np.float64, order="C", copy=True, input_name="cost_matrix")
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
