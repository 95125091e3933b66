"""Do units, origins and the order of rows matter to the default? Every dense set, five folds.

A feature is multiplied by 1e6 or by 1e-6, or 1e4 is added to it: each of at most 20 features by
itself, 20 drawn ones of a wider set, then all at once, multiplied by factors between 1e-6 and 1e6
or shifted. The change of the score on the test rows is in points; the score is the accuracy for
classes, else 1 - the target loss. Rows in the order of their outputs are compared with shuffled
ones, over ten seeds of `fit`. At most 6,000 rows of a set.
"""

import numpy as np
from scipy.sparse import issparse
from sklearn.model_selection import KFold, StratifiedKFold

from benchmarks._common import Results, arguments
from benchmarks.defaults import _sets as sets
from skstructured import OnlineStructuredPredictor

MOST, FEATURES, FOLDS, SEEDS, ALLOWED = 6000, 20, 5, 10, 0.5
CHANGES = {
    "x 1e6": lambda x: x * 1e6,
    "x 1e-6": lambda x: x * 1e-6,
    "+ 1e4": lambda x: x + 1e4,
}


def problems(quick):
    """Space, name, X, y of every dense set, at most MOST rows drawn."""
    found = [("simplex", *one) for one in sets.classes(quick)]
    if not quick:
        found += [("hypercube", *one) for one in sets.label_sets() if not issparse(one[1])]
        found += [("ordinal", *one) for one in sets.grades()]
    found += [("permutahedron", *one) for one in sets.rankings(quick)]
    for space, name, X, y in found:
        rows = np.random.RandomState(0).permutation(len(y))[:MOST]
        yield space, name, X[rows], y[rows]


def folds(space, X, y):
    kind = StratifiedKFold if np.ndim(y) == 1 else KFold
    return list(kind(FOLDS, shuffle=True, random_state=0).split(X, y))


def scores(space, X, y, parts, seed=0):
    """Score on each test fold, in points, and what is predicted there."""
    found, predicted = [], []
    for train, test in parts:
        model = OnlineStructuredPredictor(space, random_state=seed).fit(X[train], y[train])
        found.append(100.0 * model.score(X[test], y[test]))
        predicted.append(model.predict(X[test]))
    return np.array(found), np.concatenate(predicted)


def changed(X, change, columns):
    """X with some of its columns changed."""
    X = X.copy()
    X[:, columns] = change(X[:, columns])
    return X


def variants(X):
    """Names and rows in other units, one feature after the other, then all at once."""
    rng, width = np.random.RandomState(1), X.shape[1]
    columns = range(width) if width <= FEATURES else rng.permutation(width)[:FEATURES]
    for name, change in CHANGES.items():
        for j in columns:
            yield name, changed(X, change, [j])
    for _ in range(3):
        yield "all x", X * 10.0 ** rng.uniform(-6.0, 6.0, width)
    yield "all +", X + 1e4


def of_units(space, X, y):
    """Worst change of the score for each kind of change, and rows predicted otherwise, in %."""
    parts, worst, others = folds(space, X, y), {}, 0.0
    before, said = scores(space, X, y, parts)
    for name, Z in variants(X):
        after, now = scores(space, Z, y, parts)
        worst[name] = max(worst.get(name, 0.0), abs(np.mean(after - before)))
        different = (now != said).reshape(len(y), -1).any(axis=1)
        others = max(others, 100.0 * different.mean())
    return worst, others


def by_output(y):
    """Positions of outputs in their order; those of one output in the order they had."""
    return np.argsort(y, kind="stable") if y.ndim == 1 else np.lexsort(y.T[::-1])


def of_order(space, X, y):
    """Score of shuffled rows, that of sorted ones less it, and the deviation over seeds."""
    parts, found = folds(space, X, y), np.empty((2, SEEDS))
    in_order = [(train[by_output(y[train])], test) for train, test in parts]
    for seed in range(SEEDS):
        found[0, seed] = scores(space, X, y, parts, seed)[0].mean()
        found[1, seed] = scores(space, X, y, in_order, seed)[0].mean()
    return found[0].mean(), found[1].mean() - found[0].mean(), found[0].std(ddof=1)


def main():
    args = arguments(__doc__)
    names = [*CHANGES, "all x", "all +"]
    with Results(__file__, args) as out:
        heads = " ".join(f"{name:>7}" for name in names)
        out.say(f"{'':29}{heads} {'others':>7} | {'score':>6} {'sorted':>7} {'seeds':>6}")
        most = 0.0
        for space, name, X, y in problems(args.quick):
            worst, others = of_units(space, X, y)
            score, less, spread = of_order(space, X, y)
            cells = " ".join(f"{worst[change]:7.3f}" for change in names)
            line = f"  {name:14}{space:13}{cells} {others:7.2f} | {score:6.2f} {less:7.3f}"
            row = worst | {"others": others, "score": score, "sorted": less, "seeds": spread}
            out.add(f"{line} {spread:6.3f}", data=name, space=space, **row)
            most = max(most, *worst.values(), -less)
        out.say("worst change of the score in points; others: rows predicted otherwise, worst, %")
        out.say("sorted: what sorting the rows adds to the score; seeds: deviation of one shuffle")
        out.say(f"the worst is {most:.3f} points; {ALLOWED} are allowed")


if __name__ == "__main__":
    main()
