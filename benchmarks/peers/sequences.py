"""Label sequences with dense features: the mixture beside linear chains, forests and MLPs.

Letters of words (Taskar, Guestrin, Koller), learned from one fold of ten or from three and tested
on the rest; exercises of ten people with a smartwatch, in windows of a second, one after the other
in random order, learned from five people and tested on the others (of the package seglearn); and
simulated sequences: rings of three sizes, labels that depend on two products of
the row before, and means of labels with noise, which is linear. The share of wrong labels, with
probabilities' log-loss per position, and seconds of a fit on two cores. Forests and MLPs get
windows: each row with those before and after it. Means over seeds, with standard errors.
"""

import importlib.util
import itertools
import time
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks._common import Results, arguments
from benchmarks.data import load
from skstructured import ConditionalRandomField, OnlineStructuredPredictor, StructuredPredictor

LENGTH, SEQUENCES, SECOND = 12, 150, 50


def letters(folds):
    """Words to learn, of some folds beginning with the seed, and words of the others to test."""

    def drawn(seed):
        z = load("ocr")
        rows = np.split(z["X"].astype(float), np.cumsum(z["lengths"])[:-1])
        labels = np.split(z["y"].astype(int), np.cumsum(z["lengths"])[:-1])
        learned = np.isin(z["fold"], (seed + np.arange(folds)) % 10)
        return [
            [part[i] for i in np.flatnonzero(which)]
            for which in (learned, ~learned)
            for part in (rows, labels)
        ]

    return drawn


def exercises(seed):
    """Sessions of people with a watch: means and deviations of seconds, and the exercise."""
    file = Path(importlib.util.find_spec("seglearn").origin).parent / "data" / "watch_dataset.npy"
    given, rng = np.load(file, allow_pickle=True).item(), np.random.RandomState(seed)
    learned, parts = rng.permutation(np.unique(given["subject"]))[:5], [[], [], [], []]
    for subject, side in itertools.product(np.unique(given["subject"]), (0, 1)):
        session = np.flatnonzero((given["subject"] == subject) & (given["side"] == side))
        rows, labels = [], []
        for i in rng.permutation(session):
            n = len(given["X"][i]) // SECOND
            seconds = given["X"][i][: n * SECOND].reshape(n, SECOND, -1)
            rows.append(np.hstack([seconds.mean(axis=1), seconds.std(axis=1)]))
            labels.append(np.full(n, given["y"][i]))
        place = 0 if subject in learned else 2
        parts[place].append(np.concatenate(rows))
        parts[place + 1].append(np.concatenate(labels))
    return parts


def lasting(rng, k):
    """Labels that mostly stay."""
    y = [rng.randint(k)]
    for _ in range(LENGTH - 1):
        y.append(y[-1] if rng.rand() < 0.6 else rng.randint(k))
    return np.array(y)


def rings(rng):
    y = lasting(rng, 3)
    radius, angle = 1.0 + y + 0.45 * rng.randn(LENGTH), 2.0 * np.pi * rng.rand(LENGTH)
    round_ = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return np.column_stack([round_, rng.randn(LENGTH, 3)]), y


def late(rng):
    x = rng.randn(LENGTH, 6)
    return x, np.r_[0, 2 * (x[:-1, 0] * x[:-1, 1] > 0) + (x[:-1, 2] > 0)]


def linear(rng):
    y = lasting(rng, 4)
    return np.random.RandomState(99).randn(4, 10)[y] + 2.0 * rng.randn(LENGTH, 10), y


def simulated(make):
    """Sequences to learn, and as many to test."""

    def drawn(seed):
        rng = np.random.RandomState(seed)
        parts = [[make(rng) for _ in range(SEQUENCES)] for _ in range(2)]
        return [[one[place] for one in part] for part in parts for place in range(2)]

    return drawn


#: Name -> what draws sequences and labels to learn and to test, and how often.
SETS = {
    "letters, 1 fold": (letters(1), 2),
    "letters, 3 folds": (letters(3), 1),
    "watches": (exercises, 3),
    "rings": (simulated(rings), 5),
    "late labels": (simulated(late), 5),
    "linear": (simulated(linear), 5),
}


class Windows:
    """A classifier of positions, each with the rows before and after it."""

    def __init__(self, model):
        self.model = model

    @staticmethod
    def _rows(X):
        beside = [np.vstack([0 * x[:1], x, 0 * x[:1]]) for x in X]
        return np.vstack([np.hstack([b[1:-1], b[:-2], b[2:]]) for b in beside])

    def fit(self, X, y):
        self.model.fit(self._rows(X), np.concatenate(y))
        return self

    def predict_marginals(self, X):
        proba = self.model.predict_proba(self._rows(X))
        return np.split(proba, np.cumsum([len(x) for x in X])[:-1])


LEARNERS = {
    "StructuredPredictor": lambda: StructuredPredictor("sequence", n_jobs=2, random_state=0),
    "OnlineStructuredPredictor": lambda: OnlineStructuredPredictor("sequence", random_state=0),
    "ConditionalRandomField": lambda: ConditionalRandomField(random_state=0),
    "random forest": lambda: Windows(RandomForestClassifier(300, n_jobs=2, random_state=0)),
    "MLP": lambda: Windows(make_pipeline(StandardScaler(), MLPClassifier(random_state=0))),
}


def judged(make, X, y, X_new, y_new):
    """Share of wrong labels, log-loss of a position, and seconds of a fit."""
    started = time.perf_counter()
    model = make().fit(X, y)
    seconds = time.perf_counter() - started
    known, truth = np.unique(np.concatenate(y)), np.concatenate(y_new)
    proba = np.concatenate(model.predict_marginals(X_new))
    wrong = np.mean(known[proba.argmax(axis=1)] != truth)
    right = proba[np.arange(len(truth)), np.searchsorted(known, truth)]
    return wrong, -np.mean(np.log(np.maximum(right, 1e-12))), seconds


def main():
    """Print the table."""
    args = arguments(__doc__)
    with Results(__file__, args) as out:
        for title, (draw, times) in SETS.items():
            missing = title == "watches" and importlib.util.find_spec("seglearn") is None
            if missing or (args.quick and title.startswith("letters")):
                continue
            out.say(f"\n{title:28}   wrong       ±  log-loss  seconds")
            for name, make in LEARNERS.items():
                found = np.array(
                    [judged(make, *draw(s)) for s in range(1 if args.quick else times)]
                )
                wrong, loss, seconds = found.mean(axis=0)
                error = found[:, 0].std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
                row = {"wrong": wrong, "error": error, "log_loss": loss, "s": seconds}
                text = f"{name:28}{wrong:8.4f}{error:8.4f}{loss:10.4f}{seconds:9.2f}"
                out.add(text, table=title, name=name, **row)


if __name__ == "__main__":
    main()
