"""α without a search: a path from large to small, judged on rows that were held out."""

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


def best_alpha(learner, outputs, packed, Z, K):
    """The α of the least target loss on a fifth of the rows, and the losses of all.

    ``learner._solve`` begins each fit where the one before ended. Of equals it is the largest α.
    """
    rng, n = check_random_state(getattr(learner, "random_state", 0)), len(packed)
    order = rng.permutation(n)
    cut = min(max(int(LEARNED * n), 1), n - 1)
    train, valid = np.sort(order[:cut]), np.sort(order[cut:])
    truth = outputs.labels(packed[valid])
    inner = None if K is None else K[np.ix_(train, train)]
    losses, before = [], None
    for alpha in ALPHAS:
        found = learner._solve(outputs, packed[train], Z[train], inner, before, alpha)
        before = learner._to_go_on()
        scores = _scores(found, Z[valid], None if K is None else K[np.ix_(valid, train)])
        losses.append(outputs.loss(outputs.decode(scores), truth).mean())
    return ALPHAS[int(np.argmin(losses))], np.array(losses)


def _scores(found, Z, K):
    """Scores of held-out rows, by weights or by their kernels with those learned."""
    coefficients, W = found
    if W is None:
        return K @ coefficients
    V = np.asarray(Z @ W[: Z.shape[1]])
    return V + W[-1] if len(W) > Z.shape[1] else V
