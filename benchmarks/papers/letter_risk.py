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


def run(results, play, average):
    """One line: errors in %, bounds, and the error on the other rows."""
    X, y, X_new, y_new = rows()
    model = OnlineStructuredPredictor(standardize=False, average=average)
    result = progressive_validate(model, X, y, random_state=0, play=play)
    losses, found = result.expected_target_loss, []
    for last in (0.5, 0.1):
        part = losses[-round(last * len(losses)) :]
        found += [part.mean(), result.risk_bound(DELTA, last)]
    fitted = result.estimator
    drawn = play == "randomized"
    found.append(
        np.mean(fitted.expected_target_loss(X_new, y_new))
        if drawn
        else 1.0 - fitted.score(X_new, y_new)
    )
    cells = "".join(f"{100 * value:8.1f}" for value in found)
    results.add(f"{play:11} {average!s:11}{cells}", play=play, average=average, last=found[-1])
    if drawn:
        results.add(f"its regret bound: {result.regret_bound():.0f} mistakes")


def main():
    """Print the table."""
    args = arguments(__doc__)
    with Results(__file__, args) as results:
        results.say("play        average    second half, at most, last tenth, at most, other rows")
        for play, average in (("predict", "polynomial"), ("predict", False), ("randomized", False)):
            run(results, play, average)


if __name__ == "__main__":
    main()
