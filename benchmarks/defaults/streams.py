"""Streams: the mixture of steps, the optimizer it mixes, SGD, and repeating the last label.

Every row is predicted before it is learned, raw rows in one pass, all at their defaults. Accuracy
in % and log-loss in nats for classes, mean target and surrogate loss for other outputs. SGD is
scikit-learn's, behind a `StandardScaler`, both learning 100 rows at a time. On streams that move
also river's softmax regression behind its scaler, its adaptive Hoeffding tree and its adaptive
random forest (of ten trees), and Vowpal Wabbit with --coin, where these are installed.
"""

import time
import warnings

import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler

from benchmarks._common import Results, arguments
from benchmarks.defaults._streams import moving, still
from skstructured import OnlineStructuredPredictor
from skstructured.evaluation import progressive_validate

#: What is played: the optimizer, the average, and whether its own weights are.
LEARNERS = {
    "mixture": ("mixture", "polynomial", "randomized"),
    "average": ("parameter_free", "polynomial", "predict"),
    "last": ("parameter_free", False, "predict"),
}
BLOCK = 100
RIVER = ("river softmax", "river tree", "river forest")


def played(name, X, y, space="simplex"):
    """Mean target loss, mean surrogate loss without its scale, and µs of a row."""
    optimizer, average, play = LEARNERS[name]
    given = {"optimizer": optimizer, "average": average, "random_state": 0}
    model = OnlineStructuredPredictor(space, decoder="nearest", **given)
    started = time.perf_counter()
    result = progressive_validate(model, X, y, play=play, random_state=0)
    seconds = time.perf_counter() - started
    scale = result.estimator.loss_.scale_
    losses = result.expected_target_loss.mean(), result.surrogate_loss.mean() / scale
    return *losses, 1e6 * seconds / len(y)


def of_sgd(X, y):
    """Error and log-loss of SGD, block by block."""
    scaler, model, labels = StandardScaler(), SGDClassifier(loss="log_loss", random_state=0), None
    labels, codes = np.unique(y, return_inverse=True)
    wrong, loss = 0.0, 0.0
    for start in range(0, len(y), BLOCK):
        rows, truth = X[start : start + BLOCK], codes[start : start + BLOCK]
        q = np.full((len(truth), len(labels)), 1.0 / len(labels))
        if start:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                q = model.predict_proba(scaler.transform(rows))
        wrong += (q.argmax(axis=1) != truth).sum()
        loss -= np.log(np.maximum(q[np.arange(len(truth)), truth], 1e-9)).sum()
        model.partial_fit(
            scaler.partial_fit(rows).transform(rows), truth, classes=np.arange(len(labels))
        )
    return wrong / len(y), loss / len(y)


def of_river(name, X, y):
    """Error and log-loss of a learner of river's, row by row; NaN where it is not installed."""
    try:
        from river import forest, linear_model, preprocessing, tree
    except ImportError:
        return np.nan, np.nan
    if name == "river tree":
        model = tree.HoeffdingAdaptiveTreeClassifier(seed=0)
    elif name == "river forest":
        model = forest.ARFClassifier(seed=0)
    else:
        model = preprocessing.StandardScaler() | linear_model.SoftmaxRegression()
    return row_by_row(model, X, y)


def row_by_row(model, X, y):
    """Error and log-loss of a model of river's, each row predicted before it is learned."""
    names, classes = [f"x{j}" for j in range(X.shape[1])], len(np.unique(y))
    wrong, loss = 0.0, 0.0
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        x = dict(zip(names, row, strict=True))
        q = model.predict_proba_one(x)
        wrong += not q or max(q, key=q.get) != label
        loss -= np.log(max(q.get(label, 0.0), 1e-9) if q else 1.0 / classes)
        model.learn_one(x, label)
    return wrong / len(y), loss / len(y)


def of_vowpal_wabbit(X, y):
    """Error and log-loss of Vowpal Wabbit's coin betting, row by row; NaN where there is none."""
    try:
        from vowpalwabbit import Workspace
    except ImportError:
        return np.nan, np.nan
    labels, codes = np.unique(y, return_inverse=True)
    given = f"--oaa {len(labels)} --coin --loss_function logistic --probabilities --quiet"
    model, wrong, loss = Workspace(given), 0.0, 0.0
    for row, code in zip(X.tolist(), codes.tolist(), strict=True):
        text = "| " + " ".join(f"{j}:{value:.9g}" for j, value in enumerate(row) if value)
        q = np.array(model.predict(text))
        wrong += q.argmax() != code
        loss -= np.log(max(q[code], 1e-9))
        model.learn(f"{code + 1} {text}")
    model.finish()
    return wrong / len(y), loss / len(y)


def repeated(X, y):
    """Error of the label before; it has no log-loss."""
    return float(np.mean(y[1:] != y[:-1])), np.nan


def line_of_classes(out, kind, name, X, y):
    """A line of the table of accuracies and log-losses."""
    found = {which: played(which, X, y) for which in LEARNERS}
    found["SGD"] = of_sgd(X, y)
    if kind == "moving":
        found |= {which: of_river(which, X, y) for which in RIVER}
        found["VW --coin"] = of_vowpal_wabbit(X, y)
    found["last label"] = repeated(X, y)
    cells = [f"{100 - 100 * error:6.2f}/{loss:5.3f}" for error, loss, *_ in found.values()]
    values = {f"{which} accuracy": 1.0 - values[0] for which, values in found.items()}
    values |= {f"{which} log-loss": values_[1] for which, values_ in found.items()}
    line = f"{name:18}" + "".join(f"{cell:>15}" for cell in cells)
    out.add(f"{line}{found['mixture'][2]:8.1f}", kind=kind, set=name, space="simplex", **values)
    return found


def line_of_others(out, name, space, X, y):
    """A line of the table of target and surrogate losses."""
    found = {which: played(which, X, y, space) for which in LEARNERS}
    cells = [f"{target:7.4f}/{loss:7.4f}" for target, loss, _ in found.values()]
    values = {f"{which} target": values[0] for which, values in found.items()}
    values |= {f"{which} surrogate": values_[1] for which, values_ in found.items()}
    line = f"{name:18}" + "".join(f"{cell:>17}" for cell in cells)
    out.add(f"{line}{found['mixture'][2]:8.1f}", kind="still", set=name, space=space, **values)
    return found


def say_head(out, *names):
    """The head of a table of classes."""
    head = "".join(f"{name:>15}" for name in names)
    out.say(f"{'accuracy/log-loss':18}{head}  µs of the mixture's row")


def say_ratios(out, kind, found):
    """By how much the losses of the mixture are smaller than those of the average."""
    ratios = np.array([one["mixture"][1] / one["average"][1] for one in found])
    mean = np.exp(np.log(ratios).mean())
    out.say(
        f"{kind}: loss of the mixture over that of the average {mean:.3f}, most {ratios.max():.3f}"
    )


def main():
    """Print the tables."""
    args = arguments(__doc__)
    with Results(__file__, args) as out:
        say_head(out, *LEARNERS, "SGD", *RIVER, "VW --coin", "last label")
        found = [line_of_classes(out, "moving", *stream) for stream in moving(args.quick)]
        say_ratios(out, "moving", found)
        sets = list(still(args.quick))
        plain = [one for one in sets if one[1] == "simplex"]
        say_head(out, *LEARNERS, "SGD", "last label")
        found = [line_of_classes(out, "still", name, X, y) for name, _, X, y in plain]
        out.say(f"{'target/surrogate':18}" + "".join(f"{name:>17}" for name in LEARNERS))
        found += [line_of_others(out, *one) for one in sets if one[1] != "simplex"]
        say_ratios(out, "still", found)


if __name__ == "__main__":
    main()
