"""A mixture of experts, each of them a literal learner; see spec 10."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from naive import sequences as chains


class RelativeStep:
    """W ← W − η/mean‖x‖² G, the mean weighted by rounds."""

    def __init__(self, shape, eta):
        self.W, self.eta, self.squares, self.seen = np.zeros(shape), eta, 0.0, 0.0

    def play(self, x, w):
        self.squares += w * float(x @ x)
        self.seen += w
        return self.W.copy()

    def learn(self, G, w):
        if self.squares > 0:
            self.W = self.W - self.eta * self.seen / self.squares * G


class RootStep:
    """W ← W − D/√Σ‖G‖² G."""

    def __init__(self, shape, length):
        self.W, self.length, self.total = np.zeros(shape), length, 0.0

    def play(self, x, w):
        return self.W.copy()

    def learn(self, G, w):
        self.total += float((G**2).sum())
        if self.total > 0:
            self.W = self.W - self.length / math.sqrt(self.total) * G


class Other:
    """A literal optimiser of `naive.optimizers`."""

    def __init__(self, learner):
        self.learner = learner

    def play(self, x, w):
        return self.learner.play(w * float(np.linalg.norm(x)), w * x)

    def learn(self, G, w):
        self.learner.learn(G, None)


class OnColumns:
    """An expert that reads some columns of x; its weights have zeros elsewhere."""

    def __init__(self, expert, columns):
        self.expert, self.columns = expert, columns

    def play(self, x, w):
        inner = self.expert.play(x[self.columns], w)
        W = np.zeros((len(inner), len(x)))
        W[:, self.columns] = inner
        return W

    def learn(self, G, w):
        self.expert.learn(G[:, self.columns], w)


def alpha(t):
    return min(0.5, 1 / ((t + 2) * math.log(t + 2) ** 2))


def share(u, rates, t):
    """u (R, N) after a round of sharing among experts, and then among rates."""
    few, many = u.shape
    shared = []
    for row, rate in zip(u, rates, strict=True):
        now = alpha(t) if rate == "thinning" else rate
        shared.append((1 - now) * row + now * row.sum() / many)
    shared, between = np.array(shared), alpha(t)
    inside = shared / shared.sum(axis=1, keepdims=True)
    sums = (1 - between) * shared.sum(axis=1) + between / few
    return sums[:, None] * inside


class LogLossWeights:
    """Weights of one group, moved by ``exp(−w ℓ/max w)``."""

    def __init__(self, rates, many):
        self.u, self.rates = np.full((len(rates), many), 1 / (len(rates) * many)), rates
        self.heaviest, self.t = 1.0, 0

    def learn(self, losses, w):
        self.t += 1
        self.temper(w)
        u = self.u * np.exp(-w * losses / self.heaviest)
        self.u = share(u / u.sum(), self.rates, self.t)

    def temper(self, w):
        """η = 1/max w, the weight of the round that is played next included."""
        heaviest = max(self.heaviest, w)
        u = self.u ** (self.heaviest / heaviest)
        self.heaviest, self.u = heaviest, u / u.sum()


class HedgeWeights:
    """AdaHedge that shares; losses are times their weights already."""

    def __init__(self, rates, many):
        self.u, self.rates = np.full((len(rates), many), 1 / (len(rates) * many)), rates
        self.gap, self.t = 0.0, 0

    def learn(self, losses, w):
        self.t += 1
        losses = w * (losses - losses.min())
        mean, price = float((self.u * losses).sum()), math.log(self.u.size)
        u, gap = self.u, self.gap
        if gap > 0:
            eta = price / gap
            gap += max(0.0, mean + math.log((u * np.exp(-eta * losses)).sum()) / eta)
            u = u ** (self.gap / gap)
        elif mean > 0:
            gap = mean
        if gap > 0:
            u = u * np.exp(-price / gap * losses)
        self.gap = gap
        self.u = share(u / u.sum(), self.rates, self.t)


class MixedScores:
    """AdaHedge over losses ``loss(theta, y)`` of the experts: their scores are mixed."""

    def __init__(self, rates, many, loss):
        self.groups, self.loss = [HedgeWeights(rates, many)], loss

    def play(self, theta, w):
        return self.groups[0].u.sum(axis=0) @ theta

    def learn(self, theta, y, w):
        losses = np.array(self.loss(theta, y))
        if w > 0:
            self.groups[0].learn(losses, w)
        return losses


class MixedShares:
    """Log losses: the probabilities of classes are mixed, or those of each label by itself."""

    def __init__(self, rates, many, loss, labels, floor=1e-9):
        self.loss, self.labels, self.floor = loss, labels, floor
        self.groups = [LogLossWeights(rates, many) for _ in range(labels or 1)]

    def laws(self, theta):
        """Probabilities (experts, outcomes) of each group, none below its floor."""
        q = self.loss.mean(theta)
        laws = [np.stack([1 - one, one], axis=1) for one in q.T] if self.labels else [q]
        return [(1 - self.floor) * p + self.floor / p.shape[1] for p in laws]

    def play(self, theta, w):
        for group in self.groups:
            group.temper(w)
        laws = zip(self.groups, self.laws(theta), strict=True)
        logs = [np.log(group.u.sum(axis=0) @ p) for group, p in laws]
        return np.array([no[1] - no[0] for no in logs]) if self.labels else logs[0]

    def learn(self, theta, v, w):
        truths = v.astype(int) if self.labels else [np.argmax(v)]
        losses = [-np.log(p[:, k]) for p, k in zip(self.laws(theta), truths, strict=True)]
        if w > 0:
            for group, of_group in zip(self.groups, losses, strict=True):
                group.learn(of_group, w)
        return np.sum(losses, axis=0)


class Round(NamedTuple):
    """What each expert is told, scores of weights, the truth, the gradient at scores."""

    told: list
    scores: Callable
    y: object
    gradient: Callable


def play_rounds(experts, rounds, weight, mix, average):
    """Scores played in every round, losses (T, N) of the experts, and their averages.

    Experts are followed by their averages if there are any.
    """
    sums, total, clock, played, losses = [0.0] * len(experts), 0.0, 0.0, [], []
    for one, w in zip(rounds, weight, strict=True):
        W = [expert.play(told, w) for expert, told in zip(experts, one.told, strict=True)]
        means = [part / total if total > 0 else 0 * now for part, now in zip(sums, W, strict=True)]
        theta = np.array([one.scores(U) for U in (W + means if average else W)])
        played.append(mix.play(theta, w))
        losses.append(w * mix.learn(theta, one.y, w))
        clock += w
        counts = w if average == "uniform" else w * clock**3
        sums = [part + counts * now for part, now in zip(sums, W, strict=True)]
        total += counts
        for expert, now in zip(experts, theta, strict=False):
            expert.learn(w * one.gradient(now), w)
    return played, np.array(losses), [part / max(total, 1e-300) for part in sums]


def play_mixture(experts, loss, X, V, weight, rates, kind, average="polynomial"):
    """Scores played in every round, losses (T, N) of the experts, and the weights after the last.

    `kind` is "classes", "labels" or "scores"; every x has its 1 for the intercept.
    """
    many = len(experts) * (2 if average else 1)
    if kind == "scores":
        value = lambda theta, v: loss.value(theta, np.tile(v, (many, 1))) / loss.scale_  # noqa: E731
        mix = MixedScores(rates, many, value)
    else:
        mix = MixedShares(rates, many, loss, V.shape[1] if kind == "labels" else None)

    def row(x, v):
        gradient = lambda theta: np.outer(loss.mean(theta[None])[0] - v, x)  # noqa: E731
        return Round([x] * len(experts), lambda W: W @ x, v, gradient)

    rows = [row(x, v) for x, v in zip(X, V, strict=True)]
    played, losses, _ = play_rounds(experts, rows, weight, mix, average)
    return np.array(played), losses, np.array([group.u for group in mix.groups])


def play_sequences(experts, sequences, labels, k, weight, rates, average="polynomial"):
    """The same over label sequences, whose scores are mixed: as `naive.sequences` has them.

    Also returns the weights (features + k, k) that the mixture would play next, averages included.
    """

    def round_of(X, codes):
        V, y = chains.vertices(len(X), k), chains.embedding(codes, k)
        gradient = lambda theta: chains.gradient(chains.mean(theta, V) - y, X, k, 1)  # noqa: E731
        told = [np.array([chains.spread(X, 1)])] * len(experts)
        return Round(told, lambda W: chains.scores(W, X, 1), (V, y), gradient)

    rounds = [round_of(X, codes) for X, codes in zip(sequences, labels, strict=True)]
    losses_of = lambda theta, y: [chains.loss(one, *y) for one in theta]  # noqa: E731
    mix = MixedScores(rates, len(experts) * (2 if average else 1), losses_of)
    played, losses, means = play_rounds(experts, rounds, weight, mix, average)
    last, u = [expert.play(np.zeros(1), 0.0) for expert in experts], mix.groups[0].u
    matrices = np.array(last + (means if average else []))
    return played, losses.sum(axis=0), u, np.einsum("n,nfk->fk", u.sum(axis=0), matrices)
