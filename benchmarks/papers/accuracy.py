"""Accuracy after one averaged pass with default settings, beside averaged SGDClassifier.

    OMP_NUM_THREADS=1 python benchmarks/accuracy.py > benchmarks/results/accuracy.txt

Mean over 5 random 70/30 splits, features standardised on the training part, rows in random order;
the synthetic problem is that of compare_online.py. Defaults were chosen with the other columns.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import sys

import numpy as np
from compare_online import dense_problem
from data import covtype, load
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from skstructured import OnlineStructuredPredictor
from skstructured.optimizers import AdaptiveGradientDescent, ParameterFree, PiSTOL

LEARNERS = {
    "sgd": SGDClassifier(loss="log_loss", max_iter=1, tol=None, average=True),
    "free": OnlineStructuredPredictor(optimizer="parameter_free", average=True),
    "pistol": OnlineStructuredPredictor(optimizer="pistol", average=True),
    "adaptive": OnlineStructuredPredictor(optimizer="adaptive", average=True),
    "ogd": OnlineStructuredPredictor(average=True),
}
OTHERS = {
    "free 1": ParameterFree(wealth=1.0),
    "free 10": ParameterFree(wealth=10.0),
    "free 1000": ParameterFree(wealth=1000.0),
    "a=2.25": PiSTOL(a=2.25),
    "a=0.125": PiSTOL(a=0.125),
    "a=0.0625": PiSTOL(a=0.0625),
    "a=0.03": PiSTOL(a=0.03),
    "per coord": PiSTOL(per_coordinate=True),
    "B=10": AdaptiveGradientDescent(10.0),
    "B=80": AdaptiveGradientDescent(80.0),
}


def splits():
    """Names and lists of (X, y, X_test, y_test)."""
    sets = {name: (load(name)["X"].astype(float), load(name)["y"]) for name in NAMES}
    sets |= {"digits": load_digits(return_X_y=True), "covtype": covtype(60_000)}
    for name, (X, y) in sets.items():
        parts = []
        for seed in range(5):
            A, B, a, b = train_test_split(X, y, test_size=0.3, random_state=seed)
            scaler = StandardScaler().fit(A)
            parts.append((scaler.transform(A), a, scaler.transform(B), b))
        yield name, parts
    yield "synthetic", [dense_problem(seed=seed) for seed in range(5)]


NAMES = ("letter", "satimage", "segment")


def main():
    learners = LEARNERS | {
        name: OnlineStructuredPredictor(optimizer=optimizer, average=True)
        for name, optimizer in OTHERS.items()
    }
    print(f"command: python {' '.join(sys.argv)}")
    print(f"{'':10}" + "".join(f"{name:>10}" for name in learners) + "   free - sgd, points")
    for name, parts in splits():
        found = {
            which: np.mean([model.fit(A, a).score(B, b) for A, a, B, b in parts])
            for which, model in learners.items()
        }
        cells = "".join(f"{value:10.3f}" for value in found.values())
        print(f"{name:10}{cells}{100 * (found['free'] - found['sgd']):13.1f}", flush=True)


if __name__ == "__main__":
    main()
