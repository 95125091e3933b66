"""The sets, and who learns them: the paper's kernels and grids, with our learners beside."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from benchmarks.data import a9a, covtype, news20
from skstructured import PiSTOLClassifier

SHUFFLES, MIDDLE = 5, 4096
SVM = "SVM, C searched"
PAPERS, OWN, STREAM = "one pass", "one pass, own γ", "one pass, partial_fit"
TEN, OWN_TEN, OWN_DENSE = "ten passes", "ten passes, own γ", "one pass, own γ, dense"
RAW, RAW_TEN = "one pass, raw rows", "ten passes, raw rows"
HELD_OUT = 10_000


class Problem(NamedTuple):
    name: str
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    learners: dict
    most: int
    least: int = 256

    def sizes(self):
        """Powers of two, and all rows."""
        most = min(self.most, len(self.y))
        powers = [2**k for k in range(8, 20) if self.least <= 2**k < most]
        return [*powers, most]


class Learner(NamedTuple):
    make: Callable  # of the shuffle
    many: float = np.inf  # rows up to which every shuffle is learned
    most: float = np.inf  # rows up to which one is
    prepare: Callable = lambda X: X  # what is done to rows before all


class Streamed:
    """A learner that is given its rows by `partial_fit`, in their order."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        """Learn the rows."""
        self.model.partial_fit(X, y, classes=np.unique(y))
        return self

    def predict(self, X):
        """Classes of rows."""
        return self.model.predict(X)


def pistol(max_iter, **given):
    given |= {"average": "uniform", "max_iter": max_iter}  # the paper's average
    return lambda seed: PiSTOLClassifier(random_state=seed, **given)


def searched(model, powers):
    """A search over C, by 5 folds."""
    grid = {"C": [2.0**k for k in powers]}
    return lambda seed: GridSearchCV(model, grid, cv=5, n_jobs=1)


def gaussian(gamma, powers, most, own):
    """Learners with a Gaussian kernel; `own` are parameters of those with a γ of their own."""
    given = {"kernel": "rbf", "gamma": gamma, "standardize": False}
    own = {"kernel": "rbf", **own}
    search = searched(SVC(gamma=gamma, cache_size=1000), powers)
    return {
        PAPERS: Learner(pistol(1, **given), prepare=dense),
        OWN: Learner(pistol(1, **own)),
        STREAM: Learner(lambda seed: Streamed(pistol(1, **given)(seed)), MIDDLE, prepare=dense),
        TEN: Learner(pistol(10, **given), MIDDLE, 4 * MIDDLE, dense),
        OWN_TEN: Learner(pistol(10, **own), MIDDLE, 4 * MIDDLE),
        SVM: Learner(search, MIDDLE, most, dense),
    }


def dense(X):
    """Rows as an array, which SVC takes less time with even where most are zeros."""
    return X.toarray() if sparse.issparse(X) else X


def linear(searches):
    """Learners with a linear kernel; the search over C once, for `searches` and fewer rows more."""
    raw = {"kernel": "linear", "standardize": False}
    return {
        PAPERS: Learner(pistol(1)),
        RAW: Learner(pistol(1, **raw)),
        TEN: Learner(pistol(10)),
        RAW_TEN: Learner(pistol(10, **raw)),
        SVM: Learner(searched(LinearSVC(random_state=0), range(1, 5)), searches),
    }


def read_a9a():
    """a9a, and once more as an array, which is standardised where CSR rows of ones are not."""
    X, y, X_test, y_test = a9a()
    learners = gaussian(0.04, range(-1, 4), np.inf, {})
    learners[OWN_DENSE] = Learner(pistol(1, kernel="rbf"), MIDDLE, prepare=dense)
    return Problem("a9a", X, y, X_test, y_test, learners, len(y))


def read_covtype():
    """Covertype's second class against the rest, from its ten numbers."""
    X, y = covtype()
    X, y = StandardScaler().fit_transform(X[:, :10]), (y == 1).astype(int)
    held = slice(0, HELD_OUT), slice(HELD_OUT, None)
    parts = [part[rows] for rows in held[::-1] for part in (X, y)]
    learners = gaussian(0.125, range(7), 4 * MIDDLE, {"standardize": False})
    return Problem("covtype", *parts, learners, 2**16)


def read_news20(classes=2):
    """News by groups: the first ten against the last ten, or all twenty."""
    X, y, X_test, y_test = news20()
    if classes == 2:
        y, y_test = (y >= 10).astype(int), (y_test >= 10).astype(int)
        return Problem("news20", X, y, X_test, y_test, linear(MIDDLE), len(y))
    return Problem("news20, 20 classes", X, y, X_test, y_test, linear(0), len(y), len(y))


READERS = {
    "a9a": read_a9a,
    "covtype": read_covtype,
    "news20": read_news20,
    "news20_all": lambda: read_news20(20),
}
