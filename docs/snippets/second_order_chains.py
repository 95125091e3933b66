"""Chains of order 2: the states of a chain are pairs of a label and the one before it.

The first label is paired with itself. With k labels there are at most k² states, and the transition
score from (a, b) to (b, c) is that of the three labels. Other transitions do not occur.
"""

import numpy as np


def to_pairs(labels, k):
    """States (M,) of the labels (M,), which are 0 … k − 1."""
    labels = np.asarray(labels)
    return np.r_[labels[:1], labels[:-1]] * k + labels


def from_pairs(states, k):
    """Labels (M,) of states (M,)."""
    return np.asarray(states) % k


def forbid_disagreement(model, k):
    """Forbid starts and transitions that disagree, in a `ConditionalRandomField` of states."""
    before, label = np.divmod(model.classes_, k)
    model.start_[before != label] = -np.inf
    model.transitions_[label[:, None] != before] = -np.inf
    return model
