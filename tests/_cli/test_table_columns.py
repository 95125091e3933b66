"""Columns of files as spreadsheets write them: numbers, dates and codes in texts."""

import numpy as np
import pandas as pd
import pytest
from table_files import compiled, load, one

from skstructured._cli import files
from skstructured.checkpoints import load_checkpoint


def sales(n=400):
    """A day, an amount, a percentage and a code, which decide what was returned."""
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(
        {"day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.randint(0, 365, n), "D")}
    )
    frame["amount"], frame["share"] = rng.gamma(2.0, 800.0, n).round(2), rng.randint(0, 101, n)
    frame["code"] = rng.choice(["007", "7", "012", "12"], n)
    y = (frame["day"].dt.month > 6) + (frame["amount"] > 1300) + 1.0 * (frame["code"] == "007")
    return frame.assign(returned=np.where(y + 0.3 * rng.randn(n) > 1.5, "yes", "no"))


def as_spreadsheets_write(frame, day="%d/%m/%Y"):
    """The same cells, in British or in German."""
    amounts = [f"£{amount:,.2f}" for amount in frame["amount"]]
    if day == "%d.%m.%Y":
        amounts = [f"{a[1:].translate(str.maketrans(',.', '.,'))} €" for a in amounts]
    shares = [f"{share}%" for share in frame["share"]]
    return frame.assign(day=frame["day"].dt.strftime(day), amount=amounts, share=shares)


@compiled
@pytest.mark.parametrize("day", ["%d/%m/%Y", "%d.%m.%Y"])
def test_a_spreadsheet_is_read_as_the_clean_file(day, cli):
    frame = sales()
    clean = cli.said(frame.assign(code="c" + frame["code"]), "--no-mixture")
    path = cli.written(as_spreadsheets_write(frame, day), "t.tsv")
    lines = cli.kept(path, "--no-mixture")
    told = " ".join(" ".join(lines[2:4]).split())
    when = frame["day"][0]
    first = max(as_spreadsheets_write(frame, day)["amount"], key=len)
    amount = max(frame["amount"], key=lambda a: len(f"{a:,.2f}"))
    assert told == (
        f"Formats day ({when:{day}} as {when.date()}), amount ({first} as {amount}), share (100% "
        "as 100), code (007 as a category)."
    )
    assert lines[4:8] == clean[2:6]  # what was learned is the same
    found = cli.predicted(path)["prediction"]
    new = as_spreadsheets_write(frame, day)[:1]  # one row does not decide anew
    assert cli.said("predict", cli.model, new)[1] == found[0]
    wrong = new.assign(amount="$12.5")
    told = cli.refused("predict", cli.model, wrong)
    amount = "1.234,5 €" if day == "%d.%m.%Y" else "1,234.5 £"
    assert f"row 2 has '$12.5' in column 'amount', which has numbers of the format {amount}" in told


@compiled
def test_dates_that_can_be_read_in_two_ways_ask_for_a_format(cli):
    frame = sales()
    frame = as_spreadsheets_write(frame[frame["day"].dt.day < 13])
    told = cli.refused(frame, "--no-mixture")
    assert "Column 'day' has dates such as " in told
    assert "--dates day=%d/%m/%Y" in told
    day = frame["day"].iloc[0]
    for form in ("%d/%m/%Y", "%m/%d/%Y"):
        lines = cli.said(frame, "--dates", f"day={form}", "--no-mixture")
        wanted = pd.to_datetime(day, format=form).date()
        assert f"day ({day} as {wanted})" in one(lines, "Formats")


@compiled
@pytest.mark.parametrize("unit", ["", " €"])
def test_commas_that_have_two_meanings_are_named_with_the_option(unit, cli):
    frame = sales()
    frame["amount"] = [f"{a / 1000 + 1:.3f}".replace(".", ",") + unit for a in frame["amount"]]
    path, cell = cli.written(frame[["amount", "returned"]]), frame["amount"][0]
    digits = cell.removesuffix(unit)
    thousands, decimal = digits.replace(",", ""), float(digits.replace(",", "."))
    told = " ".join(" ".join(cli.said(path, "--no-mixture")[2:4]).split())
    assert f"amount ({cell} as {thousands}; --numbers amount=1.234,5 reads {decimal})" in told
    lines = cli.kept(path, "--no-mixture", "--numbers", "amount=1.234,5")
    assert one(lines, "Formats").endswith(f"amount ({cell} as {decimal}).")
    assert load_checkpoint(cli.model)[0].transform(frame[["amount"]])[0, 0] == decimal
    frame.loc[7, "amount"] = f"1,5{unit}"  # commas are decimal
    told = one(cli.said(frame[["amount", "returned"]], "--no-mixture"), "Formats")
    assert told.endswith(f"amount ({cell} as {decimal}).")


@compiled
def test_an_amount_that_is_the_target_has_a_format_too(cli):
    frame = sales()[["share", "amount"]]
    frame["amount"] = [f"{a / 1000 + 1:.3f}".replace(".", ",") for a in frame["amount"]]
    path, cell = cli.written(frame), frame["amount"][0]
    decimal = float(cell.replace(",", "."))
    told = one(cli.said(path, "--no-mixture"), "Formats")
    assert f"amount ({cell} as {1000 * decimal:.0f}; --numbers amount=1.234,5 reads" in told
    assert load(path, numbers={"amount": "1.234,5"}).y[0] == decimal


@compiled
def test_formats_may_have_commas(cli):
    """Of dates and of numbers, next to other columns."""
    frame = sales(40)
    frame["day"] = frame["day"].dt.strftime("%b %d, %Y")
    frame["size"] = "2,500"
    path = cli.written(frame[["day", "size", "share", "returned"]])
    given = ["--dates", "day=%b %d, %Y", "--numbers", "share,size=1.234,5"]
    told = one(cli.said(path, *given, "--no-mixture"), "Formats")
    wanted = pd.to_datetime(frame["day"][0], format="%b %d, %Y").date()
    assert f"day ({frame['day'][0]} as {wanted}), size (2,500 as 2.5)." in told
    told = cli.refused(path, "--numbers", "size=1;2")
    assert "must be one of '1234.5', '1,234.5', '1.234,5', got '1;2'" in told
    assert "got '1;2'" in told


def test_a_column_may_have_any_name(cli):
    frame = pd.DataFrame({"self": [1, 2] * 20, "frame": ["1,5", "n.k."] * 20, "y": [0, 1] * 20})
    table = load(cli.written(frame), bad_cells="missing")
    assert [column["column"] for column in table.encoder.columns_] == ["self", "frame"]
    np.testing.assert_array_equal(table.X[:, 0], frame["self"])


def test_kinds_of_columns_can_be_set(cli):
    frame = pd.DataFrame({"zip": [8001, 3011] * 20, "size": ["01", "10"] * 20, "y": [0, 1] * 20})
    path = cli.written(frame)
    kinds = [one["taken for"] for one in load(path).encoder.columns_]
    assert kinds == ["number", "categories"]
    given = {"categories": ["zip"], "numbers": {"size": None}}
    kinds = [one["taken for"] for one in load(path, **given).encoder.columns_]
    assert kinds == ["categories", "number"]
    lines = cli.said(path, "--categories", "zip", "--numbers", "size", "--no-mixture")
    assert lines[0].endswith("(40 rows, 2 columns as 3 features), target y")
    for option in ("--categories", "--numbers", "--dates"):
        assert "has no column 'town'; it has zip, size, y" in cli.refused(path, option, "town")


def test_bad_cells_of_columns_that_are_set_are_missing(cli):
    frame = pd.DataFrame({"day": ["03/04/2024", "n.k."] * 20, "size": ["01", "?"] * 20})
    frame.loc[1, "size"] = "n.k."
    path = cli.written(frame.assign(y=[0, 1] * 20))
    given = {"dates": {"day": "%m/%d/%Y"}, "numbers": {"size": None}, "bad_cells": "missing"}
    X = load(path, **given).X
    assert np.isnan(X[1::2, 0]).all() and X[0, 4] == 1.0  # March
    assert np.isnan(X[1::2, -2]).all() and X[0, -2] == 1.0


@compiled
def test_predictions_read_bad_cells_as_training_did(cli):
    frame = sales().astype(object)
    frame.loc[3, "amount"] = "n.k."
    path = cli.written(frame)
    cli.kept(path, "--bad-cells", "missing", "--no-mixture")
    assert len(cli.predicted(path)) == 400
    cli.kept(frame.drop(index=3), "--no-mixture")
    assert "row 5 has 'n.k.' in column 'amount'" in cli.refused(
        "predict", cli.model, cli.written(frame)
    )


@compiled
def test_targets_have_formats_too(cli):
    """Amounts are numbers; labels stay as they are."""
    frame = sales()
    target = frame.assign(price=[f"{a:,.2f} €" for a in frame["amount"]])
    table = load(cli.written(target[["day", "share", "price"]]))
    assert table.space == "real"
    np.testing.assert_allclose(table.y, frame["amount"])
    for labels in (["5%", "10%"], ["007", "7"]):
        table = load(cli.written(frame[["share"]].assign(y=labels * 200)))
        assert (table.space, sorted(set(table.y))) == ("multiclass", sorted(labels))
    table = load(cli.written(frame[["share"]].assign(y=["01", "10"] * 200)), space="ordinal")
    assert set(table.y) == {1, 10}


@compiled
@pytest.mark.parametrize("largest", [100, 10**6])
def test_balanced_classes_are_found_more_often(largest, cli, monkeypatch):
    monkeypatch.setattr(files, "LARGE_FILES", files.LargeFiles(largest))
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(rng.randn(600, 2).round(3), columns=["a", "b"])
    frame["y"] = np.where(frame["a"] + rng.randn(600) > 2.2, "yes", "no")
    path = cli.written(frame)
    found = []
    for given in ([], ["--class-weight", "balanced"]):
        cli.kept(path, "--no-mixture", *given)
        found.append(cli.predicted(path)["prediction"].eq("yes").sum())
    assert found[1] > 2 * found[0]
    counts = frame["y"].value_counts()
    assert load_checkpoint(cli.model)[-1].class_weight == pytest.approx((300 / counts).to_dict())
    told = cli.refused(path, "--space", "real", "--class-weight", "balanced")
    assert "--class-weight needs classes" in told


@compiled
def test_a_mixture_has_balanced_classes_too(cli):
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(rng.randn(300, 2), columns=["a", "b"])
    frame["y"] = np.where(frame["a"] + rng.randn(300) > 2.0, 1, 0)
    cli.kept(frame, "--class-weight", "balanced")
    counts = frame["y"].value_counts()
    assert load_checkpoint(cli.model)[-1].class_weight == pytest.approx((150 / counts).to_dict())
