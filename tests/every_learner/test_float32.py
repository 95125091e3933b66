"""float32 rows are learned in float32: what it costs in digits, and all that it must not change."""

import pickle
import tracemalloc
import warnings
from copy import deepcopy

import joblib
import naive
import numpy as np
import pandas as pd
import pytest
from conftest import INTERPRETED
from learners import EVERY_LEARNER, OVER_SPACES
from plain import gaptron, perceptron, predictor
from scipy import sparse
from sklearn.base import clone

import skstructured as sk
from skstructured._engine.move_and_score import WINDOW
from skstructured._engine.rows import Rows
from skstructured._engine.standardize import RunningScale
from skstructured.evaluation import progressive_validate
from skstructured.optimizers import AdaptiveGradientDescent, PiSTOL

N = 60 if INTERPRETED else 600
OPTIMIZERS = [
    "ogd",
    AdaptiveGradientDescent(1.0),
    "parameter_free",
    "pistol",
    PiSTOL(per_coordinate=True),
]
CLASSES = [0, 1, 2]
#: Learners of the epoch, whose weights are float32 where their rows are.
SINGLES = {
    "ogd": predictor(),
    "average": predictor(average="polynomial"),
    "uniform average": predictor(optimizer="adaptive", average="uniform"),
    "per coordinate": predictor(optimizer=PiSTOL(per_coordinate=True), average="polynomial"),
    "default": sk.OnlineStructuredPredictor(random_state=0),
    "no intercept": predictor(fit_intercept=False, standardize=True),
    "gaptron": gaptron(),
    "perceptron": perceptron(average="polynomial"),
    "bandit gaptron": sk.BanditGaptronClassifier(radius=1.0, random_state=0),
    "banditron": sk.BanditronClassifier(random_state=0, standardize=False),
}


@pytest.fixture
def rows(rng):
    """float32 rows of features in odd units, and classes that they decide."""
    Z = rng.randn(N, 7)
    y = np.argmax(Z @ rng.randn(7, 3) + 0.5 * rng.randn(N, 3), axis=1)
    y[:3] = CLASSES
    return (Z * [1, 10, 0.1, 1, 3, 1, 1] + [0, 30, 0, 0, 1, 1, 0]).astype(np.float32), y


def distance(a, b):
    return np.abs(a - b).max() / np.abs(b).max()


def assert_single(model):
    names = ("coef_", "intercept_", "last_weights_", "average_weights_")
    for name in names[: None if getattr(model, "average", False) else 3]:
        if hasattr(model, name):
            assert getattr(model, name).dtype == np.float32, name


@pytest.mark.parametrize("average", [False, "polynomial"])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=str)
def test_weights_and_accuracy_are_those_of_float64(optimizer, standardize, average, rows):
    X, y = rows
    model = predictor(optimizer=optimizer, standardize=standardize, average=average)
    single, double = clone(model).fit(X, y), clone(model).fit(X.astype(np.float64), y)
    assert_single(single)
    assert double.coef_.dtype == np.float64
    assert distance(single.last_weights_, double.last_weights_) < 2e-4
    assert distance(single.coef_, double.coef_) < 2e-4
    assert abs(single.score(X, y) - double.score(X, y)) <= 2 / N
    assert single.decision_function(X).dtype == np.float64


@pytest.mark.parametrize("learner", list(SINGLES))
def test_scores_of_later_rows_are_those_of_the_weights(learner, rows):
    X, y = rows
    model = clone(SINGLES[learner]).fit(X, y)
    assert_single(model)
    theta = X.astype(np.float64) @ model.coef_.T.astype(np.float64) + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), theta, atol=1e-4 * np.abs(theta).max())
    np.testing.assert_array_equal(model.predict(X), model.predict(X.astype(np.float64)))


@pytest.mark.parametrize("learner", list(EVERY_LEARNER))
def test_every_learner_takes_float32_rows(learner, rows):
    X, y = rows[0][:80], rows[1][:80]
    model = clone(EVERY_LEARNER[learner]).fit(X, y)
    if hasattr(model, "partial_fit"):
        model.partial_fit(X, y).partial_fit(X.astype(np.float64), y)
    assert set(model.predict(X)) <= set(CLASSES)
    result = progressive_validate(EVERY_LEARNER[learner], X[:30], y[:30], random_state=0)
    assert np.isfinite(result.expected_target_loss).all()


@pytest.mark.parametrize("space", list(OVER_SPACES))
def test_every_space_is_learned_from_float32_rows(space):
    model, X, y = OVER_SPACES[space]
    X = X.astype(np.float32)
    single, double = clone(model).fit(X, y), clone(model).fit(X.astype(np.float64), y)
    assert_single(single)
    assert distance(single.coef_, double.coef_) < 1e-4
    assert single.predict_mean(X).dtype == np.float64


@pytest.mark.parametrize("learner", list(SINGLES))
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_chunks_are_one_pass(learner, storage, rows):
    X, y = storage(rows[0]), rows[1]
    whole = clone(SINGLES[learner]).partial_fit(X, y, classes=CLASSES)
    parts = clone(SINGLES[learner])
    for start, stop in [(0, 1), (1, 2), (2, 49), (49, 50), (50, N)]:
        parts.partial_fit(X[start:stop], y[start:stop], classes=CLASSES)
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    np.testing.assert_array_equal(parts.intercept_, whole.intercept_)
    assert_single(parts)


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
@pytest.mark.parametrize("optimizer", ["ogd", "adaptive", "parameter_free"])
def test_chunks_are_one_pass_over_the_sum_of_the_weights(optimizer, rng):
    X = rng.randn(3 * WINDOW, 5).astype(np.float32)
    y, weight = rng.randint(3, size=len(X)), rng.randint(3, size=len(X)) / 1.0
    model = predictor(optimizer=optimizer, average="polynomial")
    whole = clone(model).partial_fit(X, y, classes=CLASSES, sample_weight=weight)
    parts, rest = clone(model), clone(model)
    for some in np.array_split(np.arange(len(X)), 7):
        parts.partial_fit(X[some], y[some], classes=CLASSES, sample_weight=weight[some])
    live = weight > 0.0
    rest.partial_fit(X[live], y[live], classes=CLASSES, sample_weight=weight[live])
    np.testing.assert_array_equal(parts.average_weights_, whole.average_weights_)
    assert distance(rest.average_weights_, whole.average_weights_) < 1e-6


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
@pytest.mark.parametrize("average", ["polynomial", "uniform"])
@pytest.mark.parametrize("optimizer", ["ogd", "adaptive", "parameter_free", "pistol"])
def test_the_average_is_that_of_the_weights_played(optimizer, average, rng):
    n = 6 * WINDOW
    X = rng.randn(n, 3).astype(np.float32)
    y = np.argmax(X @ rng.randn(3, 3) + rng.randn(n, 3), axis=1)
    model, mean = predictor(optimizer=optimizer, average=average), 0.0
    share = naive.round_shares(np.ones(n), average)
    for i in range(n):
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=CLASSES)
        played = deepcopy(model._state)
        # The next round's weights before it: what scale_kernel makes of the row to come.
        if i + 1 < n:
            x_sq = 1.0 + float(np.square(X[i + 1], dtype=np.float64).sum())
            s = model.optimizer_.scale_kernel(played.vector, x_sq, 1.0)
            mean = mean + share[i + 1] * s * played.parts[0]
    assert distance(model._weights(averaged=True), mean) < 1e-6


def test_the_first_rows_decide(rows):
    X, y = rows
    double = X.astype(np.float64)
    single = predictor(average="polynomial").partial_fit(X, y, CLASSES)
    single.partial_fit(double, y)
    twice = predictor(average="polynomial").partial_fit(X, y, CLASSES).partial_fit(X, y)
    np.testing.assert_array_equal(single.coef_, twice.coef_)
    assert_single(single)
    other = predictor().partial_fit(double, y, CLASSES).partial_fit(X, y)
    assert other.coef_.dtype == np.float64
    np.testing.assert_array_equal(
        other.coef_, predictor().partial_fit(double, y, CLASSES).partial_fit(double, y).coef_
    )
    assert single.fit(double, y).coef_.dtype == np.float64
    for lists in (X.tolist(), X.astype(np.float16), np.round(X).astype(int)):
        assert predictor().fit(lists, y).coef_.dtype == np.float64


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
        assert_single(model)
        model.partial_fit(other, y)
    assert predictor().fit(frame.assign(a=frame.a.astype(float)), y).coef_.dtype == np.float64


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("average", [False, "polynomial"])
def test_csr_rows_of_float32(average, standardize, rows):
    X, y = rows
    Z, model = sparse.csr_matrix(X * (np.abs(X) > 0.5)), predictor(average=average)
    model.set_params(standardize=standardize)
    single, double = clone(model).fit(Z, y), clone(model).fit(Z.astype(np.float64), y)
    assert Z.dtype == np.float32
    np.testing.assert_array_equal(single.coef_, double.coef_.astype(np.float32))
    np.testing.assert_array_equal(single.decision_function(Z), double.decision_function(Z))


@pytest.mark.parametrize("optimizer", ["ogd", PiSTOL(per_coordinate=True)], ids=str)
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("average", [False, "polynomial"])
def test_dense_and_csr_rows_in_turns(average, standardize, optimizer, rows):
    X, y = rows
    model = predictor(optimizer=optimizer, average=average, standardize=standardize)
    dense, mixed = (clone(model).partial_fit(X[:20], y[:20], CLASSES) for _ in range(2))
    for start in range(20, N, 20):
        now = slice(start, start + 20)
        dense.partial_fit(X[now], y[now])
        storage = sparse.csr_array if start % 40 else np.asarray
        mixed.partial_fit(storage(X[now]), y[now])
    assert distance(mixed.coef_, dense.coef_) < 2e-4
    assert_single(mixed)


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("learner", list(SINGLES))
def test_x_is_not_copied(learner, storage, rng):
    X, y = rng.rand(50_000, 200).astype(np.float32), rng.randint(3, size=50_000)
    X, model = storage(X), clone(SINGLES[learner])
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


@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=str)
@pytest.mark.parametrize("size", [1e-36, 1e-20, 1e20, 1e36])
def test_standardised_rows_of_any_size(size, optimizer, rows):
    X, y = rows
    Z = (X.astype(np.float64) * size).astype(np.float32)
    model = predictor(
        optimizer=optimizer, average="polynomial", standardize=True, fit_intercept=False
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        big, usual = clone(model).fit(Z, y), clone(model).fit(X, y)
        scores = big.decision_function(Z)
    wanted = usual.decision_function(X)
    assert distance(scores, wanted) < (1e-2 if size == 1e-36 else 1e-4)
    assert np.isfinite(big.coef_).all()


def test_weights_beyond_float32_are_its_largest_number(rows):
    X, y = np.round(rows[0]), rows[1]
    tiny = (X * 1e-44).astype(np.float32)
    model = predictor(standardize=True).fit(tiny, y)
    assert np.isfinite(model.coef_).all() and np.abs(model.coef_).max() == np.finfo(np.float32).max
    assert model.score(tiny, y) > 0.5


@pytest.mark.parametrize("weight", [1e-10, 1.0, 1e10])
@pytest.mark.parametrize("size", [1e-9, 1e9])
@pytest.mark.parametrize("optimizer", OPTIMIZERS, ids=str)
def test_rows_and_weights_at_the_ends_of_the_range(optimizer, size, weight, rows):
    X, y = rows[0], rows[1]
    X = (size * X.astype(np.float64) / np.linalg.norm(X, axis=1)[:, None]).astype(np.float32)
    weights, double = np.full(N, weight), X.astype(np.float64)
    model = predictor(optimizer=optimizer, average="polynomial", fit_intercept=False)
    single = clone(model).fit(X, y, sample_weight=weights)
    wanted = clone(model).fit(double, y, sample_weight=weights)
    scores = wanted.decision_function(double)
    assert distance(single.decision_function(X), scores) < 2e-4


@pytest.mark.parametrize("learner", ["ogd", "gaptron", "perceptron", "banditron"])
@pytest.mark.parametrize(("size", "kind"), [(1e-13, "small"), (1e12, "large")])
def test_rows_beyond_the_range_are_refused(learner, size, kind, rows):
    X, y = rows
    model = clone(SINGLES[learner]).set_params(fit_intercept=False).fit(X, y)
    before, Z = model.coef_.copy(), X.copy()
    Z[30] = size
    for call in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=f"Row 30 of X is too {kind}.*float64 rows"):
            call(Z, y)
    with pytest.raises(ValueError, match=f"Row 30 of X is too {kind}"):
        model.predict(Z)
    np.testing.assert_array_equal(model.coef_, before)
    model.fit(Z.astype(np.float64), y)


@pytest.mark.parametrize("weight", [1e-11, 1e11])
def test_weights_beyond_the_range_are_refused(weight, rows):
    X, y = rows
    for way in (
        {"sample_weight": np.full(N, weight)},
        {"class_weight": dict.fromkeys(CLASSES, weight)},
    ):
        given = {name: value for name, value in way.items() if name == "sample_weight"}
        model = predictor(class_weight=way.get("class_weight"))
        with pytest.raises(ValueError, match="must be 0 or lie between 1e-10 and 1e\\+10"):
            model.fit(X, y, **given)
        model.fit(X.astype(np.float64), y, **given)
        model.set_params(standardize=True).fit(X, y, **given)


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


def test_a_step_out_of_float32_ends_in_an_error(rows):
    X, y = rows
    model = predictor(optimizer=AdaptiveGradientDescent(diameter=1e60))
    with pytest.raises(ValueError, match="scores that are not finite float32 numbers"):
        model.fit(X, y)
    model.fit(X.astype(np.float64), y)


@pytest.mark.parametrize("mode", ["r", "c"])
@pytest.mark.parametrize("learner", list(SINGLES))
def test_copies_go_on_in_the_same_way(learner, mode, rows, tmp_path):
    X, y = rows
    model = clone(SINGLES[learner]).fit(X, y)
    joblib.dump(model, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode=mode)
    others = (pickle.loads(pickle.dumps(model)), deepcopy(model), mapped)
    expected = model.partial_fit(X, y).coef_
    for other in others:
        np.testing.assert_array_equal(other.partial_fit(X, y).coef_, expected)
        assert_single(other)


@pytest.mark.parametrize("learner", ["bandit gaptron", "banditron"])
def test_bandits_choose_and_update(learner, rows):
    X, y = rows
    single, double = (clone(SINGLES[learner]).set_params(classes=CLASSES) for _ in range(2))
    for model, Z in ((single, X), (double, X.astype(np.float64))):
        for i in range(40):
            actions, propensities = model.choose(Z[i : i + 1])
            model.update(Z[i : i + 1], actions, actions == y[i : i + 1], propensities)
        assert model._uncovered is None
        model.update(Z[:9], y[:9], np.ones(9), np.full(9, 0.5))
    assert distance(single.coef_, double.coef_) < 1e-4
    assert_single(single)


@pytest.mark.parametrize("learner", list(SINGLES))
def test_adversaries_may_ask_about_float64_rows(learner, rows):
    X, y = rows
    model = clone(SINGLES[learner])
    rounds = model.begin(X, y)
    model.learn(rounds, np.arange(50))
    losses = model.expected_losses(X[50:51].astype(np.float64), np.eye(3))
    np.testing.assert_allclose(losses, model.expected_losses(X[50:51], np.eye(3)), atol=1e-6)
    theta = model.play(rounds, np.arange(50, 60), 0)
    assert np.isfinite(theta.expected).all()


def test_a_kernel_that_raises_leaves_float32_weights(rows):
    X, y = rows

    class Broken(PiSTOL):
        left = 25

    def scale(state, x_sq, weight):
        Broken.left -= 1
        if Broken.left < 0:
            raise RuntimeError("the scale broke")
        return 0.1

    Broken.scale_kernel = staticmethod(scale)
    model = predictor(optimizer=Broken(), average="polynomial").partial_fit(X[:20], y[:20], CLASSES)
    before, state, apart = model.coef_.copy(), model._state.Theta.copy(), model._state.apart.copy()
    Broken.left = 10
    with pytest.raises(RuntimeError, match="broke"):
        model.partial_fit(X, y)
    Broken.left = 10
    np.testing.assert_array_equal(model._state.Theta, state)
    np.testing.assert_array_equal(model._state.apart, apart)
    np.testing.assert_array_equal(model.coef_, before)


def test_standardised_rows_are_rounded_once(rng):
    X = rng.randn(50, 3) * 100.0 + 1e4
    X = X.astype(np.float32)
    scales = [RunningScale(3, True, True, dtype) for dtype in (np.float32, np.float64)]
    z, exact = (scale.apply(Rows.from_array(X))[0].X for scale in scales)
    assert z.dtype == np.float32
    np.testing.assert_allclose(z, exact, rtol=1e-6, atol=1e-6)
