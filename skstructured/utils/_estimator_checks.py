"""Checks for every estimator: copies, parameters, sparse rows, weights, bad input."""

import pickle

import joblib
import numpy as np
from scipy import sparse
from sklearn.base import clone

from skstructured.utils._trial import (
    assert_refused,
    assert_same,
    has_argument,
    learns_in_parts,
    reads_gaps,
    reads_sparse,
    wrong_outputs,
)


def check_pickle(trial):
    """A learner that was pickled predicts the same, and goes on learning the same."""
    model, rounds = trial.learned(trial.half)
    other = pickle.loads(pickle.dumps(model))
    assert_same(trial.observe(model, rounds), trial.observe(other, rounds), "after pickling")
    wanted, got = trial.goes_on(model, rounds), trial.goes_on(other, rounds)
    assert_same(wanted, got, "rounds learned after pickling")


def check_clone(trial):
    """A clone of a learner that has learned is new, and learns the same."""
    model, rounds = trial.learned(trial.n)
    other = clone(model)
    assert not hasattr(other, "t_"), "a clone has t_"
    its = trial.begin(other)
    other.learn(its, trial.every)
    assert_same(trial.observe(model, rounds), trial.observe(other, its), "learned by a clone")


def check_parameters_are_kept(trial):
    """Learning changes no parameter, nor what is inside one."""
    model = trial.new()
    before = {name: joblib.hash(value) for name, value in model.get_params().items()}
    model.learn(trial.begin(model), trial.every)
    for name, value in model.get_params().items():
        assert joblib.hash(value) == before[name], f"learning changed the parameter {name}"


def check_random_state(trial):
    """Two learners with the same ``random_state`` play and learn the same."""
    found = []
    for _ in range(2):
        model, rounds = trial.begun()
        losses = model.play_and_learn(rounds, trial.every, 0)
        found.append(losses._asdict() | trial.observe(model, rounds))
    assert_same(*found, "played again with the same random_state")


def check_sparse_rows(trial):
    """CSR rows are played, learned and predicted as dense ones, up to rounding.

    Not so where they are standardised, which only dense rows are centred for.
    """
    X = trial.X * (np.random.RandomState(0).rand(*trial.X.shape) < 0.5)
    found, trial = [], trial.without("standardize")
    for rows in (X, sparse.csr_matrix(X)):
        model, rounds = trial.begun(rows)
        losses = model.play_and_learn(rounds, trial.every, 0)
        found.append(losses._asdict() | trial.predictions(model, rows))
    assert_same(*found, "CSR rows", 1e-7)


def check_weight_zero(trial):
    """A row of weight zero is as one left out, however large."""
    rng, X = np.random.RandomState(0), trial.X.copy()
    weight, out = rng.randint(1, 4, size=trial.n) / 2.0, trial.every % 7 == 3
    X[out] *= 1000.0
    weight[out] = 0.0
    whole = trial.learn_part(trial.new(), X, trial.y, sample_weight=weight)
    rest = trial.new()
    trial.learn_part(rest, X[~out], trial.y[~out], sample_weight=weight[~out])
    wanted, got = trial.predictions(rest), trial.predictions(whole)
    assert_same(wanted, got, "rows of weight zero and without them", 1e-7)


def _takes_weights(trial):
    return learns_in_parts(trial) and has_argument(trial.subject.partial_fit, "sample_weight")


def check_wrong_rows_are_refused(trial):
    """NaN, unless tags allow it, infinity, and a wrong width are ValueErrors and change nothing."""

    def calls(model):
        for what, X, fitted in _wrong_rows(trial.X, reads_gaps(trial.subject)):
            for name, learn in _learning(trial, model, fitted).items():
                yield f"{what} in {name}", lambda learn=learn, X=X: learn(X, trial.y)
            for name in trial.predictions(model):
                yield f"{what} in {name}", lambda name=name, X=X: getattr(model, name)(X)

    _refuses(trial, calls)


def _wrong_rows(X, has_gaps):
    """What is wrong, rows, and whether only a fitted learner can tell."""
    for value in (np.inf, -np.inf) if has_gaps else (np.nan, np.inf, -np.inf):
        wrong = X.copy()
        wrong[len(X) // 2, -1] = value
        yield f"{value} in a row", wrong, False
    yield "rows without their last feature", X[:, :-1], True
    yield "rows with a feature more", np.hstack([X, X[:, :1]]), True


def check_wrong_outputs_are_refused(trial):
    """Outputs that the space does not have are ValueErrors and change nothing."""

    def calls(model):
        for what, y in wrong_outputs(trial.y):
            for name, learn in _learning(trial, model, True).items():
                yield f"{what} in {name}", lambda learn=learn, y=y: learn(trial.X, y)
            if trial.classes is not None:
                yield f"{what} in begin", lambda y=y: trial.begin(model, y=y)

    _refuses(trial, calls)


def check_wrong_lengths_are_refused(trial):
    """More rows than outputs or fewer are ValueErrors and change nothing; so is one output."""

    def calls(model):
        for rows, outputs in ((trial.n, trial.n - 1), (trial.n - 1, trial.n), (trial.n, 1)):
            for name, learn in _learning(trial, model, False).items():
                what = f"{rows} rows and {outputs} outputs in {name}"
                yield what, lambda learn=learn, n=rows, m=outputs: learn(trial.X[:n], trial.y[:m])

    _refuses(trial, calls)


def _learning(trial, model, fitted):
    """Name -> the ways to learn (X, y); those that begin anew are left out where `fitted`."""
    ways = {}
    if hasattr(model, "partial_fit"):
        ways["partial_fit"] = lambda X, y: trial.learn_part(model, X, y)
    if not fitted:
        ways["begin"] = lambda X, y: trial.begin(model, X, y)
        if hasattr(model, "fit"):
            ways["fit"] = model.fit
    return ways


def _refuses(trial, calls):
    """Whether a learner refuses calls, and is as before after each of them and after all."""
    model, rounds = trial.learned(trial.half)
    before, after = trial.observe(model, rounds), trial.goes_on(model, rounds)
    for what, call in calls(model):
        assert_refused(call, what)
        assert_same(before, trial.observe(model, rounds), f"after {what}")
    assert_same(after, trial.goes_on(model, rounds), "rounds learned after wrong input")


#: check -> whether it applies; None: always.
ESTIMATOR_CHECKS = {
    check_pickle: None,
    check_clone: None,
    check_parameters_are_kept: None,
    check_random_state: None,
    check_sparse_rows: reads_sparse,
    check_weight_zero: _takes_weights,
    check_wrong_rows_are_refused: None,
    check_wrong_outputs_are_refused: None,
    check_wrong_lengths_are_refused: None,
}
