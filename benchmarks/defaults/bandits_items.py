"""Bandits whose actions have features, beside Vowpal Wabbit and river: the mean reward of a round.

Four problems, one pass, three orders, 2,000 rounds at most. A linear one with noise of deviation 1;
choices of people, where a round earns 1 if the alternative is played that was chosen (swissmetro,
electricity); and queries, where a document earns its grade over 4. "in hindsight" is ridge
regression on the rewards of all actions of all rounds, which no bandit sees. Ours take raw
features; Vowpal Wabbit and river standardised ones, by means of rows yet to come. river's LinUCB
has weights for each place, of the features of all actions: where rounds have one number of places.
The second table is microseconds a round, choice and update.
"""

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from benchmarks._common import Results, arguments
from benchmarks._timing import timed
from benchmarks.data import load
from skstructured.bandits import LinearThompsonSampling, LinUCB

ORDERS, MOST = 3, 2000


def linear(seed, n):
    """Ten actions of eight features, noise of deviation 1."""
    rng = np.random.RandomState(100 + seed)
    w, X = rng.normal(size=8) / np.sqrt(8.0), rng.normal(size=(n, 10, 8))
    return list(X), list(X @ w + rng.normal(size=(n, 10))), list(X @ w)


def choices(name):
    """A function that gives rounds of a set of choices, in an order."""

    def rounds(seed, n):
        data = load(name)
        X, y = data["X"].astype(np.float64), data["y"]
        seen = data.get("available", np.ones(X.shape[:2], dtype=bool))
        order = np.random.RandomState(seed).permutation(len(X))[:n]
        rewards = [(np.arange(X.shape[1]) == y[i])[seen[i]].astype(float) for i in order]
        return [X[i][seen[i]] for i in order], rewards, rewards

    return rounds


def queries(seed, n):
    """Documents of queries, columns that are all 0 left out."""
    data = load("ltr_queries")
    X, qid = data["X"].astype(np.float64), data["qid"]
    X, grades = X[:, X.any(axis=0)], data["y"] / 4.0
    order = np.random.RandomState(seed).permutation(np.unique(qid))[:n]
    rewards = [grades[qid == q] for q in order]
    return [X[qid == q] for q in order], rewards, rewards


PROBLEMS = {
    "linear": linear,
    "swissmetro": choices("choice_swissmetro"),
    "electricity": choices("choice_electricity"),
    "ltr_queries": queries,
}


class Uniform:
    """Plays at random."""

    def __init__(self, seed):
        self._rng = np.random.RandomState(seed)

    def choose(self, X):
        """The place of an action, and its propensity."""
        return self._rng.randint(len(X)), 1.0 / len(X)

    def update(self, X, action, reward, propensity):
        """Learn nothing."""


class Ours:
    """One of our learners, a round at a time."""

    def __init__(self, model):
        self._model = model

    def choose(self, X):
        """The place of an action, and its propensity."""
        actions, propensities = self._model.choose([X])
        return actions[0], propensities[0]

    def update(self, X, action, reward, propensity):
        """Learn the reward of an action."""
        self._model.update([X], [action], [reward], [propensity])


class VowpalWabbit:
    """``--cb_explore_adf``, with its defaults but for what is given."""

    def __init__(self, options, seed):
        from vowpalwabbit import Workspace

        self._rng = np.random.RandomState(seed)
        self._model = Workspace(f"--cb_explore_adf {options} --quiet")

    def choose(self, X):
        """The place of an action, and its propensity."""
        self._lines = [
            "| " + " ".join(f"{j}:{value:.6g}" for j, value in enumerate(row) if value)
            for row in X.tolist()
        ]
        p = np.array(self._model.predict(self._lines))
        action = self._rng.choice(len(p), p=p / p.sum())
        return action, p[action]

    def update(self, X, action, reward, propensity):
        """Learn the reward of an action."""
        self._lines[action] = f"0:{-reward}:{propensity} {self._lines[action]}"
        self._model.learn(self._lines)


class River:
    """river's LinUCB with independent regressions, one a place."""

    def __init__(self, seed):
        from river import bandit

        self._model = bandit.LinUCBDisjoint(seed=seed)

    def choose(self, X):
        """The place of an action, and 1."""
        self._context = {str(j): x for j, x in enumerate(X.ravel().tolist())} | {"one": 1.0}
        return self._model.pull(range(len(X)), context=self._context), 1.0

    def update(self, X, action, reward, propensity):
        """Learn the reward of an action."""
        self._model.update(action, self._context, reward)


#: name -> (a function of a seed, whether features are standardised beforehand)
LEARNERS = {
    "uniform": (Uniform, False),
    "LinUCB": (lambda seed: Ours(LinUCB()), False),
    'LinUCB(scale="theory")': (lambda seed: Ours(LinUCB(scale="theory")), False),
    "LinearThompsonSampling": (
        lambda seed: Ours(LinearThompsonSampling(random_state=seed)),
        False,
    ),
    "VW, epsilon .05": (lambda seed: VowpalWabbit("--epsilon 0.05", seed), True),
    "VW --squarecb": (lambda seed: VowpalWabbit("--squarecb", seed), True),
    "VW --regcb": (lambda seed: VowpalWabbit("--regcb", seed), True),
    "river LinUCBDisjoint": (River, True),
}


def scaled(X):
    """Rounds standardised by the means of all."""
    scale = StandardScaler().fit(np.concatenate(X))
    return [scale.transform(x) for x in X]


def in_hindsight(X, rewards, worth):
    """The mean worth of the largest estimates of ridge regression on everything."""
    rows = scaled(X)
    model = Ridge().fit(np.concatenate(rows), np.concatenate(rewards))
    return np.mean([v[np.argmax(model.predict(x))] for x, v in zip(rows, worth, strict=True)])


def play(learner, X, rewards, worth):
    """The mean worth of what was played."""
    total = 0.0
    for x, r, v in zip(X, rewards, worth, strict=True):
        action, propensity = learner.choose(x)
        learner.update(x, action, float(r[action]), propensity)
        total += v[action]
    return total / len(X)


def cell(name, make, rounds, orders, n):
    """Mean rewards of the orders, and seconds a round; NaN where it does not apply."""
    found, kind, is_scaled = [], make[0], make[1]
    for seed in range(orders):
        X, rewards, worth = rounds(seed, n)
        if name.startswith("river") and len({len(x) for x in X}) > 1:
            return np.nan, np.nan
        X = scaled(X) if is_scaled else X
        play(kind(seed), X[:10], rewards[:10], worth[:10])
        learner = kind(seed)
        found.append(timed(lambda s=learner, a=(X, rewards, worth): play(s, *a)))
    mean, taken = np.mean([value for value, _ in found]), np.median([t for _, t in found])
    return mean, taken / len(X)


def is_there(name):
    """Whether the package of a peer is installed."""
    try:
        LEARNERS[name][0](0)
    except ImportError:
        return False
    return True


def main():
    """Print the tables."""
    args = arguments(__doc__)
    orders, n = (1, 100) if args.quick else (ORDERS, MOST)
    with Results(__file__, args) as out:
        out.say("\nmean reward of a round\n" + f"{'':26}" + "".join(f"{p:>13}" for p in PROBLEMS))
        best = [np.mean([in_hindsight(*f(s, n)) for s in range(orders)]) for f in PROBLEMS.values()]
        line = f"{'in hindsight':26}" + "".join(f"{v:13.3f}" for v in best)
        out.add(line, learner="in hindsight", **dict(zip(PROBLEMS, best, strict=True)))
        times = {}
        for name in filter(is_there, LEARNERS):
            cells = [cell(name, LEARNERS[name], f, orders, n) for f in PROBLEMS.values()]
            means, times[name] = zip(*cells, strict=True)
            line = f"{name:26}" + "".join(f"{v:13.3f}" for v in means)
            out.add(line, learner=name, **dict(zip(PROBLEMS, means, strict=True)))
        out.say("\nmicroseconds a round\n" + f"{'':26}" + "".join(f"{p:>13}" for p in PROBLEMS))
        for name, taken in times.items():
            us = {f"us_{p}": 1e6 * t for p, t in zip(PROBLEMS, taken, strict=True)}
            out.add(f"{name:26}" + "".join(f"{t:13.0f}" for t in us.values()), learner=name, **us)


if __name__ == "__main__":
    main()
