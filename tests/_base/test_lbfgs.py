"""L-BFGS on weights of any shape: where it ends, and what ends it."""

import numpy as np
import pytest

from skstructured._base.lbfgs import minimize_lbfgs

TARGET = np.arange(6.0).reshape(2, 3)


def quadratic(W):
    assert W.shape == TARGET.shape
    curves = 1.0 + TARGET**2
    return 0.5 * np.sum(curves * (W - TARGET) ** 2), curves * (W - TARGET)


def test_the_minimum_has_the_shape_of_the_start():
    found = minimize_lbfgs(quadratic, np.zeros((2, 3)), 100)
    assert found.x.shape == (2, 3)
    np.testing.assert_allclose(found.x, TARGET, atol=1e-7)


@pytest.mark.parametrize("options", [{}, {"gtol": 1e3}])
def test_limits(options):
    found = minimize_lbfgs(quadratic, np.zeros((2, 3)), 2, **options)
    assert found.nit == (0 if options else 2)
