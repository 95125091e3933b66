"""Rounds of AdaBoost.OLM++: N weak answers, N corrections of the logits, and a hedge over them."""

import math

import numpy as np

from skstructured._engine.compiled import kernel
from skstructured.estimators.boosting._correction import (
    COST,
    EDGE,
    HEAVIEST,
    MISTAKES,
    correct,
    learn_correction,
)
from skstructured.estimators.boosting._tree_kernels import (
    forget_row,
    leaf_of,
    learn_in_tree,
    read_row,
)
from skstructured.losses.gap import best_class


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
