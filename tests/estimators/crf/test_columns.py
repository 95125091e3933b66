"""Columns of sparse rows that are the same are one, and weights are those of all columns."""

import numpy as np
import pytest
from scipy import sparse

from skstructured import ConditionalRandomField
from skstructured.estimators.crf._objective import MergedColumns


def repeated(rng, n=40, copies=(0, 1, 1, 2, 0, 3, 3, 3)):
    """Sparse columns, some more than once, and one that is empty."""
    few = sparse.random(n, 4, 0.4, "csc", random_state=rng)
    return sparse.hstack([few[:, list(copies)], sparse.csc_matrix((n, 1))]).tocsr()


def test_each_column_is_there_once_and_rare_ones_are_larger(rng):
    X, weight, alpha = repeated(rng), rng.rand(40), 0.02
    merged, dense = MergedColumns(X, weight, alpha), X.toarray()
    begin = [np.flatnonzero(np.append(column, 1.0))[0] for column in dense.T]
    places, counts = np.array([0, 1, 3, 5, 8]), np.array([2, 2, 1, 3, 1])
    order = np.argsort([begin[place] for place in places], kind="stable")  # of the first rows
    for j, (place, c) in enumerate(zip(places[order], counts[order], strict=True)):
        curved = alpha + MergedColumns.curvature * sum(weight * (np.sqrt(c) * dense[:, place]) ** 2)
        f = np.sqrt(c) * (curved / (alpha + MergedColumns.curvature * sum(weight))) ** 0.25
        np.testing.assert_allclose(merged.matrix.toarray()[:, j], dense[:, place] * c / f)
        found = merged.factors[j, 0], merged.l2[j, 0], merged.l1[j, 0]
        np.testing.assert_allclose(found, (f, c / f**2, c / f))


def test_columns_that_differ_stay_apart(rng):
    X = sparse.csr_matrix([[1.0, 2.0, 1.0, 0.0], [1.0, 1.0, 2.0, 1.0], [0.0, 0.0, 0.0, 3.0]])
    merged = MergedColumns(X, np.ones(3), 1.0)
    np.testing.assert_allclose(merged.matrix.toarray() * merged.factors.T, X.toarray())
    some = sparse.random(300, 2000, 0.02, "csr", random_state=rng)
    found = MergedColumns(some, np.ones(300), 1.0).matrix.shape[1]
    assert found == len(np.unique(some.toarray().T, axis=0))


def test_columns_of_short_numbers_stay_apart():
    # 1 and ½, and ½ and 1, in each pair of 150 rows
    i, j = np.triu_indices(150, 1)
    rows, at = np.stack([i, j, i, j]).T.ravel(), np.repeat(np.arange(2 * len(i)), 2)
    X = sparse.csr_matrix((np.tile([1.0, 0.5, 0.5, 1.0], len(i)), (rows, at)))
    assert MergedColumns(X, np.ones(150), 1.0).matrix.shape[1] == 2 * len(i)


def colliding_column(x, rows, n_rows):
    """Another column whose entries have the same sum of random bits as those of `x`."""
    bits = np.random.RandomState(0).randint(1, 1 << 62, size=n_rows)
    first, second = (int(bits[row]) for row in rows)
    folded = [int(v) ^ (int(v) >> 32) for v in np.array(x).view(np.uint64)]
    for trial in np.arange(2.0, 500.0).view(np.uint64):
        change = first * (folded[0] - (int(trial) ^ (int(trial) >> 32)))
        w = (folded[1] + change * pow(second, -1, 2**64)) % 2**64
        other = np.array([trial, w ^ (w >> 32)], dtype=np.uint64).view(np.float64)
        if 1e-9 < abs(other[1]) < 1e9:
            return other
    raise AssertionError


def test_columns_with_the_same_bits_are_compared():
    rows = np.flatnonzero(np.random.RandomState(0).randint(1, 1 << 62, size=50) % 2)[:2]
    X, x = np.zeros((50, 4)), np.array([1.0, 0.5])
    X[rows, 1] = X[rows, 3] = x
    X[rows, 0] = X[rows, 2] = colliding_column(x, rows, 50)
    merged = MergedColumns(sparse.csr_matrix(X), np.ones(50), 1.0)
    weights = np.random.RandomState(1).randn(merged.matrix.shape[1], 2)
    np.testing.assert_allclose(X @ merged.split(weights), merged.matrix @ weights)
    assert 2 <= merged.matrix.shape[1] <= 3  # of those that collide, only the first ones merge


def test_weights_are_joined_and_split(rng):
    X = repeated(rng)
    merged, weights = MergedColumns(X, rng.rand(40), 0.02), rng.randn(5, 2)
    spread = merged.split(weights)
    np.testing.assert_allclose(X @ spread, merged.matrix @ weights, atol=1e-12)
    assert np.sum(spread**2) == pytest.approx(np.sum(merged.l2 * weights**2))
    assert np.sum(np.abs(spread)) == pytest.approx(np.sum(merged.l1 * np.abs(weights)))
    np.testing.assert_allclose(merged.join(spread), weights, atol=1e-12)


def test_larger_rare_columns_take_fewer_iterations(rng):
    # words by the law of Zipf, some in every third row and most in one or two
    p = 1.0 / np.arange(1, 401)
    X = sparse.csr_matrix(rng.random_sample((300, 400)) < 0.3 * p, dtype=float)
    y = (X @ rng.randn(400, 3) + rng.randn(300, 3)).argmax(axis=1)
    given = {"space": "simplex", "alpha": 1e-4, "standardize": False}
    found = [ConditionalRandomField(**given).fit(rows, y).n_iter_ for rows in (X, X.toarray())]
    assert found[0] < 0.6 * found[1], found


@pytest.mark.filterwarnings("ignore:ConditionalRandomField stopped")
@pytest.mark.parametrize("l1_ratio", [0.0, 0.4])
def test_the_gap_is_that_of_all_columns(l1_ratio, rng):
    X, y, weight = repeated(rng), rng.randint(3, size=40), rng.rand(40) + 0.1
    given = {"alpha": 0.05, "l1_ratio": l1_ratio, "max_iter": 3, "fit_intercept": False}
    field = ConditionalRandomField("simplex", standardize=False, **given)
    W = field.fit(X, y, sample_weight=weight).coef_.T
    shares = np.exp(X @ W) / np.exp(X @ W).sum(axis=1, keepdims=True)
    u = X.T @ ((shares - np.eye(3)[y]) * (weight / weight.sum())[:, None])
    l1, ridge = 0.05 * l1_ratio, 0.05 * (1.0 - l1_ratio)
    penalty = l1 * np.abs(W).sum() + 0.5 * ridge * np.sum(W**2)
    dual = np.sum(np.maximum(np.abs(u) - l1, 0.0) ** 2) / (2.0 * ridge)
    assert field.duality_gap_ == pytest.approx(np.sum(W * u) + penalty + dual)


@pytest.mark.parametrize("l1_ratio", [0.0, 0.4])
def test_fields_of_merged_columns_are_the_same(l1_ratio, rng):
    X, y = repeated(rng), rng.randint(3, size=40)
    given = {"alpha": 0.05, "l1_ratio": l1_ratio, "tol": 1e-9, "standardize": False}
    sparse_rows = [X[i : i + 4] for i in range(0, 40, 4)]
    labels = np.split(y, range(4, 40, 4))
    merged = ConditionalRandomField(**given).fit(sparse_rows, labels)
    dense = ConditionalRandomField(**given).fit([x.toarray() for x in sparse_rows], labels)
    np.testing.assert_allclose(merged.coef_, dense.coef_, atol=1e-4)
    np.testing.assert_allclose(merged.transitions_, dense.transitions_, atol=1e-4)
    again = merged.set_params(warm_start=True).fit(sparse_rows, labels)
    assert again.n_iter_ <= 2
    np.testing.assert_allclose(again.coef_, dense.coef_, atol=1e-4)
    assert np.mean(dense.coef_ == 0.0) == np.mean(merged.coef_ == 0.0) > (0.2 if l1_ratio else 0.1)
