"""One row a call, as servers learn and predict: ours at its defaults beside other learners.

Each learner has seen a hundred rows, and is then given one row after the other: ``partial_fit``,
``predict`` and ``predict_proba`` of ours, of a pipeline in river (a running scale before softmax
regression, on dicts), of `SGDClassifier` (rows as they are) and of Vowpal Wabbit (one against all
by log-loss, on lines of text that are made beforehand). Learners take turns; figures are medians of
µs a call, and a ratio is that of two figures of one turn.
"""

import importlib.util

import numpy as np
from sklearn.linear_model import SGDClassifier

from benchmarks._common import Results, arguments
from benchmarks._timing import in_turns
from skstructured import OnlineStructuredPredictor

#: Features and classes.
SIZES = ((10, 3), (30, 5), (100, 10))

#: Rows that all learners have seen before, and rows of a turn.
SEEN, CALLS = 100, 300


def problem(p, K, n):
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(n, p)), rng.normal(size=(p, K))
    return X, (X @ W + 5.0 * rng.normal(size=(n, K))).argmax(axis=1)


class ScikitLearn:
    """A learner with scikit-learn's methods, called with arrays of one row."""

    def __init__(self, model, X, y, K):
        self.model = model.partial_fit(X[:SEEN], y[:SEEN], classes=np.arange(K))
        self.rows = [(X[i : i + 1], y[i : i + 1]) for i in range(SEEN, len(X))]

    def learn(self):
        for x, label in self.rows:
            self.model.partial_fit(x, label)

    def predict(self):
        for x, _ in self.rows:
            self.model.predict(x)

    def predict_proba(self):
        for x, _ in self.rows:
            self.model.predict_proba(x)


class River:
    """A pipeline of river, called with dicts."""

    def __init__(self, X, y, K):
        from river import compose, linear_model, preprocessing

        steps = preprocessing.StandardScaler(), linear_model.SoftmaxRegression()
        self.model = compose.Pipeline(*steps)
        rows = [dict(enumerate(x)) for x in X.tolist()]
        self.rows = list(zip(rows, y.tolist(), strict=True))
        for x, label in self.rows[:SEEN]:
            self.model.learn_one(x, label)
        self.rows = self.rows[SEEN:]

    def learn(self):
        for x, label in self.rows:
            self.model.learn_one(x, label)

    def predict(self):
        for x, _ in self.rows:
            self.model.predict_one(x)

    def predict_proba(self):
        for x, _ in self.rows:
            self.model.predict_proba_one(x)


class VowpalWabbit:
    """One against all, given lines of text; ``predict_proba`` is a second model's prediction."""

    def __init__(self, X, y, K):
        from vowpalwabbit import Workspace

        options = f"--oaa {K} --loss_function logistic --quiet"
        self.models = [Workspace(options), Workspace(options + " --probabilities")]
        names = [" ".join(f"{j}:{v!r}" for j, v in enumerate(x)) for x in X.tolist()]
        self.rows = [(f"| {row}", f"{k + 1} | {row}") for row, k in zip(names, y, strict=True)]
        for _, line in self.rows[:SEEN]:
            for model in self.models:
                model.learn(line)
        self.rows = self.rows[SEEN:]

    def learn(self):
        for _, line in self.rows:
            self.models[0].learn(line)

    def predict(self):
        for line, _ in self.rows:
            self.models[0].predict(line)

    def predict_proba(self):
        for line, _ in self.rows:
            self.models[1].predict(line)


#: Packages of learners that may be missing.
OTHERS = {"river": River, "vowpalwabbit": VowpalWabbit}


def learners(X, y, K):
    """Names and learners, ours first; None where the package is missing."""
    sgd = SGDClassifier(loss="log_loss", random_state=0)
    found = {"ours": ScikitLearn(OnlineStructuredPredictor(random_state=0), X, y, K)}
    for name, make in OTHERS.items():
        found[name] = make(X, y, K) if importlib.util.find_spec(name) else None
    return found | {"SGDClassifier": ScikitLearn(sgd, X, y, K)}


def compare(out, p, K, calls, repeat):
    X, y = problem(p, K, SEEN + calls)
    found = learners(X, y, K)
    for name in [name for name, learner in found.items() if learner is None]:
        out.say(f"{name} is not installed")
        del found[name]
    for method in ("learn", "predict", "predict_proba"):
        tasks = [getattr(learner, method) for learner in found.values()]
        times = in_turns(tasks, repeat) / calls * 1e6
        us, ratios = np.median(times, axis=0), np.median(times / times[:, :1], axis=0)
        line = f"p={p:3d}, K={K:2d}, {method:13s} ours {us[0]:6.1f} us a call"
        for name, mine, ratio in list(zip(found, us, ratios, strict=True))[1:]:
            line += f"; {name} {mine:6.1f} ({ratio:.2f} times)"
        row = {f"{name}_us": mine for name, mine in zip(found, us, strict=True)}
        out.add(line, table="one row a call", p=p, K=K, method=method, **row)


def main():
    args = arguments(__doc__, repeat=9)
    with Results(__file__, args) as out:
        out.say("SGDClassifier, and Vowpal Wabbit, scale nothing; river and ours standardise rows")
        for p, K in SIZES[:1] if args.quick else SIZES:
            compare(out, p, K, 30 if args.quick else CALLS, args.repeat)


if __name__ == "__main__":
    main()
