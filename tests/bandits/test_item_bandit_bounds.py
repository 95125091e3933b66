"""What the theorems on linear bandits promise holds, on seeds that are fixed."""

import numpy as np
import pytest
from naive import item_bandits as naive

from skstructured.bandits import LinearThompsonSampling, LinUCB, SquareCB

D, R, S, DELTA = 4, 0.3, 1.0, 0.1


def unit_rows(rng, n, m):
    X = rng.normal(size=(n, m, D))
    return X / np.linalg.norm(X, axis=2, keepdims=True)


def target(rng):
    w = rng.normal(size=D)
    return S * w / np.linalg.norm(w)


def theory(**given):
    known = {"alpha": "theory", "noise_scale": R, "norm_bound": S, "delta": DELTA}
    return LinUCB(**known, standardize=False, fit_intercept=False, **given)


def play(model, X, w, rng):
    """Regrets (n,) of the model's own choices."""
    regrets = np.empty(len(X))
    for t, x in enumerate(X):
        actions, propensities = model.choose(x[None])
        means = x @ w
        reward = means[actions] + rng.normal(scale=R)
        model.update(x[None], actions, reward, propensities)
        regrets[t] = means.max() - means[actions[0]]
    return regrets


def is_inside(model, w):
    """Whether w lies in the confidence ellipsoid, ‖w − ŵ‖_A ≤ β."""
    return np.linalg.norm(model._ridge.R @ (w - model._ridge.w)) <= model.radius_


def test_the_ellipsoid_holds_the_truth_in_all_rounds_at_once():
    failed = 0
    for seed in range(50):
        rng = np.random.RandomState(seed)
        w, X, model = target(rng), unit_rows(rng, 30, 3), theory()
        held = True
        for x in X:
            actions, _ = model.choose(x[None])
            model.update(x[None], actions, x[actions] @ w + rng.normal(scale=R))
            held = held and is_inside(model, w)
        failed += not held
    assert failed <= DELTA * 50


def test_an_ellipsoid_for_a_tenth_of_the_noise_does_not():
    failed = 0
    for seed in range(20):
        rng = np.random.RandomState(seed)
        w, X = target(rng), unit_rows(rng, 200, 3)
        model = theory().set_params(noise_scale=R / 10.0, lam=1e-6)
        chosen = rng.randint(3, size=200)
        model.update(X, chosen, X[np.arange(200), chosen] @ w + rng.normal(scale=R, size=200))
        failed += not is_inside(model, w)
    assert failed > DELTA * 20


@pytest.mark.parametrize("seed", range(2))
def test_regret_is_below_its_bounds_and_grows_like_the_root(seed):
    rng, n = np.random.RandomState(seed), 1200
    w, X, model = target(rng), unit_rows(rng, n, 5), theory()
    total = np.cumsum(play(model, X, w, rng))
    assert total[-1] <= model.regret_bound()
    assert total[-1] <= naive.theorem_3(n, D, 1.0, 1.0, R, S, DELTA)
    guessed = np.mean((X @ w).max(axis=1) - (X @ w).mean(axis=1))
    assert total[-1] < 0.1 * n * guessed
    assert np.log(total[-1] / total[n // 8]) / np.log(8.0) < 0.65


def test_the_bound_is_about_whoever_chose():
    rng, n = np.random.RandomState(5), 300
    w, X, chosen = target(rng), unit_rows(rng, n, 5), rng.randint(5, size=n)
    played = X[np.arange(n), chosen] @ w
    model = theory().update(X, chosen, played + rng.normal(scale=R, size=n))
    regret = np.sum((X @ w).max(axis=1) - played)
    assert 100.0 < regret <= model.regret_bound() < 4.0 * regret


@pytest.mark.parametrize(
    "model",
    [LinUCB(), LinearThompsonSampling(random_state=0), SquareCB(random_state=0)],
    ids=lambda model: type(model).__name__,
)
def test_defaults_learn_in_any_units(model):
    rng, n = np.random.RandomState(6), 600
    w, X = target(rng), unit_rows(rng, n, 5)
    means = X @ w
    model.choose(X[:1])
    units = 10.0 ** np.array([-6, 0, 3, 6])
    rewards, regrets = 1e4 + 100.0 * means, np.empty(n)
    for t, x in enumerate(X):
        actions, _ = model.choose((x * units + 50.0 * units)[None])
        reward = rewards[t, actions] + 100.0 * rng.normal(scale=R)
        model.update((x * units + 50.0 * units)[None], actions, reward)
        regrets[t] = means[t].max() - means[t, actions[0]]
    guessed = np.mean(means.max(axis=1) - means.mean(axis=1))
    assert regrets[n // 2 :].mean() < 0.35 * guessed
