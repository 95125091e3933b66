"""The online learner: its rounds, its inputs, its outputs."""

import naive
import numpy as np
import pandas as pd
import pytest
from conftest import INTERPRETED
from pairs import LARGEST, PAIRS
from plain import predictor
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from streams import any_outputs

from skstructured import KernelStructuredPredictor, OnlineStructuredPredictor
from skstructured.losses import FenchelYoung
from skstructured.optimizers import GradientDescent
from skstructured.regularizers import Tsallis

STEPS = {
    "learned C": {},
    "given C": {"feature_norm": 4.0},
    "number": {"eta": 0.05},
    "ball": {"radius": 0.7},
    "ball, given C": {"radius": 0.7, "feature_norm": 5.0},
    "ball, number": {"radius": 0.7, "eta": 0.3},
}


def learner(name, **parameters):
    space, regularizer, dims = PAIRS[name]
    return predictor(
        space=clone(space(dims[-1])), regularizer=regularizer, random_state=0, **parameters
    )


def start(model, X, y):
    """First call of a stream; classes where the space has them."""
    classes = np.unique(y) if np.ndim(y) == 1 else None
    return model.partial_fit(X, y, classes=classes)


@pytest.mark.parametrize("step", list(STEPS))
@pytest.mark.parametrize(("name", "dim"), LARGEST)
def test_weights_equal_the_literal_learner(name, dim, step, rng):
    X, y, V = any_outputs(name, dim, rng)
    weight = rng.randint(4, size=len(X)) / 2.0
    optimizer = GradientDescent(**STEPS[step])
    for intercept in (True, False):
        model = learner(name, optimizer=optimizer, fit_intercept=intercept)
        model.fit(X, y, sample_weight=weight)
        _, W = naive.gradient_descent(model.loss_, X, V, weight, intercept=intercept, **STEPS[step])
        csr = clone(model).fit(sparse.csr_array(X), y, sample_weight=weight)
        for one in (model, csr):
            np.testing.assert_allclose(one.coef_, W[:, :5], atol=1e-11)
            np.testing.assert_allclose(one.intercept_, W[:, 5] if intercept else 0.0, atol=1e-11)
        means = model.predict_mean(X)
        np.testing.assert_allclose(csr.predict_mean(sparse.coo_matrix(X)), means, atol=1e-14)
        if "radius" in STEPS[step]:
            norm = np.hypot(np.linalg.norm(model.coef_), np.linalg.norm(model.intercept_))
            assert norm <= 0.7 * (1 + 1e-9)


def with_int64(X):
    Z = sparse.csr_matrix(X)
    Z.indices, Z.indptr = Z.indices.astype(np.int64), Z.indptr.astype(np.int64)
    return Z


def halves(X):
    """CSR rows whose entries are sums of two, from the last column to the first."""
    Z = sparse.csr_matrix(X[:, ::-1])
    indices = np.repeat(X.shape[1] - 1 - Z.indices, 2)
    return sparse.csr_matrix((np.repeat(Z.data / 2, 2), indices, 2 * Z.indptr), shape=X.shape)


SPARSE = ["csc", "coo", "lil", "bsr", "dok"]
DENSE = [np.asfortranarray, np.ndarray.tolist, lambda X: np.repeat(X, 2, axis=0)[::2]]


@pytest.mark.parametrize("form", [*DENSE, with_int64, halves, *SPARSE])
def test_storage_of_x_does_not_matter(form, rng):
    X, y, _ = any_outputs("simplex-shannon", 3, rng)
    X *= rng.rand(*X.shape) < 0.5
    csr = sparse.csr_matrix(X)
    given = csr.asformat(form) if form in SPARSE else form(X)
    size = getattr(given, "nnz", len(X))
    wanted = learner("simplex-shannon").fit(X if form in DENSE else csr, y).coef_
    np.testing.assert_array_equal(learner("simplex-shannon").fit(given, y).coef_, wanted)
    assert getattr(given, "nnz", len(X)) == size


def test_x_may_be_mapped_from_disk(tmp_path, rng):
    X, y, _ = any_outputs("simplex-shannon", 3, rng)
    np.save(tmp_path / "X.npy", X)
    memmap = np.load(tmp_path / "X.npy", mmap_mode="r")
    chunks = start(learner("simplex-shannon"), memmap[:30], y[:30])
    chunks.partial_fit(memmap[30:], y[30:])
    for model in (chunks, learner("simplex-shannon").fit(memmap, y)):
        np.testing.assert_array_equal(model.coef_, learner("simplex-shannon").fit(X, y).coef_)
    np.testing.assert_array_equal(X, memmap)


def test_pandas_strings_and_feature_names(rng):
    X, y, _ = any_outputs("simplex-shannon", 3, rng)
    frame = pd.DataFrame(X, columns=list("abcde"))
    labels = pd.Series(np.array(["red", "green", "blue"])[y])
    model = predictor().fit(frame, labels)
    assert list(model.classes_) == ["blue", "green", "red"]
    assert list(model.feature_names_in_) == list("abcde")
    assert set(model.predict(frame)) <= {"blue", "green", "red"}
    with pytest.warns(UserWarning, match="valid feature names"):
        model.predict(X)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[list("edcba")])
    multilabel = predictor(space="hypercube")
    multilabel.fit(frame, pd.DataFrame(rng.randint(2, size=(60, 3))))
    assert multilabel.predict(frame).shape == (60, 3)


def test_several_passes_and_shuffling(rng):
    X, y, _ = any_outputs("simplex-shannon", 3, rng)
    twice = learner("simplex-shannon", max_iter=2).fit(X, y)
    by_hand = start(learner("simplex-shannon"), X, y).partial_fit(X, y)
    np.testing.assert_array_equal(twice.coef_, by_hand.coef_)
    assert (twice.t_, twice.n_iter_) == (60, 2)
    shuffled = [learner("simplex-shannon", shuffle=True).fit(X, y).coef_ for _ in range(2)]
    np.testing.assert_array_equal(*shuffled)
    order = np.random.RandomState(0).permutation(60)
    np.testing.assert_array_equal(
        shuffled[0], learner("simplex-shannon").fit(X[order], y[order]).coef_
    )


@pytest.mark.parametrize(("name", "dim"), LARGEST)
def test_outputs_have_their_documented_shapes_and_meanings(name, dim, rng):
    X, y, V = any_outputs(name, dim, rng)
    model = learner(name).fit(X, y)
    theta = X @ model.coef_.T + model.intercept_
    mu = model.predict_mean(X)
    np.testing.assert_allclose(mu, model.loss_.mean(theta), atol=1e-12)
    assert model.predict(X).shape == y.shape
    assert set(np.unique(model.sample(X))) <= set(np.unique(y))
    np.testing.assert_array_equal(model.predict(X), model.space_.decode(model.space_.nearest(mu)))
    assert model.score(X, y) == pytest.approx(
        1 - model.space_.target_loss(model.predict(X), y).mean()
    )
    decision = model.decision_function(X)
    np.testing.assert_allclose(model.embedding_scores(X), theta, atol=1e-12)
    expected = model.expected_target_loss(X, y)
    if y.ndim == 1:
        assert decision.shape == (60, len(model.classes_))
    else:
        np.testing.assert_allclose(decision, theta, atol=1e-12)
        assert not hasattr(model, "decoding_proba")
    if model.space_.task is None:
        positions = getattr(model, "classes_", None)
        assert positions is None or positions.tolist() == list(range(y.shape[1]))
        if hasattr(model, "predict_proba"):
            proba = model.predict_proba(X)
            assert proba.shape == (60, y.shape[1], y.shape[1])
            np.testing.assert_allclose(proba.sum(axis=2), 1)
        return
    proba = model.predict_proba(X)
    assert proba.shape == (60, len(model.classes_))
    if y.ndim == 1:
        played = model.decoding_proba(X)
        for shares in (proba, played):
            np.testing.assert_allclose(shares.sum(axis=1), 1)
        loss = [
            [model.space_.expected_loss(v[None], w[None])[0] for v in model.space_.vertices()]
            for w in V
        ]
        np.testing.assert_allclose((played * loss).sum(axis=1), expected, atol=1e-12)


def test_two_classes_have_one_decision_value(rng):
    X = rng.randn(50, 3)
    y = np.where(X[:, 0] > 0, "yes", "no")
    for space in ("simplex", "ordinal"):
        model = predictor(space=space).fit(X, y)
        decision = model.decision_function(X)
        assert decision.shape == (50,)
        np.testing.assert_array_equal(model.predict(X), np.where(decision > 0, "yes", "no"))


def test_the_decoder_may_change_after_learning(rng):
    X, y, _ = any_outputs("ordinal-shannon", 6, rng)
    model = learner("ordinal-shannon").fit(X, y)
    theta = model.embedding_scores(X)
    model.set_params(decoder="map")
    np.testing.assert_array_equal(model.predict(X), model.space_.decode(model.space_.argmax(theta)))


def test_sample_goes_on_with_the_learners_generator(rng):
    X, y, _ = any_outputs("simplex-shannon", 7, rng)
    a, b = (learner("simplex-shannon", decoder="sampled").fit(X, y) for _ in range(2))
    first, second = a.sample(X), a.sample(X)
    assert (first != second).any()
    np.testing.assert_array_equal(first, b.sample(X))
    np.testing.assert_array_equal(a.sample(X, random_state=5), b.sample(X, random_state=5))


def test_components_are_not_changed_and_clones_are_independent(rng):
    X, y, _ = any_outputs("simplex-shannon", 3, rng)
    regularizer, optimizer = Tsallis(1.3), GradientDescent(radius=2.0)
    model = predictor(regularizer=regularizer, optimizer=optimizer)
    before = {k: repr(v) for k, v in model.get_params().items()}
    model.fit(X, y)
    assert {k: repr(v) for k, v in model.get_params().items()} == before
    assert not hasattr(optimizer, "state_") and set(vars(regularizer)) == {"alpha"}
    other = clone(model).set_params(regularizer__alpha=1.7, optimizer__eta=0.2)
    assert (model.regularizer.alpha, other.regularizer.alpha) == (1.3, 1.7)
    assert model.optimizer.eta == "theory"


def test_tags_follow_the_space():
    kinds = {"simplex": (True, False), "ordinal": (True, False), "hypercube": (False, True)}
    for space, (multi_class, multi_label) in kinds.items():
        model = predictor(space=space)
        tags = model.__sklearn_tags__()
        assert is_classifier(model) and tags.input_tags.sparse
        assert tags.classifier_tags.multi_class == multi_class
        assert tags.classifier_tags.multi_label == tags.target_tags.multi_output == multi_label


@pytest.mark.parametrize("n_jobs", [None, pytest.param(2, marks=pytest.mark.exhaustive)])
def test_grid_search_over_components(n_jobs):
    X, y = load_digits(return_X_y=True)
    size = 100 if INTERPRETED else len(X)
    pipeline = make_pipeline(StandardScaler(), predictor(optimizer=GradientDescent()))
    grid = {
        "onlinestructuredpredictor__regularizer": ["shannon", Tsallis(1.5)],
        "onlinestructuredpredictor__decoder": ["randomized", "map"],
        "onlinestructuredpredictor__loss": [FenchelYoung(scale=c) for c in ("theory", 3.0)],
        "onlinestructuredpredictor__optimizer__eta": ["theory", 0.01],
    }
    search = GridSearchCV(pipeline, grid, n_jobs=n_jobs, cv=3, error_score="raise")
    search.fit(X[:size], y[:size])
    assert search.best_score_ > (0.5 if INTERPRETED else 0.85)
    assert len(search.cv_results_["params"]) == 16


def test_scorers_of_scikit_learn_work_for_every_space(rng):
    X = rng.randn(60, 4)
    Y = (X[:, :3] > 0).astype(int)
    multilabel = predictor(space="hypercube")
    assert cross_val_score(multilabel, X, Y, scoring="f1_micro", cv=3).min() > 0.5
    ordinal = predictor(space="ordinal")
    assert cross_val_score(ordinal, X, Y.sum(axis=1), scoring="accuracy", cv=3).min() > 0.2
    binary = predictor()
    for scoring in ("roc_auc", "neg_log_loss", "accuracy"):
        assert np.isfinite(cross_val_score(binary, X, Y[:, 0], scoring=scoring, cv=3)).all()


@pytest.mark.parametrize("kind", [OnlineStructuredPredictor, KernelStructuredPredictor])
def test_names_of_labels_are_the_classes(kind, rng):
    X, Y = rng.randn(30, 2), rng.randint(2, size=(30, 3))
    named = pd.DataFrame(Y, columns=["red", "green", "blue"])
    model = kind("multilabel", random_state=0).fit(X, named)
    assert model.classes_.tolist() == ["red", "green", "blue"]
    assert kind("multilabel", random_state=0).fit(X, Y).classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(
        model.partial_fit(X, Y, classes=model.classes_).classes_, named.columns
    )
    model.partial_fit(X, named, classes=[0, 1])
    with pytest.raises(ValueError, match="no class labels"):
        model.partial_fit(X, named, classes=["red", "green", "black"])
    assert kind("multilabel").fit(X, pd.DataFrame(Y)).classes_.tolist() == [0, 1, 2]
