"""Kernels of AdaBoost.OLM++.

A round has N weak answers, N corrections of the logits, and a hedge over them.
"""

import math
from enum import IntEnum

import numpy as np

from skstructured._engine.compiled import kernel, plain_integers
from skstructured._engine.state import copy_into
from skstructured.estimators.boosting.tree import (
    forget_row,
    leaf_of,
    learn_in_tree,
    load_row,
)
from skstructured.experts.hedge import hedge_weights
from skstructured.losses.gap import best_class


@plain_integers
class WeakState(IntEnum):
    """Numbers of a weak learner.

    They are D, ℓ and g of its regression; Σ ½w²σ(m)(1−σ(m))q; Σ of its weights, and of their signed
    share in its edge; mistakes of its expert; and the largest weight of a round, or 1.
    """

    D0, D1, ELL, G0, G1, POTENTIAL, COST, EDGE, MISTAKES, HEAVIEST = range(10)


def new_numbers(n_estimators, lam):
    """The `WeakState` of learners before the first round: θ = (2, 0), which changes no s.

    The regularizer is ``λ/2 ‖θ − (2, 0)‖²``: D = λ, and g = −λ(2, 0).
    """
    numbers = np.zeros((n_estimators, len(WeakState)))
    numbers[:, [WeakState.D0, WeakState.D1]] = lam
    numbers[:, WeakState.G0] = -2.0 * lam
    numbers[:, WeakState.HEAVIEST] = 1.0
    return numbers


@kernel(inline=True)
def root(c, a):
    """The root m of ``m + a(σ(m) − ½) = c``, a ≥ 0.

    For c > 0 the left side is concave for m > 0: Newton's steps rise from below the root to it.
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
    d0, d1 = state[WeakState.D0], state[WeakState.D1]
    ell, g0 = state[WeakState.ELL], state[WeakState.G0]
    z, h = 1.0 - ell * r, state[WeakState.G1] - ell * g0
    q = r * r / d0 + z * z / d1
    return root(-(r * g0 / d0 + z * h / d1), weight * q), q


@kernel(inline=True)
def log_share(m):
    """Log σ(m)."""
    return -math.log1p(math.exp(-m)) if m > 0.0 else m - math.log1p(math.exp(m))


@kernel(inline=True)
def others_of(answer, s, p):
    """Log Σ_{k≠l} exp s_k, and the sum; p = exp s is recomputed if it has underflowed."""
    total = 0.0
    for k in range(p.shape[0]):
        total += p[k] if k != answer else 0.0
    if total > 1e-200:
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
    share, complement = math.exp(log_share(m)), math.exp(log_share(-m))
    kappa = 1.0 / (2.0 * math.sqrt(2.0) * math.sqrt(r * r + 1.0) + 2.0)
    a, miss = 2.0 * kappa * share * complement, -complement if right else share
    state[WeakState.POTENTIAL] += 0.5 * weight * weight * share * complement * q
    state[WeakState.G0] += weight * (miss - a * m) * r
    state[WeakState.G1] += weight * (miss - a * m)
    added, previous_d0 = weight * a, state[WeakState.D0]
    z = 1.0 - state[WeakState.ELL] * r
    state[WeakState.D0] = previous_d0 + added * r * r
    state[WeakState.ELL] += z * added * r / state[WeakState.D0]
    state[WeakState.D1] += added * (previous_d0 / state[WeakState.D0]) * z * z


@kernel
def expert_shares(numbers, shares):
    """v_i / Σ v, v_i = exp(−mistakes of expert i / the largest weight); the first of the best."""
    leader = np.argmin(numbers[:, WeakState.MISTAKES])
    shares[:] = numbers[:, WeakState.MISTAKES] - numbers[leader, WeakState.MISTAKES]
    total = hedge_weights(shares, 1.0, numbers[leader, WeakState.HEAVIEST], shares)
    shares /= total
    return leader


@kernel(inline=True)
def read_costs(code, answer, weight, state, p, saved):
    """What an answer saves of the largest cost, w(max C − C_k), into `saved` (K,).

    The costs (C.1) of answering k when y is true are C_k = (p_k + 1 − p_y)/K, and C_y = 0. The sums
    of the edge add w(1 − p_y), and the share of the weak prediction.
    """
    complement, top, K = 0.0, 0.0, p.shape[0]
    for k in range(K):
        if k != code:
            complement += p[k]
            top = max(top, p[k])
    for k in range(K):
        saved[k] = weight * (top + complement if k == code else top - p[k]) / K
    state[WeakState.COST] += weight * complement
    state[WeakState.EDGE] += weight * (complement if answer == code else -p[answer])


@kernel
def play_boosting_round(answers, code, weight, cap, numbers, shares, votes, logs, saved, s, p):
    """Play a round from the weak answers (N,), and learn all of it but the weak learners.

    Writes votes (K,) of the hedge, log probabilities (K,) of its leader, and what every answer
    saves (N, K), for the weak learners. A round of weight 0 is played alone.
    """
    K = votes.shape[0]
    for k in range(K):
        s[k], p[k], votes[k] = -math.log(K), 1.0 / K, 0.0
    for i in range(answers.shape[0]):
        numbers[i, WeakState.HEAVIEST] = max(numbers[i, WeakState.HEAVIEST], weight)
    leader, learns = expert_shares(numbers, shares), weight > 0.0
    for i in range(answers.shape[0]):
        state = numbers[i]
        read_costs(code, answers[i], weight, state, p, saved[i])
        r, m, q = correct(answers[i], weight if learns else 1.0, cap, state, s, p)
        expert = best_class(s)
        votes[expert] += shares[i]
        if learns:
            learn_correction(r, m, q, answers[i] == code, weight, state)
        if expert != code:
            state[WeakState.MISTAKES] += weight
        if i == leader:
            copy_into(logs, s)


@kernel
def boost_rows(
    data, indices, indptr, width, order, codes, weight, live, patience, trees, numbers, votes, logs
):
    """Play and learn rows in `order`, the weak learners trees; how many rounds were learned.

    `live` is the number of rounds before. `votes` and `logs` (n, K) receive the plays.
    """
    n, K = numbers.shape[0], votes.shape[1]
    x, s, p = np.zeros(width), np.empty(K), np.empty(K)
    answers, shares, saved = np.empty(n, dtype=np.int64), np.empty(n), np.empty((n, K))
    for t in range(order.shape[0]):
        row = order[t]
        w, code, cap = weight[row], codes[row], math.log(max(live + 1.0, 2.0))
        values = load_row(data, indices, indptr, width, row, x)
        for i in range(n):
            answers[i] = trees[3][i, leaf_of(values, trees[0][i], trees[1][i])]
        outputs = shares, votes[t], logs[t], saved
        play_boosting_round(answers, code, w, cap, numbers, *outputs, s, p)
        for i in range(n):
            if saved[i, code] > 0.0:
                learn_in_tree(values, saved[i], patience, trees, i)
        live += 1 if w > 0.0 else 0
        forget_row(indices, indptr, row, x)
    return live


@kernel
def advance(answers, cap, state, s, p):
    """Correct the logits s (n, K) of rows, and p, by the answers (n,) of one weak learner."""
    for row in range(answers.shape[0]):
        correct(answers[row], 1.0, cap, state, s[row], p[row])
