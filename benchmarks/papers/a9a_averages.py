"""a9a: last weights or averages of one pass, and which of them does what PiSTOL's figure shows?

PiSTOL's paper averages plainly. Here are the last function, the plain mean and the mean that counts
round t t³ times, of one pass: with the paper's kernel (Gaussian, γ = 0.04), once with the paper's
loss and constants (smoothed hinge loss, a = 0.125 in units of L, b = √T) and once with the
package's (logistic loss, a = 0.08, b = 1), on the shuffles of `pistol_vs_svm`, to compare with its
searched SVMs; and linear learners on all rows, as `cross_validation` has them. Test errors in %,
means and standard errors over five shuffles; those of kernels on all rows are of one.
"""

import numpy as np

from benchmarks._common import Results, arguments
from benchmarks.data import a9a
from skstructured import OnlineStructuredPredictor, PiSTOLClassifier

AVERAGES = {"last": False, "plain mean": "uniform", "t³ mean": "polynomial"}
OPTIMIZERS = ("parameter_free", "pistol", "adaptive", "ogd")
SHUFFLES, ALL = 5, 32561
SIZES = (256, 512, 1024, 2048, 4096, ALL)


def of_the_paper(n, **given):
    """PiSTOL with the constants of the paper's appendix C."""
    return PiSTOLClassifier("rbf", loss="smooth_hinge", a=0.125, b=np.sqrt(n), **given)


def of_the_package(n, **given):
    """PiSTOL as it is by default."""
    return PiSTOLClassifier("rbf", **given)


def error(model, data, n, seed, prepare):
    """Test error in % after n rows of a shuffle."""
    X, y, X_test, y_test = data
    rows = np.random.RandomState(seed).permutation(len(y))[:n]
    model.fit(prepare(X[rows]), y[rows])
    return 100 * float(np.mean(model.predict(prepare(X_test)) != y_test))


def shown(values):
    """Mean ± standard error, where there are several."""
    if len(values) == 1:
        return f"{values[0]:6.2f}       "
    return f"{np.mean(values):6.2f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):4.2f}"


def kernels(out, data, sizes):
    """Errors of kernels by rows and averages."""
    given = {"gamma": 0.04, "standardize": False, "max_iter": 1}
    for name, make in {"the paper's": of_the_paper, "the package's": of_the_package}.items():
        for n in sizes:
            cells = []
            for average, value in AVERAGES.items():
                seeds = range(1 if n == ALL else SHUFFLES)
                model = [make(n, average=value, random_state=s, **given) for s in seeds]
                found = [error(m, data, n, s, lambda X: X.toarray()) for s, m in enumerate(model)]
                cells.append((average, found))
            text = "  ".join(f"{average} {shown(found)}" for average, found in cells)
            row = {average: float(np.mean(found)) for average, found in cells}
            out.add(f"{name:14} {n:6}  {text}", table="kernels", constants=name, n=n, **row)


def linear(out, data):
    """Errors of linear learners on all rows."""
    for optimizer in OPTIMIZERS:
        cells = {}
        for average, value in AVERAGES.items():
            given = {"optimizer": optimizer, "average": value, "max_iter": 1}
            model = [OnlineStructuredPredictor(random_state=s, **given) for s in range(SHUFFLES)]
            cells[average] = [error(m, data, ALL, s, lambda X: X) for s, m in enumerate(model)]
        text = "  ".join(f"{average} {shown(found)}" for average, found in cells.items())
        row = {average: float(np.mean(found)) for average, found in cells.items()}
        out.add(f"{optimizer:14}         {text}", table="linear", constants=optimizer, n=ALL, **row)


def main():
    args = arguments(__doc__)
    data = a9a()
    with Results(__file__, args) as out:
        out.say()
        out.say("kernels, constants and rows: test error in %")
        kernels(out, data, SIZES[:2] if args.quick else SIZES)
        out.say()
        out.say("linear, all rows: test error in %")
        linear(out, data)


if __name__ == "__main__":
    main()
