"""How the answer of a weak learner corrects the logits: binary AIOLI over two features.

Of the logits s, with ``log Σ exp s_k = 0``, and an answer l it knows the row
``x = (clip(½(s_l − log Σ_{k≠l} exp s_k)), 1)`` alone. A = L D Lᵀ, L with the one entry ℓ.
"""

import math

import numpy as np

from skstructured._engine.compiled import kernel

#: Numbers of a weak learner: D, ℓ and g of its regression; Σ ½w²σ(m)(1−σ(m))q; Σ of the weights
#: it learned with, and of their signed part that tells its edge; mistakes of its expert; the
#: largest weight of a round, or 1.
D0, D1, ELL, G0, G1, POTENTIAL, COST, EDGE, MISTAKES, HEAVIEST = range(10)
NUMBERS = 10

#: Of shares below it, sums are taken anew from logits.
TINY = 1e-200

#: κ = 1/(2B‖x‖ + 2), B = √2.
TWO_B = 2.0 * math.sqrt(2.0)


def new_numbers(n_estimators, lam):
    """The numbers (n_estimators, NUMBERS) before the first round: θ = (2, 0), which changes no s.

    The regularizer is ``λ/2 ‖θ − (2, 0)‖²``: D = λ, and g = −λ(2, 0).
    """
    numbers = np.zeros((n_estimators, NUMBERS))
    numbers[:, D0], numbers[:, D1], numbers[:, G0] = lam, lam, -2.0 * lam
    numbers[:, HEAVIEST] = 1.0
    return numbers


@kernel(inline=True)
def root(c, a):
    """The root m of ``m + a(σ(m) − ½) = c``, a ≥ 0.

    For c > 0 the left side is concave where m > 0: Newton's steps rise from below the root to it.
    """
    far = abs(c)
    m = max(far - 0.5 * a, far / (1.0 + 0.25 * a))
    for _ in range(60):
        share = 1.0 / (1.0 + math.exp(-m))
        step = (far - m - a * (share - 0.5)) / (1.0 + a * share * (1.0 - share))
        m += step
        if abs(step) <= 1e-15 * m:
            break
    return math.copysign(m, c)


@kernel(inline=True)
def margin(r, weight, state):
    """m for the row (r, 1): the root for ``q = xᵀA⁻¹x`` and ``c = −xᵀA⁻¹g``; and q."""
    z, h = 1.0 - state[ELL] * r, state[G1] - state[ELL] * state[G0]
    q = r * r / state[D0] + z * z / state[D1]
    return root(-(r * state[G0] / state[D0] + z * h / state[D1]), weight * q), q


@kernel(inline=True)
def log_share(m):
    """Log σ(m)."""
    return -math.log1p(math.exp(-m)) if m > 0.0 else m - math.log1p(math.exp(m))


@kernel(inline=True)
def others_of(answer, s, p):
    """Log Σ_{k≠l} exp s_k, and the sum; p = exp s is recomputed where it has underflowed."""
    total = 0.0
    for k in range(p.shape[0]):
        total += p[k] if k != answer else 0.0
    if total > TINY:
        return math.log(total), total
    top = -math.inf
    for k in range(s.shape[0]):
        top = max(top, s[k]) if k != answer else top
    total = 0.0
    for k in range(s.shape[0]):
        total += math.exp(s[k] - top) if k != answer else 0.0
    return top + math.log(total), 0.0


@kernel
def correct(answer, weight, cap, state, s, p):
    """Move the logits s and their shares p by a weak answer; the row's r, m and q."""
    log_others, others = others_of(answer, s, p)
    r = min(max(0.5 * (s[answer] - log_others), -cap), cap)
    m, q = margin(r, weight, state)
    here, away = log_share(m), log_share(-m)
    shift, left = away - log_others, math.exp(away)
    factor = left / others if others > 0.0 else 0.0
    for k in range(s.shape[0]):
        s[k] += shift
        p[k] = p[k] * factor if others > 0.0 else math.exp(s[k])
    s[answer], p[answer] = here, math.exp(here)
    return r, m, q


@kernel(inline=True)
def learn_correction(r, m, q, right, weight, state):
    """``A ← A + w a xxᵀ``, ``g ← g + w((σ(m) − y) − a m)x``, ``a = 2κσ(m)(1 − σ(m))``."""
    share, rest = math.exp(log_share(m)), math.exp(log_share(-m))
    kappa = 1.0 / (TWO_B * math.sqrt(r * r + 1.0) + 2.0)
    a, miss = 2.0 * kappa * share * rest, -rest if right else share
    state[POTENTIAL] += 0.5 * weight * weight * share * rest * q
    state[G0] += weight * (miss - a * m) * r
    state[G1] += weight * (miss - a * m)
    added, before = weight * a, state[D0]
    z = 1.0 - state[ELL] * r
    state[D0] = before + added * r * r
    state[ELL] += z * added * r / state[D0]
    state[D1] += added * (before / state[D0]) * z * z
