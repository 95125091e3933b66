"""On a dask cluster of two processes, and row by row behind river's adapters, as in one process."""

import numpy as np
import pytest
from conftest import INTERPRETED
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator

from skstructured import (
    GaptronClassifier,
    OnlineStructuredPredictor,
    PiSTOLRegressor,
    StructuredPredictor,
    average_fitted,
)
from skstructured.streaming import array_chunks, fit_chunks

dask = pytest.importorskip("dask")
array = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
wrappers = pytest.importorskip("dask_ml.wrappers")

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.skipif(INTERPRETED, reason="what travels is the same; workers are slow"),
]

N, SIZE, CLASSES = 400, 90, [0, 1, 2]
_rng = np.random.RandomState(0)
X = _rng.randn(N, 5)
Y = np.argmax(X @ _rng.randn(5, 3) + _rng.randn(N, 3), axis=1)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dask")
    given = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    given |= {"dashboard_address": ":0", "scheduler_port": 0, "local_directory": folder}
    with distributed.LocalCluster(**given) as cluster, distributed.Client(cluster) as client:
        yield client


def blocks(X=X, size=SIZE):
    return array.from_array(X, chunks=(size, *X.shape[1:]))


def assert_same(model, other):
    assert model.t_ == other.t_
    np.testing.assert_array_equal(model.coef_, other.coef_)
    np.testing.assert_array_equal(model.last_weights_, other.last_weights_)


LEARNERS = {
    "default": OnlineStructuredPredictor(random_state=0),
    "plain": OnlineStructuredPredictor(optimizer="ogd", average=False, standardize=False),
    "gaptron": GaptronClassifier("logistic", random_state=0),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_incremental_learns_the_blocks_in_order(name, client):
    model = wrappers.Incremental(clone(LEARNERS[name]), shuffle_blocks=False)
    model.fit(blocks(), blocks(Y), classes=CLASSES)
    alone = clone(LEARNERS[name]).partial_fit(X, Y, classes=CLASSES)
    assert_same(model.estimator_, alone)
    np.testing.assert_array_equal(model.predict(blocks()).compute(), alone.predict(X))
    np.testing.assert_array_equal(model.predict_proba(blocks()).compute(), alone.predict_proba(X))
    model.partial_fit(blocks(), blocks(Y))
    assert_same(model.estimator_, alone.partial_fit(X, Y))


def test_sparse_blocks(client):
    thin = np.where(np.abs(X) > 0.7, X, 0.0)
    rows, model = sparse.csr_matrix(thin), OnlineStructuredPredictor(random_state=0)
    alone = clone(model).partial_fit(rows, Y, classes=CLASSES)
    stored = blocks(thin).map_blocks(sparse.csr_matrix)
    assert sparse.issparse(stored.blocks[0].compute())
    found = wrappers.Incremental(clone(model), shuffle_blocks=False)
    assert_same(found.fit(stored, blocks(Y), classes=CLASSES).estimator_, alone)
    assert found.estimator_.model_.scale.kind == "sparse"
    parts = [dask.delayed(part) for part in array_chunks(rows, Y, SIZE)]
    assert_same(fit_chunks(clone(model), (part.compute() for part in parts), CLASSES), alone)


def test_shards_on_workers(client):
    model, places = OnlineStructuredPredictor(random_state=0), np.arange(N) % 4
    data = [(X[places == i], Y[places == i]) for i in range(4)]
    alone = [fit_chunks(clone(model), [part], CLASSES) for part in data]
    sent = [client.submit(fit_chunks, clone(model), [part], CLASSES) for part in data]
    mean = average_fitted(client.gather(sent))
    wanted = average_fitted(alone)
    np.testing.assert_array_equal(mean.coef_, wanted.coef_)
    np.testing.assert_array_equal(mean.predict_proba(X), wanted.predict_proba(X))
    there = client.submit(average_fitted, sent).result()  # and only the mean comes back
    np.testing.assert_array_equal(there.coef_, mean.coef_)
    assert there.t_ == N


def mixture_of(models, X_held, y_held):
    """Fitted models of partitions, weighted by rows that none of them has learned."""
    named = [(f"partition {i}", FrozenEstimator(model)) for i, model in enumerate(models)]
    return StructuredPredictor(estimators=named).fit(np.vstack(X_held), np.concatenate(y_held))


def fitted_to_most(X, y):
    """A mixture that learns a partition but for 40 rows, and these."""
    return StructuredPredictor(random_state=0).fit(X[40:], y[40:]), X[:40], y[:40]


def test_a_mixture_of_partitions(client):
    """Fitted where the partitions are, weighted by held-out rows, and asked by blocks."""
    parts = [(X[i::3], Y[i::3]) for i in range(3)]
    sent = [client.submit(fitted_to_most, *part) for part in parts]
    model = mixture_of(*zip(*client.gather(sent), strict=True))
    alone = mixture_of(*zip(*(fitted_to_most(*part) for part in parts), strict=True))
    np.testing.assert_allclose(model.weights_, alone.weights_, rtol=1e-6)
    assert np.count_nonzero(model.weights_) > 1
    proba = blocks().map_blocks(model.predict_proba, chunks=(SIZE, 3), dtype=float).compute()
    np.testing.assert_allclose(proba, alone.predict_proba(X), atol=1e-6)


def test_errors_of_workers_come_back(client):
    model = OnlineStructuredPredictor(random_state=0)
    far = client.submit(fit_chunks, model, [(X, Y + 1)], CLASSES)
    with pytest.raises(ValueError, match="labels that are not among the classes: 3"):
        far.result()
    holes = np.where(np.arange(5) == 2, np.inf, X)
    with pytest.raises(ValueError, match="contains infinity"):
        client.submit(fit_chunks, model, [(holes, Y)], CLASSES).result()
    with pytest.raises(NotFittedError, match=r"estimators\[0\] is not fitted"):
        client.submit(average_fitted, [model]).result()
    mean = average_fitted([clone(model).fit(X, Y)])
    with pytest.raises(RuntimeError, match="average them again"):
        client.submit(fit_chunks, mean, [(X, Y)]).result()


NUMBERS = X[:40] @ np.arange(5.0)
#: A learner, its outputs, its classes, and what river's and its own methods say of rows.
BY_DICTS = {
    "labels": (LEARNERS["default"], Y[:40], CLASSES, "predict_proba_one", "predict_proba"),
    "numbers": (PiSTOLRegressor(random_state=0), NUMBERS, None, "predict_one", "predict"),
}


@pytest.mark.parametrize("kind", BY_DICTS)
def test_rows_one_by_one_are_rows(kind):
    compat = pytest.importorskip("river.compat", reason="river is not installed")
    (model, y, classes, one, every), told = BY_DICTS[kind], {}
    make = compat.SKL2RiverClassifier if classes else compat.SKL2RiverRegressor
    by_dicts = make(clone(model), *([classes] if classes else []))
    rows = [dict(zip("abcde", row, strict=True)) for row in X[:40].tolist()]
    for row, output in zip(rows, y.tolist(), strict=True):
        by_dicts.learn_one(row, output)
    found = [getattr(by_dicts, one)(row) for row in rows]
    if classes:
        found, told = [[answer[k] for k in classes] for answer in found], {"classes": classes}
    alone = clone(model).partial_fit(X[:40], y, **told)
    np.testing.assert_allclose(found, getattr(alone, every)(X[:40]), rtol=1e-12)
