"""Random features of each kernel beside the kernel itself, and how many of them it wants.

Raw rows, half of them learned, 5,000 rows at most, everything at its defaults but for what a column
says: points on the other half, and seconds of a fit, means over shuffles. Tables: "sets", of one
pass and of as many as rows held out ask for, and "components", numbers of features on letter.
"""

import numpy as np

from benchmarks._common import Results, arguments
from benchmarks.data import load
from benchmarks.defaults.curves import judged
from skstructured import KernelStructuredPredictor

SETS, ROWS, SHUFFLES = ("segment", "satimage", "pendigits", "letter"), 5000, 2

#: kernel -> its random features
KERNELS = {"rbf": "fourier", "poly": "sketch", "arc-cosine": "relu"}

COMPONENTS = (300, 1200, 4800)


def problem(name, quick):
    """Some rows and their classes; of pen digits the class is the digit that is ranked first."""
    arrays = load(f"ranking_{name}" if name == "pendigits" else name)
    X = arrays["X"].astype(np.float64)
    y = arrays["rank"].argmin(axis=1) if name == "pendigits" else arrays["y"]
    chosen = np.random.RandomState(0).permutation(len(X))[: 400 if quick else ROWS]
    return X[chosen], y[chosen]


def learner(kernel, approximation, **given):
    """What `judged` takes."""
    fixed = {"kernel": kernel, "approximation": approximation} | given
    return lambda space, seed: KernelStructuredPredictor(space, random_state=seed, **fixed)


def compared(make, X, y, quick):
    """Points and seconds, means over shuffles."""
    make("simplex", 0).fit(X[:100], y[:100])  # compiled before it is timed
    shuffles = range(1 if quick else SHUFFLES)
    return np.mean([judged(make, "simplex", X, y, seed) for seed in shuffles], axis=0)


def table_of_sets(out, quick):
    """Every kernel and its features, on every set."""
    for passes in (1, "auto"):
        out.say(f"\nmax_iter={passes!r}: points / seconds of kernels, and of their features")
        less = {kernel: [] for kernel in KERNELS}
        for name in SETS:
            X, y = problem(name, quick)
            for kernel, features in KERNELS.items():
                both = [
                    compared(learner(kernel, one, max_iter=passes), X, y, quick)
                    for one in ("none", features)
                ]
                (exact, slow), (near, fast) = both
                less[kernel].append(near - exact)
                line = f"{name:10s} {kernel:10s} {exact:6.2f} {slow:5.2f} | {near:6.2f} {fast:5.2f}"
                given = {"kernel": kernel, "passes": passes, "exact": exact, "features": near}
                out.add(line, table="sets", name=name, **given, slow=slow, fast=fast)
        for kernel, points in less.items():
            out.say(f"{kernel}: features less the kernel {np.mean(points):+.2f} on average")


def table_of_components(out, quick):
    """One pass over letter, by the number of features."""
    out.say("\nletter, one pass, by features")
    X, y = problem("letter", quick)
    for n in COMPONENTS[:2] if quick else COMPONENTS:
        makers = {k: learner(k, f, n_components=n, max_iter=1) for k, f in KERNELS.items()}
        found = {kernel: compared(make, X, y, quick) for kernel, make in makers.items()}
        shown = ", ".join(f"{kernel} {p:.2f} in {s:.2f} s" for kernel, (p, s) in found.items())
        points = {kernel: p for kernel, (p, _) in found.items()}
        out.add(f"{n:5d}: {shown}", table="components", n=n, **points)


def main():
    """Run the benchmark."""
    args = arguments(__doc__)
    with Results(__file__, args) as out:
        table_of_sets(out, args.quick)
        table_of_components(out, args.quick)


if __name__ == "__main__":
    main()
