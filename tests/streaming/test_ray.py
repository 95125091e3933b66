"""Shards that Ray learns, where it is installed: it is too large for the `test` extra."""

import numpy as np
import pytest
from sklearn.base import clone

from skstructured import OnlineStructuredPredictor, average_fitted
from skstructured.streaming import fit_chunks

ray = pytest.importorskip("ray")

pytestmark = pytest.mark.exhaustive


@pytest.fixture(scope="module")
def cluster():
    ray.init(num_cpus=1, include_dashboard=False, object_store_memory=100 * 2**20)
    yield
    ray.shutdown()


def test_shards(cluster, rng):
    X = rng.randn(200, 3)
    y, model = (X[:, 0] > 0).astype(int), OnlineStructuredPredictor(random_state=0)
    data = [(X[i::2], y[i::2]) for i in range(2)]
    learn = ray.remote(fit_chunks)
    found = ray.get([learn.remote(clone(model), [part], [0, 1]) for part in data])
    alone = [fit_chunks(clone(model), [part], [0, 1]) for part in data]
    np.testing.assert_array_equal(average_fitted(found).coef_, average_fitted(alone).coef_)


def test_errors_of_workers_come_back(cluster, rng):
    X, learn = rng.randn(20, 3), ray.remote(fit_chunks)
    model = OnlineStructuredPredictor(random_state=0)
    with pytest.raises(ValueError, match="labels that are not among the classes: 2"):
        ray.get(learn.remote(model, [(X, np.full(20, 2))], [0, 1]))
