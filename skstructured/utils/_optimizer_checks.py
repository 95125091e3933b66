"""Checks of a custom optimizer, in a linear learner on a stream."""

import pickle
from copy import deepcopy
from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.base import clone

from skstructured._base.exceptions import GuaranteeError
from skstructured.evaluation import progressive_validate
from skstructured.utils._space_checks import assert_close


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


def check_loss_falls(trial):
    """The convex loss of rows that are learned again and again is not larger than at the start."""
    model, rounds = trial.learned(0)
    start = model.play(rounds, trial.every, 0).surrogate.mean()
    model.learn(rounds, np.tile(trial.every, trial.n_passes))
    end = model.play(rounds, trial.every, 0).surrogate.mean()
    assert end <= start * (1.0 + 1e-9), (
        f"the loss of {trial.n} rows grew from {start:.3g} to {end:.3g} in {trial.n_passes} "
        "passes: steps must go against the gradient, and be small enough"
    )


def check_weights_are_finite(trial):
    """Weights and their averages are finite after many passes."""
    model, rounds = trial.learned(0)
    model.learn(rounds, np.tile(trial.every, trial.n_passes))
    for name, values in numbers(model).items():
        finite = values.dtype.kind not in "fc" or np.isfinite(values).all()
        assert finite, f"{name} has numbers that are not finite after {trial.n_passes} passes"


def check_begin_forgets(trial):
    """A learner that restarts is as if it had learned no rows, and learns the same."""
    model, _ = trial.learned(trial.half)
    again = trial.state(model, trial.begin(model))
    assert_same(trial.state(*trial.learned(0)), again, "after a second begin")


def check_learn_in_chunks(trial):
    """Rounds learned in chunks of 7 are learned as in one call, bit for bit."""
    whole, rounds = trial.learned(trial.n)
    model, its = trial.learned(0)
    for start in range(0, trial.n, 7):
        model.learn(its, trial.every[start : start + 7])
    assert_same(trial.observe(whole, rounds), trial.observe(model, its), "learn in chunks of 7")


def check_partial_fit_in_chunks(trial):
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


def check_pickle(trial):
    """A learner that was pickled predicts the same, and continues to learn the same."""
    model, rounds = trial.learned(trial.half)
    other = pickle.loads(pickle.dumps(model))
    assert_same(trial.state(model, rounds), trial.state(other, rounds), "after pickling")


def check_sparse_rows(trial):
    """CSR rows are played, learned and predicted as dense ones if rows are not standardized."""
    X, results = trial.X * (np.random.RandomState(0).rand(*trial.X.shape) < 0.5), []
    for rows in (X, sparse.csr_matrix(X)):
        model = trial.new()
        names = [name for name in model.get_params() if name.split("__")[-1] == "standardize"]
        rounds = trial.begin(model.set_params(**dict.fromkeys(names, False)), rows)
        losses = model.play_and_learn(rounds, trial.every, 0)
        results.append(losses._asdict() | trial.predictions(model, rows))
    assert_same(*results, "CSR rows", 1e-7)


def check_weight_zero(trial):
    """A row of weight zero is equal to one left out, however large."""
    weight, out = np.random.RandomState(0).randint(1, 4, trial.n) / 2.0, trial.every % 7 == 3
    weight[out] = 0.0
    X = trial.X.copy()
    X[out] *= 1000.0
    models = [
        trial.learn_part(trial.new(), X[rows], trial.y[rows], sample_weight=weight[rows])
        for rows in (~out, trial.every)
    ]
    assert_same(*map(trial.predictions, models), "rows of weight zero and without them", 1e-7)


def check_certificate(trial):
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
