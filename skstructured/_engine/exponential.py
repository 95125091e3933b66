"""exp by a polynomial, so that loops over it become vectors; `math.exp` is called one by one."""

from skstructured._engine.compiled import kernel
from skstructured._engine.instructions import MAGIC, two_to

LOG2_E = 1.4426950408889634
#: ln 2 in two parts, the first with so many zeros at its end that n times it is exact.
LN2_HIGH, LN2_LOW = float.fromhex("0x1.62e42fee00000p-1"), float.fromhex("0x1.a39ef35793c76p-33")

#: Exponents below this are next to nothing, and out of the range of `exp_of`.
LOWEST = -700.0


@kernel(inline=True)
def exp_of(e: float) -> float:
    """exp(e) for −700 ≤ e ≤ 700, to a few units in the last place.

    ``2ⁿ exp(r)`` with n the integer nearest to e/ln 2 and ``|r| ≤ ln(2)/2``, for which twelve terms
    of the series leave 2e-16. Adding 1.5·2⁵² rounds to an integer, and leaves it in the last bits.
    """
    shifted = e * LOG2_E + MAGIC
    n = shifted - MAGIC
    r = (e - n * LN2_HIGH) - n * LN2_LOW
    p = 1.0 / 39916800.0 + r * (1.0 / 479001600.0)
    p = 1.0 / 3628800.0 + r * p
    p = 1.0 / 362880.0 + r * p
    p = 1.0 / 40320.0 + r * p
    p = 1.0 / 5040.0 + r * p
    p = 1.0 / 720.0 + r * p
    p = 1.0 / 120.0 + r * p
    p = 1.0 / 24.0 + r * p
    p = 1.0 / 6.0 + r * p
    p = 0.5 + r * p
    p = 1.0 + r * p
    return two_to(shifted) * (1.0 + r * p)
