"""Checks of learners: the protocol, copies, bad input, and the needs of evaluation."""

import inspect
import sys
from copy import deepcopy
from functools import partial
from unittest import SkipTest

import numpy as np
from scipy.optimize import nnls
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import _num_samples

from skstructured.extend.learner import Batch, Losses
from skstructured.utils import _component_checks, _run
from skstructured.utils._component_checks import (
    StreamTrial,
    assert_mean_of_draws,
    assert_same,
    three_classes,
)
from skstructured.utils._space_checks import (
    assert_close,
    assert_in_unit,
    assert_refused,
    has,
    wrong_outputs,
)

#: Methods that learn rows; methods that predict from rows.
LEARNING = ("partial_fit", "begin", "fit")
PREDICTIONS = (
    "predict",
    "predict_mean",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "decoding_proba",
    "embedding_scores",
)


class LearnerTrial(StreamTrial):
    """A learner of any space with its stream, and the ways to start and to observe it."""

    def __init__(self, learner, X=None, y=None, classes=None):
        X, y, _ = three_classes() if X is None else (X, np.asarray(y), None)
        labels = np.unique(y) if y.ndim == 1 else None
        X = check_array(X, dtype=np.float64, order="C", allow_nd=True)
        super().__init__(learner, X, y, labels if classes is None else np.asarray(classes))

    def distinct_outputs(self):
        """The different outputs of the stream, and the position of each round's among them."""
        axis = None if self.y.ndim == 1 else 0  # NumPy has no axis for labels that are objects
        different, position = np.unique(self.y, axis=axis, return_inverse=True)
        return different, position.ravel()

    def other_outputs(self):
        """The outputs of the stream exchanged with each other; each round has another."""
        different, position = self.distinct_outputs()
        return different[(position + 1) % len(different)]

    def begun(self, y=None):
        """A clone that has started the stream, or one with other outputs, and its rounds."""
        model = self.new()
        return model, self.begin(model, y=y)

    def begin(self, model, X=None, y=None):
        """Let a learner start this stream or another; its rounds."""
        X, y = self.X if X is None else X, self.y if y is None else y
        return model.begin(X, y, self.classes)

    def learn_part(self, model, X, y, **more):
        """``partial_fit``, with the classes if it accepts them."""
        if has_argument(model.partial_fit, "classes"):
            more["classes"] = self.classes
        return model.partial_fit(X, y, **more)

    def predictions(self, model, X=None):
        """Name -> predictions of a learner for the rows."""
        twin, X, found = deepcopy(model), self.X if X is None else X, {}
        for name in PREDICTIONS:
            if hasattr(twin, name):
                try:
                    found[name] = np.asarray(getattr(twin, name)(X))
                except NotFittedError:
                    found[name] = np.array("not fitted")
        return found


def has_argument(method, name):
    """Whether a method takes the argument."""
    return name in inspect.signature(method).parameters


#: How often each round is played, for a draw's mean.
DRAWS = 20


def check_begin_returns_rounds(trial):
    """`Batch` with one row and output per round, and a weight or none."""
    _, rounds = trial.begun()
    assert isinstance(rounds, Batch), f"begin returned {type(rounds).__name__}, not Batch"
    for name in ("X", "packed", "weight"):
        entries = getattr(rounds, name)
        size = trial.n if name == "weight" and entries is None else _num_samples(entries)
        assert size == trial.n, f"{name} of begin has {size} entries for {trial.n} rounds"


def check_begin_learns_nothing(trial):
    """The outputs that begin gets have no effect; no round is counted."""
    (model, rounds), (other, _) = trial.begun(), trial.begun(y=trial.other_outputs())
    assert model.t_ == 0, f"t_ is {model.t_} after begin"
    wanted, got = trial.observe(model, rounds), trial.observe(other, rounds)
    assert_same(wanted, got, "begin with other outputs")


def check_play_learns_nothing(trial):
    """A learner that plays is as if it had not, and learns the same."""
    model, rounds = trial.learned(trial.half)
    before = trial.state(model, rounds)
    model.play(rounds, trial.every, 0)
    assert_same(before, trial.state(model, rounds), "after play")


def check_rounds_are_counted(trial):
    """``t_`` is the number of rounds learned, and no others."""
    model, rounds = trial.begun()
    model.learn(rounds, np.array([3, 1, 2]))
    model.play(rounds, np.array([4, 5]), 0)
    assert model.t_ == 3, f"t_ is {model.t_} after 3 rounds learned and 2 played"
    model.play_and_learn(rounds, np.array([4, 5]), 0)
    assert model.t_ == 5, f"t_ is {model.t_} after 5 rounds learned"


def check_losses(trial):
    """`Losses` of the right shapes; targets and expectations are in [0, 1]."""
    model, rounds = trial.learned(trial.half)
    which = trial.every[1:]
    for method in ("play", "play_and_learn"):
        losses = getattr(deepcopy(model), method)(rounds, which, 0)
        assert isinstance(losses, Losses), f"{method} returned {type(losses).__name__}, not Losses"
        for name, values in losses._asdict().items():
            shape = np.shape(values)
            assert shape == which.shape, f"{name} of {method} is {shape}, not {which.shape}"
            if name != "surrogate":
                assert_in_unit(values, f"{name} of {method}")


def check_expected_is_the_mean_of_target(trial):
    """Draws of the target loss have the mean `expected`, up to their spread (Bernstein)."""
    model, rounds = trial.learned(trial.half)
    losses = model.play(rounds, np.repeat(trial.every, DRAWS), 0)
    sure = np.isin(losses.expected, (0.0, 1.0))
    wrong = losses.target[sure] != losses.expected[sure]
    assert not wrong.any(), "target is not expected, where expected is 0 or 1"
    assert_mean_of_draws(losses.target, losses.expected, "draws of target")


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
    """Plays before a round do not depend on the outputs from it on."""
    half, found = trial.half, []
    for y in (trial.y, np.concatenate([trial.y[:half], trial.other_outputs()[half:]])):
        model, rounds = trial.begun(y=y)
        losses = model.play_and_learn(rounds, trial.every, 0)
        found.append({name: getattr(losses, name)[:half] for name in ("expected", "surrogate")})
    assert_same(*found, "rounds before those with other outputs")


def check_a_rounds_own_output_does_not_enter(trial):
    """Losses on the possible outputs of a round are those of one play.

    That is, of one distribution over the vertices, found by nonnegative least squares; if learners
    may abstain, over one output more, which costs ``abstention_cost`` for any true output.
    """
    space, outputs = getattr(trial.begun()[0], "space_", None), trial.distinct_outputs()[0][:8]
    try:
        plays = space.vertices()
    except (AttributeError, ValueError) as error:
        raise SkipTest(f"the vertices of the learner's space are not listed: {error}") from error
    losses = []
    for output in outputs:
        model, rounds = _with_output(trial, output)
        losses.append(model.play_and_learn(rounds, trial.every[-1:], 0).expected[0])
    V = space.encode(outputs)
    table = np.array([space.expected_loss(plays, np.broadcast_to(v, plays.shape)) for v in V])
    if hasattr(trial.subject, "abstention_cost"):
        table = np.column_stack([table, np.full(len(table), trial.subject.abstention_cost)])
    total = np.ones(table.shape[1])  # of the probabilities, which is 1
    gap = nnls(np.vstack([table, total]), np.append(losses, 1.0))[1]
    shown = ", ".join(f"{loss:.3g}" for loss in losses)
    assert gap <= 1e-6, f"the losses {shown} of one round on its possible outputs are of no play"


def _with_output(trial, output):
    """A clone that has learned all rounds but the last, whose output is replaced."""
    y = trial.y.copy()
    y[-1] = output
    model, rounds = trial.begun(y=y)
    model.learn(rounds, trial.every[:-1])
    return model, rounds


def check_wrong_rows_are_refused(trial):
    """NaN, unless tags allow it, infinity, and a wrong width are ValueErrors and change nothing."""
    X, later = trial.X, ("partial_fit", *PREDICTIONS)
    wrong = [("rows without their last feature", X[:, :-1], trial.y, later)]
    wrong += [("rows with a feature more", np.hstack([X, X[:, :1]]), trial.y, later)]
    has_gaps = get_tags(trial.subject).input_tags.allow_nan
    for value in (np.inf, -np.inf) if has_gaps else (np.nan, np.inf, -np.inf):
        rows = X.copy()
        rows[trial.n // 2, -1] = value
        wrong += [(f"{value} in a row", rows, trial.y, (*LEARNING, *PREDICTIONS))]
    _refuses(trial, wrong)


def check_wrong_outputs_are_refused(trial):
    """Outputs that the space does not have are ValueErrors and change nothing."""
    methods = LEARNING[:1] if trial.classes is None else LEARNING[:2]
    _refuses(trial, [(what, trial.X, y, methods) for what, y in wrong_outputs(trial.y)])


def check_wrong_lengths_are_refused(trial):
    """More rows than outputs or fewer are ValueErrors and change nothing; so is one output."""
    pairs = (trial.n, trial.n - 1), (trial.n - 1, trial.n), (trial.n, 1)
    wrong = [(f"{n} rows and {m} outputs", trial.X[:n], trial.y[:m], LEARNING) for n, m in pairs]
    _refuses(trial, wrong)


def _refuses(trial, wrong):
    """Whether a learner refuses each (fault, X, y, methods), and is unchanged."""
    model, rounds = trial.learned(trial.half)
    before, after = trial.observe(model, rounds), trial.state(model, rounds)
    own = {"partial_fit": partial(trial.learn_part, model), "begin": partial(trial.begin, model)}
    for what, X, y, methods in wrong:
        for name in filter(partial(hasattr, model), methods):
            given = (X,) if name in PREDICTIONS else (X, y)
            call = own.get(name, getattr(model, name))
            assert_refused(partial(call, *given), f"{what} in {name}")
            assert_same(before, trial.observe(model, rounds), f"after {what}")
    assert_same(after, trial.state(model, rounds), "after wrong input")


def check_progressive_validation(trial):
    """Every round is played and learned by a clone; batches are played before they are learned."""
    result, (model, rounds) = trial.validated(), trial.begun()
    assert result.estimator.t_ == trial.n, f"{result.estimator.t_} of {trial.n} rounds learned"
    played = model.play_and_learn(rounds, trial.every, 0)
    got = result.target_loss, result.expected_target_loss, result.surrogate_loss
    assert_same(played._asdict(), Losses(*got)._asdict(), "progressive_validate")
    _check_second_batch(trial, "randomized", "play")


def check_answers(trial):
    """What `predict` answers is learned as by learn, and validated; nothing of it is drawn."""
    (model, rounds), (plain, its) = trial.begun(), trial.learned(trial.n)
    answered = model.answer_and_learn(rounds, trial.every)
    wanted = trial.observe(plain, its)
    assert_same(wanted, trial.observe(model, rounds), "answer_and_learn and learn", 1e-9)
    assert_close(answered.target, answered.expected, "an answer")
    got = trial.validated(play="predict").target_loss
    assert_close(got, answered.target, "progressive_validate of answers")
    _check_second_batch(trial, "predict", "answer")


def _check_second_batch(trial, play, method):
    """A batch is played, or answered, by the learner of those before it."""
    found = trial.validated(play=play, batch_size=trial.half).expected_target_loss
    model, rounds = trial.learned(trial.half)
    second = trial.every[trial.half : 2 * trial.half]
    assert_close(found[second], getattr(model, method)(rounds, second).expected, "a second batch")


def check_round_weights(trial):
    """`round_weights` are positive, one per round, of mean 1."""
    weight = trial.learned(trial.n)[0].round_weights(trial.n)
    assert np.shape(weight) == (trial.n,), f"round_weights are of shape {np.shape(weight)}"
    assert np.min(weight) > 0.0, f"a weight is {np.min(weight):.3g}"
    assert abs(np.mean(weight) - 1.0) <= 1e-9, f"their mean is {np.mean(weight):.6g}, not 1"


#: check -> whether it applies, for those that do not to every learner.
ONLY = {
    _component_checks.check_loss_falls: lambda trial: False,
    _component_checks.check_weights_are_finite: lambda trial: False,
    _component_checks.check_partial_fit_in_chunks: has("partial_fit"),
    _component_checks.check_sparse_rows: lambda trial: get_tags(trial.subject).input_tags.sparse,
    _component_checks.check_weight_zero: lambda trial: (
        has("partial_fit")(trial) and has_argument(trial.subject.partial_fit, "sample_weight")
    ),
}


def learner_checks(learner, X=None, y=None, classes=None):
    """Yield (name, callable without arguments) of the checks that apply to a learner.

    The stream is one of three classes by default. A check raises an AssertionError that names the
    learner and the fault, or unittest's SkipTest.
    """
    trial = LearnerTrial(learner, X, y, classes)
    functions = vars(sys.modules[__name__]) | vars(_component_checks)
    for name, check in functions.items():
        own = name.startswith("check_") and check.__module__ == __name__
        shared = getattr(check, "__annotations__", {}) == {"trial": StreamTrial}
        if (own or shared) and ONLY.get(check, bool)(trial):
            yield name, partial(_run, trial, check)


def assert_keeps_protocol(learner, X=None, y=None):
    """Run all checks of a learner but those that are skipped."""
    for _, check in learner_checks(learner, X, y):
        try:
            check()
        except SkipTest:
            continue
