"""A custom space of rounds of any lengths: dependency trees, by maximum spanning arborescences."""

import itertools
import math

import numpy as np
import pytest
from dependency_trees import DependencyTrees, simulate
from sklearn.base import clone

from skstructured.items import ItemStructuredPredictor
from skstructured.utils import check_space


def every_tree(m):
    """All trees over m words: heads that lead every word to a root."""
    for heads in itertools.product(range(m), repeat=m):
        reached = np.arange(m)
        for _ in range(m):
            reached = np.array(heads)[reached]
        if all(heads[root] == root for root in reached):
            yield heads


@pytest.mark.parametrize("m", [2, 3, 4, 5])
def test_the_oracle_finds_the_best_of_all_trees(m, rng):
    trees = np.array([*every_tree(m)])
    assert len(trees) == (m + 1) ** (m - 1)  # Cayley
    space = DependencyTrees().over(m * m)
    V, theta = (
        space.encode(trees),
        np.vstack([rng.randn(200, m * m), rng.randint(-2, 3, (99, m * m))]),
    )
    assert np.allclose((theta * space.argmax(theta)).sum(axis=1), (theta @ V.T).max(axis=1))
    assert (space.decode(V) == trees).all()


def test_the_space_is_sound():
    check_space(DependencyTrees(), np.array([*every_tree(3)]))


@pytest.mark.parametrize("heads", [[1, 0], [1, 2, 0], [0, 3]])
def test_heads_without_a_root_are_refused(heads):
    X = [np.ones((len(heads), len(heads), 2))]
    with pytest.raises(ValueError, match=r"heads \[.*\] are not a tree over"):
        ItemStructuredPredictor(DependencyTrees()).partial_fit(X, [heads])


def test_trees_of_sentences_of_any_length_are_learned_online():
    X, y = simulate(120, 1)
    learner = ItemStructuredPredictor(DependencyTrees(), random_state=0)
    for start in range(0, 90, 30):
        learner.partial_fit(X[start : start + 30], y[start : start + 30])
    at_once = clone(learner).partial_fit(X[:90], y[:90])
    assert np.array_equal(learner.coef_, at_once.coef_)
    predicted = learner.predict(X[90:])
    assert [len(heads) for heads in predicted] == [len(heads) for heads in y[90:]]
    right = np.concatenate(predicted) == np.concatenate(y[90:])
    assert right.mean() > 0.7 and learner.score(X[90:], y[90:]) > 0.7
    for heads in learner.sample(X[90:]):
        DependencyTrees().over(len(heads) ** 2).encode(heads[None])  # draws are trees, too
    for mean in learner.predict_proba(X[90:]):
        assert np.allclose(mean.reshape(math.isqrt(len(mean)), -1).sum(axis=1), 1.0)
    assert 0.0 < learner.certificate().bound(0.0, 1.0) < np.inf
