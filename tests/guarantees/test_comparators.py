"""The best comparator in a ball is what a solver for constraints finds."""

import math

import numpy as np
import pytest
from conftest import INTERPRETED
from pairs import PAIRS, loss_of, space_of
from plain import predictor
from scipy import sparse
from scipy.optimize import minimize
from streams import linear_vertices

from skstructured import GuaranteeError
from skstructured.evaluation.adversaries import LabelNoise, play
from skstructured.guarantees.certificates import Certificate
from skstructured.losses.gap import GapSurrogate
from skstructured.metrics import best_comparator, comparator_for, comparator_losses
from skstructured.optimizers import AdaptiveGradientDescent, GradientDescent
from skstructured.spaces import Simplex

LOSSES = {
    "simplex-shannon": lambda: loss_of("simplex-shannon", 3),
    "simplex-squared": lambda: loss_of("simplex-squared", 3),
    "hypercube-shannon": lambda: loss_of("hypercube-shannon", 3),
    "ordinal-squared": lambda: loss_of("ordinal-squared", 2),
    "smooth hinge": lambda: GapSurrogate(Simplex().fit(np.arange(3)), "smooth_hinge"),
}


def objective(loss, X, V, quadratic, U):
    return comparator_losses(loss, U, X, V).sum() + quadratic * np.sum(U**2)


def constrained(loss, X, V, quadratic, radius):
    """The smallest objective in the ball, by sequential quadratic programming."""
    shape, ones = (V.shape[1], X.shape[1] + 1), np.c_[X, np.ones(len(X))]

    def value(u):
        values, g = loss.value_and_gradient(ones @ u.reshape(shape).T, V)
        gradient = (g.T @ ones).ravel() + 2 * quadratic * u
        return (values.sum() + quadratic * u @ u) / len(X), gradient / len(X)

    ball = {"type": "ineq", "fun": lambda u: radius**2 - u @ u, "jac": lambda u: -2 * u}
    start = np.full(math.prod(shape), 1e-2 * radius)
    options = {"maxiter": 2000, "ftol": 1e-10}
    found = minimize(value, start, jac=True, constraints=ball, method="SLSQP", options=options)
    assert found.success and found.x @ found.x <= radius**2 * (1 + 1e-6)
    return len(X) * found.fun


#: Radii with quadratic terms; every other one with noisy scores.
BALLS = [
    (radius, quadratic, float((i + j) % 2))
    for i, radius in enumerate((0.3, 4.0) if INTERPRETED else (1e-2, 0.3, 1.0, 4.0))
    for j, quadratic in enumerate((0.0, 1e-3, 1.0))
]


@pytest.mark.parametrize(("radius", "quadratic", "noise"), BALLS)
@pytest.mark.parametrize("which", list(LOSSES))
def test_no_solver_finds_a_better_one_in_the_ball(which, radius, quadratic, noise, rng):
    loss = LOSSES[which]()
    X, V = linear_vertices(loss.space, rng, noise)
    U = best_comparator(loss, X, V, quadratic, radius=radius)
    assert np.linalg.norm(U) <= radius * (1 + 1e-12)
    wanted = constrained(loss, X, V, quadratic, radius)
    assert objective(loss, X, V, quadratic, U) <= wanted * (1 + 1e-3)


@pytest.mark.parametrize("which", list(LOSSES))
def test_a_large_ball_changes_nothing(which, rng):
    loss = LOSSES[which]()
    X, V = linear_vertices(loss.space, rng, 1.0)
    for quadratic in (0.1, 10.0):
        free = best_comparator(loss, X, V, quadratic)
        norm = np.linalg.norm(free)
        for radius in (1.01 * norm, 1e6):
            found = best_comparator(loss, X, V, quadratic, radius=radius)
            np.testing.assert_array_equal(found, free)
        touching = best_comparator(loss, X, V, quadratic, radius=0.9999 * norm)
        value = objective(loss, X, V, quadratic, touching)
        assert value == pytest.approx(objective(loss, X, V, quadratic, free), rel=1e-6)


@pytest.mark.parametrize("kind", ["logistic", "hinge", "smooth_hinge"])
def test_hinges_in_a_ball_are_better_than_scaled_ones(kind, rng):
    """Kinks leave L-BFGS no gradient to stop at; any point of the ball bounds the smallest."""
    loss = GapSurrogate(Simplex().fit(np.arange(3)), kind)
    X, V = linear_vertices(loss.space, rng, 1.0)
    free = best_comparator(loss, X, V, 0.1)
    for share in (0.5, 0.1):
        radius = share * np.linalg.norm(free)
        U = best_comparator(loss, X, V, 0.1, radius=radius)
        best = objective(loss, X, V, 0.1, U)
        assert best <= objective(loss, X, V, 0.1, share * free)
        for _ in range(30):
            other = U + 0.1 * radius * rng.randn(*U.shape)
            other *= min(1.0, radius / np.linalg.norm(other))
            assert objective(loss, X, V, 0.1, other) >= best * (1 - 1e-2)


def test_rows_without_features_have_the_comparator_zero():
    loss = LOSSES["simplex-shannon"]()
    X, V = np.zeros((6, 2)), loss.space.vertices()[[0, 1, 2] * 2]
    for quadratic in (0.0, 1.0):
        U = best_comparator(loss, X, V, quadratic, fit_intercept=False, radius=0.5)
        assert not U.any()


def test_storage_and_intercept_do_not_matter(rng):
    loss = LOSSES["simplex-shannon"]()
    X, V = linear_vertices(loss.space, rng, 0.5)
    dense = best_comparator(loss, X, V, 0.01, radius=0.7)
    np.testing.assert_allclose(
        best_comparator(loss, sparse.csr_array(X), V, 0.01, radius=0.7), dense, atol=1e-6
    )
    ones = np.c_[X, np.ones(len(X))]
    appended = best_comparator(loss, ones, V, 0.01, fit_intercept=False, radius=0.7)
    np.testing.assert_allclose(appended, dense, atol=1e-6)


def test_the_bound_of_a_ball_is_the_attainable_one():
    """A penalty raised by jumps, until U lay inside, gave 2613 instead of 2559."""
    n, space = 100 if INTERPRETED else 2000, space_of("simplex-shannon", 3)
    model = predictor(optimizer=GradientDescent(radius=1.0))
    result = play(model, LabelNoise(n, random_state=0), space)
    loss, certificate = result.estimator.loss_, result.estimator.certificate()
    wanted = constrained(loss, result.rounds.X, result.encoded, certificate.quadratic, 1.0)
    assert result.regret_bound() <= wanted * (1 + 1e-3)
    assert result.expected_target_loss.sum() <= result.regret_bound()


def test_an_offset_does_not_move_the_comparator(rng):
    """The adaptive step's regret is a constant in its ball: the least loss is the least bound."""
    name = "simplex-shannon"
    model = predictor(space_of(name, 3), PAIRS[name][1], optimizer=AdaptiveGradientDescent(1.6))
    loss = LOSSES[name]()
    X, V = linear_vertices(loss.space, rng, 1.0)
    certificate = model.fit(X, loss.space.decode(V)).certificate()
    assert (certificate.quadratic, certificate.radius) == (0.0, 0.8)
    U = comparator_for(certificate, loss, X, V)
    least = constrained(loss, X, V, 0.0, 0.8)
    assert comparator_losses(loss, U, X, V).sum() <= least * (1 + 1e-3)
    with pytest.raises(GuaranteeError, match="radius = 0.8"):
        certificate.bound(0.0, 0.9)
    free = comparator_for(Certificate("none", 0.1, 7.0), loss, X, V)
    np.testing.assert_array_equal(free, best_comparator(loss, X, V, 0.1))
