"""OnlineStructuredPredictor beside SGDClassifier: speed, memory, start-up, accuracy.

Both learners see the same arrays in one process and take turns, one pass each; a line gives the
median of the repetitions. Flops count one score and one update of every weight a row touches.
"""

import subprocess
import sys

import numpy as np
from scipy import sparse
from sklearn.linear_model import SGDClassifier

from benchmarks._common import Results, arguments
from benchmarks._plain import predictor
from benchmarks._timing import side_by_side
from benchmarks.synthetic import CLASSES, dense_problem, problems


def sgd():
    return SGDClassifier(loss="log_loss", max_iter=1, tol=None, random_state=0)


def work(X):
    """Floating-point operations of a pass, and bytes that it reads and writes."""
    touched = X.nnz if sparse.issparse(X) else X.size
    return 4.0 * touched * CLASSES, 2 * 8.0 * touched * CLASSES + 8.0 * touched


def one_pass(out, name, problem, repeat, **parameters):
    X, y, X_test, y_test = problem
    ours, theirs = predictor(**parameters), sgd()
    a, b, ratio = side_by_side(lambda: ours.fit(X, y), lambda: theirs.fit(X, y), repeat)
    us, sgd_us = a / len(y) * 1e6, b / len(y) * 1e6
    flops, moved = (amount / a / 1e9 for amount in work(X))
    line = f"{name}: ours {us:.2f} us a row, SGDClassifier {sgd_us:.2f}; {ratio:.1f} times faster"
    row = {"ours_us": us, "sgd_us": sgd_us, "times_faster": ratio, "gflops": flops, "gb_s": moved}
    line += f"; {flops:.2f} GFLOP/s, {moved:.1f} GB/s"
    found = {"accuracy": ours.score(X_test, y_test), "sgd_accuracy": theirs.score(X_test, y_test)}
    out.add(line, table="one pass", problem=name, **row, **found)
    out.say(
        f"  accuracy on {len(y_test)} other rows: ours {found['accuracy']:.3f}, "
        f"SGDClassifier {found['sgd_accuracy']:.3f} (theory's steps are cautious)"
    )


def learn(model, rows):
    for x, label in rows:
        model.partial_fit(x, label)


def one_row_calls(out, problem, repeat, calls=300):
    X, y = problem[:2]
    rows = [(X[i : i + 1], y[i : i + 1]) for i in range(calls)]
    ours = predictor().partial_fit(*rows[0], classes=range(CLASSES))
    theirs = sgd().partial_fit(*rows[0], classes=range(CLASSES))
    a, b, ratio = side_by_side(lambda: learn(ours, rows), lambda: learn(theirs, rows), repeat)
    us, sgd_us = a / calls * 1e6, b / calls * 1e6
    line = f"partial_fit with one row: ours {us:.0f} us a call, SGDClassifier {sgd_us:.0f}"
    row = {"ours_us": us, "sgd_us": sgd_us, "times_faster": ratio}
    out.add(f"{line}; {ratio:.0f} times faster", table="one row a call", **row)


MEMORY = """
import resource, numpy as np
from skstructured import OnlineStructuredPredictor
X = np.random.default_rng(0).normal(size=(400_000, 100)); y = np.arange(len(X)) % 10
model = OnlineStructuredPredictor(max_iter=1).fit(X[:1000], y[:1000])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model.fit(X, y)
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


def memory(out):
    (extra,) = in_new_process(MEMORY)
    line = f"peak memory of fit above X: {100 * extra:.1f}% of X (320 MB)"
    out.add(line, table="memory", extra=extra)


def start_up(out, times):
    starts = [in_new_process(SECOND_PROCESS) + in_new_process(ALONE) for _ in range(times)]
    for name, choose in (("median", np.median), ("fastest", np.min)):
        imports, fits, alone = choose(starts, axis=0)
        out.add(
            f"second process, {name} of {times}: import {imports:.2f} s, import and first fit "
            f"{fits:.2f} s; import of scikit-learn and numba alone {alone:.2f} s",
            table=f"start, {name}",
            import_s=imports,
            first_fit_s=fits,
            peers_alone_s=alone,
        )


def main():
    args = arguments(__doc__, repeat=9)
    with Results(__file__, args) as out:
        for name, problem in problems(args.quick):
            one_pass(out, name, problem, args.repeat)
            scaled = f"{name}, standardised as it comes"
            one_pass(out, scaled, problem, args.repeat, standardize=True)
            if name.startswith("dense"):
                mixed = {"optimizer": "mixture", "average": True}
                title = f"{name}, a mixture of 14 experts"
                one_pass(out, title, problem, args.repeat, **mixed)
                title += ", standardised as it comes"
                one_pass(out, title, problem, args.repeat, standardize=True, **mixed)
        calls = 20 if args.quick else 300
        one_row_calls(out, dense_problem(calls), args.repeat, calls)
        memory(out)
        start_up(out, 1 if args.quick else 7)


if __name__ == "__main__":
    main()
