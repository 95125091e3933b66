"""A mixture of experts, each of them a literal learner; see spec 10."""

import math

import numpy as np

from naive.rounds import learn_rounds, loss_of, of_rows


class RelativeStep:
    """W ← W − η/mean‖x‖² G, the mean weighted by rounds."""

    def __init__(self, shape, eta):
        self.W, self.eta, self.squares, self.seen = np.zeros(shape), eta, 0.0, 0.0

    def play(self, norm, w):
        self.squares += w * norm**2
        self.seen += w
        return self.W.copy()

    def learn(self, G):
        if self.squares > 0:
            self.W = self.W - self.eta * self.seen / self.squares * G


class RootStep:
    """W ← W − D/√Σ‖G‖² G."""

    def __init__(self, shape, length):
        self.W, self.length, self.total = np.zeros(shape), length, 0.0

    def play(self, norm, w):
        return self.W.copy()

    def learn(self, G):
        self.total += float((G**2).sum())
        if self.total > 0:
            self.W = self.W - self.length / math.sqrt(self.total) * G


class OnColumns:
    """An expert that reads some columns of x; its weights have zeros elsewhere."""

    def __init__(self, expert, columns, width):
        self.expert, self.columns, self.width = expert, columns, width

    def play(self, norm, w):
        inner = self.expert.play(norm, w)
        W = np.zeros((len(inner), self.width))
        W[:, self.columns] = inner
        return W

    def learn(self, G):
        self.expert.learn(G[:, self.columns])


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
    """AdaHedge over the losses of the experts: their scores are mixed."""

    def __init__(self, rates, many):
        self.groups = [HedgeWeights(rates, many)]

    def play(self, theta, w):
        return self.groups[0].u.sum(axis=0) @ theta

    def learn(self, theta, losses, y, w):
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

    def learn(self, theta, _, v, w):
        truths = v.astype(int) if self.labels else [np.argmax(v)]
        losses = [-np.log(p[:, k]) for p, k in zip(self.laws(theta), truths, strict=True)]
        if w > 0:
            for group, of_group in zip(self.groups, losses, strict=True):
                group.learn(of_group, w)
        return np.sum(losses, axis=0)


def play_mixture(experts, loss, X, V, weight, rates, kind, average="polynomial"):
    """Scores played in every round, losses (T, N) of the experts, and the weights after the last.

    `kind` is "classes", "labels" or "scores"; every x has its 1 for the intercept.
    """
    many = len(experts) * (2 if average else 1)
    mix = MixedScores(rates, many)
    if kind != "scores":
        mix = MixedShares(rates, many, loss, V.shape[1] if kind == "labels" else None)
    rounds = of_rows(X, V, [getattr(one, "columns", slice(None)) for one in experts])
    found = learn_rounds(experts, rounds, loss_of(loss), weight, mix, average)
    return np.array(found.scores), found.losses, np.array([group.u for group in mix.groups])
