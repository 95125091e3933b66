"""What "f1" is given: probabilities calibrated in the rounds before each label set is known."""

import pickle

import naive
import numpy as np
import pytest
from conftest import INTERPRETED
from sklearn.datasets import make_multilabel_classification

import skstructured as sk
from skstructured._engine.rows import Rows
from skstructured._learners.models import SCORES
from skstructured._learners.platt_calibration import Calibration, Calibrator
from skstructured.checkpoints import load_checkpoint, save_checkpoint
from skstructured.decoders import ExpectedF1
from skstructured.spaces.hypercube import best_label_sets


def data(n=80, d=5, seed=0):
    return make_multilabel_classification(n, 8, n_classes=d, random_state=seed)


def model(**parameters):
    given = {"optimizer": "parameter_free", "random_state": 0} | parameters
    return sk.OnlineStructuredPredictor("hypercube", decoder="f1", **given)


def scored(rng, n=60, d=4):
    """Scores that are twice too small and too high, label sets, and weights."""
    logits = 2.0 * rng.randn(n, d) - 1.0
    V = (rng.rand(n, d) < 1.0 / (1.0 + np.exp(-logits))).astype(float)
    high = 0.5 * rng.randn(n, 1)  # for all labels of a row, and of no meaning
    return 0.5 * (logits + 1.0) + 0.7 + high, V, rng.choice([0.0, 0.3, 1.0, 7.0], n)


def probabilities(scores, slope, offset, common):
    """Of the labels of one row."""
    return 1.0 / (1.0 + np.exp(-(slope * scores + offset + common * np.mean(scores))))


def columns(calibration):
    return np.hstack(calibration)


def assert_same(one, other):
    """Two learners have the same calibration."""
    for name in ("state", "curvature"):
        np.testing.assert_array_equal(*(getattr(m._calibrator, name) for m in (one, other)))


@pytest.mark.parametrize("weighted", [False, True])
def test_calibrations_are_those_of_literal_newton_steps(weighted, rng):
    theta, V, weight = scored(rng)
    V[::5] = 0.0
    weight = weight if weighted else np.ones(len(theta))
    calibrator = Calibrator()
    before = columns(calibrator.follow(theta, V, weight))
    wanted = naive.calibrations(theta, V, weight)
    np.testing.assert_allclose(before, wanted[:-1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(columns(calibrator.now())[0], wanted[-1], rtol=1e-9, atol=1e-12)
    assert np.abs(np.diff(wanted[:, :3], axis=0)).max(axis=0).min() > 0.1


def test_scores_beyond_the_largest_enter_the_mean_as_it():
    """As in the steps: one score of 5,000 does not decide what the others mean."""
    theta = np.array([[5e3, 0.5, -2.0], [-4e3, 0.25, 1.0]])
    found = Calibration(0.5, 0.25, -2e-3, 1.5).marginals(theta)
    for row, mean in zip(range(2), (998.5 / 3.0, -998.75 / 3.0), strict=True):
        wanted = 1.0 / (1.0 + np.exp(-(0.5 * theta[row, 1:] + 0.25 - 2e-3 * mean)))
        np.testing.assert_allclose(found[row, 1:], wanted, rtol=1e-12)


def test_steps_and_slopes_are_bounded():
    for sign in (-1.0, 1.0):
        theta = sign * np.array([[1e300, -800.0, 3.0]] * 30)
        V = np.array([[1.0, 0.0, 1.0]] * 30)
        calibrator = Calibrator()
        before = columns(calibrator.follow(theta, V, np.ones(30)))
        wanted = naive.calibrations(theta, V, np.ones(30))
        np.testing.assert_allclose(before, wanted[:-1], rtol=1e-8, atol=1e-12)
        assert np.isfinite(calibrator.state).all()
        assert before[:, 0].min() >= 1e-2
        assert np.abs(np.diff(before[:, :3], axis=0)).max() <= 0.5 + 1e-12


def test_extreme_weights_leave_numbers(rng):
    theta, V, _ = scored(rng)
    for weight in (10.0 ** rng.uniform(-20, 20, len(V)), np.full(len(V), 1e20)):
        calibrator = Calibrator()
        calibrator.follow(theta, V, weight)
        assert np.isfinite(calibrator.state).all()
    ones = Calibrator()
    ones.follow(theta, V, np.ones(len(V)))  # a common factor of the weights counts for nothing
    np.testing.assert_allclose(calibrator.state[:-1], ones.state[:-1], rtol=1e-7)


def test_it_finds_what_scores_were_made_of(rng):
    theta, V, _ = scored(rng, 600 if INTERPRETED else 3000)
    calibrator = Calibrator()
    calibrator.follow(theta, V, np.ones(len(V)))
    mu = calibrator.now().marginals(theta[-300:])
    assert mu.sum() == pytest.approx(V[-300:].sum(), rel=0.1)
    slope, _, common, empty = columns(calibrator.now())[0]
    assert slope == pytest.approx(2.0, abs=0.4)
    assert -1.9 < common < -0.5
    assert empty == pytest.approx(1.0, abs=0.5)  # labels are independent here


@pytest.mark.parametrize("empty", [0.0, 0.4, 3.0, 1e9])
@pytest.mark.parametrize("zero_division", [0.0, 0.3, 1.0])
def test_no_label_set_has_a_larger_expected_f1_where_it_is_calibrated(empty, zero_division, rng):
    loss = sk.FenchelYoung(sk.spaces.Hypercube().fit(np.zeros((1, 4))))
    for slope, offset, common in ((1.0, 0.0, 0.0), (0.3, -2.0, 1.0), (4.0, -1.0, -3.0)):
        theta = rng.randn(5, 4)
        decoder = ExpectedF1(zero_division).calibrated(Calibration(slope, offset, common, empty))
        found, leave = decoder.mixture(theta, np.full((5, 4), 0.5), loss)
        for row, scores in zip(found, theta, strict=True):
            p = probabilities(scores, slope, offset, common)
            values = naive.expected_f1(p, zero_division * empty)
            assert values[tuple(row.astype(int))] >= max(values.values()) * (1.0 - 1e-12)
        assert not leave.any()


@pytest.mark.parametrize("size", [1, 7, 64])
def test_chunks_of_any_size_give_the_same(size, rng, tmp_path):
    """Also of models that were saved between them."""
    X, y = data()
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], len(X))
    whole, parts = model().partial_fit(X, y, sample_weight=weight), model()
    for start in range(0, len(X), size):
        part = slice(start, start + size)
        parts.partial_fit(X[part], y[part], sample_weight=weight[part])
        if start % 5 == 0:
            parts = pickle.loads(pickle.dumps(parts))
        if start == size:
            save_checkpoint(parts, tmp_path / "model.skops")
            parts = load_checkpoint(tmp_path / "model.skops")
    assert_same(whole, parts)
    np.testing.assert_array_equal(whole.predict(X), parts.predict(X))
    assert whole._calibrator.state[-1] == weight.sum()


def test_only_learners_that_are_fitted_with_it_pay_for_it():
    X, y = data()
    nearest = model(max_iter=1).set_params(decoder="nearest").fit(X, y)
    learned = model(max_iter=1).fit(X, y)
    np.testing.assert_array_equal(nearest.coef_, learned.coef_)
    assert nearest._calibrator is None and learned._calibrator is not None
    given = best_label_sets(nearest.predict_mean(X), 1.0)
    np.testing.assert_array_equal(nearest.set_params(decoder="f1").predict(X), given)
    assert (learned.predict(X) != given).any()


def test_predictions_are_those_of_the_decoder_on_what_was_learned():
    X, y = data()
    for learner in (model(max_iter=2), sk.KernelStructuredPredictor("hypercube", decoder="f1")):
        learner.fit(X, y)
        assert learner._calibrator.state[-1] == learner.n_iter_ * learner.t_
        *numbers, empty = columns(learner._calibrator.now())[0]
        theta = learner.embedding_scores(X)
        for row, found in zip(theta[:10], learner.predict(X), strict=False):
            values = naive.expected_f1(probabilities(row, *numbers), empty)
            assert values[tuple(found)] >= max(values.values()) * (1.0 - 1e-12)


def test_others_are_given_what_predict_proba_shows():
    X, y = data()
    for learner in (
        model(regularizer="squared", max_iter=1),
        sk.ConditionalRandomField("hypercube", decoder="f1"),
    ):
        learner.fit(X, y)
        mu = learner.predict_mean(X)
        plain = ExpectedF1().most_likely(mu, mu, learner.loss_)
        np.testing.assert_array_equal(learner.predict(X), plain)


def test_rounds_are_played_by_what_was_known_before_them():
    X, y = data()
    together, alone, other = model(), model(), model()
    rounds = together.begin(X, y)
    played = together.play_and_learn(rounds, np.arange(len(X)))
    rounds = alone.begin(X, y)
    each = [alone.play_and_learn(rounds, np.array([i])) for i in range(len(X))]
    np.testing.assert_array_equal(played.target, np.concatenate([one.target for one in each]))
    np.testing.assert_array_equal(played.expected, played.target)
    changed = y.copy()
    changed[50:] = 1 - changed[50:]
    rounds = other.begin(X, changed)
    differ = other.play_and_learn(rounds, np.arange(len(X)))
    np.testing.assert_array_equal(played.target[:50], differ.target[:50])
    np.testing.assert_array_equal(together._calibrator.state, alone._calibrator.state)
    calibrated = naive.calibrations(*_scores_played(X, y), np.ones(len(X)))
    losses = []
    for theta, truth, numbers in zip(*_scores_played(X, y), calibrated[:-1], strict=True):
        values = naive.expected_f1(probabilities(theta, *numbers[:3]), numbers[3])
        losses.append(np.mean(np.array(max(values, key=values.get)) != truth))
    np.testing.assert_allclose(played.target, losses)


def _scores_played(X, y):
    """Scores of every row before it was learned, and the label sets."""
    noted, learner = [], model()
    rounds = learner.begin(X, y)
    every = np.arange(len(X))
    learner._learn(rounds, every, lambda one, _: noted.append((one.theta, one.truth)), SCORES)
    return tuple(np.concatenate(part) for part in zip(*noted, strict=True))


def test_the_loss_curve_is_of_rows_before_they_were_learned():
    X, y = data()
    curve = model(max_iter=2, shuffle=False).fit(X, y).loss_curve_
    stream = model()
    played = stream.play_and_learn(stream.begin(X, y), np.arange(len(X)))
    assert curve[0, 1] == pytest.approx(played.target.mean(), rel=1e-12)
    result = sk.evaluation.progressive_validate(model(), X, y, play="randomized")
    assert result.target_loss.mean() == pytest.approx(curve[0, 1], rel=1e-12)


def test_rows_behind_one_that_is_refused_are_not_learned():
    X, y = data()
    refused, wanted = model(standardize=False), model(standardize=False)
    rounds = refused.begin(X, y)
    X[30] = 1e200
    with pytest.raises(ValueError, match="Row 30"):
        refused.learn(rounds._replace(rows=Rows.from_array(X)), np.arange(len(X)))
    wanted.learn(wanted.begin(X[:30], y[:30]), np.arange(30))
    assert refused.t_ == wanted.t_ == 30
    assert_same(refused, wanted)


def test_means_of_shards_have_the_mean_calibration():
    X, y = data()
    shards = [model().partial_fit(X[i::2], y[i::2]) for i in range(2)]
    merged, before = sk.average_fitted(shards, weights=[1.0, 3.0]), pickle.dumps(shards)
    wanted = 0.25 * shards[0]._calibrator.state + 0.75 * shards[1]._calibrator.state
    np.testing.assert_allclose(merged._calibrator.state, wanted)
    assert merged.predict(X).shape == y.shape and pickle.dumps(shards) == before
