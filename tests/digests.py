"""What every learner answers, kept before a change and compared after it, bit by bit.

    python -m tests.digests keep before.npz
    python -m tests.digests compare before.npz [--tolerance 1e-12]

Each case of `fitted.FITTED` is fitted, and taken through two chunks, over dense rows, sparse rows,
rows in single precision, and rows with weights, where it takes them. Kept are its predictions,
scores, probabilities, weights, losses and certificate.
"""

import argparse
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.base import clone

sys.path.insert(0, str(Path(__file__).parent))

from fitted import FITTED, learns_in_parts

#: Methods of X, and attributes, whose values are kept.
METHODS = ("predict", "predict_proba", "decision_function", "expected_loss", "predict_marginals")
ATTRIBUTES = ("coef_", "intercept_", "losses_", "loss_curve_", "dual_coef_", "gap_", "n_iter_")


def _single(X):
    return [x.astype(np.float32) for x in X] if isinstance(X, list) else X.astype(np.float32)


def _sparse(X):
    return [sparse.csr_array(x) for x in X] if isinstance(X, list) else sparse.csr_array(X)


FORMS = {"dense": lambda X: X, "CSR": _sparse, "float32": _single}


def fits(case):
    """(what is done, function that gives the fitted model and its rows) of every way to learn."""
    for form, convert in FORMS.items():
        yield form, partial(_fitted, case, convert)
    weights = 0.5 + np.arange(len(case.y)) % 3
    yield "weights", partial(_fitted, case, FORMS["dense"], sample_weight=weights)
    if learns_in_parts(case.estimator):
        yield "chunks", lambda: (case.go_on(case.started()), case.X)


def _fitted(case, convert, **parameters):
    X = convert(case.X)
    return clone(case.estimator).fit(X, case.y, **parameters), X


def flat(value):
    """One array of any numbers, labels or lists of them."""
    if isinstance(value, (list, tuple)):
        return np.concatenate([flat(part) for part in value]) if len(value) else np.zeros(0)
    if sparse.issparse(value):
        value = value.toarray()
    value = np.asarray(value).ravel()
    return value.astype(str) if value.dtype == object else value


def answers(model, X):
    """(name, array) of everything that the model says."""
    for name in METHODS:
        if hasattr(model, name):
            yield name, flat(getattr(model, name)(X))
    for name in ATTRIBUTES:
        if hasattr(model, name):
            yield name, flat(getattr(model, name))
    if hasattr(model, "certificate"):
        yield "certificate", np.array(repr(model.certificate()))


def all_answers(only=""):
    """Key -> array of every case whose name has `only` in it; an error is an answer too."""
    kept = {}
    for name, case in FITTED.items():
        if only not in name:
            continue
        for way, learn in fits(case):
            try:
                for what, value in answers(*learn()):
                    kept[f"{name}, {way}: {what}"] = value
            except Exception as error:
                kept[f"{name}, {way}: error"] = np.array(type(error).__name__)
    return kept


def difference(a, b):
    """0 where the bits are the same; else the largest difference over the largest number."""
    if a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes():
        return 0.0
    if a.shape != b.shape or a.dtype.kind not in "fiu" or b.dtype.kind not in "fiu":
        return np.inf
    return np.max(np.abs(a - b)) / max(np.max(np.abs(a)), 1e-300)


def main():
    """Keep the answers of this checkout, or compare them with those kept."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["keep", "compare"])
    parser.add_argument("file")
    parser.add_argument("--tolerance", type=float, default=0.0)
    parser.add_argument("--only", default="", help="cases whose names have this in them")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    now = all_answers(options.only)
    if options.what == "keep":
        np.savez(options.file, **now)
        return print(f"{len(now)} answers of {len(FITTED)} cases")
    before = {key: value for key, value in np.load(options.file).items() if options.only in key}
    for key in sorted({*before, *now} - ({*before} & {*now})):
        print(f"{key}: {'gone' if key in before else 'new'}")
    off = {key: difference(before[key], now[key]) for key in sorted({*before} & {*now})}
    for key, value in off.items():
        if value > options.tolerance:
            print(f"{key}: off by {value:.2g}")
    return print(
        f"{sum(value == 0.0 for value in off.values())} of {len(before)} have the same bits"
    )


if __name__ == "__main__":
    main()
