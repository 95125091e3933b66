"""One case of the fuzzer: a random learner, a few random calls, and what must hold after each."""

import inspect
import tempfile
import traceback
import warnings
from pathlib import Path

import joblib
import numpy as np
from conftest import INTERPRETED
from fuzz_inputs import ODD, Finding, chance, features, is_a_gap, outputs, pick, weights
from fuzz_learners import binary, classes, online
from fuzz_more import batch, numbers, sequence_features, sequence_labels, sequences
from sklearn.base import BaseEstimator, clone

import skstructured as sk
from skstructured._engine.rounds import BLOCK
from skstructured.evaluation import progressive_validate

#: Scratch memory of kernels, which says nothing.
SCRATCH = ("_work", "_v")


#: Groups of learners, and what makes one.
MAKERS = {
    "online": online,
    "classes": classes,
    "binary": binary,
    "numbers": numbers,
    "sequences": sequences,
    "batch": batch,
}


class Case:
    """A learner and the kind of input that suits it."""

    def __init__(self, rng, areas, group=None):
        make = MAKERS[group or pick(rng, ("online", "online", "classes", "classes", "binary"))]
        self.learner, self.kind, self.size, self.wrong = make(rng, areas)
        self.width, self.rng, self.areas, self.fitted = rng.randint(1, 5), rng, areas, None
        names = self.learner.get_params(deep=False)
        common = {"fit_intercept": bool(rng.randint(2)), "shuffle": bool(rng.randint(2))}
        common["random_state"] = rng.randint(100)
        self.learner.set_params(**{k: v for k, v in common.items() if k in names})
        if "parameters" in areas and chance(rng, 0.1):
            self.learner.set_params(**{pick(rng, sorted(names)): pick(rng, ODD)})

    def arguments(self, method):
        """Arguments of a method, keyword arguments, and what is wrong with them."""
        rng, starts = self.rng, method in STARTS or self.fitted is None
        n = pick(self.rng, (1, 7, 7, 25) if starts else (1, 1, 2, 7, 25))
        n = BLOCK + 4 if self.kind == "labels" and not INTERPRETED and chance(rng, 0.005) else n
        width = self.width
        if not starts and chance(rng, 0.05):
            width = pick(rng, (width + 1, width + 40, max(width - 1, 1)))
        over_sequences = self.kind == "sequences"
        X, wrong = (sequence_features if over_sequences else features)(rng, n, width, self.areas)
        wrong = wrong or (None if width == self.width else "another width")
        if wrong == "a row of X less" and method not in NEEDS_OUTPUTS:
            wrong = None
        if method in ("update", "replay"):
            arguments, bad = _feedback(rng, n, self.size)
            return (X, *arguments), {}, wrong or bad
        if method not in NEEDS_OUTPUTS:
            return (X,), {}, wrong
        may_be_wrong = wrong != "a row of X less"
        if over_sequences:
            y, bad = sequence_labels(rng, X, self.size, may_be_wrong)
        else:
            y, bad = outputs(rng, n, self.kind, self.size, may_be_wrong)
        keywords, worse = self._keywords(method, n)
        return (X, y), keywords, wrong or bad or worse or (self.wrong if starts else None)

    def _keywords(self, method, n):
        keywords, wrong = {}, None
        if method in ("partial_fit", "simulate") and self.kind in ("labels", "grades", "sequences"):
            keywords = {"classes": list(range(self.size))}
        if method in ("fit", "partial_fit") and _weighs(self.learner, method):
            keywords["sample_weight"], wrong = weights(self.rng, n, self.areas)
        return keywords, wrong


def _weighs(learner, method):
    return "sample_weight" in inspect.signature(getattr(learner, method)).parameters


NEEDS_OUTPUTS = (
    "fit",
    "partial_fit",
    "simulate",
    "score",
    "expected_target_loss",
    "update",
    "replay",
    "progressive_validate",
)
STARTS = ("fit", "progressive_validate")
READS = (
    "predict",
    "decision_function",
    "predict_mean",
    "predict_proba",
    "decoding_proba",
    "embedding_scores",
    "predict_marginals",
    "sample",
)
METHODS = (*NEEDS_OUTPUTS, *READS, "choose", "fit", "partial_fit", "partial_fit", "reload")


def _feedback(rng, n, size):
    actions, rewards = rng.randint(size, size=n), rng.randint(2, size=n)
    propensities = rng.uniform(0.1, 1.0, size=n)
    bad = {
        "an unknown action": (actions + 99, rewards, propensities),
        "an action less": (np.r_[actions, 0], rewards, propensities),
        "a reward of 7": (actions, rewards + 7, propensities),
        "a reward of NaN": (actions, rewards * np.nan, propensities),
        "a propensity of 0": (actions, rewards, propensities * 0.0),
        "a propensity of NaN": (actions, rewards, propensities * np.nan),
    }
    if chance(rng, 0.2):
        name = pick(rng, tuple(bad))
        return bad[name], name
    return (actions, rewards, propensities), None


def frozen(thing, name=""):
    """Something equal to itself as long as `thing` does not change; scratch memory left out."""
    if isinstance(thing, np.ndarray):
        return (
            thing.dtype.str,
            thing.shape,
            thing.tolist() if thing.dtype.hasobject else (thing.tobytes()),
        )
    if thing is np.random.mtrand._rand:  # NumPy's own, which anybody may move
        return "the global generator"
    if isinstance(thing, np.random.RandomState):
        return frozen(thing.get_state())
    if isinstance(thing, dict):
        return {k: frozen(v) for k, v in thing.items() if k not in SCRATCH}
    if isinstance(thing, (tuple, list)):
        return [frozen(v) for v in thing]
    return (type(thing), frozen(vars(thing))) if isinstance(thing, BaseEstimator) else repr(thing)


def arrays_of(thing, name=""):
    """Pairs (name, array) of the arrays of numbers behind a learner, or in a result."""
    if isinstance(thing, np.ndarray) and thing.dtype.kind in "fc":
        yield name, thing
    elif isinstance(thing, (float, np.floating)):
        yield name, np.asarray(thing)
    elif isinstance(thing, (tuple, list)):
        for value in thing:
            yield from arrays_of(value, name)
    elif isinstance(thing, BaseEstimator):
        for key, value in vars(thing).items():
            if (key.startswith("_") or key.endswith("_")) and key not in SCRATCH:
                yield from arrays_of(value, f"{name}.{key}")


def check_numbers(thing, where):
    """No NaN anywhere; infinities only in the states of optimisers, where some belong."""
    for name, array in arrays_of(thing):
        bad = np.isnan(array) if name.endswith("_state") else ~np.isfinite(array)
        if bad.any():
            raise Finding(f"{array[bad].flat[0]} in {where}{name}")


def is_deliberate(error):
    """Whether an error was raised on purpose, by the library or by scikit-learn's checks."""
    if not isinstance(error, (ValueError, TypeError, AttributeError)):
        return False
    last = traceback.extract_tb(error.__traceback__)[-1]
    foreign = ("Seed must be between", "object() takes no arguments")  # NumPy's, kernel=object's
    if any(words in str(error) for words in foreign):
        return True
    ours = f"{Path(sk.__file__).parent}" in last.filename
    return last.line.startswith("raise") if ours else "sklearn" in last.filename


def refused(error):
    """A `Finding` for an error that is not on purpose."""
    if not is_deliberate(error):
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}:{last.lineno}"
        text = str(error).strip().split("\n")[0][:150]
        raise Finding(f"{type(error).__name__} at {place}: {text}") from error


def _run(case, method, arguments, keywords):
    if method == "progressive_validate":
        result = progressive_validate(case.learner, *arguments, **keywords, random_state=0)
        return result.target_loss, result.expected_target_loss
    result = getattr(case.learner, method)(*arguments, **keywords)
    if method in ("fit", "partial_fit"):
        case.fitted = True
        return tuple(getattr(case.learner, name, 0.0) for name in ("coef_", "intercept_"))
    case.fitted = case.fitted or hasattr(case.learner, "classes_") or None
    return result


def call(case, method, arguments, keywords, wrong):
    """Make one call; raises `Finding` where something is not as it must be."""
    before = frozen(case.learner)
    try:
        result = _run(case, method, arguments, keywords)
    except Exception as error:
        refused(error)
        if frozen(case.learner) != before:
            raise Finding(f"refused, and changed: {error}") from error
        return
    if wrong is not None and not is_a_gap(case.learner, wrong):
        raise Finding(f"accepted {wrong}")
    if method in READS and method != "sample" and frozen(case.learner) != before:
        raise Finding("reading changed the learner")
    numbers = method == "score" and case.kind == "numbers"  # R² of one row is NaN in scikit-learn
    if not numbers and not isinstance(vars(case.learner).get("abstain_label"), float):
        check_numbers(result, "the result")
    check_numbers(case.learner, type(case.learner).__name__)


def reload(learner, rng):
    """The learner as it comes back from disk, its arrays mapped or not."""
    with tempfile.TemporaryDirectory() as folder:
        joblib.dump(learner, Path(folder) / "model")
        return joblib.load(Path(folder) / "model", mmap_mode=pick(rng, (None, "r", "c", "r+")))


def play(group, areas, seed, tell):
    """Play the case of a seed; returns the number of calls, or raises the `Finding`."""
    case, calls = Case(np.random.RandomState(seed % 2**32), areas, group), 0
    validates = isinstance(case.learner, sk.OnlineLearner)
    always = ("reload", "progressive_validate") if validates else ("reload",)
    available = [m for m in METHODS if m in always or _has(case, m)]
    starts = [m for m in ("fit", "partial_fit") if _has(case, m)]
    told = f"{clone(case.learner)!r}"
    for _ in range(case.rng.randint(2, 12)):
        learns = case.fitted is None and chance(case.rng, 0.9)
        method = pick(case.rng, starts if learns else available)
        if method == "reload":
            if "mapped" in areas:
                case.learner = reload(case.learner, case.rng)
            continue
        arguments, keywords, wrong = case.arguments(method)
        tell(f"{told}.{method}, {wrong or 'nothing wrong'}")
        calls += 1
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            call(case, method, arguments, keywords, wrong)
    return calls


def _has(case, method):
    return hasattr(type(case.learner), method)
