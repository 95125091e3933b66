"""Off-policy evaluation: literal estimates, exact expectations, coverage, bad logs."""

import itertools
import math

import numpy as np
import pytest
from naive import off_policy as naive
from scipy import stats
from sklearn.linear_model import LinearRegression

from skstructured import GuaranteeWarning
from skstructured.bandits import LinearThompsonSampling, SquareCB
from skstructured.evaluation import cross_fitted_rewards, off_policy_value


def log_of(seed, n=40, most=5):
    """Actions, rewards, propensities, a policy and estimates of rewards; rounds of many sizes."""
    rng = np.random.RandomState(seed)
    sizes = rng.randint(2, most, n)
    logging = [rng.dirichlet(np.ones(m)) * 0.8 + 0.2 / m for m in sizes]
    actions = np.array([rng.choice(m, p=p) for m, p in zip(sizes, logging, strict=True)])
    propensities = np.array([p[a] for p, a in zip(logging, actions, strict=True)])
    policy = [rng.dirichlet(np.ones(m)) for m in sizes]
    q = [rng.normal(size=m) for m in sizes]
    return actions, rng.normal(size=n), propensities, policy, q


WEIGHT = np.random.RandomState(9).choice([0.0, 0.3, 1.0, 2.5], 40)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("method", ["ips", "dr"])
def test_means_and_their_standard_errors_are_literal(method, weight):
    *log, q = log_of(0)
    given = {"method": method, "reward_estimates": q, "sample_weight": weight, "delta": 0.1}
    found = off_policy_value(*log, **given)
    numbers = naive.ips(*log) if method == "ips" else naive.doubly_robust(*log, q)
    weight = np.ones(40) if weight is None else weight
    value, error = naive.weighted_mean(numbers, weight), naive.standard_error(numbers, weight)
    np.testing.assert_allclose(found.estimates, numbers, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found[:2], [value, error], rtol=1e-10)
    z = stats.norm.ppf(0.95)
    np.testing.assert_allclose(found.interval, [value - z * error, value + z * error], rtol=1e-10)
    size = naive.effective(log[0], log[2], log[3], weight)
    np.testing.assert_allclose(found.effective_sample_size, size, rtol=1e-10)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
def test_self_normalised_is_literal(weight):
    *log, _ = log_of(1)
    found = off_policy_value(*log, sample_weight=weight)
    weight = np.ones(40) if weight is None else weight
    expected = naive.snips(*log, weight)
    np.testing.assert_allclose(found[:2], expected, rtol=1e-10)
    np.testing.assert_allclose(naive.weighted_mean(found.estimates, weight), expected[0])
    shifted = off_policy_value(log[0], log[1] + 7.0, *log[2:], sample_weight=weight)
    np.testing.assert_allclose(shifted[:2], [expected[0] + 7.0, expected[1]], rtol=1e-9)


def all_logs(logging, n):
    """Every log of n rounds of one context, with its probability."""
    for actions in itertools.product(range(len(logging)), repeat=n):
        yield np.array(actions), math.prod(logging[a] for a in actions)


@pytest.mark.parametrize("method", ["ips", "dr"])
def test_unbiased_over_all_logs_of_a_small_world(method):
    logging, pi = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.2, 0.7])
    mean, wrong = np.array([1.0, -2.0, 0.5]), np.array([[0.3, 9.0, -4.0]] * 3)
    total = spread = errors = 0.0
    for actions, chance in all_logs(logging, 3):
        log = (actions, mean[actions], logging[actions], np.tile(pi, (3, 1)))
        found = off_policy_value(*log, method=method, reward_estimates=wrong)
        total += chance * found.value
        spread += chance * (found.value - pi @ mean) ** 2
        errors += chance * found.standard_error**2
    np.testing.assert_allclose(total, pi @ mean, rtol=1e-12)
    np.testing.assert_allclose(errors, spread, rtol=1e-10)  # of three rounds, unbiased too


def world(rng, n):
    """A log of n rounds with rewards in [0, 1], a policy, and what it earns in expectation."""
    x = rng.random_sample(n)
    logging = np.stack([0.6 - 0.3 * x, 0.2 + 0.1 * x, 0.2 + 0.2 * x], axis=1)
    policy = np.stack([0.1 + 0.0 * x, 0.8 * x, 0.9 - 0.8 * x], axis=1)
    chances = np.stack([x, 0.5 + 0.0 * x, 1.0 - x], axis=1)
    actions = (np.cumsum(logging, axis=1) <= rng.random_sample(n)[:, None]).sum(axis=1)
    rows = np.arange(n)
    rewards = (rng.random_sample(n) < chances[rows, actions]).astype(float)
    value = 0.1 / 2 + 0.5 * 0.8 / 2 + (0.9 / 2 - 0.8 / 6)
    return (actions, rewards, logging[rows, actions], policy), chances, value


def test_normal_intervals_cover_as_often_as_they_say():
    """Self-normalised; errors of the others are exact in expectation, over all logs."""
    rng, held = np.random.RandomState(0), []
    for _ in range(400):
        log, _, value = world(rng, 300)
        low, high = off_policy_value(*log, delta=0.1).interval
        held.append(low <= value <= high)
    assert 0.86 <= np.mean(held) <= 0.94


@pytest.mark.parametrize("method", ["ips", "dr"])
def test_bernstein_intervals_are_literal_and_cover(method):
    rng, held, widths = np.random.RandomState(1), [], []
    bounds = {"reward_range": (0.0, 1.0), "min_propensity": 0.2, "interval": "bernstein"}
    for _ in range(100):
        log, chances, value = world(rng, 200)
        given = {"method": method, "reward_estimates": chances, "delta": 0.1}
        found = off_policy_value(*log, **given, **bounds)
        low, high = found.interval
        held.append(low <= value <= high)
        widths.append(high - low)
    assert all(held) and max(widths) < 1.5
    end = 5.0 if method == "ips" else 1.0 + 4.0
    start = 0.0 if method == "ips" else -4.0
    margin = naive.maurer_pontil(found.estimates.tolist(), start, end, 0.05)
    np.testing.assert_allclose(high - found.value, margin, rtol=1e-10)
    np.testing.assert_allclose(found.value - low, margin, rtol=1e-10)


def test_the_range_of_ips_holds_0_which_rounds_not_matched_have():
    log = list(world(np.random.RandomState(2), 50)[0])
    rewards = 0.5 + 0.5 * np.asarray(log[1])
    bounds = {"min_propensity": 0.2, "interval": "bernstein"}
    for sign, reward_range in ((1.0, (0.5, 1.0)), (-1.0, (-1.0, -0.5))):
        given = bounds | {"reward_range": reward_range}
        log[1] = sign * rewards
        found = off_policy_value(*log, method="ips", delta=0.1, **given)
        margin = naive.maurer_pontil(found.estimates.tolist(), 0.0, 5.0, 0.05)
        np.testing.assert_allclose(found.interval[1] - found.value, margin, rtol=1e-10)


def test_bernstein_of_two_rounds_holds_where_the_normal_interval_does_not():
    log = ([0, 0], [1.0, 1.0], [0.5, 0.5], np.eye(2)[[0, 0]])
    bounds = {"reward_range": (-1.0, 1.0), "min_propensity": 0.5}
    normal = off_policy_value(*log, method="ips")
    exact = off_policy_value(*log, method="ips", interval="bernstein", **bounds)
    assert normal.standard_error == 0.0 and normal.interval == (2.0, 2.0)
    assert exact.interval[1] - 2.0 == pytest.approx(7 * 4.0 * math.log(80) / 3)


def test_policies_in_each_form_and_labels():
    actions, rewards, propensities, *_ = log_of(3, most=3)
    policy = np.random.RandomState(0).dirichlet(np.ones(2), 40)
    log = (actions, rewards, propensities)
    expected = off_policy_value(*log, policy)
    order = np.concatenate([np.arange(0, 80, 2), np.arange(1, 80, 2)])  # first all first actions
    flat, qid = policy.ravel()[order], np.repeat(np.arange(40)[::-1], 2)[order]
    for one in (list(policy), policy.tolist()):
        assert off_policy_value(*log, one)[:4] == expected[:4]
    assert off_policy_value(*log, flat, qid=qid)[:4] == expected[:4]
    names = np.array(["no", "yes"])[actions]
    found = off_policy_value(names, rewards, propensities, policy[:, ::-1], classes=["yes", "no"])
    assert found[:4] == expected[:4]


def test_logs_of_bandits_with_items_tell_what_others_earn():
    rng = np.random.RandomState(0)
    offers = [rng.normal(size=(rng.randint(2, 5), 2)) for _ in range(1500)]
    w = np.array([1.0, -1.0])
    model = SquareCB(gap_weight=2.0, random_state=0)
    model.fit(offers[:50], np.zeros(50, int), np.zeros(50))
    actions, propensities = model.choose(offers)
    played = np.array([x[a] for x, a in zip(offers, actions, strict=True)])
    rewards = played @ w + rng.normal(size=1500)
    other = LinearThompsonSampling(random_state=0).fit(offers[:20], actions[:20], rewards[:20])
    policy = other.decoding_proba(offers)
    q = cross_fitted_rewards(offers, actions, rewards)
    value = np.mean([p @ x @ w for p, x in zip(policy, offers, strict=True)])
    log, errors = (actions, rewards, propensities, policy), {}
    for method in ("ips", "snips", "dr"):
        found = off_policy_value(*log, method=method, reward_estimates=q)
        errors[method] = found.standard_error
        assert abs(found.value - value) < 3.0 * found.standard_error
    assert errors["dr"] < 0.8 * errors["ips"]


@pytest.mark.parametrize("form", ["list", "cube", "flat", "hidden"])
def test_cross_fitted_estimates_are_of_other_parts(form):
    rng = np.random.RandomState(4)
    X, actions, rewards = rng.normal(size=(11, 3, 2)), rng.randint(3, size=11), rng.normal(size=11)
    seen = np.ones((11, 3), dtype=bool)
    if form == "hidden":
        seen[np.arange(11), (actions + 1) % 3] = False
    given = {"available": seen} if form == "hidden" else {}
    shown = {"list": list(X), "flat": X.reshape(33, 2)}.get(form, X)
    given |= {"qid": np.repeat(np.arange(11), 3)} if form == "flat" else {}
    model = LinearRegression()
    found = cross_fitted_rewards(shown, actions, rewards, reward_model=model, n_splits=3, **given)
    found = np.reshape(found, (11, 3))
    for part in (range(0, 4), range(4, 8), range(8, 11)):
        rest = [i for i in range(11) if i not in part]
        fitted = LinearRegression().fit(X[rest, actions[rest]], rewards[rest])
        for i in part:
            np.testing.assert_allclose(found[i][seen[i]], fitted.predict(X[i][seen[i]]), atol=1e-10)
    assert np.isnan(found[~seen]).all() and not hasattr(model, "coef_")


def test_cross_fitted_estimates_of_classes():
    rng = np.random.RandomState(5)
    X, names, rewards = rng.normal(size=(20, 2)), np.array(["a", "b"] * 10), rng.normal(size=20)
    names[15:], names[:15:5] = "c", "b"
    given = {"classes": ["a", "b", "c"], "n_splits": 4}
    found = cross_fitted_rewards(X, names, rewards, reward_model=LinearRegression(), **given)
    for start in range(0, 20, 5):
        rest = np.array([i for i in range(20) if not start <= i < start + 5])
        for k, name in enumerate("abc"):
            rows = rest[names[rest] == name]
            held = X[start : start + 5]
            if len(rows):
                expected = LinearRegression().fit(X[rows], rewards[rows]).predict(held)
            else:
                expected = np.full(5, rewards[rest].mean())
            np.testing.assert_allclose(found[start : start + 5, k], expected, atol=1e-10)
    for n_splits, message in ((1, "n_splits must be"), (21, "n_splits=21 greater than")):
        with pytest.raises(ValueError, match=message):
            cross_fitted_rewards(X, names, rewards, classes=["a", "b", "c"], n_splits=n_splits)


GOOD = {
    "actions": [0, 1, 0],
    "rewards": [1.0, 0.0, 2.0],
    "propensities": [0.5, 0.5, 0.5],
    "policy": [[0.2, 0.8], [0.5, 0.5], [1.0, 0.0]],
}


def robust(estimates):
    return {"method": "dr", "reward_estimates": estimates}


def bounded(reward_range=(0, 2), min_propensity=0.1, method="ips", **given):
    given |= {"reward_range": reward_range, "min_propensity": min_propensity}
    return {"interval": "bernstein", "method": method} | given


BAD = {
    "propensities of 0": ({"propensities": [0.5, 0.0, 0.5]}, r"in \(0, 1\].*round 1 has 0.0"),
    "propensities above 1": ({"propensities": [1.5, 0.5, 0.5]}, r"in \(0, 1\].*round 0 has 1.5"),
    "propensities of NaN": ({"propensities": [np.nan, 0.5, 0.5]}, "finite; round 0"),
    "propensities too few": ({"propensities": [0.5]}, "each of the 3 rounds"),
    "rewards of NaN": ({"rewards": [1.0, np.nan, 0.0]}, "rewards must be finite; round 1"),
    "rewards too many": ({"rewards": [1.0] * 4}, "rewards must have one number"),
    "actions too few": ({"actions": [0]}, "one entry for each of the 3 rounds"),
    "an action that is none": ({"actions": [0, 2, 0]}, "round 1 has 2"),
    "a negative action": ({"actions": [0, -1, 0]}, "round 1 has -1"),
    "actions of words": ({"actions": ["a", "b", "a"]}, "with classes"),
    "sums of a policy": ({"policy": [[0.2, 0.8], [0.5, 0.6], [1.0, 0.0]]}, "round 1.*sum to 1.1"),
    "negative policy": ({"policy": [[1.2, -0.2], [0.5, 0.5], [1.0, 0.0]]}, "those of round 0"),
    "a policy of NaN": ({"policy": [[np.nan, 1.0], [0.5, 0.5], [1.0, 0.0]]}, "those of round 0"),
    "a policy of one vector": ({"policy": [0.5, 0.5, 1.0]}, "policy must be a matrix"),
    "an empty round": ({"policy": [[0.5, 0.5], [], [1.0]]}, "policy must be a matrix"),
    "method": ({"method": "ipw"}, "method must be one of"),
    "interval": ({"interval": "exact"}, "interval must be one of"),
    "delta": ({"delta": 0.0}, "delta must lie in"),
    "no estimates": ({"method": "dr"}, "needs reward_estimates"),
    "estimates of others": (robust([[0.0, 1.0]] * 2), "for each action that policy has"),
    "estimates of NaN": (
        robust([[np.nan, 1.0]] * 3),
        "finite for all actions that policy may play",
    ),
    "never played": ({"policy": [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]}, "never|no information"),
    "bernstein of snips": ({"interval": "bernstein"}, 'for method="ips" and "dr"'),
    "bernstein with weights": (bounded(sample_weight=[1.0, 2.0, 1.0]), "without sample_weight"),
    "no range": (bounded(None), "reward_range must be two"),
    "no least": (bounded(min_propensity=None), "min_propensity must lie"),
    "rewards outside": (bounded((0, 1)), "rewards must lie in reward_range"),
    "propensities below": (bounded(min_propensity=0.6), "at least min_propensity"),
    "a range upside down": (bounded((2, 0)), "low < high"),
    "estimates outside": (bounded(**robust([[0.0, 3.0]] * 3)), "reward_estimates must lie in"),
    "one round that counts": ({"sample_weight": [1.0, 0.0, 0.0]}, "two rounds"),
    "negative weights": ({"sample_weight": [1.0, -1.0, 0.0]}, "[Nn]egative"),
    "classes twice": ({"classes": [1, 1]}, "classes must be distinct"),
    "classes of other columns": ({"classes": [1, 2, 0]}, "a column for each of the 3 classes"),
    "an action of no class": ({"classes": [0, 2]}, "one of the classes .*; round 1 has 1"),
    "qid of a matrix": ({"qid": [0, 1, 2]}, "if qid is given"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_logs_are_refused_by_name(case):
    given, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        off_policy_value(**{**GOOD, **given})


def test_a_log_without_randomness_is_told_of():
    with pytest.warns(GuaranteeWarning, match="All propensities are 1"):
        off_policy_value(**{**GOOD, "propensities": [1.0, 1.0, 1.0]})
