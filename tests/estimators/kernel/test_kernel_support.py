"""Support rows: none at all, and rows before one that stops a stream."""

import numpy as np
import pytest

from skstructured import (
    KernelStructuredPredictor,
    MaxMinMarginNetwork,
    StructuralSVM,
)


def rows(n=30, p=3, seed=0):
    X = np.random.RandomState(seed).randn(n, p)
    return X, (X[:, 0] + 0.3 * X[:, 1] ** 2 > 0.2).astype(int)


def own_kernel(X, Z):
    return np.exp(-0.5 * ((X[:, None] - Z) ** 2).sum(axis=2))


@pytest.mark.parametrize("kernel", ["rbf", "precomputed", own_kernel])
@pytest.mark.parametrize("network", [MaxMinMarginNetwork, StructuralSVM])
def test_costs_that_ask_for_nothing_leave_no_row_and_equal_scores(network, kernel):
    """Rows whose class costs nothing to miss: the zero function is the solution."""
    X, _ = rows()
    given = own_kernel(X, X) if isinstance(kernel, str) and kernel == "precomputed" else X
    y = np.arange(len(X)) % 2
    model = network(kernel=kernel, cost_matrix=[[0.0, 1.0], [0.0, 0.0]], alpha=0.1)
    model.fit(given, y, sample_weight=1.0 - y)
    assert len(model.support_) == 0
    np.testing.assert_array_equal(model.decision_function(given[:7]), np.zeros(7))
    assert np.isin(model.predict(given[:7]), [0, 1]).all()


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("n", [1, 5, 20])
def test_rows_before_one_that_stops_are_learned_counted_and_scaled_by(n, standardize):
    """The kernel is −1 for rows whose last feature is large, as that of one in the middle."""
    X, y = rows(60)
    X = np.column_stack([X, np.zeros(60)])
    X[20 + n, 3] = 5.0
    given = {"kernel": stops_far_out, "standardize": standardize, "random_state": 0}
    model, other = (KernelStructuredPredictor(**given) for _ in range(2))
    for learner in (model, other):
        learner.partial_fit(X[:20], y[:20], classes=[0, 1])
    with pytest.raises(ValueError, match=r"k\(x, x\) = -1 for row"):
        model.partial_fit(X[20:45], y[20:45])
    other.partial_fit(X[20 : 20 + n], y[20 : 20 + n])
    assert model.t_ == other.t_ == 20 + n
    for learner in (model, other):
        learner.partial_fit(X[45:], y[45:])
    assert model.t_ == other.t_
    good = np.delete(X, 20 + n, axis=0)
    np.testing.assert_array_equal(model.decision_function(good), other.decision_function(good))


def stops_far_out(X, Z):
    """A kernel that is −1 for rows far out with each other."""
    K = own_kernel(X, Z)
    K[np.ix_(X[:, 3] > 3.0, Z[:, 3] > 3.0)] = -1.0
    return K


def test_a_row_whose_scores_overflow_is_named():
    X, y = rows()
    model = KernelStructuredPredictor(kernel="poly", degree=9, standardize=False, max_iter=1)
    model.fit(X, y)
    far = X[:5].copy()
    far[3] *= 1e60
    overflow = np.errstate(over="ignore", invalid="ignore")  # where kernels are interpreted
    with overflow, pytest.raises(ValueError, match=r"Row 3 of X has scores that are not finite"):
        model.predict(far)
