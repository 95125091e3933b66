"""Label ranking on real data: online passes beside two batch baselines, and the epoch time.

Mean over 10 shuffled 70/30 splits. "misplaced" is Birkhoff's target loss, "spearman" the
permutahedron's, tau is Kendall's. Baselines: ridge regression on ranks, then sorting; logistic
regression of each item's position, then the assignment that maximises the sum of probabilities.
"""

import functools

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.preprocessing import StandardScaler

from benchmarks._common import Results, arguments
from benchmarks._plain import predictor
from benchmarks._timing import median_seconds, timed
from benchmarks.data import load
from skstructured.metrics import kendall_tau
from skstructured.spaces import Birkhoff, Permutahedron

NAMES = ("wine", "vehicle", "bodyfat", "segment", "pendigits", "authorship")


def positions(scores):
    """Positions by decreasing score, 0 = first."""
    return np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1)


def online(X, rank, X_test, space, regularizer, passes):
    m, reverse = rank.shape[1], space == "permutahedron"
    model = predictor(
        space=space,
        regularizer=regularizer,
        decoder="nearest",
        max_iter=passes,
        shuffle=True,
        random_state=0,
    )
    found = model.fit(X, m - rank if reverse else rank).predict(X_test)
    return m - found if reverse else found


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


METHODS = {}
for name, space, regularizer in (
    ("birkhoff shannon", "birkhoff", "shannon"),
    ("birkhoff squared", "birkhoff", "squared"),
    ("permutahedron", "permutahedron", "squared"),
):
    for label, passes in (("1 pass", 1), ("50 passes", 50)):
        given = {"space": space, "regularizer": regularizer, "passes": passes}
        METHODS[f"{name}, {label}"] = functools.partial(online, **given)
METHODS |= {"ridge + sort": ridge, "logistic + assignment": logistic}


def scores(found, rank):
    m = rank.shape[1]
    misplaced = Birkhoff().fit(rank).target_loss(found, rank)
    spearman = Permutahedron().fit(m - rank).target_loss(m - found, m - rank)
    return misplaced.mean(), spearman.mean(), kendall_tau(found, rank).mean()


def ranking(name):
    arrays = load(f"ranking_{name}")
    return arrays["X"], arrays["rank"].astype(int)


def one_split(X, rank, seed):
    """For every method, its scores on the test rows and its seconds."""
    order, cut = np.random.RandomState(seed).permutation(len(X)), int(0.7 * len(X))
    train, test = order[:cut], order[cut:]
    scaler = StandardScaler().fit(X[train])
    A, B = scaler.transform(X[train]), scaler.transform(X[test])
    for run in METHODS.values():
        found, spent = timed(lambda run=run: run(A, rank[train], B))
        yield *scores(found, rank[test]), spent


def warm_up():
    """Compile the kernels of every method."""
    X, rank = ranking(NAMES[0])
    list(one_split(X[:100], rank[:100], 0))


def dataset(out, name, splits):
    X, rank = ranking(name)
    means = np.mean([list(one_split(X, rank, seed)) for seed in range(splits)], axis=0)
    out.say(f"{name}: n={len(X)}, p={X.shape[1]}, {rank.shape[1]} items")
    for method, found in zip(METHODS, means, strict=True):
        a, b, c, spent = found
        row = dict(zip(("misplaced", "spearman", "tau", "seconds"), found, strict=True))
        line = f"  {method:28} misplaced {a:.3f}  spearman {b:.3f}  tau {c:.3f}  {spent:.3f} s"
        out.add(line, data=name, method=method, **row)


def epoch(out):
    X, rank = ranking("fried")
    X = StandardScaler().fit_transform(X)
    model = predictor(space="birkhoff", regularizer="shannon")
    spent = median_seconds(lambda: model.fit(X, rank), 5)
    line = f"fried, {len(X)} rows, 5 items: one epoch birkhoff + shannon {spent:.2f} s"
    out.add(line, data="fried", method="one epoch, birkhoff shannon", seconds=spent)


def main():
    args = arguments(__doc__, only={"nargs": "*", "choices": NAMES, "help": "of the data sets"})
    with Results(__file__, args) as out:
        warm_up()
        epoch(out)
        for name in args.only or NAMES[: 1 if args.quick else None]:
            dataset(out, name, 1 if args.quick else 10)


if __name__ == "__main__":
    main()
