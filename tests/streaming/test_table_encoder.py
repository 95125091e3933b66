"""Tables with numbers, words, dates and gaps, as rows of numbers."""

import datetime
import io
import pickle
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
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


def refused(encoder, X, message, method="transform"):
    """Assert that rows are refused, and that the encoder stays what it is."""
    before = pickle.dumps(encoder)
    with pytest.raises(ValueError, match=message):
        getattr(encoder, method)(X)
    assert pickle.dumps(encoder) == before


@parametrize_with_checks([TableEncoder(max_categories=2, n_buckets=4)])
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
    refused(encoder, [["soon"]], "Column 'x0' must contain dates such as 2024-05-31")


@pytest.mark.parametrize(
    ("values", "new", "columns"),
    [
        ("a" * 10 + "b" * 8 + "cd", "abcdx", [0, 1, 2, 2, 2]),
        ("a" * 9 + "bc", "acx", [0, 2, 3]),  # as many as there may be: a new one has no column
    ],
)
def test_rare_and_new_values_share_a_column(values, new, columns):
    encoder = TableEncoder(max_categories=3).fit([[value] for value in values])
    Z = encoder.transform([[value] for value in new])
    assert sparse.issparse(Z) == ("d" in values)
    found = Z.toarray() if sparse.issparse(Z) else Z
    np.testing.assert_array_equal(found, np.eye(4, 3)[columns])


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
    wrong = "has 3 features, but TableEncoder is expecting 2"
    refused(encoder, [["a", 1.0, 2.0]], wrong, "partial_fit")


def test_tables_of_any_make_are_the_same():
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
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    encoder = TableEncoder().fit(frame)
    more = frame[["b", "a"]].assign(c=0)
    np.testing.assert_array_equal(encoder.transform(more), encoder.transform(frame))
    refused(encoder, frame[["a"]], r"must have the columns a, b; missing: b\.")
    refused(encoder, pd.concat([frame, frame[["a"]]], axis=1), r"got twice: \['a'\]", "fit")


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("abc", "must contain numbers, got 'abc'"),
        (np.inf, "contains infinity"),
        ("1e999", "contains infin"),
    ],
)
def test_what_is_no_number_is_named(cell, told):
    encoder = TableEncoder().fit([[1.0, "x"], [2.0, "y"]])
    refused(encoder, [[cell, "x"]], f"Column 'x0' {told}")
    with pytest.raises(TypeError, match="not supported by TableEncoder"):
        encoder.transform(sparse.csr_array([[1.0, 2.0]]))


def test_no_date_among_numbers_is_a_missing_number():
    gone, none = ([1.0, missing, 3.0] for missing in (np.datetime64("NaT", "D"), None))
    found, wanted = (
        TableEncoder().fit_transform({"a": np.array(values, dtype=object)})
        for values in (gone, none)
    )
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(found[:, 0], [1.0, np.nan, 3.0])


@pytest.mark.parametrize("name", ["max_categories", "n_buckets"])
def test_parameters_are_checked(name):
    with pytest.raises(ValueError, match=name):
        TableEncoder(**{name: 0}).fit([[1.0]])


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
def test_a_stream_of_tables_is_learned_as_it_comes():
    columns = table(400)
    X, y = cells(columns), np.arange(400) % 3 == 1
    model = make_pipeline(TableEncoder(), OnlineStructuredPredictor(random_state=0))
    whole = progressive_validate(model, X, y, play="randomized")
    assert whole.target_loss[200:].mean() < 0.05
    chunks = [(X[i : i + 50], y[i : i + 50]) for i in range(0, 400, 50)]
    stream = progressive_validate(model, chunks, classes=[False, True], play="randomized")
    assert stream.n_rounds == 400 and stream.expected_target_loss < 0.15
    assert model.fit(X, y).score(X, y) == 1.0


class TestTypes:
    """A column is what its first values are, or what it is said to be, in every later file."""

    @pytest.mark.parametrize("method", ["fit", "partial_fit"])
    def test_a_batch_without_a_date_is_taken(self, method):
        X = [["2024-05-31", 1.0], ["2024-06-01", 2.0], [None, 3.0]]
        encoder = getattr(TableEncoder(), method)(X)
        for gone in (None, "", np.nan, np.datetime64("NaT", "D")):
            Z = encoder.transform([[gone, 1.0]])
            np.testing.assert_array_equal(Z[0], [np.nan] * 2 + [0.0] * 19 + [1.0])

    @pytest.mark.parametrize(
        ("first", "later", "kind"),
        [
            (["teacher", None], ["nurse", None], "hashed categories"),
            ([2.5, None], [7.0, "3"], "number"),
            ([True, None], [False, True], "flag"),
            (["2024-05-31", None], [None, "2024-06-01"], "date"),
            (["one red fox", "two old men"], ["a blue sea", "one red fox"], "words"),
        ],
    )
    @pytest.mark.parametrize("buckets", [4, 64])
    def test_a_column_of_a_stream_is_undecided_until_it_has_a_value(
        self, first, later, kind, buckets
    ):
        encoder = TableEncoder(n_buckets=buckets).partial_fit([[None, 1.0], [np.nan, 2.0]])
        width, names = max(buckets, 21), list(encoder.get_feature_names_out())
        column = {"column": "x0", "taken for": "undecided", "outputs": width}
        assert encoder.columns_[0] == column and names[width:] == ["x1"]
        rows = [[value, 1.0] for value in first]
        np.testing.assert_array_equal(encoder.transform(rows)[:, :width], 0.0)
        encoder.partial_fit([[None, 3.0]])
        assert encoder.columns_[0] == column
        encoder.partial_fit(rows).partial_fit([["other", 1.0]])
        assert encoder.columns_[0] == {**column, "taken for": kind}
        assert list(encoder.get_feature_names_out()) == names
        known = TableEncoder(n_buckets=width if "cat" in kind else 4 * width)
        known.partial_fit([[value] for value in [*first, None]])
        Z = encoder.transform([[value, 1.0] for value in later])
        wanted = known.transform([[value] for value in later])
        if kind == "words":
            np.testing.assert_allclose((Z[:, :width] ** 2).sum(axis=1), 1.0)
        else:
            np.testing.assert_array_equal(Z[:, : wanted.shape[1]], wanted)
            np.testing.assert_array_equal(Z[:, wanted.shape[1] : width], 0.0)

    def test_what_was_without_a_value_in_fit_stays_left_out(self):
        encoder = TableEncoder().fit([[None, 1.0]])
        encoder.partial_fit([["word", 2.0]])
        assert encoder.columns_[0]["taken for"] == "empty, left out"
        np.testing.assert_array_equal(encoder.transform([["word", 2.0]]), [[2.0]])

    @pytest.mark.parametrize("method", ["fit", "partial_fit"])
    @pytest.mark.parametrize("given", ["by its values", "as categories"])
    def test_a_number_and_its_text_are_one_category(self, method, given):
        values = ["01", "2", "3.50", "-7", "true", str(2**60)]
        told = {"categories": ["x0"]} if given != "by its values" else {}
        first = values if told else [*values, "x"]
        encoder = getattr(TableEncoder(**told), method)([[value] for value in first])
        wanted = encoder.transform([[value] for value in values])
        assert (wanted.sum(axis=1) == 1.0).all() and len(np.unique(wanted, axis=0)) == 6
        for same in (
            [1, 2, 3.5, -7, True, 2**60],
            ["1.0", "2e0", " 3.5", "-07", "TRUE", 2**60],
            [np.float32(1.0), np.int8(2), "+3.5", np.float64(-7.0), np.True_, np.int64(2**60)],
        ):
            Z = encoder.transform([[value] for value in same])
            np.testing.assert_array_equal(Z, wanted)
        for other in ("0x1", "1_0", "1,0", "inf", "1e", str(2**60 + 1)):
            assert not (encoder.transform([[other]]) == wanted).all(axis=1).any()

    def test_codes_of_a_file_without_letters_are_those_of_the_file_with_letters(self):
        cells = ["1", "2", "3", "x"] * 5

        def read(lines, **how):
            return pd.read_csv(io.StringIO("\n".join(["code,y", *lines])), **how)

        encoder = TableEncoder().fit(read([f"{cell},0" for cell in cells]))
        for lines in (["1,0", "3,0", "2,0"], ["1,0", "3,0", "2,0", ",0"]):
            Z = encoder.transform(read(lines))
            np.testing.assert_array_equal(Z, encoder.transform(read(lines, dtype={"code": str})))
            np.testing.assert_array_equal(Z[:3, :3], np.eye(3)[[0, 2, 1]])

    def test_types_may_be_given(self):
        columns = dict.fromkeys(["zip", "when", "note", "size", "word"], [None] * 3)
        columns |= {"zip": [1, 2, 1], "note": ["a", "b", None]}
        given = {"categories": ["zip", "word"], "dates": ["when"], "texts": "note"}
        for method, word in (("fit", 1), ("partial_fit", 8)):
            encoder = TableEncoder(n_buckets=8, numbers=np.array(["size"]), **given)
            getattr(encoder, method)(columns)
            told = [one["outputs"] for one in encoder.columns_]
            assert told == [8 if word == 8 else 2, 21, 32, 2, word]
            later = {"zip": ["2"], "when": ["2024-05-31"], "note": ["b"], "size": [4]}
            later["word"] = ["w"]
            Z = encoder.transform(later)[0]
            assert Z[told[0]] == 19874.0 and Z[-1 - word] == 0.0 and Z[-2 - word] == 4.0
            wrong = {**later, "when": ["soon"]}
            refused(encoder, wrong, "Column 'when' must contain dates")
            again = pickle.loads(pickle.dumps(encoder)).transform(later)
            np.testing.assert_array_equal(again[0], Z)

    def test_a_column_without_a_value_may_be_given_in_sparse_rows(self):
        X = {"a": [None] * 9, "word": list("abcdefaab")}
        encoder = TableEncoder(max_categories=3, numbers=["a"]).fit(X)
        Z = encoder.transform({"a": [None, 3.0], "word": ["a", "b"]}).toarray()
        np.testing.assert_array_equal(Z, [[0.0, 0.0, 1, 0, 0], [0.0, -1.0, 0, 1, 0]])

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"dates": ["c"]}, r"dates must be among the columns a, b; got 'c'"),
            ({"texts": "ab"}, r"texts must be among the columns a, b; got 'ab'"),
            ({"numbers": 3}, r"numbers must be among the columns a, b; got 3"),
            ({"numbers": ["b"], "categories": [*"ab"]}, "Column 'b' is in both numbers and categ"),
        ],
    )
    def test_types_of_no_column_and_two_types_of_one_are_refused(self, given, message):
        encoder = TableEncoder().fit({"a": [1.0], "b": ["x"]}).set_params(**given)
        refused(encoder, {"a": [1.0], "b": [2.0]}, message, "fit")

    def test_a_word_among_numbers_names_what_to_do(self):
        encoder = TableEncoder().fit({"code": [1, 2]})
        told = r"got 'x'. .* TableEncoder\(categories=\['code'\]\)"
        refused(encoder, {"code": ["1", "x"]}, told)


class TestNames:
    def test_numbers_are_names(self):
        frame = pd.DataFrame([[1, 20, 5], [3, 40, 6]])
        encoder = TableEncoder().fit(frame[[1, 0]])
        assert list(encoder.get_feature_names_out()) == ["x1", "x0"]
        np.testing.assert_array_equal(encoder.transform(frame), [[20.0, 1.0], [40.0, 3.0]])
        np.testing.assert_array_equal(encoder.transform([[1.0, 20.0]]), [[1.0, 20.0]])
        plain = TableEncoder().fit(frame.to_numpy())
        np.testing.assert_array_equal(plain.transform(frame[[2, 0, 1]]), frame)
        encoder = TableEncoder().fit({5: [1], 7: [2]})
        refused(encoder, {7: [1], 9: [2]}, r"must have the columns 5, 7; missing: 5\.")

    def test_a_number_is_not_the_name_of_an_array_column(self):
        frame = pd.DataFrame([[1, 2], [3, 4]], columns=[0, "x0"])
        encoder = TableEncoder().fit(frame)
        np.testing.assert_array_equal(encoder.transform(frame[["x0", 0]]), [[1, 2], [3, 4]])
        assert list(encoder.get_feature_names_out()) == ["0", "x0"]

    @pytest.mark.parametrize("make", ["dict", "frame"])
    def test_complex_columns_are_refused_by_name(self, make):
        columns = {"a": [1.0, 2.0], "b": np.array([1 + 2j, 1 - 2j])}
        if make == "frame":
            columns = pd.DataFrame(columns)
        with pytest.raises(ValueError, match="Complex data not supported: split column 'b'"):
            TableEncoder().fit(columns)


@pytest.mark.parametrize("unit", ["ns", "us", "ms", "s", "m"])
def test_durations_are_seconds_in_any_unit(unit):
    spans = np.array([3600, 7200, "NaT"], dtype="m8[s]").astype(f"m8[{unit}]")
    one, two = datetime.timedelta(hours=1), datetime.timedelta(hours=2)
    encoder = TableEncoder().fit({"a": spans})
    assert encoder.columns_[0]["taken for"] == "number"
    wanted = [[3600.0, 0.0], [7200.0, 0.0], [np.nan, 1.0]]
    for values in (spans, [one, two, None], list(spans), [spans[0], two, "NaT"]):
        np.testing.assert_array_equal(encoder.transform({"a": values}), wanted)
    np.testing.assert_array_equal(encoder.transform(pd.DataFrame({"a": spans})), wanted)
    np.testing.assert_array_equal(encoder.transform({"a": list(pd.Series(spans))}), wanted)


@pytest.mark.parametrize("unit", ["ns", "s", "h", "D"])
def test_dates_in_a_dict_of_arrays_or_lists_are_dates(unit):
    days = np.array(["2024-05-31", "NaT"], dtype=f"M8[{unit}]")
    for given in (days, list(days)):
        Z = TableEncoder().fit_transform({"a": given})
        np.testing.assert_array_equal(Z, TableEncoder().fit_transform({"a": ["2024-05-31", None]}))
        assert Z.shape == (2, 21)


class TestZones:
    ZONED = ("2024-05-31T23:30:00-02:00", "2024-06-01T01:30Z", "2024-06-01 03:30+02:00")

    def test_dates_with_a_zone_are_in_utc(self):
        texts = [[text] for text in self.ZONED]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            encoder = TableEncoder().fit(texts)
            Z = encoder.transform(texts)
            zones = ["UTC", "Europe/Paris", "Asia/Kolkata"]
            stamps = [pd.Timestamp("2024-06-01T01:30Z").tz_convert(zone) for zone in zones]
            frames = [pd.DataFrame({0: pd.Series([stamp])}) for stamp in stamps]
            found = [encoder.transform(frame)[0] for frame in frames]
        naive = TableEncoder().fit_transform([["2024-06-01T01:30"]])
        np.testing.assert_array_equal(Z, np.repeat(naive, 3, axis=0))
        np.testing.assert_array_equal(found, Z)

    @pytest.mark.parametrize("method", ["fit", "partial_fit"])
    @pytest.mark.parametrize("undecided", [None, {}, {"dates": ["x0"]}])
    def test_dates_with_and_without_a_zone_are_refused(self, method, undecided):
        mixed = [[self.ZONED[0]], ["2024-06-01T01:30"], [None]]
        with pytest.raises(ValueError, match="Column 'x0' has dates with and without a time zone"):
            getattr(TableEncoder(), method)(mixed)
        for first, other in (mixed[:2], mixed[1::-1]):
            encoder = TableEncoder(**undecided or {})
            if undecided is None:
                encoder.fit([first])
            else:
                encoder.partial_fit([[None]]).partial_fit([first])
            for X in ([other], mixed):
                refused(encoder, X, "time zone. Convert them to UTC first")
            assert np.isfinite(encoder.transform([first])).all()
