"""When the bound of bandit Gaptron covers the rounds learned, and when it must refuse."""

import copy
import pickle

import numpy as np
import pytest
from plain import bandit_gaptron
from scipy import sparse

from skstructured import GuaranteeError

K = 3


def learner(**parameters):
    return bandit_gaptron(radius=0.5, classes=range(K), random_state=0, **parameters)


def rows(rng, n=30):
    return rng.randn(n, 2), rng.randint(K, size=n)


def step(model, x, label, storage=np.asarray):
    """Choose for one row and learn it at once."""
    action, propensity = model.choose(x)
    return model.update(storage(x), action, action == label, propensity)


def test_rounds_chosen_and_learned_one_by_one_are_covered(rng):
    X, y = rows(rng)
    model = learner()
    for i in range(10):
        step(model, X[i : i + 1], y[i])
    model.partial_fit(X[10:20], y[10:20])
    model = pickle.loads(pickle.dumps(model))
    for i in range(20, 30):
        model.predict(X)  # looking is free
        step(model, X[i : i + 1], y[i], sparse.csr_array)
    whole = learner().fit(X, y)
    assert model.regret_bound() == pytest.approx(whole.regret_bound())
    model.choose(X[:1])  # a choice whose reward is still to come
    assert model.regret_bound() == pytest.approx(whole.regret_bound())
    model.fit(X, y)
    step(model, X[:1], y[0])
    assert model.regret_bound() > 0


def test_delayed_updates_have_no_bound(rng):
    """All rows chosen first: with the same weights, whatever is learned later."""
    X, y = rows(rng)
    model = learner()
    chosen = [model.choose(x[None]) for x in X]
    for x, label, (action, propensity) in zip(X, y, chosen, strict=True):
        model.update(x[None], action, action == label, propensity)
    with pytest.raises(GuaranteeError, match="learner's own choices"):
        model.regret_bound()
    model = learner()
    actions, propensities = model.choose(X)
    for i in range(len(X)):
        one = slice(i, i + 1)
        model.update(X[one], actions[one], actions[one] == y[one], propensities[one])
    with pytest.raises(GuaranteeError, match="learner's own choices"):
        model.regret_bound()


def test_delayed_updates_do_exceed_the_bound():
    """Why: the uniform first choices lose two rounds of three where learning loses few."""
    n = 4000
    X, y = np.ones((n, 1)), np.zeros(n, dtype=int)
    model = bandit_gaptron(
        "hinge", radius=2.0, horizon=n, classes=range(K), fit_intercept=False, random_state=0
    )
    actions, propensities = model.choose(X)
    for i in range(n):
        one = slice(i, i + 1)
        model.update(X[one], actions[one], actions[one] == y[one], propensities[one])
    mistakes = int((actions != y).sum())
    reach = K * 2.0
    stated = max(K * reach**2 / (K - 1), 2 * reach * np.sqrt(n / 2))
    assert mistakes > stated  # the comparator (2/√6)(2, −1, −1) has margin √6 and no loss
    with pytest.raises(GuaranteeError):
        model.regret_bound()


@pytest.mark.parametrize("change", ["row", "action", "propensity", "twice", "no choice", "seed"])
def test_rounds_of_others_have_no_bound(change, rng):
    X, y = rows(rng)
    model = learner().partial_fit(X, y)
    assert model.regret_bound() > 0
    seed = 0 if change == "seed" else None
    action, propensity = model.choose(X[:1], random_state=seed)
    x = X[:1]
    if change == "row":
        x = X[1:2]
    elif change == "action":
        action = (action + 1) % K
    elif change == "propensity":
        propensity = propensity / 2
    elif change == "no choice":
        model = learner().partial_fit(X, y)
    model.update(x, action, [1], propensity)
    if change == "twice":
        assert model.regret_bound() > 0
        model.update(x, action, [1], propensity)
    with pytest.raises(GuaranteeError, match="learner's own choices"):
        model.regret_bound()


def test_replayed_logs_have_no_bound(rng):
    X, y = rows(rng)
    model = learner()
    actions = rng.randint(K, size=len(X))
    model.replay(X, actions, actions == y, np.full(len(X), 1 / K))
    with pytest.raises(GuaranteeError, match="learner's own choices"):
        model.regret_bound()


@pytest.mark.parametrize("then", ["choose", "simulate"])
def test_choices_left_out_have_no_bound(then, rng):
    """Who drops the choices that please leaves mistakes only."""
    X, y = rows(rng)
    model = learner().partial_fit(X, y)
    model.choose(X[:1])
    if then == "choose":
        step(model, X[1:2], y[1])
    else:
        model.partial_fit(X[1:2], y[1:2])
    with pytest.raises(GuaranteeError, match="learner's own choices"):
        model.regret_bound()
    assert model.fit(X, y).regret_bound() > 0


def test_a_refused_update_may_be_made_again(rng):
    X, y = rows(rng)
    model = learner().partial_fit(X, y)
    action, propensity = model.choose(X[:1])
    before = copy.deepcopy(model)
    with pytest.raises(ValueError, match="rewards must be"):
        model.update(X[:1], action, [7], propensity)
    for m in (model, before):
        m.update(X[:1], action, [1], propensity)
        assert m.regret_bound() > 0
