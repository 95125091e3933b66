"""Bandits whose actions have features: their literal forms, layouts, weights, and bad input."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from bits import differences
from naive import item_bandits as naive
from sklearn.base import clone

from skstructured import GuaranteeError
from skstructured._engine.moments import DEVIATION, MEAN
from skstructured.bandits import LinearThompsonSampling, LinUCB

P = 3
W = np.array([1.0, -2.0, 0.5])

LEARNERS = {
    "lin ucb": LinUCB(),
    "theory": LinUCB(
        scale="theory", noise_scale=0.5, radius=3.0, standardize=False, fit_intercept=False
    ),
    "thompson": LinearThompsonSampling(n_draws=20, random_state=0),
}


def rounds_of(seed, n=30, scale=1.0, most=6):
    """Rounds of several sizes, places that were played, and rewards."""
    rng = np.random.RandomState(seed)
    offers = [scale * rng.normal(size=(rng.randint(1, most), P)) for _ in range(n)]
    actions = np.array([rng.randint(len(x)) for x in offers])
    rewards = np.array([x[a] @ W for x, a in zip(offers, actions, strict=True)]) / scale
    return offers, actions, 1.0 + rewards + 0.3 * rng.normal(size=n)


def statistics(model):
    """Means and deviations that a learner standardises by."""
    return model._scale.statistics[[MEAN, DEVIATION]]


def literal(model, offers, actions, rewards, weight=None):
    """A, ŵ and the least squares of all rounds, in the units that a learner has at the end."""
    ridge = naive.Ridge(model.alpha, free=1)
    weight = np.ones(len(actions)) if weight is None else weight
    for x, a, r, s in zip(offers, actions, rewards, weight, strict=True):
        ridge.learn(x[a], r, s)
    now = statistics(model)
    return ridge, ridge.solve(lambda rows: naive.standardized(rows, now))


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
@pytest.mark.parametrize("origin", [0.0, 50.0])
def test_weights_are_those_of_all_rounds_in_units_of_now(scale, origin):
    offers, actions, rewards = rounds_of(0, 60, scale)
    offers = [x + origin * scale * np.array([1.0, -1.0, 2.0]) for x in offers]
    model, weight = LinUCB(alpha=0.7), np.random.RandomState(1).uniform(0.2, 3.0, 60)
    for t in range(60):
        part = slice(t, t + 1)
        model.update(offers[part], actions[part], rewards[part], sample_weight=weight[part])
        if t % 7 == 1 or t == 59:
            rounds = (offers[: t + 1], actions[: t + 1], rewards[: t + 1], weight[: t + 1])
            ridge, (A, w, least) = literal(model, *rounds)
            np.testing.assert_allclose(model._ridge.w, w, rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(model._ridge.R.T @ model._ridge.R, A, rtol=1e-10, atol=1e-10)
            np.testing.assert_allclose(model._noise(), ridge.noise(least), rtol=1e-10)
    estimates = np.concatenate(model.decision_function(offers))
    now = np.concatenate([naive.standardized(x, statistics(model)) @ w for x in offers])
    np.testing.assert_allclose(estimates, now, rtol=1e-10, atol=1e-10)
    folded = np.concatenate(offers) @ model.coef_ + model.intercept_
    np.testing.assert_allclose(folded, now, rtol=1e-7, atol=1e-7)


def test_means_and_deviations_count_all_actions_with_the_weights_of_their_rounds():
    offers, actions, rewards = rounds_of(3, 7)
    weight = np.random.RandomState(0).uniform(1.0, 2.0, 7)  # so few count at once
    model = LinUCB().fit(offers, actions, rewards, sample_weight=weight)
    rows, each = np.concatenate(offers), np.repeat(weight, [len(x) for x in offers])
    mean = np.average(rows, axis=0, weights=each)
    deviation = np.sqrt(np.average((rows - mean) ** 2, axis=0, weights=each))
    np.testing.assert_allclose(statistics(model), [mean, deviation], rtol=1e-10)


@pytest.mark.parametrize("intercept", [False, True])
def test_raw_rows_are_literal(intercept):
    offers, actions, rewards = rounds_of(1)
    model = LinUCB(alpha=0.3, standardize=False, fit_intercept=intercept)
    model.fit(offers, actions, rewards)
    ridge = naive.Ridge(0.3)
    for x, a, r in zip(offers, actions, rewards, strict=True):
        ridge.learn(np.append(x[a], 1.0) if intercept else x[a], r)
    _, w, least = ridge.solve()
    np.testing.assert_allclose(model.coef_, w[:P], rtol=1e-10)
    np.testing.assert_allclose(model.intercept_, w[P] if intercept else 0.0, rtol=1e-10)
    np.testing.assert_allclose(model._noise(), ridge.noise(least), rtol=1e-10)


@pytest.mark.parametrize("scale", [0.0, 1.5, "theory"])
@pytest.mark.parametrize(("R", "S"), [(None, None), (0.5, 3.0), (0.5, None)])
def test_upper_confidence_bounds_are_literal(scale, R, S):
    offers, actions, rewards = rounds_of(2)
    model = LinUCB(scale=scale, noise_scale=R, radius=S, delta=0.1, alpha=2.0)
    model.fit(offers, actions, rewards)
    ridge, (A, w, least) = literal(model, offers, actions, rewards)
    R = ridge.noise(least) if R is None else R
    S = np.linalg.norm(w[1:]) if S is None else S
    beta = naive.theory_radius(A, 2.0, R, S, 0.1, free=1) if scale == "theory" else scale * R
    np.testing.assert_allclose(model._radius(), beta, rtol=1e-10)
    low, high = model.confidence_bounds(offers)
    actions, propensities = model.choose(offers)
    for i, x in enumerate(offers):
        found = naive.bounds(A, w, naive.standardized(x, statistics(model)), beta)
        np.testing.assert_allclose((low[i], high[i]), found, rtol=1e-10, atol=1e-10)
        assert actions[i] == np.argmax(found[1])
        assert model.decoding_proba([x])[0].tolist() == (np.arange(len(x)) == actions[i]).tolist()
    np.testing.assert_array_equal(propensities, 1.0)


def test_regret_bound_is_the_sum_of_the_gaps_between_bounds():
    offers, actions, rewards = rounds_of(4)
    model, ridge, total = clone(LEARNERS["theory"]), naive.Ridge(1.0), 0.0
    for x, a, r in zip(offers, actions, rewards, strict=True):
        A, w = ridge.solve()[:2] if ridge.rows else (np.eye(P), np.zeros(P))
        low, high = naive.bounds(A, w, x, naive.theory_radius(A, 1.0, 0.5, 3.0, 0.05))
        total += max(high) - low[a]
        ridge.learn(x[a], r)
    np.testing.assert_allclose(
        model.fit(offers, actions, rewards).regret_bound(), total, rtol=1e-10
    )


@pytest.mark.parametrize(
    "given",
    [{"scale": 1.0}, {"noise_scale": None}, {"radius": None}, {"standardize": True}],
)
def test_no_regret_bound_without_what_the_theorem_needs(given):
    known = clone(LEARNERS["theory"])
    model = clone(known).set_params(**given).fit(*rounds_of(0))
    with pytest.raises(GuaranteeError, match="regret bound needs"):
        model.regret_bound()
    with pytest.raises(GuaranteeError, match="other parameters|and the same noise_scale"):
        model.set_params(**known.get_params()).regret_bound()
    with pytest.raises(GuaranteeError, match="weight 1"):
        known.fit(*rounds_of(0), sample_weight=np.full(30, 2.0)).regret_bound()


@pytest.mark.parametrize(
    "other", [{"noise_scale": 5.0}, {"noise_scale": 0.1}, {"radius": 9.0}, {"delta": 0.01}]
)
def test_no_regret_bound_if_the_parameters_of_the_theorem_change(other):
    model = clone(LEARNERS["theory"]).fit(*rounds_of(0))
    given, bound = model.get_params(), model.regret_bound()
    with pytest.raises(GuaranteeError, match="and the same noise_scale"):
        model.set_params(**other).regret_bound()
    assert model.set_params(**given).regret_bound() == bound
    with pytest.raises(GuaranteeError, match="and the same noise_scale"):
        model.set_params(**other).update(*rounds_of(1)).regret_bound()
    with pytest.raises(GuaranteeError, match="other parameters"):
        model.set_params(**given).regret_bound()


def test_thompson_sampling_of_two_is_exact():
    offers, actions, rewards = rounds_of(6)
    model = LinearThompsonSampling(scale=1.5, random_state=0).fit(offers, actions, rewards)
    ridge, (A, w, least) = literal(model, offers, actions, rewards)
    for x in (x[:2] for x in offers if len(x) > 1):
        Z = naive.standardized(x, statistics(model))
        p = naive.best_of_two(A, w, Z, 1.5 * ridge.noise(least))
        np.testing.assert_allclose(model.decoding_proba([x])[0], [p, 1.0 - p], atol=1e-10)
        played, propensities = model.choose([x] * 20)
        np.testing.assert_allclose(propensities, np.where(played == 0, p, 1.0 - p), atol=1e-10)


def test_thompson_sampling_draws_from_the_posterior():
    offers, actions, rewards = rounds_of(7)
    model = LinearThompsonSampling(scale=2.0, n_draws=3, random_state=0)
    model.fit(offers, actions, rewards)
    ridge, (A, w, least) = literal(model, offers, actions, rewards)
    x = next(x for x in offers if len(x) == 5)
    covariance = (2.0 * ridge.noise(least)) ** 2 * np.linalg.inv(A)
    drawn = np.random.RandomState(1).multivariate_normal(w, covariance, 20000)
    expected = np.argmax(drawn @ naive.standardized(x, statistics(model)).T, axis=1)
    p = np.bincount(expected, minlength=5) / 20000
    played, propensities = model.choose([x] * 4000)
    assert set(propensities) <= {0.25, 0.5, 0.75, 1.0}
    found = np.bincount(played, minlength=5)
    assert np.all(np.abs(found / 4000 - p) < 4 * np.sqrt(p * (1 - p) / 4000 * 1.2) + 1e-3)
    estimated = clone(model).set_params(n_draws=4000).fit(offers, actions, rewards)
    np.testing.assert_allclose(estimated.decoding_proba([x])[0], p, atol=0.03)


def test_inverse_propensities_of_thompson_sampling_have_the_expectation_that_is_stated():
    offers, actions, rewards = rounds_of(8)
    model = LinearThompsonSampling(scale=2.0, n_draws=4, random_state=0)
    model.fit(offers, actions, rewards)
    x = next(x for x in offers if len(x) == 4)
    exact = clone(model).set_params(n_draws=40000, random_state=1).fit(offers, actions, rewards)
    p, n = exact.decoding_proba([x])[0], 20000
    played, propensities = model.choose([x] * n)
    for k in range(4):
        terms = (played == k) / propensities
        error = 4.0 * terms.std() / np.sqrt(n) + 0.01
        assert abs(terms.mean() - (1.0 - (1.0 - p[k]) ** 5)) < error


@pytest.mark.parametrize("name", LEARNERS)
def test_rounds_at_once_are_rounds_one_by_one(name):
    offers, actions, rewards = rounds_of(9, 40)
    weight = np.random.RandomState(0).choice([0.0, 0.5, 2.0], 40)
    whole, parts = clone(LEARNERS[name]), clone(LEARNERS[name])
    whole.update(offers, actions, rewards, sample_weight=weight)
    for t in range(40):
        part = slice(t, t + 1)
        parts.update(offers[part], actions[part], rewards[part], sample_weight=weight[part])
    assert list(differences(whole, parts)) == []
    assert whole.t_ == np.count_nonzero(weight)
    many = whole.choose(offers)
    each = [parts.choose([x]) for x in offers]
    np.testing.assert_array_equal(many, np.array([(a[0], p[0]) for a, p in each]).T)


@pytest.mark.parametrize("name", LEARNERS)
def test_weights_are_repetitions_and_zero_leaves_out(name):
    offers, actions, rewards = rounds_of(10, 20)
    weight = np.arange(20) % 4
    weighted = clone(LEARNERS[name]).fit(offers, actions, rewards, sample_weight=weight)
    order = np.repeat(np.arange(20), weight)
    again = clone(LEARNERS[name])
    again.fit([offers[i] for i in order], actions[order], rewards[order])
    np.testing.assert_allclose(weighted.coef_, again.coef_, rtol=1e-9)
    np.testing.assert_allclose(weighted._noise(), again._noise(), rtol=1e-9)
    left_out = clone(LEARNERS[name])
    kept = np.flatnonzero(weight)
    left_out.fit(
        [offers[i] for i in kept], actions[kept], rewards[kept], sample_weight=weight[kept]
    )
    assert list(differences(vars(left_out), vars(weighted))) == []


@pytest.mark.parametrize("name", LEARNERS)
def test_layouts_say_the_same(name):
    rng = np.random.RandomState(11)
    flat, qid = rng.normal(size=(100, P)), rng.permutation(np.repeat(np.arange(25), 4))
    available, (names, first) = rng.random_sample(100) < 0.7, np.unique(qid, return_index=True)
    available[first] = True
    rows = [np.flatnonzero(qid == name) for name in names[np.argsort(first)]]
    lists, hidden = [flat[at] for at in rows], [available[at] for at in rows]
    played = np.array([rng.choice(np.flatnonzero(seen)) for seen in hidden])
    earned, given = rng.normal(size=25), {"qid": qid, "available": available}
    shown = [x[seen] for x, seen in zip(lists, hidden, strict=True)]
    among = [np.cumsum(seen)[a] - 1 for seen, a in zip(hidden, played, strict=True)]
    one = clone(LEARNERS[name]).update(lists, played, earned, available=hidden)
    two = clone(LEARNERS[name]).update(flat, played, earned, **given)
    cube = clone(LEARNERS[name]).update(np.stack(lists), played, earned, available=hidden)
    for other in (two, cube, clone(LEARNERS[name]).update(shown, among, earned)):
        assert list(differences(one, other)) == []
    frame = pd.DataFrame(flat, columns=["a", "b", "c"])
    named = clone(LEARNERS[name]).update(frame, played, earned, **given)
    assert named.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(named.coef_, one.coef_)
    for method in ("decision_function", "decoding_proba"):
        found = getattr(one, method)(lists, available=hidden)
        same = getattr(two, method)(flat, **given)
        for at, values, seen in zip(rows, found, hidden, strict=True):
            np.testing.assert_array_equal(values, same[at])
            assert np.all(np.isnan(values[~seen]) | (values[~seen] == 0.0))
    np.testing.assert_array_equal(one.predict(lists, available=hidden), two.predict(flat, **given))
    chosen = one.choose(lists, available=hidden)
    np.testing.assert_array_equal(chosen, two.choose(flat, **given))
    assert all(seen[a] for seen, a in zip(hidden, chosen[0], strict=True))


def test_predict_is_the_largest_estimate_the_first_of_several():
    offers, actions, rewards = rounds_of(12)
    model = LinUCB().fit(offers, actions, rewards)
    for x, estimates in zip(offers, model.decision_function(offers), strict=True):
        assert model.predict([np.repeat(x, 2, axis=0)])[0] == 2 * np.argmax(estimates)


@pytest.mark.parametrize("name", LEARNERS)
def test_nothing_known_one_action_identical_actions_and_many(name):
    model = clone(LEARNERS[name])
    actions, propensities = model.choose(np.ones((3, 4, P)))
    assert set(actions) <= {0, 1, 2, 3} and model.t_ == 0
    np.testing.assert_array_equal(model.choose([np.ones((1, P))]), [[0.0], [1.0]])
    model.update(np.ones((3, 4, P)), actions, [0.0, 0.0, 0.0], propensities)
    assert model._noise() in (0.5, 1.0)
    if isinstance(model, LinUCB):
        assert model.choose(np.ones((1, 4, P)))[0][0] == 0
    many = np.random.RandomState(0).normal(size=(10**4, P))
    action, propensity = model.choose([many])
    model.update([many], action, [1.0], propensity)
    assert 0 <= action[0] < 10**4 and 0.0 < propensity[0] <= 1.0
    np.testing.assert_allclose(model.decoding_proba([many])[0].sum(), 1.0)


def test_rewards_that_were_all_zero_leave_exploration():
    arms = np.eye(P)[None]
    model, played = LinUCB(), set()
    for _ in range(10):
        action, _ = model.choose(arms)
        played.add(int(action[0]))
        model.update(arms, action, [0.0])
    assert played == {0, 1, 2}


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("factor", [1e-20, 1e20])
def test_rewards_may_have_any_unit(name, factor):
    if name == "theory":
        pytest.skip("R is in units of the rewards")
    offers, actions, rewards = rounds_of(13)
    one = clone(LEARNERS[name]).fit(offers, actions, rewards)
    two = clone(LEARNERS[name]).fit(offers, actions, factor * rewards)
    np.testing.assert_allclose(two.coef_, factor * one.coef_, rtol=1e-9)
    for p, q in zip(one.decoding_proba(offers), two.decoding_proba(offers), strict=True):
        np.testing.assert_allclose(p, q, atol=1e-9)


GOOD = (np.ones((2, 3, P)), [0, 2], [1.0, 0.0])

BAD = {
    "an action that is none": ((GOOD[0], [0, 3], GOOD[2]), {}, "positions from 0 to 2 in round 1"),
    "a negative action": ((GOOD[0], [-1, 0], GOOD[2]), {}, "positions from 0 to 2 in round 0"),
    "actions of floats": ((GOOD[0], [0.0, 1.0], GOOD[2]), {}, "integers from 0"),
    "too few actions": ((GOOD[0], [0], GOOD[2]), {}, "one entry for each of the 2 rounds"),
    "rewards of NaN": ((GOOD[0], [0, 2], [1.0, np.nan]), {}, "rewards must be finite.*row 1"),
    "rewards too large": ((GOOD[0], [0, 2], [1e101, 0.0]), {}, "rewards must be finite.*row 0"),
    "rewards of words": ((GOOD[0], [0, 2], ["a", "b"]), {}, "rewards must be real numbers"),
    "propensities of 0": ((*GOOD, [0.5, 0.0]), {}, r"propensities must be in \(0, 1\]; row 1"),
    "propensities above 1": ((*GOOD, [1.5, 1.0]), {}, r"propensities must be in \(0, 1\]; row 0"),
    "negative weights": (GOOD, {"sample_weight": [1.0, -1.0]}, "[Nn]egative"),
    "NaN": ((np.full((2, 3, P), np.nan), [0, 2], [1.0, 0.0]), {}, "NaN"),
    "another width": ((np.ones((2, 3, P + 1)), [0, 2], [1.0, 0.0]), {}, "features"),
    "no rounds": (([], [], []), {}, "X"),
    "a round without actions": (([np.ones((0, P))], [0], [1.0]), {}, "[Rr]ound 0|X must be"),
    "a matrix without qid": ((np.ones((2, P)), [0, 0], [1.0, 0.0]), {}, "qid is missing"),
    "qid of another length": ((np.ones((2, P)), [0], [1.0]), {"qid": [1]}, "inconsistent"),
    "qid with gaps": ((np.ones((2, P)), [0], [1.0]), {"qid": [1.0, np.nan]}, "qid contains NaN"),
    "all hidden": (GOOD, {"available": [[1, 1, 1], [0, 0, 0]]}, "Round 1 has no available item"),
    "a hidden action": (GOOD, {"available": [[1, 1, 1], [1, 1, 0]]}, "in round 1 action 2 is hid"),
    "available of another form": (GOOD, {"available": [[1, 1], [1, 1]]}, "available must"),
}


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("case", BAD)
def test_bad_rounds_leave_all_as_it_was(name, case):
    args, given, message = BAD[case]
    for model in (clone(LEARNERS[name]), clone(LEARNERS[name]).update(*rounds_of(0, 5))):
        if case == "another width" and not hasattr(model, "t_"):
            continue
        before = pickle.dumps(model)
        with pytest.raises(ValueError, match=message):
            model.update(*args, **given)
        assert pickle.dumps(model) == before
        with pytest.raises(ValueError, match=message):
            model.fit(*args, **given) if case != "another width" else model.update(*args, **given)
        assert pickle.dumps(model) == before


def test_hidden_actions_may_be_anything():
    X, seen = np.ones((2, 3, P)), [[True, True, False]] * 2
    X[:, 2] = np.nan
    model = LinUCB().update(X, [0, 1], [1.0, 0.0], available=seen)
    assert np.isnan(model.decision_function(X, available=seen)[0][2])
    assert model.predict(X, available=seen).max() < 2


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LinUCB(scale=-1.0), "scale must be a number of at least 0"),
        (LinUCB(scale="two"), "scale must be"),
        (LinUCB(delta=1.0), "delta must lie in"),
        (LinUCB(alpha=0.0), "alpha must be a positive"),
        (LinUCB(noise_scale=-1.0), "noise_scale must be a positive"),
        (LinUCB(radius=0.0), "radius must be a positive"),
        (LinUCB(standardize="yes"), "standardize must be"),
        (LinUCB(fit_intercept=2), "fit_intercept must be a bool"),
        (LinearThompsonSampling(scale=0.0), "scale must be a positive"),
        (LinearThompsonSampling(n_draws=0), "n_draws must be an integer"),
    ],
)
def test_bad_parameters_are_named_and_start_nothing(model, message):
    for use in (lambda: model.choose(GOOD[0]), lambda: model.update(*GOOD)):
        with pytest.raises(ValueError, match=message):
            use()
        assert not hasattr(model, "t_") and not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("name", LEARNERS)
def test_seeds_copies_on_disk_and_fit_anew(name, tmp_path):
    model = clone(LEARNERS[name]).update(*rounds_of(0))
    joblib.dump(model, tmp_path / "model")
    file, offers = (tmp_path / "model").read_bytes(), rounds_of(1)[0]
    for again in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model", "r")):
        same = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.choose(offers), same.choose(offers))
        for one in (again, same):
            one.update(*rounds_of(1))
        np.testing.assert_array_equal(again.coef_, same.coef_)
    assert (tmp_path / "model").read_bytes() == file
    one, two = (model.choose(offers, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    fresh = clone(LEARNERS[name]).fit(*rounds_of(2))
    anew = vars(model.fit(*rounds_of(2)))
    assert list(differences({name: anew[name] for name in vars(fresh)}, vars(fresh))) == []
    assert set(anew) == set(vars(fresh))


def test_of_two_actions_alike_the_first_is_played():
    offers, alike = [np.array([[1.0, 0.0], [0.0, 1.0]])], np.array([[0.3, 2.0], [0.3, 2.0]])
    model = LinearThompsonSampling(random_state=0).update(offers, [0], [1.0])
    np.testing.assert_array_equal(model.decoding_proba([alike])[0], [1.0, 0.0])
    assert [model.choose([alike])[0][0] for _ in range(5)] == [0] * 5


# --- what the theorems promise, on seeds that are fixed -------------------------------------------

D, R, S, DELTA = 4, 0.3, 1.0, 0.1


def problem(seed, n, m):
    """A generator, weights of norm S, and n rounds of m rows of norm 1."""
    rng = np.random.RandomState(seed)
    w, X = rng.normal(size=D), rng.normal(size=(n, m, D))
    return rng, S * w / np.linalg.norm(w), X / np.linalg.norm(X, axis=2, keepdims=True)


def theory():
    known = {"scale": "theory", "noise_scale": R, "radius": S, "delta": DELTA}
    return LinUCB(**known, standardize=False, fit_intercept=False)


def play(model, X, means, rng, noise=R):
    """Regrets of the model's own choices, one by one as they are learned."""
    for x, expected in zip(X, means, strict=True):
        actions, propensities = model.choose(x[None])
        rewards = expected[actions] + rng.normal(scale=noise)
        model.update(x[None], actions, rewards, propensities)
        yield expected.max() - expected[actions[0]]


def test_the_ellipsoid_holds_the_truth_in_all_rounds_at_once():
    """‖w − ŵ‖_A ≤ β."""
    failed = 0
    for seed in range(50):
        rng, w, X = problem(seed, 30, 3)
        model = theory()
        failed += not all(
            [
                np.linalg.norm(model._ridge.R @ (w - model._ridge.w)) <= model._radius()
                for _ in play(model, X, X @ w, rng)
            ]
        )
    assert failed <= DELTA * 50


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.short("0")
def test_regret_is_below_its_bounds_and_grows_like_the_root(seed):
    n, model = 1200, theory()
    rng, w, X = problem(seed, n, 5)
    means = X @ w
    total = np.cumsum(list(play(model, X, means, rng)))
    assert total[-1] <= model.regret_bound()
    assert total[-1] <= naive.theorem_3(n, D, 1.0, 1.0, R, S, DELTA)
    assert total[-1] < 0.1 * n * np.mean(means.max(axis=1) - means.mean(axis=1))
    assert np.log(total[-1] / total[n // 8]) / np.log(8.0) < 0.65


def test_the_bound_is_about_whoever_chose():
    n = 300
    rng, w, X = problem(5, n, 5)
    chosen = rng.randint(5, size=n)
    played = X[np.arange(n), chosen] @ w
    model = theory().update(X, chosen, played + rng.normal(scale=R, size=n))
    regret = np.sum((X @ w).max(axis=1) - played)
    assert 100.0 < regret <= model.regret_bound() < 4.0 * regret


@pytest.mark.parametrize("name", ["lin ucb", "thompson"])
def test_defaults_learn_in_any_units(name):
    rng, w, X = problem(6, 600, 5)
    means, units = 1e4 + 100.0 * (X @ w), 10.0 ** np.array([-6, 0, 3, 6])
    model = clone(LEARNERS[name])
    regrets = list(play(model, (X + 50.0) * units, means, rng, 100.0 * R))
    guessed = np.mean(means.max(axis=1) - means.mean(axis=1))
    assert np.mean(regrets[300:]) < 0.35 * guessed
