"""AdaBoost.OLM++ with online trees, literally: logits, explicit inverses, one node an object."""

import numpy as np
from scipy.special import expit

from naive.logistic import Aioli, log_sum, softmax


class Regression(Aioli):
    """Algorithm 3 with AIOLI around θ = (2, 0), which leaves s as it is, and B = √2."""

    def __init__(self, lam):
        super().__init__(2, lam, lambda norm: 1.0 / (2.0 * np.sqrt(2.0) * norm + 2.0))
        self.g, self.potential = np.array([-2.0 * lam, 0.0]), 0.0

    def predict(self, s, answer, cap, weight=1.0):
        """ŝ; and x̃ and m, which `update` needs."""
        others = log_sum(np.delete(s, answer))
        x = np.array([np.clip(0.5 * (s[answer] - others), -cap, cap), 1.0])
        m = self.margin(x, weight)
        new = s - 0.5 * m - others
        new[answer] = 0.5 * m
        return new, (x, m)

    def update(self, told, right, weight=1.0):
        """Learn whether the answer was right."""
        x, m = told
        self.potential += 0.5 * weight**2 * expit(m) * expit(-m) * (x @ self.C @ x)
        super().update(x, m, right, weight)


class Node:
    """A leaf, until it is split."""

    def __init__(self, place, counts):
        self.place, self.counts, self.seen = place, counts, 0
        self.tests, self.split = [], None


class Tree:
    """An online tree; `features[j]` are the features that node j tries, nodes in heap order."""

    def __init__(self, K, features, patience):
        self.K, self.features, self.patience = K, features, patience
        self.root = Node(0, np.zeros(K))

    def leaf(self, x):
        """The leaf of a row."""
        node = self.root
        while node.split is not None:
            feature, threshold, children = node.split
            node = children[int(x[feature] > threshold)]
        return node

    def predict(self, x, C=None):
        """The heaviest class of the row's leaf, the first of equals."""
        return int(np.argmax(self.leaf(x).counts))

    def update(self, x, C, y, weight):
        """What every class saves of the largest cost joins the leaf of a row, and its tests."""
        node, saved = self.leaf(x), weight * savings(C[y])
        node.counts += saved
        if node.place >= len(self.features):
            return
        tried = self.features[node.place]
        if len(node.tests) < len(tried):
            feature = tried[len(node.tests)]
            node.tests.append((feature, x[feature], np.zeros((2, self.K))))
        for feature, threshold, counts in node.tests:
            counts[int(x[feature] > threshold)] += saved
        node.seen += 1
        if node.seen % self.patience == 0:
            self._split(node)

    def _split(self, node):
        gains = [gain(counts) for _, _, counts in node.tests]
        if max(gains) > 1e-9:
            feature, threshold, counts = node.tests[int(np.argmax(gains))]
            places = 2 * node.place + 1, 2 * node.place + 2
            children = [Node(p, c.copy()) for p, c in zip(places, counts, strict=True)]
            node.split = feature, threshold, children


def gain(counts):
    """How much smaller Gini's impurity is after a test with class weights (2, K)."""
    total = counts.sum()
    sides = sum(((c / total) ** 2).sum() / (c.sum() / total) for c in counts if c.sum() > 0)
    return sides - ((counts.sum(axis=0) / total) ** 2).sum()


def cost_matrix(s):
    """(C.1): C[y, k], the cost of answering k when y is true, from Ĉ(k, y) = σ(s)_k − 1[k = y]."""
    C_hat = softmax(s)[:, None] - np.eye(len(s))  # (answer, truth)
    return (C_hat - np.diag(C_hat)).T / len(s)


def savings(costs):
    """Weights of labels whose weighted 0-1 loss is the cost of an answer, but for a constant."""
    return costs.max() - costs


class Boosting:
    """Algorithm 4; weak learners have ``predict(x, C)`` and ``update(x, C, y, weight)``."""

    def __init__(self, K, weak, lam):
        self.K, self.weak, self.t = K, weak, 0
        self.regressions = [Regression(lam) for _ in weak]
        self.mistakes, self.heaviest = np.zeros(len(weak)), 1.0
        self.weights, self.edges = np.zeros(len(weak)), np.zeros(len(weak))
        self.lam, self.clipped, self.seen = lam, 0.0, []

    def _count(self, s, answers, y, weight):
        """Rounds of weight above 0 are counted, and kept for `regret`."""
        if weight > 0.0:
            self.t += 1
            self.clipped += weight * np.log(1.0 + np.exp(2.0) / max(self.t, 2) ** 2)
            self.seen.append((s, answers, y, weight))

    def regret_bounds(self):
        """λα²/2 at |α| = 2, Σ ½w²σ(m)(1 − σ(m))q and Σ w ln(1 + e²/max(t, 2)²), an expert each."""
        potentials = np.array([regression.potential for regression in self.regressions])
        return 0.5 * self.lam * 2.0**2 + potentials + self.clipped

    def regret(self, i):
        """Σ wℓ(s^i) − min_α Σ wℓ(s^{i−1} + α e_l) over α in [−2, 2], a grid of them."""
        played = sum(w * (log_sum(s[i + 1]) - s[i + 1][y]) for s, _, y, w in self.seen)
        shifted = []
        for alpha in np.linspace(-2.0, 2.0, 81):
            moved = [(s[i] + alpha * np.eye(self.K)[a[i]], y, w) for s, a, y, w in self.seen]
            shifted.append(sum(w * (log_sum(z) - z[y]) for z, y, w in moved))
        return played - min(shifted)

    def mistakes_bound(self, delta=None):
        """(C.5) and the hedge: of M, T ln K and ΣR by weight, with the largest weight m."""
        T = sum(w for *_, w in self.seen)
        regrets = self.regret_bounds().sum()
        M = 4.0 * (T * np.log(self.K) + regrets) / ((self.edges / self.weights) ** 2).sum()
        reached = M + self.heaviest * np.log(len(self.weak))
        if delta is None:
            return reached / (1.0 - np.exp(-1.0))
        return np.e * reached + self.heaviest * np.log(1.0 / delta)

    def chain(self, x, weight=1.0):
        """The logits s^0 … s^N, the weak answers, and what the regressions need."""
        cap, s, told = np.log(max(self.t + 1, 2)), [np.zeros(self.K)], []
        answers = []
        for weak, regression in zip(self.weak, self.regressions, strict=True):
            answers.append(weak.predict(x, cost_matrix(s[-1])))
            new, what = regression.predict(s[-1], answers[-1], cap, weight)
            s.append(new)
            told.append(what)
        return s, answers, told

    def shares(self):
        """Probabilities of the experts."""
        v = np.exp(-(self.mistakes - self.mistakes.min()) / self.heaviest)
        return v / v.sum()

    def play_and_learn(self, x, y, weight=1.0):
        """Votes (K,) of the hedge and log softmax of the leader's logits, before y is learned."""
        self.heaviest = max(self.heaviest, weight)
        s, answers, told = self.chain(x, weight or 1.0)
        experts, leader = [int(np.argmax(z)) for z in s[1:]], int(np.argmin(self.mistakes))
        votes = np.bincount(experts, self.shares(), self.K)
        for i, answer in enumerate(answers):
            C, p, right = cost_matrix(s[i]), softmax(s[i]), float(answer == y)
            cost = np.delete(p, y).sum()
            self.weights[i] += weight * cost
            self.edges[i] += weight * (cost - self.K * C[y, answer])  # −Ĉ(l, y)
            self.mistakes[i] += weight * (experts[i] != y)
            if weight > 0.0:
                self.regressions[i].update(told[i], right, weight)
            if weight * cost > 0.0:
                self.weak[i].update(x, C, y, weight)
        self._count(s, answers, y, weight)
        return votes, s[leader + 1] - log_sum(s[leader + 1])
