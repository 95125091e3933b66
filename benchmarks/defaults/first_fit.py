"""The default learner beside what a user would pick instead, five shuffled folds each.

Classes: accuracy, log-loss and seconds of fitting in all, on raw and on standardised features
(scaled within each fold). Label sets, ordered classes, rankings: their own measures.
"""

import time
import warnings

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.metrics import f1_score, log_loss
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks._common import Results, arguments
from benchmarks.defaults import _sets as sets
from skstructured import GaptronClassifier, MulticlassPerceptron, OnlineStructuredPredictor
from skstructured.metrics import kendall_tau

FOLDS = 5


def ours(space="simplex", **parameters):
    return OnlineStructuredPredictor(space, random_state=0, **parameters)


CLASSES = {
    "LogisticRegression": LogisticRegression(),
    "SGDClassifier": SGDClassifier(random_state=0),
    "default": ours(),
    "one pass": ours(max_iter=1),
    "GaptronClassifier": GaptronClassifier(random_state=0),
    "MulticlassPerceptron": MulticlassPerceptron(random_state=0),
}


def folds(X, y, stratified):
    kind = StratifiedKFold if stratified else KFold
    return kind(FOLDS, shuffle=True, random_state=0).split(X, y if stratified else None)


def fitted(model, X, y):
    """A fitted clone, and the seconds it took."""
    model, started = clone(model), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return model, time.process_time() - started


def of_classes(model, X, y):
    """Mean accuracy and log-loss over the folds, and seconds."""
    scores = []
    for train, test in folds(X, y, True):
        one, seconds = fitted(model, X[train], y[train])
        loss = np.nan
        if hasattr(one, "predict_proba"):
            probabilities = np.clip(probability_of(one, X[test]), 1e-15, 1.0)
            loss = log_loss(y[test], probabilities, labels=np.unique(y))
        scores.append((one.score(X[test], y[test]), loss, seconds))
    accuracy, loss, seconds = np.array(scores).T
    return accuracy.mean(), loss.mean(), seconds.sum()


def probability_of(model, X):
    p = model.predict_proba(X)
    return p / p.sum(axis=1, keepdims=True)


def classes(out, quick):
    totals = {}
    for model in CLASSES.values():  # what is compiled here is not in the times
        fitted(model, *next(sets.classes(True))[1:])
    out.say(f"accuracy in %: {', '.join(CLASSES)}; raw | standardised")
    for name, X, y in sets.classes(quick):
        line = []
        for form in ("raw", "standardised"):
            for label, model in CLASSES.items():
                scaled = model if form == "raw" else make_pipeline(StandardScaler(), model)
                found = of_classes(scaled, X, y)
                totals.setdefault((form, label), []).append(found)
                line.append(f"{100 * found[0]:5.1f}")
            line.append("|")
        row = {f"{f} {m}": v[-1][0] for (f, m), v in totals.items()}
        out.add(f"  {name:14}{' '.join(line[:-1])}", table="classes", data=name, **row)
    out.say("means: accuracy %, log-loss, seconds in all")
    for (form, label), found in totals.items():
        accuracy, loss, _ = np.mean(found, axis=0)
        seconds = np.sum(found, axis=0)[2]
        text = f"  {form:13}{label:22}{100 * accuracy:6.2f} {loss:7.3f} {seconds:8.2f}"
        row = {"accuracy": accuracy, "log_loss": loss, "seconds": seconds}
        out.add(text, table="means", data=form, model=label, **row)


def compared(out, title, data, models, measures, stratified=False):
    """A table of other outputs: for each set and model the measures, means over the folds."""
    out.say(f"{title}: {', '.join(measures)}")
    for name, X, y in data:
        for label, model in models.items():
            found, seconds = [], 0.0
            for train, test in folds(X, y, stratified):
                one, took = fitted(model, X[train], y[train])
                seconds += took
                predicted = one.predict(X[test])
                found.append([f(y[test], predicted) for f in measures.values()])
            means = np.mean(found, axis=0)
            numbers = " ".join(f"{v:8.4f}" for v in means)
            row = dict(zip(measures, means, strict=True)) | {"seconds": seconds}
            text = f"  {name:14}{label:24}{numbers} {seconds:8.2f} s"
            out.add(text, table=title, data=name, model=label, **row)


def scaled(model, X=None):
    return make_pipeline(StandardScaler(with_mean=not issparse(X)), model)


class RoundedRidge(Ridge):
    """Ridge regression of the grades, rounded."""

    def predict(self, X):
        return np.clip(np.rint(super().predict(X)), self.low_, self.high_)

    def fit(self, X, y):
        self.low_, self.high_ = y.min(), y.max()
        return super().fit(X, y)


class RankedRidge(Ridge):
    """Ridge regression of the ranks, ranked."""

    def predict(self, X):
        return np.argsort(np.argsort(super().predict(X), axis=1), axis=1) + 1


def hamming(y, predicted):
    return np.mean(np.asarray(y) != np.asarray(predicted))


def micro_f1(y, predicted):
    return f1_score(y, predicted, average="micro")


def absolute(y, predicted):
    return np.abs(y - predicted).mean()


def tau(y, predicted):
    return kendall_tau(predicted, y).mean()


def label_sets(out):
    sgd = SGDClassifier(random_state=0)
    for one in sets.label_sets():
        models = {
            "OneVsRest(SGD)": scaled(OneVsRestClassifier(sgd), one[1]),
            "ClassifierChain(SGD)": scaled(ClassifierChain(sgd, random_state=0), one[1]),
            "default": ours("hypercube"),
        }
        compared(out, "label sets", [one], models, {"Hamming": hamming, "micro-F1": micro_f1})


def grades(out):
    models = {
        "rounded Ridge": scaled(RoundedRidge()),
        "LogisticRegression": scaled(LogisticRegression()),
        "default": ours("ordinal"),
        "squared": ours("ordinal", regularizer="squared"),
        "100 passes": ours("ordinal", max_iter=100),
    }
    compared(out, "ordered classes", sets.grades(), models, {"MAE": absolute}, stratified=True)


def rankings(out, quick):
    models = {
        "ranked Ridge": scaled(RankedRidge()),
        "default": ours("permutahedron"),
        "100 passes": ours("permutahedron", max_iter=100),
    }
    compared(out, "rankings", sets.rankings(quick), models, {"tau": tau})


def main():
    args = arguments(__doc__)
    with Results(__file__, args) as out:
        classes(out, args.quick)
        rankings(out, args.quick)
        if not args.quick:
            grades(out)
            label_sets(out)


if __name__ == "__main__":
    main()
