"""The best labels of chains (Viterbi), the n best (list Viterbi), and draws.

References: Viterbi (1967); Rabiner (1989), "A tutorial on hidden Markov models", section III.B;
Seshadri and Sundberg (1994), "List Viterbi decoding algorithms with applications".
"""

import numpy as np

from skstructured._chains.forward_backward import longest_of, row_sum
from skstructured._engine.compiled import FASTMATH, kernel
from skstructured._engine.simd import greater
from skstructured._engine.state import copy_into


@kernel
def chain_score(unary, start, stop, pair, labels):
    """Σ unary[m, y_m] + Σ pair[m, y_m, y_{m+1}] of rows start to stop, added up in order."""
    total = unary[start, labels[start]]
    for row in range(start, stop - 1):
        step = row if pair.shape[0] > 1 else 0
        total += pair[step, labels[row], labels[row + 1]]
        total += unary[row + 1, labels[row + 1]]
    return total


@kernel
def batch_scores(unary, offsets, pair, labels, scores):
    """`chain_score` of all chains."""
    for s in range(offsets.shape[0] - 1):
        scores[s] = chain_score(unary, offsets[s], offsets[s + 1], pair, labels)


@kernel(fastmath=FASTMATH)
def _best_before(best, m, pair, step, unary, row):
    """best[m + 1, j] = unary[row, j] + max_i (best[m, i] + pair[step, i, j])."""
    k = unary.shape[1]
    for j in range(k):
        best[m + 1, j] = best[m, 0] + pair[step, 0, j]
    for i in range(1, k):
        score = best[m, i]
        for j in range(k):
            best[m + 1, j] = greater(best[m + 1, j], score + pair[step, i, j])
    for j in range(k):
        best[m + 1, j] += unary[row, j]


@kernel
def chain_viterbi(unary, start, stop, pair, best, labels):
    """Best labels of rows start to stop, and their score; ties go to the first, the last row first.

    ``best`` has a row for each position: the best score up to there for each label.
    """
    length, k = stop - start, unary.shape[1]
    copy_into(best[0, :k], unary[start])
    for m in range(length - 1):
        step = start + m if pair.shape[0] > 1 else 0
        _best_before(best, m, pair, step, unary, start + m + 1)
    label = 0
    for j in range(1, k):
        label = j if best[length - 1, j] > best[length - 1, label] else label
    labels[stop - 1], value = label, best[length - 1, label]
    for m in range(length - 2, -1, -1):
        step, after = start + m if pair.shape[0] > 1 else 0, label
        label = 0
        for i in range(1, k):
            better = best[m, i] + pair[step, i, after] > best[m, label] + pair[step, label, after]
            label = i if better else label
        labels[start + m] = label
    return value


@kernel
def batch_viterbi(unary, offsets, pair, labels, scores):
    """`chain_viterbi` of all chains."""
    best = np.empty((longest_of(offsets), unary.shape[1]))
    for s in range(offsets.shape[0] - 1):
        scores[s] = chain_viterbi(unary, offsets[s], offsets[s + 1], pair, best, labels)


@kernel
def _insert(scores, places, score, place):
    """Put a score into a list sorted from the best; whether it belonged there."""
    n = scores.shape[0]
    if not score > scores[n - 1]:
        return False
    r = n - 1
    while r > 0 and score > scores[r - 1]:
        scores[r], places[r] = scores[r - 1], places[r - 1]
        r -= 1
    scores[r], places[r] = score, place
    return True


@kernel
def _lists_before(lists, m, pair, step, unary, row, backpointers):
    """The n best scores of each label at a row, and which label and rank before it they have."""
    k, n = lists.shape[1], lists.shape[2]
    current, then = lists[(m + 1) % 2], lists[m % 2]
    current[:] = -np.inf
    for j in range(k):
        for i in range(k):
            for r in range(n):
                score = then[i, r] + pair[step, i, j]
                if not _insert(current[j], backpointers[m + 1, j], score, i * n + r):
                    break
        for r in range(n):
            current[j, r] += unary[row, j]


@kernel
def batch_nbest(unary, offsets, pair, labels, scores, counts):
    """The n best labels (n, N) of all chains, their scores (chains, n), how many (chains,)."""
    k, n = unary.shape[1], labels.shape[0]
    lists = np.empty((2, k, n))
    backpointers = np.empty((longest_of(offsets), k, n), dtype=np.int32)
    for s in range(offsets.shape[0] - 1):
        start, length, best = offsets[s], offsets[s + 1] - offsets[s], scores[s]
        lists[0] = -np.inf
        for j in range(k):
            lists[0, j, 0] = unary[start, j]
        for m in range(length - 1):
            step = start + m if pair.shape[0] > 1 else 0
            _lists_before(lists, m, pair, step, unary, start + m + 1, backpointers)
        best[:] = -np.inf
        ends = backpointers[0, 0]  # the first row has nothing before it
        last = lists[(length - 1) % 2]
        for j in range(k):
            for r in range(n):
                if not _insert(best, ends, last[j, r], j * n + r):
                    break
        counts[s] = 0
        for r in range(n):
            if best[r] > -np.inf:
                counts[s] += 1
                _trace_back(start, start + length, ends[r], n, backpointers, labels[r])


@kernel
def _trace_back(start, stop, end, n, backpointers, labels):
    """Follow a list's entry from the last row to the first."""
    place = end
    for row in range(stop - 1, start - 1, -1):
        labels[row] = place // n
        if row > start:
            place = backpointers[row - start, place // n, place % n]


@kernel
def _pick(weights, row, total, u):
    """First label whose weights up to it exceed u · total, the last possible one at the latest."""
    left, last = u * total, 0
    for j in range(weights.shape[1]):
        if weights[row, j] > 0.0:
            last = j
            left -= weights[row, j]
            if left < 0.0:
                return j
    return last


@kernel
def batch_mean_draws(mu, offsets, pairs, uniforms, labels):
    """Draws (n, N) of chains of these marginals, the next label by pairs[row, y], over its sum."""
    for s in range(offsets.shape[0] - 1):
        start = offsets[s]
        total = row_sum(mu, start)
        for d in range(labels.shape[0]):
            labels[d, start] = _pick(mu, start, total, uniforms[d, start])
        for row in range(start, offsets[s + 1] - 1):
            step = pairs[row]
            for d in range(labels.shape[0]):
                i = labels[d, row]
                labels[d, row + 1] = _pick(step, i, row_sum(step, i), uniforms[d, row + 1])
