"""Forests as arrays predict what the trees of scikit-learn predict, and take little room."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

from skstructured.estimators._forest import Forest, rounded_down

ROWS = np.random.RandomState(0).randn(300, 5)


def rows_of(rng, kind, n=300):
    """Rows of 32 bits: all different, with ties and values next to each other, or with gaps."""
    X = rng.randn(n, 5)
    if kind == "next to each other":
        X[:, 0] = 1.0 + rng.randint(4, size=n) * 2.0**-23
        X[:, 1:] = rng.randint(3, size=(n, 4)) / 10.0
    if kind == "missing":
        X[rng.rand(n, 5) < 0.3] = np.nan
    return X.astype(np.float32)


@pytest.mark.parametrize("dim", [1, 3])
@pytest.mark.parametrize("kind", ["different", "next to each other", "missing"])
@pytest.mark.parametrize("ensemble", [ExtraTreesRegressor, RandomForestRegressor])
def test_each_tree_predicts_as_it_did(ensemble, kind, dim, rng):
    X, V = rows_of(rng, kind), rng.randn(300, dim)
    trees = ensemble(5, random_state=0).fit(X, V[:, 0] if dim == 1 else V, rng.rand(300))
    forest, Z = Forest.of(trees), np.vstack([X, rows_of(rng, kind), rows_of(rng, "missing")])
    for tree, means in zip(trees.estimators_, forest.predictions(Z), strict=True):
        truth = tree.predict(Z).reshape(-1, dim).astype(np.float32)
        np.testing.assert_array_equal(means, truth)


def test_trees_of_a_single_leaf(rng):
    trees = RandomForestRegressor(2, random_state=0).fit(ROWS, np.ones(300))
    forest = Forest.of(trees)
    assert forest.nodes.shape == (0, 3)
    for means in forest.predictions(ROWS.astype(np.float32)):
        np.testing.assert_array_equal(means, np.ones((300, 1)))


def test_sparse_rows_are_the_same_rows():
    X = np.maximum(ROWS, 0.0).astype(np.float32)
    forest = Forest.of(ExtraTreesRegressor(3, random_state=0).fit(X, ROWS[:, 0]))
    pairs = zip(forest.predictions(X), forest.predictions(sparse.csr_matrix(X)), strict=True)
    assert all(np.array_equal(means, others) for means, others in pairs)


def test_no_number_lies_between_a_threshold_and_its_rounding(rng):
    numbers = np.r_[rng.randn(50), 1e-300, -1e-300, 0.0, 1.0 + 2.0**-24, -1.0 - 2.0**-24]
    for threshold, rounded in zip(numbers, rounded_down(numbers), strict=True):
        assert np.float64(rounded) <= threshold
        assert np.float64(np.nextafter(rounded, np.float32(np.inf))) > threshold


def test_a_leaf_takes_16_bytes_and_shares_its_mean(rng):
    X, y = rng.randn(2000, 10).astype(np.float32), rng.randn(2000)
    trees = ExtraTreesRegressor(20, random_state=0).fit(X, y)
    leaves = sum(tree.get_n_leaves() for tree in trees.estimators_)
    assert leaves == 40_000
    assert len(pickle.dumps(Forest.of(trees))) < 16 * leaves + 8 * len(y)
    labels = (X[:, :3] > 0.0).astype(float)
    assert len(Forest.of(ExtraTreesRegressor(20, random_state=0).fit(X, labels)).means) == 8
