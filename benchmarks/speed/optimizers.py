"""Cost of one pass: every optimiser, with and without averages, beside constant-step OGD.

    OMP_NUM_THREADS=1 python benchmarks/optimizers.py > benchmarks/results/optimizers.txt

All learners take turns on the same arrays; a line gives medians, and the median of the ratios to
the constant step of the same turn.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import sys

import numpy as np
from compare_online import CLASSES, NON_ZEROS, N, dense_problem, seconds, sparse_problem
from data import a9a, bibtex, news20

from skstructured import OnlineStructuredPredictor
from skstructured.optimizers import PiSTOL

LEARNERS = {
    "ogd": {},
    "ogd, averaged": {"average": True},
    "adaptive": {"optimizer": "adaptive"},
    "adaptive, averaged": {"optimizer": "adaptive", "average": True},
    "parameter_free": {"optimizer": "parameter_free"},
    "parameter_free, averaged": {"optimizer": "parameter_free", "average": True},
    "pistol": {"optimizer": "pistol"},
    "pistol, averaged": {"optimizer": "pistol", "average": True},
    "pistol per coordinate": {"optimizer": PiSTOL(per_coordinate=True)},
}


def table(title, problem, repeat, learners=LEARNERS, **space):
    X, y, X_test, y_test = problem
    models = {name: OnlineStructuredPredictor(**given, **space) for name, given in learners.items()}
    for model in models.values():
        model.fit(X, y)
    times = np.array(
        [
            [seconds(lambda model=model: model.fit(X, y)) for model in models.values()]
            for _ in range(repeat)
        ]
    )
    ratios = np.median(times / times[:, :1], axis=0)
    n = X.shape[0]
    print(f"{title}: us a row, times ogd, accuracy on other rows")
    for (name, model), t, ratio in zip(
        models.items(), np.median(times, axis=0), ratios, strict=True
    ):
        print(f"  {name:26} {t / n * 1e6:7.2f} {ratio:7.2f} {model.score(X_test, y_test):8.3f}")
    for name in (name for name in learners if f"{name}, averaged" in learners):
        with_, without = (list(models).index(n) for n in (f"{name}, averaged", name))
        extra = np.median(times[:, with_] / times[:, without]) - 1.0
        print(f"  averaging adds {100 * extra:.0f}% to {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=41)
    repeat = parser.parse_args().repeat
    print(f"command: python {' '.join(sys.argv)}; medians of {repeat}")
    table(f"dense n={N}, p=100, K={CLASSES}", dense_problem(), repeat)
    table(f"CSR n={N}, p=100000, {NON_ZEROS} non-zeros, K={CLASSES}", sparse_problem(), repeat)
    few = {name: given for name, given in LEARNERS.items() if "parameter_free" in name}
    few = {name: LEARNERS[name] for name in ("ogd", "ogd, averaged")} | few
    X, Y = bibtex()
    news, topics, *test = news20()
    order = np.random.default_rng(0).permutation(len(topics))  # the file is sorted by topic
    for name, problem, space in (
        ("a9a", a9a(), "simplex"),
        ("bibtex, 159 labels", (X[::2], Y[::2], X[1::2], Y[1::2]), "hypercube"),
        ("news20, 20 classes", (news[order], topics[order], *test), "simplex"),
    ):
        rows, width = problem[0].shape
        title = f"{name}: CSR n={rows}, p={width}, {problem[0].nnz / rows:.0f} non-zeros"
        table(title, problem, repeat, few, space=space)


if __name__ == "__main__":
    main()
