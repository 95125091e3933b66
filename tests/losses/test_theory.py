"""The facts that the guarantees rest on, for every pair: Prop. 2.3, Lemma 3.1 and the constants."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pairs import CASES, PAIRS, loss_of
from plain import predictor

import skstructured as sk
from skstructured.evaluation import progressive_validate

SCALES = ("theory", 0.3, 5.0)
CONSTANTS = ("paper", "sharp")


def norms(v, norm):
    return np.linalg.norm(v, ord=1 if norm == "l1" else 2, axis=1)


def against_every_vertex(space, theta):
    V = space.vertices()
    return np.repeat(theta, len(V), axis=0), np.tile(V, (len(theta), 1))


@pytest.mark.exhaustive
@pytest.mark.parametrize("constants", CONSTANTS)
@pytest.mark.parametrize("name", list(PAIRS))
@given(data=st.data())
def test_strong_convexity_and_lemma_3_1(name, constants, data):
    dim = data.draw(st.sampled_from(PAIRS[name][2]))
    size = data.draw(st.sampled_from([0.01, 1.0, 10.0, 1e4]))
    theta = size * data.draw(arrays(float, (3, dim), elements=st.floats(-1, 1)))
    loss = loss_of(name, dim, scale=data.draw(st.sampled_from(SCALES)), constants=constants)
    theta, V = against_every_vertex(loss.space, theta)
    k, mu, S = loss.constants_of(), loss.mean(theta), loss.value(theta, V)
    slack = 1e-11 * (1 + np.abs(theta).sum(axis=1))
    assert np.all(S / k.c + slack >= k.lam / 2 * norms(V - mu, k.norm) ** 2)
    assert np.all(k.c**2 * norms(V - mu, "l2") ** 2 <= k.smoothness * S + slack * k.smoothness)
    expected = sk.decoders.Randomized().expected_loss(theta, mu, V, loss)
    assert np.all(expected <= (1 - k.a) * S + slack)


@pytest.mark.parametrize(("name", "dim"), CASES)
def test_theory_scale_leaves_the_same_gap_everywhere(name, dim):
    loss = loss_of(name, dim)
    assert loss.surrogate_gap == pytest.approx(1 - math.log(2), abs=1e-15)
    assert loss.constants_of().a == pytest.approx(1 - math.log(2), abs=1e-12)


def test_theory_scale_on_the_simplex_is_the_base_two_logistic_loss(rng):
    loss = loss_of("simplex-shannon", 4)
    theta = rng.randn(10, 4)
    p = np.exp(theta) / np.exp(theta).sum(axis=1, keepdims=True)
    assert loss.scale_ == pytest.approx(1 / math.log(2))
    np.testing.assert_allclose(loss.value(theta, np.eye(4)[[2] * 10]), -np.log2(p[:, 2]))


def test_an_explicit_scale_sets_the_gap():
    loss = loss_of("hypercube-squared", 4, scale=1.0)
    assert loss.surrogate_gap == pytest.approx(1 - 4 * 0.5 / 1.0)
    assert loss.scale_ == 1.0


def test_the_value_is_proportional_to_the_scale(rng):
    theta, V = rng.randn(5, 3), np.eye(3)[[0, 1, 2, 0, 1]]
    for name in ("simplex-shannon", "simplex-squared"):
        one, ten = loss_of(name, 3, scale=1.0), loss_of(name, 3, scale=10.0)
        np.testing.assert_allclose(ten.value(theta, V), 10 * one.value(theta, V))
        np.testing.assert_allclose(ten.gradient(theta, V), 10 * one.gradient(theta, V))
        value, gradient = ten.value_and_gradient(theta, V)
        np.testing.assert_array_equal(value, ten.value(theta, V))
        np.testing.assert_array_equal(gradient, ten.gradient(theta, V))


def test_unfitted_spaces_take_their_size_from_the_scores():
    loss = sk.FenchelYoung("ordinal", sk.regularizers.SquaredNorm())
    assert loss.value(np.zeros((1, 4)), np.ones((1, 4)))[0] > 0
    np.testing.assert_allclose(loss.mean([[0.2, 0.7]]), [[0.45, 0.45]])


def test_sharp_constants_are_the_printed_ones():
    """λ and b/(2c)⁻¹ of the entropies, κ₀ = min −2 ln(1 − q)/q²."""
    q = np.linspace(0.5, 0.9, 100_001)
    least, d = (-2.0 * np.log1p(-q) / q**2).min(), 4
    wanted = {
        "simplex-shannon": (least / 4, least / 2),
        "hypercube-shannon": (least, least),
        "ordinal-shannon": (least / d**2, least / d),
    }
    for name, (scale, smooth) in wanted.items():
        k = loss_of(name, d, constants="sharp").constants_of()
        assert k.lam == pytest.approx(scale, rel=1e-9)
        assert k.smoothness == pytest.approx(2.0 * k.c / smooth, rel=1e-9)


def test_sharp_constants_make_bounds_smaller_that_still_hold(rng):
    X, y = rng.randn(300, 3), rng.randint(3, size=300)
    bounds = {}
    for constants in CONSTANTS:
        result = progressive_validate(
            predictor(loss=sk.FenchelYoung(constants=constants)),
            X,
            y,
            random_state=0,
            play="randomized",
        )
        bounds[constants] = result.regret_bound(np.zeros((3, 4)))
        assert result.expected_target_loss.sum() <= result.regret_bound()
        assert result.estimator.loss_.constants == constants
    assert bounds["sharp"] < bounds["paper"]
