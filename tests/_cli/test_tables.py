"""Files that are read on the command line: what is in them, and what is wrong with them."""

import csv
import gzip
import json
import os
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from conftest import INTERPRETED
from table_files import homes, load, one, refused, said, written

from skstructured._cli.files import frames
from skstructured._cli.tables import space_of

compiled = pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")


@pytest.mark.parametrize(
    ("content", "given", "title"),
    [
        (
            "u,v,p,q\n1,red,0,1\n2,blue,1,1\n3,red,0,0\n4,blue,1,0\n",
            ["--target", "p,q", "--space", "hypercube"],
            "(4 rows, 2 columns as 3 features), target p, q",
        ),
        ("\ufeffy,x\n0,1\n1,2\n0,3\n1,4\n", ["--target", "y"], "(4 rows, 1 features), target y"),
        ("a;b:y\n1;0:1\n2;0:0\n3;0:1\n", [], "(3 rows, 1 features), target b:y"),
        (
            "a;b:y\n1;0:1\n2;0:0\n",
            ["--delimiter", ":"],
            "(2 rows, 1 column as 2 features), target y",
        ),
    ],
)
def test_text_columns_several_targets_marks_and_separators(content, given, title, tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text(content, encoding="utf-8")
    assert said(capsys, path, *given)[0] == f"{path} {title}"


def test_one_long_cell_costs_its_own_length_only(tmp_path):
    path, limit = tmp_path / "t.csv", csv.field_size_limit()
    rows = "".join(f"{i},{'b' * 200_000 if i == 7 else 'a'},{i % 2}\n" for i in range(500))
    path.write_text("x,text,y\n" + rows, encoding="utf-8")
    tracemalloc.start()
    try:
        X, *_ = load(path, "y")
        assert X.shape == (500, 3) and tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize("space", ["simplex", "ordinal"])
def test_too_many_labels_are_refused_in_a_line(space, tmp_path, capsys):
    path = written(tmp_path, pd.DataFrame({"x": np.arange(40_000) % 7, "label": range(40_000)}))
    assert "column 'label' has 40000 distinct" in refused(capsys, path, "--space", space)


def test_a_table_with_gaps_words_and_dates(tmp_path, capsys):
    i = np.arange(2000)
    frame = pd.DataFrame({"age": [None if j % 5 == 0 else j for j in i]})
    frame["sex"], frame["ticket"] = np.array(["male", "female", "?"])[i % 3], [f"w{j}" for j in i]
    frame["day"], frame["kind"] = [f"2024-01-{1 + j % 28:02d}" for j in i], i % 3
    lines = said(capsys, written(tmp_path, frame, "t.csv.gz"))
    assert lines[0].endswith("(2000 rows, 4 columns as 27 features), target kind")
    # 2 + 3 + 1 for tickets, all different + 21
    assert float(one(lines, "Accuracy").split()[1].rstrip("%,")) > 90.0


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_the_header_tells_what_separates_cells(mark, tmp_path):
    lines = [mark.join(line) for line in (["a", "b", "c"], ["1", "x y", "2"], ["3", "z", "4"])]
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    (frame,) = frames(tmp_path / "t.csv.gz")
    assert frame.to_dict("list") == {"a": ["1", "3"], "b": ["x y", "z"], "c": ["2", "4"]}


DEEP = '{"a": 1, "y": 0}\n{"a": ' + "[" * 10**6

#: Names are found without looking at all of them for each.
MANY = ",".join(f"c{i}" for i in range(20_000)) + ",c0\n"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "", "t.csv is empty: a table has a line of column names, then rows"),
        ("t.csv", "a,y\n1,no\n2,no\n", "one value 'no' in column 'y', the target, which needs at"),
        ("t.csv", "a,y\n1,no\n2,no\n", "with --target (there are a, y)"),
        ("t.csv", "a,y\n1,no\n2,\n", "row 3 has no value in column 'y', the target: leave such"),
        ("t.csv", "0,0,1\n1,2,1\n", "name '0': its first line must give each a name of its own"),
        ("t.csv", MANY, "has two columns of the name 'c0'"),
        ("t.csv", "a,y\n1,x,no\n", "row 2 has 3 cells, the header has 2: quote cells"),
        ("t.csv", "a,y\n1,é\n", "is not UTF-8 text (byte 0xe9 at 6): iconv -f latin1 -t utf-8"),
        ("t.csv.gz", "a,y\n1,no\n", "t.csv.gz is not compressed by gzip, as its name says"),
        ("t.json", '[{"a": 1, "y": 0}]', "is a JSON list: write its objects on a line each"),
        ("t.jsonl", '{"a": 1}\n{"a": }', "row 2 is not JSON"),
        ("t.jsonl", '{"a": 1}\n[1]', "row 2 is not a JSON object"),
        ("t.jsonl", '{"a": [1], "b": 2}', "row 1 has several values in column 'a'"),
        ("t.jsonl", DEEP, "row 2 is not JSON"),
        ("t.svm", "1 qid:1 1:0.5 2:0.25\n0 qid:1 1:0.25 2:1\n", "query_id=True"),
    ],
    ids=range(15),
)
def test_errors_say_what_to_do(name, content, message, tmp_path, capsys):
    path = tmp_path / name
    path.write_bytes(content.encode("latin-1"))
    assert message in refused(capsys, path)


def test_standard_input_may_begin_with_a_byte_order_mark(tmp_path):
    (tmp_path / "t.csv").write_bytes("a,y\n1,é\n".encode("utf-8-sig"))
    kept = os.dup(0)
    with open(tmp_path / "t.csv", "rb") as file:
        os.dup2(file.fileno(), 0)
    try:
        (columns,) = frames("-")
        os.fstat(0)  # it is still open
    finally:
        os.dup2(kept, 0)
        os.close(kept)
    assert columns.to_dict("list") == {"a": ["1"], "y": ["é"]}


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


def test_lines_of_json_are_rows(tmp_path):
    rows = [{"a": 1, "b": "x"}, {"b": "y", "c": True}, {"a": 2.5, "b": None}]
    path = tmp_path / "t.jsonl"
    path.write_text("\n\n".join(map(json.dumps, rows)))
    (frame,) = frames(path)
    columns = {"a": [1, None, 2.5], "b": ["x", "y", None], "c": [None, True, None]}
    assert frame.to_dict("list") == columns and list(frame.index) == [1, 2, 3]
    first, second = frames(path, size=2)
    assert list(first["b"]) == ["x", "y"] and second.to_dict("list")["a"] == [2.5]
    assert list(second.index) == [3] and list(second) == ["a", "b", "c"]


@compiled
def test_json_is_learned_as_csv_is_and_columns_are_chosen(tmp_path, capsys):
    frame = homes()[["area", "town", "dear"]]
    paths = [written(tmp_path, frame, name) for name in ("t.csv", "t.jsonl")]
    both = [said(capsys, path)[2:6] for path in paths]
    assert both[0] == both[1]
    given = [written(tmp_path, homes()), "--target", "dear", "--columns"]
    assert "(400 rows, 2 columns as 5 features)" in said(capsys, *given, "area,town")[0]
    assert "t.csv has no column 'rooms'; it has area, town" in refused(capsys, *given, "area,rooms")
    assert "no column besides the target" in refused(capsys, *given, "dear")
    assert "--columns is about a file" in refused(capsys, "--columns", "a")
    assert "--delimiter must be one character" in refused(capsys, *given, "a", "--delimiter", "::")


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
    assert one(said(capsys, tmp_path / "t.csv"), "Careful")[17:] == (
        "200 rows were read from 1,001 lines: row 102 has 801 lines, by a quoted cell."
    )


@pytest.mark.parametrize(
    ("place", "message"), [(None, "cut off"), (0.5, "damaged"), (-6, "CRC")], ids=str
)
def test_damaged_gzip_is_told_in_a_line(place, message, tmp_path, capsys):
    rng = np.random.RandomState(0)
    text = "a,y\n" + "".join(f"{x},{'xz'[int(x > 0)]}\n" for x in rng.randn(3000))
    data = bytearray(gzip.compress(text.encode()))
    if place is None:
        data = data[: len(data) // 2]
    else:
        data[len(data) // 2 if place == 0.5 else place] ^= 0xFF
    (tmp_path / "t.csv.gz").write_bytes(bytes(data))
    assert message in refused(capsys, tmp_path / "t.csv.gz")


@compiled
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_large_whole_numbers_stay_the_labels_that_they_are(kind, tmp_path, capsys):
    pytest.importorskip("skops")
    pytest.importorskip("pyarrow")
    kept, labels = tmp_path / "model", [2**53, 2**53 + 1]
    x = np.random.RandomState(0).randn(200)
    frame = pd.DataFrame({"x": x, "y": np.array(labels)[(x > 0).astype(int)]})
    path = written(tmp_path, frame, f"t.{kind}")
    said(capsys, path, "--save", kept)
    assert set(said(capsys, "predict", kept, path)[1:]) == set(map(str, labels))
