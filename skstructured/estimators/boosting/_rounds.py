"""Rounds of AdaBoost.OLM++: N weak answers, N corrections of the logits, and a hedge over them."""

import math

import numpy as np

from skstructured._engine.compiled import kernel
from skstructured.estimators.boosting.tree import forget_row, leaf_of, learn_in_tree, read_row
from skstructured.losses.gap import best_class

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


@kernel
def expert_shares(numbers, shares):
    """v_i / Σ v, v_i = exp(−mistakes of expert i / the largest weight); the first of the best."""
    leader, total = 0, 0.0
    for i in range(shares.shape[0]):
        if numbers[i, MISTAKES] < numbers[leader, MISTAKES]:
            leader = i
    for i in range(shares.shape[0]):
        behind = numbers[i, MISTAKES] - numbers[leader, MISTAKES]
        shares[i] = math.exp(-behind / numbers[i, HEAVIEST])
        total += shares[i]
    for i in range(shares.shape[0]):
        shares[i] /= total
    return leader


@kernel
def start_of_chain(s, p):
    """s = 0, as log softmax, and p = softmax."""
    for k in range(s.shape[0]):
        s[k], p[k] = -math.log(s.shape[0]), 1.0 / s.shape[0]


@kernel(inline=True)
def read_costs(code, answer, weight, state, p, saved):
    """What an answer saves of the largest cost, w(max C − C_k), into `saved` (K,).

    The costs (C.1) of answering k when y is true are C_k = (p_k + 1 − p_y)/K, and C_y = 0. The
    sums of the edge take w(1 − p_y), and what the weak answer has of it.
    """
    rest, top, K = 0.0, 0.0, p.shape[0]
    for k in range(K):
        if k != code:
            rest += p[k]
            top = max(top, p[k])
    for k in range(K):
        saved[k] = weight * (top + rest if k == code else top - p[k]) / K
    state[COST] += weight * rest
    state[EDGE] += weight * (rest if answer == code else -p[answer])


@kernel
def play_round(answers, code, weight, cap, numbers, shares, votes, logs, saved, s, p):
    """Play a round from the weak answers (N,), and learn all of it but the weak learners.

    Writes votes (K,) of the hedge, log probabilities (K,) of its leader, and what every answer
    saves (N, K), for the weak learners. A round of weight 0 is played alone.
    """
    start_of_chain(s, p)
    for k in range(votes.shape[0]):
        votes[k] = 0.0
    for i in range(answers.shape[0]):
        numbers[i, HEAVIEST] = max(numbers[i, HEAVIEST], weight)
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
            state[MISTAKES] += weight
        if i == leader:
            for k in range(logs.shape[0]):
                logs[k] = s[k]


@kernel
def boost_rows(
    data, indices, indptr, width, order, codes, weight, live, patience, trees, numbers, votes, logs
):
    """Play and learn rows in `order`, the weak learners trees; how many rounds were learned.

    `live` is how many were before. `votes` and `logs` (n, K) receive what was played.
    """
    n, K = numbers.shape[0], votes.shape[1]
    x, s, p = np.zeros(width), np.empty(K), np.empty(K)
    answers, shares, saved = np.empty(n, dtype=np.int64), np.empty(n), np.empty((n, K))
    for t in range(order.shape[0]):
        row = order[t]
        w, code, cap = weight[row], codes[row], math.log(max(live + 1.0, 2.0))
        values = read_row(data, indices, indptr, width, row, x)
        for i in range(n):
            answers[i] = trees[3][i, leaf_of(values, trees[0][i], trees[1][i])]
        play_round(answers, code, w, cap, numbers, shares, votes[t], logs[t], saved, s, p)
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
