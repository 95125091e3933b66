"""Label ranking on real data: online passes beside two batch baselines, and the epoch time.

    python benchmarks/rankings.py [NAME …] > benchmarks/results/rankings.txt

Mean over 10 shuffled 70/30 splits. "misplaced" is Birkhoff's target loss, "spearman" the
permutahedron's, tau is Kendall's. Baselines: ridge regression on ranks, then sorting; logistic
regression of each item's position, then the assignment that maximises the sum of probabilities.
"""

import sys
import time

import numpy as np
from data import load
from scipy.optimize import linear_sum_assignment
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.preprocessing import StandardScaler

from skstructured import OnlineStructuredPredictor
from skstructured.metrics import kendall_tau
from skstructured.spaces import Birkhoff, Permutahedron

NAMES = ("wine", "vehicle", "bodyfat", "segment", "pendigits", "authorship")


def positions(scores):
    """Positions by decreasing score, 0 = first."""
    return np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)


def online(space, regularizer, passes):
    def run(X, rank, X_test):
        m = rank.shape[1]
        y = m - rank if space == "permutahedron" else rank
        model = OnlineStructuredPredictor(
            space=space,
            regularizer=regularizer,
            decoder="nearest",
            max_iter=passes,
            shuffle=True,
            random_state=0,
        )
        found = model.fit(X, y).predict(X_test)
        return m - found if space == "permutahedron" else found

    return run


def ridge(X, rank, X_test):
    return positions(-RidgeCV(np.logspace(-2, 4, 13)).fit(X, rank).predict(X_test))


def logistic(X, rank, X_test):
    m = rank.shape[1]
    P = np.zeros((len(X_test), m, m))
    for j in range(m):
        model = LogisticRegression(max_iter=2000)
        if len(np.unique(rank[:, j])) == 1:
            P[:, j, rank[0, j]] = 1.0
            continue
        model.fit(X, rank[:, j])
        P[:, j, model.classes_] = model.predict_proba(X_test)
    return np.array([linear_sum_assignment(-p)[1] for p in P])


METHODS = {
    "birkhoff shannon, 1 pass": online("birkhoff", "shannon", 1),
    "birkhoff shannon, 50 passes": online("birkhoff", "shannon", 50),
    "birkhoff squared, 1 pass": online("birkhoff", "squared", 1),
    "birkhoff squared, 50 passes": online("birkhoff", "squared", 50),
    "permutahedron, 1 pass": online("permutahedron", "squared", 1),
    "permutahedron, 50 passes": online("permutahedron", "squared", 50),
    "ridge + sort": ridge,
    "logistic + assignment": logistic,
}


def scores(found, rank):
    m = rank.shape[1]
    misplaced = Birkhoff().fit(rank).target_loss(found, rank)
    spearman = Permutahedron().fit(m - rank).target_loss(m - found, m - rank)
    return misplaced.mean(), spearman.mean(), kendall_tau(found, rank).mean()


def dataset(name):
    arrays = load(f"ranking_{name}")
    X, rank = arrays["X"], arrays["rank"].astype(int)
    results, spent = {method: [] for method in METHODS}, dict.fromkeys(METHODS, 0.0)
    for seed in range(10):
        order = np.random.RandomState(seed).permutation(len(X))
        cut = int(0.7 * len(X))
        train, test = order[:cut], order[cut:]
        scaler = StandardScaler().fit(X[train])
        A, B = scaler.transform(X[train]), scaler.transform(X[test])
        for method, run in METHODS.items():
            started = time.perf_counter()
            found = run(A, rank[train], B)
            spent[method] += time.perf_counter() - started
            results[method].append(scores(found, rank[test]))
    print(f"{name}: n={len(X)}, p={X.shape[1]}, {rank.shape[1]} items")
    for method, values in results.items():
        a, b, c = np.mean(values, axis=0)
        line = f"  {method:28} misplaced {a:.3f}  spearman {b:.3f}  tau {c:.3f}"
        print(f"{line}  {spent[method] / 10:.3f} s", flush=True)


def epoch():
    arrays = load("ranking_fried")
    X = StandardScaler().fit_transform(arrays["X"])
    model = OnlineStructuredPredictor(space="birkhoff", regularizer="shannon")
    model.fit(X[:100], arrays["rank"][:100].astype(int))
    times = []
    for _ in range(5):
        started = time.perf_counter()
        model.fit(X, arrays["rank"].astype(int))
        times.append(time.perf_counter() - started)
    print(f"fried, {len(X)} rows, 5 items: one epoch birkhoff + shannon {np.median(times):.2f} s")


if __name__ == "__main__":
    print(f"command: python {' '.join(sys.argv)}")
    epoch()
    for name in sys.argv[1:] or NAMES:
        dataset(name)
