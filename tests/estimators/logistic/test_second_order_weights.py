"""Weights from 1e-20 to 1e20 in learners with a matrix: finite results, or refused unchanged."""

import pickle
from functools import partial

import naive.logistic
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import config
from scipy.special import expit

from skstructured import (
    AdaBoostOLMClassifier,
    AggregatingForecaster,
    AioliClassifier,
    FolkloreClassifier,
    GaussianAggregatingForecaster,
    OnlineNewtonClassifier,
)
from skstructured.estimators.logistic._rounds import curvature
from skstructured.estimators.logistic.folklore import FolkloreMatrix

#: Equations with numbers from 1e-20 to 1e12 are solved to six digits, which is told.
told = pytest.mark.filterwarnings("ignore:Logits did not converge .*e-0[678]")

LEARNERS = {
    "online Newton": OnlineNewtonClassifier,
    "online Newton, raw": lambda: OnlineNewtonClassifier(standardize=False),
    "AIOLI": AioliClassifier,
    "FOLKLORE": FolkloreClassifier,
    "FOLKLORE, classes": lambda: FolkloreClassifier(structure="classes"),
    "FOLKLORE, mixture": lambda: FolkloreClassifier(radius=(0.01, 10.0)),
    "Gaussian": GaussianAggregatingForecaster,
    "particles": lambda: AggregatingForecaster(n_particles=20, n_moves=1, random_state=0),
    "boosting": lambda: AdaBoostOLMClassifier(n_estimators=3, random_state=0),
}


def learns_or_refuses(model, X, y, weight, K):
    """Teach a chunk; whether it was taken. A refused one has changed nothing."""
    before = pickle.dumps(model)
    try:
        model.partial_fit(X, y, classes=np.arange(K), sample_weight=weight)
    except ValueError as error:
        assert "sample_weight" in str(error) and "must be at most" in str(error)
        assert pickle.dumps(model) == before
        return False
    for rows in (X, 3.0 * X):
        P = model.predict_proba(rows)
        assert np.isfinite(P).all() and (P >= 0.0).all()
        np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-9)
    return True


@pytest.mark.parametrize("weight", [1e-20, 1e12, 1e20])
@pytest.mark.parametrize("name", sorted(LEARNERS))
def test_equal_weights_at_the_ends_of_the_range(name, weight):
    rng, K = np.random.RandomState(0), 2 if name == "AIOLI" else 3
    X, y = rng.randn(24, 4), np.arange(24) % K
    learns_or_refuses(LEARNERS[name](), X, y, np.full(24, weight), K)


@pytest.mark.exhaustive
@told
@pytest.mark.parametrize("name", sorted(LEARNERS))
@settings(deadline=None, max_examples=60 if not config.DISABLE_JIT else 6)
@given(st.integers(0, 10**6), st.sampled_from(["mixed", "one", "ends", "rising", "falling"]))
@pytest.mark.short(every=4)
def test_weights_over_forty_orders(name, seed, kind):
    rng = np.random.RandomState(seed)
    K = 2 if name == "AIOLI" else rng.randint(2, 5)
    X, y = rng.randn(18, 3), rng.randint(K, size=18)
    weight = 10.0 ** rng.uniform(-20, 20, size=18)
    if kind == "one":
        weight = np.where(np.arange(18) == seed % 18, weight, 1.0)
    elif kind == "ends":
        weight = rng.choice([0.0, 1e-20, 1.0, 1e20], size=18)
    elif kind != "mixed":
        weight = np.sort(weight)[:: 1 if kind == "rising" else -1]
    model = LEARNERS[name]()
    taken = [learns_or_refuses(model, X[i : i + 6], y[i : i + 6], weight[i : i + 6], K)
             for i in (0, 6, 12)]  # fmt: skip
    assert name not in ("particles", "boosting") or all(taken)


@pytest.mark.parametrize("name", sorted(set(LEARNERS) - {"particles", "boosting"}))
def test_what_is_refused_is_named_and_leaves_the_model(name):
    rng = np.random.RandomState(0)
    X, y, weight = rng.randn(20, 3), np.arange(20) % 2, np.ones(20)
    model = LEARNERS[name]().fit(X, y)
    before, weight[7] = pickle.dumps(model), 1e19
    message = r"Row 7 of X has norm [\d.]+, .* sample_weight 1e\+19: with .*=.*must be at most"
    with pytest.raises(ValueError, match=message):
        model.partial_fit(X, y, sample_weight=weight)
    assert pickle.dumps(model) == before
    fresh = LEARNERS[name]()
    for learn in (fresh.fit, partial(fresh.partial_fit, classes=[0, 1])):
        with pytest.raises(ValueError, match=message):
            learn(X, y, sample_weight=weight)
    assert not hasattr(fresh, "classes_")


@pytest.mark.exhaustive
def test_the_limit_is_that_of_the_matrix():
    """Norm √w ≤ 1e6 √λ for FOLKLORE, norm · w ≤ 1e6/(γB√K) for online Newton steps."""
    X, y = np.ones((3, 1)), np.array([0, 1, 0])
    given_ = {"standardize": False, "fit_intercept": False}
    folklore = FolkloreClassifier(alpha=0.25, **given_)
    newton = OnlineNewtonClassifier(radius=0.5, exp_concavity=0.2, **given_)
    for model, most in ((folklore, 0.25e12), (newton, 1e7 / np.sqrt(2.0))):
        weight = np.array([1.0, most * 0.999, 1.0])
        assert np.isfinite(model.fit(X, y, sample_weight=weight).predict_proba(X)).all()
        weight[1] = most * 1.001
        with pytest.raises(ValueError, match="Row 1 of X"):
            model.fit(X, y, sample_weight=weight)


@pytest.mark.parametrize(("heaviest", "off"), [(1e4, 1e-11), (1e8, 1e-8), (2e10, 1e-5)])
@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.interpreted
def test_weights_within_the_limit_give_the_result_of_exact_arithmetic(heaviest, off, mixed):
    rng = np.random.RandomState(0)
    X, y, weight = rng.randn(20, 3), rng.randint(2, size=20), np.full(20, heaviest)
    if mixed:
        weight = 10.0 ** rng.uniform(-20.0, np.log10(heaviest), size=20)
    reach = np.array([2.0, 0.0, 0.0])
    kappas = [curvature(x, reach) for x in X]
    exact = naive.logistic.exact_aioli(X, y, weight, kappas, 0.5)
    state = FolkloreMatrix(2, 3, 0.5, 1.0)
    logits = state.learn(X, np.eye(2)[y], weight)
    margins = logits[:, 1] - logits[:, 0]
    assert np.abs(expit(margins) - expit(exact)).max() <= off
    state.limits[0].check(X, weight, np.arange(20))  # is within the limit


def test_a_bound_beyond_all_digits_is_refused():
    X, y = np.random.RandomState(0).randn(24, 4), np.arange(24) % 3
    model = OnlineNewtonClassifier(random_state=0).fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(
        ValueError, match=r"1/\(K exp_concavity² radius²\)=3.3.*e-39, .* must be at most"
    ):
        model.set_params(radius=1e20).fit(X, y)
    for B, gamma in ((1e-100, 1e-100), (1e60, 1e60)):
        with pytest.raises(ValueError, match=r"exp_concavity \* radius must lie between"):
            model.set_params(radius=B, exp_concavity=gamma).fit(X, y)
    np.testing.assert_array_equal(model.set_params(radius=1.0).predict_proba(X), before)
