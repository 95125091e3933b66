"""α without a search: a path from large to small, judged on outputs that were held out."""

import numpy as np
from sklearn.utils import check_random_state

from skstructured._validation import check_positive

#: The values that the paper tries, the largest first.
ALPHAS = tuple(2.0**-j for j in range(1, 11))

#: Share of rows that are learned on the way.
LEARNED = 0.8


def check_alpha(alpha):
    """A ValueError unless α is a positive number or "path"."""
    if not (isinstance(alpha, str) and alpha == "path"):
        check_positive("alpha", alpha)


def best_alpha(learner, outputs, packed, inputs):
    """The α of the least target loss on a fifth of the rows, and the losses of all.

    ``learner._solve`` begins each fit where the one before ended. Of equals it is the largest α.
    """
    rng = check_random_state(getattr(learner, "random_state", 0))
    order = rng.permutation(np.flatnonzero(inputs.share > 0.0))
    cut = min(max(int(LEARNED * len(order)), 1), len(order) - 1)
    if cut < 1:
        raise ValueError('alpha="path" needs at least 2 samples of positive weight, got 1.')
    train, valid = np.sort(order[:cut]), np.sort(order[cut:])
    truth, share = outputs.labels(packed[valid]), inputs.share[valid]
    inner, losses, before = inputs.part(train), [], None
    for alpha in ALPHAS:
        found = learner._solve(outputs, packed[train], inner, before, alpha)
        before = learner._to_go_on()
        scores = inputs.scores(found, train, valid)
        losses.append(np.average(outputs.loss(outputs.decode(scores), truth), weights=share))
    return ALPHAS[int(np.argmin(losses))], np.array(losses)
