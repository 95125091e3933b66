"""Bounds of items if sizes of rounds and weights change: formulas and adversaries."""

import math

import numpy as np
import pytest
from conftest import INTERPRETED
from example_spaces import KSubsets
from scipy.optimize import linear_sum_assignment

import skstructured as sk
from skstructured._base.ragged import Ragged
from skstructured.losses import FenchelYoung
from skstructured.optimizers import GradientDescent, PiSTOL, StepMixture

FEATURES = 2
SPACES = [
    ("simplex", "shannon"),
    ("simplex", "squared"),
    ("hypercube", "shannon"),
    ("hypercube", "squared"),
    ("permutahedron", "squared"),
    ("birkhoff", "shannon"),
    ("birkhoff", "squared"),
    ("subsets", "squared"),
]
CASES = [
    pytest.param(*case, marks=pytest.mark.exhaustive) if case[0] == "birkhoff" else case
    for case in SPACES
]
OPTIMIZERS = ["ogd", "adaptive", "parameter_free", "pistol", "mixture"]
ORDERS = ["rising", "falling", "shuffled"]
SIZES = {"birkhoff": [4, 9, 16, 25], "subsets": range(2, 31)}

#: 4γ/(λν) of m items: ν, γ and λ of the table of spaces.
NEEDED = {
    ("simplex", "shannon"): lambda m: 1.0,
    ("simplex", "squared"): lambda m: 4.0 * math.sqrt((m - 1) / m) / math.sqrt(2.0),
    ("hypercube", "shannon"): lambda m: 1.0 / math.sqrt(m),
    ("hypercube", "squared"): lambda m: 4.0 / math.sqrt(m),
    ("permutahedron", "squared"): lambda m: (
        4.0 * math.sqrt(3.0 / (max(m, 2) * (max(m, 2) ** 2 - 1))) / math.sqrt(2.0)
    ),
    ("birkhoff", "shannon"): lambda m: 0.5,
    ("birkhoff", "squared"): lambda m: 2.0 * math.sqrt(math.isqrt(m) - 1) / math.isqrt(m),
    ("subsets", "squared"): lambda m: 4.0 * math.sqrt((m - 2) / (2 * m)) / math.sqrt(2.0),
}


#: 1, which features that are all 0 attain, and rounding.
ATTAINED = 1.0 + 1e-12

#: D² in ℓ2 of m items.
SPREAD = {
    "simplex": lambda m: 2.0,
    "hypercube": lambda m: m,
    "permutahedron": lambda m: m**3 / 3.0 + 1.0,
    "birkhoff": lambda m: 2.0 * math.isqrt(m),
    "subsets": lambda m: 4.0,
}


def learner(space, regularizer, optimizer, **given):
    space = KSubsets(2) if space == "subsets" else space
    given = {"standardize": False, "fit_intercept": False, "average": False} | given
    return sk.ItemStructuredPredictor(space, regularizer=regularizer, optimizer=optimizer, **given)


def vertex(space, rng, m):
    """An output in the form of y."""
    if space == "hypercube":
        return rng.randint(2, size=m).astype(float)
    if space == "permutahedron":
        return rng.permutation(m) + 1.0
    if space == "birkhoff":
        return rng.permutation(math.isqrt(m))
    return (rng.permutation(m) < (2 if space == "subsets" else 1)).astype(float)


def stream(space, rng, n, order="shuffled"):
    """Rounds of all sizes, outputs, and weights."""
    sizes = rng.choice(SIZES.get(space, range(1, 31)), size=n)
    if order != "shuffled":
        sizes = np.sort(sizes)[:: 1 if order == "rising" else -1]
    size = 10.0 ** rng.uniform(-2.0, 1.0)
    X = [size * rng.randn(m, FEATURES) * rng.choice([0.0, 0.1, 1.0]) for m in sizes]
    weight = rng.choice([0.0, 0.3, 1.0, 5.0], size=n)
    weight[rng.randint(n)] = 1.0
    return X, [vertex(space, rng, len(x)) for x in X], weight


def play(model, X, y, weight):
    """Scores that were played, truths, and expected losses times weights."""
    batch = model.begin(X, y)._replace(weight=weight)
    played = []
    model.learn_blocks(batch, np.arange(len(X)), lambda block, _: played.append(block.theta), 2)
    theta, V = played[0].joined(played), batch.packed
    return theta, V, weight @ model.decode(theta).expected_loss(V)


def least_bound(model, X, V, weight):
    """The least bound against 0 and multiples of the weights; a mixture's against its experts."""
    certificate, loss, found = model.certificate(), model.model_.certified_loss(), []
    rows = np.concatenate(X)
    for factor in (0.0, 0.3, 1.0, 3.0, 30.0):
        norm = factor * np.linalg.norm(model.coef_)
        if norm <= certificate.radius:
            values = loss.value(Ragged(rows @ (factor * model.coef_), V.offsets), V)
            found.append(certificate.bound(weight @ values, norm))
    if isinstance(model.optimizer_, StepMixture):
        found.append(certificate.bound_of_experts())
    return min(found)


def ratio(given, X, y, weight):
    """The expected loss over the least bound, and the scores; 0 if there is no certificate."""
    space, regularizer, optimizer, others = given
    if optimizer == "pistol":  # its theorem wants a bound on the features
        sizes = [w * (x**2).sum() ** 0.5 for x, w in zip(X, weight, strict=True)]
        reach = max(s * SPREAD[space](len(x)) ** 0.5 for s, x in zip(sizes, X, strict=True))
        optimizer = PiSTOL(a=2.25, feature_norm=1.01 * reach or 1.0)
    model = learner(space, regularizer, optimizer, **others)
    theta, V, total = play(model, X, y, weight)
    try:
        return total / max(least_bound(model, X, V, weight), 1e-300), theta
    except sk.GuaranteeError as error:
        assert "gap" in str(error) or "too large" in str(error), error
        return 0.0, theta


def against(space, y, theta, which):
    """Outputs whose rounds `which` have the vertex of the least score."""
    outputs = list(y)
    for i, part in enumerate(theta.unstack()):
        if i in which:
            outputs[i] = _least(space, part)
    return outputs


def _least(space, theta):
    if space == "hypercube":
        return (theta <= 0.0).astype(float)
    if space == "permutahedron":
        return np.argsort(np.argsort(theta, kind="stable")[::-1]) + 1.0
    if space == "birkhoff":
        m = math.isqrt(len(theta))
        return linear_sum_assignment(theta.reshape(m, m))[1]
    places = np.argsort(theta, kind="stable")[: 2 if space == "subsets" else 1]
    return np.isin(np.arange(len(theta)), places).astype(float)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize(("space", "regularizer"), CASES)
def test_losses_stay_below_the_bound(space, regularizer, optimizer):
    """Sizes from 1 to 30 in every order; outputs are those of the least score before."""
    for seed, order in enumerate(ORDERS[:1] if INTERPRETED else ORDERS):
        rng = np.random.RandomState(seed)
        X, y, weight = stream(space, rng, 8 if INTERPRETED else 30, order)
        needed = max(map(NEEDED[space, regularizer], map(len, X)))
        for terms in ({}, {"constants": "sharp"}, {"scale": 1.2 * needed or 1.0}):
            given = {"loss": FenchelYoung(**terms)}
            found, theta = ratio((space, regularizer, optimizer, given), X, y, weight)
            assert found <= ATTAINED
            y = against(space, y, theta, range(len(X)))


@pytest.mark.parametrize("constants", ["paper", "sharp"])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("space", "regularizer"), CASES)
def test_the_scale_is_what_the_sizes_need(space, regularizer, order, constants):
    """The same in every order and in every chunk; with the step of the certificate."""
    X, y, weight = stream(space, np.random.RandomState(3), 12, order)
    model = learner(space, regularizer, "ogd", loss=FenchelYoung(constants=constants))
    for i in range(len(X)):
        model.partial_fit(X[i : i + 1], y[i : i + 1], sample_weight=np.maximum(weight[i], 0.1))
    k, found = model.loss_.constants_of(), model.certificate()
    assert k.a == pytest.approx(1.0 - math.log(2.0))
    assert found.constants["m"] == pytest.approx(k.a)
    whole = learner(space, regularizer, "ogd", loss=FenchelYoung(constants=constants)).partial_fit(
        X, y
    )
    assert whole.loss_.constants_of() == k
    if constants == "paper":
        needed = max(map(NEEDED[space, regularizer], map(len, X)))
        assert k.c * math.log(2.0) == pytest.approx(needed)


@pytest.mark.parametrize(("space", "regularizer"), [s for s in SPACES if s[1] == "squared"])
def test_a_number_as_scale_has_the_step_of_the_first_round(space, regularizer):
    """The certificate states that step, or that it is too large."""
    rng = np.random.RandomState(0)
    sizes = {"birkhoff": [25, 4]}.get(space, [3, 5])
    X = [rng.randn(m, FEATURES) for m in sizes]
    y = [vertex(space, rng, m) for m in sizes]
    needed = [NEEDED[space, regularizer](m) for m in sizes]
    for scale in (1.01 * max(needed), 1.5 * max(needed), 4.0 * max(needed)):
        model = learner(space, regularizer, "ogd", loss=FenchelYoung(scale=scale)).partial_fit(X, y)
        m, a = min(0.5, 1.0 - needed[0] / scale), 1.0 - max(needed) / scale
        if m > a:
            with pytest.raises(sk.GuaranteeError, match="too large"):
                model.certificate()
        else:
            found = model.certificate()
            b = found.constants["b"]
            assert found.constants["m"] == pytest.approx(m)
            assert found.constants["a"] == pytest.approx(a)
            assert found.quadratic == pytest.approx((1 - a) * b / (4 * (1 - m) * m))


@pytest.mark.parametrize(
    ("space", "x", "outputs", "c"),
    [
        ("hypercube", np.ones((1, 1)), [[0], [1]], 4.0),
        ("birkhoff", np.array([[1.0], [-1.0], [-1.0], [1.0]]), [[0, 1], [1, 0]], 1.0),
    ],
)
def test_small_rounds_by_turns(space, x, outputs, c):
    """Clicks on pages of one item, assignments of two: weights follow, and lose in every round."""
    X, y = [x] * 300, [np.array(outputs[t % 2]) for t in range(300)]
    for optimizer in ("ogd", "mixture"):
        model = learner(space, "squared", optimizer)
        _, V, total = play(model, X, y, np.ones(300))
        assert 0.4 * 300 < total <= least_bound(model, X, V, np.ones(300))
        assert model.loss_.constants_of().c == pytest.approx(c / math.log(2.0))


def test_the_step_is_read_from_the_state():
    """Of descent in every form: the step of theory, with a bound on features, and a number."""
    rng = np.random.RandomState(0)
    X, y = [rng.randn(4, FEATURES) for _ in range(3)], [vertex("simplex", rng, 4) for _ in range(3)]
    for eta, norm in (("theory", None), ("theory", 50.0), ("high_probability", 50.0)):
        model = learner("simplex", "shannon", GradientDescent(feature_norm=norm, eta=eta))
        a = 1.0 - math.log(2.0)
        found = model.partial_fit(X, y).certificate().constants["m"]
        assert found == pytest.approx(a if eta == "theory" else a / 2.0)
    model = learner("simplex", "shannon", GradientDescent(eta=0.01), loss=FenchelYoung(scale=2.0))
    found = model.partial_fit(X, y).certificate().constants
    assert found["m"] == pytest.approx(0.01 * found["b"] / 2.0)
