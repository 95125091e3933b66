"""Two classes: mistakes and expected losses by enumeration, risk bounds against the literal."""

import naive.risk as literal
import numpy as np
import pytest
from learners import binary_stream
from sklearn.base import clone

import skstructured as sk
from skstructured.evaluation import progressive_validate
from skstructured.spaces.hypercube import Signs

ONE = {"standardize": False, "average": False, "random_state": 0}
LINEAR, BOUNDED = sk.Kernel("linear", fit_intercept=False), sk.optimizers.PiSTOL(feature_norm=10.0)
#: Learners whose play at a row is `predict` there: rows of one length say nothing of themselves.
DECIDED = {
    "pistol": sk.PiSTOLClassifier(LINEAR, optimizer=BOUNDED, loss="smooth_hinge", **ONE),
    "pistol, logistic": sk.PiSTOLClassifier(LINEAR, optimizer=BOUNDED, **ONE),
    "pistol, rbf": sk.PiSTOLClassifier("rbf", 0.5, loss="hinge", **ONE),
    "descent": sk.AveragedKernelSGDClassifier(gamma=0.5, **ONE),
    "perceptron": sk.KernelPerceptronClassifier(gamma=0.5, **ONE),
    "structured": sk.KernelStructuredPredictor(gamma=0.5, decoder="map", **ONE),
    "structured, squared": sk.KernelStructuredPredictor(
        gamma=0.5, decoder="nearest", regularizer="squared", **ONE
    ),
    "linear": sk.OnlineStructuredPredictor(
        decoder="map", optimizer="ogd", fit_intercept=False, **ONE
    ),
}
DELTA = 0.1


@pytest.mark.parametrize("name", DECIDED)
def test_mistakes_by_hand_are_what_is_expected_and_what_the_risk_bound_is_of(name):
    X, y = binary_stream(60)
    model, classes = DECIDED[name], np.unique(y)
    result = progressive_validate(model, X, y, classes=classes, random_state=0, play="randomized")
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
