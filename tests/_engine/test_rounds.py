"""The fast way of the loop for one optimiser over rows gives what the whole loop gives."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from skstructured import OnlineStructuredPredictor
from skstructured._learners.models import LinearModel


def learned(X, y, weight, optimizer, average):
    model = OnlineStructuredPredictor(optimizer=optimizer, average=average, random_state=0)
    model.partial_fit(X[:30], y[:30], classes=range(4))
    model.partial_fit(X[30:], y[30:], sample_weight=weight[30:])
    averages = [model.average_weights_] if average else []
    return [model.last_weights_, *averages, model._model.state.vector]


@pytest.mark.parametrize("average", [False, "uniform", "polynomial"])
@pytest.mark.parametrize("optimizer", ["ogd", "parameter_free", "pistol", "adagrad"])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_rows_of_one_optimizer(storage, optimizer, average, monkeypatch):
    rng = np.random.RandomState(0)
    X, y = rng.randn(120, 5) * (rng.rand(120, 5) < 0.6), rng.randint(4, size=120)
    given = storage(X), y, rng.choice([0.0, 0.5, 1.0, 3.0], size=120), optimizer, average
    fast = learned(*given)
    monkeypatch.setattr(LinearModel, "_mixed", True)
    for one, other in zip(fast, learned(*given), strict=True):
        assert_allclose(one, other, rtol=1e-11, atol=1e-13)
