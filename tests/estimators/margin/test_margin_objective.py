"""The objective and the duality gap that max-min networks report, by enumeration and grids."""

import numpy as np
import pytest
from naive import margin as naive
from scipy.optimize import nnls
from sklearn.base import clone

from skstructured import MaxMinMarginNetwork
from skstructured.spaces import Birkhoff, KSubsets, Permutahedron

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
GIVEN = {"random_state": 0, "standardize": False, "tol": 1e-6}
RULES = [{}, {"solver": "frank_wolfe"}, {"line_search": False}]


class Lopsided(KSubsets):
    """Subsets whose cost of y' where y is true is not that of y where y' is."""

    def expected_loss(self, mu, V):
        """<mu, A y + b> + <a, y>, 0 where both are the same label but for a number."""
        A = np.array([[0, 1, 2, 0], [3, 0, 1, 1], [0, 2, 0, 1], [1, 0, 4, 0]]) / 4.0
        return np.einsum("nd,de,ne->n", mu, A, V) + mu @ [0.0, 0.1, 0.2, 0.0] + V @ [0.3, 0, 0, 0]


SPACES = {"birkhoff": Birkhoff(), "permutahedron": Permutahedron(), "lopsided": Lopsided(k=2)}


def problem(name, n=5):
    """Rows, outputs, vertices, losses [predicted, true], and the place of each output."""
    rng = np.random.RandomState(3)
    X, scores = rng.randn(n, 2), rng.randn(40, 4 if name == "lopsided" else 3)
    y = np.argsort(np.argsort(scores, axis=1), axis=1)
    if name == "lopsided":
        y = (y > 1).astype(int)
    space = clone(SPACES[name]).fit(y + (name == "permutahedron"))
    y = y[:n] + (name == "permutahedron")
    V = np.unique(space.encode(np.array([*y, *_every(name)])), axis=0)
    L = np.array([space.expected_loss(np.tile(v, (len(V), 1)), V) for v in V])
    return (
        X,
        y,
        space,
        V,
        L,
        [int(np.flatnonzero((v == V).all(axis=1))[0]) for v in space.encode(y)],
    )


def _every(name):
    if name == "lopsided":
        every = np.indices((2,) * 4).reshape(4, -1).T
        return every[every.sum(axis=1) == 2]
    every = np.indices((3,) * 3).reshape(3, -1).T
    return every[[len(set(row)) == 3 for row in every]] + (name == "permutahedron")


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
    X, y, space, V, L, places = problem(name)
    share = np.array([1.0, 2.0, 0.5, 3.0, 1.0]) / 7.5
    for passes in (1, 2, 9):
        model = MaxMinMarginNetwork(space, kernel, 0.7, alpha=0.05, max_iter=passes, **GIVEN)
        model.set_params(**rule).fit(X, y, sample_weight=share)
        S = model.decision_function(X)
        losses = [naive.max_min_loss(L, V, v, t) for v, t in zip(S, places, strict=True)]
        square = np.einsum("nk,nk->", model.dual_coef_, S)
        primal = share @ losses + 0.5 * model.alpha_ * square
        assert model.loss_curve_[-1] == pytest.approx(primal, abs=2e-8)
        gap = primal - dual_objective(model, V, L, places, share, square)
        assert model.duality_gap_ == pytest.approx(gap, abs=2e-8)


def test_objective_of_matchings_of_two_equals_a_dense_grid():
    X = np.random.RandomState(0).randn(10, 2)[6:]
    j = np.array([0, 1, 0, 1])
    Y = np.array([[0, 1], [1, 0]])[j]
    model = MaxMinMarginNetwork("birkhoff", alpha=3e-4, max_iter=40, fit_intercept=False, **GIVEN)
    model.fit(X, Y)
    s = X @ model.coef_.T @ np.array([[1, 0, 0, 1], [0, 1, 1, 0]]).T
    q = np.linspace(0.0, 1.0, 10001)
    losses = [
        (np.minimum(q, 1 - q) + a * q + b * (1 - q)).max() - (a, b)[i]
        for (a, b), i in zip(s, j, strict=True)
    ]
    literal = np.mean(losses) + 1.5e-4 * (model.coef_**2).sum()
    assert model.loss_curve_[-1] == pytest.approx(literal, abs=1e-8)


def words(k, weighted):
    """Sequences, costs that are not symmetric, and tables of all their labels."""
    rng = np.random.RandomState(1)
    lengths, A = (2, 1, 3, 2, 2), rng.rand(k, k) * 2.0
    np.fill_diagonal(A, 0.0)
    X = [rng.randn(M, 2) for M in lengths]
    y = [rng.randint(k, size=M) for M in lengths]
    y[2][:] = np.arange(3) % k
    share = np.array([1.0, 3.0, 0.5, 2.0, 1.0]) if weighted else np.ones(5)
    return X, y, A, [naive.chain_table(x, row, A) for x, row in zip(X, y, strict=True)], share / 5


@pytest.mark.parametrize("kernel", ["linear", "poly"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("k", "weighted"), [(2, False), (3, True)])
def test_objective_and_gap_of_sequences_with_asymmetric_costs(k, weighted, rule, kernel):
    X, y, A, tables, share = words(k, weighted)
    share = share / share.sum()
    same = {"kernel": kernel, "degree": 1, "gamma": 1.0, "coef0": 0.0}
    for passes in (1, 2, 9):
        model = MaxMinMarginNetwork("sequence", alpha=0.1, cost_matrix=A, **same, **GIVEN)
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
    X, y, *_ = problem(name) if name == "birkhoff" else words(3, False)
    model = MaxMinMarginNetwork(name, alpha=0.05, max_iter=6, **GIVEN).fit(X, y)
    for t in range(6):
        stopped = clone(model).set_params(max_iter=t + 1).fit(X, y)
        exact, gap = stopped.loss_curve_[-1], stopped.duality_gap_
        assert -1e-8 <= model.loss_curve_[t] - exact <= 0.1 * model.gap_curve_[t] + 1e-8
        assert -1e-8 <= model.gap_curve_[t] - gap <= 0.1 * model.gap_curve_[t] + 1e-8


@pytest.mark.parametrize("passes", [1, 2, 4])
@pytest.mark.parametrize("name", ["birkhoff", "permutahedron"])
def test_the_last_objective_is_exact_where_games_take_many_visits(name, passes):
    rng, shift = np.random.RandomState(0), int(name == "permutahedron")
    X, y = rng.randn(8, 2), np.argsort(rng.randn(8, 4), axis=1) + shift
    model = MaxMinMarginNetwork(name, alpha=0.2, max_iter=passes, **GIVEN).fit(X, y)
    space, every = model.space_, np.indices((4,) * 4).reshape(4, -1).T
    V = space.encode(every[[len(set(row)) == 4 for row in every]] + shift)
    L = np.array([space.expected_loss(np.tile(v, (24, 1)), V) for v in V])
    S, total = model.decision_function(X), 0.0
    for v, code in zip(S, space.encode(y), strict=True):
        place = int(np.flatnonzero((code == V).all(axis=1))[0])
        total += naive.max_min_loss(L, V, v, place) / 8.0
    total += 0.1 * np.einsum("nk,nk->", model.dual_coef_, S)
    assert model.loss_curve_[-1] == pytest.approx(total, abs=2e-8)
