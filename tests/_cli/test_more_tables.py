"""On the command line: real numbers, JSON lines, chosen columns, large files, order of rows."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from conftest import INTERPRETED

from skstructured import PiSTOLRegressor, TableEncoder
from skstructured.__main__ import main
from skstructured._cli import stream_table
from skstructured._cli.files import text_chunks
from skstructured._cli.order import order_line, same_as_before
from skstructured._cli.read import space_of
from skstructured._cli.regression import amount, units
from skstructured.checkpoints import load_checkpoint
from skstructured.evaluation import progressive_validate

compiled = pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")


def homes(n=400):
    rng = np.random.RandomState(0)
    frame = pd.DataFrame({"area": np.where(rng.rand(n) < 0.1, np.nan, rng.randint(20, 200, n))})
    frame["town"] = rng.choice(["Ulm", "Kiel", "Bonn"], n)
    frame["price"] = 2000.0 * frame["area"].fillna(100) + 50000.0 * (frame["town"] == "Ulm")
    frame["price"] += 0.25 + (5000 * rng.standard_t(2, n)).round()
    frame["dear"] = np.where(frame["price"] > 250000, "yes", "no")
    return frame


def said(capsys, *arguments):
    assert main(list(arguments)) == 0
    return capsys.readouterr().out.splitlines()


def numbers(line):
    return [float(found.replace(",", "")) for found in re.findall(r"\d[\d,]*\.?\d*", line)]


def refused(capsys, *arguments):
    assert main(list(arguments)) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    return err


@compiled
class TestRealNumbers:
    def test_the_screen_is_of_a_progressive_validation(self, tmp_path, capsys):
        frame, path = homes(), str(tmp_path / "homes.csv")
        frame.drop(columns="dear").to_csv(path, index=False)
        lines = said(capsys, path, "--in-order")
        assert lines[0] == f"{path} (400 rows, 2 columns as 5 features), target price: real numbers"
        y = frame["price"].to_numpy()
        X = TableEncoder().fit_transform(frame[["area", "town"]])
        middle = np.median(y[:40])
        spread = np.median(np.abs(y[:40] - middle))
        model = PiSTOLRegressor(random_state=0)
        result = progressive_validate(
            model, X, (y - middle) / spread, random_state=0, play="average"
        )
        missed = (spread * result.target_loss)[40:]
        late = missed[180:]
        always = np.abs(y[40:] - np.median(y[40:])).mean()
        wanted = [missed.mean(), late.mean(), np.quantile(late, 0.9), always, missed.mean()]
        (baseline,) = [line for line in lines if line.startswith("Baseline")]
        found = numbers(lines[3]) + numbers(lines[4]) + numbers(baseline)
        assert found == pytest.approx(wanted, rel=1e-3)
        assert wanted[0] < always / 3
        assert "no bound" in lines[6]
        assert any(line.startswith("Matters most     area (+)") for line in lines)
        assert "model.fit(frame.drop(columns='price'), frame['price'])" in "\n".join(lines)

    def test_a_model_is_kept_and_predicts(self, tmp_path, capsys):
        pytest.importorskip("skops")
        frame, path, kept = homes(), str(tmp_path / "homes.csv"), str(tmp_path / "model")
        frame.drop(columns="dear").to_csv(path, index=False)
        said(capsys, path, "--save", kept)
        lines = said(capsys, "predict", kept, path)
        found = np.array(lines[1:], dtype=np.float64)
        assert np.array_equal(found, load_checkpoint(kept).predict(frame[["area", "town"]]))
        assert np.median(np.abs(found - frame["price"])) < 1e4

    def test_parquet(self, tmp_path, capsys):
        pytest.importorskip("pyarrow")
        path = str(tmp_path / "homes.parquet")
        homes()[["area", "price"]].to_parquet(path)
        assert said(capsys, path)[0].endswith("target price: real numbers")

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (["--bounds"], "--bounds is for classes"),
            (["--optimizer", "ogd"], "--optimizer is not for real numbers"),
            (["--space", "real", "--target", "town"], "must hold numbers with --space real"),
        ],
    )
    def test_what_is_not_for_them(self, given, message, tmp_path, capsys):
        path = str(tmp_path / "homes.csv")
        homes(40).drop(columns="dear").to_csv(path, index=False)
        assert message in refused(capsys, path, *given)


@pytest.mark.parametrize(
    ("y", "space"),
    [
        ([0, 1] * 50, "simplex"),
        ([0.5, 1.0] * 50, "real"),
        (list(range(101)) * 9, "real"),
        (list(range(101)) * 10, "simplex"),
        (list(range(100)), "simplex"),
        (["a", "1.5"], "simplex"),
        (["1.5", "2"], "real"),
    ],
)
def test_what_a_target_is(y, space):
    column = np.array(y, dtype=object)[:, None]
    assert space_of(column, None) == space
    assert space_of(column, "ordinal") == "ordinal"


def test_units_are_of_the_first_rows():
    y = np.r_[np.arange(10.0), 1e9 * np.ones(90)]
    assert units(y) == (4.5, 2.5)
    assert units(np.r_[np.zeros(9), 10.0]) == (0.0, 3.0)
    assert units(np.full(5, 2.0)) == (2.0, 1.0)
    assert (amount(12345.6), amount(0.123456)) == ("12,346", "0.1235")


class TestJSON:
    def test_lines_are_rows(self, tmp_path):
        rows = [{"a": 1, "b": "x"}, {"b": "y", "c": True}, {"a": 2.5, "b": None}]
        path = tmp_path / "t.jsonl"
        path.write_text("\n\n".join(map(json.dumps, rows)))
        (columns,) = text_chunks(path)
        assert {name: list(values) for name, values in columns.items()} == {
            "a": [1, None, 2.5],
            "b": ["x", "y", None],
            "c": [None, True, None],
        }
        first, second = text_chunks(path, size=2)
        assert list(first["b"]) == ["x", "y"] and list(second["a"]) == [2.5]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ('{"a": 1}\n{"a": }', "row 2 is not JSON"),
            ('{"a": 1}\n[1]', "row 2 is not a JSON object"),
            ('{"a": [1], "b": 2}', "row 1 has several values in column 'a'"),
        ],
    )
    def test_errors_name_the_row(self, text, message, tmp_path, capsys):
        path = tmp_path / "t.jsonl"
        path.write_text(text)
        assert message in refused(capsys, str(path))

    @compiled
    def test_the_same_as_csv(self, tmp_path, capsys):
        frame = homes()[["area", "town", "dear"]]
        frame.to_csv(tmp_path / "t.csv", index=False)
        frame.to_json(tmp_path / "t.jsonl", orient="records", lines=True)
        both = [said(capsys, str(tmp_path / name))[2:6] for name in ("t.csv", "t.jsonl")]
        assert both[0] == both[1]


@compiled
def test_columns_are_chosen(tmp_path, capsys):
    path = str(tmp_path / "t.csv")
    homes().to_csv(path, index=False)
    given = [path, "--target", "dear"]
    chosen = said(capsys, *given, "--columns", "area,town")
    ignored = said(capsys, *given, "--ignore", "price")
    assert "(400 rows, 2 columns as 5 features)" in chosen[0] and chosen[:6] == ignored[:6]
    shown = "model.fit(frame[['area', 'town']], frame['dear'])"
    assert shown in "\n".join(chosen) and shown in "\n".join(ignored)
    for option in ("--columns", "--ignore"):
        assert "t.csv has no column 'rooms'; it has area, town" in refused(
            capsys, *given, option, "rooms"
        )
    assert "no column besides the target" in refused(capsys, *given, "--ignore", "price,area,town")
    assert "--columns is about a file" in refused(capsys, "--columns", "a")
    (tmp_path / "t.svm").write_text("1 1:2\n")
    assert "--ignore is for columns that have names" in refused(
        capsys, str(tmp_path / "t.svm"), "--ignore", "a"
    )


@compiled
@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "jsonl"])
def test_files_that_are_large_are_read_in_parts(kind, tmp_path, capsys, monkeypatch):
    pytest.importorskip("skops")
    frame = homes(3000)[["area", "town", "dear"]]
    path, kept = str(tmp_path / f"t.{kind}"), str(tmp_path / "model")
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    elif kind == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False)
    monkeypatch.setattr(stream_table, "LARGE", 100)
    monkeypatch.setattr(stream_table, "LARGE_GZIP", 100)
    monkeypatch.setattr(stream_table, "PART", 500)
    lines = said(capsys, path, "--save", kept)
    assert lines[0] == f"{path} (3000 rows, 2 columns as 5 features), target dear"
    (matters,) = [line for line in lines if line.startswith("Matters most")]
    assert "area (+)" in matters and "town_" in matters
    (accuracy,) = [line for line in lines if line.startswith("Accuracy")]
    always = frame["dear"].value_counts().iloc[0] / 3000
    assert f"always the most frequent class: {always:.1%}." in accuracy
    found = said(capsys, "predict", kept, path)[1:]
    assert np.mean(np.array(found) == frame["dear"]) > 0.9


@compiled
@pytest.mark.parametrize(("most", "width"), [(150, 149 + 1 + 2), (149, 128 + 2)])
def test_words_of_large_files_have_features_of_their_own(
    most, width, tmp_path, capsys, monkeypatch
):
    """Also those that come late, where they are not too many; what is there once has none."""
    pytest.importorskip("skops")
    rng = np.random.RandomState(0)
    words = np.array([f"w{i}" for i in rng.permutation(150)])
    codes = np.r_[rng.randint(99, size=500), rng.randint(149, size=5500)]
    frame = pd.DataFrame({"word": words[codes], "size": rng.randn(6000)})
    frame.loc[5999, "word"], frame.loc[::10, "size"] = words[149], np.nan
    frame["kind"] = (rng.randn(150) > 0)[codes].astype(int)
    path, kept = str(tmp_path / "t.csv"), str(tmp_path / "model")
    frame.to_csv(path, index=False)
    for name, value in (("LARGE", 100), ("PART", 500), ("MOST_VALUES", most)):
        monkeypatch.setattr(stream_table, name, value)
    lines = said(capsys, path, "--save", kept)
    encoder = load_checkpoint(kept)[0]
    rows = encoder.transform(frame[["word", "size"]])
    assert rows.shape == (6000, width) and f"2 columns as {width} features" in lines[0]
    found = np.array(said(capsys, "predict", kept, path)[1:], dtype=int)
    assert (np.mean(found == frame["kind"]) > 0.98) == (most == 150)


@compiled
def test_columns_of_large_files_are_what_their_first_values_are(tmp_path, capsys, monkeypatch):
    """Also those without a value in the first part; those that never have one are left out."""
    frame = homes(60)[["area", "dear"]]
    frame.insert(0, "day", [None] * 30 + ["2024-05-31"] * 30)
    frame.insert(0, "none", None)
    frame.to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.setattr(stream_table, "LARGE", 100)
    monkeypatch.setattr(stream_table, "PART", 20)
    lines = said(capsys, str(tmp_path / "t.csv"))
    assert f"(60 rows, 3 columns as {22 + frame['area'].isna().any()} features)" in lines[0]


@compiled
def test_large_files_say_which_row_has_no_label(tmp_path, capsys, monkeypatch):
    frame = homes(60)[["area", "dear"]]
    frame.loc[44, "dear"] = None
    frame.to_csv(tmp_path / "t.csv", index=False)
    monkeypatch.setattr(stream_table, "LARGE", 100)
    monkeypatch.setattr(stream_table, "PART", 20)
    told = refused(capsys, str(tmp_path / "t.csv"))
    assert "row 46 has no value in column 'dear'" in told
    assert "--bounds is for tables that fit" in refused(capsys, str(tmp_path / "t.csv"), "--bounds")


class TestOrder:
    def test_neighbours_that_agree_are_told_of(self):
        rng = np.random.RandomState(0)
        y = np.repeat(rng.randint(0, 2, 200), 10)
        same = np.mean(y[1:] == y[:-1])
        assert same_as_before(y) == pytest.approx(same)
        chance = np.mean(y) ** 2 + np.mean(1 - y) ** 2
        assert [f"{v:.1%}" in order_line(y) for v in (same, chance)] == [True, True]
        assert order_line(rng.permutation(y)) is None
        assert order_line(np.sort(y)) is None  # sorted by its label
        assert order_line(y[:1]) is None and order_line(y.reshape(-1, 2)) is None

    @compiled
    def test_on_the_screen(self, tmp_path, capsys):
        rng = np.random.RandomState(0)
        blocks = np.repeat(rng.randint(0, 2, 100), 10)
        frame = pd.DataFrame({"a": rng.randn(1000), "y": blocks})
        path = str(tmp_path / "t.csv")
        frame.to_csv(path, index=False)
        assert any("give --in-order" in line for line in said(capsys, path))
        lines = said(capsys, path, "--in-order")
        (accuracy,) = [line for line in lines if line.startswith("Accuracy")]
        assert accuracy.endswith(f"the label before: {same_as_before(blocks):.1%}.")
        assert not any(line.startswith(("Order", "Changes")) for line in lines)

    @compiled
    def test_changes(self, tmp_path, capsys):
        rng = np.random.RandomState(0)
        a = rng.randn(4000)
        y = np.where(np.arange(4000) < 2000, a > 0, rng.rand(4000) < 0.5).astype(int)
        path = str(tmp_path / "t.csv")
        pd.DataFrame({"a": a, "y": y}).to_csv(path, index=False)
        assert any(line.startswith("Changes") for line in said(capsys, path, "--in-order"))
        assert not any(line.startswith("Changes") for line in said(capsys, path))
