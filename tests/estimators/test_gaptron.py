"""Gaptron and the Perceptron in full information."""

import math
import pickle

import naive
import numpy as np
import pytest
from conftest import INTERPRETED
from plain import gaptron, perceptron, predictor
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from streams import noisy_classes

from benchmarks.adversaries import (
    Drifting,
    GreedyAdversary,
    LabelNoise,
    Separable,
    play,
)
from skstructured import (
    GuaranteeError,
)
from skstructured._engine.state import OWN
from skstructured.decoders import Randomized
from skstructured.decoders.rules import GapDecoder
from skstructured.evaluation import progressive_validate
from skstructured.losses.gap import GapSurrogate
from skstructured.spaces import Simplex

KINDS = ("logistic", "hinge", "smooth_hinge")


@pytest.mark.parametrize("radius", [None, 0.3])
@pytest.mark.parametrize("K", [2, 4, 9])
@pytest.mark.parametrize("kind", KINDS)
def test_rounds_equal_the_literal_learner(kind, K, radius, rng):
    X, y = noisy_classes(rng, 60 if INTERPRETED else 300, K=K)
    model = gaptron(kind, radius=radius, fit_intercept=False)
    result = progressive_validate(model, X, y, play="randomized")
    theta, p, W = naive.gaptron(kind, K, X, y, radius or math.inf)
    np.testing.assert_allclose(result.estimator.coef_, W, atol=1e-10)
    np.testing.assert_allclose(result.expected_target_loss, 1 - p[np.arange(len(y)), y], atol=1e-10)
    wanted = [naive.gap_surrogate(kind, t, label)[0] for t, label in zip(theta, y, strict=True)]
    plain = result.surrogate_loss  # the plain hinge: zeroing is the learner's own affair
    assert np.all(plain >= np.array(wanted) - 1e-10)
    if kind != "hinge":
        np.testing.assert_allclose(plain, wanted, atol=1e-10)
    csr = clone(model).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(csr.coef_, W, atol=1e-10)
    np.testing.assert_allclose(result.estimator.decoding_proba(X[:5]).sum(axis=1), 1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_kernels_equal_the_literal_surrogates(kind, rng):
    K = 5
    loss = GapSurrogate(Simplex().fit(np.arange(K)), kind)
    theta = np.vstack([rng.randn(40, K), np.zeros((1, K)), 1e9 * rng.randn(3, K)])
    y = rng.randint(K, size=len(theta))
    V, gaps = np.eye(K)[y], loss.gaps(theta)
    values, gradient = loss.value_and_gradient(theta, V)
    for i, (row, label) in enumerate(zip(theta, y, strict=True)):
        value, g, a = naive.gap_surrogate(kind, row, label)
        assert gaps[i] == pytest.approx(a, abs=1e-12)
        if kind == "hinge":
            value = max(1 - naive.margins(row)[label], 0.0)
            g = g if value == 0 or np.any(g) else gradient[i]
        assert values[i] == pytest.approx(value, rel=1e-9)
        np.testing.assert_allclose(gradient[i], g, atol=1e-9)
    assert loss.mean(theta).sum(axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize("adversary", [LabelNoise, Drifting, Separable, GreedyAdversary])
@pytest.mark.parametrize("decoder", ["gap", "randomized"])
@pytest.mark.parametrize("kind", KINDS)
def test_bound_holds_against_every_adversary(kind, decoder, adversary):
    if decoder == "randomized" and kind != "logistic":
        model = gaptron(kind, decoder=decoder).fit([[0.0], [1.0]], [0, 1])
        with pytest.raises(GuaranteeError, match="No bound is known for loss="):
            model.certificate()
        return
    space = Simplex().fit(np.arange(5))
    n = 25 if INTERPRETED else (80 if adversary is GreedyAdversary else 500)
    for seed in range(3):
        stream = adversary(n_rounds=n, n_features=4, random_state=seed)
        result = play(gaptron(kind, decoder=decoder), stream, space, random_state=seed)
        assert result.expected_target_loss.sum() <= result.regret_bound()


def test_the_randomized_decoder_brings_the_learner_without_the_factor_k(rng):
    X, y = noisy_classes(rng, K=6)
    mine = progressive_validate(gaptron(decoder="randomized"), X, y, play="randomized")
    known = progressive_validate(predictor(), X, y, play="randomized")
    np.testing.assert_array_equal(mine.estimator.coef_, known.estimator.coef_)
    np.testing.assert_array_equal(mine.expected_target_loss, known.expected_target_loss)
    gap = progressive_validate(gaptron(), X, y, play="randomized")
    U = 0.3 * known.best_comparator()
    ratio = gap.estimator.certificate().quadratic / known.estimator.certificate().quadratic
    assert ratio == pytest.approx(2 * 6 * (1 - math.log(2)))
    assert gap.comparator_loss(U) == pytest.approx(known.comparator_loss(U))


def test_every_loss_is_searched_with_every_decoder(rng):
    X, y = noisy_classes(rng, n=60, K=3)
    grid = {"loss": KINDS, "decoder": ["gap", "map", "nearest", "randomized", "sampled"]}
    search = GridSearchCV(gaptron(), grid, cv=2, error_score="raise").fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_surrogate_losses_are_those_that_are_learned(rng):
    """The hinge of Table 1 is 0 for sure predictions; comparators have the plain one."""
    X, y = noisy_classes(rng, K=4)
    result = progressive_validate(gaptron("hinge"), X, y, play="randomized")
    C_sq = (X**2).sum(axis=1).max() + 1.0
    model = gaptron("hinge", feature_norm=math.sqrt(C_sq))
    found, W, wanted = (
        progressive_validate(model, X, y, play="randomized"),
        np.zeros((4, X.shape[1] + 1)),
        [],
    )
    for x, label in zip(np.c_[X, np.ones(len(X))], y, strict=True):
        value, g, _ = naive.gap_surrogate("hinge", W @ x, label)
        wanted.append(value)
        W -= (1 - 1 / 4) / (4 * C_sq) * np.outer(g, x)
    np.testing.assert_allclose(found.surrogate_loss, wanted, atol=1e-9)
    U = np.c_[np.eye(4, X.shape[1]), np.zeros(4)]
    theta = X @ U[:, :-1].T
    plain = [max(1.0 - naive.margins(row)[label], 0.0) for row, label in zip(theta, y, strict=True)]
    np.testing.assert_allclose(result.comparator_loss(U), plain, atol=1e-12)


def test_bounds_are_the_printed_formulas(rng):
    X, y = noisy_classes(rng, K=4)
    C_sq, K, U = (X**2).sum(axis=1).max() + 1.0, 4, rng.randn(4, 6)
    norm_sq = np.linalg.norm(U) ** 2
    for kind, regret in (
        ("logistic", K * C_sq * norm_sq / math.log(2)),
        ("hinge", K**2 * C_sq * norm_sq / (2 * (K - 1))),
        ("smooth_hinge", 2 * K * C_sq * norm_sq),
    ):
        result = progressive_validate(gaptron(kind), X, y, play="randomized")
        wanted = result.comparator_loss(U).sum() + regret
        assert result.regret_bound(U) == pytest.approx(wanted)


def test_configurations_without_a_theorem_say_so(rng):
    X, y = noisy_classes(rng)
    with pytest.raises(GuaranteeError, match="No bound is known for loss="):
        gaptron(decoder="nearest").fit(X, y).certificate()
    foreign = predictor(decoder=GapDecoder()).fit(X, y)
    with pytest.raises(GuaranteeError, match="No regret bound for the decoder GapDecoder"):
        foreign.certificate()


@pytest.mark.parametrize(
    ("fitted", "changed"),
    [
        ({"decoder": "randomized"}, {"decoder": "gap"}),
        ({"decoder": "gap"}, {"decoder": "randomized"}),
        ({"decoder": "gap"}, {"decoder": "nearest"}),
        ({"decoder": "nearest"}, {"decoder": "gap"}),
        ({"loss": "logistic"}, {"loss": "hinge"}),
        ({"loss": "hinge"}, {"loss": "logistic"}),
        ({"decoder": Randomized()}, {"decoder": "gap", "loss": "smooth_hinge"}),
    ],
)
def test_changed_parameters_wait_for_the_next_fit(fitted, changed, rng):
    """Loss and decoder chose the surrogate and its steps: what was learned is played with them."""
    X, y = noisy_classes(rng, 40, K=3)

    def seen(model):
        """All that a model says, its theorem or the lack of one included."""
        try:
            theorem = repr(model.certificate())
        except GuaranteeError as error:
            theorem = str(error)
        said = [model.predict(X), model.sample(X, random_state=0), model.decoding_proba(X)]
        said += [model.expected_target_loss(X, y)]
        return theorem, [*said, model.predict_proba(X)] if hasattr(model, "predict_proba") else said

    def same(model, other):
        (theorem, said), (known, wanted) = seen(model), seen(other)
        assert theorem == known
        for array, expected in zip(said, wanted, strict=True):
            np.testing.assert_array_equal(array, expected)

    before = gaptron(**fitted).fit(X, y)
    model = gaptron(**fitted).fit(X, y).set_params(**changed)
    same(model, before)
    same(pickle.loads(pickle.dumps(model)), before)
    same(model.partial_fit(X, y), before.partial_fit(X, y))
    same(model.fit(X, y), gaptron(**{**fitted, **changed}).fit(X, y))


def test_a_failed_fit_leaves_the_decoder_fitted(rng):
    X, y = noisy_classes(rng, 40, K=3)
    model = gaptron().fit(X, y).set_params(decoder="randomized")
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y[:-1])
    assert model.certificate().theorem == "Gaptron, logistic"
    decoder = GapDecoder()
    model = gaptron(decoder=decoder).fit(X, y)
    assert model.decoder_ is not decoder  # the caller's
    assert model.certificate().theorem == "Gaptron, logistic"
    with pytest.raises(NotFittedError):
        gaptron().certificate()


def test_perceptron_equals_the_literal_one(rng):
    X, y = noisy_classes(rng, K=4)
    W, mistakes = np.zeros((4, 5)), []
    for x, label in zip(X, y, strict=True):
        top = int(np.argmax(W @ x))
        mistakes.append(top != label)
        W += np.outer(np.eye(4)[label] - np.eye(4)[top], x)
    result = progressive_validate(perceptron(fit_intercept=False), X, y, play="randomized")
    np.testing.assert_allclose(result.estimator.coef_, W, atol=1e-10)
    np.testing.assert_array_equal(result.target_loss, mistakes)
    np.testing.assert_array_equal(result.surrogate_loss, mistakes)
    assert not hasattr(perceptron(), "predict_proba")
    entries = result.estimator.optimizer_.entries
    assert (
        len(result.estimator.model_.state.vector) == OWN + entries
    )  # the epoch writes there unchecked


def test_probabilities_are_those_of_the_logistic_loss(rng):
    X, y = noisy_classes(rng)
    model = gaptron().fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert not hasattr(gaptron("hinge"), "predict_proba")
    played = model.decoding_proba(X)
    wanted = GapDecoder().expected_vertex(model.decision_function(X), p, model.loss_)
    np.testing.assert_allclose(played, wanted)
    other = clone(model).set_params(decoder=Randomized()).fit(X, y)
    assert other.decoding_proba(X).shape == p.shape


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (gaptron("squared"), r"loss must be one of 'logistic', .*, got 'squared'"),
        (gaptron(radius=-1), r"radius must be a positive number, got -1"),
        (gaptron(feature_norm=0), r"feature_norm must be a positive number, got 0"),
        (gaptron(decoder="best"), r"decoder='best' is not known"),
    ],
)
def test_bad_parameters_are_named(model, message, rng):
    X, y = noisy_classes(rng)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y).predict(X)


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_comparator_is_better_than_none(kind):
    """Also of the hinges, which are not smooth where all scores tie."""
    n = 200 if INTERPRETED else 2000
    X, y = LabelNoise(n, random_state=0).draw(Simplex().fit(np.arange(4)))
    result = progressive_validate(gaptron(kind), X, y, play="randomized")
    zero = result.regret_bound(np.zeros((4, 6)))
    share = 0.95 if INTERPRETED else 0.9  # of few rounds the regret is a larger part
    assert result.expected_target_loss.sum() <= result.regret_bound() < share * zero
