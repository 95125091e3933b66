"""L-BFGS of two loops: the literal inverse, flat steps, and minima that SciPy finds."""

import numpy as np
import pytest
from scipy.optimize import minimize

from skstructured._base.lbfgs import LINE_SEARCH, Memory, _weak_wolfe, minimize_two_loops

pytestmark = pytest.mark.interpreted


def quadratic(rng, n=12):
    """A convex function with curvatures between 0.1 and 10, and its minimum."""
    U, _ = np.linalg.qr(rng.randn(n, n))
    A, low = U @ np.diag(10.0 ** np.linspace(-1, 1, n)) @ U.T, rng.randn(n)
    return (lambda x: (0.5 * (x - low) @ A @ (x - low), A @ (x - low))), low


def logistic(rng, n=60, p=(5, 3)):
    """A smooth loss of a matrix of weights."""
    X, Y = rng.randn(n, p[0]), np.eye(p[1])[rng.randint(p[1], size=n)]

    def function(W):
        theta = X @ W
        log_z = np.log(np.exp(theta).sum(axis=1))
        gradient = X.T @ (np.exp(theta - log_z[:, None]) - Y) / n + 0.01 * W
        return np.mean(log_z - (theta * Y).sum(axis=1)) + 0.005 * np.sum(W**2), gradient

    return function


@pytest.mark.parametrize("steep", [1.0, 1e-60, 1e60])
@pytest.mark.parametrize("size", [1.0, 1e-40, 1e50])
def test_two_loops_are_the_literal_inverse(steep, size, rng, monkeypatch):
    monkeypatch.setattr("skstructured._base.lbfgs.Memory.block_size", 4)  # two blocks
    n, memory, pairs = 6, Memory(6), []
    gradient = size * rng.randn(3, 2)
    np.testing.assert_array_equal(memory.direction(gradient)[0], -gradient)
    for _ in range(2 * Memory.n_steps + 3):
        s = rng.randn(n)
        y = steep * (s + 0.3 * rng.randn(n))
        memory.add(4.0 * s.reshape(3, 2), y.reshape(3, 2), s @ y, 0.25)
        memory.add(s, -y, -s @ y)  # is not remembered
        memory.add(s, np.nan * y, np.nan)
        pairs = [*pairs, (s, y)][-Memory.n_steps :]
        H = s @ y / (y @ y) * np.eye(n)
        for s, y in pairs:
            V = np.eye(n) - np.outer(y, s) / (s @ y)
            H = V.T @ H @ V + np.outer(s, s) / (s @ y)
        direction, slope = memory.direction(gradient)
        found, literal = -direction.ravel(), H @ gradient.ravel()
        assert slope == pytest.approx(np.vdot(gradient, direction), rel=1e-9)
        np.testing.assert_allclose(found, literal, rtol=0.0, atol=1e-5 * np.abs(literal).max())


@pytest.mark.parametrize("size", [1e-4, 1.0, 30.0])
def test_steps_are_flat_enough(size, rng):
    function = logistic(rng)
    x = rng.randn(5, 3)
    value, gradient = function(x)
    direction = -size * gradient
    slope = np.vdot(gradient, direction)
    step, end, found, after, slope_after = _weak_wolfe(function, x, value, direction, slope)
    assert slope_after == np.vdot(after, direction)
    assert found <= value + LINE_SEARCH.gain * step * slope
    assert np.vdot(after, direction) >= LINE_SEARCH.flatness * slope
    np.testing.assert_array_equal(end, x + step * direction)
    assert (found, after.tolist()) == (function(end)[0], function(end)[1].tolist())
    assert _weak_wolfe(function, x, value, -direction, -slope) is None


@pytest.mark.parametrize("kind", ["quadratic", "logistic"])
def test_minima_are_those_of_scipy(kind, rng):
    function, start = logistic(rng), rng.randn(5, 3)
    if kind == "quadratic":
        function, start = quadratic(rng)[0], np.zeros(12)
    curve = []

    def add(value, gradient):
        curve.append(value)
        return np.abs(gradient).max() < 1e-9

    found = minimize_two_loops(function, start, 500, add)
    best = minimize(
        lambda flat: (lambda v, g: (v, g.ravel()))(*function(flat.reshape(start.shape))),
        start.ravel(), jac=True, method="BFGS", options={"gtol": 1e-9},
    )  # fmt: skip
    np.testing.assert_allclose(found.ravel(), best.x, atol=1e-5)
    assert np.all(np.diff(curve) <= 0.0) and len(curve) < 200


def test_a_gradient_that_no_step_goes_along():
    memory = Memory(3)
    memory.add(np.array([1.0, 0.0, 0.0]), np.array([2.0, 0.0, 0.0]), 2.0)
    found, slope = memory.direction(np.array([0.0, 3.0, 0.0]))
    np.testing.assert_allclose([*found, slope], [0.0, -1.5, 0.0, -4.5])


def test_it_ends_after_max_iter_and_if_nothing_is_better(rng):
    function, _ = quadratic(rng)
    seen = []
    minimize_two_loops(function, np.zeros(12), 3, lambda *given: seen.append(given))
    assert len(seen) == 3
    flat = minimize_two_loops(lambda x: (1.0, np.ones(2)), np.zeros(2), 9, lambda *_: False)
    np.testing.assert_array_equal(flat, np.zeros(2))  # the gradient is wrong
