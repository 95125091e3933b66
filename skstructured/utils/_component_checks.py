"""Checks of the losses, decoders and optimizers that users write for learners."""

import pickle
from copy import deepcopy
from functools import cached_property
from numbers import Real
from unittest import SkipTest

import numpy as np
from scipy import sparse
from sklearn.base import clone

from skstructured._base.exceptions import GuaranteeError
from skstructured._base.validation import check_kernels, check_mixture
from skstructured.evaluation import progressive_validate
from skstructured.extend.surrogate import Surrogate
from skstructured.losses import FenchelYoung
from skstructured.spaces import resolve_space
from skstructured.utils._space_checks import (
    LOG_ODDS,
    SpaceTrial,
    assert_close,
    assert_in_unit,
    assert_vertices,
    only_if,
)


def assert_mean_of_draws(losses, expected, what):
    """Raise an AssertionError unless losses in [0, 1] have their means in sum (Bernstein)."""
    excess, variance = np.sum(losses - expected), np.sum(expected * (1.0 - expected))
    allowed = np.sqrt(2.0 * LOG_ODDS * variance) + LOG_ODDS
    assert abs(excess) <= allowed, f"{len(losses)} {what} exceed expected by {excess:.3g} in sum"


def three_classes():
    """60 rows of 4 features, labels "a", "b", "c" of the largest of the first three; the labels."""
    X, labels = np.random.RandomState(0).randn(60, 4), np.array(["a", "b", "c"])
    return X, labels[np.argmax(X[:, :3], axis=1)], labels


def numbers(model):
    """The public fitted attributes that are numbers or arrays of them."""
    names = [name for name in dir(model) if name.endswith("_") and not name.startswith("_")]
    attributes = {name: getattr(model, name, None) for name in names}
    return {k: np.array(v) for k, v in attributes.items() if isinstance(v, (Real, np.ndarray))}


def assert_same(expected, got, what, tolerance=0.0):
    """Raise an AssertionError that names the first of the observations that differ."""
    for name, value in expected.items():
        assert name in got, f"{what}: {name} is missing"
        assert_close(got[name], value, f"{what}: {name}", tolerance)


class LossTrial:
    """A loss over a fitted space, true vertices, and scores of many sizes."""

    def __init__(self, loss, space, outputs):
        self.subject, self.over = loss, SpaceTrial(resolve_space(space), outputs)

    @cached_property
    def loss(self):
        """The loss, as learners make it for their space."""
        return self.subject.over(self.over.space)

    def rounds(self):
        """Scores θ without ties (n, dim), and the true vertex of each."""
        V, rng = self.over.some(), np.random.RandomState(0)
        theta = rng.randn(10 * len(V), V.shape[1]) * np.exp(rng.randn(10 * len(V), 1))
        return theta, np.tile(V, (10, 1))


def check_kernel_arguments(trial: LossTrial):
    """The kernel has the five arguments with which loops call it."""
    check_kernels(trial.loss)


def check_gradient(trial: LossTrial):
    """Small steps in θ change the loss by <g, step>: g is the gradient, with its sign."""
    (theta, V), length = trial.rounds(), 1e-5
    step = length * np.random.RandomState(1).randn(*theta.shape)
    g = trial.loss.value_and_gradient(theta, V)[1]
    change = trial.loss.value(theta + step, V) - trial.loss.value(theta - step, V)
    expected = 2.0 * np.einsum("nd,nd->n", g, step)
    wrong = ~(np.abs(change - expected) <= 1e-3 * np.abs(change) + 1e-3 * length)
    turned = " Its sign is wrong: g points where the loss falls." * bool(change @ expected < 0.0)
    assert not wrong.any(), (
        f"a step in θ changes the loss by {change[wrong][0]:.3g}, but <g, step> is "
        f"{expected[wrong][0]:.3g}: g must be the gradient in θ.{turned}"
    )


def check_true_outputs_have_the_least_loss(trial: LossTrial):
    """Scores whose best output is y have a lower loss if y is true than if another output is."""
    V = trial.over.some()
    theta = V - 0.5 * (V.min(axis=0) + V.max(axis=0))
    best = (trial.over.space.argmax(theta) == V).all(axis=1)
    if not best.any():
        raise SkipTest("no scores were found that are best for an example")
    for score, v in zip(theta[best], V[best], strict=True):
        loss = trial.loss.value(np.tile(score, (len(V), 1)), V)
        true = (v == V).all(axis=1)
        least, other = loss[true].max(), loss[~true].min()
        assert least < other, (
            f"scores that are best for the true output have the loss {least:.3g}, and "
            f"{other:.3g} if another output is true"
        )


@only_if(lambda trial: type(trial.subject).lipschitz is not Surrogate.lipschitz)
def check_lipschitz(trial: LossTrial):
    """No gradient is longer than `lipschitz`."""
    theta, V = trial.rounds()
    g = np.vstack([trial.loss.value_and_gradient(c * theta, V)[1] for c in (0.1, 1.0, 100.0)])
    largest, bound = np.linalg.norm(g, axis=1).max(), trial.loss.lipschitz
    assert largest <= bound * (1.0 + 1e-9), f"lipschitz is {bound:.6g}, but ‖g‖ is {largest:.6g}"


def check_mean(trial: LossTrial):
    """Means are finite, one per row of scores, and probabilities if the loss declares it."""
    theta, _ = trial.rounds()
    mu = np.asarray(trial.loss.mean(theta))
    assert mu.shape == theta.shape, f"mean has the shape {mu.shape}, not {theta.shape}"
    assert np.isfinite(mu).all(), "mean is not finite"
    if trial.loss.has_probabilities and hasattr(trial.over.space, "mean_proba"):
        assert_in_unit(trial.over.space.mean_proba(mu), "mean_proba of the mean", 1e-9)


def check_copies_of_losses(trial: LossTrial):
    """The loss itself is unchanged by `over`; its clones and copies have the same values."""
    original, rounds = repr(trial.subject), trial.rounds()
    expected = trial.loss.value(*rounds)
    assert repr(trial.subject) == original, f"over changed the loss to {trial.subject!r}"
    copies = {"cloned": clone(trial.subject), "copied": deepcopy(trial.subject)}
    for operation, copy in copies.items():
        value = copy.over(trial.over.space).value(*rounds)
        assert_close(value, expected, f"the value of a loss that was {operation}")


class DecoderTrial:
    """A decoder, its arguments (scores, their means, a loss over a fitted space), and truths."""

    def __init__(self, decoder, space, outputs, loss):
        over = SpaceTrial(resolve_space(space), outputs)
        loss = FenchelYoung(over.space) if loss is None else loss.over(over.space)
        self.subject, self.space, theta = decoder, over.space, over.scores()
        self.rows = theta, loss.mean(theta), loss
        self.truths = np.resize(over.some(), theta.shape)


def check_vertices_and_probabilities(trial: DecoderTrial):
    """`mixture` returns vertices of the space and probabilities; `most_likely`, vertices."""
    mixture, shape = trial.subject.mixture(*trial.rows), trial.truths.shape
    V, _ = check_mixture(trial.subject, mixture, trial.space, shape)
    assert_vertices(trial.space, V, "what mixture returns")
    assert_vertices(trial.space, trial.subject.most_likely(*trial.rows), "what most_likely returns")


def check_rows_alone(trial: DecoderTrial):
    """A row has the same mixture alone; scores and means are not changed."""
    theta, mu, loss = trial.rows
    original, whole = np.array([theta, mu]), trial.subject.mixture(*trial.rows)
    assert_close(np.array([theta, mu]), original, "scores and means after mixture", 0.0)
    for i in range(20):
        single = trial.subject.mixture(theta[i : i + 1], mu[i : i + 1], loss)
        for array, rows in zip(single, whole, strict=True):
            assert_close(array[0], rows[i], "the mixture of a row alone")


def check_draws(trial: DecoderTrial):
    """Draws are vertices, whose losses have the mean `expected_loss` (Bernstein)."""
    (theta, mu, loss), V, n_draws = trial.rows, trial.truths, 50
    expected = np.tile(trial.subject.expected_loss(theta, mu, V, loss), n_draws)
    theta, mu, V = (np.tile(rows, (n_draws, 1)) for rows in (theta, mu, V))
    drawn = trial.subject.decode(theta, mu, loss, 0)
    assert_vertices(trial.space, drawn[:100], "what decode returns")
    assert_mean_of_draws(trial.space.expected_loss(drawn, V), expected, "losses of draws")


class StreamTrial:
    """A learner, a stream (X, y) for it, and the labels; ways to start and to observe it."""

    #: Passes over the rows of a convex problem.
    n_passes = 20

    def __init__(self, learner, X, y, classes):
        self.subject, self.X, self.y, self.classes = learner, X, y, classes
        self.n, self.half, self.every = len(X), len(X) // 2, np.arange(len(X))

    def new(self):
        """A clone that has learned no rows, its generators seeded."""
        model = clone(self.subject)
        names = [name for name in model.get_params() if name.endswith("random_state")]
        return model.set_params(**dict.fromkeys(names, 0))

    def begin(self, model, X=None):
        """Let a learner start the stream, or one with other rows; its rounds."""
        return model.begin(self.X if X is None else X, self.y, self.classes)

    def learned(self, n):
        """A clone that has learned n rounds, and all rounds."""
        model = self.new()
        rounds = self.begin(model)
        model.learn(rounds, self.every[:n])
        return model, rounds

    def learn_part(self, model, X, y, **more):
        """``partial_fit`` with the classes."""
        return model.partial_fit(X, y, classes=self.classes, **more)

    def validated(self, play="randomized", **options):
        """A progressive validation of a new learner on the stream."""
        options = {"random_state": 0, "classes": self.classes, **options}
        return progressive_validate(self.new(), self.X, self.y, play=play, **options)

    def predictions(self, model, X=None):
        """Name -> predictions of a learner for the rows."""
        X, names = self.X if X is None else X, ("predict", "predict_proba", "embedding_scores")
        return {name: getattr(model, name)(X) for name in names}

    def observe(self, model, rounds):
        """Name -> all that can be observed of a fitted learner."""
        played = deepcopy(model).play(rounds, self.every, 0)
        losses = {"expected": played.expected, "surrogate": played.surrogate}
        return self.predictions(model) | losses | numbers(model)

    def state(self, model, rounds):
        """`observe`, now and of a copy that has learned the second half too."""
        twin = deepcopy(model)
        twin.learn(rounds, self.every[self.half :])
        later = {f"{name} later": value for name, value in self.observe(twin, rounds).items()}
        return self.observe(model, rounds) | later


def check_loss_falls(trial: StreamTrial):
    """The convex loss of rows that are learned again and again is not larger than at the start."""
    model, rounds = trial.learned(0)
    start = model.play(rounds, trial.every, 0).surrogate.mean()
    model.learn(rounds, np.tile(trial.every, trial.n_passes))
    end = model.play(rounds, trial.every, 0).surrogate.mean()
    assert end <= start * (1.0 + 1e-9), (
        f"the loss of {trial.n} rows grew from {start:.3g} to {end:.3g} in {trial.n_passes} "
        "passes: steps must go against the gradient, and be small enough"
    )


def check_weights_are_finite(trial: StreamTrial):
    """Weights and their averages are finite after many passes."""
    model, rounds = trial.learned(0)
    model.learn(rounds, np.tile(trial.every, trial.n_passes))
    for name, values in numbers(model).items():
        finite = values.dtype.kind not in "fc" or np.isfinite(values).all()
        assert finite, f"{name} has numbers that are not finite after {trial.n_passes} passes"


def check_begin_forgets(trial: StreamTrial):
    """A learner that restarts is as if it had learned no rows, and learns the same."""
    model, _ = trial.learned(trial.half)
    again = trial.state(model, trial.begin(model))
    assert_same(trial.state(*trial.learned(0)), again, "after a second begin")


def check_learn_in_chunks(trial: StreamTrial):
    """Rounds learned in chunks of 7 are learned as in one call, bit for bit."""
    whole, rounds = trial.learned(trial.n)
    model, its = trial.learned(0)
    for start in range(0, trial.n, 7):
        model.learn(its, trial.every[start : start + 7])
    assert_same(trial.observe(whole, rounds), trial.observe(model, its), "learn in chunks of 7")


def check_partial_fit_in_chunks(trial: StreamTrial):
    """``partial_fit`` learns as begin and learn do; in chunks of 1 and 7 the same, to 1e-12."""
    learned, rounds = trial.learned(trial.n)
    whole = trial.learn_part(trial.new(), trial.X, trial.y)
    expected, got = trial.predictions(learned), trial.predictions(whole)
    assert_same(expected, got, "partial_fit and learn", 1e-9)
    assert whole.t_ == trial.n, f"t_ is {whole.t_} after partial_fit of {trial.n} rows"
    for size in (1, 7):
        model = trial.new()
        for start in range(0, trial.n, size):
            rows = slice(start, start + size)
            trial.learn_part(model, trial.X[rows], trial.y[rows])
        what = f"partial_fit in chunks of {size}"
        assert_same(trial.observe(whole, rounds), trial.observe(model, rounds), what, 1e-12)


def check_pickle(trial: StreamTrial):
    """A learner that was pickled predicts the same, and continues to learn the same."""
    model, rounds = trial.learned(trial.half)
    other = pickle.loads(pickle.dumps(model))
    assert_same(trial.state(model, rounds), trial.state(other, rounds), "after pickling")


def check_sparse_rows(trial: StreamTrial):
    """CSR rows are played, learned and predicted as dense ones if rows are not standardized."""
    X, results = trial.X * (np.random.RandomState(0).rand(*trial.X.shape) < 0.5), {}
    for kind, rows in {"dense": X, "sparse": sparse.csr_matrix(X)}.items():
        model = trial.new()
        names = [name for name in model.get_params() if name.split("__")[-1] == "standardize"]
        rounds = trial.begin(model.set_params(**dict.fromkeys(names, False)), rows)
        losses = model.play_and_learn(rounds, trial.every, 0)
        results[kind] = losses._asdict() | trial.predictions(model, rows)
    assert_same(results["dense"], results["sparse"], "CSR rows", 1e-7)


def check_weight_zero(trial: StreamTrial):
    """A row of weight zero is equal to one left out, however large."""
    weight, out = np.random.RandomState(0).randint(1, 4, trial.n) / 2.0, trial.every % 7 == 3
    weight[out] = 0.0
    X = trial.X.copy()
    X[out] *= 1000.0
    without, complete = (
        trial.learn_part(trial.new(), X[rows], trial.y[rows], sample_weight=weight[rows])
        for rows in (~out, trial.every)
    )
    expected, got = trial.predictions(without), trial.predictions(complete)
    assert_same(expected, got, "rows of weight zero and without them", 1e-7)


def check_certificate(trial: StreamTrial):
    """A bound is finite and was kept, or a `GuaranteeError` explains why there is no bound."""
    result = trial.validated()
    for delta, loss in ((None, result.expected_target_loss), (1e-6, result.target_loss)):
        try:
            bound = result.regret_bound(delta=delta)
        except GuaranteeError as error:
            assert len(str(error).split()) > 3, f"a GuaranteeError must say why, got {error}"
            continue
        total = float(result.weight @ loss)
        what = f"the bound with delta={delta} is {bound:.6g}, the loss {total:.6g}"
        assert total <= bound * (1.0 + 1e-9) < np.inf, what
