"""Several passes of a kernel learner, beside `SVC` at its default and one that is searched.

Both at their defaults, rows of `SVC` standardised first. Seconds are medians over turns, and what
is searched (5 C x 4 gamma, five folds, refit) is timed once. Ratios are of seconds to those of
`SVC()`, and of the search to ours. With --before, the same learner of another checkout, which is
run in turn in a process of its own.
"""

import subprocess
import sys
import time

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks._common import Results, arguments
from benchmarks._timing import seconds, timed
from benchmarks.data import load
from skstructured import KernelStructuredPredictor

SETS = {"segment": 2310, "satimage": 4435, "pendigits": 6000, "letter": 10_000}

#: Sets that fit a search of `SVC` into minutes.
SEARCHED = ("segment", "satimage", "pendigits")

#: Rows that are learned first, so many that all is compiled that more rows need.
WARM = 1100

GRID = {"svc__C": [0.1, 1.0, 10.0, 100.0, 1000.0], "svc__gamma": [0.01, 0.03, 0.1, 0.3]}


def problem(name, quick):
    """Rows and classes; of pen digits the class is the digit that is ranked first."""
    arrays = load(f"ranking_{name}" if name == "pendigits" else name)
    X = arrays["X"].astype(np.float64)
    y = arrays["rank"].argmin(axis=1) if name == "pendigits" else arrays["y"]
    most = 400 if quick else SETS[name]
    order = np.random.RandomState(0).permutation(len(X))[:most]
    return X[order], y[order]


def svc():
    return make_pipeline(StandardScaler(), SVC())


def ours():
    return KernelStructuredPredictor(random_state=0)


def child(name, quick):
    """Print our seconds of one fit of a set, after a small one; what a checkout is asked for."""
    X, y = problem(name, quick)
    ours().fit(X[:WARM], y[:WARM])
    print(timed(lambda: ours().fit(X, y))[1])


def before(folder, name, quick):
    """Seconds of the same learner in another checkout."""
    run = f"from benchmarks.speed.kernel_passes import child; child({name!r}, {quick})"
    load_it = (
        "import sys, importlib.util as u; sys.path.insert(0, sys.argv[1]);"
        "s = u.spec_from_file_location('benchmarks.speed.kernel_passes', sys.argv[2]);"
        "m = u.module_from_spec(s); sys.modules[s.name] = m; s.loader.exec_module(m);" + run
    )
    told = subprocess.run(
        [sys.executable, "-c", load_it, folder, __file__],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    return float(told.stdout)


def row(out, name, args):
    """All seconds of one set."""
    X, y = problem(name, args.quick)
    ours().fit(X[:WARM], y[:WARM])
    tasks = [lambda: svc().fit(X, y), lambda: ours().fit(X, y)]
    turns = [[seconds(task) for task in tasks] for _ in range(args.repeat)]
    times = np.median(turns, axis=0)
    found = {"svc": times[0], "ours": times[1], "ratio": times[1] / times[0]}
    if args.before:
        found["before"] = before(args.before, name, args.quick)
    if name in SEARCHED:
        search = GridSearchCV(svc(), GRID, cv=5)
        found["searched"] = timed(lambda: search.fit(X, y))[1]
        found["searched_ratio"] = found["searched"] / times[1]
    text = " ".join(f"{key} {value:8.3f}" for key, value in found.items())
    out.add(f"{name:10} {len(X):6} rows {text}", table="passes", data=name, n=len(X), **found)


def main():
    args = arguments(__doc__, repeat=3, before={"default": None, "help": "another checkout"})
    started = time.perf_counter()
    with Results(__file__, args) as out:
        for name in SETS:
            row(out, name, args)
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
