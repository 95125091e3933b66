"""What would be predicted before every row, in one loop: as by `play` and `learn` in turns."""

import numpy as np
import pytest
from plain import predictor
from scipy import sparse
from sklearn.base import clone

import skstructured as sk
from skstructured.evaluation import progressive_validate
from skstructured.optimizers import GradientDescent, StepMixture

INTERPRETED = pytest.importorskip("numba").config.DISABLE_JIT
N = 25 if INTERPRETED else 90
PLAYS = ("last", "average")


def outputs(space, rng):
    return {
        "simplex": lambda: rng.randint(3, size=N),
        "hypercube": lambda: rng.randint(2, size=(N, 4)),
        "ordinal": lambda: rng.randint(4, size=N),
        "permutahedron": lambda: np.argsort(rng.randn(N, 4), axis=1) + 1,
        "birkhoff": lambda: np.argsort(rng.randn(N, 3), axis=1),
    }[space]()


def rows(store, rng):
    X = rng.randn(N, 6) * (rng.rand(N, 6) < 0.5) * [1, 1, 50, 1, 0.01, 1]
    stores = {"dense": np.asarray, "csr": sparse.csr_array, "single": np.float32}
    return stores[store](X)


def in_turns(model, X, y, play):
    """Losses (n, 2), expected and surrogate, of rows played one by one; and the learner."""
    learner = clone(model)
    rounds, found = learner.begin(X, y), []
    score = learner.play if play == "last" else learner.play_average
    for t in range(N):
        found.append([loss[0] for loss in score(rounds, np.array([t]), 0)[1:]])
        learner.learn(rounds, np.array([t]))
    return np.array(found), learner


def compare(model, X, y, play, tolerance=1e-9):
    result = progressive_validate(model, X, y, play=play)
    wanted, learner = in_turns(model, X, y, play)
    found = np.column_stack([result.expected_target_loss, result.surrogate_loss])
    scale = 1.0 + np.abs(wanted).max()
    np.testing.assert_allclose(found, wanted, atol=tolerance * scale)
    np.testing.assert_array_equal(learner.last_weights_, result.estimator.last_weights_)
    np.testing.assert_array_equal(learner.average_weights_, result.estimator.average_weights_)
    return learner, result


@pytest.mark.parametrize("play", PLAYS)
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("store", ["dense", "csr", "single"])
@pytest.mark.parametrize(
    "optimizer", ["ogd", "adaptive", "parameter_free", "pistol", "mixture", "adagrad"]
)
@pytest.mark.short(every=3)
def test_it_is_predict_and_learn_in_turns(optimizer, store, standardize, play, rng):
    model = sk.OnlineStructuredPredictor(optimizer=optimizer, standardize=standardize)
    tolerance = 1e-5 if store == "single" else 1e-9
    learner, _ = compare(model, rows(store, rng), outputs("simplex", rng), play, tolerance)
    assert learner.plays_ahead == (optimizer != "adagrad")


@pytest.mark.parametrize("play", PLAYS)
@pytest.mark.parametrize("optimizer", ["parameter_free", "mixture"])
@pytest.mark.parametrize("space", ["hypercube", "ordinal", "permutahedron", "birkhoff"])
def test_over_every_space(space, optimizer, play, rng):
    model = sk.OnlineStructuredPredictor(space, optimizer=optimizer)
    compare(model, rows("dense", rng), outputs(space, rng), play)


@pytest.mark.parametrize("play", PLAYS)
@pytest.mark.parametrize("store", ["dense", "csr"])
@pytest.mark.parametrize("optimizer", ["parameter_free", "mixture"])
def test_rows_of_weight_zero_are_played_as_all_others(optimizer, store, play, rng):
    X, y = rows(store, rng), outputs("simplex", rng)
    weights = {0: 2.5, 1: 0.0, 2: 0.3}
    model = sk.OnlineStructuredPredictor(optimizer=optimizer, class_weight=weights)
    _, result = compare(model, X, y, play)
    assert np.ptp(result.surrogate_loss[y == 1]) > 0.0


@pytest.mark.parametrize("play", PLAYS)
@pytest.mark.parametrize(
    "model",
    [
        sk.GaptronClassifier(),
        sk.MulticlassPerceptron(),
        predictor(optimizer=GradientDescent(), fit_intercept=False, average="uniform"),
        predictor(loss="hinge", decoder="gap", average="uniform"),
        predictor(optimizer=StepMixture(averages=False), average="polynomial"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_of_every_linear_learner(model, play, rng):
    X, y = rows("csr", rng), outputs("simplex", rng)
    if play == "average" and isinstance(getattr(model, "optimizer", None), StepMixture):
        with pytest.raises(ValueError, match="play='average' needs a learner with average"):
            progressive_validate(model, X, y, play=play)
        return
    learner, _ = compare(model, X, y, play)
    assert learner.plays_ahead


def test_a_decoder_that_follows_the_rows_is_played_in_turns(rng):
    model = sk.OnlineStructuredPredictor("hypercube", decoder="f1")
    X, Y = rows("dense", rng), outputs("hypercube", rng)
    learner, _ = compare(model, X, Y, "last")
    assert not learner.plays_ahead


@pytest.mark.parametrize("play", PLAYS)
@pytest.mark.parametrize(
    "optimizer",
    [GradientDescent(eta=1e220), StepMixture(others=(GradientDescent(eta=1e220),))],
    ids=["descent", "mixture"],
)
def test_a_row_out_of_range_stops_it_where_learning_stops(optimizer, play, rng):
    X, y = rows("dense", rng), outputs("simplex", rng)
    X[20] = 1e99
    model = predictor(optimizer=optimizer, average="polynomial")
    learner, twin = clone(model), clone(model)
    rounds = learner.begin(X, y)
    with pytest.raises(ValueError, match="Row 20 of X"):
        learner.play_ahead(rounds, np.arange(N), play == "average", 0)
    twin.begin(X, y)
    twin.learn(rounds.take(np.arange(20)), np.arange(20))
    assert learner.t_ == twin.t_ == 20
    np.testing.assert_array_equal(learner.last_weights_, twin.last_weights_)


def test_learners_without_such_a_loop_say_so():
    with pytest.raises(NotImplementedError, match="BanditronClassifier has no play_ahead"):
        sk.BanditronClassifier().play_ahead(None, None, False)
