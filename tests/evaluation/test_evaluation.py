"""Progressive validation, row by row and ahead of learning: as `play` and `learn` in turns."""

import naive
import numpy as np
import pandas as pd
import pytest
from conftest import INTERPRETED
from coordinate_steps import AdaGrad
from pairs import LARGEST, PAIRS, space_of
from plain import predictor
from scipy import sparse
from sklearn.base import clone
from streams import outputs_by_scores

import skstructured as sk
from skstructured.evaluation import progressive_validate
from skstructured.optimizers import GradientDescent, StepMixture


@pytest.mark.parametrize(("name", "dim"), LARGEST)
def test_rounds_are_those_of_the_literal_learner(name, dim, rng):
    space, regularizer = space_of(name, dim), PAIRS[name][1]
    vertices = space.vertices()
    V = np.vstack([vertices, vertices[rng.randint(len(vertices), size=40)]])
    X = rng.randn(len(V), 4) * np.exp(rng.randn(len(V), 1))
    model = predictor(space=space, regularizer=regularizer)
    result = progressive_validate(model, X, space.decode(V), random_state=0, play="randomized")
    loss = result.estimator.loss_
    theta, _ = naive.gradient_descent(loss, X, V)
    np.testing.assert_allclose(result.surrogate_loss, loss.value(theta, V), atol=1e-10)
    from skstructured.decoders import Randomized

    expected = Randomized().expected_loss(theta, loss.mean(theta), V, loss)
    np.testing.assert_allclose(result.expected_target_loss, expected, atol=1e-10)
    assert not hasattr(model, "coef_")
    assert result.estimator.t_ == len(V)


@pytest.mark.parametrize(("play", "average"), [("randomized", False), ("predict", "polynomial")])
def test_batches_are_played_with_the_weights_before_them(play, average, rng):
    X, y = rng.randn(47, 3), rng.randint(3, size=47)
    model, wanted = predictor(average=average), []
    result = progressive_validate(model, X, y, 10, play=play, random_state=0)
    for i in range(0, 47, 10):
        if i == 0:
            wanted.append(np.full(10, np.log2(3)))
        else:
            theta = model.decision_function(X[i : i + 10])
            V = model.space_.encode(y[i : i + 10])
            wanted.append(model.loss_.value(theta, V))
        model.partial_fit(X[i : i + 10], y[i : i + 10], classes=[0, 1, 2])
    np.testing.assert_allclose(result.surrogate_loss, np.concatenate(wanted))
    np.testing.assert_array_equal(result.estimator.coef_, model.coef_)


def test_realised_losses_average_to_the_expected_ones(rng):
    X, y = rng.randn(60, 3), rng.randint(3, size=60)
    runs = [
        progressive_validate(predictor(), X, y, random_state=seed, play="randomized")
        for seed in range(100)
    ]
    realised = np.mean([run.target_loss for run in runs], axis=0)
    expected = runs[0].expected_target_loss
    sigma = np.sqrt(expected * (1 - expected) / 100)
    assert np.all(np.abs(realised - expected) <= 5 * sigma + 1e-9)
    np.testing.assert_array_equal(
        runs[3].target_loss,
        progressive_validate(predictor(), X, y, random_state=3, play="randomized").target_loss,
    )


def test_sparse_data_frames_and_progress(rng):
    X, y = rng.randn(60, 3), rng.randint(3, size=60)
    frame = pd.DataFrame(X, columns=list("abc"))
    seen = []
    runs = [
        progressive_validate(predictor(), Z, y, random_state=0, play="randomized")
        for Z in (X, frame, sparse.csr_matrix(X))
    ]
    for run in runs[1:]:
        np.testing.assert_allclose(run.surrogate_loss, runs[0].surrogate_loss, atol=1e-12)
        assert run.surrogate_regret() == pytest.approx(runs[0].surrogate_regret(), abs=1e-3)
    progressive_validate(
        predictor(), X, y, 25, progress=lambda done, n: seen.append((done, n)), play="randomized"
    )
    assert seen == [(25, 60), (50, 60), (60, 60)]
    mean = runs[0].expected_target_loss.mean()
    told = f"(60 rounds of OnlineStructuredPredictor, mean expected target loss {mean:.4g}, "
    assert told in repr(runs[0])


N = 25 if INTERPRETED else 90
#: Whether predictions are by an average.
AVERAGED = [False, "polynomial"]
averaged = pytest.mark.parametrize("average", AVERAGED, ids=["last", "average"])


def outputs(space, rng):
    return outputs_by_scores(space, rng.randn(N, 4))


def rows(store, rng):
    X = rng.randn(N, 6) * (rng.rand(N, 6) < 0.5) * [1, 1, 50, 1, 0.01, 1]
    stores = {"dense": np.asarray, "csr": sparse.csr_array, "single": np.float32}
    return stores[store](X)


def point_loss(learner, theta, V):
    """Target loss of what a learner predicts at the scores of one row."""
    decoder, loss = learner.decode(theta).decoder, learner.loss_
    best = decoder.most_likely(theta, loss.mean(theta), loss)
    return learner.space_.expected_loss(best, V)[0]


def in_turns(model, X, y):
    """Scores, truths and losses (n, 2), target and surrogate, of rows one by one; the learner."""
    learner, played, found = clone(model), [], []
    rounds = learner.begin(X, y)
    for t in range(N):
        theta, V = learner._thetas(rounds.take([t])), learner.model_.truths(rounds.packed[[t]])
        found.append([point_loss(learner, theta, V), learner.loss_.value(theta, V)[0]])
        played.append((theta, V))
        learner.learn(rounds, np.array([t]))
    return played, np.array(found), learner


def is_tied(learner, theta, V, tolerance):
    """Whether scores that differ by rounding are predicted as other outputs."""
    rng, size = np.random.RandomState(0), tolerance * (1.0 + np.abs(theta).max())
    near = [point_loss(learner, theta + size * rng.randn(*theta.shape), V) for _ in range(50)]
    return np.ptp(near) > 0.0


def compare(model, X, y, tolerance=1e-9):
    result = progressive_validate(model, X, y)
    played, wanted, learner = in_turns(model, X, y)
    scale = 1.0 + np.abs(wanted).max()
    np.testing.assert_allclose(result.surrogate_loss, wanted[:, 1], atol=tolerance * scale)
    others = np.flatnonzero(np.abs(result.target_loss - wanted[:, 0]) > tolerance)
    assert len(others) < N / 4 and all(is_tied(learner, *played[t], tolerance) for t in others)
    np.testing.assert_array_equal(result.target_loss, result.expected_target_loss)
    np.testing.assert_array_equal(learner.last_weights_, result.estimator.last_weights_)
    if model.average and learner.model_.averaged:
        np.testing.assert_array_equal(learner.average_weights_, result.estimator.average_weights_)
    return learner, result


@averaged
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("store", ["dense", "csr", "single"])
@pytest.mark.parametrize(
    "optimizer", ["ogd", "adaptive", "parameter_free", "pistol", "mixture", AdaGrad()], ids=str
)
@pytest.mark.short(every=14)
def test_it_is_predict_and_learn_in_turns(optimizer, store, standardize, average, rng):
    model = sk.OnlineStructuredPredictor(
        optimizer=optimizer, standardize=standardize, average=average
    )
    tolerance = 1e-5 if store == "single" else 1e-9
    compare(model, rows(store, rng), outputs("simplex", rng), tolerance)


@averaged
@pytest.mark.parametrize("optimizer", ["parameter_free", "mixture"])
@pytest.mark.parametrize("space", ["hypercube", "ordinal", "permutahedron", "birkhoff"])
def test_over_every_space(space, optimizer, average, rng):
    model = sk.OnlineStructuredPredictor(space, optimizer=optimizer, average=average)
    compare(model, rows("dense", rng), outputs(space, rng))


@averaged
@pytest.mark.parametrize("store", ["dense", "csr"])
@pytest.mark.parametrize("optimizer", ["parameter_free", "mixture"])
def test_rows_of_weight_zero_are_played_as_all_others(optimizer, store, average, rng):
    X, y = rows(store, rng), outputs("simplex", rng)
    weights = {0: 2.5, 1: 0.0, 2: 0.3}
    model = sk.OnlineStructuredPredictor(optimizer=optimizer, class_weight=weights, average=average)
    _, result = compare(model, X, y)
    assert np.ptp(result.surrogate_loss[y == 1]) > 0.0


@pytest.mark.parametrize(
    "model",
    [
        sk.GaptronClassifier(),
        sk.MulticlassPerceptron(),
        predictor(optimizer=GradientDescent(), fit_intercept=False, average="uniform"),
        predictor(loss="hinge", decoder="gap", average="uniform"),
        predictor(optimizer=StepMixture(averages=False), average="polynomial"),
        predictor(average=False),
    ],
    ids=lambda model: type(model).__name__,
)
def test_of_every_linear_learner(model, rng):
    compare(model, rows("csr", rng), outputs("simplex", rng))


@pytest.mark.parametrize(
    "model",
    [
        sk.FolkloreClassifier(decoder="sampled", random_state=0),
        sk.BanditronClassifier(random_state=0),
        sk.ConfiditClassifier(),
        sk.BanditReduction(sk.OnlineStructuredPredictor(), exploration=0.2, random_state=0),
        sk.OnlineTreeClassifier(random_state=0),
        sk.AdaBoostOLMClassifier(n_estimators=2, random_state=0),
        sk.SecondOrderPerceptron(),
        sk.StructuredPredictor(random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("batch_size", [1, 7])
def test_losses_are_of_what_predict_returns(model, batch_size, rng):
    X, y = rows("dense", rng), outputs("simplex", rng)
    run = progressive_validate(model, X, y, batch_size)
    found, learner = run.target_loss, clone(model)
    np.testing.assert_array_equal(run.expected_target_loss, found)
    rounds = learner.begin(X, y)
    for start in range(0, N, batch_size):
        now = np.arange(start, min(start + batch_size, N))
        np.testing.assert_array_equal(found[now], learner.predict(X[now]) != y[now])
        learner.learn(rounds, now)


@pytest.mark.parametrize(
    "model",
    [sk.StructuredPredictor(random_state=0), sk.BanditronClassifier(), sk.OnlineTreeClassifier()],
    ids=lambda model: type(model).__name__,
)
def test_frames_are_validated_in_batches_without_warnings(model, rng):
    X, y = rows("dense", rng), outputs("simplex", rng)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    found = progressive_validate(model.set_params(random_state=0), frame, y, 7)
    wanted = progressive_validate(model, X, y, 7)
    np.testing.assert_array_equal(found.target_loss, wanted.target_loss)


@pytest.mark.parametrize("label", [None, -1])
def test_of_who_abstains_they_are_its_costs(label, rng):
    X = rng.randn(N, 3)
    y = (X[:, 0] + rng.randn(N) > 0.0).astype(int)
    experts = [sk.OnlineStructuredPredictor(random_state=0), sk.MulticlassPerceptron()]
    model = sk.AbstainingHedgeClassifier(experts, abstention_cost=0.2, abstain_label=label)
    found = progressive_validate(model, X, y).target_loss
    learner = clone(model)
    rounds = learner.begin(X, y)
    for i in range(N):
        said = learner.predict(X[i : i + 1])[0]
        assert found[i] == (0.2 if said == -1 else said != y[i])
        learner.learn(rounds, np.array([i]))
    assert (0.2 in found) == (label is not None)


@averaged
@pytest.mark.parametrize(
    "optimizer",
    [GradientDescent(eta=1e220), StepMixture(others=(GradientDescent(eta=1e220),))],
    ids=["descent", "mixture"],
)
def test_a_row_out_of_range_stops_it_where_learning_stops(optimizer, average, rng):
    X, y = rows("dense", rng), outputs("simplex", rng)
    X[20] = 1e99
    model = predictor(optimizer=optimizer, average=average)
    learner, twin = clone(model), clone(model)
    rounds = learner.begin(X, y)
    with pytest.raises(ValueError, match="row 20 of X"):
        learner.answer_and_learn(rounds, np.arange(N))
    twin.begin(X, y)
    twin.learn(rounds.take(np.arange(20)), np.arange(20))
    assert learner.t_ == twin.t_ == 20
    np.testing.assert_array_equal(learner.last_weights_, twin.last_weights_)
