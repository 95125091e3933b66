"""What the defaults were chosen from: optimizers, passes, losses of Gaptron, one row a set.

Accuracy in %, three shuffled folds, raw features standardised as they arrive; at most 6,000 rows.
"""

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_score

from benchmarks._common import Results, arguments
from benchmarks.defaults._sets import classes
from skstructured import GaptronClassifier, MulticlassPerceptron, OnlineStructuredPredictor
from skstructured.optimizers import PiSTOL

MOST = 6000
OPTIMIZERS = {
    "parameter_free": "parameter_free",
    "pistol": "pistol",
    "pistol a=0.04": PiSTOL(a=0.04),
    "pistol a=0.125": PiSTOL(a=0.125),
    "pistol per coordinate": PiSTOL(per_coordinate=True),
    "adaptive": "adaptive",
    "ogd": "ogd",
}


def candidates():
    """Names and learners."""
    for name, optimizer in OPTIMIZERS.items():
        for passes in (1, 10):
            given = {"optimizer": optimizer, "max_iter": passes, "random_state": 0}
            yield f"{name}, {passes} pass{'es' * (passes > 1)}", OnlineStructuredPredictor(**given)
    yield "parameter_free, last weights", OnlineStructuredPredictor(average=False, random_state=0)
    yield (
        "parameter_free, as they are",
        OnlineStructuredPredictor(standardize=False, random_state=0),
    )
    for loss in ("hinge", "smooth_hinge", "logistic"):
        yield f"Gaptron, {loss}", GaptronClassifier(loss, random_state=0)
        last = GaptronClassifier(loss, average=False, random_state=0)
        yield f"Gaptron, {loss}, last weights", last
    yield "Perceptron", MulticlassPerceptron(random_state=0)
    yield "Perceptron, last weights", MulticlassPerceptron(average=False, random_state=0)


def drawn(X, y):
    rows = np.random.RandomState(0).permutation(len(y))[:MOST]
    return X[rows], y[rows]


def main():
    args = arguments(__doc__)
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    with Results(__file__, args) as out:
        data = {name: drawn(X, y) for name, X, y in classes(args.quick)}
        out.say(f"{'':32}{' '.join(f'{name[:6]:>6}' for name in data)}   mean")
        for label, model in candidates():
            found = {n: 100 * cross_val_score(model, *d, cv=folds).mean() for n, d in data.items()}
            cells = " ".join(f"{value:6.1f}" for value in found.values())
            mean = np.mean(list(found.values()))
            out.add(f"{label:32}{cells} {mean:6.2f}", model=label, mean=mean, **found)


if __name__ == "__main__":
    main()
