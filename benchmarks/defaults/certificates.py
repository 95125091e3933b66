"""Do risk certificates hold? One pass over two thirds, the error on the last third, 50 shuffles.

The bound is about the averages of the last half of the pass; what is tested is the final average.
"""

import numpy as np

from benchmarks._common import Results, arguments
from benchmarks.defaults._sets import classes
from skstructured import OnlineStructuredPredictor
from skstructured.evaluation import progressive_validate

SHUFFLES, DELTA, MOST = 50, 0.05, 15_000
SETS = ("breast_cancer", "digits", "segment", "satimage", "letter", "elec2")


def one(X, y, seed):
    """Bound, mean loss that it is of, and error on the last third."""
    order = np.random.RandomState(seed).permutation(len(y))[:MOST]
    learned, kept = np.split(order, [2 * len(order) // 3])
    model = OnlineStructuredPredictor(decoder="nearest", random_state=seed)
    run = progressive_validate(model, X[learned], y[learned], play="average")
    losses = run.expected_target_loss[len(learned) // 2 :]
    return run.risk_bound(DELTA), losses.mean(), 1.0 - run.estimator.score(X[kept], y[kept])


def main():
    args = arguments(__doc__)
    shuffles = 3 if args.quick else SHUFFLES
    with Results(__file__, args) as out:
        out.say("means over shuffles: certificate, loss in the second half, error on new rows")
        for name, X, y in classes(args.quick):
            if name not in SETS:
                continue
            found = np.array([one(X, y, seed) for seed in range(shuffles)])
            bound, loss, error = found.mean(axis=0)
            violated = np.mean(found[:, 2] > found[:, 0])
            line = f"  {name:14}{bound:7.3f} {loss:7.3f} {error:7.3f}; violated in {violated:.0%}"
            row = {"bound": bound, "loss": loss, "error": error, "violated": violated}
            out.add(line, data=name, **row)


if __name__ == "__main__":
    main()
