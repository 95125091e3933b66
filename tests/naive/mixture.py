"""A mixture of experts, each of them a literal learner; see spec 10."""

import math

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


def play_mixture(experts, loss, X, V, weight, rates, kind, average="polynomial", floor=1e-9):
    """Scores played in every round, losses (T, N) of the experts, and the weights after the last.

    `kind` is "classes", "labels" or "scores"; every x has its 1 for the intercept. Experts are
    followed by their averages, where `average` is one.
    """
    dim, T = V.shape[1], len(X)
    many = len(experts) * (2 if average else 1)
    groups = [
        (HedgeWeights if kind == "scores" else LogLossWeights)(rates, many)
        for _ in range(dim if kind == "labels" else 1)
    ]
    sums, total, clock = [0.0] * len(experts), 0.0, 0.0
    played, losses = [], []
    for t in range(T):
        x, v, w = X[t], V[t], weight[t]
        W = [expert.play(x, w) for expert in experts]
        means = [part / total if total > 0 else 0 * now for part, now in zip(sums, W, strict=True)]
        theta = np.array([one @ x for one in W + (means if average else [])])
        q = loss.mean(theta)
        if kind != "scores":
            for group in groups:
                group.temper(w)
        v_of = [group.u.sum(axis=0) for group in groups]
        if kind == "classes":
            q = (1 - floor) * q + floor / dim
            played.append(np.log(v_of[0] @ q))
            rounds = [-np.log(q[:, np.argmax(v)])]
        elif kind == "labels":
            q = (1 - floor) * q + floor / 2
            mixed = np.array([v_of[k] @ q[:, k] for k in range(dim)])
            played.append(np.log(mixed / (1 - mixed)))
            rounds = [-np.log(np.where(v[k] > 0, q[:, k], 1 - q[:, k])) for k in range(dim)]
        else:
            played.append(v_of[0] @ theta)
            rounds = [loss.value(theta, np.repeat(v[None], many, axis=0)) / loss.scale_]
        losses.append(w * np.sum(rounds, axis=0))
        clock += w
        counts = w if average == "uniform" else w * clock**3
        sums = [part + counts * now for part, now in zip(sums, W, strict=True)]
        total += counts
        for expert, one in zip(experts, W, strict=True):
            expert.learn(w * np.outer(loss.mean((one @ x)[None])[0] - v, x), w)
        if w > 0:
            for group, of_group in zip(groups, rounds, strict=True):
                group.learn(of_group, w)
    return np.array(played), np.array(losses), np.array([group.u for group in groups])


def play_sequences(experts, sequences, labels, k, weight, rates, average="polynomial"):
    """The same over label sequences, whose scores are mixed: as `naive.sequences` has them.

    Also returns the weights (features + k, k) that the mixture would play next, averages included.
    """
    many = len(experts) * (2 if average else 1)
    hedge, played, losses = HedgeWeights(rates, many), [], []
    sums, total, clock = [0.0] * len(experts), 0.0, 0.0
    for X, codes, w in zip(sequences, labels, weight, strict=True):
        V, y = chains.vertices(len(X), k), chains.embedding(codes, k)
        size = np.array([chains.spread(X, 1)])
        W = [expert.play(size, w) for expert in experts]
        means = [part / total if total > 0 else 0 * now for part, now in zip(sums, W, strict=True)]
        theta = [chains.scores(one, X, 1) for one in W + (means if average else [])]
        played.append(hedge.u.sum(axis=0) @ np.array(theta))
        losses.append(np.array([chains.loss(one, V, y) for one in theta]))
        clock += w
        counts = w if average == "uniform" else w * clock**3
        sums = [part + counts * now for part, now in zip(sums, W, strict=True)]
        total += counts
        for expert, one in zip(experts, theta, strict=False):
            expert.learn(w * chains.gradient(chains.mean(one, V) - y, X, k, 1), w)
        if w > 0:
            hedge.learn(losses[-1], w)
    last = [expert.play(np.zeros(1), 0.0) for expert in experts]
    matrices = np.array(last + ([part / total for part in sums] if average else []))
    after = np.einsum("n,nfk->fk", hedge.u.sum(axis=0), matrices)
    return played, np.array(weight) @ np.array(losses), hedge.u, after
