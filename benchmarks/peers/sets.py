"""Coverage of rare classes and of groups by prediction sets at 90%, and their mean sizes (MAPIE).

A data set is split at random into equal halves to learn and to test, 20 times; a quarter of the
first half is held out, the same rows for all methods. Coverages are shares of all test rows of the
20 splits, in %: "all", of each class, of each group; "size": classes in a set, or the length of an
interval. All sets are around the same estimator, logistic or ridge
regression of standardized features. MAPIE 1.6 has no thresholds by class or group: "per class" and
"per group" are one conformalized model of it for each, written here. It refuses 10 rows or fewer;
sets are then everything. Last, the share of rows for which its sets for several features
(``ConditionalSplitConformalClassifier``, Gibbs, Cherian, Candès 2023, with indicators of the
groups) are those of `groups`. Needs MAPIE and cvxpy.
"""

import warnings

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks._common import Results, arguments
from benchmarks.data import covtype, load
from skstructured import PredictionSets

SPLITS, ROWS = 20, 20_000


def forest():
    """covtype, 20,000 rows: 7 types of trees, in 4 wilderness areas."""
    X, y = covtype(ROWS)
    return X, y, np.asarray(X[:, 10:14]).argmax(axis=1)


def simulated():
    """Classes of 90%, 8% and 2% of the rows; a tenth of them, group 1, has noisier features."""
    X, y = make_classification(
        ROWS, weights=[0.9, 0.08], n_classes=3, n_informative=5, random_state=0
    )
    rng = np.random.default_rng(0)
    groups = (rng.random(ROWS) < 0.1).astype(int)
    return X + 2.0 * groups[:, None] * rng.normal(size=X.shape), y, groups


def abalone(grades=True):
    """Grades of the age by equal width, or rings; groups are males, females, infants."""
    arrays = load("abalone")
    y = arrays["y_eqwidth"].clip(1, 6) if grades else arrays["y_cont"]
    return arrays["X"], y, arrays["X"][:, :3].argmax(axis=1)


def rings():
    return abalone(grades=False)


SETS = {"covtype": forest, "simulated": simulated, "abalone": abalone, "abalone, rings": rings}


def ours(estimator, seed, train, X, groups, by_class=False, by_group=False):
    """Sets of rows by `PredictionSets`, and the fitted model."""
    model = PredictionSets(estimator, by_class=by_class, random_state=seed)
    model.fit(*train[:2], groups=train[2] if by_group else None)
    return model.predict_set(X, groups if by_group else None), model


def mapie_sets(estimator, X_held, y_held, X, score="lac"):
    """MAPIE's sets, or intervals, of rows."""
    from mapie.classification import SplitConformalClassifier
    from mapie.regression import SplitConformalRegressor

    if hasattr(estimator, "classes_"):
        model = SplitConformalClassifier(estimator, 0.9, conformity_score=score, random_state=0)
        return model.conformalize(X_held, y_held).predict_set(X)[1][:, :, 0]
    model = SplitConformalRegressor(estimator, 0.9)
    return model.conformalize(X_held, y_held).predict_interval(X)[1][:, :, 0]


def mapie_per_class(estimator, X_held, y_held, X):
    """Whether a set of the held-out rows of a class has the class, for each class."""
    sets = np.ones((len(X), len(estimator.classes_)), dtype=bool)
    for k, label in enumerate(estimator.classes_):
        part = y_held == label
        if part.sum() > 10:
            sets[:, k] = mapie_sets(estimator, X_held[part], y_held[part], X)[:, k]
    return sets


def mapie_per_group(estimator, held, X, groups):
    """Sets of the held-out rows of each group, for the rows of the group."""
    X_held, y_held, groups_held = held
    sets = mapie_sets(estimator, X_held, y_held, X)
    for group in np.unique(groups):
        own, part = groups == group, groups_held == group
        sets[own] = mapie_sets(estimator, X_held[part], y_held[part], X[own])
    return sets


def same_sets(splits):
    """The share of 500 test rows per split of covtype whose sets by groups are MAPIE's."""
    from mapie.conditional_conformal_prediction import ConditionalSplitConformalClassifier

    same, arrays = [], forest()
    for seed in range(splits):
        estimator, train, (X, _, groups) = split(arrays, seed)
        X, groups = X[:500], groups[:500]
        sets, model = ours(estimator, seed, train, X, groups, by_group=True)
        rows = held_out(model, train, seed)
        other = ConditionalSplitConformalClassifier(
            lambda X: np.eye(4)[X[:, 10:14].argmax(axis=1)], model.estimator_, 0.9
        )
        other.conformalize(train[0][rows], train[1][rows])
        same.append((other.predict_set(X)[1][:, :, 0] == sets).all(axis=1).mean())
    return float(np.mean(same))


def split(arrays, seed):
    """An estimator; rows, outputs and groups to learn, and to test."""
    learner = LogisticRegression(max_iter=1000) if arrays[1].dtype.kind in "iu" else Ridge()
    halves = train_test_split(*arrays, test_size=0.5, random_state=seed)
    return make_pipeline(StandardScaler(), learner), halves[::2], halves[1::2]


def held_out(model, train, seed):
    """The rows that `PredictionSets` with this seed holds out."""
    return np.random.RandomState(seed).permutation(len(train[0]))[: model.n_scores_]


def all_sets(arrays, seed):
    """Sets of test rows by every method, the classes, and the outputs and groups of the rows."""
    estimator, train, (X, y, groups) = split(arrays, seed)
    labels, found = y.dtype.kind in "iu", {}
    found["PredictionSets()"], model = ours(estimator, seed, train, X, groups)
    if labels:
        found["by_class=True"] = ours(estimator, seed, train, X, groups, by_class=True)[0]
    found["groups"] = ours(estimator, seed, train, X, groups, by_group=True)[0]
    if labels:
        both = {"by_class": True, "by_group": True}
        found["by_class=True, groups"] = ours(estimator, seed, train, X, groups, **both)[0]
    rows = held_out(model, train, seed)
    held, fitted = tuple(part[rows] for part in train), model.estimator_
    found["MAPIE, LAC" if labels else "MAPIE"] = mapie_sets(fitted, *held[:2], X)
    if labels:
        found["MAPIE, APS"] = mapie_sets(fitted, *held[:2], X, score="aps")
        found["MAPIE, LAC per class"] = mapie_per_class(fitted, *held[:2], X)
    found["MAPIE, LAC per group" if labels else "MAPIE per group"] = mapie_per_group(
        fitted, held, X, groups
    )
    return found, getattr(fitted, "classes_", None), y, groups


def read(sets, classes, y):
    """Which sets contain the output, and their sizes."""
    if classes is None:
        return (sets[:, 0] <= y) & (y <= sets[:, 1]), sets[:, 1] - sets[:, 0]
    return sets[np.arange(len(y)), np.searchsorted(classes, y)], sets.sum(axis=1)


def shares(covered, of):
    """The share covered of each value of `of`."""
    return [covered[of == value].mean() for value in np.unique(of)]


def counts(values):
    """How many rows have each value, in order."""
    return ", ".join(map(str, np.unique(values, return_counts=True)[1])) or "none"


def report(out, name, splits):
    """The lines of a data set."""
    X, y, groups = SETS[name]()
    found, outputs, parts = {}, [], []
    for seed in range(splits):
        sets, classes, y_test, g_test = all_sets((X, y, groups), seed)
        outputs.append(y_test)
        parts.append(g_test)
        for method, one in sets.items():
            found.setdefault(method, []).append(np.array(read(one, classes, y_test)))
    labels = y if classes is not None else np.zeros(0)
    out.say(f"\n{name}, {len(y)} rows; classes {counts(labels)}; groups {counts(groups)}")
    out.say(f"{'':24}  all   size  by class | by group")
    truth, group = np.concatenate(outputs), np.concatenate(parts)
    for method, pairs in found.items():
        covered, size = np.concatenate(pairs, axis=1)
        by_class = shares(covered, truth) if len(labels) else []
        of = {"class": by_class, "group": shares(covered, group)}
        numbers = " | ".join("".join(f"{100 * one:5.1f}" for one in of[kind]) for kind in of)
        row = {f"{kind}_{k}": v for kind, values in of.items() for k, v in enumerate(values)}
        mean = covered.mean(), size.mean()
        text = f"{method:24}{100 * mean[0]:5.1f}{mean[1]:7.2f} {numbers}"
        out.add(text, table=name, method=method, all=mean[0], size=mean[1], **row)


def main():
    args = arguments(__doc__)
    with Results(__file__, args) as out, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in SETS:
            report(out, name, 2 if args.quick else SPLITS)
        same = same_sets(1 if args.quick else 5)
        text = f"covtype: {same:.1%} of the sets by groups are those of MAPIE's conditional class"
        out.add(f"\n{text}", table="conditional", same=same)


if __name__ == "__main__":
    main()
