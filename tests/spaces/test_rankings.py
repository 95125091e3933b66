"""Rankings, matchings, and spaces a user brings."""

import math
import re

import numpy as np
import pytest
from conftest import INTERPRETED
from example_spaces import KSubsets
from naive.items import ranks
from numba import njit
from plain import predictor
from scipy.stats import kendalltau, spearmanr
from sklearn.exceptions import ConvergenceWarning
from spanning_trees import SpanningTrees

from skstructured import FenchelYoung
from skstructured.evaluation import progressive_validate
from skstructured.extend import _by_vertices
from skstructured.metrics import kendall_tau
from skstructured.regularizers import SquaredNorm
from skstructured.spaces import Birkhoff, Hypercube, OutputSpace, Permutahedron, Simplex
from skstructured.spaces.permutahedron import pool_ranks


def permutations(n, m, rng):
    return np.array([rng.permutation(m) for _ in range(n)])


def spaces_of(m):
    return Birkhoff().fit([np.arange(m)]), Permutahedron().fit([np.arange(1, m + 1)])


@pytest.mark.parametrize("space", ["birkhoff", "permutahedron", "ranking"])
def test_grades_in_one_column_are_not_rankings(space):
    message = r"y must have a row for each ranking .* got shape \(9,\).* StructuredRanker"
    with pytest.raises(ValueError, match=message):
        predictor(space=space).fit(np.eye(9), np.arange(9))


@pytest.mark.parametrize(
    "theta",
    [
        [2.7, 2.16, 0.71, -0.36, -0.8, -2.14, -3.77],
        [1.51, 0.91, 0.79, -1.06, -1.08, -2.68],
        *(np.linspace(slope, 0.0, m) for slope in (0.0, 3.0, 9.0) for m in (1, 2, 7)),
    ],
)
def test_ranks_are_pooled_as_by_isotonic_regression(theta):
    """Also if the last score joins a block that blocks before it have made larger."""
    theta = np.array(theta)
    found, base, total, size = np.empty((4, len(theta)))
    pool_ranks(theta, found, base, total, size)
    np.testing.assert_allclose(found, ranks(theta), rtol=1e-12)


@pytest.mark.parametrize("m", [2, 7, 30, 100])
@pytest.mark.parametrize("spread", [0.1, 3.0, 100.0, 1e4])
@pytest.mark.exhaustive
def test_projections_have_an_optimality_certificate(m, spread, rng):
    """μ projects θ if and only if no vertex v has <θ − μ, v − μ> > 0."""
    if INTERPRETED and m > 7:
        pytest.skip("needs compiled kernels")
    for space, size in zip(spaces_of(m), (1.0, m / 10.0), strict=True):
        theta = spread * size * rng.randn(2, space.dim_)
        mu = FenchelYoung(space, "squared").mean(theta)
        gap = ((theta - mu) * (space.argmax(theta - mu) - mu)).sum(axis=1)
        assert np.all(gap <= 1e-9 * (1 + spread) * size)
        if space.dim_ == m:
            np.testing.assert_allclose(mu.sum(axis=1), m * (m + 1) / 2, rtol=1e-12)
        else:
            assert_doubly_stochastic(mu)


def assert_doubly_stochastic(mu):
    m = math.isqrt(mu.shape[1])
    sums = np.stack([mu.reshape(-1, m, m).sum(axis=axis) for axis in (1, 2)])
    assert np.abs(sums - 1).max() < 1e-12 and mu.min() >= 0


@pytest.mark.parametrize("m", [2, 7, 30, 100])
@pytest.mark.parametrize("spread", [0.1, 1.0, 10.0, 1e4])
def test_entropic_matching_is_a_scaling_of_exp_theta(m, spread, rng):
    """ln μ − θ is a row potential plus a column potential, on the support."""
    if INTERPRETED and m > 7:
        pytest.skip("needs compiled kernels")
    theta = spread * rng.randn(m * m)
    mu = FenchelYoung(spaces_of(m)[0]).mean(theta[None])
    assert_doubly_stochastic(mu)
    P = mu.reshape(m, m)
    if spread <= 10.0 and P.min() > 1e-200:
        D = np.log(P) - theta.reshape(m, m)
        centered = D - D.mean(axis=0) - D.mean(axis=1, keepdims=True) + D.mean()
        assert np.abs(centered * np.minimum(P, 1)).max() < 1e-9


@pytest.mark.parametrize("kind", ["ties", "low rank", "integers", "constant"])
@pytest.mark.parametrize("regularizer", ["shannon", "squared"])
@pytest.mark.exhaustive
def test_degenerate_scores_converge(kind, regularizer, rng):
    loss = FenchelYoung(spaces_of(6)[0], regularizer)
    for _ in range(3 if INTERPRETED else 200):
        size = 10 ** rng.uniform(-2, 5)
        theta = {
            "ties": np.round(size * rng.randn(36)),
            "low rank": size * np.outer(rng.randn(6), rng.randn(6)).ravel(),
            "integers": size * rng.randint(0, 3, 36),
            "constant": np.full(36, size),
        }[kind]
        assert_doubly_stochastic(loss.mean(theta[None].astype(float)))  # warnings are errors here


BASED_0 = (
    r"Row 1 of y.*looks 0-based\. Which end is best\? Ranks r with 0 = worst become r \+ 1; "
    r"positions p with 0 = first become d − p"
)
BASED_1 = (
    r"Row 1 of y.*looks 1-based\. Which end is first\? Positions p with 1 = first become p − 1; "
    r"ranks r with m = best become m − r"
)
MISSING = r"Row 1 of y contains NaN for item 1, but every row must rank all items.*Leave out rows"


@pytest.mark.parametrize(
    ("space", "y", "message"),
    [
        (Birkhoff(), [[0, 1, 2], [1, 2, 3]], BASED_1),
        (Birkhoff(), [[0, 1, 2], [0, 0, 2]], r"Row 1 of y.*ties at 0"),
        (Birkhoff(), [[0, 1, 5]], r"Row 0 of y.*outside that range.*position of item j"),
        (Birkhoff(), [[0], [0]], "at least two items"),
        (Birkhoff(), [[0.5, 1.0]], "must hold integers"),
        (Permutahedron(), [[1, 2, 3], [0, 1, 2]], BASED_0),
        (Permutahedron(), [[1]], "at least two items"),
        (Birkhoff(), [[1, 0], [0, np.nan]], MISSING),
        (KSubsets(2), [[1, 1, 0], [1, 1, 1]], "Row 1 of y.*is not a vertex of KSubsets"),
        (SpanningTrees([(0, 1)], 3), [[1]], "edges must connect all 3 nodes"),
    ],
)
def test_outputs_that_are_no_rankings(space, y, message):
    with pytest.raises(ValueError, match=message):
        space.fit(y)


READ = r"([rp]) with [^;]*? become ([dmrp1 +−]+)"


@pytest.mark.parametrize(
    ("space", "ranks", "positions", "first"),
    [
        (Permutahedron(), lambda above: above, lambda above: 3 - above, np.argmax),
        (Birkhoff(), lambda above: above + 1, lambda above: 4 - above, np.argmin),
    ],
)
def test_each_advice_of_the_error_keeps_the_best_label_first(space, ranks, positions, first, rng):
    """For both readings of numbers that begin at 0 in the place of 1, or at 1 in that of 0."""
    above = rng.randn(40, 4).argsort(axis=1).argsort(axis=1)  # how many labels are worse
    given = {"r": ranks(above), "p": positions(above)}
    for y in given.values():
        with pytest.raises(ValueError, match="Which end is") as caught:
            space.fit(y)
        advice = dict(re.findall(READ, str(caught.value)))
        assert advice.keys() == given.keys()
    for name, rule in advice.items():
        y = eval(rule.replace("−", "-"), {"d": 4, "m": 4, name: given[name]})
        space.fit(y)
        np.testing.assert_array_equal(first(y, axis=1), above.argmax(axis=1))


def test_learns_an_easy_ranking(rng):
    if INTERPRETED:
        pytest.skip("needs compiled kernels")
    X = rng.randn(1500, 4)
    rank = np.argsort(np.argsort(-X @ rng.randn(4, 5), axis=1), axis=1)
    for space, y in (("birkhoff", rank), ("permutahedron", 5 - rank)):
        model = predictor(space=space, max_iter=5).fit(X[:1000], y[:1000])
        assert kendall_tau(model.predict(X[1000:]), y[1000:]).mean() > 0.8


# --- spaces a user brings -------------------------------------------------------------------------


class PlainHypercube(OutputSpace):
    def argmax(self, theta):
        return (np.asarray(theta) > 0).astype(float)


@njit
def compiled_simplex_oracle(theta, vertex):
    vertex[:] = 0.0
    vertex[np.argmax(theta)] = 1.0


class CompiledSimplex(OutputSpace):
    oracle_kernel = staticmethod(compiled_simplex_oracle)

    def argmax(self, theta):
        return np.eye(np.shape(theta)[1])[np.argmax(theta, axis=1)]


class OraclePermutahedron(Permutahedron):
    """The permutahedron, known only by its oracle."""


@pytest.mark.parametrize(
    ("mine", "known", "shift"),
    [
        (PlainHypercube(), Hypercube(), 0.0),
        (CompiledSimplex(), Simplex(), 0.0),
        (OraclePermutahedron(), Permutahedron(), 2.0),
    ],
)
@pytest.mark.exhaustive
def test_active_set_agrees_with_closed_forms(mine, known, shift, rng):
    mine.dim_ = known.dim_ = 6
    closed = FenchelYoung(known, SquaredNorm())
    for spread in (0.1, 1.0, 10.0):
        theta = spread * rng.randn(10, 6) + shift
        for t, mu in zip(theta, closed.mean(theta), strict=True):
            x, vertices, weights, gap = _by_vertices.project(mine, t)
            np.testing.assert_allclose(x, mu, atol=1e-9)
            np.testing.assert_allclose(weights @ vertices, x, atol=1e-10)
            assert gap <= 1e-9 * (1 + spread) and len(weights) <= 7


@pytest.mark.exhaustive
def test_a_space_of_ones_own_learns_and_keeps_its_bound(rng):
    X = rng.randn(60, 3)
    Y = (X @ rng.randn(3, 4) > 0).astype(int)
    for space in (PlainHypercube(), KSubsets(2)):
        y = Y if isinstance(space, PlainHypercube) else KSubsets(2).argmax(X @ rng.randn(3, 4))
        result = progressive_validate(
            predictor(space=space), X, y, random_state=0, play="randomized"
        )
        assert result.expected_target_loss.sum() <= result.regret_bound()
        assert result.estimator.score(X, y) > 0.6
        assert result.estimator.predict(X).shape == y.shape


@pytest.mark.exhaustive
def test_plain_and_compiled_oracles_agree(rng):
    class PlainSubsets(KSubsets):
        oracle_kernel = None

    X, y = rng.randn(40, 3), KSubsets(2).argmax(rng.randn(40, 5))
    a, b = (predictor(space=s).fit(X, y) for s in (KSubsets(2), PlainSubsets(2)))
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-10)


def test_an_oracle_that_does_not_converge_is_told(monkeypatch):
    monkeypatch.setattr(_by_vertices, "MAX_WOLFE_STEPS", 1)
    loss = FenchelYoung(PlainHypercube().fit(np.eye(4)), SquaredNorm())
    with pytest.warns(ConvergenceWarning, match="before convergence, with residual"):
        loss.mean(np.array([[0.4, 0.6, 0.3, 0.2]]))


# --- metrics --------------------------------------------------------------------------------------


def test_rank_correlations_against_scipy(rng):
    a, b = permutations(30, 6, rng), permutations(30, 6, rng)
    tau = [kendalltau(x, y).statistic for x, y in zip(a, b, strict=True)]
    rho = [spearmanr(x, y).statistic for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(kendall_tau(a, b), tau, atol=1e-12)
    np.testing.assert_allclose(kendall_tau(a, a), 1.0)
    loss = Permutahedron().fit(a + 1).target_loss(a + 1, b + 1)
    np.testing.assert_allclose(1 - 2 * loss, rho, atol=1e-12)
