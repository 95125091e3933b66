"""What an exported model of label sequences predicts with; see `_plain_functions`."""
# ruff: noqa: F821  # roles are named in the module that is written

import numpy as np

from skstructured.checkpoints._plain_functions import M


def with_bigrams(X):
    """Scores of positions (length, k), and of steps (k, k), of every sequence."""
    for x in X:
        unary = rows(x) @ M["coef"].T + M["intercept"]
        unary[0] += M["start"]
        unary[-1] += M["end"]
        yield unary, np.broadcast_to(M["transitions"], (len(unary) - 1, *M["transitions"].shape))


def with_feature_steps(X):
    """Those of `with_bigrams`, with what the features of a row add to steps to it."""
    for x, (unary, pair) in zip(X, with_bigrams(X), strict=True):
        yield unary, pair + np.einsum("mp,ijp->mij", rows(x)[1:], M["transition_coef"])


def viterbi(unary, pair):
    """The places of the labels of the largest score, ties to the first."""
    best = [unary[0]]
    for step, scored in zip(pair, unary[1:], strict=True):
        best.append((best[-1][:, None] + step).max(axis=0) + scored)
    found = [int(best[-1].argmax())]
    for m in range(len(pair) - 1, -1, -1):
        found.append(int((best[m] + pair[m][:, found[-1]]).argmax()))
    return np.array(found[::-1])


def log_sum(a, axis):
    """Logarithm of the sum of exponentials."""
    top = a.max(axis=axis, keepdims=True)
    return (top + np.log(np.exp(a - top).sum(axis=axis, keepdims=True))).squeeze(axis)


def marginals(unary, pair):
    """Probabilities of labels (length, k), and of pairs of them (length − 1, k, k)."""
    ahead, behind = [unary[0]], [np.zeros(unary.shape[1])]
    for step, scored in zip(pair, unary[1:], strict=True):
        ahead.append(log_sum(ahead[-1][:, None] + step, 0) + scored)
    for step, scored in zip(pair[::-1], unary[:0:-1], strict=True):
        behind.append(log_sum(step + scored + behind[-1], 1))
    ahead, behind = np.array(ahead), np.array(behind[::-1])
    whole = log_sum(ahead[-1], 0)
    both = ahead[:-1, :, None] + pair + (unary[1:] + behind[1:])[:, None]
    return np.exp(ahead + behind - whole), np.exp(both - whole)


def best_labels(X):
    """The labels of the largest score, an array for every sequence."""
    return [M["classes"][viterbi(*chain)] for chain in chains(X)]


def nearest_labels(X):
    """The labels nearest to the marginals, an array for every sequence."""
    means = (marginals(*chain) for chain in chains(X))
    return [M["classes"][viterbi(2.0 * mu - 1.0, 2.0 * pairs - 1.0)] for mu, pairs in means]


def labels_of_least_risk(X):
    """The label of the least expected cost at every position, an array for every sequence."""
    return [M["classes"][(mu @ M["costs"].T).argmin(axis=1)] for mu in predict_marginals(X)]


def chain_marginals(X):
    """Probabilities of the labels at every position, (length, k) for every sequence."""
    return [marginals(*chain)[0] for chain in chains(X)]
