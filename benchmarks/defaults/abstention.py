"""Mean cost of a row with abstention, by how opinions are calibrated (docs/abstention.md)."""

import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import shuffle

from benchmarks._common import Results, arguments
from skstructured import AbstainingHedgeClassifier


def copies():
    """Four columns, each five times."""
    rng = np.random.RandomState(0)
    X = rng.randn(3000, 4)
    y = (rng.rand(3000) < 1 / (1 + np.exp(-1.2 * X.sum(axis=1)))).astype(int)
    return np.hstack([X] * 5), y


def wrong_labels():
    """A fifth of the labels drawn anew, half of them wrong."""
    return make_classification(1200, 20, n_informative=5, flip_y=0.2, random_state=0)


def odd_digits():
    """Digits, odd or even."""
    X, y = shuffle(*load_digits(return_X_y=True), random_state=0)
    return X, y % 2


def cancer(n=569):
    """The first n rows of the breast cancer data."""
    X, y = shuffle(*load_breast_cancer(return_X_y=True), random_state=0)
    return X[:n], y[:n]


DATA = {
    "copies": copies,
    "wrong labels": wrong_labels,
    "digits": odd_digits,
    "cancer": cancer,
    "cancer, 120": lambda: cancer(120),
}
EXPERTS = {
    "two": [LogisticRegression(max_iter=2000), GaussianNB()],
    "three": [GaussianNB(), KNeighborsClassifier(), DecisionTreeClassifier(random_state=0)],
}


def cost(experts, c, calibrate, X, y):
    """Mean cost of the second half, learned on the first."""
    half = len(y) // 2
    model = AbstainingHedgeClassifier(experts, abstention_cost=c, calibrate=calibrate)
    model.fit(X[:half], y[:half])
    wrong = model.predict(X[half:]) != y[half:]
    return np.where(model.abstains(X[half:]), c, wrong).mean()


def main():
    """Print the table."""
    args = arguments(__doc__)
    warnings.simplefilter("ignore")  # of logistic regression on raw columns
    columns = [(c, how) for c in (0.1, 0.3) for how in (None, "sigmoid", "isotonic")]
    with Results(__file__, args) as results:
        results.say("mean cost of a new row; c: " + ", ".join(f"{c} {how}" for c, how in columns))
        for name, draw in DATA.items():
            for kind, experts in EXPERTS.items():
                costs = [cost(experts, c, how, *draw()) for c, how in columns]
                line = " ".join(f"{value:.3f}" for value in costs)
                named = {f"{c} {how}": v for (c, how), v in zip(columns, costs, strict=True)}
                results.add(f"{name:14}{kind:7}{line}", data=name, experts=kind, **named)


if __name__ == "__main__":
    main()
