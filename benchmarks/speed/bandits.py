"""Speed of Gaptron, of simulated bandits, and of the second-order learners.

    OMP_NUM_THREADS=1 python benchmarks/bandits.py > benchmarks/results/bandits.txt

(a) GaptronClassifier beside OnlineStructuredPredictor, in turns. (b) Rounds a second of simulated
bandit feedback. (c) Time per round of learning against the number of weights Kp.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import platform
import sys
import warnings

import numpy as np
import psutil
from compare_online import CLASSES, N, dense_problem, seconds, side_by_side, sparse_problem

from skstructured import (
    BanditGaptronClassifier,
    BanditReduction,
    BanditronClassifier,
    ConfiditClassifier,
    GaptronClassifier,
    NewtronClassifier,
    OnlineStructuredPredictor,
    SecondOrderPerceptron,
    SOBAClassifier,
)

LOSSES = ("logistic", "hinge", "smooth_hinge")
K = 5
#: Features with the intercept, for K classes.
WIDTHS = (8, 16, 32, 64, 128, 256)


def one_pass(name, problem, repeat):
    X, y = problem[:2]
    plain, rows = OnlineStructuredPredictor(), []
    for label, model in [
        *((loss, GaptronClassifier(loss=loss)) for loss in LOSSES),
        ("logistic, FY decoder", GaptronClassifier(decoder="randomized")),
    ]:
        rows.append((label, *compare(model, plain, X, y, repeat)))
    for label, ours, base, ratio in rows:
        near = "within" if 0.8 <= ratio <= 1.2 else "faster than" if ratio < 1 else "OUTSIDE"
        print(
            f"{name}, {label}: {ours / N * 1e6:.2f} us a row, OnlineStructuredPredictor "
            f"{base / N * 1e6:.2f}; {ratio:.2f} times its time: {near} ±20%"
        )


def compare(model, plain, X, y, repeat):
    """Median seconds of both, and the median of their ratios, in turns."""
    (ours, base), inverse = side_by_side(lambda: model.fit(X, y), lambda: plain.fit(X, y), repeat)
    return ours, base, 1.0 / inverse


def simulated(problem, repeat):
    X, y = problem[:2]
    radius = 5.0 / np.sqrt(1.0 + (X * X).sum(axis=1).max())
    found = {
        f"BanditGaptron {loss}": BanditGaptronClassifier(
            loss=loss, radius=radius, horizon=N, random_state=0
        )
        for loss in LOSSES
    }
    found["Banditron"] = BanditronClassifier(horizon=N, random_state=0)
    for name, model in found.items():
        model.fit(X, y)
        rate = N / np.median([seconds(lambda m=model: m.fit(X, y)) for _ in range(repeat)])
        goal = "goal of 100,000 met" if rate >= 1e5 else "BELOW the goal of 100,000"
        print(f"simulated, {name}: {rate:,.0f} rounds a second ({goal})", flush=True)


def row_by_row(problem, calls=2000):
    """Rounds a second of choose and update with one row a call, and of the reduction."""
    X, y = problem[0][:calls], problem[1][:calls]
    for model in (
        BanditronClassifier(classes=range(CLASSES), random_state=0),
        SOBAClassifier(classes=range(CLASSES), random_state=0),
    ):
        spent = seconds(lambda m=model: drive(m, X, y))
        print(f"choose and update, {type(model).__name__}: {calls / spent:,.0f} rounds a second")
    model = BanditReduction(horizon=calls, random_state=0)
    spent = seconds(lambda: model.fit(X, y))
    print(f"simulated, BanditReduction(): {calls / spent:,.0f} rounds a second", flush=True)


def drive(model, X, y):
    for i in range(len(y)):
        actions, propensities = model.choose(X[i : i + 1])
        model.update(X[i : i + 1], actions, actions == y[i : i + 1], propensities)


SECOND_ORDER = {
    "SecondOrderPerceptron": (SecondOrderPerceptron, 400),
    "SOBA": (lambda: SOBAClassifier(classes=range(K), random_state=0), 400),
    "Confidit": (lambda: ConfiditClassifier(classes=range(K), random_state=0), 400),
    "Newtron": (lambda: NewtronClassifier(classes=range(K), random_state=0), 40),
}


def learn(model, X, y):
    """Rounds learned, all rewarded: SOBA and Confidit in one batch, the others one by one."""
    if isinstance(model, SecondOrderPerceptron):
        return model.partial_fit(X, y, classes=range(K))
    one = np.ones(len(y))
    if isinstance(model, NewtronClassifier):
        for i in range(len(y)):
            model.update(X[i : i + 1], y[i : i + 1], one[:1], one[:1] / 2)
        return model
    return model.update(X, y, one, one / 2)


def per_round(make, rounds, width, repeat):
    """Median seconds of learning a round, of rows with random labels: most of them update."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * rounds, width - 1)) / np.sqrt(width)
    y = rng.integers(K, size=len(X))
    times = []
    for _ in range(repeat):
        model = learn(make(), X[:rounds], y[:rounds])
        spent = seconds(lambda m=model: learn(m, X[rounds:], y[rounds:]))
        times.append(spent / rounds)
    return np.median(times)


def second_order(repeat):
    sizes = K * np.array(WIDTHS)
    print(f"\nmicroseconds to learn a rewarded round, K={K}, p features with the intercept")
    print(f"{'Kp':24}" + "".join(f"{size:9}" for size in sizes) + "   exponent: all, Kp >= 320")
    for name, (make, rounds) in SECOND_ORDER.items():
        times = [per_round(make, rounds, width, repeat) for width in WIDTHS]
        slopes = [np.polyfit(np.log(sizes[a:]), np.log(times[a:]), 1)[0] for a in (0, 3)]
        cells = "".join(f"{1e6 * t:9.1f}" for t in times)
        print(f"{name:24}{cells}   {slopes[0]:.2f}, {slopes[1]:.2f}", flush=True)
    print("O((Kp)^2) is exponent 2; Confidit's K matrices (p, p) are K times fewer numbers.")
    print(f"Kp={sizes[-1]}: a matrix has {8e-6 * sizes[-1] ** 2:.0f} MB, more than a cache.")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=11)
    repeat = parser.parse_args().repeat
    warnings.simplefilter("error")
    print(f"command: python {' '.join(sys.argv)}")
    print(f"{platform.processor() or platform.machine()}, {psutil.cpu_count()} cores, one thread")
    print(f"medians of {repeat}, in turns; load at start {os.getloadavg()[0]:.2f}\n")
    dense = dense_problem()
    one_pass(f"dense n={N}, p=100, K={CLASSES}", dense, repeat)
    one_pass(f"CSR n={N}, p=100000, 100 non-zeros, K={CLASSES}", sparse_problem(), repeat)
    print()
    simulated(dense, repeat)
    row_by_row(dense)
    second_order(max(3, repeat // 3))


if __name__ == "__main__":
    main()
