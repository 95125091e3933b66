"""Checks of what begin, play, learn and play_and_learn promise."""

import inspect
from copy import deepcopy
from numbers import Real
from unittest import SkipTest

import joblib
import numpy as np
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, check_consistent_length, get_tags

from skstructured.extend.learner import Batch, Losses, OnlineLearner

#: A deviation that draws exceed once in 10⁹: log(2·10⁹).
RARE = 21.4

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


def assert_parameters_kept(estimator, call, what):
    """Raise an AssertionError if a call changes a parameter, or what is inside one."""
    before = {name: joblib.hash(value) for name, value in estimator.get_params().items()}
    call()
    for name, value in estimator.get_params().items():
        assert joblib.hash(value) == before[name], f"{what} changed the parameter {name}"


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


#: How often each round is played, for a draw's mean.
DRAWS = 20


def check_begin_returns_rounds(trial):
    """`Batch` with one row and output per round, and a weight or none."""
    _, rounds = trial.begun()
    assert isinstance(rounds, Batch), f"begin returned {type(rounds).__name__}, not Batch"
    sizes = {"X": rounds.X.shape[0], "packed": len(rounds.packed)}
    if rounds.weight is not None:
        sizes["weight"] = len(rounds.weight)
    for name, size in sizes.items():
        assert size == trial.n, f"{name} of begin has {size} entries for {trial.n} rounds"


def check_begin_forgets(trial):
    """A learner that begins anew is as if it had learned nothing, and learns the same."""
    fresh, rounds = trial.begun()
    model, _ = trial.learned(trial.half)
    again = trial.begin(model)
    assert_same(trial.observe(fresh, rounds), trial.observe(model, again), "after a second begin")
    wanted, got = trial.goes_on(fresh, rounds), trial.goes_on(model, again)
    assert_same(wanted, got, "rounds learned after a second begin")


def check_begin_learns_nothing(trial):
    """What begin is given as outputs does not show; no round is counted."""
    (model, rounds), (other, _) = trial.begun(), trial.begun(y=trial.other_outputs())
    assert model.t_ == 0, f"t_ is {model.t_} after begin"
    wanted, got = trial.observe(model, rounds), trial.observe(other, rounds)
    assert_same(wanted, got, "begin with other outputs")


def check_play_learns_nothing(trial):
    """A learner that plays is as if it had not, and learns the same."""
    model, rounds = trial.learned(trial.half)
    before, after = trial.observe(model, rounds), trial.goes_on(model, rounds)
    model.play(rounds, trial.every, 0)
    assert_same(before, trial.observe(model, rounds), "after play")
    assert_same(after, trial.goes_on(model, rounds), "rounds learned after play")


def check_rounds_are_counted(trial):
    """``t_`` is the number of rounds learned, and no others."""
    model, rounds = trial.begun()
    model.learn(rounds, np.array([3, 1, 2]))
    model.play(rounds, np.array([4, 5]), 0)
    assert model.t_ == 3, f"t_ is {model.t_} after 3 rounds learned and 2 played"
    model.play_and_learn(rounds, np.array([4, 5]), 0)
    assert model.t_ == 5, f"t_ is {model.t_} after 5 rounds learned"


def check_losses(trial):
    """`Losses` of the right shapes; targets and expectations lie in [0, 1]."""
    model, rounds = trial.learned(trial.half)
    which = trial.every[1:]
    for method in ("play", "play_and_learn"):
        losses = getattr(deepcopy(model), method)(rounds, which, 0)
        assert isinstance(losses, Losses), f"{method} returned {type(losses).__name__}, not Losses"
        for name, values in zip(Losses._fields, losses, strict=True):
            shape = np.shape(values)
            assert shape == which.shape, f"{name} of {method} is {shape}, not {which.shape}"
        for name in ("target", "expected"):
            values = getattr(losses, name)
            inside = (values >= 0.0) & (values <= 1.0)
            assert inside.all(), f"{name} of {method} holds {values[~inside][0]:g}, not in [0, 1]"


def check_expected_is_the_mean_of_target(trial):
    """Draws of the target loss have the mean `expected`, up to their spread (Bernstein)."""
    model, rounds = trial.learned(trial.half)
    losses = model.play(rounds, np.repeat(trial.every, DRAWS), 0)
    sure = np.isin(losses.expected, (0.0, 1.0))
    wrong = losses.target[sure] != losses.expected[sure]
    assert not wrong.any(), "target is not expected, where expected is 0 or 1"
    variance = np.sum(losses.expected * (1.0 - losses.expected))
    excess, allowed = losses.target - losses.expected, np.sqrt(2.0 * RARE * variance) + RARE
    assert abs(excess.sum()) <= allowed, (
        f"the mean of {len(excess)} draws of target is {losses.target.mean():.4g}, "
        f"that of expected {losses.expected.mean():.4g}"
    )


def check_play_and_learn_learns_as_learn(trial):
    """Rounds played are learned as by learn; in two calls as in one."""
    (model, rounds), (plain, its) = trial.begun(), trial.learned(trial.n)
    whole = model.play_and_learn(rounds, trial.every, 0)
    wanted = trial.observe(plain, its)
    assert_same(wanted, trial.observe(model, rounds), "play_and_learn and learn", 1e-9)
    model, rounds = trial.begun()
    halves = trial.every[: trial.half], trial.every[trial.half :]
    parts = [model.play_and_learn(rounds, which, 0) for which in halves]
    for name in ("expected", "surrogate"):
        got = np.concatenate([getattr(part, name) for part in parts])
        assert_same({name: getattr(whole, name)}, {name: got}, "play_and_learn in two calls", 1e-9)


def check_later_outputs_do_not_enter(trial):
    """What is played before a round does not depend on the outputs from it on."""
    kept, found = trial.every[: trial.half], []
    other = np.concatenate([trial.y[kept], trial.other_outputs()[trial.half :]])
    for y in (trial.y, other):
        model, rounds = trial.begun(y=y)
        losses = model.play_and_learn(rounds, trial.every, 0)
        found.append({"expected": losses.expected[kept], "surrogate": losses.surrogate[kept]})
    assert_same(*found, "rounds before those with other outputs")


def check_a_rounds_own_output_does_not_enter(trial):
    """Losses on the possible outputs of a round are those of one play.

    That is, of one distribution over the vertices, found by linear programming; where learners may
    abstain, over one output more, which loses ``abstention_cost`` whatever comes.
    """
    (space, plays), outputs, losses = _space_and_vertices(trial), trial.distinct_outputs(), []
    for output in outputs:
        model, rounds = _with_output(trial, output)
        losses.append(model.play_and_learn(rounds, trial.every[-1:], 0).expected[0])
    V = space.encode(outputs)
    table = [space.expected_loss(plays, np.broadcast_to(v, plays.shape)) for v in V]
    if hasattr(trial.subject, "abstention_cost"):
        table = np.column_stack([table, np.full(len(table), trial.subject.abstention_cost)])
    gap = _misfit(np.array(table), np.array(losses))
    shown = ", ".join(f"{loss:.3g}" for loss in losses)
    assert gap <= 1e-6, f"the losses {shown} of one round on its possible outputs are of no play"


def _space_of(model):
    if not hasattr(model, "space_"):
        raise SkipTest("the learner has no space_")
    return model.space_


def _space_and_vertices(trial):
    """The learner's space, and all its vertices."""
    space = _space_of(trial.begun()[0])
    try:
        return space, space.vertices()
    except ValueError as error:
        raise SkipTest(f"the vertices of the learner's space are not listed: {error}") from error


def _misfit(table, losses):
    """How far ``losses`` are from ``table @ p``, p a distribution: the least largest error."""
    m, n = table.shape
    ones, cost = np.ones((m, 1)), np.r_[np.zeros(n), 1.0]
    sides, limits = np.block([[table, -ones], [-table, -ones]]), np.r_[losses, -losses]
    total = np.r_[np.ones(n), 0.0][None]
    return linprog(cost, A_ub=sides, b_ub=limits, A_eq=total, b_eq=[1.0]).fun


def check_expected_losses(trial):
    """`expected_losses` are those of the next play_and_learn; they learn nothing."""
    model, rounds = _with_output(trial, trial.y[-1])
    before, outputs = trial.observe(model, rounds), trial.distinct_outputs()
    got = model.expected_losses(trial.X[-1:], _space_of(model).encode(outputs))
    assert_same(before, trial.observe(model, rounds), "after expected_losses")
    for output, loss in zip(outputs, got, strict=True):
        model, rounds = _with_output(trial, output)
        played = model.play_and_learn(rounds, trial.every[-1:], 0).expected[0]
        assert abs(played - loss) <= 1e-9, f"{loss:.6g}, but play_and_learn expects {played:.6g}"


def _with_output(trial, output):
    """A clone that has learned all rounds but the last, whose output is replaced."""
    y = trial.y.copy()
    y[-1] = output
    model, rounds = trial.begun(y=y)
    model.learn(rounds, trial.every[:-1])
    return model, rounds


def check_learn_in_chunks(trial):
    """Rounds learned in chunks of 7 are learned as in one call, bit for bit."""
    whole, rounds = trial.learned(trial.n)
    model, its = trial.begun()
    for start in range(0, trial.n, 7):
        model.learn(its, trial.every[start : start + 7])
    assert_same(trial.observe(whole, rounds), trial.observe(model, its), "learn in chunks of 7")


def check_partial_fit_in_chunks(trial):
    """``partial_fit`` in chunks of 1 and 7 is that of all rows, to 1e-12."""
    whole, (_, rounds) = trial.learn_part(trial.new(), trial.X, trial.y), trial.begun()
    for size in (1, 7):
        model = trial.new()
        for start in range(0, trial.n, size):
            rows = slice(start, start + size)
            trial.learn_part(model, trial.X[rows], trial.y[rows])
        what = f"partial_fit in chunks of {size}"
        assert_same(trial.observe(whole, rounds), trial.observe(model, rounds), what, 1e-12)


def check_partial_fit_learns_as_learn(trial):
    """``partial_fit`` learns what begin and learn do."""
    plain, _ = trial.learned(trial.n)
    model = trial.learn_part(trial.new(), trial.X, trial.y)
    wanted, got = trial.predictions(plain), trial.predictions(model)
    assert_same(wanted, got, "partial_fit and learn", 1e-9)
    assert model.t_ == trial.n, f"t_ is {model.t_} after partial_fit of {trial.n} rows"


def _expects_losses(trial):
    """Whether the learner supplies ``expected_losses``."""
    return type(trial.subject).expected_losses is not OnlineLearner.expected_losses


#: check -> whether it applies; None: always.
PROTOCOL_CHECKS = {
    check_begin_returns_rounds: None,
    check_begin_forgets: None,
    check_begin_learns_nothing: None,
    check_play_learns_nothing: None,
    check_rounds_are_counted: None,
    check_losses: None,
    check_expected_is_the_mean_of_target: None,
    check_play_and_learn_learns_as_learn: None,
    check_later_outputs_do_not_enter: None,
    check_a_rounds_own_output_does_not_enter: None,
    check_expected_losses: _expects_losses,
    check_learn_in_chunks: None,
    check_partial_fit_in_chunks: learns_in_parts,
    check_partial_fit_learns_as_learn: learns_in_parts,
}
