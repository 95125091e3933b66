"""Numbers that streams of many rounds keep: they stay those of the weights."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

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
    AdaptiveGradientDescent(radius=0.5),
    GradientDescent(radius=1.0),
    PiSTOL(),
]
MODELS = [
    OnlineStructuredPredictor(optimizer=optimizer, standardize=False) for optimizer in OPTIMIZERS
]
MODELS.append(BanditGaptronClassifier(radius=1.0, standardize=False, random_state=0))
KINDS = [*(type(optimizer).__name__ for optimizer in OPTIMIZERS), "bandit"]


def late_norm(model, rounds, make=np.asarray):
    """A learner after 60 rows, with rows to come, whose ‖Θ‖² is off and renewed after `rounds`."""
    X = np.random.RandomState(0).randn(160, 3) + 1.0
    y = np.repeat([0, 1], 80)
    model = clone(model).partial_fit(make(X[:60]), y[:60], classes=[0, 1])
    vector = model._model.state.vector
    vector[int(vector[NORM_AT])] *= 1.5
    vector[RENEWED] = RENEW - rounds
    return model, make(X[60:]), y[60:]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("model", MODELS, ids=KINDS)
def test_the_norm_is_that_of_the_weights(model, make):
    model, X, y = late_norm(model, 100, make)
    state = model.partial_fit(X, y)._model.state
    assert state.vector[RENEWED] == 0.0
    kept = state.vector[int(state.vector[NORM_AT])]
    assert kept == pytest.approx(np.vdot(state.own, state.own), rel=1e-15)


@pytest.mark.parametrize("model", MODELS, ids=KINDS)
def test_it_is_renewed_at_the_same_round_whatever_the_chunks(model):
    (whole, X, y), (chunked, *_) = late_norm(model, 57), late_norm(model, 57)
    whole.partial_fit(X, y)
    for start in range(0, len(X), 23):
        chunked.partial_fit(X[start : start + 23], y[start : start + 23])
    np.testing.assert_array_equal(whole._model.state.vector, chunked._model.state.vector)
    np.testing.assert_array_equal(whole.coef_, chunked.coef_)


def test_it_is_summed_in_time_and_only_where_it_is_kept():
    Theta, vector, without = np.arange(12.0).reshape(4, 3), new_state(2, 10), new_state(2)
    vector[RENEWED] = without[RENEWED] = RENEW - 2
    renew_norm(vector, Theta, (0, 2, 0, 3))
    assert vector[10] == 0.0
    renew_norm(vector, Theta, (0, 2, 0, 3))
    assert vector[10] == 55.0 and vector[RENEWED] == 0.0
    for _ in range(2):
        renew_norm(without, Theta, (0, 2, 0, 3))
    assert without[10] == 0.0
