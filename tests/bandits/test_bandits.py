"""Bandit learners: literal rounds, no leaks, real feedback."""

import functools

import naive
import numpy as np
import pytest
from conftest import INTERPRETED
from learners import EVERY_LEARNER
from plain import bandit_gaptron, banditron, confidit, newtron, predictor, second_order, soba
from scipy import sparse
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB
from streams import noisy_classes

from skstructured import BanditReduction, GuaranteeWarning
from skstructured.bandits._base import invert
from skstructured.bandits._second_order import NewtronModel

KINDS = ("logistic", "hinge", "smooth_hinge")
K, P = 4, 3


def pair(model, literal, *numbers):
    """A learner, and what makes its literal form."""
    return model, functools.partial(literal, K, P, *numbers)


def gaptron(kind, *numbers):
    """Of a radius, a horizon and an exploration."""
    given = dict(zip(("radius", "horizon", "exploration"), numbers, strict=False))
    literal = functools.partial(naive.bandits.Gaptron, kind)
    return pair(bandit_gaptron(kind, **given), literal, *numbers)


#: name -> (learner, literal learner)
LEARNERS = {
    **{f"gaptron {kind}": gaptron(kind, 2.0) for kind in KINDS},
    **{f"gaptron {kind}, horizon": gaptron(kind, 0.05, 500) for kind in KINDS},
    "gaptron, no exploration": gaptron("logistic", 0.3, None, 0.0),
    "gaptron, given exploration": gaptron("hinge", 5.0, None, 0.2),
    **{f"gaptron {kind}, full ball": gaptron(kind, 0.01, None, 1.0) for kind in KINDS},
    "banditron": pair(banditron(), naive.bandits.Banditron),
    "banditron, 0.1": pair(banditron(0.1), naive.bandits.Banditron, 0.1),
    "soba": pair(soba(alpha=0.5), naive.bandits.SOBA, 0.5),
    "soba, 0.1": pair(soba(1.0, 0.1), naive.bandits.SOBA, 1.0, 0.1),
    "newtron": pair(newtron(), naive.bandits.Newtron, 10.0, 0.01, 1.0),
    "newtron, wide": pair(newtron(1.0, 0.5, 100, 0.2), naive.bandits.Newtron, 1.0, 0.5, 100, 0.2),
    "confidit": pair(confidit(), naive.bandits.Confidit, 1.0, 1.0),
    "confidit, 0.3": pair(confidit(0.3, 0.1), naive.bandits.Confidit, 0.3, 0.1),
}
ALL = {name: found[0] for name, found in LEARNERS.items()} | {
    "reduction": BanditReduction(predictor(), exploration=0.3),
    "reduction of theory": BanditReduction(predictor(), radius=0.05),
}


def stream(rng, n, noise=1.0):
    return noisy_classes(rng, n, P, K, 0.3, noise)


def fresh(name, **parameters):
    model = clone(ALL[name]).set_params(classes=np.arange(K), random_state=7)
    if "fit_intercept" in model.get_params():
        parameters = {"fit_intercept": False} | parameters
    return model.set_params(**parameters)


@pytest.mark.parametrize("name", list(LEARNERS))
def test_rounds_equal_the_literal_learner(name, rng):
    X, y = stream(rng, 60 if INTERPRETED else 400)
    model, literal = fresh(name), LEARNERS[name][1]()
    uniforms = np.random.RandomState(7).random_sample((len(X), model.draws))
    rounds = model.simulate(X, y)
    for x, label, u, action, p in zip(
        X, y, uniforms, rounds.actions, rounds.propensities, strict=True
    ):
        wanted, propensity = literal.play(x, u[0])
        assert action == wanted
        assert p == pytest.approx(propensity, rel=1e-9)
        literal.learn(wanted == label, u[-1])
    W = literal.weights()
    if "gaptron" in name:  # the weights of the next round
        literal.t += 1
        W = literal.weights()
    if "confidit" in name:  # projections are made when a row is played
        model.model_.clipped(X[0] / np.linalg.norm(X[0]))
    np.testing.assert_allclose(model.coef_, W, atol=1e-10 * max(1.0, np.abs(W).max()))
    np.testing.assert_array_equal(rounds.rewards, rounds.actions == y)
    assert model.n_mistakes_ == (rounds.rewards == 0).sum()


@pytest.mark.parametrize("name", [*(f"gaptron {kind}" for kind in KINDS), "soba", "reduction"])
def test_a_batch_counts_as_many_rounds_as_it_has_rows(name, rng):
    """Exploration after it is that of the next round: the schedules follow the round."""
    X, y = stream(rng, 40)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    given = {"radius": 0.05} if "gaptron" in name else {}
    batch, single = fresh(name, **given), fresh(name, **given).partial_fit(X[:39], y[:39])
    actions, p = batch.choose(X[:39])
    batch.update(X[:39], actions, actions == y[:39], p)
    assert batch.t_ == single.t_ == 39
    if given:
        (_, rho), (_, wanted) = (one.model_.next_round(X[39:]) for one in (batch, single))
        assert 0.0 < rho < 1.0
        assert rho == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("name", list(ALL))
def test_choices_and_updates_are_what_is_simulated(name, rng):
    """Row by row, through choose and update, dense or CSR."""
    X, y = stream(rng, 40 if INTERPRETED else 150)
    whole, loop = fresh(name), fresh(name)
    rounds = whole.simulate(X, y)
    for i in range(len(X)):
        x = X[i : i + 1] if i % 3 else sparse.csr_array(X[i : i + 1])
        action, propensity = loop.choose(x)
        assert action[0] == rounds.actions[i]
        assert propensity[0] == pytest.approx(rounds.propensities[i], rel=1e-9)
        loop.update(x, action, action == y[i], propensity)
    np.testing.assert_allclose(loop.decision_function(X), whole.decision_function(X), atol=1e-9)
    assert loop.t_ == whole.t_ == len(X)
    played = whole.decoding_proba(sparse.csr_array(X[:5]))
    np.testing.assert_allclose(played.sum(axis=1), 1.0)
    np.testing.assert_allclose(played, loop.decoding_proba(X[:5]), atol=1e-9)


@pytest.mark.parametrize("name", ["soba", "confidit", "default bandit gaptron", "reduction"])
def test_rows_that_are_chosen_for_or_predicted_do_not_count(name, rng):
    """A row far away does not change how the others are standardised before it is learned."""
    X, y = stream(rng, 60)
    model = clone(EVERY_LEARNER[name]).set_params(classes=range(K)).partial_fit(X[:50], y[:50])
    wanted = model.decision_function(X[50:]), model.decoding_proba(X[50:])
    for _ in range(3):
        model.choose(100.0 * X[50:51])
        far = model.decision_function(np.vstack([1e4 * X[50:51], X[50:]]))
        np.testing.assert_allclose(far[1:], wanted[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.decoding_proba(X[50:]), wanted[1])


def test_what_is_pickled_learns_nothing_more(rng):
    """Statistics of rows and weights of one block, while another thread learns the next."""
    X, y = rng.randn(20, 3), rng.randint(2, size=20)
    model = bandit_gaptron(radius=1.0, random_state=0).fit(X, y)
    state, rounds = model.__getstate__(), model.t_
    model.partial_fit(X, y)
    assert model.t_ == 2 * rounds and state["model_"].n_rounds == rounds


def test_draws_by_inversion():
    """A uniform number in [P_k, P_{k+1}) draws class k, P_k the probability before it."""
    P, u = np.array([[0.25, 0.0, 0.5, 0.25]] * 6), np.array([0.0, 0.2, 0.25, 0.5, 0.75, 1.0])
    np.testing.assert_array_equal(invert(P, u), [0, 0, 2, 2, 3, 3])


@pytest.mark.parametrize("name", list(ALL))
def test_labels_of_unrewarded_rounds_do_not_leak(name, rng):
    X, y = stream(rng, 60 if INTERPRETED else 400)
    first = fresh(name)
    rounds = first.simulate(X, y)
    lost = np.flatnonzero(rounds.rewards == 0)
    assert 5 < len(lost) < len(y)
    other = y.copy()
    for i in lost:
        other[i] = rng.choice([k for k in range(K) if k != rounds.actions[i]])
    assert (other != y).any()
    second = fresh(name)
    again = second.simulate(X, other)
    np.testing.assert_array_equal(rounds.actions, again.actions)
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_conjugate_gradients_end_at_the_solution_in_any_units(scale, rng):
    model, Z, mu = NewtronModel(3, 15, 1.0, 1.0, 1.0), rng.randn(60, 30), 0.3 * scale
    model._A, right = scale * Z.T @ Z, rng.randn(30)
    found = model._shifted(mu, right, np.zeros(30))
    wanted = np.linalg.solve(model._A + mu * np.eye(30), right)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-10 * np.abs(wanted).max())


def test_second_order_perceptron_is_soba_with_every_label(rng):
    X, y = stream(rng, 200)
    literal, mistakes = naive.bandits.SOBA(K, P, 2.0, 0.0), 0
    for x, label in zip(X, y, strict=True):
        literal.play(x, 0.0)
        mistakes += int(np.argmax(literal.theta)) != label
        literal.action, literal.p = label, 1.0
        literal.learn(True)
    model = second_order(alpha=2.0, fit_intercept=False).partial_fit(X[:50], y[:50], range(K))
    model.partial_fit(sparse.csr_array(X[50:]), y[50:])
    np.testing.assert_allclose(model.coef_, literal.weights(), atol=1e-10)
    assert (model.n_mistakes_, model.t_) == (mistakes, 200)
    np.testing.assert_array_equal(
        model.coef_, second_order(alpha=2.0, fit_intercept=False).fit(X, y).coef_
    )


@pytest.mark.parametrize("name", ["gaptron hinge", "banditron", "reduction"])
def test_rewards_may_be_fractions_where_the_theory_allows(name, rng):
    X, _ = stream(rng, 20)
    model = fresh(name)
    actions, propensities = model.choose(X)
    rewards = np.full(20, 0.5)
    if not model.fractional_rewards:
        with pytest.raises(ValueError, match="rewards must be 0 or 1 for this learner; row 0"):
            model.update(X, actions, rewards, propensities)
        return
    half = fresh(name).update(X, actions, rewards, np.full(20, 0.25))
    whole = fresh(name).update(X, actions, np.ones(20), np.full(20, 0.5))
    assert half.coef_.any()
    np.testing.assert_allclose(half.coef_, whole.coef_)


def test_batches_are_chosen_and_learned_with_the_weights_before_them(rng):
    X, y = stream(rng, 30)
    model = fresh("banditron, 0.1").partial_fit(X[:10], y[:10])
    W = model.coef_
    actions, p = model.choose(X[10:])
    model.update(X[10:], actions, actions == y[10:], p)
    G = np.eye(K)[np.argmax(X[10:] @ W.T, axis=1)]
    G -= np.eye(K)[actions] * ((actions == y[10:]) / p)[:, None]
    np.testing.assert_allclose(model.coef_, W - G.T @ X[10:])
    assert model.t_ == 30


def test_the_reduction_teaches_explored_and_rewarded_rounds_only(rng):
    X, y = stream(rng, 500, noise=0.1)
    model = BanditReduction(predictor(), exploration=0.5, random_state=0).fit(X, y)
    assert 0 < model.n_taught_ < 500 * 0.5 / K * 2
    assert model.estimator_.t_ == model.n_taught_
    mixture = 0.5 * model.estimator_.predict_proba(X) + 0.5 / K
    np.testing.assert_allclose(model.decoding_proba(X), mixture, rtol=1e-9)
    sgd = SGDClassifier(loss="log_loss", random_state=0)
    other = BanditReduction(sgd, exploration=0.5, random_state=0).fit(X, y)
    assert other.score(X, y) > 0.3
    with pytest.raises(
        ValueError, match="exploration must be given, because the wrapped estimator"
    ):
        BanditReduction(sgd, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="estimator must have predict_proba"):
        BanditReduction(SGDClassifier(), exploration=0.5).fit(X, y)


@pytest.mark.filterwarnings("ignore::RuntimeWarning:sklearn")
def test_the_reduction_takes_missing_probabilities_for_uniform_ones(rng):
    """A naive Bayes that knows one row of a class has none."""
    X, y = stream(rng, 300, noise=0.1)
    model = BanditReduction(GaussianNB(), exploration=0.5, classes=np.unique(y), random_state=0)
    for row, label in zip(X, y, strict=True):
        if hasattr(model, "classes_"):
            for proba in (
                model.decoding_proba(row[None]),
                np.exp(model.predict_log_proba(row[None])),
            ):
                assert np.isclose(proba.sum(), 1.0)
        action, propensity = model.choose(row[None])
        model.update(row[None], action, action == label, propensity)
    assert model.score(X, y) > 0.5


@pytest.mark.parametrize("name", ["gaptron logistic", "soba", "confidit", "reduction"])
def test_bad_feedback_names_the_row_and_changes_nothing(name, rng):
    X, y = stream(rng, 30)
    model = fresh(name).partial_fit(X, y)
    before = model.decision_function(X)
    actions, _ = model.choose(X[:4])
    ones, third = np.ones(4), np.full(4, 1 / 3)
    for given, message in (
        (([0, 9, 1, 1], ones, third), r"actions must be one of the classes \[0, 1, 2, 3\]; row 1"),
        ((actions, [1, 0, 2, 1], third), r"rewards must be .*; row 2 has"),
        ((actions, [1, np.nan, 0, 1], third), r"rewards must be .*; row 1 has"),
        ((actions, ones, [0.5, 0.0, 1, 1]), r"propensities must be in \(0, 1\]; row 1 has"),
        ((actions, ones, [0.5, 0.5, 1.1, 1]), r"propensities must be in \(0, 1\]; row 2 has"),
        ((actions, ones[:3], third), r"rewards must have one entry for each of the 4 rows"),
        ((actions[:2], ones, third), r"actions must have one entry for each of the 4 rows"),
    ):
        with pytest.raises(ValueError, match=message):
            model.update(X[:4], *given)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.update(np.full((4, P), np.nan), actions, ones, third)
    with pytest.raises(ValueError, match="features"):
        model.choose(np.ones((2, P + 1)))
    with pytest.raises(ValueError, match="not among the classes"):
        model.partial_fit(X[:1], [77])
    np.testing.assert_array_equal(model.decision_function(X), before)
    assert model.t_ == 30


@pytest.mark.parametrize("name", ["gaptron logistic", "banditron", "soba", "newtron", "confidit"])
def test_classes_must_be_known_before_the_first_choice(name, rng):
    X, y = stream(rng, 10)
    model = fresh(name).set_params(classes=None)
    with pytest.raises(ValueError, match="classes must be known before the first round: set cla"):
        model.choose(X)
    with pytest.raises(ValueError, match="classes must be known"):
        model.partial_fit(X, y)
    assert not hasattr(model, "classes_")
    model.partial_fit(X, y, classes=range(K))
    with pytest.raises(ValueError, match="differ from the fitted ones"):
        model.partial_fit(X, y, classes=range(K + 1))


@pytest.mark.parametrize("name", ["gaptron logistic, horizon", "soba"])
def test_a_horizon_exceeded_warns_once(name, rng):
    X, y = stream(rng, 40)
    model = fresh(name, horizon=20)
    model.partial_fit(X[:20], y[:20])
    with pytest.warns(GuaranteeWarning, match="21 rounds exceed horizon=20: exploration and steps"):
        model.partial_fit(X[20:21], y[20:21])
    model.partial_fit(X[21:], y[21:])


def test_probabilities_are_softmax_of_the_scores(rng):
    X, y = stream(rng, 40)
    for name, alpha in (("gaptron logistic", 1.0), ("newtron", 10.0)):
        model = fresh(name).fit(X, y)
        wanted = softmax(alpha * model.decision_function(X), axis=1)
        np.testing.assert_allclose(model.predict_proba(X), wanted, rtol=1e-9)
    for loss in ("hinge", "smooth_hinge"):
        assert not hasattr(bandit_gaptron(loss, radius=1.0), "predict_proba")
    for ask in (lambda model: model.predict_proba(X), lambda model: model.certificate()):
        with pytest.raises(NotFittedError):
            ask(bandit_gaptron(radius=1.0))
