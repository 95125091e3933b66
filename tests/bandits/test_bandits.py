"""Bandit learners: literal rounds, no leaks, bounds, real feedback."""

import functools
import math
import pickle

import naive
import numpy as np
import pytest
from conftest import INTERPRETED
from plain import (
    bandit_gaptron,
    banditron,
    confidit,
    newtron,
    predictor,
    second_order,
    soba,
)
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier
from streams import noisy_classes

from skstructured import (
    BanditGaptronClassifier,
    BanditReduction,
    ConfiditClassifier,
    GuaranteeError,
    GuaranteeWarning,
    NewtronClassifier,
    SOBAClassifier,
)
from skstructured.evaluation.adversaries import Drifting, LabelNoise, Separable
from skstructured.losses.gap import GapSurrogate
from skstructured.metrics import best_comparator
from skstructured.spaces import Simplex

KINDS = ("logistic", "hinge", "smooth_hinge")
K, P = 4, 3


def gaptron(kind, radius, horizon=None, exploration=None):
    """A learner, and a literal one."""
    given = {"radius": radius, "horizon": horizon, "exploration": exploration}
    literal = functools.partial(naive.bandits.Gaptron, kind, K, P, radius, horizon, exploration)
    return bandit_gaptron(kind, **given), literal


#: name -> (learner, literal learner)
LEARNERS = {
    **{f"gaptron {kind}": gaptron(kind, 2.0) for kind in KINDS},
    **{f"gaptron {kind}, horizon": gaptron(kind, 0.05, 500) for kind in KINDS},
    "gaptron, no exploration": gaptron("logistic", 0.3, None, 0.0),
    "gaptron, given exploration": gaptron("hinge", 5.0, None, 0.2),
    **{f"gaptron {kind}, full ball": gaptron(kind, 0.01, None, 1.0) for kind in KINDS},
    "banditron": (banditron(), lambda: naive.bandits.Banditron(K, P)),
    "banditron, 0.1": (banditron(0.1), lambda: naive.bandits.Banditron(K, P, 0.1)),
    "soba": (soba(a=0.5), lambda: naive.bandits.SOBA(K, P, 0.5)),
    "soba, 0.1": (soba(exploration=0.1), lambda: naive.bandits.SOBA(K, P, 1.0, 0.1)),
    "newtron": (newtron(), lambda: naive.bandits.Newtron(K, P, 10.0, 0.01, 1.0)),
    "newtron, wide": (
        newtron(alpha=1.0, beta=0.5, radius=100.0, exploration=0.2),
        lambda: naive.bandits.Newtron(K, P, 1.0, 0.5, 100.0, 0.2),
    ),
    "confidit": (confidit(), lambda: naive.bandits.Confidit(K, P, 1.0, 1.0)),
    "confidit, 0.3": (
        confidit(alpha=0.3, eta=0.1),
        lambda: naive.bandits.Confidit(K, P, 0.3, 0.1),
    ),
}
ALL = {name: found[0] for name, found in LEARNERS.items()} | {
    "reduction": BanditReduction(predictor(), exploration=0.3),
    "reduction of theory": BanditReduction(predictor(), comparator_norm=0.05),
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
        model._clipped(X[0] / np.linalg.norm(X[0]))
    np.testing.assert_allclose(model.coef_, W, atol=1e-10 * max(1.0, np.abs(W).max()))
    np.testing.assert_array_equal(rounds.rewards, rounds.actions == y)
    assert model.n_mistakes_ == (rounds.rewards == 0).sum()


@pytest.mark.parametrize("kind", KINDS)
def test_weights_stay_in_the_ball(kind, rng):
    X, y = stream(rng, 60 if INTERPRETED else 400)
    model, outside = fresh(f"gaptron {kind}, full ball"), 0
    for i in range(0, len(X), 10):
        model.partial_fit(X[i : i + 10], y[i : i + 10])
        norm = np.linalg.norm(model.coef_)
        assert norm <= 0.01 * (1 + 1e-12)
        outside += norm >= 0.01 * (1 - 1e-9)
    assert outside >= 2  # projected, not merely small


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_counts_as_many_rounds_as_it_has_rows(kind, rng):
    """Exploration after it is that of the next round: the schedules follow the round."""
    X, y = stream(rng, 40)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    model, one = fresh(f"gaptron {kind}", radius=0.05), fresh(f"gaptron {kind}", radius=0.05)
    actions, p = model.choose(X[:39])
    model.update(X[:39], actions, actions == y[:39], p)
    one.partial_fit(X[:39], y[:39])
    literal = naive.bandits.Gaptron(kind, K, P, 0.05)
    literal.X, literal.t = 1.0, 40
    assert model._rho(X[39:]) == pytest.approx(literal.rates()[1], rel=1e-12)
    assert one._rho(X[39:]) == pytest.approx(literal.rates()[1], rel=1e-12)
    assert 0.0 < literal.rates()[1] < 1.0


@pytest.mark.parametrize("name", list(ALL))
def test_choices_and_updates_are_what_is_simulated(name, rng):
    """Row by row, through choose and update, chunks, pickles, and CSR."""
    X, y = stream(rng, 40 if INTERPRETED else 150)
    whole, loop, chunked = fresh(name), fresh(name), fresh(name)
    rounds = whole.simulate(X, y)
    for i in range(len(X)):
        x = X[i : i + 1]
        action, propensity = loop.choose(x)
        assert action[0] == rounds.actions[i]
        assert propensity[0] == pytest.approx(rounds.propensities[i], rel=1e-9)
        loop.update(x, action, action == y[i], propensity)
    np.testing.assert_allclose(loop.decision_function(X), whole.decision_function(X), atol=1e-9)
    for start in range(0, len(X), 13):
        chunked.partial_fit(X[start : start + 13], y[start : start + 13])
        chunked = pickle.loads(pickle.dumps(chunked))
    np.testing.assert_array_equal(chunked.decision_function(X), whole.decision_function(X))
    assert chunked.t_ == loop.t_ == whole.t_ == len(X)
    csr = fresh(name).partial_fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(csr.decision_function(X), whole.decision_function(X), atol=1e-9)
    played = whole.decoding_proba(sparse.csr_array(X[:5]))
    np.testing.assert_allclose(played.sum(axis=1), 1.0)
    np.testing.assert_allclose(played, whole.decoding_proba(X[:5]), atol=1e-9)


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


@pytest.mark.parametrize("kind", KINDS)
def test_importance_weighted_gradients_are_unbiased(kind, rng):
    for _ in range(50):
        theta, y = rng.randn(K), rng.randint(K)
        loss, gradient, a = naive.gap_surrogate(kind, theta, y)
        p = np.full(K, a / K)
        p[int(np.argmax(theta))] += 1 - a
        p = 0.9 * p + 0.1 / K
        model = bandit_gaptron(kind, radius=1.0)
        mean = np.zeros(K)
        for action in range(K):
            share = np.array([(action == y) / p[action]])
            mean += p[action] * model._gradients(theta[None], np.array([action]), share)[0]
        np.testing.assert_allclose(mean, gradient, atol=1e-12)
        assert p[y] * (loss / p[y]) == pytest.approx(loss)


def test_newtron_gradients_are_unbiased(rng):
    literal = naive.bandits.Newtron(K, P, 2.0, 0.1, 1.0)
    x = rng.randn(P)
    literal.play(x, 0.5)
    literal.P = rng.dirichlet(np.ones(K))
    p, y = rng.dirichlet(np.ones(K)), 2
    mean = sum(p[k] * literal.gradient(k, k == y, p[k]) for k in range(K))
    np.testing.assert_allclose(mean, np.kron(literal.P - np.eye(K)[y], x), atol=1e-12)


def test_a_log_without_chance_is_told(rng):
    X, y = stream(rng, 20)
    model = fresh("soba")
    with pytest.warns(GuaranteeWarning, match="All propensities are 1: .* no estimate"):
        model.replay(X, y, np.ones(20), np.ones(20))


def test_the_identity_of_soba(rng):
    """Σm = min_U [a‖U‖² + Σ(2<U,g> + <U,z>²)] + Σ q/(p'(1+q))."""
    X, y = stream(rng, 100)
    literal, model = naive.bandits.SOBA(K, P, 0.7, 0.3), soba(a=0.7, exploration=0.3)
    model.set_params(fit_intercept=False, random_state=7, classes=np.arange(K))
    for x, label, u in zip(X, y, np.random.RandomState(7).random_sample(100), strict=True):
        literal.learn(literal.play(x, u)[0] == label)
    g = np.array([g for g, _ in literal.updates])
    U = np.linalg.solve(literal.A, -g.sum(axis=0))
    least = 0.7 * U @ U + sum(2 * U @ g + (U @ z) ** 2 for g, z in literal.updates)
    assert literal.m == pytest.approx(least + literal.extra)
    model.partial_fit(X, y)
    assert model._learned.sums == pytest.approx([literal.m, literal.extra])


def test_second_order_perceptron_is_soba_with_every_label(rng):
    X, y = stream(rng, 200)
    literal, mistakes = naive.bandits.SOBA(K, P, 2.0, 0.0), 0
    for x, label in zip(X, y, strict=True):
        literal.play(x, 0.0)
        mistakes += int(np.argmax(literal.theta)) != label
        literal.action, literal.p = label, 1.0
        literal.learn(True)
    model = second_order(a=2.0, fit_intercept=False).partial_fit(X[:50], y[:50], range(K))
    model.partial_fit(sparse.csr_array(X[50:]), y[50:])
    np.testing.assert_allclose(model.coef_, literal.weights(), atol=1e-10)
    assert (model.n_mistakes_, model.t_) == (mistakes, 200)
    np.testing.assert_array_equal(
        model.coef_, second_order(a=2.0, fit_intercept=False).fit(X, y).coef_
    )


@pytest.mark.parametrize("adversary", [LabelNoise, Drifting, Separable])
@pytest.mark.parametrize("exploration", [None, 0.0])
@pytest.mark.parametrize("kind", KINDS)
def test_mean_mistakes_stay_below_the_bound(kind, exploration, adversary):
    if exploration == 0.0 and kind != "logistic":
        pytest.skip("without exploration there is a theorem for the logistic loss only")
    n, seeds, D = (40, 5, 0.5) if INTERPRETED else (2000, 100, 0.5)
    space = Simplex().fit(np.arange(3))
    X, y = adversary(n_rounds=n, n_features=4, random_state=0).draw(space)
    mistakes = []
    for seed in range(seeds):
        model = bandit_gaptron(
            kind, radius=D, horizon=n, exploration=exploration, classes=range(3), random_state=seed
        )
        mistakes.append(model.partial_fit(X, y).n_mistakes_)
    loss, V = GapSurrogate(space, kind), space.encode(y)
    U = best_comparator(loss, X, V, 1e-3, radius=D, max_iter=50)
    bounds = [
        loss.value(part * (X @ U[:, :4].T + U[:, 4]), V).sum() + model.regret_bound()
        for part in (0.0, 1.0)
    ]
    sigma = np.std(mistakes) / math.sqrt(seeds)
    assert np.mean(mistakes) + 5 * sigma <= min(bounds)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.short(every=3)
def test_mean_mistakes_against_a_greedy_adversary(kind):
    """Each round is answered with the class least likely to be played."""
    n, seeds = (20, 3) if INTERPRETED else (60, 100)
    X = np.random.RandomState(0).randn(n, 2)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    excess = []
    for seed in range(seeds):
        model = bandit_gaptron(kind, radius=0.5, horizon=n, classes=range(3), random_state=seed)
        model.partial_fit(X[:1], [0])
        truths, expected = [0], 2 / 3
        for x in X[1:]:
            p = model.decoding_proba(x[None])[0]
            truths.append(int(np.argmin(p)))
            expected += 1 - p.min()
            model.partial_fit(x[None], truths[-1:])
        loss = GapSurrogate(model.space_, kind)
        zero = loss.value(np.zeros((n, 3)), np.eye(3)[truths]).sum()
        excess.append(expected - zero - model.regret_bound())
    assert np.mean(excess) <= 0


def test_regret_bounds_are_the_printed_formulas(rng):
    X, y = stream(rng, 100)
    largest = math.sqrt((X**2).sum(axis=1).max() + 1.0)
    reach, T, few = K * largest * 0.7, 10_000, 100
    ln2 = math.log(2)
    assert 2 * reach / ln2 > 2 * math.sqrt(few / ln2)  # in few rounds, the other of the two counts
    for kind, horizon, exploration, wanted in (
        ("logistic", T, None, reach * max(2 * reach / ln2, 2 * math.sqrt(T / ln2))),
        ("logistic", None, None, 3 * reach * math.sqrt(100 / ln2)),
        ("logistic", T, 0.0, math.exp(2 * 0.7 * largest) * reach**2 / ln2),
        ("hinge", T, None, max(K * reach**2 / (K - 1), 2 * reach * math.sqrt(T / 2))),
        ("smooth_hinge", T, None, max(4 * reach**2, 2 * reach * math.sqrt(2 * T))),
        ("logistic", few, None, 2 * reach**2 / ln2),
        ("hinge", few, None, K * reach**2 / (K - 1)),
        ("smooth_hinge", few, None, 4 * reach**2),
    ):
        model = bandit_gaptron(
            kind, radius=0.7, horizon=horizon, exploration=exploration, random_state=0
        )
        assert model.fit(X, y).regret_bound() == pytest.approx(wanted)


def test_rounds_without_a_theorem_say_so(rng):
    X, y = stream(rng, 30)

    def learned(loss="logistic", **parameters):
        return bandit_gaptron(loss, radius=1.0, random_state=0, **parameters).fit(X, y)

    batched = learned()
    actions, propensities = batched.choose(X[:2])
    batched.update(X[:2], actions, [1, 0], propensities)
    with pytest.warns(GuaranteeWarning):
        beyond = learned(horizon=20)
    for model, message in (
        (learned("hinge"), "Give a horizon: no anytime bound for loss='hinge'"),
        (learned(exploration=0.2), "for the theory's exploration .or 0., got 0.2"),
        (learned(feature_norm=0.5), "exceeded feature_norm=0.5"),
        (batched, "learner's own choices"),
        (beyond, "30 rounds exceed horizon=20"),
    ):
        with pytest.raises(GuaranteeError, match=message):
            model.regret_bound()
    assert learned(feature_norm=50.0).regret_bound() > 0


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


@pytest.mark.exhaustive
def test_replayed_logs_estimate_what_the_learner_would_earn(rng):
    """Mean over logs of a uniform policy: the learner's own expected rewards."""
    X, y = stream(rng, 15)
    logs, own = [], []
    for seed in range(40 if INTERPRETED else 300):
        random = np.random.RandomState(seed)
        actions = random.randint(K, size=15)
        model = fresh("banditron, 0.1").set_params(random_state=seed)
        estimates = model.replay(X, actions, actions == y, np.full(15, 1 / K))
        logs.append(estimates.sum())
        twin = fresh("banditron, 0.1").set_params(random_state=seed)
        expected = 0.0
        for i in range(15):
            expected += (
                twin.decoding_proba(X[i : i + 1])[0, y[i]] if i else 0.9 * (y[0] == 0) + 0.025
            )
            twin.update(X[i : i + 1], actions[i : i + 1], [actions[i] == y[i]], [1 / K])
        own.append(expected)
        np.testing.assert_array_equal(model.coef_, twin.coef_)
    sigma = np.std(np.subtract(logs, own)) / math.sqrt(len(logs))
    assert abs(np.mean(logs) - np.mean(own)) <= 5 * sigma


def test_the_reduction_teaches_explored_and_rewarded_rounds_only(rng):
    X, y = stream(rng, 500, noise=0.1)
    model = BanditReduction(predictor(), exploration=0.5, random_state=0).fit(X, y)
    assert 0 < model.n_taught_ < 500 * 0.5 / K * 2
    assert model.estimator_.t_ == model.n_taught_
    theory = BanditReduction(predictor(), comparator_norm=0.1, random_state=0).fit(X, y)
    regret = theory.estimator_.certificate().regret(0.1)
    assert theory._rho() == pytest.approx(min(1.0, math.sqrt(K * regret / 501)))
    sgd = SGDClassifier(loss="log_loss", random_state=0)
    other = BanditReduction(sgd, exploration=0.5, random_state=0).fit(X, y)
    assert other.score(X, y) > 0.3
    with pytest.raises(ValueError, match="exploration must be given: the wrapped estimator"):
        BanditReduction(sgd, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="estimator must have predict_proba"):
        BanditReduction(SGDClassifier(), exploration=0.5).fit(X, y)


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
    with pytest.raises(ValueError, match="classes must be known before the first round: give cla"):
        model.choose(X)
    with pytest.raises(ValueError, match="classes must be known"):
        model.partial_fit(X, y)
    assert not hasattr(model, "classes_")
    model.partial_fit(X, y, classes=range(K))
    with pytest.raises(ValueError, match="differ from those of the first call"):
        model.partial_fit(X, y, classes=range(K + 1))


@pytest.mark.parametrize("name", ["gaptron logistic, horizon", "soba"])
def test_a_horizon_exceeded_warns_once(name, rng):
    X, y = stream(rng, 40)
    model = fresh(name, horizon=20)
    model.partial_fit(X[:20], y[:20])
    with pytest.warns(GuaranteeWarning, match="21 rounds exceed horizon=20: exploration and steps"):
        model.partial_fit(X[20:21], y[20:21])
    model.partial_fit(X[21:], y[21:])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (bandit_gaptron(), "radius must be given: the size of the comparator cannot be"),
        (bandit_gaptron(radius=-1), "radius must be a positive number, got -1"),
        (bandit_gaptron("x", radius=1), "loss='x' is not known; valid losses are"),
        (bandit_gaptron(radius=1, horizon=0), "horizon must be an integer from 1"),
        (bandit_gaptron(radius=1, horizon=10**400), "horizon must be an integer from 1"),
        (bandit_gaptron(radius=1, exploration=2), r"exploration must lie in \[0, 1\]"),
        (bandit_gaptron("hinge", radius=1, exploration=0), "needs loss='logistic'"),
        (bandit_gaptron(radius=1, feature_norm=0), "feature_norm must be a positive"),
        (banditron(exploration=-0.1), r"exploration must lie in \[0, 1\], got -0.1"),
        (SOBAClassifier(a=0), "a must be a positive number, got 0"),
        (SOBAClassifier(exploration=7), r"exploration must lie in \[0, 1\], got 7"),
        (NewtronClassifier(beta=-1), "beta must be a positive number, got -1"),
        (ConfiditClassifier(alpha=-1.0), r"alpha must lie in \(-1, 1\], got -1.0"),
        (ConfiditClassifier(eta=0), "eta must be a positive number, got 0"),
        (BanditReduction(exploration=3), r"exploration must lie in \[0, 1\], got 3"),
        (second_order(a=-1), "a must be a positive number, got -1"),
    ],
)
def test_bad_parameters_are_named(model, message, rng):
    X, y = stream(rng, 20)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    with pytest.raises(ValueError, match="propensities and has no estimate"):
        ConfiditClassifier().replay(X, y, y, y)


def test_learns_an_easy_stream(rng):
    if INTERPRETED:
        pytest.skip("needs compiled kernels")
    X, y = stream(rng, 20_000, noise=0.01)
    for name in ("gaptron hinge", "banditron, 0.1", "soba, 0.1", "confidit", "reduction"):
        n = 3000 if name in ("soba, 0.1", "reduction", "confidit") else 20_000
        assert fresh(name).partial_fit(X[:n], y[:n]).score(X, y) > 0.6, name
    newtron = fresh("newtron, wide").partial_fit(X[:3000], y[:3000])
    assert newtron.score(X, y) > 0.6
    assert newtron.predict_proba(X).sum(axis=1) == pytest.approx(1.0)
    assert predictor().fit(X, y).score(X, y) > 0.6


@pytest.mark.parametrize("intercept", [False, True])
def test_updates_measure_rows_with_their_intercept(intercept, rng):
    X = rng.randn(5, 3)
    model = BanditGaptronClassifier(
        radius=1.0, classes=[0, 1, 2], standardize=False, fit_intercept=intercept, random_state=0
    )
    for x in X:
        actions, propensities = model.choose(x[None])
        model.update(x[None], actions, [1.0], propensities)
    wanted = np.sqrt((X**2).sum(axis=1).max() + intercept)
    assert model.certificate().constants["X"] == pytest.approx(wanted, rel=1e-12)


def test_probabilities_of_gaptron_are_softmax_of_its_scores(rng):
    X, y = rng.randn(40, 3), rng.randint(3, size=40)
    model = BanditGaptronClassifier(radius=1.0, random_state=0).fit(X, y)
    scores = np.exp(model.decision_function(X))
    np.testing.assert_allclose(
        model.predict_proba(X), scores / scores.sum(axis=1, keepdims=True), rtol=1e-12
    )
    for loss in ("hinge", "smooth_hinge"):
        assert not hasattr(BanditGaptronClassifier(loss, radius=1.0), "predict_proba")
    with pytest.raises(NotFittedError):
        BanditGaptronClassifier(radius=1.0).predict_proba(X)
    with pytest.raises(NotFittedError):
        BanditGaptronClassifier(radius=1.0).certificate()
