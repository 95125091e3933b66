"""A learner on trial: its stream, and all that can be seen of what it has learned."""

import inspect
from copy import deepcopy
from numbers import Real

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, check_consistent_length, get_tags

#: Methods that predict from rows.
PREDICTIONS = (
    "predict",
    "predict_mean",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "decoding_proba",
    "embedding_scores",
)


class LearnerTrial:
    """A learner with its stream (X, y, classes), and the ways to start and to observe it."""

    def __init__(self, learner, X=None, y=None, classes=None):
        if (X is None) != (y is None):
            raise ValueError("X and y must be given together, or neither of them.")
        self.subject = learner
        X, y = three_classes() if X is None else (X, y)
        self.X, self.y = check_array(X, dtype=np.float64, order="C", allow_nd=True), np.asarray(y)
        check_consistent_length(self.X, self.y)
        if len(self.X) < 20:
            raise ValueError(f"X must have 20 rows or more, got {len(self.X)}.")
        labels = np.unique(self.y) if self.y.ndim == 1 else None
        self.classes = labels if classes is None else np.asarray(classes)
        self.n, self.half = len(self.X), len(self.X) // 2
        self.every = np.arange(self.n)

    def without(self, parameter):
        """The trial of the learner with a parameter False, its own or of its parts."""
        model = clone(self.subject)
        names = [name for name in model.get_params() if name.split("__")[-1] == parameter]
        model.set_params(**dict.fromkeys(names, False))
        return LearnerTrial(model, self.X, self.y, self.classes)

    def distinct_outputs(self):
        """Different outputs of the stream, 8 at the most."""
        return self._different()[0][:8]

    def other_outputs(self):
        """The outputs of the stream exchanged with each other, so that each round has another."""
        different, position = self._different()
        return different[(position + 1) % len(different)]

    def _different(self):
        """The different outputs, and the position of each round's among them."""
        axis = None if self.y.ndim == 1 else 0  # NumPy has no axis for labels that are objects
        different, position = np.unique(self.y, axis=axis, return_inverse=True)
        return different, position.ravel()

    def new(self):
        """A clone that has learned nothing, its generators seeded."""
        model = clone(self.subject)
        names = [name for name in model.get_params() if name.endswith("random_state")]
        return model.set_params(**dict.fromkeys(names, 0))

    def begun(self, X=None, y=None):
        """A clone that has begun this stream or another, and its rounds."""
        model = self.new()
        return model, self.begin(model, X, y)

    def begin(self, model, X=None, y=None):
        """Let a learner begin this stream or another; its rounds."""
        X, y = self.X if X is None else X, self.y if y is None else y
        return model.begin(X, y, self.classes)

    def learned(self, n):
        """A clone that has learned n rounds, and all rounds."""
        model, rounds = self.begun()
        model.learn(rounds, self.every[:n])
        return model, rounds

    def learn_part(self, model, X, y, **more):
        """``partial_fit``, with the classes where it takes them."""
        if has_argument(model.partial_fit, "classes"):
            more["classes"] = self.classes
        return model.partial_fit(X, y, **more)

    def predictions(self, model, X=None):
        """Name -> what a learner predicts for the rows."""
        twin, X, found = deepcopy(model), self.X if X is None else X, {}
        for name in PREDICTIONS:
            if hasattr(twin, name):
                try:
                    found[name] = np.asarray(getattr(twin, name)(X))
                except NotFittedError:
                    found[name] = np.array("not fitted")
        return found

    def observe(self, model, rounds):
        """Name -> all that can be seen of what a learner has learned."""
        played = deepcopy(model).play(rounds, self.every, 0)
        losses = {"expected": played.expected, "surrogate": played.surrogate}
        return self.predictions(model) | losses | numbers(model)

    def goes_on(self, model, rounds):
        """What can be seen of a copy after it has learned the second half too."""
        twin = deepcopy(model)
        twin.learn(rounds, self.every[self.half :])
        return self.observe(twin, rounds)


def three_classes():
    """60 rows of 4 features with the labels "a", "b", "c" of the largest of the first three."""
    X = np.random.RandomState(0).randn(60, 4)
    return X, np.array(["a", "b", "c"])[np.argmax(X[:, :3], axis=1)]


def numbers(model):
    """The public fitted attributes that are numbers or arrays of them."""
    names = [name for name in dir(model) if name.endswith("_") and not name.startswith("_")]
    found = {name: getattr(model, name, None) for name in names}
    return {
        name: np.array(value)
        for name, value in found.items()
        if isinstance(value, Real) or (isinstance(value, np.ndarray) and value.dtype.kind in "biuf")
    }


def has_argument(method, name):
    """Whether a method takes the argument."""
    return name in inspect.signature(method).parameters


def learns_in_parts(trial):
    """Whether the learner has ``partial_fit``."""
    return hasattr(trial.subject, "partial_fit")


def reads_gaps(model):
    """Whether NaN in rows is what is missing."""
    return get_tags(model).input_tags.allow_nan


def reads_sparse(trial):
    """Whether the learner's tags say that it reads sparse rows."""
    return get_tags(trial.subject).input_tags.sparse


def assert_same(wanted, got, what, tolerance=0.0):
    """Raise an AssertionError that names the first of the observations that differ."""
    for name, value in wanted.items():
        if name not in got:
            raise AssertionError(f"{what}: {name} is missing")
        difference = _difference(value, got[name], tolerance)
        if difference:
            raise AssertionError(f"{what}: {name} differs, {difference}")


def _difference(a, b, tolerance):
    """How two observations differ; an empty text if they do not."""
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return f"of shape {b.shape} and not {a.shape}"
    if a.dtype.kind in "biuf" and b.dtype.kind in "biuf":
        if np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True):
            return ""
        with np.errstate(all="ignore"):
            return f"by up to {np.max(np.abs(a.astype(float) - b)):.3g}"
    return "" if np.array_equal(a, b) else f"in {np.count_nonzero(a != b)} of {a.size} places"


def assert_refused(call, what):
    """Raise an AssertionError unless the call raises a ValueError."""
    try:
        call()
    except ValueError:
        return
    except Exception as error:
        kind = type(error).__name__
        raise AssertionError(f"{what}: {kind} and not a ValueError ({error})") from error
    raise AssertionError(f"{what}: not refused")


def wrong_outputs(y):
    """Pairs of what is wrong and outputs, as many as in y, that no space with those of y has."""
    y = np.asarray(y)
    if y.dtype.kind in "biuf":
        far = y.astype(float)
        far[-1] += 1000.5
        yield "an output far from all others", far
        missing = y.astype(float)
        missing[-1] = np.nan
        yield "NaN in an output", missing
    else:
        unknown = y.astype(object)
        unknown[-1] = "no such output"
        yield "an unknown label", unknown
    if y.ndim == 2:
        yield "outputs without their last column", y[:, :-1]
