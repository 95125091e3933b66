"""Regularised matchings whose iterations end early are repaired."""

import numpy as np
import pytest

from skstructured.spaces import _matching as kernels


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
