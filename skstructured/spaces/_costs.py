"""What it costs to predict one label where another is true."""

import numpy as np


def unit_costs(cost_matrix, k):
    """Costs (k, k) of labels, [predicted, true], in units of the largest; a ValueError else."""
    try:
        costs = np.array(cost_matrix, dtype=np.float64)
    except (TypeError, ValueError):
        costs = np.empty(0)
    good = costs.shape == (k, k) and np.isfinite(costs).all()
    if not (good and (costs >= 0.0).all() and costs.any() and not np.diag(costs).any()):
        raise ValueError(
            f"cost_matrix must be a ({k}, {k}) matrix of numbers that are not negative, some "
            f"of them positive, with zeros on its diagonal, got {cost_matrix!r}."
        )
    return costs / costs.max()
