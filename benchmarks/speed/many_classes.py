"""FOLKLORE over many classes beside another commit: log-loss and time of one pass, raw rows.

``python -m benchmarks.speed.many_classes COMMIT`` makes a work tree of COMMIT and starts a process
in each in turns. Seven tenths of the rows are learned in one pass; log-losses in nats while
learning, and of the others; microseconds of the processor a row. Vowpal Wabbit, where it is
installed, learns rows standardised beforehand, ``--oaa K --probabilities``, at its other defaults.

Then 50, 200 and 600 classes of 20 features, drawn, with ``structure="classes"``: a block of A for
each. Their rows are few where the other commit takes long: the same for both, from the first on.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from benchmarks._common import Results, two_commits
from benchmarks.data import load

ONE_PASS = """
import sys, time
import numpy as np
from skstructured import FolkloreClassifier
from skstructured.evaluation import progressive_validate
with np.load(sys.argv[1]) as z:
    X, y, X_new, y_new, K = z["X"], z["y"], z["X_new"], z["y_new"], int(z["K"])
FolkloreClassifier().partial_fit(X, y, classes=range(K))  # compiles
started = time.process_time()
model = FolkloreClassifier().partial_fit(X, y, classes=range(K))
seconds = time.process_time() - started
lost = np.log(model.predict_proba(X_new)[np.arange(len(y_new)), y_new]).mean()
run = progressive_validate(FolkloreClassifier(), X, y, classes=range(K))
told = run.surrogate_loss.mean() * np.log(2.0)
print(1e6 * seconds / len(y), told, -lost)
"""

FEW_ROWS = """
import sys, time
import numpy as np
from skstructured import FolkloreClassifier
K, n = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.RandomState(0)
X, W = rng.randn(n, 20), rng.randn(20, K)
y = np.argmax(X @ W + rng.gumbel(size=(n, K)), axis=1)
FolkloreClassifier(structure="classes").partial_fit(X, y, classes=range(K))  # compiles
model = FolkloreClassifier(structure="classes").partial_fit(X[:2], y[:2], classes=range(K))
started = time.process_time()
model.partial_fit(X[2:], y[2:])
seconds = time.process_time() - started
lost = np.log(model.predict_proba(X)[np.arange(n), y]).mean()
print(1e6 * seconds / (n - 2), -lost)
"""

#: Classes, and how many rows of them.
CLASSES = ((50, 1000), (200, 200), (600, 12))


def sets():
    """Name, rows, codes of classes; in random order."""
    z = load("letter")
    digits, abalone = load_digits(return_X_y=True), load("abalone")
    found = [("letter", z["X"], z["y"]), ("digits", *digits)]
    for name, X, y in [*found, ("abalone", abalone["X"], abalone["y_cont"])]:
        order = np.random.RandomState(0).permutation(len(y))
        yield name, X[order].astype(float), np.unique(y, return_inverse=True)[1][order]


def printed(folder, script, *given):
    """The numbers that a script prints with the package of a folder."""
    site = Path(f"{folder}_site")
    if not site.exists():
        site.mkdir()
        (site / "skstructured").symlink_to(Path(folder) / "skstructured")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script, *map(str, given)],
        env={**os.environ, "PYTHONPATH": str(site), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=site,
    )
    return [float(word) for word in done.stdout.split()]


def of_vowpal_wabbit(X, y, K):
    """Microseconds a row of one pass; None where it is not installed."""
    try:
        from vowpalwabbit import Workspace
    except ImportError:
        return None
    lines = [
        f"{label + 1} | " + " ".join(f"{j}:{x:.6g}" for j, x in enumerate(row))
        for row, label in zip(StandardScaler().fit_transform(X), y, strict=True)
    ]
    model = Workspace(f"--oaa {K} --probabilities --quiet")
    examples = [model.parse(line) for line in lines]
    started = time.process_time()
    for example in examples:
        model.learn(example)
    return 1e6 * (time.process_time() - started) / len(y)


def compared(out, name, X, y, folders, repeat):
    m, K = int(0.7 * len(y)), int(y.max()) + 1
    with tempfile.TemporaryDirectory() as where:
        path = Path(where) / "rows.npz"
        np.savez(path, X=X[:m], y=y[:m], X_new=X[m:], y_new=y[m:], K=K)
        found = [[printed(one, ONE_PASS, path) for one in folders] for _ in range(repeat)]
    found = np.array(found)
    now, then = np.median(found, axis=0)
    ratio = np.median(found[:, 1, 0] / found[:, 0, 0])
    other = of_vowpal_wabbit(X[:m], y[:m], K)
    beside = "" if other is None else f" {other:8.1f}"
    text = f"{name:10s} {K:3d} {now[0]:8.1f} {then[0]:8.1f} {ratio:6.2f}{beside}   "
    text += f"{now[1]:.4f} {then[1]:.4f}   {now[2]:.4f} {then[2]:.4f}"
    row = {"now_us": now[0], "then_us": then[0], "ratio": ratio, "vw_us": other}
    out.add(
        text, data=name, K=K, **row, told=now[1], told_then=then[1], new=now[2], new_then=then[2]
    )


def of_drawn(out, K, n, folders, repeat):
    """A line about K classes with a block of A for each."""
    found = [[printed(one, FEW_ROWS, K, n) for one in folders] for _ in range(repeat)]
    now, then = np.median(found, axis=0)
    ratio = np.median([pair[1][0] / pair[0][0] for pair in found])
    text = f"{'drawn':10s} {K:3d} {now[0]:8.1f} {then[0]:8.1f} {ratio:6.1f}"
    text += f"            {now[1]:.4f} {then[1]:.4f}"
    row = {"now_us": now[0], "then_us": then[0], "ratio": ratio}
    out.add(text, data="drawn", K=K, **row, told=now[1], told_then=then[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit")
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    args.quick = False
    with two_commits(args.commit) as folders, Results(__file__, args) as out:
        out.say("data         K  now, us     then  times  Wabbit   loss, then      new rows, then")
        for name, X, y in sets():
            compared(out, name, X, y, folders, args.repeat)
        out.say("a block of A for each class; losses of the rows learned")
        for K, n in CLASSES:
            of_drawn(out, K, n, folders, args.repeat)


if __name__ == "__main__":
    main()
