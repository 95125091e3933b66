"""All passes of `KernelStructuredPredictor().fit`, beside another commit, `SVC()`, and a search.

``python -m benchmarks.speed.kernel_passes COMMIT`` makes a work tree of COMMIT. Everything is at
its defaults, `SVC` behind a `StandardScaler`. One process for each package and set; seconds of
`fit` are medians over turns, the first of which, that may compile, is not counted. The search is
over 5 C and 4 γ in 5 folds, once. Points are of rows that were not learned, 4,000 at most.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks._common import ROOT, Results, git
from benchmarks._timing import median_seconds, timed
from benchmarks.data import load

SETS = {"segment": 1800, "satimage": 4400, "pendigits": 6000, "letter": 10_000}
FEW, NEW = 500, 4000
GRID = {"svc__C": 10.0 ** np.arange(-1, 4), "svc__gamma": 10.0 ** np.arange(-3, 1)}

OURS = """
import json, sys
import numpy as np
from benchmarks._timing import median_seconds
from benchmarks.speed.kernel_passes import halves
from skstructured import KernelStructuredPredictor
name, n, repeat = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
X, y, X_new, y_new = halves(name, n)
model = KernelStructuredPredictor(random_state=0)
seconds = median_seconds(lambda: model.fit(X, y), repeat)
print(json.dumps([seconds, 100 * model.score(X_new, y_new)]))
"""


def halves(name, n):
    """Rows to learn, and others; of pen digits the digit is the first of the ranking."""
    arrays = load("ranking_pendigits" if name == "pendigits" else name)
    X = arrays["X"].astype(float)
    y = arrays["order"][:, 0] if name == "pendigits" else arrays["y"]
    order = np.random.RandomState(0).permutation(len(X))
    first, second = order[:n], order[n : n + NEW]
    return X[first], y[first], X[second], y[second]


def ours(folder, name, n, repeat):
    """Seconds and points of the package of a folder, by this checkout's benchmarks."""
    with tempfile.TemporaryDirectory() as site:
        for part, where in (("skstructured", folder), ("benchmarks", ROOT)):
            (Path(site) / part).symlink_to(Path(where) / part)
        data = os.environ.get("SKSTRUCTURED_DATA", str(ROOT.parent / "shared" / "data"))
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", OURS, name, str(n), str(repeat)],
            env={**os.environ, "PYTHONPATH": site, "SKSTRUCTURED_DATA": data},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            cwd=site,
        )
    return json.loads(done.stdout)


def peers(name, n, repeat):
    """Seconds and points of `SVC()`, and of the search."""
    X, y, X_new, y_new = halves(name, n)
    plain = make_pipeline(StandardScaler(), SVC())
    seconds = median_seconds(lambda: plain.fit(X, y), repeat)
    search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), GRID, cv=5)
    _, searched = timed(lambda: search.fit(X, y))
    return (seconds, 100 * plain.score(X_new, y_new)), (searched, 100 * search.score(X_new, y_new))


def compared(out, name, n, folders, repeat):
    """A line about a set."""
    now, then = (ours(folder, name, n, repeat) for folder in folders)
    svc, search = peers(name, n, repeat)
    line = f"{name:10} {n:6} | " + " | ".join(
        f"{seconds:7.3f} s {points:6.2f}" for seconds, points in (now, then, svc, search)
    )
    ratios = then[0] / now[0], now[0] / svc[0], search[0] / now[0]
    out.add(
        f"{line} | {ratios[0]:5.1f} {ratios[1]:5.1f} {ratios[2]:6.1f}",
        data=name,
        n=n,
        now_s=now[0],
        then_s=then[0],
        svc_s=svc[0],
        searched_s=search[0],
        now=now[1],
        then=then[1],
        svc=svc[1],
        searched=search[1],
        faster=ratios[0],
        over_svc=ratios[1],
        below_search=ratios[2],
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="few rows, not kept in results/")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Results(__file__, args) as out:
        here, other = Path(folder) / "now", Path(folder) / "then"
        for path, name in ((here, "HEAD"), (other, args.commit)):
            git("worktree", "add", "--detach", str(path), name)
        try:
            out.say(f"seconds of fit, points | now | {args.commit[:8]} | SVC() | SVC searched")
            out.say("then: times faster than before, times SVC()'s, times faster than the search")
            for name, n in SETS.items():
                compared(out, name, FEW if args.quick else n, (here, other), args.repeat)
        finally:
            for path in (here, other):
                git("worktree", "remove", "--force", str(path))


if __name__ == "__main__":
    main()
