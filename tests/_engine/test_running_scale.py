"""Means and deviations, running or of all rows, and rows in units of them, against fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from naive.standardize import moments, root, standardized
from odd_rows import ERRORS, odd_rows
from scipy import sparse

from skstructured import KernelStructuredPredictor
from skstructured._engine.moments import Statistic, moments_of
from skstructured._engine.rows import Rows
from skstructured._engine.standardize import RunningScale
from skstructured._engine.state import at_once


def odd_weights(kind, rng, n=60):
    if kind == "extreme":
        return 10.0 ** rng.choice([-20.0, 0.0, 20.0], size=n)
    return np.ones(n) if kind == "ones" else rng.randint(4, size=n) * 10.0 ** rng.randint(-3, 3, n)


@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize(
    ("weights", "missing"), [("ones", 0.0), ("mixed", 0.0), ("mixed", 0.1), ("mixed", 0.9)]
)
@pytest.mark.parametrize("kind", ERRORS)
def test_rows_are_standardised_as_defined(kind, weights, missing, centered, rng):
    """Means and deviations are those of the rows that have a feature; no row may have the last."""
    X, weight = odd_rows(kind, rng, 60), odd_weights(weights, rng)
    tolerance, exact = ERRORS[kind], ERRORS[kind] / 100
    if missing:
        X = np.where(rng.rand(*X.shape) < missing, np.nan, X)
        X[:, -1], tolerance, exact = np.nan, 100 * tolerance, 100 * tolerance
    scale = RunningScale(X.shape[1], centered, True)
    Z = scale.apply(Rows.from_array(X), weight=weight)[0].matrix
    wanted, known = standardized(X, weight, centered)
    np.testing.assert_allclose(Z, wanted, rtol=tolerance, atol=tolerance)
    for found, (_, variance) in zip(scale.statistics[1], known, strict=True):
        assert found == pytest.approx(root(variance), rel=exact, abs=0.0)
    gaps, done = np.isnan(X), scale.imputed(Rows.from_array(X)).matrix
    assert not Z[gaps].any() and not (missing and scale.statistics[:3, -1].any())
    np.testing.assert_array_equal(done, np.where(gaps, scale.statistics[0], X))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("centered", [True, False])
def test_indicators_stand_behind_the_features(centered, dtype, rng):
    """1 where a row lacks the feature, as given; rows of weight 0 are 0 altogether."""
    X, weight = odd_rows("plain", rng, 40), odd_weights("mixed", rng, 40)
    X = np.where(rng.rand(*X.shape) < 0.3, np.nan, X).astype(dtype)
    p = X.shape[1]
    scale, plain = (RunningScale(p, centered, True, dtype, given) for given in (True, False))
    given = (Rows.from_array(X), np.arange(40), weight, True)
    ready, places, count, undo, before = scale.counted(*given)
    alone, first = plain.counted(*given)[::4]
    assert not scale.statistics[: Statistic.LOW].any()
    for one in (scale, plain):
        one.apply(*given[:3])
    gaps, counted = np.isnan(X), weight > 0.0
    assert scale.columns == 2 * p == ready.width and ready.data.dtype == dtype
    np.testing.assert_array_equal(ready.matrix[:, :p], alone.matrix)
    np.testing.assert_array_equal(ready.matrix[:, p:], gaps & counted[:, None])
    before = before.reshape(40, 2 * p)
    np.testing.assert_array_equal(before[:, :p], first.reshape(40, p))
    np.testing.assert_array_equal(before[:, p:], gaps)
    assert not counted.all() and len(places) == 40
    for of in ("transformed", "imputed"):
        wide, narrow = (getattr(one, of)(Rows.from_array(X)).matrix for one in (scale, plain))
        np.testing.assert_array_equal(wide, np.hstack([narrow, gaps]))
    W = rng.randn(3, 2 * p + 1)
    folded, own = scale.fold(W), plain.fold(W[:, [*range(p), 2 * p]])
    np.testing.assert_array_equal(folded[:, [*range(p), 2 * p]], own)
    np.testing.assert_array_equal(folded[:, p : 2 * p], W[:, p : 2 * p])
    at_once(undo)
    assert not scale.statistics[: Statistic.LOW].any()
    at_once(count)
    np.testing.assert_array_equal(scale.statistics, plain.statistics)


def test_rows_that_stay_as_they_are_have_room_for_indicators(rng):
    """A learner that stops to standardise, once it has its weights, finds rows of their width."""
    X = odd_rows("plain", rng, 10)
    for given in (X, sparse.csr_matrix(X)):
        scale = RunningScale(X.shape[1], True, True, indicators=True)
        scale.used = False
        order = np.array([3, 1, 1])
        ready, places, *_ = scale.apply(Rows.from_array(given), order)
        rows = ready.matrix[places]
        rows = rows.toarray() if sparse.issparse(rows) else rows
        np.testing.assert_array_equal(rows, np.hstack([X[order], 0.0 * X[order]]))
        assert scale.transformed(Rows.from_array(given)).width == scale.columns
    assert RunningScale(4, True, False, indicators=True).columns == 4


def test_weights_of_any_size(rng):
    X, weight = odd_rows("plain", rng, 40), odd_weights("extreme", rng, 40)
    scale = RunningScale(4, True, True)
    scale.apply(Rows.from_array(X), weight=weight)
    _, known = standardized(X, weight, True)
    for found, (_, variance) in zip(scale.statistics[1], known, strict=True):
        assert found == pytest.approx(root(variance), rel=1e-9)


def test_a_heavy_second_row_leaves_a_deviation():
    scale = RunningScale(1, True, True)
    scale.apply(Rows.from_array(np.array([[1.0], [2.0]])), weight=np.array([1.0, 1e20]))
    assert scale.statistics[1, 0] == pytest.approx(1e-10)


def test_sparse_rows_are_divided_by_the_largest_so_far(rng):
    X = rng.randn(30, 4) * (rng.rand(30, 4) < 0.5) * [1e-100, 1.0, 1e100, 7.0]
    X[:, 3] *= np.arange(30) != 3
    weight = rng.randint(3, size=30).astype(float)
    scale = RunningScale(4, True, True)
    Z = scale.apply(Rows.from_array(sparse.csr_matrix(X)), weight=weight)[0].matrix.toarray()
    largest = np.maximum.accumulate(np.abs(X) * (weight > 0)[:, None])
    wanted = np.divide(X, largest, out=np.zeros_like(X), where=largest > 0)
    wanted[weight == 0] = 0.0
    np.testing.assert_allclose(Z, wanted, rtol=1e-15)


@pytest.mark.parametrize("divided", [True, False])
def test_a_scale_begun_anew_divides_as_the_one_before(divided, rng):
    X, weight = 3.0 + 5.0 * rng.randn(10, 2), rng.randint(1, 4, 10) / 2.0
    scale = RunningScale(2, True, True)
    scale.divided = divided
    scale.apply(Rows.from_array(X), weight=weight)
    Z = scale.reset_copy().apply(Rows.from_array(X), weight=weight)[0].matrix
    wanted = standardized(X, weight, True)[0]
    for t in range(10):
        mean = np.average(X[: t + 1], axis=0, weights=weight[: t + 1])
        unit = wanted[t] if divided else X[t] - mean
        np.testing.assert_allclose(Z[t], unit, rtol=1e-10, atol=1e-10)


def literal(X, weight, centered):
    """Means and deviations by their definition, over the rows of positive weight."""
    there = weight > 0.0
    rows = [[None if math.isnan(a) else Fraction(float(a)) for a in x] for x in X[there]]
    known = moments(rows, [Fraction(float(w)) for w in weight[there]], centered)
    return [float(mean) for mean, _ in known], [root(variance) for _, variance in known]


@pytest.mark.parametrize("centered", [True, False])
@pytest.mark.parametrize("missing", [0.0, 0.3, 0.95])
@pytest.mark.parametrize("kind", ERRORS)
def test_are_those_of_the_rows_that_have_a_feature(kind, missing, centered, rng):
    X = odd_rows(kind, rng, 60)
    X = np.where(rng.rand(*X.shape) < missing, np.nan, X)
    weight = rng.randint(4, size=60) * 10.0 ** rng.randint(-3, 3, 60)
    total, mean, deviation = moments_of(X, weight, centered)
    means, deviations = literal(X, weight, centered)
    np.testing.assert_allclose(total, weight @ ~np.isnan(X), rtol=1e-13)
    size = np.abs(np.nan_to_num(X)).max(axis=0)
    assert (np.abs(mean - means) <= 1e-13 * size).all()
    np.testing.assert_allclose(deviation, deviations, rtol=1e-7 if kind == "far" else 1e-11)


@pytest.mark.parametrize("centered", [True, False])
def test_rows_without_weight_may_be_of_any_size(centered, rng):
    X, weight = rng.randn(20, 3), np.append(np.ones(19), 0.0)
    found = moments_of(X, weight, centered)
    X[-1] = 1e300
    for one, other in zip(found, moments_of(X, weight, centered), strict=True):
        np.testing.assert_array_equal(one, other)
    none = moments_of(X, np.zeros(20), centered)
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
    assert scale.counts[:2].sum() == pytest.approx(one_by_one.counts[:2].sum())
    np.testing.assert_allclose(scale.statistics[:2], one_by_one.statistics[:2], rtol=0.02)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kernels_are_of_rows_standardised_by_all_of_them(dtype, rng):
    X = np.exp(rng.randn(80, 3)).astype(dtype)
    y, weight = rng.randint(3, size=80), rng.randint(4, size=80)
    model = KernelStructuredPredictor(standardize="moments", max_iter=3)
    model.fit(X, y, sample_weight=weight)
    means, deviations = literal(X, weight.astype(float), True)
    Z = (X - means) / deviations
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(
        model.support_vectors_, Z[model.support_], rtol=tolerance, atol=tolerance
    )
