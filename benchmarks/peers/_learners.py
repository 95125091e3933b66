"""Learners of other libraries that have no `fit` and `predict` of scikit-learn's kind; searches."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def scaled(make):
    """What makes a pipeline that standardises first."""
    return lambda: make_pipeline(StandardScaler(), make())


def searched(make, grid, loss):
    """What makes a search of a grid, by three folds; the loss is `loss(predicted, y)`."""
    scoring = make_scorer(lambda y, predicted: -loss(predicted, y))
    folds = KFold(3, shuffle=True, random_state=0)
    return lambda: GridSearchCV(make(), grid, scoring=scoring, cv=folds)


def summed_up(found):
    """Of (loss, seconds) of every fold: the mean loss, its deviation, and the median seconds."""
    losses, seconds = np.array(found).T
    deviation = losses.std(ddof=1) if len(losses) > 1 else np.nan
    return losses.mean(), deviation, np.median(seconds)


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

    def __init__(self, passes=1, rate=0.5):
        self.passes = passes
        self.rate = rate

    def _lines(self, Z, codes=None):
        for i, row in enumerate(Z.tolist()):
            label = "" if codes is None else f"{codes[i] + 1} "
            yield label + "| " + " ".join(f"{j}:{x:.5g}" for j, x in enumerate(row))

    def fit(self, X, y):
        from vowpalwabbit import Workspace

        self.classes_, codes = np.unique(y, return_inverse=True)
        self.scaler_ = StandardScaler().fit(X)
        given = f"--oaa {len(self.classes_)} -l {self.rate} --loss_function logistic --quiet"
        self.model_ = Workspace(given)
        lines = list(self._lines(self.scaler_.transform(X), codes))
        for _ in range(self.passes):
            for line in lines:
                self.model_.learn(line)
        return self

    def predict(self, X):
        lines = self._lines(self.scaler_.transform(X))
        return self.classes_[[int(self.model_.predict(line)) - 1 for line in lines]]
