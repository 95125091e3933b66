"""Minima of smooth objectives with and without absolute weights, and what ends a run."""

import numpy as np
import pytest
from scipy.optimize import minimize

from skstructured._base.lbfgs import minimize_orthant_wise, minimize_two_loops

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


def penalized(function, l1):
    """The smooth objective plus the absolute weights, and the gradient of the smooth part."""

    def whole(x):
        value, gradient = function(x)
        return value + np.sum(l1 * np.abs(x)), gradient

    return whole


def descended(function, start, l1, n_iter=20_000, step=0.09):
    """The minimum by proximal steps: the smooth gradient, then shrinking by the strengths."""
    x = start
    for _ in range(n_iter):
        x = x - step * function(x)[1]
        x = np.sign(x) * np.maximum(np.abs(x) - step * l1, 0.0)
    return x


@pytest.mark.parametrize("kind", ["quadratic", "logistic"])
def test_minima_without_a_penalty_are_those_of_bfgs(kind, rng):
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


@pytest.mark.parametrize("kind", ["quadratic", "logistic"])
@pytest.mark.parametrize("strength", [0.0, 0.03, "rows", 50.0])
def test_minima_with_absolute_weights_are_those_of_proximal_steps(kind, strength, rng):
    function, start = logistic(rng), rng.randn(5, 3)
    if kind == "quadratic":
        function, start = quadratic(rng)[0], rng.randn(12)
    l1 = 0.06 * rng.rand(len(start), *(1,) * (start.ndim - 1)) if strength == "rows" else strength
    whole, seen = penalized(function, l1), []

    def add(*given):
        seen.append(given)
        return False

    found = minimize_orthant_wise(whole, start, l1, 300, add)
    best = descended(function, start, l1)
    np.testing.assert_allclose(found, best, atol=1e-5)
    np.testing.assert_array_equal(found == 0.0, best == 0.0)
    value, gradient = whole(found)
    assert seen[-1][0] == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(seen[-1][1], gradient, atol=1e-6)


@pytest.mark.parametrize(("max_iter", "enough"), [(3, 9), (9, 5)])
def test_it_ends_after_max_iter_and_if_it_is_done(max_iter, enough, rng):
    function, seen = logistic(rng), []

    def is_done(*given):
        seen.append(given)
        return len(seen) % enough == 0

    minimize_orthant_wise(penalized(function, 0.01), np.ones((5, 3)), 0.01, max_iter, is_done)
    assert len(seen) == min(max_iter, enough)
    seen.clear()
    minimize_two_loops(function, np.ones((5, 3)), max_iter, is_done)
    assert len(seen) == min(max_iter, enough)
