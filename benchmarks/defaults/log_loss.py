"""Log loss of one pass, raw features, defaults: second order, first order, and what others use.

Every row is predicted before it is learned. Beside each set's mean log loss is that of
LogisticRegression on standardised features, five folds, which sees 80% of the rows many times.
Rows of river_shuttle, river_phishing, satimage, segment and letter are shuffled, elec2's are in
their order. River's learners come with its StandardScaler, as its guides have it; SGDClassifier
gets raw rows and rows standardised beforehand. Needs `pip install river`.
"""

import time
import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from benchmarks._common import Results, arguments
from benchmarks.data import load
from skstructured import (
    FolkloreClassifier,
    GaussianAggregatingForecaster,
    OnlineNewtonClassifier,
    OnlineStructuredPredictor,
)
from skstructured._learners.models import Record
from skstructured.spaces.simplex import log_softmax

SETS = ("elec2", "satimage", "segment", "river_shuttle", "river_phishing", "letter")
LEAST = 1e-15

OURS = {
    "FOLKLORE": FolkloreClassifier,
    "FOLKLORE, B=(.25, 1, 4, 16)": lambda: FolkloreClassifier(radius=(0.25, 1.0, 4.0, 16.0)),
    "Gaussian forecaster": lambda: GaussianAggregatingForecaster(random_state=0),
    "online Newton": OnlineNewtonClassifier,
    "first order (default)": lambda: OnlineStructuredPredictor(max_iter=1, shuffle=False),
}


def stream(name, quick):
    """Rows and class numbers of a set, in the order they are learned."""
    arrays = load(name)
    X, y = arrays["X"].astype(float), np.unique(arrays["y"], return_inverse=True)[1]
    X, y = (X[:8000], y[:8000]) if name == "letter" else (X, y)
    order = np.arange(len(y)) if name == "elec2" else np.random.RandomState(0).permutation(len(y))
    order = order[:500] if quick else order
    return X[order], np.unique(y[order], return_inverse=True)[1]


def ours(model, X, y):
    """Log losses of our learners, which play what comes before its round."""
    rounds = model.begin(X, y)
    if isinstance(model, OnlineStructuredPredictor):
        losses, played = [], []
        model.learn_blocks(
            rounds, np.arange(len(y)), lambda block, _: played.append(block.theta), Record.SCORES
        )
        logs = log_softmax(np.concatenate(played))
        losses = -logs[np.arange(len(y)), y]
    else:
        losses = model.play_and_learn(rounds, np.arange(len(y))).surrogate * np.log(2.0)
    return losses


def sgd(X, y):
    """Log losses of `SGDClassifier`, row by row."""
    model, K, losses = SGDClassifier(loss="log_loss", random_state=0), y.max() + 1, []
    for i in range(len(y)):
        p = model.predict_proba(X[i : i + 1])[0, y[i]] if i else 1.0 / K
        losses.append(-np.log(max(p, LEAST)))
        model.partial_fit(X[i : i + 1], y[i : i + 1], classes=np.arange(K))
    return np.array(losses)


def river(make, X, y):
    """Log losses of one of river's learners."""
    model, K, losses = make(), y.max() + 1, []
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        x = dict(enumerate(row))
        p = model.predict_proba_one(x).get(label, 0.0) if losses else 1.0 / K
        losses.append(-np.log(max(p, LEAST)))
        model.learn_one(x, label)
    return np.array(losses)


def peers(K):
    """Name -> task (X, y) -> log losses, of what others use."""
    from river import linear_model, multiclass, preprocessing

    def scaled(model):
        return lambda: preprocessing.StandardScaler() | model()

    softmax, logistic = linear_model.SoftmaxRegression, linear_model.LogisticRegression
    binary = logistic if K == 2 else lambda: multiclass.OneVsRestClassifier(logistic())
    to_bool = (lambda y: y.astype(bool)) if K == 2 else (lambda y: y)
    return {
        "river softmax": lambda X, y: river(scaled(softmax), X, y),
        "river logistic": lambda X, y: river(scaled(binary), X, to_bool(y)),
        "SGDClassifier, raw": sgd,
        "SGDClassifier, standardised": lambda X, y: sgd(scale(X), y),
    }


def offline(X, y):
    """Log losses of LogisticRegression on held-out folds."""
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    p = cross_val_predict(model, X, y, cv=folds, method="predict_proba")
    return -np.log(np.maximum(p[np.arange(len(y)), y], LEAST))


def main():
    """Print the table."""
    args = arguments(__doc__)
    with Results(__file__, args) as results, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in SETS:
            X, y = stream(name, args.quick)
            K = int(y.max()) + 1
            results.say(f"\n{name}: {len(y)} rows, {X.shape[1]} features, {K} classes")
            tasks = {label: lambda X, y, m=m: ours(m(), X, y) for label, m in OURS.items()}
            for label, task in (tasks | peers(K) | {"offline": offline}).items():
                started = time.perf_counter()
                losses = task(X, y)
                took = time.perf_counter() - started
                line = (
                    f"  {label:<29}{losses.mean():8.4f}{np.exp(-losses).mean():8.3f}{took:8.1f} s"
                )
                results.add(line, set=name, learner=label, log_loss=losses.mean(), seconds=took)


if __name__ == "__main__":
    main()
