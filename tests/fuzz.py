"""Play random learners with random input, good and bad, and tell what must not happen.

    python -m tests.fuzz --seconds 600 [--seed 0] [--cases 1]

A case is an estimator with a few calls, or a stream in two chunks. It is a finding if an error is
not raised on purpose, a call that fails or predicts changes the learner, wrong input is accepted, a
number is not finite, a prediction is not an output of the space, or chunks learn something else. A
finding is one line with the command that plays it again; a case that hangs or crashes prints where.
"""

import argparse
import faulthandler
import pickle
import sys
import time
import traceback
import warnings
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags

sys.path.append(str(Path(__file__).parent))
sys.path.append(str(Path(__file__).parents[1] / "docs" / "snippets"))

from fitted import FITTED, Case
from learner_checks import has_argument

import skstructured as sk
from skstructured.decoders import DECODERS

#: Values for a parameter of which most are wrong everywhere.
ODD = (None, 0, -1, 2.5, 10**400, np.nan, np.inf, 1e308, 5e-324, 1 + 2j, "x", [], b"", object)

#: Values of parameters that go with most of the others.
VALUES = {
    "fit_intercept": (True, False),
    "shuffle": (True, False),
    "standardize": ("auto", True, False),
    "kernel": ("linear", "rbf", "poly", "laplacian"),
    "loss": ("fenchel_young", "logistic", "hinge", "smooth_hinge", "huber", "absolute"),
    "regularizer": (None, "squared"),
    "optimizer": (*sk.optimizers.OPTIMIZERS, sk.optimizers.GradientDescent(radius=1.0)),
    "average": (False, True, "polynomial"),
    "decoder": tuple(DECODERS),
}


#: A call that fails may leave their first steps fitted.
PIPELINES = ("pipeline", "pipeline of kernels", "pipeline of sequences", "table")


class Finding(AssertionError):  # noqa: N818
    """Something that must not happen."""


def pick(rng, choices):
    """One of a sequence, whatever its entries are."""
    return choices[rng.randint(len(choices))]


#: Ways to store rows that every learner must read.
STORAGES = (
    *(np.ascontiguousarray, np.asfortranarray, np.ndarray.tolist, pd.DataFrame),
    *(sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix, sparse.coo_array),
    lambda X: X[::-1],
    lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    lambda X: np.clip(X, -1e30, 1e30).astype(np.float32),
)


def _entry(array, place, value):
    array = array.copy()
    array[place] = value
    return array


#: Ways to make the arrays of a compressed matrix not fit: (array, its change).
CHANGES = {
    "no indptr": ("indptr", lambda a: a[:0]),
    "indptr beyond": ("indptr", lambda a: _entry(a, -1, a[-1] + 99)),
    "index far beyond": ("indices", lambda a: _entry(a, 0, 2**30)),
    "negative index": ("indices", lambda a: _entry(a, 0, -1)),
    "short data": ("data", lambda a: a[:-1]),
}


def misfit(change, X):
    """A copy of a compressed matrix with one of `CHANGES`."""
    X, (name, changed) = X.copy(), CHANGES[change]
    setattr(X, name, changed(getattr(X, name)))
    return X


#: Rows that are wrong for every learner.
WRONG_ROWS = {
    "NaN in X": lambda X: _entry(X, (-1, 0), np.nan),
    "inf in X": lambda X: _entry(X, (-1, -1), np.inf),
    "a row too large": lambda X: _entry(X, (-1, 0), 1e200),
    "text in X": lambda X: np.full(X.shape, "a"),
}

WRONG_OUTPUTS = {
    "None in y": lambda y: _entry(y.astype(object), (0,) * y.ndim, None),
    "an output more": lambda y: np.concatenate([y, y[:1]]),
    "no y": lambda y: None,
}
WRONG_WEIGHTS = {
    "a negative weight": lambda w: _entry(w, 0, -1.0),
    "a weight too large": lambda w: _entry(w, -1, 1e308),
}


def maybe_wrong(rng, ways, given):
    """(what is given or something wrong, the name of what is wrong or None)."""
    if rng.rand() > 0.08:
        return given, None
    name = pick(rng, tuple(ways))
    return ways[name](given), name


def stored(rng, X):
    """Rows in any storage, sometimes wrong, and what is wrong."""
    if rng.rand() < 0.08:
        name = pick(rng, tuple(CHANGES))
        return misfit(name, sparse.csr_matrix(np.where(X == 0.0, 1.0, X))), name
    X, wrong = maybe_wrong(rng, WRONG_ROWS, X * 10.0 ** pick(rng, (0, 0, -3, 3, 40, -150)))
    return (X, wrong) if wrong else (pick(rng, STORAGES)(X), None)


def some(rng, case, n):
    """n rounds of a case, stored in any way, and what is wrong with them, if anything is."""
    at = rng.randint(len(case.y), size=n)
    if isinstance(case.X, list):
        parts = [stored(rng, case.X[i]) for i in at]
        wrong = next((wrong for _, wrong in parts if wrong), None)
        return [X for X, _ in parts], [case.y[i] for i in at], wrong
    if case.X.ndim > 2 or isinstance(case.y, list):  # rounds of items
        return case.X[at], [case.y[i] for i in at], None
    (X, bad), (y, wrong) = stored(rng, case.X[at]), maybe_wrong(rng, WRONG_OUTPUTS, case.y[at])
    return X, y, bad or wrong


def any_case(rng):
    """A case of the list of all estimators, a few of its parameters changed."""
    case = FITTED[pick(rng, [name for name in sorted(FITTED) if name not in PIPELINES])]
    model = clone(case.estimator)
    names = model.get_params(deep=False)
    for name in rng.permutation(sorted(VALUES.keys() & names.keys()))[: rng.randint(5)]:
        model.set_params(**{name: pick(rng, VALUES[name])})
    return Case(model, case.X, case.y)


def frozen(thing):
    """Something equal to itself as long as `thing` does not change; scratch memory left out."""
    if isinstance(thing, np.ndarray):
        return thing.dtype.str, thing.shape, joblib.hash(thing)
    if thing is np.random.mtrand._rand:  # NumPy's own, which anybody may move
        return "the global generator"
    if isinstance(thing, np.random.RandomState):
        return frozen(thing.get_state())
    if isinstance(thing, dict):
        return {k: frozen(v) for k, v in thing.items() if k not in SCRATCH}
    if isinstance(thing, (tuple, list)):
        return [frozen(v) for v in thing]
    return (type(thing), frozen(vars(thing))) if isinstance(thing, BaseEstimator) else repr(thing)


def check_finite(thing):
    """A `Finding` for NaN and infinity in a result, or in what a learner keeps."""
    if isinstance(thing, BaseEstimator):
        passed = {*SCRATCH, "threshold_"}  # prediction sets of everything have an infinite one
        thing = [v for k, v in vars(thing).items() if k.endswith("_") and k not in passed]
    if isinstance(thing, (tuple, list)):
        for value in thing:
            check_finite(value)
    elif np.asarray(thing).dtype.kind == "f" and not np.isfinite(thing).all():
        raise Finding("a number that is not finite")


def check_outputs(model, method, result):
    """Predictions are outputs of the space, and probabilities sum to 1."""
    space = getattr(model, "space_", None)
    of_items = type(model).__module__.startswith("skstructured.items")
    if method == "predict" and hasattr(space, "encode") and not of_items:
        space.encode(result)
    elif method == "predict_proba" and isinstance(space, sk.spaces.Simplex):
        np.testing.assert_allclose(np.sum(result, axis=1), 1.0, rtol=1e-9)


def must_be_deliberate(error):
    """A `Finding` for an error that is not raised on purpose."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    ours = str(Path(sk.__file__).parent) in last.filename
    raised = last.line.startswith("raise") if ours else "sklearn" in last.filename
    foreign = ("Seed must be between", "object() takes no arguments")  # NumPy's, kernel=object's
    raised = raised or any(words in str(error) for words in foreign)
    if not isinstance(error, (ValueError, TypeError, AttributeError)) or not raised:
        place = f"{Path(last.filename).name}:{last.lineno}"
        raise Finding(f"{type(error).__name__} at {place}: {str(error)[:150]!r}") from error


#: Scratch memory of kernels, and parts that are made when they are needed, such as locks.
SCRATCH = ("_work", "_v", "_over", "_terms_of", "_lock")

READS = ("predict", "predict_proba", "predict_mean", "decision_function", "decoding_proba")
LEARNS = ("fit", "partial_fit", "simulate")


def call(model, method, arguments, keywords, wrong):
    """The result of one call, or None if it is refused, as it must be."""
    before = frozen(model)
    try:
        result = getattr(model, method)(*arguments, **keywords)
    except Exception as error:
        must_be_deliberate(error)
        if frozen(model) != before:
            raise Finding(f"refused, and changed: {error}") from error
        return None
    allowed = wrong == "NaN in X" and get_tags(model).input_tags.allow_nan
    if wrong is not None and not allowed:
        raise Finding(f"accepted {wrong}")
    if method in READS and frozen(model) != before:
        raise Finding("reading changed the learner")
    if hasattr(model, "partial_fit"):
        check_finite([result, model])
    return result


def calls(rng, tell):
    """An estimator and a few calls of it, good and bad."""
    case = any_case(rng)
    model = case.estimator
    if rng.rand() < 0.1:
        model.set_params(**{pick(rng, sorted(model.get_params(deep=False))): pick(rng, ODD)})
    learns = [method for method in LEARNS if hasattr(model, method)]
    for turn in range(rng.randint(2, 9)):
        method, n = pick(rng, (*learns, *READS) if turn else learns), pick(rng, (1, 7, 25))
        X, y, wrong = some(rng, case, n)
        if not hasattr(model, method):
            continue
        (arguments, keywords), taken = ((X, y), {}), partial(has_argument, getattr(model, method))
        if method in READS:
            arguments, wrong = (X,), None if wrong in WRONG_OUTPUTS else wrong
        elif taken("classes"):
            keywords["classes"] = case.classes()
        elif taken("sample_weight") and rng.rand() < 0.4:
            w = rng.choice([0.0, 0.3, 1.0, 2.0], size=n)
            keywords["sample_weight"], bad = maybe_wrong(rng, WRONG_WEIGHTS, w)
            wrong = wrong or bad
        tell(f"{clone(model)!r}.{method}, {wrong or 'nothing wrong'}")
        result = call(model, method, arguments, keywords, wrong)
        if result is not None:
            check_outputs(model, method, result)


def chunks(rng, tell):
    """A stream at once, and in two parts with a pickle between them."""
    case = any_case(rng)
    whole, parts = clone(case.estimator), clone(case.estimator)
    if not hasattr(whole, "partial_fit"):
        return
    cut = rng.randint(1, len(case.y))
    tell(f"{whole!r} in chunks of {cut} and {len(case.y) - cut}")
    try:
        case.learn(whole, case.X, case.y)
    except (ValueError, TypeError) as error:  # parameters that do not go together
        return must_be_deliberate(error)
    case.learn(parts, case.X[:cut], case.y[:cut])
    parts = pickle.loads(pickle.dumps(parts))
    case.learn(parts, case.X[cut:], case.y[cut:])
    if hasattr(whole, "coef_"):
        close = 1e-9 * np.abs(whole.coef_).max()
        np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=0.0, atol=close)


def findings(seeds, seconds=np.inf, say=lambda text: None):
    """Play seeds until the time is over: a line for each finding."""
    found, last, end = [], [""], time.monotonic() + seconds
    for seed in seeds:
        if time.monotonic() > end:
            break
        faulthandler.dump_traceback_later(120.0, exit=True)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                play, tell = (calls, calls, chunks)[seed % 3], partial(last.__setitem__, 0)
                play(np.random.RandomState(seed), tell)
        except Exception as error:
            told = f"{type(error).__name__}: {error} in {' '.join(last[0].split())}"
            found.append(f"python -m tests.fuzz --cases 1 --seed {seed}: {told}")
            say(found[-1])
    faulthandler.cancel_dump_traceback_later()
    return found


def main():
    parser = argparse.ArgumentParser()
    for name, default in {"--seconds": 60, "--seed": 0, "--cases": 2**31}.items():
        parser.add_argument(name, type=int, default=default)
    given = parser.parse_args()
    faulthandler.enable()
    found = findings(range(given.seed, min(given.seed + given.cases, 2**32)), given.seconds, print)
    print(f"{len(found)} findings")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
