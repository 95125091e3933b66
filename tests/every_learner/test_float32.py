"""float32 rows are read without a copy of X, and learned as the same numbers in float64 are."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from conftest import INTERPRETED
from learners import EVERY_LEARNER, OVER_SPACES
from plain import predictor
from scipy import sparse
from sklearn.base import clone

from skstructured._engine.rows import Rows
from skstructured._engine.standardize import RunningScale
from skstructured.optimizers import AdaptiveGradientDescent, PiSTOL

N = 60 if INTERPRETED else 600
OPTIMIZERS = ["ogd", AdaptiveGradientDescent(0.5), "parameter_free", "pistol"]
OPTIMIZERS.append(PiSTOL(per_coordinate=True))
CLASSES = [0, 1, 2]
#: Learners that keep the dtype of their first rows.
SINGLES = ("online", "average", "uniform average", "per coordinate", "default", "gaptron")
SINGLES += ("default perceptron", "sampled", "bandit gaptron", "banditron")


@pytest.fixture
def rows(rng):
    """float32 rows of features in odd units, and classes that they decide."""
    Z = rng.randn(N, 7)
    y = np.argmax(Z @ rng.randn(7, 3) + 0.5 * rng.randn(N, 3), axis=1)
    y[:3] = CLASSES
    return (Z * [1, 10, 0.1, 1, 3, 1, 1] + [0, 30, 0, 0, 1, 1, 0]).astype(np.float32), y


@pytest.mark.parametrize("average", [False, "polynomial"])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=str)
def test_weights_are_those_of_float64(optimizer, storage, standardize, average, rows):
    X, y = storage(rows[0]), rows[1]
    model = predictor(optimizer=optimizer, standardize=standardize, average=average)
    single, double = clone(model).fit(X, y), clone(model).fit(X.astype(np.float64), y)
    assert single.coef_.dtype == single.decision_function(X).dtype == np.float64
    np.testing.assert_array_equal(single.last_weights_, double.last_weights_)
    np.testing.assert_array_equal(single.coef_, double.coef_)
    np.testing.assert_array_equal(single.decision_function(X), double.decision_function(X))


@pytest.mark.parametrize("space", list(OVER_SPACES))
@pytest.mark.short(*(name for name in OVER_SPACES if name != "pairs"))
def test_every_space_is_learned_from_float32_rows(space):
    model, X, y = OVER_SPACES[space]
    X = X.astype(np.float32)
    single, double = clone(model).fit(X, y), clone(model).fit(X.astype(np.float64), y)
    np.testing.assert_array_equal(single.coef_, double.coef_)
    assert single.predict_mean(X).dtype == np.float64


def test_later_rows_are_rounded_as_the_first_were(rows):
    X, y = rows
    finer = X + np.float64(1e-9)
    single = predictor().partial_fit(X, y, CLASSES).partial_fit(finer, y)
    rounded = predictor().partial_fit(X, y, CLASSES).partial_fit(finer.astype(np.float32), y)
    np.testing.assert_array_equal(single.coef_, rounded.coef_)
    double = predictor().partial_fit(X.astype(np.float64), y, CLASSES).partial_fit(finer, y)
    assert np.any(double.coef_ != single.coef_)


@pytest.mark.filterwarnings("ignore:np.find_common_type")  # of pandas 2.0 itself
def test_frames_and_odd_arrays_of_float32(rows, tmp_path):
    X, y = rows
    wanted = predictor().fit(X, y).coef_
    np.save(tmp_path / "X.npy", X)
    memmap, frozen = np.load(tmp_path / "X.npy", mmap_mode="r"), X.copy()
    frozen.flags.writeable = False
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    for other in (np.asfortranarray(X), memmap, frozen, frame, np.repeat(X, 2, axis=0)[::2]):
        model = predictor().fit(other, y)
        np.testing.assert_array_equal(model.coef_, wanted)
        model.partial_fit(other, y)


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("learner", SINGLES)
@pytest.mark.short(every=20)
def test_x_is_not_copied(learner, storage, rng):
    X, y = rng.rand(50_000, 200).astype(np.float32), rng.randint(3, size=50_000)
    X, model = storage(X), clone(EVERY_LEARNER[learner])
    if "max_iter" in model.get_params():
        model.set_params(max_iter=1)
    model.fit(X[:100], y[:100]).predict(X[:100])
    size = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes
    tracemalloc.start()
    try:
        model.fit(X, y)
        model.partial_fit(X, y)
        model.decision_function(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < size / 4


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
@pytest.mark.parametrize("standardize", [False, True])
def test_numbers_that_float32_does_not_have_are_refused(standardize, value, rows):
    X, y = rows
    model = predictor(standardize=standardize).fit(X, y)
    before, Z = model.coef_.copy(), X.astype(np.float64)
    Z[4, 2] = value
    model.set_params(missing="error")
    for call in (model.partial_fit, lambda X, y: model.predict(X)):
        with pytest.raises(ValueError, match="NaN|infinity"):
            call(Z, y)
    np.testing.assert_array_equal(model.coef_, before)


@pytest.mark.parametrize("learner", ["bandit gaptron", "banditron"])
def test_bandits_choose_and_update(learner, rows):
    X, y = rows
    single, double = (clone(EVERY_LEARNER[learner]).set_params(classes=CLASSES) for _ in range(2))
    for model, Z in ((single, X), (double, X.astype(np.float64))):
        for i in range(40):
            actions, propensities = model.choose(Z[i : i + 1])
            model.update(Z[i : i + 1], actions, actions == y[i : i + 1], propensities)
        assert not model._uncovered
        model.update(Z[:9], y[:9], np.ones(9), np.full(9, 0.5))
    error = np.abs(single.coef_ - double.coef_).max()
    assert error < 1e-4 * np.abs(double.coef_).max()


@pytest.mark.parametrize("learner", SINGLES)
def test_adversaries_may_ask_about_float64_rows(learner, rows):
    X, y = rows
    model = clone(EVERY_LEARNER[learner])
    rounds = model.begin(X, y)
    model.learn(rounds, np.arange(50))
    losses = model.expected_losses(X[50:51].astype(np.float64), np.eye(3))
    np.testing.assert_allclose(losses, model.expected_losses(X[50:51], np.eye(3)), atol=1e-6)
    theta = model.play(rounds, np.arange(50, 60), 0)
    assert np.isfinite(theta.expected).all()


def test_standardised_rows_are_rounded_once(rng):
    X = rng.randn(50, 3) * 100.0 + 1e4
    X = X.astype(np.float32)
    scales = [RunningScale(3, True, True, dtype) for dtype in (np.float32, np.float64)]
    z, exact = (scale.apply(Rows.from_array(X))[0].X for scale in scales)
    assert z.dtype == np.float32
    np.testing.assert_allclose(z, exact, rtol=1e-6, atol=1e-6)
