"""What a fitted estimator keeps: through errors, changed parameters, weights, odd storage."""

from copy import deepcopy

import joblib
import naive.risk as literal
import numpy as np
import pytest
from conftest import INTERPRETED
from learners import SHIPPED, binary_stream
from plain import bandit_gaptron, predictor, second_order
from scipy import sparse
from sklearn.base import clone
from streams import two_classes

import skstructured as sk
from skstructured.evaluation import progressive_validate
from skstructured.optimizers import GradientDescent, PiSTOL
from skstructured.optimizers.pistol import CAPPED
from skstructured.spaces.hypercube import Signs


@pytest.mark.parametrize("optimizer", ["parameter_free", "pistol", PiSTOL(per_coordinate=True)])
def test_weights_change_the_scale_of_gradients_alone(optimizer, rng):
    X, y = two_classes(rng)
    light, heavy = (
        np.abs(predictor(optimizer=optimizer).fit(X, y, np.full(len(X), w)).coef_).max()
        for w in (1.0, 100.0)
    )
    assert heavy <= 1.5 * light


def test_a_capped_exponent_warns_and_has_no_certificate():
    X, y = np.ones((300, 2)), np.ones(300, dtype=int)
    model = predictor(optimizer=PiSTOL(1e-6, per_coordinate=True))
    with pytest.warns(sk.GuaranteeWarning, match="cut off"):
        model.partial_fit(X, y, classes=[0, 1])
    model = predictor(optimizer=PiSTOL(a=2.25, feature_norm=2.0), fit_intercept=False)
    model.partial_fit(X, y, classes=[0, 1])
    assert model.certificate().regret(1.0) > 0.0
    model._state.vector[CAPPED] = 1.0
    with pytest.raises(sk.GuaranteeError, match="cut off"):
        model.certificate()


@pytest.mark.parametrize("fitted", [True, False])
def test_the_intercept_is_that_of_the_fit(fitted, rng):
    X, y = two_classes(rng)
    for model in (
        predictor(fit_intercept=fitted),
        bandit_gaptron(radius=2.0, fit_intercept=fitted, random_state=0),
        second_order(fit_intercept=fitted),
    ):
        model.fit(X, y)
        before, intercept = model.decision_function(X), model.intercept_
        model.set_params(fit_intercept=not fitted)
        np.testing.assert_array_equal(model.decision_function(X), before)
        np.testing.assert_array_equal(model.intercept_, intercept)
        assert np.any(intercept != 0.0) == fitted
        model.partial_fit(X, y)
        assert model.coef_.shape[1] == X.shape[1]


class Raising(sk.spaces.KSubsets):
    """An oracle in Python that raises when told to."""

    oracle_kernel = None
    calls = np.inf

    def argmax(self, theta):
        Raising.calls -= 1
        if Raising.calls < 0:
            raise RuntimeError("the oracle broke")
        return super().argmax(theta)


def test_an_oracle_that_raises_leaves_weights_and_state(rng):
    X, Y = rng.randn(12, 3), np.eye(4, dtype=int)[rng.randint(4, size=12)]
    model = predictor(space=Raising(1)).partial_fit(X, Y)
    before, state = model.last_weights_, model._state.vector.copy()
    Raising.calls = 10**6
    deepcopy(model).partial_fit(X, Y)
    Raising.calls = (10**6 - Raising.calls) // 2  # about half of the rounds are learned
    try:
        with pytest.raises(RuntimeError, match="broke"):
            model.partial_fit(X, Y)
    finally:
        Raising.calls = np.inf
    np.testing.assert_array_equal(model.last_weights_, before)
    np.testing.assert_array_equal(model._state.vector, state)
    assert model.t_ == 12


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_an_interruption_leaves_the_blocks_learned(error, rng, monkeypatch):
    X, y = two_classes(rng, n=10_000)
    model = predictor(average="uniform").partial_fit(X[:50], y[:50], classes=[0, 1])
    whole, unpack, blocks = clone(model), sk.spaces.Simplex.unpack, []

    def interrupted(self, packed):
        blocks.append(len(packed))
        if len(blocks) == 2:
            raise error
        return unpack(self, packed)

    monkeypatch.setattr(sk.spaces.Simplex, "unpack", interrupted)
    with pytest.raises(error):
        model.partial_fit(X, y)
    monkeypatch.undo()
    learned = model.t_ - 50
    assert learned == blocks[0] < len(X)
    model.partial_fit(X[learned:], y[learned:])
    whole.partial_fit(X[:50], y[:50], classes=[0, 1]).partial_fit(X, y)
    np.testing.assert_array_equal(model.average_weights_, whole.average_weights_)


def test_strided_csr_values_are_read(rng):
    X, y = two_classes(rng)
    Z = sparse.csr_matrix(X)
    expected = predictor().fit(Z, y).coef_
    Z.data = np.repeat(Z.data, 2)[::2]
    np.testing.assert_array_equal(predictor().fit(Z, y).coef_, expected)


@pytest.mark.parametrize("mode", ["r"] if INTERPRETED else ["r", "c", "r+"])
@pytest.mark.parametrize("learner", list(SHIPPED))
@pytest.mark.short("online-r")
def test_a_model_mapped_from_disk_goes_on_learning(learner, mode, rng, tmp_path):
    X, y = two_classes(rng)
    model = clone(SHIPPED[learner]).fit(X, y)
    joblib.dump(model, tmp_path / "model")
    file = (tmp_path / "model").read_bytes()
    scores = [model.decision_function(X)]
    for each in (model, joblib.load(tmp_path / "model", mmap_mode=mode)):
        np.testing.assert_array_equal(each.decision_function(X), scores[0])
        each.partial_fit(X, y)
        if hasattr(each, "update"):
            actions, propensities = each.choose(X[:5])
            each.update(X[:5], actions, actions == y[:5], propensities)
        scores.append(each.decision_function(X))
    np.testing.assert_array_equal(*scores[1:])
    assert (tmp_path / "model").read_bytes() == file and np.any(scores[1] != scores[0])


def test_degenerate_certificates(rng):
    fixed = predictor(optimizer=GradientDescent(eta=0.1), fit_intercept=False)
    result = sk.evaluation.progressive_validate(fixed, np.zeros((9, 2)), np.arange(9) % 2)
    assert result.expected_target_loss.sum() <= result.regret_bound() < np.inf
    X, y = two_classes(rng)
    free = predictor(optimizer="parameter_free").fit(X, y)
    assert free.certificate().regret(np.inf) == np.inf


ONE = {"standardize": False, "fit_intercept": False, "average": False, "random_state": 0}
#: Learners whose play at a row is `predict` there: rows of one length say nothing of themselves.
DECIDED = {
    "pistol": sk.PiSTOLClassifier(feature_norm=10.0, loss="smooth_hinge", **ONE),
    "pistol, logistic": sk.PiSTOLClassifier(feature_norm=10.0, **ONE),
    "pistol, rbf": sk.PiSTOLClassifier("rbf", 0.5, loss="hinge", **ONE),
    "descent": sk.AveragedKernelSGDClassifier(gamma=0.5, **ONE),
    "perceptron": sk.KernelPerceptronClassifier(gamma=0.5, **ONE),
    "structured": sk.KernelStructuredPredictor(gamma=0.5, decoder="map", **ONE),
    "structured, squared": sk.KernelStructuredPredictor(
        gamma=0.5, decoder="nearest", regularizer="squared", **ONE
    ),
    "linear": sk.OnlineStructuredPredictor(decoder="map", optimizer="ogd", **ONE),
}
DELTA = 0.1


@pytest.mark.parametrize("name", DECIDED)
def test_mistakes_by_hand_are_what_is_expected_and_what_the_risk_bound_is_of(name):
    X, y = binary_stream(60)
    model, classes = DECIDED[name], np.unique(y)
    result = progressive_validate(model, X, y, classes=classes, random_state=0, play="iterates")
    hand, wrong = clone(model), []
    hand.partial_fit(X[:1], y[:1], classes=classes, sample_weight=[0.0])
    for t in range(len(X)):
        wrong.append(float(hand.predict(X[t : t + 1])[0] != y[t]))
        hand.partial_fit(X[t : t + 1], y[t : t + 1])
    np.testing.assert_array_equal(result.target_loss, wrong)
    np.testing.assert_array_equal(result.expected_target_loss, wrong)
    bounds = literal.risk_bounds(wrong, DELTA, len(X))[1]
    assert result.risk_bound(DELTA, last=1.0) == pytest.approx(bounds[-1], rel=1e-9)


@pytest.mark.parametrize("K", [2, 3, 5])
@pytest.mark.parametrize("kind", [Signs, sk.spaces.Simplex])
def test_an_expected_loss_is_the_sum_over_classes(kind, K, rng):
    """Σ_i p_i [i ≠ j] for a draw with probabilities p, whose mean is μ = Σ p_i v_i."""
    space = kind().fit(np.arange(K))
    every, P = space.vertices(), rng.dirichlet(np.ones(K), size=20)
    for j, v in enumerate(every):
        wanted = [sum(p[i] for i in range(K) if i != j) for p in P]
        found = space.expected_loss(P @ every, np.repeat(v[None], len(P), axis=0))
        np.testing.assert_allclose(found, wanted, atol=1e-12)
