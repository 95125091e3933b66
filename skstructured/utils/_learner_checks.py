"""Checks of learners: the protocol, copies, bad input, and the needs of evaluation."""

import inspect
import pickle
from copy import deepcopy
from functools import partial
from numbers import Real
from unittest import SkipTest

import numpy as np
from scipy import sparse
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array, check_consistent_length, get_tags
from sklearn.utils.validation import _num_samples

from skstructured._base.exceptions import GuaranteeError
from skstructured.evaluation import progressive_validate
from skstructured.extend.learner import Batch, Losses

#: A deviation that draws exceed once in 10⁹: log(2·10⁹).
RARE = 21.4

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


class LearnerTrial:
    """A learner with its stream (X, y, classes), and the ways to start and to observe it."""

    def __init__(self, learner, X=None, y=None, classes=None, of_optimizer=False):
        if (X is None) != (y is None):
            raise ValueError("X and y must be given together, or neither of them.")
        self.subject, self.of_optimizer = learner, of_optimizer
        X, y = three_classes() if X is None else (X, y)
        self.X, self.y = check_array(X, dtype=np.float64, order="C", allow_nd=True), np.asarray(y)
        check_consistent_length(self.X, self.y)
        if len(self.X) < 20:
            raise ValueError(f"X must have 20 rows or more, got {len(self.X)}.")
        labels = np.unique(self.y) if self.y.ndim == 1 else None
        self.classes = labels if classes is None else np.asarray(classes)
        self.n, self.half = len(self.X), len(self.X) // 2
        self.every = np.arange(self.n)

    def distinct_outputs(self):
        """The different outputs of the stream, and the position of each round's among them."""
        axis = None if self.y.ndim == 1 else 0  # NumPy has no axis for labels that are objects
        different, position = np.unique(self.y, axis=axis, return_inverse=True)
        return different, position.ravel()

    def other_outputs(self):
        """The outputs of the stream exchanged with each other; each round has another."""
        different, position = self.distinct_outputs()
        return different[(position + 1) % len(different)]

    def new(self):
        """A clone that has learned no rows, its generators seeded."""
        model = clone(self.subject)
        names = [name for name in model.get_params() if name.endswith("random_state")]
        return model.set_params(**dict.fromkeys(names, 0))

    def begun(self, X=None, y=None):
        """A clone that has started this stream or another, and its rounds."""
        model = self.new()
        return model, self.begin(model, X, y)

    def begin(self, model, X=None, y=None):
        """Let a learner start this stream or another; its rounds."""
        X, y = self.X if X is None else X, self.y if y is None else y
        return model.begin(X, y, self.classes)

    def learned(self, n):
        """A clone that has learned n rounds, and all rounds."""
        model, rounds = self.begun()
        model.learn(rounds, self.every[:n])
        return model, rounds

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

    def observe(self, model, rounds):
        """Name -> all that can be observed of a fitted learner."""
        played = deepcopy(model).play(rounds, self.every, 0)
        losses = {"expected": played.expected, "surrogate": played.surrogate}
        return self.predictions(model) | losses | numbers(model)

    def state(self, model, rounds):
        """`observe`, now and of a copy that has learned the second half too."""
        twin = deepcopy(model)
        twin.learn(rounds, self.every[self.half :])
        later = {f"{name} later": seen for name, seen in self.observe(twin, rounds).items()}
        return self.observe(model, rounds) | later


def three_classes():
    """60 rows of 4 features with the labels "a", "b", "c" of the largest of the first three."""
    X = np.random.RandomState(0).randn(60, 4)
    return X, np.array(["a", "b", "c"])[np.argmax(X[:, :3], axis=1)]


def numbers(model):
    """The public fitted attributes that are numbers or arrays of them."""
    names = [name for name in dir(model) if name.endswith("_") and not name.startswith("_")]
    found = {name: getattr(model, name, None) for name in names}
    return {k: np.array(v) for k, v in found.items() if isinstance(v, (Real, np.ndarray))}


def has_argument(method, name):
    """Whether a method takes the argument."""
    return name in inspect.signature(method).parameters


def has(name):
    """A function of a trial: whether its subject has an attribute that is not None or False."""
    return lambda trial: bool(getattr(trial.subject, name, None))


def assert_same(wanted, got, what, tolerance=0.0):
    """Raise an AssertionError that names the first of the observations that differ."""
    for name, value in wanted.items():
        assert name in got, f"{what}: {name} is missing"
        assert_close(got[name], value, f"{what}: {name}", tolerance)


def assert_close(got, wanted, what, tolerance=1e-9):
    """Raise an AssertionError unless shapes are equal, and numbers up to the tolerance."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert got.shape == wanted.shape, f"{what} has the shape {got.shape}, not {wanted.shape}"
    if got.dtype.kind in "biuf" and wanted.dtype.kind in "biuf":
        np.testing.assert_allclose(got, wanted, tolerance, tolerance, err_msg=what)
    else:
        np.testing.assert_array_equal(got, wanted, err_msg=what)


def assert_refused(call, what):
    """Raise an AssertionError unless the call raises a ValueError."""
    error = "no error"
    try:
        call()
    except Exception as raised:
        error = raised
    assert isinstance(error, ValueError), f"{what}: {error!r} in the place of a ValueError"


def assert_mean_of_draws(losses, expected, what):
    """Raise an AssertionError unless losses in [0, 1] have their means in sum (Bernstein)."""
    excess, variance = np.sum(losses - expected), np.sum(expected * (1.0 - expected))
    allowed = np.sqrt(2.0 * RARE * variance) + RARE
    assert abs(excess) <= allowed, f"{len(losses)} {what} exceed expected by {excess:.3g} in sum"


def assert_in_unit(values, what, slack=0.0):
    """Raise an AssertionError unless all numbers are in [0, 1]."""
    inside = (values >= -slack) & (values <= 1.0 + slack)
    assert inside.all(), f"{what} holds {values[~inside][0]:g}, not in [0, 1]"


def wrong_outputs(y):
    """Pairs of a fault and outputs, as many as in y, that no space with those of y has."""
    y = np.asarray(y)
    kind, cells = object, {"an unknown label": "no such output"}
    if y.dtype.kind in "biuf":
        kind = float
        cells = {"an output far from all others": y[-1] + 1000.5, "NaN in an output": np.nan}
    for what, cell in cells.items():
        wrong = y.astype(kind)
        wrong[-1] = cell
        yield what, wrong
    if y.ndim == 2:
        yield "outputs without their last column", y[:, :-1]


#: Passes over the rows of a convex problem, by a linear learner with an optimizer to check.
PASSES = 20


def check_loss_falls(trial):
    """The convex loss of rows that are learned again and again is not larger than at the start."""
    model, rounds = trial.begun()
    start = model.play(rounds, trial.every, 0).surrogate.mean()
    model.learn(rounds, np.tile(trial.every, PASSES))
    end = model.play(rounds, trial.every, 0).surrogate.mean()
    assert end <= start * (1.0 + 1e-9), (
        f"the loss of {trial.n} rows grew from {start:.3g} to {end:.3g} in {PASSES} passes: steps "
        "must go against the gradient, and be small enough"
    )


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


def check_begin_forgets(trial):
    """A learner that restarts is as if it had learned no rows, and learns the same."""
    model, _ = trial.learned(trial.half)
    again = trial.state(model, trial.begin(model))
    assert_same(trial.state(*trial.begun()), again, "after a second begin")


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


def check_learn_in_chunks(trial):
    """Rounds learned in chunks of 7 are learned as in one call, bit for bit."""
    whole, rounds = trial.learned(trial.n)
    model, its = trial.begun()
    for start in range(0, trial.n, 7):
        model.learn(its, trial.every[start : start + 7])
    assert_same(trial.observe(whole, rounds), trial.observe(model, its), "learn in chunks of 7")


def check_partial_fit_in_chunks(trial):
    """``partial_fit`` learns as begin and learn do; in chunks of 1 and 7 the same, to 1e-12."""
    learned, rounds = trial.learned(trial.n)
    whole = trial.learn_part(trial.new(), trial.X, trial.y)
    wanted, got = trial.predictions(learned), trial.predictions(whole)
    assert_same(wanted, got, "partial_fit and learn", 1e-9)
    assert whole.t_ == trial.n, f"t_ is {whole.t_} after partial_fit of {trial.n} rows"
    for size in (1, 7):
        model = trial.new()
        for start in range(0, trial.n, size):
            rows = slice(start, start + size)
            trial.learn_part(model, trial.X[rows], trial.y[rows])
        what = f"partial_fit in chunks of {size}"
        assert_same(trial.observe(whole, rounds), trial.observe(model, rounds), what, 1e-12)


def check_pickle(trial):
    """A learner that was pickled predicts the same, and continues to learn the same."""
    model, rounds = trial.learned(trial.half)
    other = pickle.loads(pickle.dumps(model))
    assert_same(trial.state(model, rounds), trial.state(other, rounds), "after pickling")


def check_sparse_rows(trial):
    """CSR rows are played, learned and predicted as dense ones, up to rounding.

    Except if rows are standardized: only dense rows are centered for it.
    """
    X, found = trial.X * (np.random.RandomState(0).rand(*trial.X.shape) < 0.5), []
    for rows in (X, sparse.csr_matrix(X)):
        model = trial.new()
        names = [name for name in model.get_params() if name.split("__")[-1] == "standardize"]
        rounds = trial.begin(model.set_params(**dict.fromkeys(names, False)), rows)
        losses = model.play_and_learn(rounds, trial.every, 0)
        found.append(losses._asdict() | trial.predictions(model, rows))
    assert_same(*found, "CSR rows", 1e-7)


def check_weight_zero(trial):
    """A row of weight zero is equal to one left out, however large."""
    weight, out = np.random.RandomState(0).randint(1, 4, trial.n) / 2.0, trial.every % 7 == 3
    weight[out] = 0.0
    X = trial.X.copy()
    X[out] *= 1000.0
    found = [
        trial.learn_part(trial.new(), X[rows], trial.y[rows], sample_weight=weight[rows])
        for rows in (~out, trial.every)
    ]
    assert_same(*map(trial.predictions, found), "rows of weight zero and without them", 1e-7)


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


#: Bounds with probability 1 − RARELY are checked as if they were certain.
RARELY = 1e-6


def _validated(trial, **more):
    """A progressive validation of a new learner on the trial's stream."""
    more = {"play": "randomized", "random_state": 0, "classes": trial.classes, **more}
    return progressive_validate(trial.new(), trial.X, trial.y, **more)


def check_progressive_validation(trial):
    """Every round is played and learned by a clone; batches are played before they are learned."""
    result, (model, rounds) = _validated(trial), trial.begun()
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
    got = _validated(trial, play="predict").target_loss
    assert_close(got, answered.target, "progressive_validate of answers")
    _check_second_batch(trial, "predict", "answer")


def _check_second_batch(trial, play, method):
    """A batch is played, or answered, by the learner of those before it."""
    found = _validated(trial, play=play, batch_size=trial.half).expected_target_loss
    model, rounds = trial.learned(trial.half)
    second = trial.every[trial.half : 2 * trial.half]
    assert_close(found[second], getattr(model, method)(rounds, second).expected, "a second batch")


def check_round_weights(trial):
    """`round_weights` are positive, one per round, of mean 1."""
    weight = trial.learned(trial.n)[0].round_weights(trial.n)
    assert np.shape(weight) == (trial.n,), f"round_weights are of shape {np.shape(weight)}"
    assert np.min(weight) > 0.0, f"a weight is {np.min(weight):.3g}"
    assert abs(np.mean(weight) - 1.0) <= 1e-9, f"their mean is {np.mean(weight):.6g}, not 1"


def check_certificate(trial):
    """A bound is finite and was kept, or a `GuaranteeError` explains why there is no bound."""
    result = _validated(trial)
    for delta, loss in ((None, result.expected_target_loss), (RARELY, result.target_loss)):
        try:
            bound = result.regret_bound(delta=delta)
        except GuaranteeError as error:
            assert len(str(error).split()) > 3, f"a GuaranteeError must say why, got {error}"
            continue
        total = float(result.weight @ loss)
        what = f"the bound with delta={delta} is {bound:.6g}, the loss {total:.6g}"
        assert total <= bound * (1.0 + 1e-9) < np.inf, what


#: check -> whether it applies, for those that do not to every learner.
ONLY = {
    check_loss_falls: lambda trial: trial.of_optimizer,
    check_partial_fit_in_chunks: has("partial_fit"),
    check_sparse_rows: lambda trial: get_tags(trial.subject).input_tags.sparse,
    check_weight_zero: lambda trial: (
        has("partial_fit")(trial) and has_argument(trial.subject.partial_fit, "sample_weight")
    ),
}
