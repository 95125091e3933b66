"""What single precision is worth: rows a second of the same dense rows in float64 and in float32.

`OnlineStructuredPredictor` makes one pass in the order of the rows. "ogd" keeps no average; the
other is the default, parameter-free and averaged. Both precisions learn in turns; a line gives
medians, and the median of the ratios of the same turn. "apart" is by how much the weights differ,
relative to the largest.
"""

import numpy as np

from benchmarks._common import Results, arguments
from benchmarks._timing import in_turns
from skstructured import OnlineStructuredPredictor

WIDTHS, CLASSES = (64, 768, 4096), (2, 10)
#: Numbers of a problem: far more than a cache holds.
NUMBERS, FEW = 16_000_000, 500_000

LEARNERS = {
    "ogd": {"optimizer": "ogd", "average": False},
    "default": {},
}


def problem(n, p, classes):
    """Rows that float32 has exactly, and classes that they decide."""
    rng = np.random.RandomState(0)
    X = rng.standard_normal((n, p)).astype(np.float32)
    return X, np.argmax(X @ rng.randn(p, classes).astype(np.float32), axis=1)


def compare(out, name, standardize, X, y, repeat):
    """Both precisions of one learner on the same rows."""
    given = {"max_iter": 1, "shuffle": False, "standardize": standardize, **LEARNERS[name]}
    rows = X.astype(np.float64), X
    models = [OnlineStructuredPredictor(**given) for _ in rows]
    tasks = [lambda m=m, Z=Z: m.fit(Z, y) for m, Z in zip(models, rows, strict=True)]
    times = in_turns(tasks, repeat)
    double, single = len(X) / np.median(times, axis=0)
    ratio = np.median(times[:, 0] / times[:, 1])
    apart = np.abs(models[1].coef_ - models[0].coef_).max() / np.abs(models[0].coef_).max()
    p, K = X.shape[1], models[0].coef_.shape[0]
    row = {"p": p, "classes": K, "learner": name, "standardize": standardize}
    row |= {"float64_rows": double, "float32_rows": single, "ratio": ratio, "apart": apart}
    line = f"{p:6} {K:4}  {name:8} {standardize!s:11} {double:10.0f} {single:10.0f}"
    out.add(f"{line} {ratio:6.2f} {apart:9.1e}", **row)


def main():
    args = arguments(__doc__, repeat=9)
    with Results(__file__, args) as out:
        out.say("     p    K  learner  standardize  float64/s  float32/s  ratio     apart")
        for p in WIDTHS:
            for classes in CLASSES:
                X, y = problem((FEW if args.quick else NUMBERS) // p, p, classes)
                for name in LEARNERS:
                    for standardize in (False, True):
                        compare(out, name, standardize, X, y, args.repeat)


if __name__ == "__main__":
    main()
