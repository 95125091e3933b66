"""Running means and deviations, and rows in units of them, against exact fractions."""

import numpy as np
import pytest
from naive.standardize import root, standardized
from odd_rows import ERRORS, N, odd_rows
from scipy import sparse

from skstructured._engine.rows import Rows
from skstructured._engine.standardize import RunningScale
from skstructured._engine.state import at_once


def odd_weights(kind, rng, n=N):
    if kind == "extreme":
        return 10.0 ** rng.choice([-20.0, 0.0, 20.0], size=n)
    return np.ones(n) if kind == "ones" else rng.randint(4, size=n) * 10.0 ** rng.randint(-3, 3, n)


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("weights", ["ones", "mixed"])
@pytest.mark.parametrize("kind", ERRORS)
def test_rows_are_standardised_as_defined(kind, weights, centred, rng):
    X, weight, n = odd_rows(kind, rng), odd_weights(weights, rng), min(N, 120)
    scale = RunningScale(X.shape[1], centred, True)
    Z = scale.apply(Rows.from_array(X[:n]), weight=weight[:n])[0].matrix
    wanted, known = standardized(X[:n], weight[:n], centred)
    np.testing.assert_allclose(Z, wanted, rtol=ERRORS[kind], atol=ERRORS[kind])
    for found, (_, variance) in zip(scale.statistics[1], known, strict=True):
        assert found == pytest.approx(root(variance), rel=ERRORS[kind] / 100, abs=0.0)


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("missing", [0.1, 0.9])
@pytest.mark.parametrize("kind", ERRORS)
def test_rows_that_lack_features_are_standardised_as_defined(kind, missing, centred, rng):
    """Means and deviations are those of the rows that have a feature; the last column has none."""
    X, weight, n = odd_rows(kind, rng), odd_weights("mixed", rng), min(N, 120)
    X = np.where(rng.rand(*X.shape) < missing, np.nan, X)
    X[:, -1] = np.nan
    scale = RunningScale(X.shape[1], centred, True)
    Z = scale.apply(Rows.from_array(X[:n]), weight=weight[:n])[0].matrix
    wanted, known = standardized(X[:n], weight[:n], centred)
    tolerance = 100 * ERRORS[kind]
    np.testing.assert_allclose(Z, wanted, rtol=tolerance, atol=tolerance)
    assert not Z[np.isnan(X[:n])].any() and not scale.statistics[:3, -1].any()
    for found, (_, variance) in zip(scale.statistics[1], known, strict=True):
        assert found == pytest.approx(root(variance), rel=tolerance, abs=0.0)
    done = scale.completed(Rows.from_array(X)).matrix
    np.testing.assert_array_equal(done[~np.isnan(X)], X[~np.isnan(X)])
    np.testing.assert_array_equal(
        done[np.isnan(X)], (0.0 * done + scale.statistics[0])[np.isnan(X)]
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("centred", [True, False])
def test_indicators_stand_behind_the_features(centred, dtype, rng):
    """1 where a row lacks the feature, as given; rows of weight 0 are 0 altogether."""
    X, weight = odd_rows("plain", rng, 40), odd_weights("mixed", rng, 40)
    X = np.where(rng.rand(*X.shape) < 0.3, np.nan, X).astype(dtype)
    p = X.shape[1]
    scale, plain = (RunningScale(p, centred, True, dtype, given) for given in (True, False))
    given = (Rows.from_array(X), np.arange(40), weight, True)
    ready, places, count, undo, before = scale.counted(*given)
    alone, first = plain.counted(*given)[::4]
    assert not scale.statistics.any()
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
    for of in ("transformed", "completed"):
        wide, narrow = (getattr(one, of)(Rows.from_array(X)).matrix for one in (scale, plain))
        np.testing.assert_array_equal(wide, np.hstack([narrow, gaps]))
    W = rng.randn(3, 2 * p + 1)
    folded, own = scale.fold(W), plain.fold(W[:, [*range(p), 2 * p]])
    np.testing.assert_array_equal(folded[:, [*range(p), 2 * p]], own)
    np.testing.assert_array_equal(folded[:, p : 2 * p], W[:, p : 2 * p])
    at_once(undo)
    assert not scale.statistics.any()
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


def test_rows_without_weight_are_none(rng):
    X, weight = odd_rows("plain", rng), odd_weights("mixed", rng)
    kept = weight > 0
    scales = [RunningScale(4, True, True) for _ in range(2)]
    Z = scales[0].apply(Rows.from_array(X), weight=weight)[0].matrix
    fewer = scales[1].apply(Rows.from_array(X[kept]), weight=weight[kept])[0].matrix
    np.testing.assert_array_equal(Z[kept], fewer)
    assert not kept.all() and (Z[~kept] == 0.0).all()
    np.testing.assert_array_equal(scales[0].statistics, scales[1].statistics)


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
    Z = scale.anew().apply(Rows.from_array(X), weight=weight)[0].matrix
    wanted = standardized(X, weight, True)[0]
    for t in range(10):
        mean = np.average(X[: t + 1], axis=0, weights=weight[: t + 1])
        unit = wanted[t] if divided else X[t] - mean
        np.testing.assert_allclose(Z[t], unit, rtol=1e-10, atol=1e-10)
