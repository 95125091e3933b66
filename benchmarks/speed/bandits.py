"""Speed of Gaptron, of simulated bandits, and of the second-order learners.

(a) GaptronClassifier beside OnlineStructuredPredictor, in turns. (b) Rounds a second of simulated
bandit feedback. (c) Time per round of learning against the number of weights Kp.
"""

import functools
import warnings

import numpy as np

from benchmarks._common import Results, arguments
from benchmarks._plain import bandit_gaptron, banditron, gaptron, predictor
from benchmarks._statistics import slope
from benchmarks._timing import median_seconds, seconds, side_by_side
from benchmarks.synthetic import CLASSES, problems
from skstructured import (
    BanditReduction,
    BanditronClassifier,
    ConfiditClassifier,
    NewtronClassifier,
    SecondOrderPerceptron,
    SOBAClassifier,
)

LOSSES = ("logistic", "hinge", "smooth_hinge")
GAPTRONS = {loss: {"loss": loss} for loss in LOSSES}
GAPTRONS["logistic, FY decoder"] = {"decoder": "randomized"}


def one_pass(out, name, problem, repeat):
    (X, y), plain = problem[:2], predictor()
    for label, given in GAPTRONS.items():
        model = gaptron(**given)
        a, b, faster = side_by_side(lambda m=model: m.fit(X, y), lambda: plain.fit(X, y), repeat)
        us, plain_us, ratio = a / len(y) * 1e6, b / len(y) * 1e6, 1.0 / faster
        near = "within" if 0.8 <= ratio <= 1.2 else "faster than" if ratio < 1 else "OUTSIDE"
        out.add(
            f"{name}, {label}: {us:.2f} us a row, OnlineStructuredPredictor {plain_us:.2f}; "
            f"{ratio:.2f} times its time: {near} ±20%",
            table="one pass",
            problem=name,
            learner=f"Gaptron {label}",
            us=us,
            plain_us=plain_us,
            times_plain=ratio,
        )


def simulators(X):
    """Learners that are handed the horizon and, where they need it, a radius."""
    n, radius = len(X), 5.0 / np.sqrt(1.0 + (X * X).sum(axis=1).max())
    for loss in LOSSES:
        given = {"loss": loss, "radius": radius, "horizon": n, "random_state": 0}
        yield f"BanditGaptron {loss}", bandit_gaptron(**given)
    yield "Banditron", banditron(horizon=n, random_state=0)


def simulated(out, X, y, repeat):
    for name, model in simulators(X):
        rate = len(y) / median_seconds(lambda m=model: m.fit(X, y), repeat)
        goal = "goal of 100,000 met" if rate >= 1e5 else "BELOW the goal of 100,000"
        line = f"simulated, {name}: {rate:,.0f} rounds a second ({goal})"
        out.add(line, table="simulated", learner=name, rounds_s=rate)


def drive(model, X, y):
    for i in range(len(y)):
        actions, propensities = model.choose(X[i : i + 1])
        model.update(X[i : i + 1], actions, actions == y[i : i + 1], propensities)


def row_by_row(out, X, y):
    """Rounds a second of choose and update with one row a call, once they are compiled."""
    for kind in (BanditronClassifier, SOBAClassifier):
        model, name = kind(classes=range(CLASSES), random_state=0), kind.__name__
        drive(model, X[:5], y[:5])
        rate = len(y) / seconds(lambda m=model: drive(m, X, y))
        line = f"choose and update, {name}: {rate:,.0f} rounds a second"
        out.add(line, table="one row a call", learner=name, rounds_s=rate)


def reduced(out, X, y):
    model = BanditReduction(horizon=len(y), random_state=0).fit(X[:5], y[:5])
    rate = len(y) / seconds(lambda: model.fit(X, y))
    line = f"simulated, BanditReduction(): {rate:,.0f} rounds a second"
    out.add(line, table="simulated", learner="BanditReduction", rounds_s=rate)


K = 5
#: Features with the intercept, for K classes.
WIDTHS = (8, 16, 32, 64, 128, 256)


def many(model, X, y):
    """Learn rounds, all rewarded, in one batch."""
    ones = np.ones(len(y))
    return model.update(X, y, ones, ones / 2)


def singly(model, X, y):
    """Learn rounds, all rewarded, one by one."""
    for i in range(len(y)):
        many(model, X[i : i + 1], y[i : i + 1])
    return model


def shown(model, X, y):
    return model.partial_fit(X, y, classes=range(K))


def bandit(kind):
    return functools.partial(kind, classes=range(K), random_state=0)


#: How to make a learner, how it learns, and how many rounds.
SECOND_ORDER = {
    "SecondOrderPerceptron": (SecondOrderPerceptron, shown, 400),
    "SOBA": (bandit(SOBAClassifier), many, 400),
    "Confidit": (bandit(ConfiditClassifier), many, 400),
    "Newtron": (bandit(NewtronClassifier), singly, 40),
}


def per_round(make, learn, rounds, width, repeat):
    """Median seconds of learning a round, of rows with random labels: most of them update."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * rounds, width - 1)) / np.sqrt(width)
    y, times = rng.integers(K, size=len(X)), []
    for _ in range(repeat):
        model = learn(make(), X[:rounds], y[:rounds])
        times.append(seconds(lambda m=model: learn(m, X[rounds:], y[rounds:])) / rounds)
    return np.median(times)


def second_order(out, widths, repeat):
    sizes = K * np.array(widths)
    out.say(f"\nmicroseconds to learn a rewarded round, K={K}, p features with the intercept")
    cells = "".join(f"{size:9}" for size in sizes)
    out.say(f"{'Kp':24}{cells}   exponent: all, the larger half")
    for name, (make, learn, rounds) in SECOND_ORDER.items():
        times = 1e6 * np.array([per_round(make, learn, rounds, p, repeat) for p in widths])
        slopes = [slope(sizes[a:], times[a:]) for a in (0, len(widths) // 2)]
        row = {f"us_Kp{size}": t for size, t in zip(sizes, times, strict=True)}
        row |= {"exponent": slopes[0], "exponent_larger": slopes[1]}
        cells = "".join(f"{t:9.1f}" for t in times)
        line = f"{name:24}{cells}   {slopes[0]:.2f}, {slopes[1]:.2f}"
        out.add(line, table="second order", learner=name, **row)
    out.say("O((Kp)^2) is exponent 2; Confidit's K matrices (p, p) are K times fewer numbers.")
    out.say(f"Kp={sizes[-1]}: a matrix has {8e-6 * sizes[-1] ** 2:.0f} MB, more than a cache.")


def main():
    args = arguments(__doc__, repeat=11)
    warnings.simplefilter("error")
    with Results(__file__, args) as out:
        out.say()
        (_, dense), _ = found = list(problems(args.quick))
        for name, problem in found:
            one_pass(out, name, problem, args.repeat)
        out.say()
        X, y = dense[:2]
        simulated(out, X, y, args.repeat)
        rows = slice(0, 100 if args.quick else 2000)
        row_by_row(out, X[rows], y[rows])
        reduced(out, X[rows], y[rows])
        second_order(out, WIDTHS[:4] if args.quick else WIDTHS, max(5, args.repeat // 2))


if __name__ == "__main__":
    main()
