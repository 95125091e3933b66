"""Tables with gaps, words and dates: the encoder and our default, beside pipelines made by hand."""

import numpy as np
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

from benchmarks._timing import timed
from benchmarks.defaults.tables import by_hand, forests, passengers, trees
from benchmarks.peers._learners import summed_up
from skstructured import OnlineStructuredPredictor, StructuredPredictor, TableEncoder

FOLDS = 5

GRID = {
    "histgradientboostingclassifier__learning_rate": [0.03, 0.1, 0.3],
    "histgradientboostingclassifier__max_leaf_nodes": [7, 31],
}


def three_lines(frame):
    """The encoder and the default."""
    return make_pipeline(TableEncoder(), OnlineStructuredPredictor(random_state=0))


def mixture(frame):
    """The encoder and the estimator to try first."""
    return make_pipeline(TableEncoder(), StructuredPredictor(random_state=0))


def searched_logistic(frame):
    """The pipeline by hand, with its penalty searched."""
    grid = {"logisticregression__C": np.logspace(-2, 2, 5)}
    return GridSearchCV(by_hand(frame), grid, cv=3)


def searched_trees(frame):
    return GridSearchCV(trees(frame), GRID, cv=3)


LEARNERS = (
    ("TableEncoder, StructuredPredictor", True, mixture),
    ("TableEncoder, OnlineStructuredPredictor", True, three_lines),
    ("columns by hand, LogisticRegression", False, by_hand),
    ("HistGradientBoosting", False, trees),
    ("columns by hand, LogisticRegression, searched", False, searched_logistic),
    ("HistGradientBoosting, searched", False, searched_trees),
)


def measured(make, frame, y, folds):
    """Mean error over folds, its deviation, and median seconds of a fit."""
    found = []
    for train, test in folds:
        model = make(frame)
        _, seconds = timed(lambda m=model, rows=train: m.fit(frame.iloc[rows], y[rows]))
        found.append((1.0 - model.score(frame.iloc[test], y[test]), seconds))
    return summed_up(found)


def rows(quick, is_there):
    """Problems' names, and their learners."""
    for make in (passengers, forests):
        frame, y = make(np.random.RandomState(0))
        y = np.asarray(y)
        if quick:
            frame, y = frame[:300], y[:300]
        folds = list(KFold(FOLDS, shuffle=True, random_state=0).split(frame))[: 1 if quick else 5]
        mixture(frame).fit(frame, y)  # compiles
        found = [(name, ours, *measured(how, frame, y, folds)) for name, ours, how in LEARNERS]
        yield f"{make.__name__}, table", found
