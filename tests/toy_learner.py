"""A learner in closed form, with nothing compiled: what the protocol needs of an estimator."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

import skstructured as sk


class NearestMean(sk.OnlineLearner, ClassifierMixin, BaseEstimator):
    """Predicts the class whose mean, over the rows seen so far, is the nearest."""

    def begin(self, X, y, classes=None):
        X, y = validate_data(self, X, y, dtype=np.float64)
        space = sk.spaces.Simplex().fit(y if classes is None else classes)
        packed = space.pack(y)  # refuses labels before anything is forgotten
        self.space_, self.classes_, self.t_ = space, space.classes_, 0
        self._sums, self._counts = np.zeros((space.dim_, X.shape[1])), np.zeros(space.dim_)
        return sk.extend.Batch(X, packed)

    def learn(self, rounds, which):
        np.add.at(self._sums, rounds.packed[which], rounds.X[which])
        np.add.at(self._counts, rounds.packed[which], 1.0)
        self.t_ += len(which)

    def play(self, rounds, which, random_state=None):
        wrong = (self._nearest(rounds.X[which]) != rounds.packed[which]).astype(float)
        return sk.extend.Losses(wrong, wrong, np.full(len(wrong), np.nan))

    def _nearest(self, X):
        means = self._sums / np.maximum(self._counts, 1.0)[:, None]
        return np.argmin(((X[:, None] - means) ** 2).sum(axis=2), axis=1)

    def fit(self, X, y):
        rounds = self.begin(X, y)
        self.learn(rounds, np.arange(len(rounds.X)))
        return self

    def predict(self, X):
        check_is_fitted(self, "classes_")
        return self.classes_[self._nearest(validate_data(self, X, dtype=np.float64, reset=False))]
