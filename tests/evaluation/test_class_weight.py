"""Class weights in progressive validation: learned as in partial_fit, certified unweighted."""

import numpy as np
import pytest
from learners import SHIPPED
from naive import risk_bounds
from naive.standardize import standardized
from sklearn.base import clone

from benchmarks.adversaries import GreedyAdversary, play
from skstructured import GuaranteeError, MulticlassPerceptron, OnlineStructuredPredictor
from skstructured.evaluation import progressive_validate
from skstructured.spaces import Simplex
from skstructured.streaming import array_chunks, fit_chunks

WEIGHTS = {0: 1.0, 1: 9.0, 2: 0.5}
NAMES = [f"default{kind}" for kind in ("", " gaptron", " perceptron", " pistol")]
NAMES += ["uniform average", "kernel", "kernel descent", "kernel perceptron"]
LEARNERS = {name: SHIPPED[name] for name in NAMES}
LEARNERS |= {"ordinal": OnlineStructuredPredictor("ordinal")}
every_learner = pytest.mark.parametrize("name", LEARNERS)


def noisy(n=60, K=3, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.randn(n, 3)
    y = np.argmax(X[:, :K] + rng.randn(n, K), axis=1)
    y[:K] = np.arange(K)
    return X, y


def scores(model, X):
    return np.asarray(getattr(model, "decision_function", model.predict)(X))


@every_learner
@pytest.mark.parametrize("batch_size", [1, 7])
def test_they_are_learned_as_in_partial_fit(name, batch_size):
    X, y = noisy()
    model = clone(LEARNERS[name]).set_params(class_weight=WEIGHTS)
    wanted = clone(model).partial_fit(X, y, classes=[0, 1, 2])
    plain = clone(LEARNERS[name]).partial_fit(X, y, classes=[0, 1, 2])
    assert np.abs(scores(plain, X) - scores(wanted, X)).max() > 1e-3
    chunks = array_chunks(X, y, 25)
    for rows in ((X, y), (chunks,)):
        result = progressive_validate(
            model, *rows, batch_size=batch_size, classes=[0, 1, 2], play="randomized"
        )
        np.testing.assert_allclose(scores(result.estimator, X), scores(wanted, X), rtol=1e-9)


@every_learner
def test_nonsense_is_refused_by_name(name):
    X, y = noisy(12)
    for given, message in (
        ("balanced", "class_weight='balanced' is only supported by fit"),
        ("even", "class_weight must be a dict"),
        ({0: -1.0}, "sample_weight times class_weight must be 0 or lie between"),
        ({0: np.nan}, "sample_weight times class_weight must be 0 or lie between"),
        ({7: 1.0}, "class_weight"),
        (np.ones(3), "class_weight must be a dict"),
    ):
        model = clone(LEARNERS[name]).set_params(class_weight=given)
        for rows in ((X, y), (array_chunks(X, y, 5),)):
            with pytest.raises(ValueError, match=message):
                progressive_validate(model, *rows, classes=[0, 1, 2], play="randomized")
    sets = OnlineStructuredPredictor("hypercube", class_weight={0: 2.0})
    with pytest.raises(
        ValueError, match="class_weight is only supported for classes; got .* Hypercube"
    ):
        progressive_validate(sets, X, np.eye(3, dtype=int)[y])


def test_a_chunk_may_lack_the_classes_that_have_weights():
    X, y = noisy()
    order = np.argsort(y, kind="stable")
    model = OnlineStructuredPredictor(class_weight={2: 5.0})
    wanted = clone(model).partial_fit(X[order], y[order], classes=[0, 1, 2])
    chunks = array_chunks(X[order], y[order], 6)
    validated = progressive_validate(model, chunks, classes=[0, 1, 2], play="randomized").estimator
    for part in (validated, fit_chunks(clone(model), chunks, classes=[0, 1, 2])):
        np.testing.assert_array_equal(part.coef_, wanted.coef_)


@pytest.mark.parametrize("average", [False, "polynomial"])
def test_the_risk_is_that_of_unweighted_losses(average):
    X, y = noisy(80)
    model = OnlineStructuredPredictor(
        optimizer="ogd", decoder="nearest", class_weight=WEIGHTS, average=average
    )
    result = progressive_validate(model, X, y)
    twin, losses = clone(model), [0.5]
    for t in range(1, 80):
        twin.partial_fit(X[t - 1 : t], y[t - 1 : t], [0, 1, 2])
        losses.append(np.mean(twin.predict(X[t : t + 1]) != y[t]))
    np.testing.assert_array_equal(result.expected_target_loss[1:], losses[1:])
    wanted = risk_bounds(losses[40:], 0.1, 40)[1][-1]
    assert result.risk_bound(0.1) == pytest.approx(wanted, rel=1e-12)
    parts = progressive_validate(model, array_chunks(X, y, 20), delta=0.2)
    assert 0.0 < parts.risk_bound() <= 1.0


def test_what_is_played_may_not_know_the_class_by_its_weight():
    X, y = noisy()
    for model in (OnlineStructuredPredictor(optimizer="ogd"), MulticlassPerceptron()):
        for rows in ((X, y), (array_chunks(X, y, 20),)):
            model.set_params(class_weight=WEIGHTS)
            result = progressive_validate(model, *rows, play="randomized")
            with pytest.raises(GuaranteeError, match="class_weight reveals the class"):
                result.risk_bound()
            assert (
                progressive_validate(model, *rows, batch_size=2, play="randomized").risk_bound()
                <= 1.0
            )
            model.set_params(class_weight=dict.fromkeys(range(3), 4.0))  # they tell nothing
            assert progressive_validate(model, *rows, play="randomized").risk_bound() <= 1.0


@pytest.mark.parametrize("average", [False, "polynomial"])
def test_the_regret_bound_weighs_both_sums_as_they_were_learned(average):
    X, y = noisy(50)
    w = np.array([0.0, 9.0, 0.5])[y]
    model = OnlineStructuredPredictor(
        optimizer="ogd", class_weight={0: 0.0, 1: 9.0, 2: 0.5}, average=average, standardize=False
    )
    result = progressive_validate(model, X, y, play="randomized")
    np.testing.assert_allclose(result.weight, w / w.mean(), rtol=1e-12)
    U = 0.3 * np.random.RandomState(1).randn(3, 4)
    twin = clone(model).partial_fit(X, y, classes=[0, 1, 2])
    sums = [w @ result.comparator_loss(U), np.linalg.norm(U)]
    wanted = twin.certificate().bound(*sums) / w.mean()
    assert result.regret_bound(U) == pytest.approx(wanted, rel=1e-12)
    assert result.weight @ result.expected_target_loss <= result.regret_bound()


def test_comparators_see_rows_as_they_were_standardised():
    X, y = noisy(50)
    model = OnlineStructuredPredictor(optimizer="ogd", class_weight=WEIGHTS, standardize="moments")
    result = progressive_validate(model, X, y, play="randomized")
    Z, _ = standardized(X, np.array([1.0, 9.0, 0.5])[y], True)
    compared = result.estimator.comparison(result.rounds).X
    np.testing.assert_allclose(compared, Z, rtol=1e-6, atol=1e-9)


def test_adaptive_adversaries_learn_with_them_too():
    space = Simplex().fit([0, 1, 2])
    model = OnlineStructuredPredictor(optimizer="ogd", class_weight=WEIGHTS, average=False)
    result = play(model, GreedyAdversary(12, random_state=0), space)
    y = space.decode(space.unpack(result.rounds.packed))
    twin = clone(model).partial_fit(result.rounds.X, y, classes=[0, 1, 2])
    np.testing.assert_allclose(result.estimator.coef_, twin.coef_, rtol=1e-12)
    np.testing.assert_array_equal(result.rounds.weight, np.array([1.0, 9.0, 0.5])[y])
