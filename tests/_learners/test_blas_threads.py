"""Passes with small products have one thread of BLAS, whose number is restored after them."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from skstructured import KernelStructuredPredictor, PiSTOLRegressor, StructuredPredictor
from skstructured._learners.lock import one_blas_thread
from skstructured.estimators.kernel._expansion import KeptKernels
from skstructured.estimators.kernel._features import FourierMap
from skstructured.estimators.mixture._minimizer import LossMinimizer


def threads():
    """The largest number of threads of a BLAS of this process."""
    return max(one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas")


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(limits=2, user_api="blas"):
        if threads() < 2:
            pytest.skip("this BLAS has one thread")
        yield
        assert threads() == 2


def noted(product, found):
    """The same product, which notes how many threads there are."""

    def counted(*given):
        found.append(threads())
        return product(*given)

    return counted


@pytest.fixture
def seen(monkeypatch):
    """Numbers of threads of each product."""
    found = []
    for kind, name in ((FourierMap, "behind"), (KeptKernels, "_kept")):
        monkeypatch.setattr(kind, name, noted(getattr(kind, name), found))
    return found


X = np.random.RandomState(0).randn(300, 4)
Y = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize(
    "learner",
    [
        KernelStructuredPredictor("multiclass", approximation="fourier"),
        KernelStructuredPredictor("multiclass"),
        PiSTOLRegressor("rbf"),
    ],
)
def test_passes_of_kernels_have_one_thread(learner, seen):
    learner.set_params(max_iter=3, random_state=0).fit(X, Y)
    assert len(seen) > 3 and set(seen) == {1}


def test_a_stream_has_one_thread_and_predictions_have_all(seen):
    model = KernelStructuredPredictor(approximation="fourier", random_state=0)
    model.partial_fit(X, Y, classes=[0, 1])
    assert len(seen) > 1 and set(seen) == {1}
    seen.clear()
    model.predict(X)
    assert set(seen) == {2}


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_mixtures_have_one_thread_for_products(n_jobs, monkeypatch):
    found = []
    for name in ("fit", "scores"):
        monkeypatch.setattr(LossMinimizer, name, noted(getattr(LossMinimizer, name), found))
    StructuredPredictor(n_jobs=n_jobs, random_state=0).fit(X, Y).predict(X)
    assert len(found) > 3 and set(found) == {1}


def test_errors_and_members_side_by_side_restore_the_number(monkeypatch):
    StructuredPredictor(n_jobs=4, random_state=0).fit(X, Y)
    assert threads() == 2
    monkeypatch.setattr(FourierMap, "behind", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        KernelStructuredPredictor(approximation="fourier", max_iter=2).fit(X, Y)
    assert threads() == 2


def test_a_thread_beside_it_neither_lifts_nor_keeps_the_limit():
    def other():
        with one_blas_thread():
            pass

    with one_blas_thread():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        with one_blas_thread():
            pass
        assert threads() == 1
    assert threads() == 2
