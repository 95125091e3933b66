"""The largest curvature of FOLKLORE's quadratics, literally: the worst pair of laws, 50 digits."""

from decimal import Decimal, localcontext


def two_values(t, a):
    """``Var_s(ln s/s')/KL(s‖s')`` of the laws (p, 1 − p) and (q, 1 − q), logit p = t, logit q = −a.

    All numbers are Decimals.
    """
    p, q = 1 / (1 + (-t).exp()), 1 / (1 + a.exp())
    first, second = (p / q).ln(), ((1 - p) / (1 - q)).ln()
    variance = p * (1 - p) * (first - second) ** 2
    return variance / (p * first + (1 - p) * second)


def worst_ratio(a):
    """f: the largest `two_values` over p, by thirds, as a float; a = 0 has the limit 2."""
    if a == 0:
        return 2.0
    with localcontext() as context:
        context.prec = 50
        a = Decimal(a)
        low, high = -a, Decimal(0)
        for _ in range(130):
            left, right = (2 * low + high) / 3, (low + 2 * high) / 3
            if two_values(left, a) < two_values(right, a):
                low = left
            else:
                high = right
        return float(two_values((low + high) / 2, a))


def largest_kappa(B, norm, K):
    """κ* = 1/f(1/(1 + (K − 1) exp(2B‖x‖)))."""
    with localcontext() as context:
        context.prec = 50
        a = Decimal(2.0 * B * norm) + Decimal(K - 1).ln()
    return 1.0 / worst_ratio(a)
