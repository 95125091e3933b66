"""α by evidence: c/n for c from large to small, judged on what is held out."""

import copy
import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

#: α n that are tried, the largest first: of 1 is C=1 of LogisticRegression.
STRENGTHS = (100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)

#: Until so many in turn are no better.
PATIENCE = 2

#: Parts that few rounds are divided into, each held out in turn; of more than `FEW` one is.
PARTS, FEW = 5, 500

#: Losses that differ by less than this share are as good as each other.
ALIKE = 0.01

#: Fewer rounds tell nothing, and are learned with α = 1/n.
LEAST = 10


class Path(NamedTuple):
    """What was tried: α (m,), and the mean losses of what was held out, (m,)."""

    alphas: np.ndarray
    losses: np.ndarray

    @property
    def best(self):
        """The largest α whose loss is hardly more than the least."""
        least = self.losses.min()
        return float(self.alphas[self.losses <= least + ALIKE * abs(least)][0])


class Part:
    """A field that learns some rounds, with ever smaller α, and is judged on the others."""

    def __init__(self, field, batch, share, held_out, learned):
        self.field = copy.copy(field)
        self.field.warm_start, self.field.verbose = field._is_linear(), 0
        vars(self.field).pop("coef_", None)
        self.field.random_state_ = copy.deepcopy(field.random_state_)
        self.held_out, self.batch = batch.take(held_out), batch.take(learned)
        self.share = share[learned] / share[learned].sum()

    def losses(self, alpha):
        """Losses of the rounds held out, beginning where the last α ended."""
        field, packed = self.field, self.held_out.packed
        field.alpha_ = alpha
        field._learn(self.batch, self.share)
        truth = packed if field._is_sequential() else field.space_.unpack(packed)
        return field.loss_.value(field._thetas(self.held_out), truth)


def tried_alphas(field, batch, share):
    """The `Path` of a field whose space and loss are fitted; None of fewer rounds than `LEAST`."""
    counted = np.flatnonzero(share > 0.0)
    if len(counted) < LEAST:
        return None
    order = copy.deepcopy(field.random_state_).permutation(counted)
    parts = [np.sort(order[i::PARTS]) for i in range(PARTS)]
    rest = [np.sort(np.setdiff1d(counted, part)) for part in parts]
    pairs = list(zip(parts, rest, strict=True))[: PARTS if len(counted) <= FEW else 1]
    held = [Part(field, batch, share, *pair) for pair in pairs]
    weight, losses = share[np.concatenate([pair[0] for pair in pairs])], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the last fit says what matters
        for strength in STRENGTHS:
            found = np.concatenate([part.losses(strength / len(counted)) for part in held])
            losses.append(np.average(found, weights=weight))
            if len(losses) > int(np.argmin(losses)) + PATIENCE:
                break
    return Path(np.array(STRENGTHS[: len(losses)]) / len(counted), np.array(losses))
