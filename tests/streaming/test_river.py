"""Learners behind river's interface, in river's own checks, and beside plain rows."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from conftest import INTERPRETED
from sklearn.linear_model import SGDClassifier

import skstructured as sk

river = pytest.importorskip("river", reason="river is not installed")
checks = pytest.importorskip("river.checks", reason="this version of river has no checks")
from river import datasets, preprocessing  # noqa: E402

from skstructured.streaming.river import (  # noqa: E402
    NamedFeatures,
    RiverClassifier,
    RiverMultiLabelClassifier,
    RiverRegressor,
)

SEGMENTS = ("brickface", "cement", "foliage", "grass", "path", "sky", "window")

#: name -> what river's checks are run on.
CHECKED = {
    "classes": RiverClassifier(),
    "words": RiverClassifier(absent="zero"),
    "more classes": RiverClassifier(classes=(False, True, *SEGMENTS)),
    "few columns": RiverClassifier(n_features=5),
    "gaptron": RiverClassifier(sk.GaptronClassifier(random_state=0)),
    "numbers": RiverRegressor(),
    "label sets": RiverMultiLabelClassifier(),
}


class LabelSets:
    """In the place of river's music, which it would download: dicts of features, and of labels."""

    def take(self, n):
        rng = np.random.RandomState(0)
        for _ in range(n):
            x = dict(zip("abcdef", rng.randn(6).tolist(), strict=True))
            yield x, {name: x[name] > 0.2 for name in "abc"}


def checks_of(name):
    """The checks of one, each with its name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(datasets, "Music", LabelSets)
        found = list(checks.yield_checks(CHECKED[name]))
    return [
        pytest.param(name, check, id=f"{name}-{check.__name__}-{i}")
        for i, check in enumerate(found)
    ]


@pytest.mark.skipif(INTERPRETED, reason="thousands of rows, one at a time")
@pytest.mark.filterwarnings("ignore::skstructured.GuaranteeWarning")
@pytest.mark.parametrize(("name", "check"), [p for name in CHECKED for p in checks_of(name)])
def test_rivers_own_checks(name, check):
    check(CHECKED[name].clone())


def test_nothing_is_skipped():
    assert all(model._unit_test_skips() == set() for model in CHECKED.values())


def stream(n=60, seed=0):
    """Dicts of a to d, d from row 20 on, without b in every third row; labels, and numbers."""
    rng = np.random.RandomState(seed)
    for t in range(n):
        x = dict(
            zip("abcd", (rng.randn(4) * [1, 10, 0.1, 1] + [0, 50, 0, 0]).tolist(), strict=True)
        )
        y = x["a"] + x["d"] > 0.3
        if t % 3 == 0:
            del x["b"]
        if t < 20:
            del x["d"]
        yield x, y


def as_row(x, names="abcd", width=4):
    """The row of a dict, NaN for what is missing."""
    row = np.full((1, width), np.nan)
    for j, name in enumerate(names):
        if name in x:
            row[0, j] = x[name]
    return row


def test_dicts_are_rows_with_gaps():
    """Column for column: the first row has a and c, then comes b, and d at last."""
    model, plain = RiverClassifier(n_features=4), sk.OnlineStructuredPredictor(random_state=0)
    for t, (x, y) in enumerate(stream()):
        row = as_row(x, "acbd")
        if t:
            wanted = plain.predict_proba(row)[0]
            assert model.predict_proba_one(x) == {False: wanted[0], True: wanted[1]}
            assert model.predict_one(x) == bool(plain.predict(row)[0])
        model.learn_one(x, y)
        plain.partial_fit(row, [int(y)], classes=[0, 1])
    assert plain.t_ == model._model.t_ == 60
    assert model._features.columns == {"a": 0, "c": 1, "b": 2, "d": 3}


def test_words_are_rows_of_zeros():
    from scipy.sparse import csr_matrix

    model = RiverClassifier(n_features=4, absent="zero")
    plain = sk.OnlineStructuredPredictor(random_state=0)
    for x, y in stream():
        model.learn_one(x, y)
        row = csr_matrix(np.nan_to_num(as_row(x, "acbd")))
        plain.partial_fit(row, [int(y)], classes=[0, 1])
    for x, _ in stream(20, seed=1):
        row = csr_matrix(np.nan_to_num(as_row(x, "acbd")))
        assert model.predict_proba_one(x)[True] == plain.predict_proba(row)[0, 1]


def test_what_was_never_learned_is_left_out_and_not_kept():
    model = RiverClassifier(n_features=4)
    for x, y in stream(10):
        model.learn_one(x, y)
    before = pickle.dumps(model)
    x = next(stream(1, seed=3))[0]
    assert model.predict_proba_one({**x, "new": 1e6}) == model.predict_proba_one(x)
    assert pickle.dumps(model) == before


def test_more_features_than_columns_share_them():
    features = NamedFeatures(3, "missing")
    features.learn({"a": 1, "b": 2})
    assert np.isnan(features.row({"c": 7.0})).all()
    features.learn({"c": 1, "d": 2, "e": 3})
    assert features.columns == {"a": 0, "b": 1, "c": 2}
    (shared,) = np.flatnonzero(~np.isnan(features.row({"d": 7.0})[0]))
    owner = "abc"[shared]
    assert features.row({"d": 7.0, owner: 5.0})[0, shared] == 12.0
    names = {name: np.flatnonzero(~np.isnan(features.row({name: 1.0})[0]))[0] for name in range(90)}
    assert set(names.values()) == {0, 1, 2}


@pytest.mark.parametrize("absent", ["missing", "zero"])
def test_values_that_are_none_are_left_out(absent):
    features = NamedFeatures(3, absent)
    features.learn({"a": None, "b": 2})
    row = features.row({"a": None, "b": True})
    wanted = [[np.nan, 1.0, np.nan]] if absent == "missing" else [[0.0, 1.0, 0.0]]
    np.testing.assert_array_equal(row if absent == "missing" else row.toarray(), wanted)


@pytest.mark.parametrize(
    ("model", "x", "y", "message"),
    [
        (RiverClassifier(), {"b": 1.0}, "maybe", r"y='maybe' is not among classes=\[False, True\]"),
        (RiverClassifier(), {"z": "red"}, True, r"x\['z'\] must be a number or None, got 'red'"),
        (RiverClassifier(), {"z": np.inf}, True, "infinity"),
        (RiverClassifier(n_features=0), {"b": 1.0}, True, "n_features"),
        (RiverClassifier(absent="nan"), {"b": 1.0}, True, "absent"),
        (RiverRegressor(), {"z": 1.0}, np.nan, "NaN"),
        (RiverMultiLabelClassifier(labels="ab"), {"z": 1.0}, {"c": True}, "the label 'c'"),
    ],
)
def test_a_bad_row_changes_nothing(model, x, y, message):
    good = {"a": {"a": True}}.get(next(iter(getattr(model, "labels", None) or " ")))
    if isinstance(model, RiverRegressor):
        good = 0.5
    elif good is None:
        good = True
    model = model.clone()
    if message not in ("n_features", "absent"):
        model.learn_one({"a": 1.0}, good)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match=message):
        model.learn_one(x, y)
    assert pickle.dumps(model) == before


def test_before_the_first_row():
    assert RiverClassifier(classes="abcd").predict_proba_one({}) == dict.fromkeys("abcd", 0.25)
    assert RiverClassifier(classes="abcd").predict_one({"x": 1}) == "a"
    assert RiverRegressor().predict_one({"x": 1}) == 0.0
    assert RiverMultiLabelClassifier().predict_one({"x": 1}) == {}
    assert RiverMultiLabelClassifier().predict_proba_one({"x": 1}) == {}


def test_estimators_without_probabilities():
    model = RiverClassifier(sk.GaptronClassifier(random_state=0))
    for x, y in stream():
        model.learn_one(x, y)
    with pytest.raises(NotImplementedError, match="GaptronClassifier"):
        model.predict_proba_one({"a": 1.0})
    assert model.predict_one({"a": 3.0, "d": 3.0}) is True
    assert not hasattr(model.estimator, "classes_")


@pytest.mark.skipif(INTERPRETED, reason="hundreds of rows, one at a time")
def test_pipelines_and_other_peoples_estimators():
    plain = preprocessing.StandardScaler() | RiverClassifier(
        SGDClassifier(loss="log_loss", random_state=0), absent="zero"
    )
    ours, right = RiverClassifier(), {"plain": 0, "ours": 0}
    for x, y in datasets.Phishing().take(600):
        for name, model in (("plain", plain), ("ours", ours)):
            right[name] += model.predict_one(x) == y
            model.learn_one(x, y)
    assert right["ours"] > 500 and right["plain"] > 480


@pytest.mark.skipif(INTERPRETED, reason="hundreds of rows, one at a time")
def test_numbers_of_any_size_by_rivers_scaler():
    model = preprocessing.TargetStandardScaler(RiverRegressor())
    errors, distances, rng = [], [], np.random.RandomState(0)
    for _ in range(400):
        x = {"u": rng.randn(), "v": 100.0 * rng.randn()}
        y = 5000.0 + 300.0 * x["u"] - 2.0 * x["v"]
        errors.append(abs(model.predict_one(x) - y))
        distances.append(abs(y - 5000.0))
        model.learn_one(x, y)
    assert np.mean(errors[200:]) < 0.2 * np.mean(distances[200:])


def test_the_package_does_not_import_river():
    code = "import sys, skstructured, skstructured.streaming; sys.exit('river' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
