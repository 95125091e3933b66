"""Columns of sparse rows that are the same are one, and weights are those without merging."""

import numpy as np
import pytest
from scipy import sparse

from skstructured import ConditionalRandomField
from skstructured.estimators.crf._columns import MergedColumns


def repeated(rng, n=40, copies=(0, 1, 1, 2, 0, 3, 3, 3)):
    """Sparse columns, some more than once, and one that is empty."""
    few = sparse.random(n, 4, 0.4, "csc", random_state=rng)
    return sparse.hstack([few[:, list(copies)], sparse.csc_matrix((n, 1))]).tocsr()


def test_each_column_is_there_once_with_the_root_of_its_number(rng):
    X = repeated(rng)
    found = MergedColumns(X).matrix.toarray()
    dense = X.toarray()
    begin = [np.flatnonzero(np.append(column, 1.0))[0] for column in dense.T]
    places, counts = np.array([0, 1, 3, 5, 8]), np.array([2, 2, 1, 3, 1])
    order = np.argsort([begin[place] for place in places], kind="stable")  # of the first rows
    wanted = (dense[:, places] * np.sqrt(counts))[:, order]
    np.testing.assert_allclose(found, wanted, rtol=1e-15)


def test_columns_that_differ_stay_apart(rng):
    X = sparse.csr_matrix([[1.0, 2.0, 1.0, 0.0], [1.0, 1.0, 2.0, 1.0], [0.0, 0.0, 0.0, 3.0]])
    merged = MergedColumns(X)
    assert merged.matrix.shape == (3, 4)
    np.testing.assert_array_equal(merged.matrix.toarray(), X.toarray())
    some = sparse.random(300, 2000, 0.02, "csr", random_state=rng)
    assert MergedColumns(some).matrix.shape[1] == len(np.unique(some.toarray().T, axis=0))


def test_weights_are_joined_and_split(rng):
    X = repeated(rng)
    merged, weights = MergedColumns(X), rng.randn(5, 2)
    spread = merged.split(weights)
    np.testing.assert_allclose(X @ spread, merged.matrix @ weights, atol=1e-12)
    assert np.sum(spread**2) == pytest.approx(np.sum(weights**2))
    np.testing.assert_allclose(merged.join(spread), weights, atol=1e-12)


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
