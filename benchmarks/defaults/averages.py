"""Averages of `OnlineStructuredPredictor`: all weights played alike, or the late ones more.

Test error in % on the dense sets of classes, half of the rows learned (4,000 at most) and others
predicted, five shuffles; one pass and ten.
"""

import numpy as np

from benchmarks._common import Results, arguments
from benchmarks.defaults._sets import classes, halves
from skstructured import OnlineStructuredPredictor

KINDS = {"uniform": "uniform", "polynomial": "polynomial", "last": False}
SHUFFLES = 5


def error(X, y, average, passes, seed):
    """Test error in % of one fit."""
    train, truth, test, wanted = halves(X, y, seed)
    model = OnlineStructuredPredictor(average=average, max_iter=passes, tol=None, random_state=seed)
    return 100.0 * (1.0 - model.fit(train, truth).score(test, wanted))


def main():
    """Print the table."""
    args = arguments(__doc__)
    with Results(__file__, args) as out:
        for passes in (1, 10):
            out.say(f"\npasses: {passes}\n{'':16}" + "".join(f"{name:>14}" for name in KINDS))
            rows = []
            for name, X, y in classes(args.quick):
                found = [
                    np.mean([error(X, y, kind, passes, s) for s in range(SHUFFLES)])
                    for kind in KINDS.values()
                ]
                rows.append(found)
                given = dict(zip(KINDS, found, strict=True))
                out.add(f"{name:16}" + "".join(f"{e:14.2f}" for e in found), set=name, **given)
            out.say(f"{'mean':16}" + "".join(f"{e:14.2f}" for e in np.mean(rows, axis=0)))


if __name__ == "__main__":
    main()
