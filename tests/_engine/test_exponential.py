"""The polynomial exp of the kernels, against sixty digits, and that loops over it are vectors."""

import platform
from decimal import Decimal, localcontext

import numpy as np
import pytest
from conftest import INTERPRETED
from hypothesis import given
from hypothesis import strategies as st

from skstructured._engine.compiled import kernel
from skstructured._engine.simd import exp_of


@kernel(fastmath={"contract"}, cached=False)
def exp_into(exponents, values):
    for i in range(exponents.shape[0]):
        values[i] = exp_of(exponents[i])


def exp(exponents):
    values = np.empty(len(exponents))
    exp_into(np.ascontiguousarray(exponents, dtype=np.float64), values)
    return values


def largest_error(exponents):
    """Relative, of the exact exponential."""
    with localcontext(prec=60):
        pairs = zip(exp(exponents), exponents, strict=True)
        return max(abs(Decimal(v) / Decimal(float(e)).exp() - 1) for v, e in pairs)


def test_errors_in_the_range_that_is_needed(rng):
    n = 300 if INTERPRETED else 2000
    ties = (np.arange(866) + 0.5) * np.log(2.0) / 2.0  # where n, and the sign of r, change
    for exponents in (
        rng.uniform(0.0, 300.0, n),
        rng.uniform(0.0, 1.0, n),
        10.0 ** rng.uniform(-308, 2.4, n),
        ties,
        np.nextafter(ties, 0.0),
        np.nextafter(ties, 400.0),
        [0.0, 5e-324, 1e-300, np.nextafter(300.0, 0.0), 300.0],
    ):
        assert largest_error(exponents) < 5e-16  # 1e-14 is what weights need


@given(st.lists(st.floats(-700.0, 700.0), min_size=1, max_size=20))
def test_errors_of_any_exponents(exponents):
    assert largest_error(exponents) < 5e-16


def test_exact_and_special_values():
    assert exp([0.0, -0.0]).tolist() == [1.0, 1.0]
    assert np.isnan(exp([np.nan])).all()


def test_numbers_alone_and_in_vectors_have_the_same_bits(rng):
    exponents = rng.uniform(0.0, 300.0, 67)
    alone = [exp(exponents[i : i + 1])[0] for i in range(67)]
    np.testing.assert_array_equal(exp(exponents), alone)
    np.testing.assert_allclose(exp(exponents), np.exp(exponents), rtol=5e-16)


@pytest.mark.skipif(INTERPRETED, reason="compiled only")
@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="reads x86 assembly")
def test_the_loop_is_made_of_vectors():
    exp_into(np.ones(3), np.empty(3))
    (assembly,) = exp_into.inspect_asm().values()
    assert "mulpd" in assembly or "fmadd" in assembly
    assert "psllq" in assembly  # powers of two, several at a time
