"""Learners of other libraries that have no `fit` and `predict` of scikit-learn's kind."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.preprocessing import StandardScaler


class River(ClassifierMixin, BaseEstimator):
    """One pass of a river pipeline over rows."""

    def __init__(self, make):
        self.make = make

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.model_, names = self.make(), list(map(str, range(X.shape[1])))
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            self.model_.learn_one(dict(zip(names, row, strict=True)), label)
        return self

    def predict(self, X):
        names, first = list(map(str, range(X.shape[1]))), self.classes_[0].item()
        rows = (dict(zip(names, row, strict=True)) for row in X.tolist())
        found = [self.model_.predict_one(row) for row in rows]
        return np.array([first if label is None else label for label in found])


class VowpalWabbit(ClassifierMixin, BaseEstimator):
    """Passes of Vowpal Wabbit, one against all, over text lines of standardised rows."""

    def __init__(self, passes=1):
        self.passes = passes

    def _lines(self, Z, codes=None):
        for i, row in enumerate(Z.tolist()):
            label = "" if codes is None else f"{codes[i] + 1} "
            yield label + "| " + " ".join(f"{j}:{x:.5g}" for j, x in enumerate(row))

    def fit(self, X, y):
        from vowpalwabbit import Workspace

        self.classes_, codes = np.unique(y, return_inverse=True)
        self.scaler_ = StandardScaler().fit(X)
        self.model_ = Workspace(f"--oaa {len(self.classes_)} --loss_function logistic --quiet")
        lines = list(self._lines(self.scaler_.transform(X), codes))
        for _ in range(self.passes):
            for line in lines:
                self.model_.learn(line)
        return self

    def predict(self, X):
        lines = self._lines(self.scaler_.transform(X))
        return self.classes_[[int(self.model_.predict(line)) - 1 for line in lines]]
