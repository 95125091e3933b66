"""The largest κ of FOLKLORE's quadratics: never above 1/f, and hardly below."""

import math

import naive.curvature
import naive.logistic
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from skstructured import AioliClassifier, FolkloreClassifier, GaussianAggregatingForecaster
from skstructured.estimators.logistic._rounds import curvature, largest_curvature
from skstructured.spaces.simplex import log_softmax

REACHES = [0.0, 1e-300, 1e-12, 1e-7, 1e-3, 0.03, 0.5, 1.0, 3.3, 10.0, 77.0, 1e3, 1e6, 1e12]


def variance_and_divergence(s, other):
    """``Var_s(ln s/s')`` and ``KL(s‖s')`` of laws with logarithms `s` and `other`."""
    p, apart = np.exp(s), s - other
    mean = p @ apart
    # Σ s (e^−d − 1 + d) is KL, of terms that are not negative
    return p @ (apart - mean) ** 2, p @ (np.expm1(-apart) + apart)


@pytest.mark.parametrize("K", [2, 3, 26, 5000])
@pytest.mark.parametrize("c", [0.0, 1e-9, 0.01, 0.5, 2.0, 12.0])
@pytest.mark.interpreted
def test_is_the_literal_number_from_below(c, K):
    kappa, exact = curvature(np.empty(0), np.array([2.0, math.log(K - 1), c])), 0.5
    if c > 0.0 or K > 2:
        kappa = largest_curvature(2.0 * c + math.log(K - 1))
        exact = naive.curvature.largest_kappa(1.0, c, K)
    assert (1.0 - 1e-10) * exact <= kappa <= exact


@pytest.mark.parametrize(
    ("q", "f"), [(0.05, 2.852949), (0.01, 3.850331), (1e-4, 7.451205), (1e-9, 17.92747)]
)
def test_is_the_number_of_the_theorem(q, f):
    assert largest_curvature(math.log1p(-q) - math.log(q)) == pytest.approx(1.0 / f, rel=5e-7)


@pytest.mark.exhaustive
@settings(deadline=None, max_examples=30)
@given(st.floats(-12.0, 6.0))
def test_is_never_above_the_literal_number(power):
    a = 10.0**power
    exact = 1.0 / naive.curvature.worst_ratio(a)
    assert (1.0 - 1e-6) * exact <= largest_curvature(a) <= exact


@pytest.mark.parametrize("a", [1e7, 1e9, 1e15, 1e100, 1e300])
def test_beyond_the_table_it_is_bounded(a):
    """f is at most a + 2, and at least its ratio at p = 1/a."""
    p = 1.0 / a
    apart = a + math.log(p / (1 - p))
    below = (1 - p) * apart * (apart / (a + math.log(p) - 1.0))
    assert 1.0 / (a + 2.0) <= largest_curvature(a) <= 1.0 / below


def test_falls_with_the_reach_and_takes_any():
    found = [largest_curvature(a) for a in np.r_[0.0, np.geomspace(1e-3, 1e8, 3001)]]
    assert np.all(np.diff(found) <= 0.0)
    assert found[0] == pytest.approx(0.5, rel=1e-10) and found[0] <= 0.5
    assert largest_curvature(math.inf) == 0.0
    assert math.isnan(largest_curvature(math.nan))


@pytest.mark.exhaustive
@settings(deadline=None, max_examples=300)
@given(
    st.integers(2, 40), st.integers(0, 10**6), st.sampled_from(REACHES[3:11]), st.floats(0.01, 40)
)
def test_no_pair_of_laws_violates_the_lemma(K, seed, c, spread):
    """``KL(s‖s') ≥ κ Var_s(ln s/s')`` for any s, and s' of logits in [−c, c]."""
    rng = np.random.RandomState(seed)
    inner, other = rng.randn(K) * spread, rng.uniform(-c, c, K)
    if seed % 3:  # corners of the cube, and laws of two values, where it is tight
        other = np.where(rng.rand(K) < rng.choice([0.1, 0.5, 1.0 / K]), -c, c)
        inner = other + spread * (other < 0.0)
    s, other = log_softmax(inner[None])[0], log_softmax(other[None])[0]
    variance, divergence = variance_and_divergence(s, other)
    assume(divergence > 1e-6)
    assert divergence >= largest_curvature(2 * c + math.log(K - 1)) * variance * (1.0 - 1e-9)


@pytest.mark.exhaustive
@settings(deadline=None, max_examples=200)
@given(st.integers(2, 6), st.integers(0, 10**6), st.floats(0.01, 20.0))
def test_the_surrogate_is_below_the_loss(K, seed, reach):
    """Lemma 3.1, with the κ that rounds use: any played z, any |u_k| ≤ BR, any y."""
    rng = np.random.RandomState(seed)
    z, u = rng.randn(K) * rng.choice([0.1, 1, 10]), rng.uniform(-reach, reach, K)
    u = np.sign(u) * reach if seed % 2 else u
    s = np.exp(log_softmax(z[None])[0])
    d, H = u - z, np.diag(s) - np.outer(s, s)
    kappa = curvature(np.array([reach]), np.array([2.0, math.log(K - 1), 0.0]))
    for y in np.eye(K):
        loss, there = (-(log_softmax(v[None])[0] @ y) for v in (z, u))
        assert loss + (s - y) @ d + kappa * d @ H @ d <= there + 1e-9


@pytest.mark.parametrize("K", [2, 3, 7])
@pytest.mark.parametrize(("B", "R"), [(1.0, 1.5), (0.2, 30.0), (4.0, 2.0)])
@pytest.mark.interpreted
def test_the_certificate_states_it_where_R_is_given(K, B, R):
    X, y = np.eye(7), np.arange(7) % K
    given = {"radius": B, "feature_norm": R, "standardize": False, "fit_intercept": False}
    model = FolkloreClassifier(**given).fit(X, y)
    exact = naive.curvature.largest_kappa(B, R, K)
    assert model.certificate().constants["kappa"] == pytest.approx(exact, rel=1e-9)
    assert "kappa" not in FolkloreClassifier(radius=B).fit(X, y).certificate().constants
    if K == 2:
        aioli = AioliClassifier(**given).fit(X, y)
        assert aioli.certificate().constants["kappa"] == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("R", [None, 2.0])
@pytest.mark.exhaustive
def test_a_round_of_every_learner_uses_it(R):
    """A after one row is λI + κ h ⊗ xxᵀ, with h of uniform shares for FOLKLORE."""
    x, K = np.array([[0.6, 0.8]]), 3
    kappa = naive.curvature.largest_kappa(1.5, 1.0 if R is None else R, K)
    given = {"standardize": False, "fit_intercept": False}
    for kind in (FolkloreClassifier, GaussianAggregatingForecaster):
        model = kind(radius=1.5, feature_norm=R, alpha=1.0, **given).partial_fit(
            x, [0], classes=range(K)
        )
        weights = model.model_.rounds
        weights.add_waiting()
        grown = np.array([weights.A[0], weights.A[-4]]) - 1.0
        if kind is FolkloreClassifier:
            assert grown == pytest.approx(np.full(2, kappa / 3 * 0.36), rel=1e-6)
        else:
            assert 0.0 < grown.max() <= kappa * 0.5 * 0.36
