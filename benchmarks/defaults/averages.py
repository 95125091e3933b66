"""Averages: all weights played alike, or the late ones more; learner by learner.

Test error in % on the dense sets of classes, half of the rows learned (4,000 at most, with kernels
1,000) and others predicted, five shuffles; one pass and ten.
"""

import numpy as np
from sklearn.base import clone

from benchmarks._common import Results, arguments
from benchmarks.defaults._sets import classes, halves
from skstructured import (
    GaptronClassifier,
    KernelPerceptronClassifier,
    KernelStructuredPredictor,
    MulticlassPerceptron,
    OnlineStructuredPredictor,
    PiSTOLClassifier,
)

KINDS = {"uniform": "uniform", "polynomial": "polynomial", "last": False}
LEARNERS = {
    "OnlineStructuredPredictor": OnlineStructuredPredictor(),
    "GaptronClassifier": GaptronClassifier(),
    "MulticlassPerceptron": MulticlassPerceptron(),
    "PiSTOLClassifier": PiSTOLClassifier(),
    "KernelStructuredPredictor": KernelStructuredPredictor(),
    "PiSTOLClassifier, rbf": PiSTOLClassifier("rbf"),
    "KernelPerceptronClassifier": KernelPerceptronClassifier(),
}
SHUFFLES, MOST, MOST_WITH_KERNELS = 5, 4000, 1000


def error(learner, data, average, passes, seed):
    """Test error in % of one fit."""
    kernel = getattr(learner, "kernel", "linear")
    most = MOST if kernel == "linear" else MOST_WITH_KERNELS
    train, truth, test, wanted = (part[:most] for part in halves(*data, seed))
    given = {"average": average, "max_iter": passes, "random_state": seed}
    if "tol" in learner.get_params():  # of others all passes are made
        given["tol"] = None
    model = clone(learner).set_params(**given)
    return 100.0 * (1.0 - model.fit(train, truth).score(test, wanted))


def table(out, name, learner, passes, quick):
    """Errors on every set, and their means."""
    out.say(f"\n{name}, passes: {passes}\n{'':16}" + "".join(f"{kind:>14}" for kind in KINDS))
    rows = []
    for data, *arrays in classes(quick):
        found = [
            np.mean([error(learner, arrays, kind, passes, s) for s in range(SHUFFLES)])
            for kind in KINDS.values()
        ]
        rows.append(found)
        given = dict(zip(KINDS, found, strict=True))
        line = f"{data:16}" + "".join(f"{e:14.2f}" for e in found)
        out.add(line, learner=name, passes=passes, set=data, **given)
    out.say(f"{'mean':16}" + "".join(f"{e:14.2f}" for e in np.mean(rows, axis=0)))


def main():
    """Print the tables."""
    args = arguments(__doc__)
    with Results(__file__, args) as out:
        for name, learner in LEARNERS.items():
            for passes in (1, 10):
                table(out, name, learner, passes, args.quick)


if __name__ == "__main__":
    main()
