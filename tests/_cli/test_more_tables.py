"""On the command line: real numbers, files that are read in parts, the order of rows."""

import re

import numpy as np
import pandas as pd
import pytest
from conftest import INTERPRETED
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file, load_digits, load_svmlight_file
from sklearn.utils import shuffle
from table_files import homes, load, one, predicted, refused, said, written

from skstructured import PiSTOLRegressor, TableEncoder
from skstructured._cli import files, tables
from skstructured._cli.report import amount, order_lines, same_as_before, units
from skstructured.checkpoints import load_checkpoint
from skstructured.evaluation import progressive_validate

compiled = pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")


def numbers(line):
    return [float(found.replace(",", "")) for found in re.findall(r"\d[\d,]*\.?\d*", line)]


@compiled
class TestRealNumbers:
    def test_the_screen_is_of_a_progressive_validation(self, tmp_path, capsys):
        pytest.importorskip("pyarrow")
        frame = homes()
        path = written(tmp_path, frame.drop(columns="dear"), "homes.parquet")
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
        found = numbers(lines[3]) + numbers(lines[4]) + numbers(one(lines, "Baseline"))
        assert found == pytest.approx(wanted, rel=1e-3)
        assert wanted[0] < always / 3
        assert "no bound" in lines[6] and "area (+)" in one(lines, "Matters most     area (+)")

    def test_a_model_is_kept_and_predicts(self, tmp_path, capsys):
        pytest.importorskip("skops")
        frame, kept = homes(), str(tmp_path / "model")
        path = written(tmp_path, frame.drop(columns="dear"))
        said(capsys, path, "--save", kept)
        found = predicted(capsys, kept, path)["prediction"]
        assert np.array_equal(found, load_checkpoint(kept).predict(frame[["area", "town"]]))
        assert np.median(np.abs(found - frame["price"])) < 1e4

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (["--bounds"], "--bounds is not for real numbers"),
            (["--learner", "a:B"], "--learner is not for real numbers"),
            (["--space", "real", "--target", "town"], "must hold numbers with --space real"),
        ],
    )
    def test_what_is_not_for_them(self, given, message, tmp_path, capsys):
        path = written(tmp_path, homes(40).drop(columns="dear"))
        assert message in refused(capsys, path, *given)


def test_units_are_of_the_first_rows():
    y = np.r_[np.arange(10.0), 1e9 * np.ones(90)]
    assert units(y) == (4.5, 2.5)
    assert units(np.r_[np.zeros(9), 10.0]) == (0.0, 3.0)
    assert units(np.full(5, 2.0)) == (2.0, 1.0)
    assert (amount(12345.6), amount(0.123456)) == ("12,346", "0.1235")


@pytest.fixture
def parts(monkeypatch):
    """Files are large, and read in parts of so many rows."""

    def small(rows, deciding=tables.DECIDING):
        monkeypatch.setattr(files, "LARGE", 100)
        monkeypatch.setattr(files, "LARGE_GZIP", 100)
        monkeypatch.setattr(tables, "PART", rows)
        monkeypatch.setattr(tables, "DECIDING", deciding)

    return small


@compiled
@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "jsonl"])
def test_files_that_are_large_are_read_in_parts(kind, parts, tmp_path, capsys):
    pytest.importorskip("skops")
    pytest.importorskip("pyarrow")
    frame, kept = homes(3000)[["area", "town", "dear"]], str(tmp_path / "model")
    path = written(tmp_path, frame, f"t.{kind}")
    parts(500)
    lines = said(capsys, path, "--save", kept)
    assert lines[0] == f"{path} (3000 rows, 2 columns as 5 features), target dear"
    matters = one(lines, "Matters most")
    assert "area (+)" in matters and "town_" in matters
    always = frame["dear"].value_counts().iloc[0] / 3000
    assert f"always the most frequent class: {always:.1%}." in one(lines, "Accuracy")
    assert (predicted(capsys, kept, path)["prediction"] == frame["dear"]).mean() > 0.9


@compiled
def test_the_first_rows_of_a_large_file_decide_what_columns_are(parts, tmp_path, capsys):
    """Words that are there twice have an indicator; a number that is none is named."""
    pytest.importorskip("skops")
    rng = np.random.RandomState(0)
    words = np.array([f"w{i}" for i in rng.permutation(150)])
    codes = rng.randint(149, size=6000)
    codes[5999], frame = 149, pd.DataFrame({"size": rng.randn(6000).round(3)}, dtype=object)
    frame["word"], frame["kind"] = words[codes], (rng.randn(150) > 0)[codes].astype(int)
    path, kept = written(tmp_path, frame), str(tmp_path / "model")
    parts(500, deciding=3000)
    lines = said(capsys, path, "--save", kept)
    assert "(6000 rows, 2 columns as 150 features)" in lines[0]  # 149 words, the size
    assert (predicted(capsys, kept, path)["prediction"] == frame["kind"]).mean() > 0.98
    frame.loc[4001, "size"] = "large"
    path = written(tmp_path, frame)
    assert "row 4003 has 'large' in column 'size'" in refused(capsys, path)
    assert "(6000 rows" in said(capsys, path, "--bad-cells", "missing")[0]


@compiled
def test_large_files_say_which_row_has_no_label(parts, tmp_path, capsys):
    """A column is what its first values are; one that never has a value is left out."""
    frame = homes(60)[["area", "dear"]]
    frame.insert(0, "day", [None] * 30 + ["2024-05-31"] * 30)
    frame.insert(0, "none", None)
    parts(20)
    lines = said(capsys, written(tmp_path, frame))
    assert f"(60 rows, 3 columns as {22 + frame['area'].isna().any()} features)" in lines[0]
    frame.loc[44, "dear"] = None
    path = written(tmp_path, frame)
    assert "row 46 has no value in column 'dear'" in refused(capsys, path)
    assert "--bounds is for tables that fit" in refused(capsys, path, "--bounds")


class TestOrder:
    def test_neighbours_that_agree_are_told_of(self):
        rng = np.random.RandomState(0)
        y = np.repeat(rng.randint(0, 2, 200), 10)
        same = np.mean(y[1:] == y[:-1])
        assert same_as_before(y) == pytest.approx(same)
        chance = np.mean(y) ** 2 + np.mean(1 - y) ** 2
        (line,) = order_lines(y)
        assert [f"{v:.1%}" in line for v in (same, chance)] == [True, True]
        for other in (rng.permutation(y), np.sort(y), y[:1], y.reshape(-1, 2)):
            assert list(order_lines(other)) == []  # one of them is sorted by its label

    @compiled
    def test_on_the_screen(self, tmp_path, capsys):
        rng = np.random.RandomState(0)
        blocks = np.repeat(rng.randint(0, 2, 100), 10)
        path = written(tmp_path, pd.DataFrame({"a": rng.randn(1000), "y": blocks}))
        assert any("give --in-order" in line for line in said(capsys, path))
        lines = said(capsys, path, "--in-order")
        before = f"the label before: {same_as_before(blocks):.1%}."
        assert one(lines, "Accuracy").endswith(before)
        assert not any(line.startswith(("Order", "Changes")) for line in lines)

    @compiled
    def test_changes(self, tmp_path, capsys):
        rng = np.random.RandomState(0)
        a = rng.randn(4000)
        y = np.where(np.arange(4000) < 2000, a > 0, rng.rand(4000) < 0.5).astype(int)
        path = written(tmp_path, pd.DataFrame({"a": a, "y": y}))
        assert one(said(capsys, path, "--in-order"), "Changes")
        assert not any(line.startswith("Changes") for line in said(capsys, path))


@pytest.fixture
def digit_files(tmp_path):
    """Digits in the order of the stream, as Parquet and as svmlight."""
    pytest.importorskip("pyarrow")
    X, y = shuffle(*load_digits(return_X_y=True), random_state=0)
    frame = pd.DataFrame(X[:600], columns=[f"p{j}" for j in range(64)]).assign(digit=y[:600])
    frame.to_parquet(tmp_path / "digits.parquet")
    dump_svmlight_file(X[:600], y[:600], str(tmp_path / "digits.svm"), zero_based=False)
    dump_svmlight_file(X[:600] + 1, y[:600], str(tmp_path / "from0.svm"), zero_based=True)
    return tmp_path


@pytest.mark.parametrize("name", ["digits.svm", "from0.svm"])
def test_files_larger_than_memory_are_read_in_chunks(name, digit_files, capsys):
    pytest.importorskip("skops")
    path, kept = str(digit_files / name), str(digit_files / "model")
    lines = said(capsys, path, "--save", kept)
    assert lines[0].startswith(f"{path} (600 rows, 64 features)")
    first, second = (number / 100 for number in numbers(lines[3]))
    assert second < first < 0.4
    model = load_checkpoint(kept)
    assert model.t_ == 600
    X, y = load_svmlight_file(path, n_features=64, zero_based=name != "digits.svm")
    losses = progressive_validate(
        clone(model), X, y, play="average", classes=range(10)
    ).expected_target_loss
    assert first == pytest.approx(losses.mean(), abs=0.02)  # averages are taken at every chunk


def test_labels_of_a_stream_are_counted_row_by_row(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("".join(f"{label} 1:1.0\n" for label in (3, 1, 3, 3, 7, 1)))
    stream = load(path)
    assert stream.y.tolist() == [1, 3, 7] and stream.counts.tolist() == [2, 3, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["digits.svm", "--target", "p0"], "--target is not for svmlight"),
        (["digits.svm", "--space", "hypercube"], "--space hypercube is not for svmlight"),
        (["digits.svm", "--plot", "a.png"], "--plot is for tables that fit into memory"),
        (["digits.svm", "--bounds"], "--bounds is for tables that fit into memory"),
        (["digits.svm", "--columns", "a"], "--columns is for tables with names of columns"),
        (["digits.parquet", "--target", "no"], "no column 'no'; it has p0"),
        (["none.parquet"], "none.parquet"),
        (["empty.parquet"], "empty.parquet is not a Parquet file, damaged or cut off"),
        (["short.parquet"], "short.parquet is not a Parquet file, damaged or cut off"),
        (["rows.parquet"], "rows.parquet has no rows"),
        (["lists.parquet"], "lists.parquet has several values in column 'a'"),
        (["none.svm"], "No such file"),
        (["empty.svm"], "has no rows"),
    ],
)
def test_what_does_not_go_with_large_files(arguments, message, digit_files, capsys):
    for name in ("empty.svm", "empty.parquet"):
        (digit_files / name).write_text("")
    frame = pd.DataFrame({"a": [[1, 2], [3]], "y": [0, 1]})
    frame.to_parquet(digit_files / "lists.parquet")
    frame[["y"]][:0].to_parquet(digit_files / "rows.parquet")
    whole = (digit_files / "digits.parquet").read_bytes()
    (digit_files / "short.parquet").write_bytes(whole[: len(whole) // 2])
    assert message in refused(capsys, digit_files / arguments[0], *arguments[1:])
