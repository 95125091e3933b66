"""Random features of CSR rows: words, whose interactions count, and bibtex.

Words: 20,000 rows of some 60 entries in 50,000 columns. A row has one of two topics, and one of two
others, each of which has words of its own; the class is whether the first one goes with the first.
No weights of words tell that. Bibtex: 159 labels of 4,000 rows with 1,836 columns, 69 entries each.
Four fifths are learned in one pass. "Made dense" is what it was before rows stayed CSR: of 50,000
columns it would draw matrices of 20 GB, so that there the columns are hashed into 2,048 first.
At the end: how much is lost by hashing columns into buckets before the frequencies.
"""

import time
import warnings
from unittest.mock import patch

import numpy as np
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier

from benchmarks._common import Results, arguments
from benchmarks.data import bibtex
from skstructured import KernelStructuredPredictor, OnlineStructuredPredictor
from skstructured._engine.rows import Rows
from skstructured.estimators.kernel import _features
from skstructured.estimators.kernel._features_model import MappedScale

#: Words of a topic, words of each of both topics in a row, and others.
OWN, TOPICAL, OTHERS = 200, 20, 20

#: Buckets that are compared; the last number stands for none.
BUCKETS = (512, 1024, 2048, 4096, 8192, 50_000)


def words(n=20_000, p=50_000, seed=0):
    """X, y: the class is whether two topics go together."""
    rng = np.random.RandomState(seed)
    topics = rng.permutation(p)[: 4 * OWN].reshape(4, OWN)
    first, second = rng.randint(2, size=(2, n))
    share = [1.0 / np.arange(start, start + size) for start, size in ((1, OWN), (10, p))]
    own, others = (part / part.sum() for part in share)
    found = [
        topics[topic[:, None], rng.choice(OWN, (n, TOPICAL), p=own)]
        for topic in (first, 2 + second)
    ]
    found.append(rng.permutation(p)[rng.choice(p, (n, OTHERS), p=others)])
    columns = np.hstack(found)
    rows = np.repeat(np.arange(n), columns.shape[1])
    X = sparse.csr_matrix((np.ones(columns.size), (rows, columns.ravel())), shape=(n, p))
    X.data = 1.0 + np.log(X.data)
    return X, first ^ second


def curve(space="simplex", **given):
    """One pass over random features."""
    how = {"approximation": "fourier", "max_iter": 1, "random_state": 0}
    return KernelStructuredPredictor(space, **how | given)


class Dense:
    """A learner whose CSR rows are made dense, block by block, and hashed before if told so."""

    def __init__(self, learner, hashed=None):
        self.learner, self.hashed = learner, hashed

    def of(self, X):
        """Rows with their columns hashed."""
        if self.hashed is None:
            return X
        hasher = FeatureHasher(self.hashed)
        pairs = np.split(np.column_stack([X.indices, X.data]), X.indptr[1:-1])
        return hasher.transform([{str(int(j)): x for j, x in row} for row in pairs])

    def fit(self, X, y):
        """Learn."""
        with patch.object(MappedScale, "settle", lambda scale, rows: None):
            self.learner.fit(X, y)
        return self

    def predict(self, X):
        """Predict."""
        return self.learner.predict(X)


def learners(space, hashed):
    """Name -> make a learner."""
    sgd = SGDClassifier(loss="log_loss", max_iter=1, tol=None, random_state=0)
    line = {"max_iter": 1, "random_state": 0}
    alone = {"optimizer": "parameter_free"}
    before = "made dense" if hashed is None else f"hashed to {hashed:,}, made dense"
    return {
        "curves": lambda: curve(space),
        f"curves, {before}": lambda: Dense(curve(space), hashed),
        "curves, one optimiser": lambda: curve(space, **alone),
        f"curves, one optimiser, {before}": lambda: Dense(curve(space, **alone), hashed),
        "curves, one optimiser, 6000 features": lambda: curve(space, n_components=6000, **alone),
        "line": lambda: OnlineStructuredPredictor(space, **line),
        "SGDClassifier(log_loss)": lambda: sgd if space == "simplex" else OneVsRestClassifier(sgd),
    }


def judged(make, X, y, new):
    """Points (of labels: micro-F1), and seconds of learning and of predicting."""
    model, few = make(), slice(0, 300)
    rows, others = (model.of(rows) if isinstance(model, Dense) else rows for rows in (X, new[0]))
    model.fit(rows[few], y[few]).predict(others[few])  # compiled before it is timed
    model, times = make(), [time.perf_counter()]
    model.fit(rows, y)
    times.append(time.perf_counter())
    found = model.predict(others)
    times.append(time.perf_counter())
    right = f1_score(new[1], found, average="micro") if y.ndim == 2 else np.mean(found == new[1])
    return 100.0 * right, *np.diff(times)


def mean_kernel(squares, gamma):
    """The mean of three Gaussians, of squared distances."""
    return np.mean([np.exp(-factor * gamma * squares) for factor in _features.OCTAVES], axis=0)


def hashing(out, X, quick):
    """Errors of kernels, seconds, and sizes, by the number of buckets."""
    rows = Rows.from_array(X)
    few = X[:200]
    used = np.unique(few.indices)
    squares = pdist(few[:, used].toarray(), "sqeuclidean")
    gamma = 1.0 / np.median(squares)
    wanted = mean_kernel(squares, gamma)
    pairs = np.triu_indices(few.shape[0], 1)
    for buckets in BUCKETS[: 2 if quick else None]:
        with patch.object(_features, "BUCKETS", buckets):
            features = _features.FourierMap("rbf", X.shape[1], 1200, True, rng(), float)
            features.set_width(gamma, 1.0)
            started = time.perf_counter()
            features = features.drawn_for(True)
            drawn = time.perf_counter() - started
        at = np.arange(X.shape[0])
        features.behind_rows(rows, at[:10], X.shape[1])
        started = time.perf_counter()
        for start in range(0, len(at), 100):
            features.behind_rows(rows, at[start : start + 100], X.shape[1])
        micros = 1e6 * (time.perf_counter() - started) / len(at)
        hashed = sparse.csr_matrix((features.signs, (np.arange(X.shape[1]), features.places)))
        short = pdist((few @ hashed).toarray(), "sqeuclidean")
        phi = features.behind_rows(rows, at[:200], X.shape[1]).matrix[:, X.shape[1] :].toarray()
        both = mean_kernel(short, gamma), (phi @ phi.T)[pairs]
        errors = [np.sqrt(np.mean((found - wanted) ** 2)) for found in both]
        size = features.frequencies.nbytes / 1e6
        told = f"{buckets:6,d} buckets: error {errors[0]:.4f} by them, {errors[1]:.4f} in all; "
        told += f"{micros:5.0f} µs a row, {size:6.1f} MB, drawn in {drawn:5.1f} s"
        numbers = {"by_buckets": errors[0], "in_all": errors[1], "micros": micros, "mb": size}
        out.add(told, name=f"{buckets} buckets", drawn=drawn, **numbers)


def rng():
    return np.random.RandomState(0)


def main():
    """Print the tables."""
    args = arguments(__doc__)
    warnings.simplefilter("ignore")
    n = 2000 if args.quick else 20_000
    sets = {"words": ("simplex", *words(n), 2048), "bibtex": ("hypercube", *bibtex(), None)}
    with Results(__file__, args) as out:
        for of, (space, X, y, hashed) in sets.items():
            order = rng().permutation(len(y))[: n if of == "words" else min(n, 4000)]
            cut = 4 * len(order) // 5
            learned, new = order[:cut], order[cut:]
            for name, make in learners(space, hashed).items():
                points, fit, predict = judged(make, X[learned], y[learned], (X[new], y[new]))
                told = f"{of:7s} {name:50s} {points:5.2f} points, {fit:6.2f} s to learn, "
                numbers = {"points": points, "seconds": fit, "predicting": predict}
                out.add(f"{told}{predict:5.2f} s to predict", name=f"{of}, {name}", **numbers)
        out.say()
        hashing(out, words(2000)[0], args.quick)


if __name__ == "__main__":
    main()
