"""Formats of numbers, dates and codes in strings: one for all cells of a column."""

import datetime
import re

import numpy as np
import pandas as pd
import pytest

from skstructured import TableEncoder

YEAR = pd.date_range("2024-01-01", periods=366)


def column(cells, **given):
    """What the encoder decides about a column, and its rows."""
    frame = pd.DataFrame({"a": pd.Series(cells, dtype=object)})
    encoder = TableEncoder(**given).fit(frame)
    (decided,) = encoder.columns_
    return decided, encoder, encoder.transform(frame)


NUMBERS = {
    "1,234.5": {"1,234.50": 1234.5, "12": 12.0, "-7.25": -7.25, "1,000,000": 1e6, ".5": 0.5},
    "1.234,5": {"1.234,50": 1234.5, "12": 12.0, "-0,75": -0.75, "1.000.000": 1e6, "−3,5": -3.5},
    "1,234.5 %": {"45%": 45.0, "7.5 %": 7.5, "-3%": -3.0, "100": 100.0},
    "1,234.5 $": {"$1,200.00": 1200.0, "-$5": -5.0, "($12.50)": -12.5, "$ 3": 3.0, "7": 7.0},
    "1.234,5 €": {"1.200,00 €": 1200.0, "-5,00€": -5.0, "€ 3,5": 3.5, "€ -4,25": -4.25},
    "1,234.5 CHF": {"CHF 1’200.50": 1200.5, "12.05 CHF": 12.05},
    "1,234.5 kg": {"12 kg": 12.0, "1,000.5kg": 1000.5, "-3 kg": -3.0, "7": 7.0},
    "1.234,5 °C": {"36,6 °C": 36.6, "-1 °C": -1.0},
}


@pytest.mark.parametrize("form", NUMBERS)
def test_numbers_have_marks_and_units_of_one_format(form):
    decided, encoder, Z = column([*NUMBERS[form], None])
    assert (decided["taken for"], decided["format"]) == ("number", form)
    np.testing.assert_array_equal(Z[:-1, 0], [*NUMBERS[form].values()])
    assert np.isnan(Z[-1, 0])
    # numbers of a frame need no marks
    np.testing.assert_array_equal(encoder.transform({"a": [1234.5]})[0], [1234.5, 0.0])


def test_spaces_separate_thousands_and_a_comma_alone_does():
    assert column(["1 234,5", "12\u202f345,0"])[2].tolist() == [[1234.5], [12345.0]]
    assert column(["1,234", "999", "12,345"])[2].tolist() == [[1234.0], [999.0], [12345.0]]
    assert column(["1,5", "1,234"])[2].tolist() == [[1.5], [1.234]]
    assert column(["1.234", "2.5"])[0] == {"column": "a", "taken for": "number", "outputs": 1}


@pytest.mark.parametrize(
    ("form", "cells", "numbers"),
    [
        ("1.234,5", ["1,234", "850"], [1.234, 850.0]),
        ("1,234.5", ["1,234", "850"], [1234.0, 850.0]),
        ("1.234,5", ["1.234 €", "850 €"], [1234.0, 850.0]),
        ("1.234,5", ["1.234", "850"], [1234.0, 850.0]),
    ],
)
def test_numbers_have_the_format_that_is_given(form, cells, numbers):
    decided, encoder, Z = column(cells, numbers={"a": form})
    assert Z[:, 0].tolist() == numbers and decided["format"].startswith(form)
    assert encoder.transform({"a": cells[:1]})[0, 0] == numbers[0]
    with pytest.raises(ValueError, match="must be one of '1234.5', '1,234.5', '1.234,5', got '1'"):
        column(cells, numbers={"a": "1"})


@pytest.mark.parametrize(
    "cells",
    [
        ["1,23,4", "5"],  # marks in other places
        ["1,234 567", "5"],
        ["€5", "$5"],  # two currencies
        ["5 kg", "5 lb"],
        ["kg 5", "kg 6"],  # words stand after numbers
        ["1,234.5", "1.234,5"],  # two formats
        ["(5", "7"],
        ["12 34", "5"],
        ["0,123,456", "5"],
        ["1.2.3", "2.0.1"],
    ],
)
def test_what_has_no_format_is_no_number(cells):
    assert column(cells)[0]["taken for"] == "categories"


def test_later_numbers_need_the_same_format():
    encoder = column(["1.234,50 €", "5 €"])[1]
    assert encoder.transform({"a": ["1.500 €", "2,5"]}).tolist() == [[1500.0], [2.5]]
    for wrong in ("1,500.00", "$5", "5.5"):
        with pytest.raises(ValueError, match=f"must contain numbers, got {re.escape(repr(wrong))}"):
            encoder.transform({"a": [wrong]})


DATES = ["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%Y/%m/%d", "%d/%m/%y", "%d %b %Y"]


@pytest.mark.parametrize("form", [*DATES, "%d-%b-%y", "%B %d, %Y"])
@pytest.mark.parametrize("time", ["", " %H:%M", " %I:%M:%S %p"])
def test_dates_are_those_of_iso(form, time):
    """With times or without, in the same column too."""
    times = YEAR + pd.to_timedelta(np.arange(366) * (61.0 if time else 0.0), "min")
    times = times.floor("min")
    decided, encoder, Z = column(times.strftime(form + time))
    assert (decided["taken for"], decided["format"]) == ("date", form)
    wanted = column(times.strftime("%Y-%m-%d %H:%M"))
    np.testing.assert_array_equal(Z, wanted[2])
    again = encoder.transform({"a": [*YEAR[:2].strftime(form), YEAR[2].date(), None]})
    np.testing.assert_array_equal(again, wanted[1].transform({"a": [*YEAR[:3], None]}))


def test_dates_that_can_be_read_in_two_ways_ask():
    cells = [f"0{month}/0{day}/2024" for month in range(1, 10) for day in (1, 5)]
    with pytest.raises(ValueError, match=r"may be %d/%m/%Y or %m/%d/%Y.*dates=\{'a': '%d/%m/%Y'\}"):
        column(cells)
    for form, month in (("%d/%m/%Y", 5), ("%m/%d/%Y", 1)):
        decided, encoder, Z = column(cells, dates={"a": form})
        assert decided["format"] == form
        names = list(encoder.get_feature_names_out())
        assert Z[1, names.index(f"a_month_{month}")] == 1.0
    # the same day both ways
    assert column(["03/03/2024", "05/05/2024"])[0]["format"] == "%d/%m/%Y"
    decided, encoder, _ = column(cells, categories=["a"])
    assert decided["outputs"] == 18
    given = {"a": "%d/%m/%Y %H:%M"}
    assert column(["03/04/2024 07:30"], dates=given)[2][0, 1] == 7.5


def test_later_dates_need_the_same_format():
    encoder = column(["31/12/2024", "01/02/2024"])[1]
    with pytest.raises(ValueError, match="'a' must contain dates such as 31/05/2024"):
        encoder.transform({"a": ["12/31/2024"]})


def test_a_stream_decides_by_its_first_dates():
    encoder = TableEncoder(dates=["a"]).partial_fit({"a": [None, ""]})
    encoder.partial_fit({"a": ["31/01/2024", None]}).partial_fit({"a": ["02/01/2024"]})
    wanted = column([datetime.date(2024, 1, 2)])[2]
    np.testing.assert_array_equal(encoder.transform({"a": ["02/01/2024"]}), wanted)


class TestCodes:
    def test_leading_zeros_are_codes(self):
        decided, encoder, Z = column(["007", "7", "012", "12", "007"])
        assert (decided["taken for"], decided["outputs"]) == ("categories", 4)
        assert len(np.unique(Z, axis=0)) == 4 and (Z[0] == Z[4]).all()
        assert not encoder.transform({"a": ["0012"]}).any()

    def test_readers_may_drop_them(self):
        """pandas reads 01234 as 1234 if no other cell has letters."""
        decided, encoder, Z = column(["01234", "98765", "02345"])
        assert decided["taken for"] == "categories"
        np.testing.assert_array_equal(encoder.transform({"a": [1234, 98765, 2345]}), Z)
        assert column([7, "007", "x"])[0]["outputs"] == 2  # of parts of a file

    def test_they_may_be_numbers(self):
        decided, _, Z = column(["007", "12"], numbers=["a"])
        assert decided["taken for"] == "number" and Z.tolist() == [[7.0], [12.0]]
        assert column(["0.5", "0", "00.7"])[0]["taken for"] == "number"
