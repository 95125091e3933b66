"""Second-order loops against NumPy's matrices."""

import numpy as np
import pytest

from skstructured._learners.second_order import (
    along,
    expand,
    reduce_term,
    rotate_in,
    solve_transposed,
    solve_upper,
)


@pytest.fixture
def factor(rng):
    """R of A = RᵀR, and r."""
    return np.triu(rng.randn(6, 6)) + 3.0 * np.eye(6), rng.randn(6)


def test_terms_are_rotated_in(factor, rng):
    """A gains zzᵀ and the right side target z."""
    (R, r), z, target = factor, rng.randn(6), 0.7
    z[2] = 0.0
    A, b = R.T @ R, R.T @ r
    rotate_in(R, r, z.copy(), target)
    np.testing.assert_allclose(R.T @ R, A + np.outer(z, z), rtol=0, atol=1e-12)
    np.testing.assert_allclose(R.T @ r, b + target * z, rtol=0, atol=1e-12)
    assert not np.tril(R, -1).any()


def test_systems_are_solved(factor, rng):
    (R, r), z, u, w = factor, rng.randn(6), np.empty(6), np.empty(6)
    assert solve_transposed(R, z, u) == pytest.approx(z @ np.linalg.solve(R.T @ R, z), rel=1e-10)
    np.testing.assert_allclose(u, np.linalg.solve(R.T, z), rtol=1e-10)
    solve_upper(R, r, w)
    np.testing.assert_allclose(w, np.linalg.solve(R, r), rtol=1e-10)


def test_reduced_terms_expand_to_what_they_were(rng):
    """Rows of the basis are orthonormal, and as many as directions were seen."""
    K, p = 4, 3
    basis, z, W = np.zeros((K - 1, K)), np.empty((K - 1) * p), np.empty(K * p)
    for seen, (one, other) in enumerate([(0, 2), (2, 3), (3, 0), (1, 2)]):
        g, x = np.eye(K)[one] - np.eye(K)[other], rng.randn(p)
        reduce_term(basis, g.copy(), x, z)
        expand(basis, z, W)
        np.testing.assert_allclose(W.reshape(K, p), np.outer(g, x), rtol=0, atol=1e-14)
        rows = seen + 1 if seen < 2 else seen
        np.testing.assert_allclose(basis @ basis.T, np.diag(np.arange(K - 1) < rows), atol=1e-14)
        V = rng.randn(K, p)
        assert along(V.ravel(), g, x) == pytest.approx(g @ V @ x, rel=1e-12)
