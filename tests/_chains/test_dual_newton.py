"""Newton's method for projections on label sequences: its steps, and what is impossible."""

import numpy as np
import pytest
from naive import chains as naive

from skstructured._chains import dual_newton
from skstructured._chains.dual_newton import nearest_marginals


def test_few_steps_are_enough(monkeypatch):
    """A piecewise quadratic function: a wrong Hessian would take hundreds of steps."""
    counted, step = [], dual_newton._newton_step
    run = getattr(nearest_marginals, "py_func", nearest_marginals)
    monkeypatch.setitem(run.__globals__, "_newton_step", lambda *a: counted.append(0) or step(*a))
    for seed in range(5):
        rng = np.random.RandomState(seed)
        unary, pair = rng.randn(6, 3), rng.randn(1, 3, 3)
        u, p = np.empty((6, 3)), np.empty((5, 3, 3))
        assert run(unary, pair, u, p) < 1e-13
    assert len(counted) <= 5 * 20


@pytest.mark.parametrize("seed", range(5))
def test_labels_that_are_impossible_get_nothing(seed):
    rng = np.random.RandomState(seed)
    unary, pair = 0.1 * rng.randn(4, 3), 0.1 * rng.randn(1, 3, 3)
    unary[0, 1] = unary[2, 0] = unary[2, 2] = -np.inf
    u, p = np.empty((4, 3)), np.empty((3, 3, 3))
    assert nearest_marginals(unary, pair, u, p) < 1e-13
    assert u[2, 1] == pytest.approx(1.0, abs=1e-12) and not u[2, [0, 2]].any() and u[0, 1] == 0.0
    assert not p[0, 1].any() and not p[1][:, [0, 2]].any() and not p[2, [0, 2]].any()
    wanted = naive.sparse_map(np.maximum(unary, -1e6), pair)
    np.testing.assert_allclose(u, wanted[0], rtol=0, atol=1e-7)
    np.testing.assert_allclose(p, wanted[1], rtol=0, atol=1e-7)
