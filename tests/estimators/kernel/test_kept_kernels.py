"""Kernels that are kept: sums with them beside numpy's in double precision."""

import numpy as np
import pytest

from skstructured import KernelStructuredPredictor
from skstructured.estimators.kernel._values import (
    BLOCK,
    STRETCH,
    add_rows,
    kept_kernels,
    kept_products,
)


def kept(n, room, seed=0):
    return np.random.RandomState(seed).uniform(-1.0, 1.0, (n, room)).astype(np.float32)


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("outputs", [1, 2, 3])
@pytest.mark.parametrize("room", [7, STRETCH, 2 * STRETCH + 5])
def test_products_are_those_of_double_precision(rows, outputs, room):
    gram, rng = kept(11, room), np.random.RandomState(1)
    index, coefs = rng.choice(11, rows), rng.standard_normal((outputs, room))
    wanted = gram[index].astype(np.float64) @ coefs.T
    size = np.abs(gram[index]).astype(np.float64) @ np.abs(coefs).T
    assert (np.abs(kept_products(gram, index, coefs) - wanted) <= 1e-6 * size).all()


def test_outputs_of_any_size_keep_their_digits():
    gram, rng = kept(8, 40), np.random.RandomState(2)
    sizes = np.array([1e-200, 1e-3, 1.0, 1e60, 0.0])
    coefs = sizes[:, None] * rng.uniform(0.5, 1.0, (5, 40))
    found = kept_products(np.abs(gram), np.arange(8), coefs)
    wanted = np.abs(gram).astype(np.float64) @ coefs.T
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_kernels_with_the_block_and_coefficients_of_rows_that_come_twice():
    gram, index, places = kept(9, 9), np.array([4, 0, 8]), np.array([2, 8, 2, 5])
    out = np.full((3, BLOCK), np.nan)
    kept_kernels(gram, index, places, out)
    np.testing.assert_array_equal(out[:, :4], gram[np.ix_(index, places)])
    assert not out[:, 4:].any()
    coefs, own = np.ones((2, 9)), np.random.RandomState(3).standard_normal((4, 2))
    wanted = coefs.copy()
    np.add.at(wanted.T, places, own)
    add_rows(coefs, places, own)
    np.testing.assert_array_equal(coefs, wanted)


def test_kernels_too_large_for_single_precision_are_not_kept():
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((90, 3)), rng.randint(0, 3, 90)
    given = {"kernel": "linear", "standardize": False, "max_iter": 3, "random_state": 0}
    fits = [
        KernelStructuredPredictor(cache_size=size, **given).fit(1e18 * X, y) for size in (0, 200)
    ]
    np.testing.assert_array_equal(fits[0].dual_coef_, fits[1].dual_coef_)
