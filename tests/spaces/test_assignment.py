"""The assignment problem: scipy, potentials that prove it; matchings that are repaired."""

import numpy as np
import pytest
from conftest import INTERPRETED
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linear_sum_assignment

from skstructured.spaces import _matching as kernels
from skstructured.spaces._matching import assign, assign_rows

SIZES = [1, 2, 3, 8, 17, 33] if INTERPRETED else [1, 2, 3, 8, 17, 33, 64, 100, 150]

#: Square matrices of scores of size m.
KINDS = {
    "normal": lambda rng, m: rng.randn(m, m),
    "ties": lambda rng, m: rng.randint(0, 3, (m, m)).astype(float),
    "zeros and ones": lambda rng, m: (rng.rand(m, m) < 2.0 / m).astype(float),
    "constant": lambda rng, m: np.full((m, m), 7.5),
    "rank one": lambda rng, m: np.outer(rng.randn(m), rng.randn(m)),
    "products": lambda rng, m: -np.outer(np.arange(m) + 1.0, np.arange(m) + 1.0),
    "equal rows": lambda rng, m: np.tile(rng.randn(m), (m, 1)),
    "equal columns": lambda rng, m: np.tile(rng.randn(m, 1), (1, m)),
    "one good column": lambda rng, m: rng.randn(m, m) + 100.0 * (np.arange(m) == 0),
    "many sizes": lambda rng, m: np.exp(5.0 * rng.randn(m, m)),
    "smallest": lambda rng, m: 1e-300 * rng.randn(m, m),
    "largest": lambda rng, m: 1e100 * rng.randn(m, m),
}


def solve(theta):
    """The permutation (columns of rows), and the potentials."""
    m = len(theta)
    u, v, match = np.full((3, m + 1), np.nan)
    assign(np.ascontiguousarray(theta).ravel(), m, u, v, match, np.full(4 * m, np.nan))
    columns = np.empty(m, dtype=int)
    columns[match[1:].astype(int) - 1] = np.arange(m)
    return columns, u[1:], v[1:]


def check(theta):
    """A permutation of scipy's total, and potentials that prove that none has more."""
    m, size = len(theta), np.abs(theta).max()
    wanted = theta[linear_sum_assignment(theta, maximize=True)].sum()
    columns, u, v = solve(theta)
    assert sorted(columns) == list(range(m))
    total = theta[np.arange(m), columns].sum()
    assert abs(total - wanted) <= 1e-14 * m * size
    reduced = theta + u[:, None] + v
    assert reduced.max() <= 1e-14 * m * size
    assert np.abs(reduced[np.arange(m), columns]).max() <= 1e-15 * m * size


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("m", SIZES)
def test_as_good_as_scipy(m, kind, rng):
    for _ in range(3):
        check(KINDS[kind](rng, m))


NUMBERS = st.integers(-3, 3).map(float) | st.floats(-1e6, 1e6)


@given(st.integers(1, 5).flatmap(lambda m: arrays(float, (m, m), elements=NUMBERS)))
def test_any_numbers(theta):
    check(theta)


@pytest.mark.parametrize("m", [2, 5, 20])
def test_integers_are_exact(m, rng):
    for _ in range(5 if INTERPRETED else 100):
        theta = rng.randint(-4, 5, (m, m)).astype(float)
        columns, u, v = solve(theta)
        wanted = theta[linear_sum_assignment(theta, maximize=True)].sum()
        assert theta[np.arange(m), columns].sum() == wanted == -(u.sum() + v.sum())
        assert (theta + u[:, None] + v).max() == 0.0


@pytest.mark.parametrize("m", [3, 8, 30])
@pytest.mark.parametrize("forbidden", [-np.inf, -1e300, np.nan])
def test_forbidden_pairs_leave_the_others_their_digits(forbidden, m, rng):
    for _ in range(3 if INTERPRETED else 30):
        theta, allowed = rng.randn(m, m), rng.rand(m, m) < 0.4
        allowed[np.arange(m), rng.permutation(m)] = True
        wanted = theta[linear_sum_assignment(np.where(allowed, -theta, np.inf))].sum()
        columns, _, _ = solve(np.where(allowed, theta, forbidden))
        assert allowed[np.arange(m), columns].all()
        assert theta[np.arange(m), columns].sum() == pytest.approx(wanted, abs=1e-13 * m)


def test_pairs_that_must_be_leave_the_others_their_digits(rng):
    for _ in range(3 if INTERPRETED else 30):
        theta, sure = rng.randn(12, 12), rng.permutation(12)
        given = theta.copy()
        given[np.arange(4), sure[:4]] = np.inf
        columns, _, _ = solve(given)
        np.testing.assert_array_equal(columns[:4], sure[:4])
        rest = theta[4:][:, np.sort(sure[4:])]
        wanted = rest[linear_sum_assignment(rest, maximize=True)].sum()
        assert theta[np.arange(4, 12), columns[4:]].sum() == pytest.approx(wanted, abs=1e-12)


def test_rows_are_solved_one_by_one(rng):
    theta = rng.randn(6, 49)
    V = np.full_like(theta, np.nan)
    assign_rows(theta, V, 7)
    for t, v in zip(theta, V.reshape(6, 7, 7), strict=True):
        np.testing.assert_array_equal(v.argmax(axis=1), solve(t.reshape(7, 7))[0])
        assert v.sum() == 7.0


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("m", [3, 6, 12])
def test_an_unconverged_matching_is_doubly_stochastic(m, sparse, rng, monkeypatch):
    """One iteration of each kind, interpreted: what is left is told, and repaired."""
    for name in ("_newton", "_entropic_start", "_matching"):
        kernel = getattr(kernels, name)
        monkeypatch.setattr(kernels, name, getattr(kernel, "py_func", kernel))
    monkeypatch.setattr(kernels, "MAX_NEWTON", 0)
    monkeypatch.setattr(kernels, "MAX_SINKHORN", 1)
    far = 0
    for _ in range(5):
        theta, mu = 3.0 * rng.randn(m * m), np.empty(m * m)
        work = np.zeros(kernels.matching_work(m * m))
        kernels._matching(theta, np.zeros(m * m), mu, work, sparse)
        P = mu.reshape(m, m)
        far += work[0] > 1e-3
        assert P.min() >= 0.0
        np.testing.assert_allclose(P.sum(axis=0), 1.0, atol=1e-14)
        np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-14)
    assert far >= 4  # from converged; small problems may start at the solution
