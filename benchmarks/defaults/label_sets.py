"""Decoders of label sets after one pass and after ten: whose F1 is largest, and why?

Half of the rows learned (4,000 at most) and others predicted, five shuffles.
The lines of labels a row say how many probabilities expect, and how many of these are wrong: where
more are expected than are true, "f1" answers too many.
"""

import warnings

import numpy as np
from scipy.sparse import issparse
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks._common import Results, arguments
from benchmarks.defaults._sets import halves, label_sets
from skstructured import OnlineStructuredPredictor
from skstructured.decoders import Threshold

SHUFFLES = 5
#: Learners: passes, rows at most, and parameters.
LEARNERS = {
    "one pass": (1, None, {}),
    "ten passes": (10, None, {}),
    "one pass, ogd": (1, None, {"optimizer": "ogd"}),
    "one pass, squared": (1, None, {"regularizer": "squared"}),
    "200 rows": (1, 200, {}),
}
PEERS = {"SGDClassifier, one pass": {"max_iter": 1, "tol": None}, "SGDClassifier": {}}
DECODERS = {
    "nearest": "nearest",
    "f1": "f1",
    "threshold .5": Threshold(0.5),
    "threshold .3": Threshold(0.3),
}
MEASURES = ("micro-F1", "samples-F1", "Hamming", "labels")


def measured(truth, found):
    """Micro-F1, mean F1 of the rows, Hamming loss, and labels a row."""
    means = [f1_score(truth, found, average=a, zero_division=0) for a in ("micro", "samples")]
    return [*means, np.mean(truth != found), found.sum(axis=1).mean()]


def expectations(truth, given):
    """Labels a row that are true, that probabilities expect, and the part of it that is not."""
    wrong = (given * (1 - truth)).sum(axis=1).mean()
    return truth.sum(axis=1).mean(), given.sum(axis=1).mean(), wrong


def ours(data, learner, seed):
    """What every decoder of one fit measures, and what probabilities expect."""
    passes, most, parameters = learner
    X, Y, X_new, Y_new = halves(*data, seed)
    given = {"max_iter": passes, "random_state": seed, **parameters}
    model = OnlineStructuredPredictor("hypercube", **given)
    model.fit(X[:most], Y[:most])
    found = {
        name: measured(Y_new, model.set_params(decoder=decoder).predict(X_new))
        for name, decoder in DECODERS.items()
    }
    mu = model.predict_mean(X_new)
    return found, expectations(Y_new, mu)


def peer(data, parameters, seed):
    """What one classifier a label measures."""
    X, Y, X_new, Y_new = halves(*data, seed)
    sgd = SGDClassifier(loss="log_loss", random_state=seed, **parameters)
    model = make_pipeline(StandardScaler(with_mean=not issparse(X)), OneVsRestClassifier(sgd))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {"predict": measured(Y_new, model.fit(X, Y).predict(X_new))}


def say(out, data, learner, found):
    """A line for each decoder, means over the shuffles."""
    for name in found[0]:
        means = np.mean([one[name] for one in found], axis=0)
        text = " ".join(f"{v:10.4f}" for v in means)
        row = dict(zip(MEASURES, means, strict=True))
        line = f"{data:8}{learner:25}{name:14}{text}"
        out.add(line, table="F1", data=data, learner=learner, decoder=name, **row)


def table(out, data, arrays, quick):
    """All learners and decoders on one set."""
    seeds = range(1 if quick else SHUFFLES)
    for name, learner in LEARNERS.items():
        runs = [ours(arrays, learner, seed) for seed in seeds]
        say(out, data, name, [found for found, _ in runs])
        means = np.mean([expected for _, expected in runs], axis=0)
        what = ("true", "expected", "of these wrong")
        told = ", ".join(f"{w} {v:.2f}" for w, v in zip(what, means, strict=True))
        row = dict(zip(what, means, strict=True))
        line = f"{data:8}{name:25}labels a row: {told}"
        out.add(line, table="labels", data=data, learner=name, **row)
    for name, parameters in PEERS.items():
        say(out, data, name, [peer(arrays, parameters, seed) for seed in seeds])


def main():
    args = arguments(__doc__)
    with Results(__file__, args) as out:
        out.say(f"{'':8}{'':25}{'':14}" + " ".join(f"{name:>10}" for name in MEASURES))
        for data, *arrays in label_sets():
            if not (args.quick and data == "bibtex"):
                table(out, data, arrays, args.quick)
            out.say()


if __name__ == "__main__":
    main()
