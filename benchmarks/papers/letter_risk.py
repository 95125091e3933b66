"""The table of docs/risk.md: one pass over letter, certificates, and errors on other rows.

20,000 rows are shuffled; 14,000 are learned once, on the scale of the other 6,000, which then tell
the error of the final rules. Everything else is the default, a mixture of steps.
"""

import numpy as np
from sklearn.utils import shuffle

from benchmarks._common import Results, arguments
from benchmarks.data import load
from skstructured import OnlineStructuredPredictor
from skstructured.evaluation import progressive_validate

LEARNED, DELTA = 14_000, 0.05


def rows():
    """X and y of the rows that are learned, and of the others, on the scale of the others."""
    arrays = load("letter")
    X, y = shuffle(arrays["X"].astype(float), arrays["y"], random_state=0)
    others = X[LEARNED:]
    X = (X - others.mean(axis=0)) / others.std(axis=0)
    return X[:LEARNED], y[:LEARNED], X[LEARNED:], y[LEARNED:]


def run(results, decoder, play):
    """One line: errors in %, certificates, and the error on the other rows."""
    X, y, X_new, y_new = rows()
    average = "polynomial" if play == "average" else False
    model = OnlineStructuredPredictor(decoder=decoder, standardize=False, average=average)
    result = progressive_validate(model, X, y, random_state=0, play=play)
    losses, found = result.expected_target_loss, []
    for last in (0.5, 0.1):
        part = losses[-round(last * len(losses)) :]
        found += [part.mean(), result.risk_bound(DELTA, last)]
    found.append(np.mean(result.estimator.expected_target_loss(X_new, y_new)))
    cells = "".join(f"{100 * value:8.1f}" for value in found)
    results.add(f"{decoder:11} {play:9}{cells}", decoder=decoder, play=play, last=found[-1])
    if (decoder, play) == ("randomized", "iterates"):
        bound = result.regret_bound()
        results.add(f"its regret bound: {bound:.0f} mistakes", regret_bound=bound)


def main():
    """Print the table."""
    args = arguments(__doc__)
    with Results(__file__, args) as results:
        results.say("decoder     play      second half, at most, last tenth, at most, other rows")
        for decoder in ("nearest", "randomized"):
            for play in ("iterates", "average"):
                run(results, decoder, play)


if __name__ == "__main__":
    main()
