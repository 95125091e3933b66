"""Orthant-wise L-BFGS: conditions of the optimum, minima of SciPy, and steps within an orthant."""

import numpy as np
import pytest
from scipy.optimize import minimize
from test_two_loops import logistic, quadratic

from skstructured._base.lbfgs import (
    LINE_SEARCH,
    _least_slope,
    _within_orthant,
    minimize_orthant_wise,
)

pytestmark = pytest.mark.interpreted


def penalized(function, l1):
    """The smooth objective plus the absolute weights, and the gradient of the smooth part."""

    def whole(x):
        value, gradient = function(x)
        return value + np.sum(l1 * np.abs(x)), gradient

    return whole


def least(function, l1, shape):
    """The minimum, of the positive less the negative parts."""
    size = int(np.prod(shape))

    def of_parts(both):
        value, gradient = function((both[:size] - both[size:]).reshape(shape))
        strengths = np.broadcast_to(l1, shape).ravel()
        slope = np.r_[gradient.ravel() + strengths, strengths - gradient.ravel()]
        return value + np.r_[strengths, strengths] @ both, slope

    options = {"ftol": 0.0, "gtol": 1e-10, "maxiter": 5000, "maxfun": 10_000}
    given = {"jac": True, "bounds": [(0.0, None)] * (2 * size), "options": options}
    found = minimize(of_parts, np.zeros(2 * size), method="L-BFGS-B", **given).x
    return (found[:size] - found[size:]).reshape(shape)


@pytest.mark.parametrize("kind", ["quadratic", "logistic"])
@pytest.mark.parametrize("strength", [0.0, 0.03, "rows", 50.0])
def test_minima_are_those_of_scipy(kind, strength, rng):
    function, start = logistic(rng), rng.randn(5, 3)
    if kind == "quadratic":
        function, start = quadratic(rng)[0], rng.randn(12)
    l1 = 0.06 * rng.rand(len(start), *(1,) * (start.ndim - 1)) if strength == "rows" else strength
    curve = []

    def add(value, gradient):
        curve.append(value)
        return False

    found = minimize_orthant_wise(penalized(function, l1), start, l1, 300, add)
    best = least(function, l1, start.shape)
    np.testing.assert_allclose(found, best, atol=1e-5)
    np.testing.assert_array_equal(found == 0.0, np.abs(best) < 1e-9)
    assert np.all(np.diff(curve) < 0.0)
    assert np.abs(_least_slope(found, function(found)[1], l1)).max() < 1e-5


def test_the_least_slope_is_the_nearest_subgradient(rng):
    x, gradient, l1 = rng.randn(4, 3), rng.randn(4, 3), rng.rand(4, 1)
    x[rng.rand(4, 3) < 0.5] = 0.0
    found, grid = _least_slope(x, gradient, l1), np.linspace(-1.0, 1.0, 20_001)
    for place in np.ndindex(4, 3):
        signs = grid if x[place] == 0.0 else np.sign(x[place])
        every = gradient[place] + l1[place[0], 0] * np.atleast_1d(signs)
        assert found[place] == pytest.approx(every[np.argmin(np.abs(every))], abs=1e-4)


def test_steps_stay_within_an_orthant(rng):
    l1, x = 0.02, rng.randn(5, 3)
    x[:2] = 0.0
    whole = penalized(logistic(rng), l1)
    value, gradient = whole(x)
    slope = _least_slope(x, gradient, l1)
    for size in (0.1, 1.0, 40.0):
        after, found, end = _within_orthant(whole, x, value, -size * slope, slope)
        assert np.all(after[2:] * x[2:] >= 0.0) and np.all(after[:2] * slope[:2] <= 0.0)
        assert found < value and found <= value + LINE_SEARCH.gain * np.vdot(slope, after - x)
        assert (found, end.tolist()) == (whole(after)[0], whole(after)[1].tolist())
        assert np.count_nonzero(after[:2]) == np.count_nonzero(slope[:2]) > 0
    assert _within_orthant(whole, x, value, slope, slope) is None


@pytest.mark.parametrize(("max_iter", "enough"), [(3, 9), (9, 5)])
def test_it_ends_after_max_iter_and_if_it_is_done(max_iter, enough, rng):
    whole, seen = penalized(logistic(rng), 0.01), []

    def is_done(value, gradient):
        seen.append(value)
        return len(seen) == enough

    minimize_orthant_wise(whole, np.ones((5, 3)), 0.01, max_iter, is_done)
    assert len(seen) == min(max_iter, enough)
