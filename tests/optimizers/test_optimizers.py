"""Optimisers against literal references; averages; scales; extremes."""

import pickle
import warnings

import naive
import numpy as np
import pytest
from conftest import INTERPRETED
from coordinate_steps import AdaGrad, FTRLProximal
from pairs import LARGEST, PAIRS
from plain import predictor
from scipy import sparse
from sklearn.base import clone
from streams import weighted_vertices

from skstructured import GuaranteeWarning
from skstructured._engine.state import LoopState
from skstructured.evaluation import progressive_validate
from skstructured.losses import FenchelYoung
from skstructured.optimizers import (
    AdaptiveGradientDescent,
    GradientDescent,
    ParameterFree,
    PiSTOL,
)
from skstructured.optimizers.coin_betting import BettingState, bet_scale, bet_step
from skstructured.optimizers.pistol import PistolState

#: name -> (optimizer, its literal form, what that is told of the loss, its numbers)
OPTIMIZERS = {
    "adaptive": (AdaptiveGradientDescent(1.5), naive.AdaptiveGradientDescent, "c", 3.0),
    "adaptive, tiny": (AdaptiveGradientDescent(0.005), naive.AdaptiveGradientDescent, "c", 0.01),
    "parameter_free": (ParameterFree(), naive.ParameterFree, "D", 100.0),
    "parameter_free, given C": (ParameterFree(7.0, 3.0), naive.ParameterFree, "D", 7.0, 3.0),
    "pistol": (PiSTOL(), naive.PiSTOL, "D", 0.08, 1.0),
    "pistol of theory": (PiSTOL(2.25, 3.0, 5.0), naive.PiSTOL, "D", 2.25, 3.0, 5.0),
    "pistol per coordinate": (PiSTOL(per_coordinate=True), naive.CoordinatePiSTOL, "D", 0.08, 1.0),
    "pistol per coordinate, of theory": (
        PiSTOL(2.25, 3.0, 5.0, per_coordinate=True),
        *(naive.CoordinatePiSTOL, "D", 2.25, 3.0, 5.0),
    ),
    "adagrad": (AdaGrad(0.3), naive.AdaGrad, None, 0.3),
    "ftrl": (FTRLProximal(0.2, 0.5, 0.3, 0.1), naive.FTRLProximal, None, 0.2, 0.5, 0.3, 0.1),
}
SCALE_FREE = ("parameter_free", "pistol", "pistol per coordinate")
ALL = {"ogd": GradientDescent(), **{name: found[0] for name, found in OPTIMIZERS.items()}}


def learner(name, space, optimizer, **parameters):
    return predictor(
        space=clone(space), regularizer=PAIRS[name][1], optimizer=optimizer, **parameters
    )


@pytest.mark.parametrize("which", list(OPTIMIZERS))
@pytest.mark.parametrize(("name", "dim"), LARGEST)
def test_rounds_and_averages_equal_the_literal_learner(name, dim, which, rng):
    """The first round of a second pass is round n + 1 of the average."""
    n = 40 if INTERPRETED or "k_subsets" in name else 200
    space, X, V, weight = weighted_vertices(name, dim, rng, n)
    optimizer, literal, told, *numbers = OPTIMIZERS[which]
    diameter = space.geometry("l2").diameter
    for intercept, average, passes in ((True, "polynomial", 2), (False, "uniform", 1)):
        given = {"average": average, "fit_intercept": intercept, "max_iter": passes}
        model = learner(name, space, optimizer, **given)
        model.fit(X, space.decode(V), sample_weight=weight)
        known = {"c": [model.loss_.constants_of().c], "D": [diameter], None: []}[told]
        reference = literal((dim, 4 + intercept), *known, *numbers)
        rows, truth, weights = np.tile(X, (passes, 1)), np.tile(V, (passes, 1)), [*weight] * passes
        _, W = naive.play(reference, model.loss_, rows, truth, weights, intercept)
        largest = np.abs(W).max()
        wanted = np.tensordot(naive.round_shares(weights, average), W[:-1], axes=1)
        csr = clone(model).fit(sparse.csr_array(X), space.decode(V), sample_weight=weight)
        for one in (model, csr):
            np.testing.assert_allclose(one.last_weights_, W[-1], atol=1e-10 * largest)
            np.testing.assert_allclose(one.average_weights_, wanted, atol=1e-12 * largest)


@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("average", ["polynomial", "uniform"])
@pytest.mark.parametrize(
    ("name", "dim", "which"),
    [("simplex-shannon", 7, which) for which in ALL] + [(*pair, "ogd") for pair in LARGEST],
)
def test_chunks_and_pickles_are_bit_identical(name, dim, which, average, storage, rng):
    n = 80 if INTERPRETED else 150
    space, X, V, weight = weighted_vertices(name, dim, rng, n, p=11)
    X = sparse.csr_array(X * (rng.rand(*X.shape) < 0.5)) if storage == "csr" else X
    y = space.decode(V)
    classes = np.unique(y) if y.ndim == 1 else None
    model = learner(name, space, ALL[which], average=average)
    whole = clone(model).fit(X, y, sample_weight=weight)
    for chunk in (1, 7):
        resumed = clone(model)
        for i in range(0, n, chunk):
            now = slice(i, i + chunk)
            resumed.partial_fit(X[now], y[now], classes=classes, sample_weight=weight[now])
            if i % 3 == 0:
                resumed = pickle.loads(pickle.dumps(resumed))
        np.testing.assert_array_equal(whole.last_weights_, resumed.last_weights_)
        np.testing.assert_array_equal(whole.average_weights_, resumed.average_weights_)
        assert whole.t_ == resumed.t_ == n


@pytest.mark.parametrize("growth", ["as they come", "zeros, then huge", "lognormal", "geometric"])
@pytest.mark.parametrize("storage", ["dense", "csr", "one in 20 csr"])
@pytest.mark.parametrize("which", list(ALL))
@pytest.mark.parametrize("average", ["polynomial", pytest.param("uniform", marks=pytest.mark.slow)])
def test_averages_are_those_of_the_weights_played(average, which, storage, growth, rng):
    """They do not cancel where features grow, across storages and weights put into Θ."""
    space, X, V, weight = weighted_vertices("simplex-shannon", 7, rng, 30 if INTERPRETED else 120)
    n = len(X)
    if growth != "as they come":
        X, weight = rng.randn(*X.shape), np.ones(n)
        X *= {
            "zeros, then huge": np.where(np.arange(n) < 20, 0.0, 1e8),
            "lognormal": np.exp(3.0 * rng.randn(n)),
            "geometric": (3.0 if n < 100 else 1.2) ** np.arange(n),
        }[growth][:, None]
    y, mean, share = space.decode(V), np.zeros((7, 5)), naive.round_shares(weight, average)
    model = learner("simplex-shannon", space, ALL[which], average=average)
    for i in range(n):
        mean += share[i] * playing(model, X[i], weight[i])
        is_dense = storage == "dense" or (storage != "csr" and i % 20 != 5)
        x = X[i : i + 1] if is_dense else sparse.csr_array(X[i : i + 1])
        model.partial_fit(x, y[i : i + 1], np.arange(7), sample_weight=weight[i : i + 1])
    largest = np.abs(mean).max()
    np.testing.assert_allclose(model.average_weights_, mean, atol=1e-12 * largest, rtol=1e-9)


def playing(model, x, weight):
    """The weights that a round with features x will be played with, from the public scores."""
    if not hasattr(model, "space_"):
        return np.zeros((7, 5))
    copy = pickle.loads(pickle.dumps(model)).set_params(average=False)
    copy.optimizer_.scale_kernel(copy.model_.state.vector, float(x @ x) + 1.0, weight)
    return copy.last_weights_


def test_predictions_use_the_average_or_the_last(rng):
    X, y = rng.randn(50, 3), rng.randint(3, size=50)
    model = predictor(average="polynomial").fit(X, y)
    np.testing.assert_array_equal(model.coef_, model.average_weights_[:, :3])
    np.testing.assert_array_equal(model.intercept_, model.average_weights_[:, 3])
    averaged = model.decision_function(X)
    model.set_params(average=False)
    np.testing.assert_array_equal(model.coef_, model.last_weights_[:, :3])
    assert np.abs(model.decision_function(X) - averaged).max() > 1e-3
    plain, mean, uniform = (predictor(average=a).fit(X, y) for a in (False, True, "uniform"))
    np.testing.assert_array_equal(plain.coef_, model.coef_)
    np.testing.assert_array_equal(mean.coef_, uniform.coef_)
    with pytest.raises(AttributeError, match="fit or partial_fit with average"):
        _ = plain.average_weights_
    with pytest.raises(ValueError, match='a bool, "uniform" or "polynomial", got 3'):
        predictor(average=3).fit(X, y)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
@pytest.mark.parametrize("which", SCALE_FREE)
def test_predictions_do_not_depend_on_the_unit_of_the_features(which, factor, rng):
    X, y = rng.randn(200, 6) * np.exp(rng.randn(6)), rng.randint(4, size=200)
    y = np.where(X[:, 0] > 1, 2, y)
    for average in (False, "polynomial"):
        model = predictor(optimizer=clone(ALL[which]), average=average, fit_intercept=False)
        theta = model.fit(X, y).decision_function(X)
        scaled = clone(model).fit(factor * X, y).decision_function(factor * X)
        np.testing.assert_allclose(theta, scaled, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("norm", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("which", [*list(ALL), "a=0.25", "a tiny"])
@pytest.mark.parametrize("truth", ["one class", "flips", "noise"])
def test_nothing_overflows(which, norm, truth, rng):
    optimizer = {"a=0.25": PiSTOL(a=0.25), "a tiny": PiSTOL(a=1e-6)}.get(which) or ALL[which]
    n = 60 if INTERPRETED else 1000
    X = norm * np.ones((n, 2))
    y = {"one class": np.zeros(n), "flips": np.arange(n) // 50 % 3, "noise": rng.randint(3, size=n)}
    model = predictor(optimizer=clone(optimizer), average="polynomial")
    if which == "a tiny":
        with pytest.warns(GuaranteeWarning, match=r"exponent exceeded 300 .* a=1e-06 is too small"):
            model.partial_fit(X, y[truth], classes=[0, 1, 2])
    else:
        model.partial_fit(X, y[truth], classes=[0, 1, 2])
    assert np.isfinite(model.last_weights_).all() and np.isfinite(model.average_weights_).all()
    assert np.isfinite(model.predict_proba(X)).all()


def test_directions_are_projected_descent_while_they_are_rescaled():
    """Gradients in one direction, whatever is played: Θ grows, and its factor is folded into it."""
    rng, loss = np.random.RandomState(0), predictor().fit([[0.0], [1.0]], [0, 1]).loss_
    state, theta, rescaled = ParameterFree().init(loss), np.zeros(2), 0
    direction, squares = np.zeros(2), 0.0
    for _ in range(300):
        g = np.array([1.0, -1.0]) + 0.5 * rng.randn(2)
        bet_scale(state, 1.0, 1.0)
        u = bet_step(state, g @ theta, g @ g, 1.0, 1.0)
        rescaled += state[LoopState.RESCALE] != 1.0
        theta = state[LoopState.RESCALE] * theta + u * g
        state[LoopState.RESCALE] = 1.0
        G = g / loss.lipschitz
        squares += G @ G
        direction = direction - G / np.sqrt(2.0 * squares)
        direction /= max(1.0, np.linalg.norm(direction))
        np.testing.assert_allclose(state[BettingState.SHRINK] * theta, direction, rtol=1e-9)
    assert rescaled >= 2


def test_the_bound_with_high_probability_counts_the_heaviest_row(rng):
    X, y, weight = rng.randn(30, 2), rng.randint(3, size=30), np.full(30, 0.3)
    weight[7] = 5.0
    model = predictor(optimizer=GradientDescent(eta="high_probability"), average=False)
    model.fit(X, y, sample_weight=weight)
    found = model.certificate(delta=0.05)
    k = model.loss_.constants_of()
    assert found.constants["weight"] == 5.0
    wanted = k.gamma * k.diameter * 5.0 * np.log(1.0 / 0.05) / k.a
    assert found.offset == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize(("scale", "is_large"), [(1.2, False), (1.8, False), (8.0, True)])
def test_the_bound_of_adaptive_steps_is_that_of_theorem_e_1(scale, is_large, rng):
    """b B²/(2a) up to a = ½, and 2(1 − a) b B² above, for comparators of norm B/2."""
    model = predictor(optimizer=AdaptiveGradientDescent(1.5), loss=FenchelYoung(scale=scale))
    found = model.fit(rng.randn(30, 2), rng.randint(3, size=30)).certificate()
    a, b = found.constants["a"], found.constants["b"]
    assert (a > 0.5) == is_large and found.radius == 1.5
    wanted = 2.0 * (1.0 - a) * b * 9.0 if is_large else b * 9.0 / (2.0 * a)
    assert found.offset == pytest.approx(wanted, rel=1e-12)


def test_short_cuts_are_the_components_with_their_defaults(rng):
    X, y = rng.randn(60, 3), rng.randint(3, size=60)
    for name, kind in (
        ("adaptive", AdaptiveGradientDescent),
        ("parameter_free", ParameterFree),
        ("pistol", PiSTOL),
    ):
        both = [predictor(optimizer=given).fit(X, y).coef_ for given in (name, kind())]
        np.testing.assert_array_equal(*both)


def test_progressive_rounds_are_played_with_the_last_weights(rng):
    """Averages are for new data: regret is about the iterates."""
    X, y = rng.randn(60, 3), rng.randint(3, size=60)
    models = [predictor(optimizer="parameter_free", average=a) for a in (False, "polynomial")]
    for batch_size in (1, 7):
        given = {"batch_size": batch_size, "random_state": 0}
        runs = [
            progressive_validate(model, X, y, **given, play="randomized").surrogate_loss
            for model in models
        ]
        np.testing.assert_array_equal(*runs)


def test_a_warning_made_an_error_leaves_a_whole_estimator():
    """It comes after the rows were learned, and says so: the state is that of having learned."""
    X, y = np.ones((100, 2)), np.zeros(100, dtype=int)
    model = predictor(optimizer=PiSTOL(a=1e-6)).partial_fit(X[:1], y[:1], [0, 1])
    quiet = pickle.loads(pickle.dumps(model))
    with pytest.raises(GuaranteeWarning), warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(X, y)
    with pytest.warns(GuaranteeWarning):
        quiet.partial_fit(X, y)
    assert model.t_ == quiet.t_ == 101
    np.testing.assert_array_equal(model.coef_, quiet.coef_)


@pytest.mark.filterwarnings("ignore::skstructured.GuaranteeWarning")
@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize(("name", "dim"), [("simplex-squared", 7), ("hypercube-squared", 3)])
def test_exponents_cut_off_are_counted_as_in_the_literal_learner(name, dim, storage, rng):
    """With gradients and features that are often 0, in chunks too."""
    n = 30 if INTERPRETED else 200
    space, X, V, weight = weighted_vertices(name, dim, rng, n, p=6)
    X *= rng.rand(*X.shape) < 0.5
    X[:, 0] = np.abs(X[:, 0]) + 1.0
    V[:] = V[rng.randint(2, size=n)]  # few outputs, so that scores go far
    rows, y = sparse.csr_array(X) if storage == "csr" else X, space.decode(V)
    classes = space.classes_ if name.startswith("simplex") else None
    for chunk in (n, 1, 7):
        model = learner(name, space, PiSTOL(1e-6, per_coordinate=True), average="polynomial")
        for i in range(0, n, chunk):
            now = slice(i, i + chunk)
            model.partial_fit(rows[now], y[now], classes, sample_weight=weight[now])
        reference = naive.CoordinatePiSTOL((dim, 7), space.geometry("l2").diameter, 1e-6, 1.0)
        naive.play(reference, model.loss_, X, V, weight)
        assert reference.capped > 20
        assert model.model_.state.vector[PistolState.CAPPED] == reference.capped
