"""α without a search: a rule, or a path from large to small, judged on outputs held out."""

import numpy as np
from sklearn.utils import check_random_state

from skstructured._base.validation import check_size

#: Values that are tried, the largest first: the ten of the paper, and on while the loss falls.
ALPHAS = tuple(2.0**-j for j in range(1, 21))

#: At least so many are, and then until so many in turn are no better.
LEAST, PATIENCE = 10, 3

#: α of "auto" for costs of 1.
AUTO = 5e-4

#: Share of rows that are learned on the way.
LEARNED = 0.8


def check_alpha(alpha, rules):
    """A ValueError unless α is a positive number, or one of these names."""
    if not (isinstance(alpha, str) and alpha in rules):
        check_size("alpha", alpha)


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
        if len(losses) >= max(LEAST, int(np.argmin(losses)) + 1 + PATIENCE):
            break
    return ALPHAS[int(np.argmin(losses))], np.array(losses)
