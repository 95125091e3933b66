"""Bandit feedback on the digits, raw: what docs/bandit_feedback.md says of its own example.

Clicks of the example, by seeds, and the rewards of another learner;
shares of right choices in one pass, and of right predictions after it.
"""

import numpy as np
from sklearn.datasets import load_digits

from benchmarks._common import Results, arguments
from skstructured import (
    BanditGaptronClassifier,
    BanditronClassifier,
    ConfiditClassifier,
    SOBAClassifier,
)

LOSSES, RADII, SEEDS = ("logistic", "hinge", "smooth_hinge"), (0.1, 1.0), range(5)


def played(model, X, y):
    """Actions, propensities and rewards of one loop over rows, as the page has it."""
    log = []
    for x, wanted in zip(X, y, strict=True):
        action, propensity = model.choose([x])
        reward = action == wanted
        model.update([x], action, reward, propensity)
        log.append((action[0], propensity[0], reward[0]))
    return tuple(map(np.array, zip(*log, strict=True)))


def one_pass(make, X, y):
    """Shares, by seeds, of right choices in one pass and of right predictions after it."""
    found = []
    for seed in SEEDS:
        model = make(seed)
        right = played(model, X, y)[2].mean()
        found.append((right, model.score(X, y)))
    return np.array(found)


def example(out, X, y):
    """The page's example, and another learner."""
    logs = [
        played(SOBAClassifier(exploration=0.1, classes=range(10), random_state=s), X, y)
        for s in SEEDS
    ]
    clicks = [int(log[2].sum()) for log in logs]
    out.say(f"clicks of SOBA, exploration 0.1, by seeds: {clicks}")
    real = [
        played(BanditronClassifier(classes=range(10), random_state=s), X, y)[2].mean()
        for s in SEEDS
    ]
    out.say(f"rewards of the Banditron, by seeds: {np.round(real, 2).tolist()}")


def main():
    """Print all of it."""
    args = arguments(__doc__)
    X, y = load_digits(return_X_y=True)
    X, y = (X[:100], y[:100]) if args.quick else (X, y)
    with Results(__file__, args) as out:
        example(out, X, y)
        makers = {
            "Confidit": lambda s: ConfiditClassifier(classes=range(10), random_state=s),
            "SOBA": lambda s: SOBAClassifier(classes=range(10), random_state=s),
            "Banditron": lambda s: BanditronClassifier(classes=range(10), random_state=s),
        }
        for loss in LOSSES:
            for D in RADII:
                makers[f"Gaptron, {loss}, radius {D}"] = lambda s, loss=loss, D=D: (
                    BanditGaptronClassifier(loss, radius=D, classes=range(10), random_state=s)
                )
        out.say("% of one pass: choices right, predictions of the same rows right after it; means")
        for name, make in makers.items():
            right, after = 100 * one_pass(make, X, y).mean(axis=0)
            line = f"{name:34} {right:5.0f} {after:5.0f}"
            out.add(line, learner=name, right=right, after=after)


if __name__ == "__main__":
    main()
