"""ŷ_Ω, Ω* and log probabilities of every pair: by generic solvers, by calculus, at extremes."""

import math

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pairs import CASES, LARGEST, PAIRS, loss_of, space_of
from streams import weighted_vertices

import skstructured as sk
from skstructured import FenchelYoung
from skstructured.regularizers import Tsallis

SCORES = st.floats(-30, 30, allow_subnormal=True)


@pytest.mark.parametrize(("name", "dim"), CASES)
def test_mean_and_conjugate_agree_with_a_generic_solver(name, dim, rng):
    loss, space = loss_of(name, dim), space_of(name, dim)
    for spread in (0.1, 1.0, 3.0):
        theta = spread * rng.randn(dim)
        mu, value = naive.mean_and_conjugate(space, PAIRS[name][1], theta)
        assert loss.conjugate(theta[None])[0] == pytest.approx(value, abs=2e-7)
        np.testing.assert_allclose(loss.mean(theta[None])[0], mu, atol=2e-4)


@pytest.mark.parametrize("name", list(PAIRS))
@given(data=st.data())
def test_conjugate_is_attained_at_the_mean(name, data):
    dim = data.draw(st.sampled_from(PAIRS[name][2]))
    theta = data.draw(arrays(float, (4, dim), elements=SCORES))
    loss = loss_of(name, dim)
    mu = loss.mean(theta)
    attained = (theta * mu).sum(axis=1) - loss.omega(mu)
    scale = 1 + np.abs(theta).sum(axis=1)
    np.testing.assert_allclose(loss.conjugate(theta), attained, atol=1e-11, rtol=0, err_msg=name)
    assert np.all(np.abs(loss.conjugate(theta) - attained) <= 1e-13 * scale)


@pytest.mark.parametrize(("name", "dim"), LARGEST)
def test_gradient_is_the_finite_difference_of_the_loss(name, dim, rng):
    loss, space = loss_of(name, dim), space_of(name, dim)
    theta, V = rng.randn(6, dim), space.vertices()
    V = V[rng.randint(len(V), size=6)]
    h, g = 1e-6, loss.gradient(theta, V)
    for j in range(dim):
        step = np.eye(dim)[j] * h
        slope = (loss.value(theta + step, V) - loss.value(theta - step, V)) / (2 * h)
        np.testing.assert_allclose(slope, g[:, j], atol=2e-7)


@pytest.mark.parametrize("name", list(PAIRS))
@given(data=st.data())
def test_means_lie_in_the_polytope(name, data):
    dim = data.draw(st.sampled_from(PAIRS[name][2]))
    theta = data.draw(arrays(float, (3, dim), elements=st.floats(-1e9, 1e9)))
    mu = loss_of(name, dim).mean(theta)
    ranks = name.startswith("permutahedron")
    assert np.all(mu >= 0) and np.all(mu <= (dim if ranks else 1) + 1e-12)
    if ranks:
        np.testing.assert_allclose(mu.sum(axis=1), dim * (dim + 1) / 2, rtol=1e-14)
        largest = np.cumsum(-np.sort(-mu, axis=1), axis=1)
        assert np.all(largest <= np.cumsum(np.arange(dim, 0, -1)) + 1e-12)
    if name.startswith("birkhoff"):
        P = mu.reshape(3, math.isqrt(dim), -1)
        np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=2e-13)
        np.testing.assert_allclose(P.sum(axis=2), 1.0, atol=2e-13)
    if name.startswith("simplex"):
        np.testing.assert_allclose(mu.sum(axis=1), 1.0, atol=1e-12)
    if name.startswith("ordinal"):
        assert np.all(np.diff(mu, axis=1) <= 0)


@pytest.mark.parametrize(("name", "dim"), LARGEST)
@pytest.mark.parametrize("size", [1e9, 1e100])
def test_extreme_scores_give_the_linear_oracle(name, dim, size, rng):
    loss, space = loss_of(name, dim), space_of(name, dim)
    theta = size * rng.randn(20, dim)
    best = space.argmax(theta)
    np.testing.assert_allclose(loss.mean(theta), best, atol=1e-9)
    omega = loss.omega(best)
    conjugate = (theta * best).sum(axis=1) - omega
    np.testing.assert_allclose(loss.conjugate(theta), conjugate, rtol=1e-12)
    np.testing.assert_allclose(loss.value(theta, best), 0.0, atol=1e-12 * size)
    other = space.argmax(-theta)
    gap = (theta * (best - other)).sum(axis=1) - omega + loss.omega(other)
    np.testing.assert_allclose(loss.value(theta, other), loss.scale_ * gap, rtol=1e-8)


@pytest.mark.parametrize(("name", "dim"), LARGEST)
def test_equal_scores_are_shared_equally(name, dim):
    for level in (0.0, -1e9, 1e9, 5e-324):
        mu = loss_of(name, dim).mean(np.full((1, dim), level))[0]
        if not name.startswith(("ordinal", "k_subsets")):
            np.testing.assert_allclose(mu, mu[0], rtol=1e-12)
        assert np.isfinite(mu).all()


@pytest.mark.parametrize(("name", "dim"), LARGEST)
@pytest.mark.parametrize("where", [0, 1, -1])
def test_one_score_of_minus_infinity(name, dim, where, rng):
    loss, space = loss_of(name, dim), space_of(name, dim)
    theta = rng.randn(1, dim)
    theta[0, where] = -np.inf
    if name.startswith("k_subsets"):
        with pytest.raises(ValueError, match="theta must be finite"):
            loss.mean(theta)
        return
    mu = loss.mean(theta)[0]
    if name.startswith("permutahedron"):
        assert np.isfinite(mu).all() and mu[where] == 1
        return
    assert np.isfinite(mu).all() and mu[where] == 0
    assert np.isfinite(loss.conjugate(theta)).all()
    for v in space.vertices():
        value = loss.value(theta, v[None])[0]
        assert value == np.inf if v[where] else value >= 0


@pytest.mark.exhaustive
def test_sparsemax_and_staircase_against_their_textbook_formulas(rng):
    for dim in (1, 2, 5, 40):
        for spread in (0.01, 1.0, 100.0):
            theta = spread * rng.randn(20, dim).round(2)
            staircase = loss_of("ordinal-squared", dim).mean(theta)
            wanted = [naive.isotonic_staircase(row) for row in theta]
            np.testing.assert_allclose(staircase, wanted, atol=1e-11)
            if dim > 1:
                sparse = loss_of("simplex-squared", dim).mean(theta)
                wanted = [naive.simplex_projection(row) for row in theta]
                np.testing.assert_allclose(sparse, wanted, atol=1e-12 * (1 + spread))


def test_sparsemax_on_slowly_decreasing_scores():
    theta = np.cumsum(1.0 / np.arange(1, 1001))[None] * 1e-3
    for row in (theta, theta[:, ::-1]):
        mu = loss_of("simplex-squared", 1000).mean(row)[0]
        np.testing.assert_allclose(mu, naive.simplex_projection(row[0]), atol=1e-12)


def test_entmax_satisfies_its_optimality_conditions(rng):
    for alpha in (1.0001, 1.01, 1.2, 1.5, 1.9, 2.0):
        theta = 3 * rng.randn(100, 9)
        mu = FenchelYoung(space_of("simplex-shannon", 9), Tsallis(alpha)).mean(theta)
        multiplier = theta - mu ** (alpha - 1) / (alpha - 1)
        tau = np.where(mu > 0, multiplier, -np.inf).max(axis=1, keepdims=True)
        assert np.all(np.abs(np.where(mu > 1e-12, multiplier - tau, 0)) < 1e-10)
        assert np.all(multiplier <= tau + 1e-10)


FROM_SCORES = ["simplex-shannon", "hypercube-shannon", "ordinal-shannon"]
#: Large enough for probabilities to underflow.
SIZES = [1e-12, 1.0, 40.0, 1e3, 1e6]


def online(**parameters):
    return sk.OnlineStructuredPredictor(
        optimizer="ogd", average=False, max_iter=1, shuffle=False, **parameters
    )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", FROM_SCORES)
def test_all_digits_in_the_tails(name, size, rng):
    for dim in PAIRS[name][2]:
        loss = loss_of(name, dim)
        theta = size * rng.randn(5, dim)
        theta[0] = size  # ties
        theta[1, 0] = 40.0 * size  # one class nearly certain
        found, wanted = loss.log_proba(theta), [naive.log_proba(loss.space, t) for t in theta]
        np.testing.assert_allclose(found, wanted, rtol=1e-13 * (1 + np.log1p(size)), atol=1e-300)


@pytest.mark.parametrize(("name", "dim"), LARGEST)
def test_they_are_the_logarithms_of_predict_proba(name, dim, rng):
    space, X, V, _ = weighted_vertices(name, dim, rng, 20)
    model = online(space=space, regularizer=PAIRS[name][1]).fit(X, space.decode(V))
    if not hasattr(space, "mean_proba"):
        assert not hasattr(model, "predict_log_proba")
        return
    p, log_p = model.predict_proba(X), model.predict_log_proba(X)
    assert log_p.shape == p.shape and (log_p <= 0).all()
    np.testing.assert_allclose(np.exp(log_p), p, atol=1e-14)
    if name not in FROM_SCORES:
        np.testing.assert_array_equal(log_p == -np.inf, p <= 0.0)


def test_underflow_is_no_minus_infinity(rng):
    X, y = rng.randn(60, 3), rng.randint(3, size=60)
    model, far = online(standardize="moments").fit(X, y), 1e5 * X
    assert (model.predict_proba(far) == 0.0).any()
    log_p, theta = model.predict_log_proba(far), model.embedding_scores(far)
    assert np.isfinite(log_p).all()
    np.testing.assert_allclose(
        log_p[:, 1:] - log_p[:, :1], theta[:, 1:] - theta[:, :1], rtol=1e-12, atol=1e-9
    )
    sparse = online(regularizer="squared", standardize="moments").fit(X, y)
    assert (sparse.predict_log_proba(far) == -np.inf).any()


def test_a_space_that_says_otherwise_is_asked():
    class Halved(sk.spaces.Simplex):
        def mean_proba(self, mu):
            return mu / 2

    loss, theta = sk.FenchelYoung(Halved().fit([0, 1])), np.zeros((1, 2))
    np.testing.assert_allclose(loss.log_proba(theta), np.log([[0.25, 0.25]]))


def test_gaptron_and_newtron_are_exact_too(rng):
    X, y = rng.randn(80, 3), rng.randint(3, size=80)
    for model in (sk.GaptronClassifier("logistic"), sk.NewtronClassifier(random_state=0)):
        model.set_params(standardize="moments").fit(X, y)
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
        far = model.predict_log_proba(1e5 * X)
        assert np.isfinite(far).all() and far.min() < -800
    assert not hasattr(sk.GaptronClassifier("hinge"), "predict_log_proba")
    assert not hasattr(sk.MulticlassPerceptron(), "predict_log_proba")


class NoLogarithms(sk.OnlineStructuredPredictor):
    predict_log_proba = property()


def test_the_reduction_asks_its_learner(rng):
    X = rng.randn(60, 3)
    y = X.argmax(axis=1)
    model = sk.BanditReduction(online(), exploration=0.5, classes=[0, 1, 2], random_state=0)
    model.choose(X[:1])
    np.testing.assert_allclose(model.predict_log_proba(X), -np.log(3) * np.ones((60, 3)))
    model.partial_fit(X, y)
    far = 1e6 * X
    assert (model.predict_proba(far) < 1e-290).any()
    np.testing.assert_array_equal(
        model.predict_log_proba(far), model.estimator_.predict_log_proba(far)
    )
    without = sk.BanditReduction(NoLogarithms(), exploration=0.5, random_state=0).fit(X, y)
    assert not hasattr(without.estimator_, "predict_log_proba")
    for each in (model, without):
        np.testing.assert_allclose(np.exp(each.predict_log_proba(X)), each.predict_proba(X))
