"""Parts of a round of the epoch: scores played, and what the average does in a round."""

from skstructured._engine.average import WAITING, WINDOW, add_dense, fold
from skstructured._engine.compiled import kernel
from skstructured._engine.state import FLUSH, RESCALE, SCALED_WEIGHT_SUM, SINCE


@kernel
def play(raw, s, truth, theta, y, scores, r):
    """θ = s·raw and y of round r, noted in `scores` where it has rows; Σ|θ|."""
    size = 0.0
    for k in range(raw.shape[0]):
        y[k] = truth[r, k]
        theta[k] = s * raw[k]
        size += abs(theta[k])
        if scores.shape[0] > 0:
            scores[r, k] = theta[k]
    return size


@kernel
def settle(data, width, rows, start, r, terms, Theta, A, dim, dense, average, state):
    """Add the terms that wait, of rounds `start` to r, and multiply Θ by what the state asks for.

    Returns the round from which on terms wait.
    """
    if average and dense:
        add_dense(data, width, rows[start:r], terms, A)
        start = r
    fold(Theta, A, dim, dense, average, state[RESCALE], state[SCALED_WEIGHT_SUM])
    state[RESCALE], state[SCALED_WEIGHT_SUM], state[FLUSH] = 1.0, 0.0, 0.0
    return start


@kernel
def behind(move, g, factor):
    """The term −factor g that goes with g, for the columns behind Θ."""
    dim = g.shape[0]
    for k in range(dim):
        move[dim + k] = -factor * g[k]


@kernel
def wait(data, width, rows, start, r, terms, A, factor, g):
    """Have the term −factor g x_rᵀ wait, and add a whole block; where waiting ones begin then."""
    for k in range(g.shape[0]):
        terms[r - start, k] = -factor * g[k]
    if r + 1 - start < WAITING:
        return start
    add_dense(data, width, rows[start : r + 1], terms, A)
    return r + 1


@kernel
def count_drift(state, weight):
    """Ask for A to be brought up to date once a float32 Θ has moved `WINDOW` times."""
    if weight > 0.0:
        state[SINCE] += 1.0
        if state[SINCE] >= WINDOW:
            state[SINCE], state[FLUSH] = 0.0, 1.0
