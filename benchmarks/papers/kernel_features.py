"""Kernels themselves, or random features that stand for them: mistakes, and seconds to fit.

Rows of letter and covtype (its ten numbers and the categories), more and more of them; 10,000
others are predicted. Features come from standardised rows: Nystroem of a Gaussian kernel with gamma
= one over the median squared distance, and RBFSampler with the same; the linear learner follows,
with its defaults.
"""

import time

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks._common import Results, arguments
from benchmarks.data import covtype, load
from skstructured import KernelStructuredPredictor, OnlineStructuredPredictor

SIZES, NEW = (1000, 4000, 10_000), 10_000


def gamma_of(X):
    """One over the median squared distance of some standardised rows."""
    return 1.0 / np.median(pdist(StandardScaler().fit_transform(X)[:500], "sqeuclidean"))


def learners(X):
    """name -> learner."""
    gamma, linear = gamma_of(X), OnlineStructuredPredictor(random_state=0)
    found = {"linear": linear, "kernel": KernelStructuredPredictor(random_state=0)}
    found["kernel, one pass"] = KernelStructuredPredictor(max_iter=1, random_state=0)
    for kind in (Nystroem, RBFSampler):
        for count in (100, 500):
            features = kind(gamma=gamma, n_components=count, random_state=0)
            found[f"{kind.__name__} {count}"] = make_pipeline(StandardScaler(), features, linear)
    return found


def main():
    """Print the table."""
    args = arguments(__doc__)
    with Results(__file__, args) as out:
        sets = {"letter": (load("letter")["X"].astype(float), load("letter")["y"])}
        if not args.quick:
            sets["covtype"] = covtype(60_000)
        for name, (X, y) in sets.items():
            order = np.random.RandomState(0).permutation(len(y))
            new, rest = order[:NEW], order[NEW:]
            sizes = SIZES[:1] if args.quick else SIZES if name == "letter" else (*SIZES, 40_000)
            for n in sizes:
                out.say(f"\n{name}, {n} rows: mistakes in %, seconds to fit")
                rows = rest[:n]
                for label, model in learners(X[rows]).items():
                    if n > 20_000 and label == "kernel":
                        continue
                    started = time.perf_counter()
                    model.fit(X[rows], y[rows])
                    took = time.perf_counter() - started
                    wrong = 100 * np.mean(model.predict(X[new]) != y[new])
                    line = f"{label:<18}{wrong:7.2f} {took:8.2f} s"
                    out.add(line, set=name, rows=n, learner=label, wrong=wrong, seconds=took)


if __name__ == "__main__":
    main()
