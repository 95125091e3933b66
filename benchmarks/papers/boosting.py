"""One pass of AdaBoost.OLM++ against batch AdaBoost with trees as deep, and against one tree.

Accuracy in % on a quarter of the rows; Proposition 4.4 promises that mistakes fall with the edges.
Vowpal Wabbit's --boosting of linear learners, one against all, plays too where VW_PYTHON names an
interpreter that has its wheel.
"""

import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from benchmarks._common import Results, arguments
from benchmarks.data import load
from skstructured import AdaBoostOLMClassifier, OnlineTreeClassifier

DEPTHS, SEEDS, MANY = (3, 4, 5), 3, 400
VW = """
import sys, numpy as np, vowpalwabbit
data = np.load(sys.argv[1])
vw = vowpalwabbit.Workspace(f"--oaa {data['K']} --boosting 10 --alg {sys.argv[2]} --quiet")
row = lambda x: "| " + " ".join(f"{i}:{v:.6g}" for i, v in enumerate(x))
for x, y in zip(data["X"], data["y"]):
    vw.learn(f"{y + 1} {row(x)}")
print(np.mean([vw.predict(row(x)) == y + 1 for x, y in zip(data["Z"], data["truth"])]))
"""


def grid_of_squares(n):
    """A chess board of four classes over two of six features, with a tenth of the labels random."""
    rng = np.random.RandomState(0)
    X = rng.rand(n, 6)
    y = (4 * X[:, 0]).astype(int) % 2 + 2 * ((4 * X[:, 1]).astype(int) % 2)
    return X, np.where(rng.rand(n) < 0.1, rng.randint(4, size=n), y)


def sets(quick):
    for name in ("segment",) if quick else ("segment", "satimage", "letter"):
        arrays = load(name)
        yield name, arrays["X"].astype(float), np.unique(arrays["y"], return_inverse=True)[1]
    yield "chess", *grid_of_squares(2000 if quick else 20_000)


def timed(model, X, y, Z, truth):
    """Accuracy in %, and seconds to fit."""
    started = time.perf_counter()
    model.fit(X, y)
    return 100 * model.score(Z, truth), time.perf_counter() - started


def learners(depth, seed):
    """Names and learners of a depth."""
    tree, batch = OnlineTreeClassifier(depth, random_state=seed), DecisionTreeClassifier
    yield "one online tree", tree
    yield "one batch tree", batch(max_depth=depth, random_state=seed)
    yield "AdaBoostOLM, one pass", AdaBoostOLMClassifier(tree, random_state=seed)
    shallow = batch(max_depth=depth, random_state=seed)
    yield "AdaBoost, batch", AdaBoostClassifier(shallow, n_estimators=50, random_state=seed)


def compare(name, X, y, out):
    """Every depth on a data set."""
    for depth in DEPTHS:
        found = {}
        for seed in range(SEEDS):
            for label, model in learners(depth, seed):
                split = train_test_split(X, y, random_state=seed)
                found.setdefault(label, []).append(timed(model, *split[::2], *split[1::2]))
        means = {label: np.mean(values, axis=0) for label, values in found.items()}
        ratio = means["AdaBoostOLM, one pass"][0] / means["AdaBoost, batch"][0]
        for label, (accuracy, seconds) in means.items():
            line = f"{name:10} depth {depth}  {label:24}{accuracy:6.1f} %{seconds:8.2f} s"
            row = {"set": name, "depth": depth, "learner": label, "accuracy": accuracy}
            out.add(line, **row, seconds=seconds)
        out.say(f"{'':20}one pass is {100 * ratio:.0f} % of batch")


def many(name, X, y, out):
    """Many trees of depth 3, which are right 40 % of the time, against batch AdaBoost of 50."""
    found = []
    for seed in range(SEEDS):
        split = train_test_split(X, y, random_state=seed)
        tree = OnlineTreeClassifier(3, random_state=seed)
        boosted = AdaBoostOLMClassifier(tree, n_estimators=MANY, random_state=seed)
        shallow = DecisionTreeClassifier(max_depth=3, random_state=seed)
        batch = AdaBoostClassifier(shallow, n_estimators=50, random_state=seed)
        pair = [timed(m, *split[::2], *split[1::2]) for m in (boosted, batch)]
        found.append([number for both in pair for number in both])
    accuracy, seconds, best, _ = np.mean(found, axis=0)
    line = f"{name:10} depth 3  {MANY} trees, one pass{accuracy:10.1f} %{seconds:8.2f} s"
    row = {"set": name, "depth": 3, "learner": f"{MANY} trees", "accuracy": accuracy}
    out.add(f"{line}, {100 * accuracy / best:.0f} % of batch", **row, seconds=seconds)


def others(name, X, y, out, most=400):
    """Weak learners of scikit-learn, standardised, ten of them; Vowpal Wabbit."""
    X, Z, y, truth = train_test_split(X, y, random_state=0)
    scaler = StandardScaler().fit(X)
    X, Z = scaler.transform(X), scaler.transform(Z)
    for weak in (None, SGDClassifier(), GaussianNB()):
        model = AdaBoostOLMClassifier(weak, n_estimators=10, random_state=0)
        with np.errstate(all="ignore"):
            accuracy, seconds = timed(model, X[:most], y[:most], Z[:most], truth[:most])
        label = f"10 of {type(weak).__name__ if weak is not None else 'the default'}, {most} rows"
        line = f"{name:10} {label:34}{accuracy:6.1f} %{seconds:8.2f} s"
        out.add(line, set=name, learner=label, accuracy=accuracy, seconds=seconds)
    for kind in ("BBM", "logistic", "adaptive"):
        accuracy = vowpal_wabbit(kind, X, y, Z, truth)
        if accuracy is not None:
            label = f"Vowpal Wabbit, 10 of {kind}"
            line = f"{name:10} {label:34}{accuracy:6.1f} %"
            out.add(line, set=name, learner=label, accuracy=accuracy)


def vowpal_wabbit(kind, X, y, Z, truth):
    """Accuracy in % of ``vw --oaa K --boosting 10 --alg kind`` after one pass; None without it."""
    python = os.environ.get("VW_PYTHON")
    if python is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npz"
        np.savez(path, X=X, y=y, Z=Z, truth=truth, K=y.max() + 1)
        command = [python, "-c", VW, str(path), kind]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return 100 * float(done.stdout) if done.returncode == 0 else None


def main():
    args = arguments(__doc__)
    with Results(__file__, args) as out:
        for name, X, y in sets(args.quick):
            compare(name, X, y, out)
            if name == "chess" and not args.quick:
                many(name, X, y, out)
            others(name, X, y, out)


if __name__ == "__main__":
    main()
