"""Labels of any type: their order, their range, and which numbers are labels."""

import numpy as np
import pandas as pd
import pytest
from plain import predictor
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

from skstructured.spaces import OrdinalChain, Simplex

GRADES = np.array(["low", "mid", "high"])


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def ordered(y, categories=GRADES):
    return pd.Series(pd.Categorical(GRADES[y], categories=categories, ordered=True))


def model_of(space="ordinal"):
    return predictor(space=space, max_iter=5, shuffle=True, random_state=0)


# --- ordered categoricals -------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:A column-vector y was passed:UserWarning")
def test_an_ordered_categorical_brings_its_order(iris):
    X, y = iris
    wanted = model_of().fit(X, y)
    for grades in (ordered(y), ordered(y).array, ordered(y).to_frame()):
        model = model_of().fit(X, grades)
        assert model.classes_.tolist() == GRADES.tolist()
        np.testing.assert_array_equal(model.coef_, wanted.coef_)
        np.testing.assert_array_equal(model.predict(X), GRADES[wanted.predict(X)])
    chain = OrdinalChain(categories=GRADES[::-1]).fit(ordered(y))
    assert chain.classes_.tolist() == ["high", "mid", "low"]


def test_categories_that_have_no_order_are_alone_or_missing_are_refused(iris):
    X, y = iris
    for grades, message in (
        (pd.Series(pd.Categorical(GRADES[y], categories=GRADES)), "whose order is unknown"),
        (ordered(0 * y, GRADES[:1]), r"at least two distinct labels, got \['low'\]"),
        (ordered(y).where(y > 0), "nan"),
    ):
        with pytest.raises(ValueError, match=message):
            model_of().fit(X, grades)


def test_the_order_survives_splits_and_searches(iris):
    X, y = iris
    np.testing.assert_array_equal(
        cross_val_score(model_of(), X, ordered(y), cv=3), cross_val_score(model_of(), X, y, cv=3)
    )
    search = GridSearchCV(model_of(), {"regularizer": ["squared", "shannon"]}, cv=3)
    assert search.fit(X, ordered(y)).best_estimator_.classes_.tolist() == GRADES.tolist()
    predicted = cross_val_predict(model_of(), X, ordered(y), cv=3)
    np.testing.assert_array_equal(predicted, GRADES[cross_val_predict(model_of(), X, y, cv=3)])


def test_categories_that_no_row_shows_are_classes_too(iris):
    X, y = iris
    some = ordered(y)[y != 1]
    assert model_of().fit(X[y != 1], some).classes_.tolist() == GRADES.tolist()
    assert OrdinalChain().fit(some).target_loss(["low"], ["mid"]) == 0.5
    bins = pd.cut(X[:, 0], [4, 5, 6, 7, 8])
    assert OrdinalChain().fit(bins).classes_.tolist() == list(bins.categories)


def test_a_stream_of_ordered_categoricals(iris):
    X, y = iris
    order = np.random.RandomState(0).permutation(150)
    X, y = X[order], y[order]
    whole = predictor(space="ordinal").fit(X, y)
    for classes in (None, ordered(y)):
        model = predictor(space="ordinal")
        for rows in (slice(0, 50), slice(50, 150)):
            model.partial_fit(X[rows], ordered(y)[rows], classes=classes)
        np.testing.assert_array_equal(model.coef_, whole.coef_)
    few = pd.Series(pd.Categorical(GRADES[:2], categories=GRADES[:2], ordered=True))
    model = predictor(space="ordinal")
    with pytest.raises(
        ValueError, match=r"classes .* not in categories: \['high'\]; .* \['low', 'mid'\]"
    ):
        model.partial_fit(X[:2], few, classes=GRADES)
    model.partial_fit(X[:2], few, classes=ordered(y))  # ordered classes come before those of y
    assert model.classes_.tolist() == GRADES.tolist()


# --- numeric grades -------------------------------------------------------------------------------


def test_grades_may_be_fractions(iris):
    X, y = iris
    grades = np.array([1.0, 2.5, 4.0])[y]
    model = model_of().fit(X, grades)
    assert model.classes_.tolist() == [1.0, 2.5, 4.0]
    np.testing.assert_array_equal(model.coef_, model_of().fit(X, y).coef_)
    assert OrdinalChain().fit([1, 1.5, 2]).classes_.tolist() == [1.0, 1.5, 2.0]
    halves = np.arange(30) / 2
    stream = predictor(space="ordinal").partial_fit(X[:1], [2.5], classes=halves)
    assert stream.classes_.tolist() == halves.tolist()
    with pytest.raises(ValueError, match="not among the classes: 1.3"):
        model.partial_fit(X[:1], [1.3])


def test_measurements_are_no_grades(rng):
    X, y = rng.randn(40, 2), rng.randn(40)
    message = r"Unknown label type: continuous\. .*40 distinct numbers in 40 rows.*categories="
    with pytest.raises(ValueError, match=message):
        model_of().fit(X, y)
    with pytest.raises(ValueError, match=r"continuous\. Labels must be classes"):
        model_of("simplex").fit(X, y)


# --- labels that fit has not seen -----------------------------------------------------------------

COSTS = [[0.0, 1.0, 4.0], [2.0, 0.0, 1.0], [3.0, 1.0, 0.0]]


@pytest.mark.parametrize(
    ("space", "one_off"),
    [
        (Simplex(), 1.0),
        (OrdinalChain(), 0.5),
        (OrdinalChain(categories=[3, 1, 2]), 0.5),
        (Simplex(cost_matrix=COSTS), 0.25),
        (OrdinalChain(cost_matrix=COSTS), 0.25),
    ],
    ids=str,
)
def test_unseen_labels_have_the_largest_loss(space, one_off):
    space.fit([1, 2, 3])
    classes = space.classes_.tolist()
    truth = [classes[1], 0, classes[1], 9]
    found = space.target_loss([classes[2], classes[0], classes[1], classes[2]], truth)
    np.testing.assert_allclose(found, [one_off, 1.0, 0.0, 1.0])
    np.testing.assert_array_equal(space.target_loss(classes[:2], ["a", "b"]), 1.0)
    for labels, message in (
        ([np.nan, 1.0], "contains nan in row 0"),
        (np.array([1, None], dtype=object), "contains None in row 1"),
    ):
        with pytest.raises(ValueError, match=message):
            space.target_loss(classes[:2], labels)
    with pytest.raises(ValueError, match="not among the classes: 9"):
        space.target_loss([9, 1], classes[:2])


def test_fractions_are_unseen_only_if_classes_can_be_fractions():
    with pytest.raises(ValueError, match="not among the classes: 1.5; .*use StructuredRegressor"):
        Simplex().fit([1, 2]).target_loss([1], [1.5])
    assert OrdinalChain().fit([1, 2]).target_loss([1], [1.5]) == 1.0


# --- integers of every width ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "labels",
    [
        np.arange(-100, 101, dtype=np.int8),
        np.array([-128, 0, 127], dtype=np.int8),
        np.arange(3, dtype=np.uint64) + np.uint64(2**63),
        np.array([0, 2**53, 2**53 + 1, 2**64 - 1], dtype=np.uint64),
        np.array([-(2**63), 0, 2**63 - 1]),
        np.arange(2**63 - 4, 2**63 - 1),
        np.array([True, False]),
    ],
    ids=lambda labels: f"{labels.dtype} from {labels[0]}",
)
@pytest.mark.parametrize("space", [Simplex, OrdinalChain])
def test_integers_of_every_width(space, labels, rng):
    y = np.concatenate([labels, rng.permutation(labels)])
    fitted = space().fit(y)
    np.testing.assert_array_equal(fitted.classes_, np.sort(labels))
    assert fitted.classes_.dtype == labels.dtype
    np.testing.assert_array_equal(fitted.pack(y), np.searchsorted(np.sort(labels), y))
    np.testing.assert_array_equal(fitted.decode(fitted.encode(y)), y)


def test_integers_of_two_widths_meet_exactly():
    wide = np.array([0, 2**53, 2**53 + 1], dtype=np.uint64)
    np.testing.assert_array_equal(Simplex().fit(wide).pack(wide.astype(np.int64)), [0, 1, 2])
    narrow = np.arange(-100, 101, dtype=np.int8)
    np.testing.assert_array_equal(Simplex().fit(narrow).pack(np.array([-100, 100])), [0, 200])
    for labels, wrong in (
        (narrow, np.array([156])),  # −100 modulo 256
        (wide, np.array([-1])),
        (np.array([0, 2**64 - 1], dtype=np.uint64), np.array([-1])),
        (np.arange(-3, 0), np.array([2**64 - 1], dtype=np.uint64)),
    ):
        with pytest.raises(ValueError, match="not among the classes"):
            Simplex().fit(labels).pack(wrong)
