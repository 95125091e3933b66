"""Learners of one pass with `partial_fit`, ours and others', for streams of chunks."""

import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler

from skstructured import KernelStructuredPredictor, OnlineStructuredPredictor


class Scaled:
    """A learner behind means and deviations of the rows so far."""

    def __init__(self, learner):
        self.learner, self.scaler = learner, StandardScaler()

    def partial_fit(self, X, y, classes):
        Z = self.scaler.partial_fit(X).transform(X)
        self.learner.partial_fit(Z, y, classes)

    def predict(self, X):
        return self.learner.predict(self.scaler.transform(X))


class VowpalWabbit:
    """Vowpal Wabbit, one against all, over text lines of rows."""

    def __init__(self, options=""):
        self.options, self.model = options, None

    def partial_fit(self, X, y, classes):
        from vowpalwabbit import Workspace

        if self.model is None:
            given = f"--oaa {len(classes)} --loss_function logistic --random_seed 1 --quiet"
            self.model = Workspace(f"{given} {self.options}")
        for line in lines_of(X, y):
            self.model.learn(line)

    def predict(self, X):
        return np.array([int(self.model.predict(line)) - 1 for line in lines_of(X)])


def lines_of(X, y=None):
    """Rows as Vowpal Wabbit reads them, with classes 1 … K."""
    for i, row in enumerate(X.tolist()):
        label = "" if y is None else f"{y[i] + 1} "
        yield label + "| " + " ".join(f"{j}:{x:.5g}" for j, x in enumerate(row) if x)


class River:
    """A forest of river's, a row at a time."""

    def __init__(self, name, **given):
        from river import forest

        self.model = getattr(forest, name)(**given)

    def partial_fit(self, X, y, classes):
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            self.model.learn_one(dict(enumerate(row)), label)

    def predict(self, X):
        found = [self.model.predict_one(dict(enumerate(row))) for row in X.tolist()]
        return np.array([0 if label is None else label for label in found])


class Boosted:
    """LightGBM's defaults on all rows so far, which are kept; it learns them when asked."""

    def __init__(self):
        self.rows, self.labels = [], []

    def partial_fit(self, X, y, classes):
        self.rows.append(X)
        self.labels.append(y)

    def finish_fit(self):
        """Learn what was kept."""
        from lightgbm import LGBMClassifier

        self.model = LGBMClassifier(n_jobs=1, verbose=-1)
        self.model.fit(np.concatenate(self.rows), np.concatenate(self.labels))

    def predict(self, X):
        return self.model.predict(X)


def curve(**given):
    """Random features, for a stream."""
    return KernelStructuredPredictor(approximation="fourier", random_state=0, **given)


def line():
    """The linear learner with its defaults."""
    return OnlineStructuredPredictor(random_state=0)


def sgd():
    """SGDClassifier of the log-loss behind running standardisation."""
    return Scaled(SGDClassifier(loss="log_loss", random_state=0))


#: Others: name -> make a learner.
PEERS = {
    "SGDClassifier(log_loss), scaled": sgd,
    "Vowpal Wabbit": VowpalWabbit,
    "Vowpal Wabbit -q ::": lambda: VowpalWabbit("-q ::"),
    "Vowpal Wabbit --nn 20": lambda: VowpalWabbit("--nn 20"),
    "river AMFClassifier": lambda: River("AMFClassifier", n_estimators=10, seed=0),
    "LightGBM, all rows kept": Boosted,
}
