"""Optima of max-margin models by a convex solver, gaps on the way, and warm starts."""

import functools

import numpy as np
import pytest
from conftest import INTERPRETED
from margin_problems import DUAL, EXACT, LINEAR, posed_others, posed_rows, posed_words
from naive import margin as naive
from sklearn.base import clone
from sklearn.datasets import load_iris

from skstructured import MaxMinMarginNetwork

#: Without compiled kernels, matchings take too long for what asks them for many passes.
ROWS = ["simplex", "costs", "ordinal", "hypercube", *([] if INTERPRETED else ["birkhoff"])]
OTHERS = ["permutahedron", "subsets", "plain subsets", "trees"]
#: Labels and lengths.
SHAPES = [(2, (1, 2, 3)), (3, (1, 3, 2)), (2, (1,))]
SMALL = (
    {(name, kernel): (posed_rows, name, kernel) for name in ROWS for kernel in ("linear", "rbf")}
    | {("birkhoff", "linear"): (posed_rows, "birkhoff")}
    | {(name,): (posed_others, name) for name in OTHERS}
    | {("words", *at, dear): (posed_words, *at, dear) for at in SHAPES for dear in (False, True)}
)
LARGER = (
    {name: (posed_rows, name, "linear", 15, 3) for name in ROWS}
    | {name: (posed_others, name, 9, 1) for name in ("permutahedron", "plain subsets", "trees")}
    | {"words": (posed_words, 3, (3, 1, 2), False, 8, 2)}
)


def pose(table, name):
    """What a table has by a name."""
    function, *given = table[name]
    return function(*given)


@pytest.mark.parametrize("name", SMALL, ids=str)
@pytest.mark.parametrize("kind", DUAL)
def test_objectives_match_a_convex_solver(kind, name):
    X, y, given, tables, weights = pose(SMALL, name)
    alpha, max_min = 0.5 if name[0] == "words" else 0.1, kind is MaxMinMarginNetwork
    share = np.full(len(y), 1.0 / len(y))
    best = naive.optimum(tables, share, alpha, max_min)
    model = kind(alpha=alpha, standardize=False, **EXACT, **given).fit(X, y)
    assert model.duality_gap_ <= 1e-9
    assert model.loss_curve_[-1] == pytest.approx(best, rel=1e-6)
    literal = naive.objective(tables, weights(model), share, alpha, max_min)
    assert literal == pytest.approx(best, rel=1e-6)
    if "rbf" in name or (INTERPRETED and "birkhoff" in name):
        return
    kernels = clone(model).set_params(**LINEAR).fit(X, y)
    assert kernels.loss_curve_[-1] == pytest.approx(best, rel=1e-6)
    for first, second in zip(kernels.decision_function(X), model.decision_function(X), strict=True):
        np.testing.assert_allclose(first, second, atol=2e-3)
    if name[0] in OTHERS:
        assert kernels.score(X, y) == model.score(X, y) > 0.5


@functools.cache
def least_objective(kind, name):
    """The least objective of a problem of `LARGER`."""
    X, y, given, *_ = pose(LARGER, name)
    return kind(alpha=0.1, standardize=False, **EXACT, **given).fit(X, y).loss_curve_[-1]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("rule", [{}, {"solver": "frank_wolfe"}, {"line_search": False}])
@pytest.mark.parametrize("name", LARGER)
@pytest.mark.parametrize("kind", DUAL)
def test_the_gap_bounds_suboptimality(kind, name, rule):
    X, y, given, tables, weights = pose(LARGER, name)
    best, share = least_objective(kind, name), np.full(len(y), 1.0 / len(y))
    given = EXACT | {"alpha": 0.1, "standardize": False} | given | rule
    for passes in (1, 3, 10, 40):
        model = kind(**given | {"max_iter": passes}).fit(X, y)
        literal = naive.objective(tables, weights(model), share, 0.1, kind is MaxMinMarginNetwork)
        assert model.loss_curve_[-1] >= literal - 1e-9
        assert -1e-9 <= literal - best <= model.duality_gap_ + 1e-9
    assert model.duality_gap_ < 0.2


#: α, and the gap to stop at.
STARTS = {
    "iris": (0.015, 1e-5),
    "permutahedron": (0.2, 1e-9),
    "trees": (0.2, 1e-9),
    "words": (0.2, 1e-6),
}


@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize("kind", DUAL)
def test_warm_start(kind, name):
    alpha, tol = STARTS[name]
    if name == "iris":
        (X, y), given = load_iris(return_X_y=True), {"kernel": "rbf"}
    elif name == "words":
        X, y, given, *_ = posed_words(2, (2, 3, 1), n=12)
        given["standardize"] = False
    else:
        X, y, given, *_ = posed_others(name, n=15)
    given |= {"tol": tol, "max_iter": 3000, "random_state": 0, "alpha": alpha}
    cold = kind(**given).fit(X, y)
    warm = kind(**given | {"alpha": 1.5 * alpha}).fit(X, y)
    warm.set_params(warm_start=True, alpha=alpha).fit(X, y)
    assert name != "iris" or warm.n_iter_ <= cold.n_iter_
    assert abs(warm.loss_curve_[-1] - cold.loss_curve_[-1]) <= 2.0 * tol
    few = cold.n_iter_ / 10 if name == "words" else cold.n_iter_
    assert name in OTHERS or warm.fit(X, y).n_iter_ <= 2 < few
    before = warm.dual_coef_
    others = (X[1:] + X[:1], y[1:] + y[:1]) if name == "words" else (X[3:], y[3:])
    with pytest.raises(ValueError, match="lengths differ|same training rows and classes"):
        warm.fit(*others)
    assert warm.dual_coef_ is before
