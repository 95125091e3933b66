"""Numbers that streams of many rounds keep: they stay those of the weights."""

import numpy as np
import pytest
from conftest import INTERPRETED
from scipy import sparse

from skstructured import BanditGaptronClassifier, OnlineStructuredPredictor
from skstructured._engine.state import NORM_AT, RENEW, RENEWED, new_state, renew_norm
from skstructured.optimizers import (
    AdaptiveGradientDescent,
    GradientDescent,
    ParameterFree,
    PiSTOL,
)

OPTIMIZERS = [
    ParameterFree(),
    AdaptiveGradientDescent(diameter=1.0),
    GradientDescent(radius=1.0),
    PiSTOL(),
]
KINDS = [type(optimizer).__name__ for optimizer in OPTIMIZERS]


def there_and_back(n):
    """Rows whose outputs pull the weights far away for n/2 rounds, and back for as many."""
    X = np.random.RandomState(0).randn(n, 3) + 1.0
    return X, np.repeat([0, 1], n // 2)


def kept_and_true(model):
    """‖Θ‖² as the vector has it, and as it is."""
    state = model._state
    return state.vector[int(state.vector[NORM_AT])], np.vdot(state.own, state.own)


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=KINDS)
def test_the_norm_is_that_of_the_weights(optimizer, make):
    X, y = there_and_back(RENEW)
    model = OnlineStructuredPredictor(optimizer=optimizer, standardize=False)
    model.partial_fit(make(X), y, classes=[0, 1])
    kept, true = kept_and_true(model)
    assert model._state.vector[RENEWED] == 0.0
    assert kept == pytest.approx(true, rel=1e-15)


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
def test_it_is_renewed_at_the_same_round_whatever_the_chunks():
    X, y = there_and_back(RENEW + 5000)
    whole, chunked = (
        OnlineStructuredPredictor(optimizer=GradientDescent(radius=1.0), standardize=False)
        for _ in range(2)
    )
    whole.partial_fit(X, y, classes=[0, 1])
    for start in range(0, len(X), 7001):
        part = slice(start, start + 7001)
        chunked.partial_fit(X[part], y[part], classes=[0, 1])
    np.testing.assert_array_equal(whole._state.vector, chunked._state.vector)
    np.testing.assert_array_equal(whole.coef_, chunked.coef_)


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
def test_bandits_too():
    X, y = there_and_back(RENEW)
    model = BanditGaptronClassifier(radius=1.0, standardize=False, random_state=0)
    model.partial_fit(X, y, classes=[0, 1])
    kept, true = kept_and_true(model)
    assert kept == pytest.approx(true, rel=1e-15)


def test_it_is_summed_in_time_and_only_where_it_is_kept():
    Theta, vector, without = np.arange(12.0).reshape(4, 3), new_state(2, 10), new_state(2)
    vector[RENEWED] = without[RENEWED] = RENEW - 2
    renew_norm(vector, Theta, 2, 3)
    assert vector[10] == 0.0
    renew_norm(vector, Theta, 2, 3)
    assert vector[10] == 55.0 and vector[RENEWED] == 0.0
    for _ in range(2):
        renew_norm(without, Theta, 2, 3)
    assert without[10] == 0.0
