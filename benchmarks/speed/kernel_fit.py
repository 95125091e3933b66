"""One pass of learners with kernels, beside scikit-learn's computing of the same kernels alone.

Gaussian kernels of 20,000 rows of 100 numbers. The peer calls `pairwise_kernels` for blocks of 64
rows with all rows up to and with their own; learners do so too, a row at a time, and learn. Ratios
are medians over turns, of seconds to the peer's. Memory is the most that was allocated during the
pass (tracemalloc), beside the size of X; all pairs would be n/p times X.
"""

import tracemalloc

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from benchmarks._common import Results, arguments
from benchmarks._timing import in_turns
from skstructured import KernelStructuredPredictor, PiSTOLClassifier

N, FEW, P, CLASSES = 20_000, 2_000, 100, 10
ROWS = 64
GAMMA = 1.0 / P


def problem(n):
    """Rows, and one of ten classes that a quadratic decides."""
    rng = np.random.RandomState(0)
    X = rng.standard_normal((n, P))
    return X, np.argmax((X @ rng.randn(P, CLASSES)) ** 2, axis=1)


def kernels_alone(X):
    """The peer: kernels of every row with those before it."""
    for start in range(0, len(X), ROWS):
        stop = start + ROWS
        pairwise_kernels(X[start:stop], X[:stop], metric="rbf", gamma=GAMMA)


def fit(make, **given):
    """What learns rows in a pass of `fit`."""
    return lambda X, y: make(max_iter=1, random_state=0, **given).fit(X, y)


def stream(make, **given):
    """What learns rows in a call of `partial_fit`."""
    return lambda X, y: make(**given).partial_fit(X, y, np.unique(y))


def learners():
    """Names, and what learns; PiSTOL gets two classes."""
    single = {"kernel": "rbf", "gamma": GAMMA}
    return {
        "KernelStructuredPredictor": fit(KernelStructuredPredictor, **single),
        "KernelStructuredPredictor, multiscale": fit(KernelStructuredPredictor),
        "KernelStructuredPredictor.partial_fit": stream(KernelStructuredPredictor, **single),
        "PiSTOLClassifier": fit(PiSTOLClassifier, **single),
        "PiSTOLClassifier, multiscale": fit(PiSTOLClassifier, kernel="rbf"),
        "PiSTOLClassifier.partial_fit": stream(PiSTOLClassifier, **single),
    }


def outputs(name, y):
    return y % 2 if name.startswith("PiSTOL") else y


def speed(out, X, y, repeat):
    """Seconds of all, in turns."""
    tasks = [lambda: kernels_alone(X)]
    for name, learn in learners().items():
        tasks.append(lambda learn=learn, name=name: learn(X, outputs(name, y)))
    times = in_turns(tasks, repeat)
    names = ("pairwise_kernels alone", *learners())
    out.say(f"\none pass over {len(X)} rows of {P} {X.dtype}: seconds, and times the peer's")
    for name, spent in zip(names, times.T, strict=True):
        middle, ratio = np.median(spent), np.median(spent / times[:, 0])
        out.add(
            f"{name:40} {middle:8.2f} s {ratio:6.2f}",
            table=f"speed, {X.dtype}",
            learner=name,
            seconds=middle,
            ratio=ratio,
        )


def single_precision(out, X, y, repeat):
    """The same of float32 rows, where they are learned as such."""
    X = X.astype(np.float32)
    model = PiSTOLClassifier("rbf", max_iter=1).fit(X[:500], y[:500] % 2)
    out.say(f"\nfloat32 rows are learned as {model.support_vectors_.dtype}")
    if model.support_vectors_.dtype == np.float32:
        speed(out, X, y, repeat)


def peak(learn, X, y):
    """Most bytes allocated while learning."""
    tracemalloc.start()
    learn(X, y)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def memory(out, n):
    """Peaks for n/4, n/2 and n rows."""
    out.say("\npeak memory of a pass: megabytes, and times the size of X (all pairs: n/p times)")
    for name, learn in learners().items():
        for rows in (n // 4, n // 2, n):
            X, y = problem(rows)
            most = peak(learn, X, outputs(name, y))
            out.add(
                f"{name:40} {rows:6} {most / 2**20:8.1f} MB {most / X.nbytes:6.2f}",
                table="memory",
                learner=name,
                n=rows,
                bytes=float(most),
                ratio=most / X.nbytes,
            )


def main():
    args = arguments(__doc__, repeat=5)
    n = FEW if args.quick else N
    with Results(__file__, args) as out:
        X, y = problem(n)
        speed(out, X, y, args.repeat)
        single_precision(out, X, y, args.repeat)
        memory(out, n)


if __name__ == "__main__":
    main()
