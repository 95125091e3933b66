"""Cells in the range of their columns, of all rows at once and as they arrive, by definition."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive import robust_columns as naive
from scipy import sparse

from skstructured import KernelStructuredPredictor, OnlineStructuredPredictor, StructuralSVM
from skstructured._engine.moments import Statistic
from skstructured._engine.robust_columns import RobustColumns
from skstructured._engine.rows import Rows
from skstructured._engine.standardize import RunningScale
from skstructured._engine.state import at_once
from skstructured.optimizers import GradientDescent


def columns_of(rng, n):
    """A normal, a skewed, a two-valued, a constant, a rarely changing column, and wrong cells."""
    X = rng.randn(n, 6)
    X[:, 1] = np.round(np.exp(3.0 * X[:, 1]), 1)  # with ties
    X[:, 2] = X[:, 2] > 1.5
    X[:, 3] = 7.0
    X[:, 4] = np.where(rng.rand(n) < 0.2, np.exp(X[:, 4]), 0.0)
    X[rng.rand(n) < 0.02, 5] = 1e6
    return X


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("weights", ["ones", "whole"])
def test_edges_and_quantiles_are_those_of_repeated_rows(weights, missing, rng):
    X = columns_of(rng, 300)
    X[rng.rand(*X.shape) < missing] = np.nan
    weight = np.ones(300) if weights == "ones" else rng.randint(3, size=300).astype(float)
    tolerance = 1e-9
    columns = RobustColumns.of(X, weight)
    new = np.vstack([columns_of(rng, 50), np.full(6, -1e9), np.full(6, 1e9), np.full(6, np.nan)])
    Z = columns.transform(new)
    for j in range(6):
        low, high, is_heavy = naive.edges(X[:, j], weight)
        assert (j in columns.heavy) == is_heavy == (j == 1)
        assert columns.low[j] == pytest.approx(low, rel=tolerance, abs=tolerance)
        assert columns.high[j] == pytest.approx(high, rel=tolerance, abs=tolerance)
        wanted = np.clip(new[:, j], columns.low[j], columns.high[j])
        if is_heavy:
            wanted = naive.normal_quantiles(new[:, j], naive.repeated(X[:, j], weight))
        np.testing.assert_allclose(Z[:, j], wanted, atol=tolerance)
    assert np.isnan(Z[-1]).all() and not np.isnan(Z[:-1]).any()


def test_numbers_of_any_kind_stay_in_the_range_that_was_learned(rng):
    """Dates later than all training dates, and two values: neither are moved."""
    X = columns_of(rng, 200)
    columns = RobustColumns.of(X, np.ones(200))
    Z = columns.transform(X)
    np.testing.assert_array_equal(Z[:, 2:4], X[:, 2:4])
    assert np.abs(Z[:, 5]).max() < 10.0
    assert (columns.transform(np.full((1, 6), 1e12))[0, [0, 2, 3]] == X[:, [0, 2, 3]].max(0)).all()
    none = RobustColumns.of(np.full((3, 1), np.nan), np.ones(3))
    assert none.transform(np.array([[5.0]]))[0, 0] == 0.0
    single = columns.transform(X.astype(np.float32))
    assert single.dtype == np.float32


def test_entries_of_sparse_rows_keep_to_their_sizes(rng):
    X = rng.randn(400, 4) * (rng.rand(400, 4) < 0.2)
    X[:, 1] = X[:, 1] != 0.0
    X[:, 2] = 0.0
    wrong = np.flatnonzero(X[:, 3])[0]
    X[wrong, 3] = 1e6
    weight = np.ones(400)
    columns = RobustColumns.of(sparse.csr_matrix(X), weight)
    sizes = np.abs(X[X[:, 3] != 0.0, 3])
    assert columns.high[3] == pytest.approx(
        5.0 * np.quantile(sizes, 0.75, method="averaged_inverted_cdf")
    )
    assert (columns.low[1], columns.high[1], columns.low[2], columns.high[2]) == (
        0.0,
        1.0,
        0.0,
        0.0,
    )
    Z = columns.transform(sparse.csr_matrix(X)).toarray()
    X[wrong, 3] = columns.high[3]
    np.testing.assert_array_equal(Z, X)


@pytest.mark.parametrize("weights", ["ones", "lognormal"])
@pytest.mark.parametrize("forgets", [True, False])
@pytest.mark.parametrize("centered", [True, False])
def test_streams_are_as_defined(centered, forgets, weights, rng):
    X = columns_of(rng, 400)
    X[200:, 0] += 4.0
    weight = np.ones(400) if weights == "ones" else np.exp(rng.randn(400))
    scale = RunningScale(6, centered, True, robust=True, forgets=forgets)
    Z = scale.apply(Rows.from_array(X), weight=weight)[0].matrix
    wanted = naive.stream(X, weight, centered, RunningScale.usual_growth * forgets)
    np.testing.assert_allclose(Z, wanted, rtol=1e-7, atol=1e-9)
    low, high = scale.statistics[[Statistic.LOW, Statistic.HIGH]]
    new = np.vstack([X, np.full(6, 1e9), np.full(6, -1e9)])
    in_range = scale.imputed(Rows.from_array(new)).matrix
    np.testing.assert_array_equal(in_range, np.clip(new, low, high))
    W = rng.randn(2, 7)
    theta = scale.transformed_matrix(Rows.from_array(new)) @ W[:, :6].T + W[:, 6]
    folded = scale.fold(W)
    linear = in_range @ folded[:, :6].T + folded[:, 6]
    np.testing.assert_allclose(linear, theta, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("ahead", [True, False])
def test_streams_of_sparse_rows_are_as_defined(ahead, rng):
    X = np.exp(rng.randn(600, 4)) * (rng.rand(600, 4) < 0.3)
    X[0] *= 1e6
    X[rng.rand(600) < 0.02, 1] *= -1e4
    X[:, 2] = X[:, 2] > 0.0
    weight = rng.randint(3, size=600) / 2.0
    scale, one_by_one = (RunningScale(4, True, True, robust=True) for _ in range(2))
    rows = Rows.from_array(sparse.csr_matrix(X))
    wanted = naive.sparse_stream(X, weight)
    for part in (np.arange(70), np.arange(70, 600)):
        state = scale.statistics[: Statistic.KEPT].copy()
        counted = scale.counted(rows, part, weight[part], ahead)
        np.testing.assert_array_equal(scale.statistics, state)
        for i in part if ahead else ():  # as predictions are, each before its row is counted
            row = rows.taken(slice(i, i + 1))
            before = one_by_one.transformed(row).data
            np.testing.assert_array_equal(counted.prior_data[: len(before)], before)
            counted = counted._replace(prior_data=counted.prior_data[len(before) :])
            one_by_one.apply(row, weight=weight[i : i + 1])
        at_once(counted.commit)
        Z = counted.rows.matrix.toarray()
        np.testing.assert_allclose(Z, wanted[part], rtol=1e-12, atol=1e-12)
    new = sparse.csr_matrix(np.vstack([1e9 * X[:5], X]))
    Z, in_range = (
        scale.transformed_matrix(Rows.from_array(new)),
        scale.imputed(Rows.from_array(new)),
    )
    assert np.abs(Z.data).max() == 1.0
    assert np.median(np.abs(Z.data)) > 0.1  # the first row is forgotten
    W = rng.randn(2, 4)
    np.testing.assert_allclose(Z @ W.T, in_range.matrix @ scale.fold(W).T, rtol=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 119), max_size=6), st.floats(0.0, 0.3), st.integers(0, 9))
def test_chunks_of_any_size_and_gaps_are_one_pass(cuts, missing, seed):
    rng = np.random.RandomState(seed)
    X, weight = columns_of(rng, 120), rng.randint(3, size=120).astype(float)
    X[rng.rand(*X.shape) < missing] = np.nan
    whole, parts = (RunningScale(6, True, True, robust=True, forgets=True) for _ in range(2))
    Z = whole.apply(Rows.from_array(X), weight=weight)[0].matrix
    for rows in np.split(np.arange(120), sorted(cuts)):
        if len(rows):
            part = parts.apply(Rows.from_array(X[rows]), weight=weight[rows])[0].matrix
            np.testing.assert_array_equal(part, Z[rows])
    np.testing.assert_array_equal(
        whole.statistics[: Statistic.KEPT], parts.statistics[: Statistic.KEPT]
    )


@pytest.mark.parametrize("row", [0, 1, 10, 31, 32, 500])
def test_one_wrong_row_spoils_nothing(row, rng):
    X = rng.randn(3000, 3) + 5.0
    wrong = X.copy()
    wrong[row] *= 1e6
    scales = []
    for A in (X, wrong):
        scales.append(RunningScale(3, True, True, robust=True, forgets=True))
        scales[-1].apply(Rows.from_array(A))
    np.testing.assert_allclose(scales[1].statistics[:2], scales[0].statistics[:2], atol=0.02)


def test_a_column_that_moves_is_followed(rng):
    X = rng.randn(4000, 1)
    X[2000:] += 20.0
    scale = RunningScale(1, True, True, robust=True, forgets=True)
    scale.apply(Rows.from_array(X))
    assert scale.statistics[0, 0] > 16.0  # the mean is 10


def test_scales_of_before_are_read(rng):
    """Saved objects without edges go on as they were."""
    X, plain = rng.randn(50, 3), RunningScale(3, True, True)
    plain.apply(Rows.from_array(X))
    state = vars(plain) | {"statistics": plain.statistics[:7], "counts": plain.counts[:2]}
    old = object.__new__(RunningScale)
    old.__setstate__(state)
    for scale in (plain, old):
        scale.apply(Rows.from_array(1e3 * X))
    np.testing.assert_array_equal(old.statistics, plain.statistics)


def test_a_row_that_stops_leaves_no_trace():
    """Also among the first rows, which are kept."""
    X, y = np.random.RandomState(0).randn(5, 2), [0, 1, 0, 1, 0]
    huge = OnlineStructuredPredictor(optimizer=GradientDescent(eta=5e306), average=False)
    huge.partial_fit(X, y, classes=[0, 1])
    for i in range(20):
        before = pickle.dumps(huge.model_.scale)
        try:
            huge.partial_fit(X[i % 5][None], [i % 2])
        except ValueError:
            break
    else:
        pytest.fail("no row stops the learner")
    assert pickle.dumps(huge.model_.scale) == before


def test_fits_of_kernels_have_normal_quantiles(rng):
    X, new = columns_of(rng, 300), columns_of(rng, 40)
    new[0], new[1] = 1e9, -1e9
    scale = RunningScale(6, True, True, robust=True)
    scale.count_all(Rows.from_array(X), np.ones(300), quantiles=True)
    Z = naive.in_range(X, X)
    unit = np.where(Z.std(axis=0) > 0.0, Z.std(axis=0), np.inf)
    wanted = (naive.in_range(X, new) - Z.mean(axis=0)) / unit
    found = scale.transformed_matrix(Rows.from_array(new))
    np.testing.assert_allclose(found, wanted, atol=1e-9)
    assert scale.ranges.heavy.tolist() == [False, True] + [False] * 4
    later = scale.apply(Rows.from_array(new))[0].matrix
    np.testing.assert_allclose(later[:3, 1], wanted[:3, 1], atol=0.1)  # means go on


@pytest.mark.parametrize("first", [np.asarray, sparse.csr_matrix])
def test_dense_and_sparse_rows_are_put_in_range_alike(first, rng):
    X = rng.randn(100, 3) * (rng.rand(100, 3) < 0.9) + 5.0 * (first is np.asarray)
    scale = RunningScale(3, True, True, robust=True)
    scale.apply(Rows.from_array(first(X)))
    new = np.vstack([X[:5], 1e6 * X[:5], np.zeros((1, 3))])
    rows = [Rows.from_array(new), Rows.from_array(sparse.csr_matrix(new))]
    dense, csr = (scale.transformed_matrix(part) for part in rows)
    wanted = dense.toarray() if hasattr(dense, "toarray") else dense
    np.testing.assert_array_equal(csr.toarray() if hasattr(csr, "toarray") else csr, wanted)
    W = rng.randn(2, 4)
    for part in rows:
        X_ = scale.imputed(part).matrix
        theta = np.asarray(X_ @ scale.fold(W)[:, :3].T) + scale.fold(W)[:, 3]
        np.testing.assert_allclose(theta, wanted @ W[:, :3].T + W[:, 3], atol=1e-9)


def test_estimators_that_do_not_standardize_have_no_ranges(rng):
    X, y = rng.randn(30, 2), np.arange(30) % 2
    for model in (
        OnlineStructuredPredictor(standardize=False).fit(X, y),
        StructuralSVM(kernel="precomputed", alpha=1.0).fit(X @ X.T, y),
        KernelStructuredPredictor(kernel="precomputed").fit(X @ X.T, y),
    ):
        assert not hasattr(model, "feature_ranges_")
