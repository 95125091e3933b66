"""Problems of the table: rows, outputs, a loss, and learners, ours and theirs.

A learner is (name, whether it is ours, the package it needs, a function that makes it).
"""

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import (
    LogisticRegression,
    PassiveAggressiveClassifier,
    Perceptron,
    RidgeCV,
    SGDClassifier,
)
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from benchmarks.data import load
from benchmarks.peers._learners import River, VowpalWabbit, scaled, searched
from skstructured import (
    ConditionalRandomField,
    FolkloreClassifier,
    KernelStructuredPredictor,
    MaxMinMarginNetwork,
    OnlineStructuredPredictor,
    PiSTOLClassifier,
    StructuredPredictor,
)
from skstructured.metrics import kendall_tau

#: Rows of a problem, at most.
MOST = 3000


def ours(name, make):
    return name, True, "skstructured", make


def theirs(name, make, package="sklearn"):
    return name, False, package, make


def rows(name, column="y"):
    """Features and outputs of a set, `MOST` rows at most."""
    arrays = load(name)
    order = np.random.RandomState(0).permutation(len(arrays["X"]))[:MOST]
    return arrays["X"][order].astype(np.float64), arrays[column][order].astype(np.int64)


#: Grids of the searched ones, of the pipelines that `scaled` makes.
RATES = {"rate": [0.05, 0.2, 0.5, 2.0]}
ALPHAS = {"sgdclassifier__alpha": np.logspace(-6, -2, 5)}
PENALTIES = {"logisticregression__C": np.logspace(-2, 3, 6)}
NEIGHBOURS = {"kneighborsregressor__n_neighbors": [1, 3, 10, 30]}
WIDTHS = {"svc__C": [1.0, 10.0, 100.0], "svc__gamma": np.logspace(-3, 0, 4)}


def mistakes(predicted, y):
    predicted = predicted.toarray() if hasattr(predicted, "toarray") else predicted
    return float(np.mean(np.asarray(predicted) != y))


def distance(predicted, y):
    return float(np.abs(np.asarray(predicted) - y).mean())


def river_softmax():
    from river import linear_model, preprocessing

    return preprocessing.StandardScaler() | linear_model.SoftmaxRegression()


def river_forest():
    from river import forest

    return forest.ARFClassifier(n_models=10, seed=0)


def one_pass():
    """Classes after one pass, raw rows."""
    passes = {"max_iter": 1, "random_state": 0}
    learners = [
        ours("OnlineStructuredPredictor", lambda: OnlineStructuredPredictor(**passes)),
        ours("FolkloreClassifier", lambda: FolkloreClassifier(random_state=0)),
        theirs("SGDClassifier, scaled", scaled(lambda: SGDClassifier(tol=None, **passes))),
        theirs("Perceptron, scaled", scaled(lambda: Perceptron(tol=None, **passes))),
        theirs(
            "PassiveAggressive, scaled",
            scaled(lambda: PassiveAggressiveClassifier(tol=None, **passes)),
        ),
        theirs("river softmax, scaled", lambda: River(river_softmax), "river"),
        theirs("river adaptive forest", lambda: River(river_forest), "river"),
        theirs("Vowpal Wabbit, scaled", VowpalWabbit, "vowpalwabbit"),
        theirs(
            "SGDClassifier, scaled, searched",
            searched(scaled(lambda: SGDClassifier(tol=None, **passes)), ALPHAS, mistakes),
        ),
        theirs(
            "Vowpal Wabbit, scaled, searched",
            searched(VowpalWabbit, RATES, mistakes),
            "vowpalwabbit",
        ),
    ]
    for name in ("segment", "satimage", "letter"):
        yield f"{name}, one pass", *rows(name), mistakes, learners


def batch():
    """Classes, as many passes as the defaults make."""
    learners = [
        ours("StructuredPredictor", lambda: StructuredPredictor(random_state=0)),
        ours("OnlineStructuredPredictor", lambda: OnlineStructuredPredictor(random_state=0)),
        ours("PiSTOL, kernels", lambda: PiSTOLClassifier(kernel="rbf", random_state=0)),
        ours("MaxMinMargin, kernels", lambda: MaxMinMarginNetwork(kernel="rbf", random_state=0)),
        theirs("SGDClassifier", lambda: SGDClassifier(random_state=0)),
        theirs("SGDClassifier, scaled", scaled(lambda: SGDClassifier(random_state=0))),
        theirs("LogisticRegression, scaled", scaled(lambda: LogisticRegression(max_iter=1000))),
        theirs("SVC, scaled", scaled(SVC)),
        theirs("HistGradientBoosting", lambda: HistGradientBoostingClassifier(random_state=0)),
        theirs("random forest", lambda: RandomForestClassifier(random_state=0)),
        theirs("MLP, scaled", scaled(lambda: MLPClassifier(random_state=0))),
        theirs(
            "SGDClassifier, scaled, searched",
            searched(scaled(lambda: SGDClassifier(random_state=0)), ALPHAS, mistakes),
        ),
        theirs(
            "LogisticRegression, scaled, searched",
            searched(scaled(lambda: LogisticRegression(max_iter=1000)), PENALTIES, mistakes),
        ),
        theirs("SVC, scaled, searched", searched(scaled(SVC), WIDTHS, mistakes)),
    ]
    for name in ("segment", "satimage", "letter"):
        yield f"{name}, defaults", *rows(name), mistakes, learners


def logistic_at():
    import mord

    return mord.LogisticAT()


def ridge_at():
    import mord

    return mord.OrdinalRidge()


def skordinal(kind):
    def make():
        import skordinal.classifiers

        return getattr(skordinal.classifiers, kind)()

    return scaled(make)


def grades():
    """Ordered classes; the loss is the mean distance in classes."""
    learners = [
        ours("StructuredPredictor", lambda: StructuredPredictor("ordinal", random_state=0)),
        ours("OnlineStructuredPredictor", lambda: OnlineStructuredPredictor("ordinal")),
        ours("MaxMinMargin, linear", lambda: MaxMinMarginNetwork("ordinal", random_state=0)),
        ours("MaxMinMargin, kernels", lambda: MaxMinMarginNetwork("ordinal", kernel="rbf")),
        theirs("LogisticRegression, scaled", scaled(lambda: LogisticRegression(max_iter=1000))),
        theirs("mord LogisticAT, scaled", scaled(logistic_at), "mord"),
        theirs("mord OrdinalRidge, scaled", scaled(ridge_at), "mord"),
        theirs("skordinal LogisticAT, scaled", skordinal("LogisticAT"), "skordinal"),
        theirs("skordinal POM, scaled", skordinal("POM"), "skordinal"),
        theirs("skordinal SVOR, scaled", skordinal("SVOR"), "skordinal"),
        theirs(
            "mord LogisticAT, scaled, searched",
            searched(scaled(logistic_at), {"logisticat__alpha": [0.0, 0.1, 1.0, 10.0]}, distance),
            "mord",
        ),
        theirs(
            "skordinal SVOR, scaled, searched",
            searched(skordinal("SVOR"), {"svor__C": [0.1, 1.0, 10.0]}, distance),
            "skordinal",
        ),
    ]
    for name in ("abalone", "stocks"):
        yield f"{name}, grades", *rows(name, "y_eqfreq"), distance, learners


def multilabel_knn():
    from skmultilearn.adapt import MLkNN

    return MLkNN()


#: What a chain calls the classifier that it is made of: "estimator" in new versions.
CHAINED = "estimator" if "estimator" in ClassifierChain(None).get_params() else "base_estimator"


def tags():
    """Label sets; the loss is the share of wrong labels."""
    logistic = LogisticRegression(max_iter=1000)
    crf = lambda: ConditionalRandomField("hypercube")  # noqa: E731
    learners = [
        ours("StructuredPredictor", lambda: StructuredPredictor("multilabel", random_state=0)),
        ours("OnlineStructuredPredictor", lambda: OnlineStructuredPredictor("hypercube")),
        ours("ConditionalRandomField", crf),
        theirs("MultiOutput(Logistic), scaled", scaled(lambda: MultiOutputClassifier(logistic))),
        theirs("ClassifierChain(Logistic), scaled", scaled(lambda: ClassifierChain(logistic))),
        theirs("skmultilearn MLkNN, scaled", scaled(multilabel_knn), "skmultilearn"),
        theirs(
            "ClassifierChain(Logistic), scaled, searched",
            searched(
                scaled(lambda: ClassifierChain(logistic)),
                {f"classifierchain__{CHAINED}__C": [0.01, 0.1, 1.0, 10.0]},
                mistakes,
            ),
        ),
        theirs(
            "skmultilearn MLkNN, scaled, searched",
            searched(scaled(multilabel_knn), {"mlknn__k": [5, 10, 20, 40]}, mistakes),
            "skmultilearn",
        ),
    ]
    yield "yeast, tags", *rows("ml_yeast", "Y"), mistakes, learners


class RidgeRanks(RidgeCV):
    """Ridge regression on ranks, sorted."""

    def predict(self, X):
        scores = super().predict(X)
        return np.argsort(np.argsort(scores, axis=1), axis=1) + 1


def discordance(predicted, y):
    """The share of pairs of items in the wrong order."""
    return float(np.mean(0.5 * (1.0 - kendall_tau(predicted, y))))


def ranks(name):
    """Rows, and ranks with d = best."""
    X, positions = rows(name, "rank")
    return X, positions.shape[1] - positions


def rankings():
    """Rankings; the loss is the share of pairs in the wrong order."""
    margin = lambda: MaxMinMarginNetwork("permutahedron", kernel="rbf")  # noqa: E731
    neighbours = lambda: KNeighborsRegressor(n_neighbors=10)  # noqa: E731
    learners = [
        ours("StructuredPredictor", lambda: StructuredPredictor("ranking", random_state=0)),
        ours("OnlineStructuredPredictor", lambda: OnlineStructuredPredictor("permutahedron")),
        ours("KernelStructuredPredictor", lambda: KernelStructuredPredictor("permutahedron")),
        ours("MaxMinMargin, kernels", margin),
        theirs("RidgeCV on ranks, scaled", scaled(lambda: RidgeRanks(np.logspace(-2, 4, 13)))),
        theirs("nearest neighbours, scaled", scaled(neighbours)),
        theirs(
            "nearest neighbours, scaled, searched",
            searched(
                scaled(neighbours),
                {"kneighborsregressor__n_neighbors": [1, 3, 10, 30]},
                discordance,
            ),
        ),
    ]
    for name in ("wine", "segment"):
        yield f"{name}, rankings", *ranks(f"ranking_{name}"), discordance, learners


def problems():
    """All of them."""
    for kind in (one_pass, batch, grades, rankings, tags):
        yield from kind()
