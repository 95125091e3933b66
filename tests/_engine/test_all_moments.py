"""Means and deviations of all rows at once, against exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from naive.standardize import moments, root
from odd_rows import ERRORS, odd_rows

from skstructured import KernelStructuredPredictor
from skstructured._engine.moments import moments_of
from skstructured._engine.rows import Rows
from skstructured._engine.standardize import RunningScale

N = 60


def literal(X, weight, centred):
    """Means and deviations by their definition, over the rows of positive weight."""
    there = weight > 0.0
    rows = [[None if math.isnan(a) else Fraction(float(a)) for a in x] for x in X[there]]
    known = moments(rows, [Fraction(float(w)) for w in weight[there]], centred)
    return [float(mean) for mean, _ in known], [root(variance) for _, variance in known]


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("missing", [0.0, 0.3, 0.95])
@pytest.mark.parametrize("kind", ERRORS)
def test_are_those_of_the_rows_that_have_a_feature(kind, missing, centred, rng):
    X = odd_rows(kind, rng, N)
    X = np.where(rng.rand(*X.shape) < missing, np.nan, X)
    weight = rng.randint(4, size=N) * 10.0 ** rng.randint(-3, 3, N)
    total, mean, deviation = moments_of(X, weight, centred)
    means, deviations = literal(X, weight, centred)
    np.testing.assert_allclose(total, weight @ ~np.isnan(X), rtol=1e-13)
    size = np.abs(np.nan_to_num(X)).max(axis=0)
    assert (np.abs(mean - means) <= 1e-13 * size).all()
    np.testing.assert_allclose(deviation, deviations, rtol=1e-7 if kind == "far" else 1e-11)


@pytest.mark.parametrize("centred", [True, False])
def test_rows_without_weight_may_be_of_any_size(centred, rng):
    X, weight = rng.randn(20, 3), np.append(np.ones(19), 0.0)
    found = moments_of(X, weight, centred)
    X[-1] = 1e300
    for one, other in zip(found, moments_of(X, weight, centred), strict=True):
        np.testing.assert_array_equal(one, other)
    none = moments_of(X, np.zeros(20), centred)
    assert not np.any(none)


def test_constants_have_no_deviation_and_the_order_of_rows_hardly_matters(rng):
    X, weight = rng.randn(50, 3), rng.randint(1, 5, size=50) / 7.0
    X[:, 1] = 0.1
    scale, other = RunningScale(3, True, True), RunningScale(3, True, True)
    scale.count_all(Rows.from_array(X), weight)
    order = rng.permutation(50)
    other.count_all(Rows.from_array(X[order]), weight[order])
    assert scale.statistics[1, 1] == scale.statistics[2, 1] == 0.0
    np.testing.assert_allclose(scale.statistics, other.statistics, rtol=1e-12, atol=1e-14)


def test_more_rows_are_counted_behind_them(rng):
    """After all rows at once, a stream goes on as after the same rows one by one."""
    X, weight = np.exp(rng.randn(3000, 2)), rng.randint(1, 4, size=3000) / 3.0
    scale, one_by_one = RunningScale(2, True, True), RunningScale(2, True, True)
    scale.count_all(Rows.from_array(X[:200]), weight[:200])
    one_by_one.apply(Rows.from_array(X[:200]), weight=weight[:200])
    for each in (scale, one_by_one):
        each.apply(Rows.from_array(X), np.arange(200, 3000), weight[200:])
    assert scale.counts.sum() == pytest.approx(one_by_one.counts.sum())
    np.testing.assert_allclose(scale.statistics[:2], one_by_one.statistics[:2], rtol=0.02)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kernels_are_of_rows_standardised_by_all_of_them(dtype, rng):
    X = np.exp(rng.randn(80, 3)).astype(dtype)
    y, weight = rng.randint(3, size=80), rng.randint(4, size=80)
    model = KernelStructuredPredictor(max_iter=3).fit(X, y, sample_weight=weight)
    means, deviations = literal(X, weight.astype(float), True)
    Z = (X - means) / deviations
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(
        model.support_vectors_, Z[model.support_], rtol=tolerance, atol=tolerance
    )
