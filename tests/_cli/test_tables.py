"""Files that are read on the command line: what is in them, and what is wrong with them."""

import csv
import gzip
import io
import json
import sys
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from conftest import INTERPRETED
from table_files import load, refused, said

from skstructured.__main__ import main
from skstructured._cli.files import frames
from skstructured._cli.tables import space_of

compiled = pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")


def test_text_columns_and_several_targets(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("u,v,p,q\n1,red,0,1\n2,blue,1,1\n3,red,0,0\n4,blue,1,0\n", encoding="utf-8")
    assert main(["--data", str(path), "--target", "p,q", "--space", "hypercube"]) == 0
    assert "(4 rows, 2 columns as 3 features)" in capsys.readouterr().out


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_bytes("y,x\n0,1\n1,2\n0,3\n1,4\n".encode("utf-8-sig"))
    assert main(["--data", str(path), "--target", "y"]) == 0
    assert "(4 rows, 1 features)" in capsys.readouterr().out


def test_cells_may_be_long(tmp_path, capsys):
    path = tmp_path / "t.csv"
    rows = "".join(f"{i},{'ab'[i % 2] * 200_000},{i % 2}\n" for i in range(20))
    path.write_text("x,text,y\n" + rows, encoding="utf-8")
    limit = csv.field_size_limit()
    assert main(["--data", str(path), "--target", "y", "--decoder", "nearest"]) == 0
    assert "(20 rows, 2 columns as 3 features)" in capsys.readouterr().out
    assert csv.field_size_limit() == limit


def test_one_long_cell_costs_its_own_length_only(tmp_path):
    path = tmp_path / "t.csv"
    rows = "".join(f"{i},{'b' * 200_000 if i == 7 else 'a'},{i % 2}\n" for i in range(500))
    path.write_text("x,text,y\n" + rows, encoding="utf-8")
    tracemalloc.start()
    try:
        X, *_ = load(path, "y")
        assert X.shape == (500, 3) and tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("space", ["simplex", "ordinal"])
def test_too_many_labels_are_refused_in_a_line(space, tmp_path, capsys):
    path = tmp_path / "t.csv"
    rows = "".join(f"{i % 7},{i}\n" for i in range(40_000))
    path.write_text("x,label\n" + rows, encoding="utf-8")
    assert main(["--data", str(path), "--target", "label", "--space", space]) == 2
    error = capsys.readouterr().err
    assert "error: column 'label' has 40000 distinct" in error and error.count("\n") == 1


def test_a_table_with_gaps_words_and_dates(tmp_path, capsys):
    path = tmp_path / "t.csv.gz"
    ages = ["" if i % 5 == 0 else i for i in range(2000)]
    days = [f"2024-01-{1 + i % 28:02d}" for i in range(2000)]
    sexes = [("male", "female", "?")[i % 3] for i in range(2000)]
    cells = zip(ages, sexes, days, strict=True)
    lines = "".join(f"{a},{s},w{i},{d},{i % 3}\n" for i, (a, s, d) in enumerate(cells))
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("age,sex,ticket,day,kind\n" + lines)
    assert main([str(path)]) == 0
    out = capsys.readouterr().out
    assert (
        "(2000 rows, 4 columns as 27 features), target kind" in out
    )  # 2 + 3 + 1 for tickets, all different + 21
    assert float(out.split("Accuracy         ")[1].split("%")[0]) > 90.0


def write(path, header, lines, mark=","):
    text = [mark.join(map(str, line)) for line in [header, *lines]]
    path.write_text("\n".join(text) + "\n", encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_the_header_tells_what_separates_cells(mark, tmp_path):
    path = write(tmp_path / "t.csv", "abc", [(1, "x y", 2), (3, "z", 4)], mark)
    (frame,) = frames(path)
    assert frame.to_dict("list") == {"a": ["1", "3"], "b": ["x y", "z"], "c": ["2", "4"]}


def test_a_delimiter_that_is_given_counts(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("a;b:y\n" + "".join(f"{i};0:{i % 2}\n" for i in range(6)), encoding="utf-8")
    assert (
        "(6 rows, 1 column as 6 features), target y"
        in said(capsys, str(path), "--delimiter", ":")[0]
    )
    assert "(6 rows, 1 features), target b:y" in said(capsys, str(path))[0]
    assert "--delimiter must be one character" in refused(capsys, path, "--delimiter", "::")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "", "t.csv is empty: a table has a line of column names, then rows"),
        ("t.csv", "a,y\n1,no\n2,no\n", "one value 'no' in column 'y', the target, which needs at"),
        ("t.csv", "a,y\n1,no\n2,no\n", "with --target (there are a, y)"),
        ("t.csv", "a,y\n1,no\n2,\n", "row 3 has no value in column 'y', the target: leave such"),
        ("t.csv", "0,0,1\n1,2,1\n", "its first line must give each a name of its own"),
        ("t.csv", "a,y\n1,x,no\n", "row 2 has 3 cells, the header has 2: quote cells"),
        ("t.csv", "a,y\n1,é\n", "is not UTF-8 text (byte 0xe9 at 6): iconv -f latin1 -t utf-8"),
        ("t.csv.gz", "a,y\n1,no\n", "t.csv.gz is not compressed by gzip, as its name says"),
        ("t.json", '[{"a": 1, "y": 0}]', "is a JSON list: write its objects on a line each"),
    ],
)
def test_errors_say_what_to_do(name, content, message, tmp_path, capsys):
    path = tmp_path / name
    path.write_bytes(content.encode("latin-1"))
    assert main([str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and message in err


def test_standard_input_may_begin_with_a_byte_order_mark(monkeypatch):
    raw = io.BytesIO("a,y\n1,é\n".encode("utf-8-sig"))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=raw))
    columns = next(frames("-"))
    assert list(columns) == ["a", "y"] and list(columns["y"]) == ["é"]


def test_files_that_gzip_made_are_read(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a;y\n1.5;0\n"))
    assert next(frames(path))["a"].tolist() == ["1.5"]


def test_query_ids_are_not_read_as_classes(tmp_path, capsys):
    path = tmp_path / "queries.svm"
    path.write_text("1 qid:1 1:0.5 2:0.25\n0 qid:1 1:0.25 2:1\n")
    assert main([str(path)]) != 0
    assert "query_id=True" in capsys.readouterr().err


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
    column = pd.Series(y, dtype=object)
    assert space_of(column, SimpleNamespace(space=None, order=None)) == space
    assert space_of(column, SimpleNamespace(space="ordinal", order=None)) == "ordinal"
    assert space_of(column, SimpleNamespace(space=None, order=["a"])) == "ordinal"


class TestJSON:
    def test_lines_are_rows(self, tmp_path):
        rows = [{"a": 1, "b": "x"}, {"b": "y", "c": True}, {"a": 2.5, "b": None}]
        path = tmp_path / "t.jsonl"
        path.write_text("\n\n".join(map(json.dumps, rows)))
        (columns,) = frames(path)
        assert {name: list(values) for name, values in columns.items()} == {
            "a": [1, None, 2.5],
            "b": ["x", "y", None],
            "c": [None, True, None],
        }
        first, second = frames(path, size=2)
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
    assert "(400 rows, 2 columns as 5 features)" in chosen[0]
    told = refused(capsys, *given, "--columns", "area,rooms")
    assert "t.csv has no column 'rooms'; it has area, town" in told
    assert "no column besides the target" in refused(capsys, *given, "--columns", "dear")
    assert "--columns is about a file" in refused(capsys, "--columns", "a")


def homes(n=400):
    rng = np.random.RandomState(0)
    frame = pd.DataFrame({"area": np.where(rng.rand(n) < 0.1, np.nan, rng.randint(20, 200, n))})
    frame["town"] = rng.choice(["Ulm", "Kiel", "Bonn"], n)
    frame["price"] = 2000.0 * frame["area"].fillna(100) + 50000.0 * (frame["town"] == "Ulm")
    frame["price"] += 0.25 + (5000 * rng.standard_t(2, n)).round()
    frame["dear"] = np.where(frame["price"] > 250000, "yes", "no")
    return frame


def test_columns_must_have_names_of_their_own(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("a,a,y\n1,2,0\n3,4,1\n")
    assert main([str(path)]) == 2
    assert "has two columns of the name 'a'" in capsys.readouterr().err


STRAY = ["name,v,y"] + [f"Ann{i},{i % 7},{'xz'[i % 2]}" for i in range(1000)]


@pytest.mark.parametrize("kind", ["csv", "csv.gz"])
@pytest.mark.parametrize(("rows", "row"), [((301,), 302), ((101, 901), 102)])
def test_quotes_that_are_not_closed_lose_no_rows(rows, row, kind, tmp_path, capsys):
    """Up to the end of the file, or to the next one."""
    lines = [f'"{line}' if i in rows else line for i, line in enumerate(STRAY)]
    text, path = "\n".join(lines) + "\n", tmp_path / f"t.{kind}"
    path.write_bytes(gzip.compress(text.encode()) if kind == "csv.gz" else text.encode())
    assert f"row {row} is not CSV" in refused(capsys, path)


@compiled
def test_rows_are_counted_beside_lines(tmp_path, capsys):
    lines = [*STRAY]
    lines[101], lines[901] = '"Bob,1,x', 'Bob",2,z'
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n\n")
    (told,) = [line for line in said(capsys, tmp_path / "t.csv") if line.startswith("Careful")]
    assert told[17:] == (
        "200 rows were read from 1,001 lines: row 102 has 801 lines, by a quoted cell."
    )


@pytest.mark.parametrize(
    ("cut", "message"), [("half", "cut off"), ("bits", "damaged"), ("sum", "CRC")]
)
def test_damaged_gzip_is_told_in_a_line(cut, message, tmp_path, capsys):
    rng = np.random.RandomState(0)
    text = "a,y\n" + "".join(f"{x},{'xz'[int(x > 0)]}\n" for x in rng.randn(3000))
    data = bytearray(gzip.compress(text.encode()))
    if cut == "half":
        data = data[: len(data) // 2]
    else:
        place = len(data) // 2 if cut == "bits" else len(data) - 6
        data[place] ^= 0xFF
    (tmp_path / "t.csv.gz").write_bytes(bytes(data))
    assert message in refused(capsys, tmp_path / "t.csv.gz")


def test_deeply_nested_json_is_told_in_a_line(tmp_path, capsys):
    (tmp_path / "t.jsonl").write_text('{"a": 1, "y": 0}\n{"a": ' + "[" * 10**6)
    assert "row 2 is not JSON" in refused(capsys, tmp_path / "t.jsonl")


@compiled
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_large_whole_numbers_stay_the_labels_that_they_are(kind, tmp_path, capsys):
    pytest.importorskip("skops")
    path, kept, labels = str(tmp_path / f"t.{kind}"), str(tmp_path / "model"), [2**53, 2**53 + 1]
    x = np.random.RandomState(0).randn(200)
    frame = pd.DataFrame({"x": x, "y": np.array(labels)[(x > 0).astype(int)]})
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    elif kind == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        frame.to_csv(path, index=False)
    said(capsys, path, "--save", kept)
    assert set(said(capsys, "predict", kept, path)[1:]) == set(map(str, labels))


def test_columns_are_many(tmp_path, capsys):
    """Names are found without looking at all of them for each."""
    n = 20_000
    text = ",".join(f"c{i}" for i in range(n)) + ",c0\n" + ",".join(["1"] * (n + 1)) + "\n"
    (tmp_path / "t.csv").write_text(text)
    assert "two columns of the name 'c0'" in refused(capsys, tmp_path / "t.csv")
