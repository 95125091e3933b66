"""OnlineStructuredPredictor beside SGDClassifier: speed, memory, start-up, accuracy.

    OMP_NUM_THREADS=1 python benchmarks/compare_online.py > benchmarks/results/compare_online.txt

Both learners see the same arrays in one process and take turns, one pass each; a line gives the
median of the repetitions. Flops count one score and one update of every weight a row touches.
"""

import argparse
import os
import platform
import subprocess
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import psutil
from scipy import sparse
from sklearn.linear_model import SGDClassifier

from skstructured import OnlineStructuredPredictor

N, CLASSES, NON_ZEROS = 20_000, 10, 100


def labels(scores, rng):
    """Labels of a linear model with noise, so that accuracies mean something."""
    return np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)


def dense_problem(p=100, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * N, p))
    y = labels(X @ rng.normal(size=(p, CLASSES)) * 0.5, rng)
    return X[:N], y[:N], X[N:], y[N:]


def sparse_problem(p=100_000, seed=0):
    rng = np.random.default_rng(seed)
    indices = rng.integers(0, p, size=2 * N * NON_ZEROS).astype(np.int32)
    indptr = np.arange(0, 2 * N * NON_ZEROS + 1, NON_ZEROS, dtype=np.int32)
    X = sparse.csr_matrix((rng.normal(size=len(indices)), indices, indptr), shape=(2 * N, p))
    X.sum_duplicates()
    y = labels(X @ rng.normal(size=(p, CLASSES)) * 0.5, rng)
    return X[:N], y[:N], X[N:], y[N:]


def sgd():
    return SGDClassifier(loss="log_loss", max_iter=1, tol=None, random_state=0)


def seconds(task):
    started = time.perf_counter()
    task()
    return time.perf_counter() - started


def side_by_side(ours, theirs, repeat):
    """Median seconds of both, in turns."""
    ours(), theirs()
    times = np.array([(seconds(ours), seconds(theirs)) for _ in range(repeat)])
    return np.median(times, axis=0), np.median(times[:, 1] / times[:, 0])


def one_pass(name, problem, repeat):
    X, y, X_test, y_test = problem
    ours, theirs = OnlineStructuredPredictor(), sgd()
    (a, b), ratio = side_by_side(lambda: ours.fit(X, y), lambda: theirs.fit(X, y), repeat)
    touched = X.nnz if sparse.issparse(X) else X.size
    flops = 4.0 * touched * CLASSES
    moved = 2 * 8.0 * touched * CLASSES + 8.0 * touched
    print(
        f"{name}: ours {a / N * 1e6:.2f} us a row, SGDClassifier {b / N * 1e6:.2f}; "
        f"{ratio:.1f} times faster; {flops / a / 1e9:.2f} GFLOP/s, {moved / a / 1e9:.1f} GB/s"
    )
    print(
        f"  accuracy on {N} other rows: ours {ours.score(X_test, y_test):.3f}, "
        f"SGDClassifier {theirs.score(X_test, y_test):.3f} (theory's steps are cautious)"
    )


def one_row_calls(problem, repeat, calls=300):
    X, y, _, _ = problem
    rows = [(X[i : i + 1], y[i : i + 1]) for i in range(calls)]
    ours = OnlineStructuredPredictor().partial_fit(X[:1], y[:1], classes=range(CLASSES))
    theirs = sgd().partial_fit(X[:1], y[:1], classes=range(CLASSES))

    def loop(model, rows):
        for x, label in rows:
            model.partial_fit(x, label)

    (a, b), ratio = side_by_side(lambda: loop(ours, rows), lambda: loop(theirs, rows), repeat)
    print(
        f"partial_fit with one row: ours {a / calls * 1e6:.0f} us a call, "
        f"SGDClassifier {b / calls * 1e6:.0f}; {ratio:.0f} times faster"
    )


MEMORY = """
import resource, numpy as np
from skstructured import OnlineStructuredPredictor
X = np.random.default_rng(0).normal(size=(400_000, 100)); y = np.arange(len(X)) % 10
OnlineStructuredPredictor().fit(X[:1000], y[:1000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
OnlineStructuredPredictor().fit(X, y)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print((after - before) * 1024 / X.nbytes)
"""

SECOND_PROCESS = """
import time; started = time.perf_counter()
import skstructured
imported = time.perf_counter()
import numpy as np
X = np.random.default_rng(0).normal(size=(1000, 20))
skstructured.OnlineStructuredPredictor().fit(X, (X[:, 0] > 0).astype(int))
print(imported - started, time.perf_counter() - started)
"""


ALONE = """
import time; started = time.perf_counter()
import sklearn.base, numba
print(time.perf_counter() - started)
"""


def in_new_process(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=9)
    repeat = parser.parse_args().repeat
    print(f"command: python {' '.join(sys.argv)}")
    print(f"{platform.processor() or platform.machine()}, {psutil.cpu_count()} cores, one thread")
    print(f"median of {repeat}, in turns; load at start {os.getloadavg()[0]:.2f}")
    dense = dense_problem()
    one_pass(f"dense n={N}, p=100, K={CLASSES}", dense, repeat)
    one_pass(f"CSR n={N}, p=100000, {NON_ZEROS} non-zeros, K={CLASSES}", sparse_problem(), repeat)
    one_row_calls(dense, max(5, repeat // 2))
    (extra,) = in_new_process(MEMORY)
    print(f"peak memory of fit above X: {100 * extra:.1f}% of X (320 MB)")
    starts = np.array([in_new_process(SECOND_PROCESS) + in_new_process(ALONE) for _ in range(7)])
    for name, (imports, fits, alone) in (
        ("median", np.median(starts, axis=0)),
        ("fastest", starts.min(axis=0)),
    ):
        print(
            f"second process, {name} of 7: import {imports:.2f} s, import and first fit "
            f"{fits:.2f} s; import of scikit-learn and numba alone {alone:.2f} s"
        )


if __name__ == "__main__":
    main()
