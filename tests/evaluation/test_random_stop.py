"""A learner as it was before a round drawn at random: `random_stop`."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge

import skstructured as sk
from skstructured.evaluation import random_stop

LEARNERS = {
    "folklore": sk.FolkloreClassifier(),
    "linear": sk.OnlineStructuredPredictor(),
    "perceptron": sk.SecondOrderPerceptron(),
    "bandit": sk.BanditronClassifier(random_state=0),
}


def rows(n=60):
    X = np.random.RandomState(3).randn(n, 4)
    return X, np.argmax(X[:, :3], axis=1)


@pytest.mark.parametrize("name", LEARNERS)
def test_it_knows_the_rounds_before_the_one_drawn(name):
    X, y = rows()
    stopped = random_stop(LEARNERS[name], X, y, random_state=5)
    rng = np.random.RandomState(5)
    order, stop = rng.permutation(60), rng.choice(60)
    assert stopped.t_ == stop
    if name != "bandit":  # which draws its actions
        wanted = clone(LEARNERS[name]).partial_fit(X[order[:stop]], y[order[:stop]], [0, 1, 2])
        np.testing.assert_allclose(
            stopped.decision_function(X), wanted.decision_function(X), atol=1e-9
        )


def test_rounds_are_drawn_by_their_weights():
    """Each as often as its share of all weights, and those of weight 0 never."""
    X, y = rows(5)
    y[:3] = [0, 1, 2]
    weight, counts = np.array([0.0, 0.5, 1.0, 0.0, 6.5]), np.zeros(5)
    for seed in range(800):
        rng = np.random.RandomState(seed)
        order = rng.permutation(5)
        model = random_stop(
            sk.FolkloreClassifier(), X, y, [0, 1, 2], sample_weight=weight, random_state=seed
        )
        counts[order[model.t_]] += 1
    share = weight / weight.sum()
    assert (np.abs(counts / 800 - share) <= 4.0 * np.sqrt(share * (1 - share) / 800)).all()


def test_its_expected_loss_on_new_rows_is_the_mean_of_the_rounds():
    """Over orders and rounds, as online-to-batch conversion has it."""
    rng, risk, played = np.random.RandomState(0), [], []
    X = rng.randn(4000, 2)
    y = (X[:, 0] + rng.randn(4000) > 0).astype(int)
    for seed in range(150):
        part = rng.choice(2000, 40, replace=False)
        model = random_stop(sk.FolkloreClassifier(), X[part], y[part], [0, 1], random_state=seed)
        risk.append(-model.predict_log_proba(X[2000:])[np.arange(2000), y[2000:]].mean())
        learner = sk.FolkloreClassifier()
        rounds = learner.begin(X[part], y[part], [0, 1])
        order = np.random.RandomState(seed).permutation(40)
        played.append(learner.play_and_learn(rounds, order).surrogate.mean() * np.log(2.0))
    apart = np.mean(risk) - np.mean(played)
    assert abs(apart) <= 4.0 * np.hypot(np.std(risk), np.std(played)) / np.sqrt(150)


def test_bad_input_is_refused():
    X, y = rows()
    with pytest.raises(ValueError, match="positive sum, got zeros"):
        random_stop(sk.FolkloreClassifier(), X, y, sample_weight=np.zeros(60))
    with pytest.raises(ValueError, match="sample_weight"):
        random_stop(sk.FolkloreClassifier(), X, y, sample_weight=-np.ones(60))
    with pytest.raises(ValueError, match="sample_weight must be None for BanditronClassifier"):
        random_stop(LEARNERS["bandit"], X, y, sample_weight=np.ones(60))
    with pytest.raises(TypeError, match="must be an OnlineLearner .*, got Ridge"):
        random_stop(Ridge(), X, y)
