"""Tables with numbers, words, dates and gaps, as rows of numbers."""

import pickle

import numpy as np
import pytest
from conftest import INTERPRETED
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from skstructured import OnlineStructuredPredictor, TableEncoder
from skstructured.evaluation import progressive_validate

N = 40


def table(n=N, seed=0):
    """Columns of every kind, as lists."""
    rng = np.random.RandomState(seed)
    days = np.datetime64("2020-01-30") + np.arange(n)
    words = [" ".join(rng.choice(["a1", "b2", "c3", "d4", "e5", "f6"], 5)) for _ in range(n)]
    return {
        "age": [None if i % 5 == 0 else 20.0 + i for i in range(n)],
        "fare": rng.gamma(2.0, 20.0, n).tolist(),
        "old": [bool(i % 2) for i in range(n)],
        "sex": [["male", "female", None][i % 3] for i in range(n)],
        "code": [str(i % 7) for i in range(n)],
        "day": [str(day) for day in days],
        "text": words,
        "none": [None] * n,
    }


def cells(columns):
    """The same as an array of objects."""
    return np.array(list(map(list, zip(*columns.values(), strict=True))), dtype=object)


@parametrize_with_checks([TableEncoder(), TableEncoder(max_categories=2, n_buckets=4)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_every_column_becomes_what_it_is():
    columns = table()
    encoder = TableEncoder(n_buckets=8)
    Z, names = encoder.fit_transform(cells(columns)), encoder.get_feature_names_out()
    kinds = ["number", "number", "flag", "categories", "number", "date", "words"]
    told = [one["taken for"] for one in encoder.columns_]
    assert told == [*kinds, "empty, left out"]
    assert [one["outputs"] for one in encoder.columns_] == [2, 1, 1, 3, 1, 21, 32, 0]
    assert Z.shape == (N, 61) and len(names) == 61
    at = {name: Z[:, j] for j, name in enumerate(names)}
    gone = np.arange(N) % 5 == 0
    np.testing.assert_array_equal(np.isnan(at["x0"]), gone)
    np.testing.assert_array_equal(at["x0_missing"], gone)
    np.testing.assert_array_equal(at["x2"], np.arange(N) % 2)
    np.testing.assert_array_equal(at["x3_male"], np.arange(N) % 3 == 0)
    np.testing.assert_array_equal(at["x3_missing"], np.arange(N) % 3 == 2)
    np.testing.assert_array_equal(at["x4"], np.arange(N) % 7)
    np.testing.assert_array_equal(at["x5_days"], 18291 + np.arange(N))  # 30 January 2020
    np.testing.assert_array_equal(at["x5_month_2"], (np.arange(N) >= 2) & (np.arange(N) < 31))
    np.testing.assert_array_equal(at["x5_weekday_4"], np.arange(N) % 7 == 0)  # a Thursday
    words = Z[:, [name.startswith("x6") for name in names]]
    np.testing.assert_allclose(np.linalg.norm(words, axis=1), 1.0)


def test_dates_have_an_hour_and_may_be_missing():
    X = np.array([["1969-12-31T18:00"], [None], ["1970-01-01T12:30"]], dtype=object)
    encoder = TableEncoder()
    Z = encoder.fit_transform(X)
    np.testing.assert_allclose(Z[:, 0], [-0.25, np.nan, 12.5 / 24.0])
    np.testing.assert_allclose(Z[:, 1], [18.0, np.nan, 12.5])
    np.testing.assert_array_equal(Z[:, 2:].sum(axis=1), [2.0, 0.0, 2.0])
    names = encoder.get_feature_names_out()
    assert names[np.flatnonzero(Z[0, 2:])[0] + 2] == "x0_month_12"
    assert names[np.flatnonzero(Z[0, 2:])[1] + 2] == "x0_weekday_3"
    with pytest.raises(ValueError, match="column 'x0' must hold dates such as 2024-05-31"):
        encoder.transform([["soon"]])


def test_rare_and_new_values_share_a_column():
    values = [["a"]] * 10 + [["b"]] * 8 + [["c"]] + [["d"]]
    encoder = TableEncoder(max_categories=3).fit(values)
    np.testing.assert_array_equal(encoder.transform([["a"], ["b"]]).toarray(), np.eye(3)[:2])
    found = encoder.transform([["c"], ["d"], ["new"]]).toarray()
    np.testing.assert_array_equal(found, np.eye(3)[[2, 2, 2]])


def test_as_many_values_as_max_categories_have_dense_columns_and_new_ones_none():
    encoder = TableEncoder(max_categories=3).fit([["a"]] * 9 + [["b"], ["c"]])
    np.testing.assert_array_equal(
        encoder.transform([["a"], ["c"], ["new"]]), np.eye(4, 3)[[0, 2, 3]]
    )


def test_many_values_make_rows_sparse():
    many = [[f"word{i % 45}", None if i == 3 else float(i), "2024-01-01"] for i in range(85)]
    encoder = TableEncoder(max_categories=4)
    Z = encoder.fit_transform(many)
    assert sparse.issparse(Z) and Z.shape == (85, 41 + 2 + 21)  # five words are there once
    assert encoder.columns_[0]["taken for"] == "many categories"
    dense = Z.toarray()
    np.testing.assert_array_equal(dense[:, :41].sum(axis=1), 1.0)
    ages = np.array([row[1] for row in many], dtype=float)
    wanted = (ages - np.nanmean(ages)) / np.nanstd(ages)
    np.testing.assert_allclose(dense[:, 41], np.nan_to_num(wanted), atol=1e-12)
    np.testing.assert_array_equal(dense[:, 43], 0.0)  # days are all the same
    new = encoder.transform([["never", None, None], ["word0", 40.0, "2024-01-01"]]).toarray()
    assert new[0, :41].argmax() == 40 and new[0, 41] == 0.0 and new[1, :41].argmax() == 0
    y = np.arange(85) % 45 < 20
    model = make_pipeline(encoder, OnlineStructuredPredictor(random_state=0))
    assert model.fit(many, y).score(many, y) > 0.9


def test_streams_never_change_their_width():
    encoder = TableEncoder(n_buckets=16).partial_fit([["a", 1.0], ["b", None]])
    width = encoder.transform([["a", 1.0]]).shape[1]
    encoder.partial_fit([["never seen", 7.0]])
    Z = encoder.transform([["never seen", 7.0], [None, None]])
    assert Z.shape == (2, width) and width == 16 + 2
    np.testing.assert_array_equal(Z[:, 16:], [[7.0, 0.0], [np.nan, 1.0]])
    with pytest.raises(ValueError, match="has 3 features, but TableEncoder is expecting 2"):
        encoder.partial_fit([["a", 1.0, 2.0]])


def test_tables_of_any_make_are_the_same():
    pd, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    columns = table()
    frame = pd.DataFrame(columns)
    nullable = frame.assign(
        age=frame["age"].astype("Float64"),
        old=frame["old"].astype("boolean"),
        sex=frame["sex"].astype("category"),
        code=frame["code"].astype("Int64"),
        day=pd.to_datetime(frame["day"]),
    )
    encoder = TableEncoder(n_buckets=8)
    wanted = encoder.fit_transform(cells(columns))
    for X in (frame, nullable, pa.table(columns), nullable[list(columns)[::-1]]):
        one = clone(encoder).fit(X)
        np.testing.assert_array_equal(one.transform(frame), one.transform(X))
        assert one.transform(X).shape == wanted.shape
    named = clone(encoder).fit(frame)
    np.testing.assert_array_equal(named.transform(nullable), wanted)
    assert list(named.feature_names_in_) == list(columns)
    assert list(named.get_feature_names_out()[:3]) == ["age", "age_missing", "fare"]
    out = named.set_output(transform="pandas").transform(frame)
    assert list(out.columns) == list(named.get_feature_names_out())


def test_columns_are_found_by_name():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    encoder = TableEncoder().fit(frame)
    more = frame[["b", "a"]].assign(c=0)
    np.testing.assert_array_equal(encoder.transform(more), encoder.transform(frame))
    with pytest.raises(ValueError, match=r"must have the columns a, b; missing: b\."):
        encoder.transform(frame[["a"]])
    with pytest.raises(ValueError, match="got twice: \\['a'\\]"):
        encoder.fit(pd.concat([frame, frame[["a"]]], axis=1))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([["abc", "x"]], "column 'x0' must hold numbers, got 'abc'"),
        ([[np.inf, "x"]], "column 'x0' holds infinity"),
        ([["1e999", "x"]], "column 'x0' holds infinity"),
    ],
)
def test_what_is_no_number_is_named(X, message):
    encoder = TableEncoder().fit([[1.0, "x"], [2.0, "y"]])
    before = pickle.dumps(encoder)
    with pytest.raises(ValueError, match=message):
        encoder.transform(X)
    assert pickle.dumps(encoder) == before
    with pytest.raises(TypeError, match="tables are dense"):
        encoder.transform(sparse.csr_array([[1.0, 2.0]]))


@pytest.mark.parametrize("name", ["max_categories", "n_buckets"])
def test_parameters_are_checked(name):
    with pytest.raises(ValueError, match=name):
        TableEncoder(**{name: 0}).fit([[1.0]])


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
def test_a_stream_of_tables_is_learned_as_it_comes():
    columns = table(400)
    X, y = cells(columns), np.arange(400) % 3 == 1
    model = make_pipeline(TableEncoder(), OnlineStructuredPredictor(random_state=0))
    whole = progressive_validate(model, X, y)
    assert whole.target_loss[200:].mean() < 0.05
    chunks = [(X[i : i + 50], y[i : i + 50]) for i in range(0, 400, 50)]
    stream = progressive_validate(model, chunks, classes=[False, True])
    assert stream.n_rounds == 400 and stream.expected_target_loss < 0.15
    assert model.fit(X, y).score(X, y) == 1.0
