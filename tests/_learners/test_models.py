"""Models: copies go their own way, pickles hold no addresses, errors change nothing."""

import pickle

import numpy as np
import pytest
from bits import differences
from fitted import FITTED
from scipy import sparse

import skstructured as sk
from skstructured._engine.move_and_score import LINE
from skstructured._learners.decoding import Decoding
from skstructured.optimizers import OPTIMIZERS, PiSTOL

KINDS = ("online", "average", "kernel", "kernel budget", "sequences", "label sets")


def numbers(learner):
    """All arrays of a model, as bytes."""
    return pickle.dumps(learner._model)


@pytest.mark.parametrize("name", KINDS)
def test_a_copy_learns_by_itself(name):
    case = FITTED[name]
    learner = case.started()
    before, own = numbers(learner), learner._model
    learner._model = own.copy()
    case.go_on(learner)
    moved, learner._model = numbers(learner), own
    assert numbers(learner) == before != moved
    case.go_on(learner)
    assert numbers(learner) == moved


@pytest.mark.parametrize("name", KINDS)
def test_pickles_hold_no_addresses_of_kernels(name):
    learner = FITTED[name].started()
    twin = pickle.loads(pickle.dumps(learner))
    assert "_loops" not in vars(twin._model)
    case = FITTED[name]
    case.go_on(twin)
    case.go_on(learner)
    assert not list(differences(twin._model.state, learner._model.state))


def test_an_error_leaves_the_lengths_of_sequences():
    case = FITTED["sequences"]
    learner = case.started()
    loss, sizes = learner._model.loss, learner.loss_.sizes
    learner.set_params(class_weight={"a": 2.0})
    long = [np.tile(x, (9, 1)) for x in case.X], [np.tile(y, 9) for y in case.y]
    with pytest.raises(ValueError, match="class_weight"):
        learner.partial_fit(*long)
    assert learner._model.loss is loss and learner.loss_.sizes == sizes
    learner.set_params(class_weight=None).partial_fit(*long)
    assert max(learner.loss_.sizes) == 9 * max(sizes)


def test_weights_that_were_unpickled_are_moved_to_a_cache_line(rng):
    X, y = rng.randn(20, 3), rng.randint(0, 3, 20)
    learner = sk.OnlineStructuredPredictor().partial_fit(X, y, classes=[0, 1, 2])
    twin = pickle.loads(pickle.dumps(learner))
    state, offset = twin._model.state, np.zeros(learner._model.state.Theta.size + 1)
    offset[1:] = state.Theta.ravel()
    state.Theta = offset[1:].reshape(state.Theta.shape)
    assert not state.placed and state.Theta.ctypes.data % LINE
    np.testing.assert_array_equal(
        twin.partial_fit(X, y).last_weights_, learner.partial_fit(X, y).last_weights_
    )
    assert twin._model.state.Theta.ctypes.data % LINE == 0


@pytest.mark.exhaustive
def test_lengths_are_those_of_all_chunks():
    case = FITTED["sequences"]
    learner = case.started()
    seen = [len(x) for x in case.X]
    learner.partial_fit([x for x in case.X if len(x) == 2], [y for y in case.y if len(y) == 2])
    assert learner.loss_.sizes == (min(seen), max(seen))


@pytest.mark.parametrize("standardize", [False, "auto"])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("optimizer", [*OPTIMIZERS, PiSTOL(per_coordinate=True)], ids=str)
def test_scores_of_wide_rows_are_those_of_all_columns(optimizer, intercept, standardize, rng):
    """Rows with entries in few columns are scored from these alone."""
    X = sparse.random(60, 500, 0.01, format="csr", random_state=0)
    y = rng.randint(3, size=60)
    model = sk.OnlineStructuredPredictor(
        optimizer=optimizer, fit_intercept=intercept, standardize=standardize
    ).partial_fit(X[:50], y[:50], classes=[0, 1, 2])
    for rows in (X[50:], X[50:51], sparse.csr_matrix((2, 500))):
        batch = model._read(rows)
        assert model._model._is_wide(batch.rows)
        every = model._read(rows.toarray())
        for averaged in (False, True):
            few = model._model.scores(batch, averaged)
            np.testing.assert_allclose(few, model._model.scores(every, averaged), atol=1e-13)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_are_not_finite_are_an_error_for_all_decoders(bad, rng):
    theta, loss = rng.randn(4, 3), sk.FenchelYoung(sk.spaces.Simplex().fit([0, 1, 2]))
    theta[2, 1] = bad
    for decoder in (sk.decoders.MAP(), sk.decoders.Nearest()):
        with pytest.raises(ValueError, match="must not contain NaN or"):
            Decoding(theta, loss, decoder).most_likely()
    theta[2, 1] = -np.inf
    labels = Decoding(theta, loss, sk.decoders.MAP()).most_likely()
    np.testing.assert_array_equal(labels, theta.argmax(axis=1))
