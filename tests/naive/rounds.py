"""The one literal loop over rounds: of rows, sequences and items, of one learner or a mixture."""

import math
from typing import NamedTuple

import numpy as np


class Round(NamedTuple):
    """Scores ``A @ W.ravel()`` of M rows times k, the truth, and what bounds ‖A‖ for each expert.

    A row has M = 1, items have k = 1; label sequences have scores of steps as well.
    """

    A: np.ndarray
    y: object
    norms: list


class BlockResult(NamedTuple):
    """The scores and W (experts, …) of every round, losses times weights, and averages of W."""

    scores: list
    weights: np.ndarray
    losses: np.ndarray
    means: list


class Alone:
    """In place of a mixture: what the first learner says."""

    def play(self, theta, w):
        return theta[0]

    def learn(self, theta, losses, y, w):
        return losses


def round_shares(weight, average="polynomial"):
    """What rounds of these weights count in the average of the weights played, of sum 1."""
    weight = np.asarray(weight)
    shares = weight * np.cumsum(weight) ** 3 if average == "polynomial" else weight
    return shares / shares.sum()


def usual_weights(lengths, weight, reach):
    """What rounds of these lengths and weights are learned with.

    A length is unusual if its logarithm is more than three standard deviations above the mean of
    those before, the first four of which are imagined: 8, up to a factor of 2. A round of it has
    the reach of the farthest that was usual; before any, it counts M⁻³.
    """
    logs, farthest, found = [math.log(8) - math.log(2), math.log(8) + math.log(2)] * 2, 0.0, []
    for M, w in zip(lengths, weight, strict=True):
        share = 1.0
        if w > 0 and math.log(M) > np.mean(logs) + 3.0 * np.std(logs):
            few = math.exp(3.0 * (np.mean(logs) - math.log(M)))
            share = min(1.0, farthest / reach(M)) if farthest > 0 else few
        elif w > 0:
            farthest = max(farthest, reach(M))
        logs += [math.log(M)] if w > 0 else []
        found.append(w * share)
    return np.array(found)


def learn_rounds(learners, rounds, loss, weight, mix=None, average=False):
    """Learners with ``play(norm, w) -> W`` and ``learn(G)``, and ``loss(theta, y) -> (g, value)``.

    A `mix` is given the scores of all learners, and then those of their averages, if any.
    """
    mix, shares = mix or Alone(), round_shares(weight, average)
    played, weights, losses, total = [], [], [], 0.0
    sums = [0.0 * one.play(0.0, 0.0) for one in learners]
    for (A, y, norms), w, share in zip(rounds, weight, shares, strict=True):
        W = [one.play(norm, w) for one, norm in zip(learners, norms, strict=True)]
        means = [part / total if total > 0 else part for part in sums]
        theta = np.array([A @ one.ravel() for one in (W + means if average else W)])
        found = [loss(one, y) for one in theta]
        played.append(mix.play(theta, w))
        losses.append(w * mix.learn(theta, np.array([value for _, value in found]), y, w))
        sums, total = [part + share * now for part, now in zip(sums, W, strict=True)], total + share
        weights.append(W)
        for one, now, (g, _) in zip(learners, W, found, strict=False):
            one.learn(w * (A.T @ g).reshape(now.shape))
    weights.append([one.play(0.0, 0.0) for one in learners])
    return BlockResult(played, np.array(weights), np.array(losses), sums)


def of_rows(X, V, columns=(slice(None),)):
    """Rounds of one row each, for W (k, p); learners read these columns."""
    eye = np.eye(len(V[0]))
    return [
        Round(np.kron(eye, x), v, [float(np.linalg.norm(x[part])) for part in columns])
        for x, v in zip(X, V, strict=True)
    ]


def loss_of(loss):
    """The gradient at scores and the value of a loss of the package."""

    def of(theta, v):
        mu, value = loss.mean_and_value(theta[None], v[None])
        return mu[0] - v, value[0] / loss.scale_

    return of
