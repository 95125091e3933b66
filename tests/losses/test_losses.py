"""The parameter `loss`: surrogates against formulas, learners that take them, bounds."""

import naive
import numpy as np
import pytest
from coordinate_steps import AdaGrad, FTRLProximal
from pairs import CASES, loss_of
from plain import gaptron, perceptron
from scipy.optimize import approx_fprime
from scipy.special import expit
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

import skstructured as sk
from skstructured.extend.surrogate import Surrogate, run_gradient_rows
from skstructured.losses import FenchelYoung, GapSurrogate, IndicatorMargins, ZeroOneLoss
from skstructured.losses.gap import GapKind, add_gradient, gap, gap_gradient
from skstructured.losses.surrogates import (
    MarginLoss,
    ResidualKind,
    ResidualLoss,
    kind_names,
    residual_gradient,
)
from skstructured.metrics import expected_target_loss_scorer
from skstructured.optimizers import GradientDescent
from skstructured.spaces import Hypercube, OrdinalChain, Simplex

KINDS = {name: float(getattr(GapKind, name.upper())) for name in kind_names(GapKind)}
X, CLASSES = load_iris(return_X_y=True)
SETS = np.stack([X[:, 0] > 5.8, X[:, 2] > 4.0, CLASSES == 1], axis=1).astype(int)
OUTPUTS = {"simplex": CLASSES, "hypercube": SETS, "ordinal": CLASSES}

#: What stays as it is in comparisons of learners.
PLAIN = {"average": False, "standardize": False, "max_iter": 1, "shuffle": False}


def online(space="simplex", **given):
    return sk.OnlineStructuredPredictor(space, **PLAIN | {"random_state": 0} | given)


def phi(z, kind):
    """The loss of a margin, as printed."""
    return {
        "hinge": max(1.0 - z, 0.0),
        "smooth_hinge": 1.0 - 2.0 * z if z <= 0.0 else max(1.0 - z, 0.0) ** 2,
        "logistic": np.log2(1.0 + np.exp(-z)),
        "perceptron": max(-z, 0.0),
    }[kind]


@pytest.mark.parametrize("kind", ["hinge", "smooth_hinge", "logistic", "perceptron"])
@pytest.mark.parametrize("space", [Hypercube(), OrdinalChain()], ids=["hypercube", "ordinal"])
def test_margins_of_indicators_are_their_formula(space, kind, rng):
    space = clone(space).fit(OUTPUTS["hypercube" if isinstance(space, Hypercube) else "ordinal"])
    loss, V = IndicatorMargins(kind=kind).over(space), space.vertices()
    theta = 2.0 * rng.randn(len(V), space.dim_)
    value, gradient = loss.value_and_gradient(theta, V)
    literal = [
        sum(phi((2 * y - 1) * t, kind) for y, t in zip(v, row, strict=True))
        for v, row in zip(V, theta, strict=True)
    ]
    np.testing.assert_allclose(value, literal, rtol=1e-12)
    for i, row in enumerate(theta):
        slope = approx_fprime(row, lambda t, i=i: loss.value(t[None], V[i : i + 1])[0])
        np.testing.assert_allclose(gradient[i], slope, atol=1e-5)
        assert np.linalg.norm(gradient[i]) <= loss.lipschitz + 1e-12
    np.testing.assert_array_equal(loss.mean(theta), space.argmax(theta))


@pytest.mark.parametrize("kind", KINDS)
def test_surrogates_with_a_gap_are_their_formula(kind, rng):
    """Losses and gradients, by themselves and added to others, and the gap."""
    params, margins = np.array([KINDS[kind]]), rng.uniform(-2.0, 2.0, size=(200, 4))
    for theta, y in zip(margins * rng.rand(200, 1), rng.randint(4, size=200), strict=True):
        value, gradient, a = naive.gap_surrogate(kind, theta, y)
        alone, added = np.full(4, np.nan), np.arange(4.0)
        found = gap_gradient(theta, np.eye(4)[y], alone, params, np.empty(0))
        np.testing.assert_allclose([found, *alone], [value, *gradient], rtol=1e-12, atol=1e-12)
        found = add_gradient(theta, y, KINDS[kind], 0.3, added)
        np.testing.assert_allclose(found, value, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(added, np.arange(4.0) + 0.3 * gradient, rtol=1e-12)
        assert gap(theta, KINDS[kind]) == pytest.approx(a, rel=1e-12)


@pytest.mark.parametrize("kind", kind_names(ResidualKind))
def test_losses_of_residuals_are_their_formula(kind):
    epsilon, q, g = 0.3, 0.8, np.empty(1)
    params = np.array([float(getattr(ResidualKind, kind.upper())), epsilon, q])
    for y, theta in ((1.5, 1.5 + r) for r in (-2.0, -0.31, -0.29, -0.1, 0.0, 0.1, 0.29, 0.31, 2.0)):
        r, sign = theta - y, np.sign(theta - y)
        wanted = {
            "absolute": (abs(r), sign),
            "epsilon_insensitive": (max(abs(r) - epsilon, 0.0), sign * (abs(r) > epsilon)),
            "huber": (r**2 / (2.0 * epsilon), r / epsilon)
            if abs(r) < epsilon
            else (abs(r) - epsilon / 2.0, sign),
            "quantile": (max(-q * r, (1.0 - q) * r), {1: 1.0 - q, -1: -q, 0: 0.0}[int(sign)]),
        }[kind]
        value = residual_gradient(np.array([theta]), np.array([y]), g, params, np.empty(0))
        np.testing.assert_allclose([value, g[0]], wanted, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("n", [1, 40])
@pytest.mark.parametrize("space", [Simplex, Hypercube, OrdinalChain])
def test_rows_in_numpy_are_those_of_compiled_functions(space, n, rng):
    loss, dim = FenchelYoung(space()), 4
    _, regularizer, oracle = loss._terms()
    theta = rng.randn(n, dim) * 10.0 ** rng.randint(-3, 4, size=(n, 1))
    theta[0, 0] = -np.inf if space is not OrdinalChain else -800.0
    params, scratch = regularizer.kernel_params(), np.zeros(oracle.work(dim))
    zeros = np.zeros((n, dim))
    truth = run_gradient_rows(oracle.kernel, theta.copy(), zeros, params, scratch)
    scores = theta.copy()
    for actual, expected in zip(oracle.batch(scores), truth, strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(scores, theta)
    loss, V = FenchelYoung(space(), scale=2.0), rng.rand(n, dim)
    theta = np.maximum(theta, -800.0)
    value, gradient = loss.objective(theta, V)
    np.testing.assert_allclose(gradient, 2.0 * (loss.mean(theta) - V))
    np.testing.assert_allclose(value, 2.0 * (loss.conjugate(theta) - np.sum(theta * V, axis=1)))


@pytest.mark.parametrize("kind", kind_names(ResidualKind))
@pytest.mark.parametrize("epsilon", [None, 0.0, 0.3])
def test_residuals_in_numpy_are_those_of_the_compiled_function(kind, epsilon, rng):
    loss = ResidualLoss(kind=kind, epsilon=epsilon, quantile=0.3)
    theta, V = rng.randn(50, 1), rng.randn(50, 1) / 3.0
    V[:5] = theta[:5]
    pairs = zip(
        loss.value_and_gradient(theta, V), Surrogate.value_and_gradient(loss, theta, V), strict=True
    )
    for actual, expected in pairs:
        np.testing.assert_allclose(actual, expected, atol=1e-14)


@pytest.mark.parametrize("dim", [1, 3, 4])
def test_probabilities_of_one_against_the_rest_are_shares(dim, rng):
    """Those of one against the rest, divided by their sum; one score is that of the second."""
    theta = 3.0 * rng.randn(20, dim)
    share = expit(np.hstack([-theta, theta]) if dim == 1 else theta)
    found = MarginLoss(kind="logistic").log_proba(theta)
    np.testing.assert_allclose(np.exp(found), share / share.sum(axis=1, keepdims=True), rtol=1e-12)


def test_gradients_are_no_longer_than_their_lipschitz_constant(rng):
    space = Simplex().fit(np.arange(4))
    theta, V = 3.0 * rng.randn(500, 4), space.encode(rng.randint(4, size=500))
    for loss in (ZeroOneLoss(), *(GapSurrogate(kind=k) for k in ("logistic", "hinge"))):
        lengths = np.linalg.norm(loss.over(space).value_and_gradient(theta, V)[1], axis=1)
        assert 0.8 * loss.lipschitz < lengths.max() <= loss.lipschitz + 1e-12
    smooth = GapSurrogate(kind="smooth_hinge").over(space)
    lengths = np.linalg.norm(smooth.value_and_gradient(theta, V)[1], axis=1)
    assert lengths.max() == pytest.approx(smooth.lipschitz) == pytest.approx(2.0 * np.sqrt(2.0))


@pytest.mark.parametrize("kind", ["hinge", "smooth_hinge"])
def test_gaptron_is_the_learner_with_its_loss_and_decoder(kind):
    ours = online(loss=kind, decoder="gap", optimizer="ogd").fit(X, CLASSES)
    theirs = gaptron(kind, random_state=0).fit(X, CLASSES)
    np.testing.assert_array_equal(ours.last_weights_, theirs.last_weights_)
    np.testing.assert_array_equal(ours.decoding_proba(X), theirs.decoding_proba(X))
    assert vars(ours.certificate()) == vars(theirs.certificate())
    result = sk.evaluation.progressive_validate(clone(ours), X, CLASSES, play="randomized")
    assert result.expected_target_loss.sum() <= result.regret_bound()


def test_the_perceptron_is_the_learner_with_its_loss_and_steps_of_one():
    ours = online(loss="perceptron", optimizer=GradientDescent(eta=1.0)).fit(X, CLASSES)
    theirs = perceptron(random_state=0).fit(X, CLASSES)
    np.testing.assert_array_equal(ours.last_weights_, theirs.last_weights_)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


@pytest.mark.parametrize("loss", ["hinge", "smooth_hinge", "perceptron"])
@pytest.mark.parametrize("space", OUTPUTS)
def test_every_space_with_margins_learns_by_them(space, loss):
    y = OUTPUTS[space]
    for kind in (sk.OnlineStructuredPredictor, sk.KernelStructuredPredictor):
        model = kind(space, loss=loss, random_state=0).fit(X, y)
        assert model.score(X, y) > 0.85
        chunks = clone(model).set_params(shuffle=False, max_iter=1)
        whole = clone(chunks).partial_fit(X, y, classes=np.unique(y))
        for i in range(0, len(X), 40):
            chunks.partial_fit(X[i : i + 40], y[i : i + 40], classes=np.unique(y))
        np.testing.assert_array_equal(whole.decision_function(X), chunks.decision_function(X))
        assert not hasattr(model, "predict_proba")


def test_losses_without_a_theorem_say_so():
    for given in ({"loss": "perceptron"}, {"loss": "hinge"}, {"loss": "hinge", "decoder": "map"}):
        model = online(**given).fit(X, CLASSES)
        with pytest.raises(sk.GuaranteeError, match="No bound is known for loss="):
            model.certificate()
    model = online(loss="hinge", decoder="gap", optimizer="parameter_free").fit(X, CLASSES)
    with pytest.raises(sk.GuaranteeError, match="has no constants"):
        model.certificate()
    descent = GradientDescent(eta=0.1)
    with pytest.raises(sk.GuaranteeError, match='needs eta="theory"'):
        online(loss="hinge", decoder="gap", optimizer=descent).fit(X, CLASSES).certificate()


@pytest.mark.parametrize(
    ("space", "loss", "error", "message"),
    [
        ("simplex", "hinges", ValueError, "'fenchel_young', 'hinge', 'smooth_hinge', 'perceptron'"),
        ("birkhoff", "hinge", ValueError, "not known for Birkhoff; its losses are 'fenchel_young'"),
        (
            "simplex",
            IndicatorMargins(),
            ValueError,
            "only supported for multilabel outputs and ordinal",
        ),
        ("hypercube", ZeroOneLoss(), ValueError, "only supported for classes"),
        ("simplex", GapSurrogate(kind="x"), ValueError, "loss must be one of 'logistic'"),
        ("simplex", None, TypeError, "a string or an instance of Surrogate, got None"),
    ],
)
def test_other_losses_are_refused_and_the_model_stays(space, loss, error, message):
    y = {"birkhoff": np.argsort(X[:, :3], axis=1)}.get(space, OUTPUTS.get(space))
    model = online(space).fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(error, match=message):
        model.set_params(loss=loss).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_sequences_have_the_loss_of_their_regularizer_alone():
    words, labels = [X[:5], X[50:55]], [CLASSES[:5], CLASSES[50:55]]
    with pytest.raises(ValueError, match="not known for LabelSequence"):
        online("sequence", loss="hinge").fit(words, labels)


def test_one_search_compares_losses_regularizers_decoders_and_optimizers():
    grid = [
        {"regularizer": ["shannon", "squared"], "optimizer": ["parameter_free", AdaGrad()]},
        {"loss": ["hinge", "smooth_hinge"], "decoder": ["gap", "nearest"]},
        {"loss": ["perceptron"], "optimizer": [FTRLProximal(), AdaGrad()]},
    ]
    model = sk.OnlineStructuredPredictor(max_iter=2, random_state=0)
    search = GridSearchCV(model, grid, scoring=expected_target_loss_scorer, error_score="raise")
    search.fit(X, CLASSES)
    assert len(search.cv_results_["params"]) == 10
    assert search.best_score_ > -0.15


@pytest.mark.parametrize(("name", "dim"), CASES)
def test_finite_scores_have_no_loss_if_there_is_a_margin(name, dim):
    loss = loss_of(name, dim)
    V = loss.space.vertices()
    directions = V - V.mean(axis=0)
    assert loss.has_margin != name.endswith("shannon")
    if loss.has_margin:
        assert loss.value(100.0 * directions, V).max() <= 1e-9
    else:
        assert loss.value(5.0 * directions, V).min() > 0.0
