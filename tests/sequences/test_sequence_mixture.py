"""The mixture of steps over label sequences: against its literal form, its bound, and its parts."""

import math
import pickle

import naive
import numpy as np
import pytest
from conftest import INTERPRETED
from naive import mixture as literal
from scipy import sparse

from skstructured import OnlineStructuredPredictor
from skstructured._base.ragged import Ragged
from skstructured.optimizers import GradientDescent, ParameterFree, StepMixture
from skstructured.optimizers.step_mixture import RelativeStep, RootStep

K, SHARES = 3, ("thinning", 0.02)
STEPS, ADAPTIVE = (2.0, 20.0), (0.5, 3.0)


def sequences(seed=0, n=60, p=4, longest=5):
    rng = np.random.RandomState(seed)
    lengths = rng.randint(1, longest, size=n)
    return [rng.randn(m, p) for m in lengths], [rng.randint(K, size=m) for m in lengths]


def mixture(**given):
    return StepMixture(**{"steps": STEPS, "adaptive": ADAPTIVE, "share": SHARES, **given})


def learner(optimizer=None, **given):
    optimizer = mixture() if optimizer is None else optimizer
    given = {"standardize": False, "random_state": 0} | given
    return OnlineStructuredPredictor("sequence", optimizer=optimizer, **given)


def learned(model, X, y, weight=None, parts=1):
    """A stream in several chunks."""
    weight = np.ones(len(X)) if weight is None else weight
    for part in np.array_split(np.arange(len(X)), parts):
        rows, labels = [X[i] for i in part], [y[i] for i in part]
        model.partial_fit(rows, labels, classes=range(K), sample_weight=weight[part])
    return model


def literal_of(X, y, weight, average):
    features = X[0].shape[1] + 1 + 2 + K
    shape = (features, K)
    experts = [literal.RelativeStep(shape, eta) for eta in STEPS]
    experts += [literal.RootStep(shape, length) for length in ADAPTIVE]
    experts.append(literal.Other(naive.ParameterFree(shape, 1.0, 100.0)))
    return literal.play_sequences(experts, X, y, K, weight, SHARES, average)


def play(model, X, y, weight):
    """Scores of every round, one row of positions and then steps for each, as they are learned."""
    rounds = model.begin(X, y, range(K))._replace(weight=weight)
    played = []
    model._learn(rounds, np.arange(len(X)), lambda block, _: played.append(block.theta), 2)
    theta = model._model.concatenated(played)
    found = []
    for i in range(len(X)):
        one = theta.one(i)
        found.append(np.concatenate([one.unary.ravel(), one.pair[: X[i].shape[0] - 1].ravel()]))
    return found


@pytest.mark.parametrize("average", ["polynomial", "uniform", False])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_it_equals_the_literal_mixture(storage, average):
    X, y = sequences(n=12 if INTERPRETED else 60)
    weight = np.random.RandomState(1).choice([0.0, 0.3, 1.0, 5.0], size=len(X))
    weight[0] = 1.0
    played, losses, u, after = literal_of(X, y, weight, average)
    model = learner(average=average)
    found = play(model, [storage(x) for x in X], y, weight)
    for one, wanted in zip(found, played, strict=True):
        np.testing.assert_allclose(one, wanted, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(model._model.state.shares[0], u, atol=1e-9)
    np.testing.assert_allclose(model.expert_losses_, losses, rtol=1e-9)
    W = model._model.weights(bool(average))
    np.testing.assert_allclose(W[:, :-K].T, after[:-K], atol=1e-8)


@pytest.mark.parametrize(
    "regularizer", ["shannon", pytest.param("squared", marks=pytest.mark.exhaustive)]
)
@pytest.mark.parametrize(
    ("given", "alone"),
    [
        ({"steps": (3.0,), "adaptive": (), "others": ()}, RelativeStep(3.0)),
        ({"steps": (), "adaptive": (0.7,), "others": ()}, RootStep(0.7)),
        ({"steps": (), "adaptive": (), "others": ("parameter_free",)}, ParameterFree()),
        ({"steps": (), "adaptive": (), "others": ("adaptive",)}, "adaptive"),
        ({"steps": (), "adaptive": (), "others": ("pistol",)}, "pistol"),
    ],
)
def test_of_one_expert_it_is_that_expert(given, alone, regularizer):
    X, y = sequences(n=10 if INTERPRETED else 300)
    of = {"regularizer": regularizer, "standardize": True}
    one = learned(learner(StepMixture(**given, averages=False), **of), X, y)
    other = learned(learner(alone, average=False, **of), X, y)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.transitions_, other.transitions_, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(one._model.state.numbers, other._model.state.numbers)
    both = StepMixture(**given)
    averaged = learned(learner(both, average="uniform", **of), X, y)
    averaged._model.state.shares[:] = np.array([0.0, 1.0]) / 3.0  # the average alone
    wanted = learned(learner(alone, average="uniform", **of), X, y)
    np.testing.assert_allclose(averaged.coef_, wanted.coef_, rtol=1e-7, atol=1e-10)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("standardize", [True, False])
def test_chunks_copies_and_pickles_learn_the_same(standardize, storage):
    X, y = sequences(n=12 if INTERPRETED else 200)
    X = [storage(x) for x in X]
    weight = np.random.RandomState(2).choice([0.0, 0.5, 2.0], size=len(X))
    weight[0] = 1.0
    whole = learned(learner(standardize=standardize), X, y, weight)
    parts = learned(learner(standardize=standardize), X[:6], y[:6], weight[:6], 3)
    parts = learned(pickle.loads(pickle.dumps(parts)), X[6:], y[6:], weight[6:], 4)
    for name in ("Theta", "vectors", "shares", "totals", "sums", "numbers"):
        left, right = (getattr(model._model.state, name) for model in (whole, parts))
        np.testing.assert_array_equal(left, right)
    twin = parts._model.copy()
    twin.learn(parts._with_outputs(parts._read(X[:1]), y[:1]), np.arange(1), np.ones(1), 0)
    np.testing.assert_array_equal(parts._model.state.Theta, whole._model.state.Theta)


def test_predictions_are_what_the_next_round_plays():
    X, y = sequences(n=40)
    model = learned(learner(mixture(others=())), X[:30], y[:30])
    batch = model._with_outputs(model._read(X[30:31]), y[30:31])
    predicted = model._model.scores(batch, True)
    theta, stopped = model._model.upcoming(X[30:31], None, np.ones(1))
    assert stopped == -1
    np.testing.assert_allclose(predicted.unary, theta.unary, atol=1e-12)
    np.testing.assert_allclose(predicted.pair[0], theta.pair[0], atol=1e-12)


def test_it_loses_no_more_than_any_expert_and_the_overhead():
    """Labels are chosen against what is played; the overhead is its literal formula."""
    X, _ = sequences(n=20 if INTERPRETED else 400)
    model, total = learner(), 0.0
    learned(model, X[:1], [np.zeros(len(X[0]), dtype=int)])
    first = model.expert_losses_
    for t in range(1, len(X)):
        theta, _ = model._model.upcoming(X[t : t + 1], None, np.ones(1))
        worst = [np.argmin(theta.unary, axis=1)] if t % 5 else [np.zeros(len(X[t]), dtype=int)]
        truth = Ragged.from_lengths(worst[0], [len(X[t])])
        total += model.loss_.value(theta, truth)[0] / model.loss_.scale_
        model.partial_fit(X[t : t + 1], worst)
    state = model._model.state
    _, rates, experts = state.shares.shape
    overhead = model.certificate().constants["overhead"]
    wanted = state.totals[2] * (2.0 + 3.8 / math.log(rates * experts))
    assert overhead == pytest.approx(wanted) and experts == 10
    least = (model.expert_losses_ - first).min()
    assert least - overhead < total <= least + overhead


def test_the_certificate_is_that_of_the_bettor_and_the_overhead():
    X, y = sequences(n=20 if INTERPRETED else 200)
    model = learned(learner("mixture"), X, y)
    alone = learned(learner("parameter_free"), X, y)
    found, loss = model.certificate(), model._model.certified_loss()
    price = (1.0 - loss.constants_of().a) * loss.scale_ * found.constants["overhead"]
    for norm in (0.0, 2.0):
        assert found.regret(norm) == pytest.approx(alone.certificate().regret(norm) + price)


def test_streams_of_sequences_mix_steps_and_passes_do_not():
    X, y = sequences(n=30)
    stream = learned(learner("auto"), X, y)
    assert stream.expert_names_[6] == "ParameterFree(wealth=10000.0)"
    assert len(stream.expert_names_) == len(stream.expert_weights_) == 14
    assert "RelativeStep(eta=256.0)" in stream.expert_names_
    passes = learner("auto", max_iter=2).fit(X, y)
    assert isinstance(passes.optimizer_, ParameterFree)
    with pytest.raises(AttributeError, match="experts are set by"):
        _ = passes.expert_weights_


def test_steps_that_need_the_lengths_are_refused():
    X, y = sequences(n=3)
    for other in ("ogd", GradientDescent(eta=0.1)):
        with pytest.raises(ValueError, match='others must not have "ogd" over sequences'):
            learner(StepMixture(others=(other,))).fit(X, y)
