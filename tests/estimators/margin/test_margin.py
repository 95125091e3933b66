"""Max-min margin networks, structural SVMs and the quadratic surrogate."""

import itertools

import numpy as np
import pytest
from conftest import INTERPRETED
from margin_problems import DUAL, EXACT, MODELS, Case, costs, features_of, words
from naive import margin as naive
from scipy import sparse
from selection import test_the_room_as_python  # noqa: F401
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score

from skstructured import MaxMinMarginNetwork, QuadraticSurrogate, StructuralSVM
from skstructured.estimators.margin import _closed_forms

SPACES = ("simplex", "costs", "ordinal", "hypercube", "birkhoff")
#: Without compiled kernels, matchings take too long for what asks them for many passes.
FEW = [name for name in SPACES if not (INTERPRETED and name == "birkhoff")]


@pytest.mark.interpreted
@pytest.mark.parametrize("scale", [0.0, 1e-2, 1.0, 1e2])
@pytest.mark.parametrize(
    ("name", "size"),
    [
        *itertools.product(("simplex", "costs", "ordinal", "hypercube"), (2, 3, 4)),
        *itertools.product(("simplex", "ordinal"), (10, 26)),
    ],
)
def test_oracles_equal_a_linear_program(name, size, scale):
    case = Case(name, size)
    rng, outputs, V = np.random.RandomState(1), case.outputs, case.V
    dim, which = V.shape[1], np.arange(6) % len(V)
    scores = scale * rng.randn(6, dim)
    ell = np.zeros((1, dim))
    zeros = np.zeros(6, dtype=np.int64)
    bounds, reached, mu = np.empty(6), np.empty(6), V[which].copy()
    solve = _closed_forms.BLOCK_SOLVERS[outputs.max_min]
    costs = int(outputs.max_min), outputs.A, ell, zeros
    _closed_forms.upper_bounds(solve, costs, scores, mu, bounds, reached)
    for i in range(6):
        value = naive.max_min(case.L, V, scores[i])
        out = np.empty(dim)
        upper = solve(outputs.A, scores[i], ell[0], 0.0, mu[i], out)
        attained = _closed_forms.h_plus(outputs.max_min, outputs.A, scores[i], out, ell[0])
        room = 1e-8 * (1.0 + abs(value))
        assert upper == pytest.approx(value, abs=room)
        assert attained == pytest.approx(value, abs=room)
        assert bounds[i] == pytest.approx(value, abs=room)


@pytest.mark.interpreted
@pytest.mark.parametrize("q", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("size", [2, 3, 6])
@pytest.mark.parametrize("name", ["simplex", "costs", "ordinal"])
def test_blocks_are_solved(name, size, q):
    """No mean has a larger h + <v − q (μ − μ_i), ·> than μ itself."""
    case, rng = Case(name, size), np.random.RandomState(size)
    kind, A, none = case.outputs.max_min, case.outputs.A, np.zeros(size)
    for trial in range(8):
        v, mu, out = (
            rng.randn(size) * 10.0 ** (trial % 3 - 1),
            rng.dirichlet(np.ones(size)),
            none + 0,
        )
        _closed_forms.BLOCK_SOLVERS[kind](A, v, none, q, mu, out)
        slope = v - q * (out - mu)
        reached = _closed_forms.h_plus(kind, A, slope, out, none)
        assert out.min() >= 0.0 and out.sum() == pytest.approx(1.0)
        assert naive.max_min(case.L, case.V, slope) == pytest.approx(reached, abs=1e-8)


@pytest.mark.parametrize("name", FEW)
@pytest.mark.parametrize("kind", DUAL)
def test_forms_of_rows_and_of_kernels_learn_the_same(kind, name):
    case = Case(name, n=8 if INTERPRETED else 12)
    linear = case.model(kind).fit(case.X, case.y)
    csr = case.model(kind).fit(sparse.csr_matrix(case.X), case.y)
    own = case.model(kind, kernel=lambda X, Z: X @ Z.T).fit(case.X, case.y)
    new = np.random.RandomState(5).randn(6, 3)
    for other in (csr, own):
        np.testing.assert_allclose(
            other.decision_function(new), linear.decision_function(new), atol=2e-3
        )
    np.testing.assert_allclose(linear.coef_, (linear.dual_coef_.T @ case.X), atol=1e-9)


@pytest.mark.interpreted
@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_quadratic_surrogate(name, kernel):
    case = Case(name, n=12)
    F = features_of(case, kernel)
    model = case.model(QuadraticSurrogate, kernel=kernel).fit(case.X, case.y)
    every, which, _ = case.outputs.costs(case.space.pack(case.y))
    C = every[which]
    W = np.linalg.solve(F.T @ F + 0.05 * len(F) * np.eye(F.shape[1]), -F.T @ C)
    np.testing.assert_allclose(F.T @ model.dual_coef_, W, atol=1e-5)
    literal = ((F @ W + C) ** 2).sum() / len(F) + 0.05 * (W**2).sum()
    assert model.loss_curve_[0] == pytest.approx(literal, rel=1e-9)
    assert 0.0 <= model.duality_gap_ < 1e-12
    wide = case.model(QuadraticSurrogate).fit(np.tile(case.X, (1, 9)) / 3.0, case.y)
    tall = case.model(QuadraticSurrogate).fit(case.X, case.y)
    np.testing.assert_allclose(wide.coef_.sum(axis=1) / 3.0, tall.coef_.sum(axis=1), atol=1e-9)


@pytest.mark.parametrize("kind", [MaxMinMarginNetwork, QuadraticSurrogate])
def test_costs_have_a_row_per_true_class(kind):
    """Where 0 is dear to miss, rows that may be 0 or 1 alike are called 0."""
    X, y = np.ones((40, 1)), np.arange(40) % 2
    parameters = {} if kind is QuadraticSurrogate else EXACT
    for cost_matrix, wanted in (([[0, 5], [1, 0]], 0), ([[0, 1], [5, 0]], 1)):
        model = kind(cost_matrix=cost_matrix, alpha=1e-3, **parameters).fit(X, y)
        assert (model.predict(X) == wanted).all()
        assert model.score(X, y) == pytest.approx(1.0 - 0.5 / 5.0)


def test_fisher_consistency():
    """Without a majority class the best is class 2; the loss of Crammer and Singer is best at 0."""
    X, y = np.ones((10, 1)), np.repeat([0, 1, 2], [3, 3, 4])
    scores = {}
    for kind in DUAL:
        model = kind(alpha=1e-4, standardize=False, **EXACT | {"tol": 1e-7}).fit(X, y)
        scores[kind] = model.decision_function(X[:1])[0]
        scores[kind] -= scores[kind].mean()
    best = scores[MaxMinMarginNetwork]
    assert np.argmax(best) == 2 and best[2] - best[0] > 0.5
    assert np.abs(scores[StructuralSVM]).max() < 1e-2


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", FEW)
def test_exact_steps_and_searches_are_ahead_of_fixed_ones(name):
    case = Case(name, n=20 if INTERPRETED else 60)
    gaps = [
        case.model(MaxMinMarginNetwork, max_iter=30, alpha=0.02, **rule).fit(case.X, case.y)
        for rule in ({}, {"solver": "frank_wolfe"}, {"line_search": False})
    ]
    best, searched, fixed = (model.duality_gap_ for model in gaps)
    assert best < fixed and searched < fixed


@pytest.mark.parametrize("kind", DUAL)
def test_a_gap_that_is_left_is_named(kind, capsys):
    X, y = load_iris(return_X_y=True)
    model = kind(max_iter=2, tol=1e-9, random_state=0, verbose=1)
    message = r"duality gap of [\d.e-]+, above tol=1e-09"
    with pytest.warns(ConvergenceWarning, match=message) as told:
        model.fit(X, y)
    assert told[0].filename == __file__ and "pass 1: objective" in capsys.readouterr().out
    assert model.n_iter_ == len(model.gap_curve_) == 2 and model.duality_gap_ > 1e-9


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("name", [*FEW, "sequence"])
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_path_of_alpha(kind, name, kernel):
    n, given = 14 if INTERPRETED else 40, {"alpha": "path", "kernel": kernel}
    if name == "sequence":
        (X, y), model = words(2, (2, 3, 1), n=20), kind("sequence", **given)
    else:
        case = Case(name, n=n)
        X, y, model = case.X, case.y, case.model(kind, **given)
    if kind is not QuadraticSurrogate:
        model.set_params(tol=1e-3, max_iter=5 if name == "sequence" else 30, random_state=0)
    model.fit(X, y)
    tried, best = len(model.alpha_losses_), int(np.argmin(model.alpha_losses_))
    stop = 20 if kind is QuadraticSurrogate else min(max(10, best + 4), 20)
    assert tried == stop
    assert model.alpha_ == 2.0 ** -(1 + best)
    same = clone(model).set_params(alpha=model.alpha_).fit(X, y)
    np.testing.assert_array_equal(model.dual_coef_, same.dual_coef_)
    assert not hasattr(same, "alpha_losses_")


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
def test_alpha_goes_by_the_cost_of_a_mistake():
    X, y = load_iris(return_X_y=True)
    costs = 3.0 * (1.0 - np.eye(3))
    cases = [
        ("simplex", y, None, 1.0),
        ("simplex", y, costs, 3.0),
        ("ordinal", y, None, 1.0),
        ("hypercube", np.eye(3)[y].astype(int), None, 1.0 / 3.0),
        ("birkhoff", np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1]])[y], None, 1.0 / 3.0),
    ]
    for kind in (MaxMinMarginNetwork, StructuralSVM):
        for space, outputs, given, unit in cases:
            model = kind(space, cost_matrix=given, tol=1.0).fit(X, outputs)
            assert model.alpha_ == pytest.approx(5e-4 / unit)
    words = np.split(X, [20, 60]), np.split(y, [20, 60])
    model = MaxMinMarginNetwork("sequence", tol=1.0).fit(*words)
    assert model.alpha_ == pytest.approx(5e-4 * 50)


BAD_COSTS = [
    (np.ones((2, 2)) - np.eye(2), r"must have shape \(3, 3\)"),
    (np.eye(3) - 1.0, "must not be negative"),
    (np.ones((3, 3)), "0 on its diagonal"),
    (np.zeros((3, 3)), "positive entry"),
    (np.full((3, 3), np.nan), "NaN"),
]


@pytest.mark.parametrize("kind", MODELS)
def test_bad_input(kind):
    X, y = load_iris(return_X_y=True)
    model = kind().fit(X, y)
    before = model.decision_function(X)
    for cost_matrix, message in BAD_COSTS:
        with pytest.raises(ValueError, match=message):
            model.set_params(cost_matrix=cost_matrix).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), before)
    for parameters, message in [
        ({"alpha": 0.0}, "alpha must"),
        ({"alpha": "best"}, "alpha must"),
        ({"alpha": "auto"} if kind is QuadraticSurrogate else {"alpha": -1.0}, "alpha must"),
        ({"kernel": "rbfs"}, "kernel must be one of"),
        ({"gamma": -1.0}, "gamma must"),
        ({"kernel": "rbf", "cache_size": 0.1}, r"150 rows needs 0.000168 GiB"),
        ({"kernel": "precomputed"}, "square matrix"),
        ({"kernel": lambda X, Z: -X @ Z.T}, r"not positive definite: k\(x, x\) = -"),
        ({"standardize": "yes"}, "standardize must"),
    ]:
        with pytest.raises(ValueError, match=message):
            kind(**parameters).fit(X, y)
    with pytest.raises(ValueError, match="cost_matrix is only supported for classes"):
        kind("hypercube", cost_matrix=costs(3)).fit(X, np.eye(3)[y])
    with pytest.raises(ValueError, match="at least two items"):
        kind("birkhoff").fit(X, np.zeros((150, 1), dtype=int))


@pytest.mark.parametrize("kind", MODELS)
def test_precomputed_kernels_are_sliced(kind):
    X, y = load_iris(return_X_y=True)
    model = kind(kernel="rbf", gamma=0.5, standardize=False, alpha=0.02)
    if kind is not QuadraticSurrogate:
        model.set_params(random_state=0, max_iter=200)
    computed = clone(model).set_params(kernel="precomputed")
    K = rbf_kernel(X, gamma=0.5)
    np.testing.assert_allclose(
        cross_val_score(computed, K, y, cv=5), cross_val_score(model, X, y, cv=5)
    )
    np.testing.assert_array_equal(computed.fit(K, y).predict(K), model.fit(X, y).predict(X))


@pytest.mark.parametrize("kind", MODELS)
def test_labels_and_ties(kind):
    X, y = load_iris(return_X_y=True)
    names = np.array(["a", "b", "c"])[y]
    model = kind().fit(X, names)
    assert set(model.predict(X)) <= {"a", "b", "c"} and model.classes_.tolist() == ["a", "b", "c"]
    one = kind(fit_intercept=False, standardize=False).fit(np.zeros((6, 2)), [0, 1, 1] * 2)
    assert one.decision_function(np.zeros((2, 2))).tolist() == [0.0, 0.0]
    for big in (1e-9, 1e9):
        assert kind().fit(X * big, y).score(X * big, y) > 0.8


def test_extreme_scores():
    k = 5
    out, no_ell, A = np.empty(k), np.zeros(k), 1.0 - np.eye(k)
    oracles = _closed_forms.zero_one, _closed_forms.ordinal, _closed_forms.game
    for v in map(np.array, itertools.product([0.0, 1e9, -1e9], repeat=k)):
        for oracle in oracles:
            value = oracle(A, v, no_ell, 0.0, out, out)
            assert np.isfinite(value) and value >= v.max()
            assert out.sum() == pytest.approx(1.0) and out.min() >= 0.0
