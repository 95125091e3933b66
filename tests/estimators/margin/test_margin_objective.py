"""The objective and the gap that margin learners report, by enumeration; weights, warm starts."""

import copy
import sys

import numpy as np
import pytest
from example_spaces import KSubsets
from margin_problems import DUAL, posed_words, problem
from naive import margin as naive
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.utils import check_random_state

from skstructured import MaxMinMarginNetwork
from skstructured.estimators.margin import _atoms
from skstructured.spaces import Birkhoff, Permutahedron

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
GIVEN = {"random_state": 0, "standardize": False, "tol": 1e-6}
LENGTHS = (2, 1, 3)
WEIGHTS = np.array([3.0, 0.1, 1.0, 7.0, 0.5, 0.0, 2.0, 0.3, 11.0, 1.0])
RULES = [{}, {"solver": "frank_wolfe"}, {"line_search": False}]


class Lopsided(KSubsets):
    """Subsets whose cost of y' where y is true is not that of y where y' is."""

    def expected_loss(self, mu, V):
        """<mu, A y + b> + <a, y>, 0 where both are the same label but for a number."""
        A = np.array([[0, 1, 2, 0], [3, 0, 1, 1], [0, 2, 0, 1], [1, 0, 4, 0]]) / 4.0
        return np.einsum("nd,de,ne->n", mu, A, V) + mu @ [0.0, 0.1, 0.2, 0.0] + V @ [0.3, 0, 0, 0]


#: Spaces with the number of their scores: of three items, of four, and of four labels.
SPACES = {
    "birkhoff": (Birkhoff(), 9),
    "permutahedron": (Permutahedron(), 3),
    "four matched": (Birkhoff(), 16),
    "four ranked": (Permutahedron(), 4),
    "lopsided": (Lopsided(k=2), 4),
}


def dual_objective(model, V, L, places, share, square):
    """Σ share h(μ_i) − (α/2)‖w‖², each h the least expected loss under a mixture of vertices."""
    total = -0.5 * model.alpha_ * square
    for i, place in enumerate(places):
        mu = V[place] - model.alpha_ * model.dual_coef_[i] / share[i]
        p, left = nnls(np.vstack([V.T, np.ones(len(V))]), np.r_[mu, 1.0])
        assert left < 1e-9
        total += share[i] * (L @ p).min()
    return total


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", SPACES)
def test_objective_and_gap_of_outputs_known_by_their_oracle(name, rule, kernel):
    X, y, space, V, L, places = problem(SPACES[name], n=5)
    share = np.array([1.0, 2.0, 0.5, 3.0, 1.0]) / 7.5
    for passes in (1, 2, 4, 9):
        model = MaxMinMarginNetwork(space, kernel, 0.7, alpha=0.05, max_iter=passes, **GIVEN)
        model.set_params(**rule).fit(X, y, sample_weight=share)
        S = model.decision_function(X)
        losses = [naive.max_min_loss(L, V, v, t) for v, t in zip(S, places, strict=True)]
        square = np.einsum("nk,nk->", model.dual_coef_, S)
        primal = share @ losses + 0.5 * model.alpha_ * square
        assert model.loss_curve_[-1] == pytest.approx(primal, abs=2e-8)
        gap = primal - dual_objective(model, V, L, places, share, square)
        assert model.duality_gap_ == pytest.approx(gap, abs=2e-8)


@pytest.mark.interpreted
@pytest.mark.parametrize("kernel", ["linear", "poly"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("k", "weighted"), [(2, False), (3, True)])
def test_objective_and_gap_of_sequences_with_asymmetric_costs(k, weighted, rule, kernel):
    X, y, costs, tables, _ = posed_words(k, LENGTHS, True, n=5)
    share = np.array([1.0, 3.0, 0.5, 2.0, 1.0]) / 7.5 if weighted else np.full(5, 0.2)
    A = costs["cost_matrix"].T  # predicted, true
    same = {"kernel": kernel, "degree": 1, "gamma": 1.0, "coef0": 0.0}
    for passes in (1, 2, 9):
        model = MaxMinMarginNetwork("sequence", alpha=0.1, cost_matrix=A.T, **same, **GIVEN)
        model.set_params(max_iter=passes, **rule).fit(X, y, sample_weight=share)
        offsets = np.r_[0, np.cumsum([len(x) for x in X])]
        rows = np.column_stack([np.vstack(X), np.ones(offsets[-1])])
        unary = rows.T @ model.dual_coef_
        edges = [model.start_, model.end_, model.transitions_.ravel()]
        w, h = np.concatenate([unary.ravel(), *edges]), []
        for i, labels in enumerate(y):
            own = model.dual_coef_[offsets[i] : offsets[i + 1]]
            mu = np.eye(k)[labels] - model.alpha_ * own / share[i]
            h.append((A @ mu.T).min(axis=0).mean())
        primal = naive.objective(tables, w, share, model.alpha_, True)
        dual = share @ h - 0.5 * model.alpha_ * w @ w
        assert model.loss_curve_[-1] == pytest.approx(primal, abs=2e-8)
        assert model.duality_gap_ == pytest.approx(primal - dual, abs=2e-8)


@pytest.mark.parametrize("name", ["birkhoff", "sequence"])
def test_passes_before_the_last_are_off_by_a_tenth_of_the_gap(name):
    X, y, *_ = problem(name, n=5) if name == "birkhoff" else posed_words(3, LENGTHS, n=5)
    model = MaxMinMarginNetwork(name, alpha=0.05, max_iter=6, **GIVEN).fit(X, y)
    for t in range(6):
        stopped = clone(model).set_params(max_iter=t + 1).fit(X, y)
        exact, gap = stopped.loss_curve_[-1], stopped.duality_gap_
        assert -1e-8 <= model.loss_curve_[t] - exact <= 0.1 * model.gap_curve_[t] + 1e-8
        assert -1e-8 <= model.gap_curve_[t] - gap <= 0.1 * model.gap_curve_[t] + 1e-8


def classes(n=10, p=2, seed=0):
    """Rows, classes 0, 1 and 2, and costs that are not symmetric."""
    rng = np.random.RandomState(seed)
    A = rng.rand(3, 3) * 2.0
    np.fill_diagonal(A, 0.0)
    return rng.randn(n, p), np.arange(n) % 3, A


@pytest.mark.interpreted
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", DUAL)
def test_objective_and_gap_of_weighted_classes_with_asymmetric_costs(kind, rule, kernel):
    X, y, A = classes()
    share, max_min, V = WEIGHTS / WEIGHTS.sum(), kind is MaxMinMarginNetwork, np.eye(3)
    loss = naive.max_min_loss if max_min else naive.margin_loss
    for passes in (1, 3):
        model = kind("simplex", kernel, 0.7, alpha=0.05, cost_matrix=A.T, max_iter=passes, tol=1e-9)
        model.set_params(random_state=0, standardize=False, **rule).fit(X, y, WEIGHTS)
        S = model.decision_function(X)
        square = np.einsum("nk,nk->", model.dual_coef_, S)
        primal = dual = 0.0
        for i in np.flatnonzero(share):
            mu = V[y[i]] - model.alpha_ * model.dual_coef_[i] / share[i]
            primal += share[i] * loss(A, V, S[i], y[i])
            dual += share[i] * ((A @ mu).min() if max_min else A[:, y[i]] @ mu)
        primal, dual = primal + 0.025 * square, dual - 0.025 * square
        assert model.loss_curve_[-1] == pytest.approx(primal, abs=1e-9)
        assert model.duality_gap_ == pytest.approx(primal - dual, abs=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("kind", DUAL)
def test_a_path_of_alpha_with_weights_equals_single_fits(kind, kernel):
    """Rows held out count as their weights say, and so do those that are learned."""
    X, _, _ = classes(30, 2, seed=4)
    y = np.argmax(X @ np.random.RandomState(5).randn(2, 3), axis=1)
    y[::4] = (y[::4] + 1) % 3
    weights = np.tile(WEIGHTS, 3)
    given = {"kernel": kernel, "gamma": 0.5, "max_iter": 8, "random_state": 0, "standardize": False}
    model = kind(alpha="path", **given).fit(X, y, weights)
    order = check_random_state(0).permutation(np.flatnonzero(weights))
    cut = int(0.8 * len(order))
    train, valid = np.sort(order[:cut]), np.sort(order[cut:])
    assert set(y[train]) == {0, 1, 2}
    one, losses, plain = kind(warm_start=True, **given), [], []
    for j in range(len(model.alpha_losses_)):
        one.set_params(alpha=0.5 ** (j + 1)).fit(X[train], y[train], weights[train])
        wrong = one.predict(X[valid]) != y[valid]
        losses.append(np.average(wrong, weights=weights[valid]))
        plain.append(wrong.mean())
    np.testing.assert_allclose(model.alpha_losses_, losses, atol=1e-12)
    assert not np.allclose(losses, plain, atol=0.02)


@pytest.mark.interpreted
def test_the_remainder_of_a_mean_is_divided_by_its_mass():
    rng = np.random.RandomState(0)
    V, weights = rng.rand(4, 5), np.array([0.0, 0.25, 0.15, 0.0])
    rest = rng.rand(5)
    mu = 0.25 * V[1] + 0.15 * V[2] + 0.6 * rest
    columns = V.copy()
    assert _atoms.remainder_of(columns, weights, 3, mu) == pytest.approx(0.6)
    np.testing.assert_allclose(columns[0], rest, atol=1e-14)
    np.testing.assert_array_equal(columns[1:], V[1:])
    weights[2] = 0.75
    assert _atoms.remainder_of(columns, weights, 3, 0.25 * V[1] + 0.75 * V[2]) == 0.0


@pytest.mark.interpreted
@pytest.mark.parametrize("M", [1, 2, 4])
def test_label_sequences_have_the_products_of_their_features(M):
    rng, k, q = np.random.RandomState(0), 3, 0.7
    x, labels = rng.randn(M, 2), rng.randint(k, size=(2, M))
    F = np.array([naive.chain_features(x, row, k) for row in labels])
    points, bent = _atoms.points_of(k, labels), np.empty((M + k) * k)
    _atoms.bend(k, q, x @ x.T + 1.0, points[0] - 0.3 * points[1], bent)
    np.testing.assert_allclose(points @ bent, q * F @ (F[0] - 0.3 * F[1]), atol=1e-12)


def warm_problem(space):
    """Rows or sequences, and outputs."""
    X, y, _ = classes(12)
    if space == "permutahedron":
        return X, np.argsort(np.argsort(np.random.RandomState(1).randn(12, 3), axis=1), axis=1) + 1
    if space == "sequence":
        return np.split(X, 4), np.split(y, 4)
    return X, y


class Interrupting:
    """Standard output that raises at its third line."""

    def __init__(self):
        self.lines = 0

    def write(self, text):
        """Count lines."""
        self.lines += text.count("\n")
        if self.lines == 3:
            raise KeyboardInterrupt

    def flush(self):
        """Nothing."""


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("space", ["simplex", "permutahedron", "sequence"])
def test_an_interrupted_warm_start_changes_nothing(space, kernel, monkeypatch):
    X, y = warm_problem(space)
    given = {"random_state": 0, "gamma": 0.5, "tol": 0.0}
    model = MaxMinMarginNetwork(space, kernel, alpha=0.1, max_iter=2, **given).fit(X, y)
    model.set_params(warm_start=True, alpha=0.02, max_iter=9)
    untouched = copy.deepcopy(model)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(sys, "stdout", Interrupting())
        model.set_params(verbose=1).fit(X, y)
    np.testing.assert_array_equal(model.dual_coef_, untouched.dual_coef_)
    model.set_params(verbose=0).fit(X, y)
    np.testing.assert_array_equal(model.dual_coef_, untouched.fit(X, y).dual_coef_)


@pytest.mark.parametrize("space", ["simplex", "ordinal", "sequence"])
@pytest.mark.parametrize("kind", DUAL)
def test_a_warm_start_refuses_other_classes_of_the_same_number(kind, space):
    X, y = warm_problem(space)
    model = kind(space, alpha=0.1, warm_start=True, max_iter=2, random_state=0).fit(X, y)
    before = model.dual_coef_.copy()
    others = [row + 5 for row in y]
    with pytest.raises(
        ValueError, match=r"same training rows and classes.*\[0, 1, 2\].*\[5, 6, 7\]"
    ):
        model.fit(X, others)
    np.testing.assert_array_equal(model.dual_coef_, before)
    assert model.classes_.tolist() == [0, 1, 2]
    model.set_params(warm_start=False).fit(X, others)
    assert model.classes_.tolist() == [5, 6, 7]
