"""Products in vectors against numpy's, at widths that fill no vector and at those that do."""

import numpy as np
import pytest
from numba import config

from skstructured._engine.compiled import kernel
from skstructured._engine.small_matmul import MOVED, READ, ROWS, both_products, subtract_products

compiled_only = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="needs compiled kernels")


@kernel(cached=False)
def subtracted(block, left, right, rank):
    """`subtract_products`, called from a kernel."""
    subtract_products(block, left, right, rank)


@kernel(cached=False)
def multiplied(block, x, out, other):
    """`both_products`, called from a kernel."""
    both_products(block, x, out, other)


@pytest.mark.parametrize("p", [*range(1, 2 * MOVED + 3), 31, 64, 65])
@pytest.mark.parametrize("n", [1, ROWS - 1, ROWS, ROWS + 1, 17])
def test_subtracts_the_products(n, p):
    rng = np.random.RandomState(p)
    for rank in (0, 1, 5):
        around, right = rng.randn(n + 2, p), rng.randn(7, p)
        left = rng.randn(7, n + rank)
        expected = around.copy()
        expected[1:-1] -= left[:rank, :n].T @ right[:rank]
        subtracted(around[1:-1], left, right, rank)
        np.testing.assert_allclose(around, expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("p", [*range(1, 2 * max(READ, ROWS) + 3), 31, 64, 65])
def test_multiplies_by_a_matrix_and_its_transpose(p):
    rng = np.random.RandomState(p)
    block, x, around = rng.randn(p, p), rng.randn(p), rng.randn(3, p)
    kept = around.copy()
    multiplied(block, x, around[0], around[1])
    np.testing.assert_allclose(around[0], block @ x, rtol=0, atol=1e-13)
    np.testing.assert_allclose(around[1], block.T @ x, rtol=0, atol=1e-13)
    np.testing.assert_array_equal(around[2], kept[2])


def test_numbers_that_are_none_stay_in_their_columns():
    """What is behind a row, as a vector would read it, counts for nothing."""
    block, right = np.ones((3, 5)), np.ones((1, 5))
    block[1, 0] = right[0, 3] = np.nan
    subtracted(block, np.ones((1, 3)), right, 1)
    bad = np.zeros((3, 5), dtype=bool)
    bad[1, 0] = bad[:, 3] = True
    np.testing.assert_array_equal(np.isnan(block), bad)
    np.testing.assert_array_equal(block[~bad], 0.0)


@compiled_only
def test_the_same_bits_wherever_an_array_begins():
    rng = np.random.RandomState(0)
    room, left, right = np.empty(17 * 17 + 8), rng.randn(6, 17), rng.randn(6, 17)
    start, found = rng.randn(17, 17), []
    for offset in range(8):
        block = room[offset : offset + 17 * 17].reshape(17, 17)
        block[...] = start
        subtracted(block, left, right, 6)
        found.append(block.copy())
    assert all((one == found[0]).all() for one in found)
