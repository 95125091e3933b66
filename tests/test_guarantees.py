"""The cumulative target loss stays below the bounds, on every kind of stream."""

import math

import numpy as np
import pytest
from conftest import INTERPRETED
from pairs import LARGEST, PAIRS, space_of
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from skstructured import GuaranteeError, OnlineStructuredPredictor
from skstructured.evaluation import progressive_validate
from skstructured.metrics import best_comparator, comparator_losses
from skstructured.optimizers import GradientDescent

REGULARIZERS = {
    "simplex": ("shannon", "squared", "tsallis"),
    "hypercube": ("shannon", "squared"),
    "ordinal": ("shannon", "squared"),
}


def real_streams(load):
    """(space, X, y) of the real data sets, standardised."""
    scaled = StandardScaler().fit_transform
    digits = load_digits(return_X_y=True)
    yield "simplex", digits[0] / 16, digits[1]
    for name in ("satimage", "letter", "elec2"):
        arrays = load(name)
        yield "simplex", scaled(arrays["X"].astype(float)), arrays["y"]
    yeast, scene, abalone = load("ml_yeast"), load("ml_scene"), load("abalone")
    yield "hypercube", scaled(yeast["X"].astype(float)), yeast["Y"]
    yield "hypercube", scaled(scene["X_train"].astype(float)), scene["Y_train"]
    yield "ordinal", scaled(abalone["X"]), abalone["y_eqfreq"]


@pytest.mark.skipif(INTERPRETED, reason="needs compiled kernels")
@pytest.mark.parametrize("which", range(7))
def test_bound_holds_on_real_streams(which, load):
    space, X, y = list(real_streams(load))[which]
    for regularizer in REGULARIZERS[space]:
        model = OnlineStructuredPredictor(space=space, regularizer=regularizer)
        result = progressive_validate(model, X[:6000], y[:6000], random_state=0)
        U = best_comparator(
            result.estimator.loss_,
            X[:6000],
            result._V,
            result._certificate().quadratic,
            max_iter=60,
        )
        bound, zero = result.regret_bound(U), result.regret_bound(np.zeros_like(U))
        assert bound < zero  # the comparator is worth something
        assert result.expected_target_loss.sum() <= bound
        assert np.all(result.expected_target_loss <= math.log(2) * result.surrogate_loss + 1e-9)


@pytest.mark.parametrize(("name", "dim"), LARGEST)
def test_bound_holds_on_pure_noise(name, dim):
    n = 60 if INTERPRETED else 2000
    space = space_of(name, dim)
    for seed in range(3):
        rng = np.random.RandomState(seed)
        vertices = space.vertices()
        V = np.vstack([vertices, vertices[rng.randint(len(vertices), size=n)]])
        X = rng.randn(len(V), 4) * np.exp(rng.randn(len(V), 1))
        result = progressive_validate(
            OnlineStructuredPredictor(space=space, regularizer=PAIRS[name][1]),
            X,
            space.decode(V),
            random_state=seed,
        )
        assert result.expected_target_loss.sum() <= result.regret_bound()


def play_against_adversary(model, X, vertices, space):
    """Answer each round with the vertex of the largest expected loss; returns the truths."""
    expected, truths = 0.0, []
    for t, x in enumerate(X):
        if t == 0:
            losses = np.ones(len(vertices))
        else:
            repeated = np.repeat(x[None], len(vertices), axis=0)
            losses = model.expected_target_loss(repeated, space.decode(vertices))
        worst = int(np.argmax(losses))
        truths.append(vertices[worst])
        expected += losses[worst]
        classes = space.decode(vertices) if space.task == "multiclass" else None
        model.partial_fit(x[None], space.decode(vertices[worst][None]), classes=classes)
    return expected, np.array(truths)


@pytest.mark.parametrize("constants", ["learned C", "given C"])
@pytest.mark.parametrize(("name", "dim"), LARGEST)
def test_bound_holds_against_an_adaptive_adversary(name, dim, constants, rng):
    space, n = space_of(name, dim), 15 if INTERPRETED else 300
    X = rng.randn(n, 3)
    X /= np.linalg.norm(X, axis=1, keepdims=True)  # equal norms: θ is what the optimiser plays
    optimizer = GradientDescent(feature_norm=math.sqrt(2) if constants == "given C" else None)
    model = OnlineStructuredPredictor(space=space, regularizer=PAIRS[name][1], optimizer=optimizer)
    expected, V = play_against_adversary(model, X, space.vertices(), space)
    certificate = model.certificate()
    U = best_comparator(model.loss_, X, V, certificate.quadratic)
    losses = comparator_losses(model.loss_, U, X, V)
    assert expected <= certificate.bound(losses.sum(), np.linalg.norm(U))


def test_the_first_rows_may_be_tiny():
    X = np.r_[[[0.01]], np.ones((300, 1))]
    y = np.r_[0, np.ones(300, dtype=int)]
    model = OnlineStructuredPredictor(fit_intercept=False)
    result = progressive_validate(model, X, y)
    assert result.expected_target_loss.sum() <= result.regret_bound()


def test_high_probability_bound_needs_its_own_step(rng):
    X, y = rng.randn(200, 3), rng.randint(3, size=200)
    usual = progressive_validate(OnlineStructuredPredictor(), X, y)
    with pytest.raises(GuaranteeError, match='eta="high_probability"'):
        usual.regret_bound(delta=0.05)
    optimizer = GradientDescent(eta="high_probability")
    model = OnlineStructuredPredictor(optimizer=optimizer)
    exceeded = 0
    for seed in range(5 if INTERPRETED else 40):
        result = progressive_validate(model, X, y, random_state=seed)
        exceeded += result.target_loss.sum() > result.regret_bound(delta=0.05)
    assert exceeded == 0
    with pytest.raises(ValueError, match=r"delta must lie in \(0, 1\), got 2"):
        result.regret_bound(delta=2)


def test_bounds_are_the_printed_formulas(rng):
    X, y = rng.randn(50, 3), rng.randint(3, size=50)
    result = progressive_validate(OnlineStructuredPredictor(), X, y)
    U = rng.randn(3, 4)
    C_sq = (np.linalg.norm(X, axis=1) ** 2 + 1).max()
    theorem_5_1 = C_sq * np.linalg.norm(U) ** 2 / (2 * (1 - math.log(2)) * math.log(2))
    comparator = result.comparator_loss(U).sum()
    assert result.regret_bound(U) == pytest.approx(comparator + theorem_5_1)
    assert result.surrogate_regret(U) == pytest.approx(
        result.expected_target_loss.sum() - comparator
    )
    certificate = result.estimator.certificate()
    assert certificate.constants["C"] == pytest.approx(math.sqrt(C_sq))
    assert certificate.constants["b"] == pytest.approx(2 * C_sq / math.log(2))
    assert certificate.theorem == "Theorem 4.2"
    optimizer = GradientDescent(eta="high_probability", feature_norm=10.0)
    result = progressive_validate(OnlineStructuredPredictor(optimizer=optimizer), X, y)
    a, b = 1 - math.log(2), 2 * 100 / math.log(2)
    wanted = ((1 - a) * b * np.linalg.norm(U) ** 2 + 0.5 * 2 * math.log(20)) / a
    comparator = result.comparator_loss(U).sum()
    assert result.regret_bound(U, delta=0.05) == pytest.approx(comparator + wanted)


def test_configurations_without_a_theorem_say_so(rng):
    X, y = rng.randn(30, 3), rng.randint(3, size=30)

    def bound(batch_size=1, **parameters):
        model = OnlineStructuredPredictor(**parameters)
        return progressive_validate(model, X, y, batch_size=batch_size).regret_bound()

    with pytest.raises(GuaranteeError, match="randomized decoder, not Nearest"):
        bound(decoder="nearest")
    with pytest.raises(GuaranteeError, match="not batches of 5"):
        bound(batch_size=5)
    with pytest.raises(GuaranteeError, match="step is too large"):
        bound(optimizer=GradientDescent(eta=5.0))
    with pytest.raises(GuaranteeError, match="exceeded feature_norm=0.5"):
        bound(optimizer=GradientDescent(feature_norm=0.5))
    with pytest.warns(UserWarning), pytest.raises(GuaranteeError, match="no surrogate gap"):
        bound(loss_scale=0.5)


def test_a_ball_restricts_the_comparator(rng):
    X, y = rng.randn(100, 3), rng.randint(3, size=100)
    y = np.where(X[:, 0] > 0, 1, y)
    model = OnlineStructuredPredictor(optimizer=GradientDescent(radius=0.4))
    result = progressive_validate(model, X, y)
    U = result.best_comparator()
    assert np.linalg.norm(U) <= 0.4 + 1e-12
    assert result.expected_target_loss.sum() <= result.regret_bound()
    with pytest.raises(GuaranteeError, match="‖U‖_F ≤ 0.4"):
        result.regret_bound(10 * U)


def test_a_given_step_is_certified_too(rng):
    X, y = rng.randn(100, 3), rng.randint(3, size=100)
    model = OnlineStructuredPredictor(optimizer=GradientDescent(eta=0.01))
    result = progressive_validate(model, X, y)
    assert result.estimator.certificate().constants["m"] < 1 - math.log(2)
    assert result.expected_target_loss.sum() <= result.regret_bound()


def test_best_comparator_minimises_the_bound(rng):
    X, y = rng.randn(200, 3), rng.randint(3, size=200)
    y = np.where(X[:, 0] > 0.5, 2, y)
    result = progressive_validate(OnlineStructuredPredictor(), X, y)
    U = result.best_comparator()
    best = result.regret_bound(U)
    for _ in range(20):
        assert result.regret_bound(U + 1e-3 * rng.randn(*U.shape)) >= best
    assert result.regret_bound() == pytest.approx(best)
    with pytest.raises(ValueError, match=r"U must have shape \(3, 4\) \(outputs, features and"):
        result.regret_bound(U[:, :3])
