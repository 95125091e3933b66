"""Files that are read on the command line: what is in them, and what is wrong with them."""

import csv
import gzip
import json
import os
import re
import shlex
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.utils import shuffle
from table_files import compiled, homes, iris, load, numbers, one, results, trips

from skstructured.__main__ import main
from skstructured._cli import files
from skstructured._cli.files import frames
from skstructured._cli.tables import space_of
from skstructured.checkpoints import load_checkpoint
from skstructured.evaluation import progressive_validate


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
def test_text_columns_several_targets_marks_and_separators(content, given, title, cli):
    path = cli.written(content)
    assert cli.said(path, *given)[0] == f"{path} {title}"


def test_one_long_cell_costs_its_own_length_only(cli):
    limit = csv.field_size_limit()
    rows = "".join(f"{i},{'b' * 200_000 if i == 7 else 'a'},{i % 2}\n" for i in range(500))
    path = cli.written("x,text,y\n" + rows)
    tracemalloc.start()
    try:
        X, *_ = load(path, "y")
        assert X.shape == (500, 3) and tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()
    assert csv.field_size_limit() == limit


@pytest.mark.exhaustive
def test_a_table_with_gaps_words_and_dates(cli):
    i = np.arange(2000)
    frame = pd.DataFrame({"age": [None if j % 5 == 0 else j for j in i]})
    frame["sex"], frame["ticket"] = np.array(["male", "female", "?"])[i % 3], [f"w{j}" for j in i]
    frame["day"], frame["kind"] = [f"2024-01-{1 + j % 28:02d}" for j in i], i % 3
    lines = cli.said(cli.written(frame, "t.csv.gz"))
    assert lines[0].endswith("(2000 rows, 4 columns as 27 features), target kind")
    # 2 + 3 + 1 for tickets, all different + 21
    assert numbers(one(lines, "Held out"))[0] < 10.0


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_the_header_tells_what_separates_cells(mark, cli):
    lines = [mark.join(line) for line in (["a", "b", "c"], ["1", "x y", "2"], ["3", "z", "4"])]
    (frame,) = frames(cli.written(gzip.compress("\n".join(lines).encode()), "t.csv.gz"))
    assert frame.to_dict("list") == {"a": ["1", "3"], "b": ["x y", "z"], "c": ["2", "4"]}


DEEP = '{"a": 1, "y": 0}\n{"a": ' + "[" * 10**6

#: Names are found without looking at all of them for each.
MANY = ",".join(f"c{i}" for i in range(20_000)) + ",c0\n"
LABELS = pd.DataFrame({"x": np.arange(40_000) % 7, "label": range(40_000)})
WORDS = pd.DataFrame({"u": [1, 2], "x": ["a", "b"], "y": ["b", "a"]})
LISTS = pd.DataFrame({"a": [[1, 2], [3]], "y": [0, 1]})
HOMES, TRIPS, RESULTS = homes(40).drop(columns="dear"), trips(9), results(9)

#: Content, options after the name of the file, and what is said (a regular expression).
WRONG = [
    ("t.csv", "", "", "t.csv is empty: a table needs a line of column names, then rows"),
    ("t.csv", "x,y\n", "", "no rows below its header"),
    (
        "t.jsonl",
        '{"a": 1, "y": 0}\n{"a": 1, "y": 0, "a": 2}\n',
        "",
        "row 2 has 2 columns of the name",
    ),
    ("t.jsonl", '{"a": {"b": 1}, "y": 0}\n', "", "row 1 has several values in column 'a'"),
    ("t.csv", "y\n1\n2\n", "", "no column except the target"),
    ("t.csv", "x,y\n1,2\ninf,3\n", "", "Column 'x' contains infinity"),
    (
        "t.csv",
        "a,y\n1,no\n2,no\n",
        "",
        "only has the value 'no' in column 'y', the target, which needs at",
    ),
    ("t.csv", "a,y\n1,no\n2,no\n", "", r"Set --target to one of a, y\."),
    (
        "t.csv",
        "a,y\n1,no\n2,\n",
        "",
        "row 3 has no value in column 'y', the target: leave out such",
    ),
    ("t.csv", "0,0,1\n1,2,1\n", "", "2 columns of the name '0': names must differ"),
    ("t.csv", "sales,,\na,b,y\n1,2,3\n", "", "2 columns of the name '': .* Leave out lines above"),
    ("t.csv", MANY, "", "has 2 columns of the name 'c0'"),
    ("t.csv", "x,y\n1\n", "", "row 2 has 1 cells, the header has 2"),
    ("t.csv", "a,y\n1,x,no\n", "", "row 2 has 3 cells, the header has 2: quote cells"),
    (
        "t.csv",
        "a,y\n1,é\n",
        "",
        r"is not UTF-8 text \(byte 0xe9 at 6\).*: iconv -f latin1 -t utf-8",
    ),
    ("t.csv.gz", "a,y\n1,no\n", "", "t.csv.gz is damaged or cut off: Not a gzipped file"),
    ("t.json", '[{"a": 1, "y": 0}]', "", "is a JSON list: write one object per line"),
    ("t.jsonl", '{"a": 1}\n{"a": }', "", "row 2 is not JSON"),
    ("t.jsonl", '{"a": 1}\n[1]', "", "row 2 is not a JSON object"),
    ("t.jsonl", '{"a": [1], "b": 2}', "", "row 1 has several values in column 'a'"),
    ("t.jsonl", DEEP, "", "row 2 is not JSON"),
    (
        "t.csv",
        LABELS,
        "--space multiclass",
        "Column 'label' must have at most .* labels, got 40000",
    ),
    ("t.csv", LABELS, "--space ordinal", "Column 'label' must have at most .* labels, got 40000"),
    ("t.csv", WORDS, "--target x,y --space multilabel", "must have 0 and 1"),
    ("t.csv", WORDS, "--target x,y --space birkhoff", "must have whole numbers"),
    ("t.csv", WORDS, "--target x,y --space ranking", "must have whole numbers"),
    ("t.csv", iris(), "--target zz", "no column 'zz'; it has a, b, c, d, kind"),
    ("t.csv", iris(), "--columns a,rooms", "t.csv has no column 'rooms'; it has a, b, c, d, kind"),
    ("t.csv", iris(), "--columns kind", "no column except the target"),
    ("t.csv", iris(), "--delimiter ::", "--delimiter must be one character"),
    ("t.csv", iris(), "--space hypercube", "must have 0 and 1"),
    ("t.csv", iris(), "--space ordinal", "strings with --order A,B,C"),
    ("t.csv", iris(), "--order 'kind 0,kind 2'", "row 52: --order does not have 'kind 1'"),
    (
        "t.csv",
        iris(),
        "--order a,b --space simplex",
        "--order is only supported for --space ordinal",
    ),
    ("t.csv", HOMES, "--space real --target town", "must have numbers with --space real"),
    (".", None, "", "Is a directory"),
    ("none.csv", None, "", "No such file or directory: none.csv"),
    ("none.parquet", None, "", "none.parquet"),
    ("t.parquet", "", "", "t.parquet is not a Parquet file, damaged or cut off"),
    ("t.parquet", "PAR1" + "\0" * 99, "", "t.parquet is not a Parquet file, damaged or cut off"),
    ("t.parquet", iris()[:0], "", "t.parquet has no rows"),
    ("t.parquet", LISTS, "", "t.parquet has several values in column 'a'"),
    ("t.parquet", iris(), "--target no", "no column 'no'; it has a"),
    ("t.svm", "1 1:0.5\n", "", "Read svmlight files in Python: sklearn.datasets.load_svml"),
    (None, None, "--space birkhoff", "--space assignment needs a FILE"),
    (None, None, "--target kind", "--target needs a FILE"),
    (None, None, "--delimiter ;", "--delimiter needs a FILE"),
    (None, None, "--columns a", "--columns needs a FILE"),
    (None, None, "--order a,b", "--order needs a FILE"),
    (None, None, "--choice trip", "--choice needs a FILE"),
    (None, None, "--passes 3", "--passes is about the model that --save keeps"),
    ("t.csv", TRIPS, "--choice trp", "has no column 'trp'; it has trip, mode"),
    ("t.csv", TRIPS, "--choice trip --qid trip", "use one of them"),
    ("t.csv", TRIPS, "--choice chosen", "are both the column 'chosen'"),
    ("t.csv", TRIPS.assign(chosen=2), "--choice trip", r"row 2.*has 2\."),
    (
        "t.csv",
        TRIPS.assign(chosen=TRIPS["chosen"].where(TRIPS["trip"] != 4, 1)),
        "--choice trip",
        r"1 of .* not have one, such as trip 4 with 3 \(rows \d+, \d+, \d+\)",
    ),
    ("t.csv", TRIPS.assign(chosen=0), "--choice trip", "one, such as trip 0 with 0"),
    (
        "t.csv",
        TRIPS.assign(trip=[None] + [1] * 25),
        "--choice trip",
        "row 2 has no value in column",
    ),
    ("t.csv", TRIPS[["trip", "chosen"]], "--choice trip", "no column except"),
    ("t.csv", TRIPS, "--choice trip --space birkhoff", "--space is not supported with --qid"),
    ("t.csv", TRIPS, "--choice trip --order a,b", "--order is not supported with --qid"),
    ("t.csv", RESULTS, "--qid query --target kind", "grades as numbers"),
    ("t.csv", RESULTS.assign(grade=-1), "--qid query", r"row 2.*has -1\."),
    ("t.csv", RESULTS.assign(grade=0), "--qid query", "Column 'grade' has grades of 0 only"),
]


@pytest.mark.parametrize(("name", "content", "given", "message"), WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_told_in_a_line(name, content, given, message, cli, monkeypatch):
    monkeypatch.chdir(cli.folder)
    if content is not None:
        cli.written(content.encode("latin-1") if isinstance(content, str) else content, name)
    told = cli.refused(*([] if name is None else [name]), *shlex.split(given))
    assert re.search(message, told) and not Path("model").exists()


def test_standard_input_may_begin_with_a_byte_order_mark(cli):
    kept = os.dup(0)
    with open(cli.written("\ufeffa,y\n1,é\n"), "rb") as file:
        os.dup2(file.fileno(), 0)
    try:
        (columns,) = frames("-")
        os.fstat(0)  # it is still open
    finally:
        os.dup2(kept, 0)
        os.close(kept)
    assert columns.to_dict("list") == {"a": ["1"], "y": ["é"]}


CLASSES = ([0, 1] * 50, [*range(101)] * 10, [*range(100)], ["a", "1.5"])
AMOUNTS = ([0.5, 1.0] * 50, [*range(101)] * 9, ["1.5", "2"])


@pytest.mark.parametrize("y", CLASSES + AMOUNTS, ids=range(7))
def test_what_a_target_is(y):
    space = "multiclass" if y in CLASSES else "real"
    column = pd.Series(y, dtype=object)
    for given, order in ((None, None), ("ordinal", None), (None, ["a"])):
        wanted = "ordinal" if given or order else space
        options = SimpleNamespace(space=given, order=order, numbers=None)
        assert space_of(column, options) == wanted


def test_lines_of_json_are_rows(cli):
    rows = [{"a": 1, "b": "x"}, {"b": "y", "c": True}, {"a": 2.5, "b": None}]
    path = cli.written("\n\n".join(map(json.dumps, rows)), "t.jsonl")
    (frame,) = frames(path)
    columns = {"a": [1, None, 2.5], "b": ["x", "y", None], "c": [None, True, None]}
    assert frame.to_dict("list") == columns and list(frame.index) == [1, 2, 3]
    first, second = frames(path, size=2)
    assert list(first["b"]) == ["x", "y"] and second.to_dict("list")["a"] == [2.5]
    assert list(second.index) == [3] and list(second) == ["a", "b", "c"]


@compiled
@pytest.mark.exhaustive
def test_json_is_learned_as_csv_is_and_columns_are_chosen(cli):
    frame = homes()[["area", "town", "dear"]]
    plain, lines = cli.said(frame), cli.said(cli.written(frame, "t.jsonl"))
    chosen = cli.said(homes(), "--target", "dear", "--columns", "area,town")
    assert plain[2:8] == lines[2:8] == chosen[2:8]
    assert "(400 rows, 2 columns as 5 features)" in chosen[0]


STRAY = ["name,v,y"] + [f"Ann{i},{i % 7},{'xz'[i % 2]}" for i in range(1000)]


@pytest.mark.parametrize("kind", ["csv", "csv.gz"])
@pytest.mark.parametrize(("rows", "row"), [((301,), 302), ((101, 901), 102)])
def test_quotes_that_are_not_closed_lose_no_rows(rows, row, kind, cli):
    """Up to the end of the file, or to the next one."""
    lines = [f'"{line}' if i in rows else line for i, line in enumerate(STRAY)]
    text = ("\n".join(lines) + "\n").encode()
    path = cli.written(text if kind == "csv" else gzip.compress(text), f"t.{kind}")
    assert f"row {row} is not CSV" in cli.refused(path)


@pytest.mark.parametrize("kind", ["csv", "csv.gz"])
def test_a_quote_that_is_not_closed_in_the_header_is_named(kind, cli):
    text = "\n".join(['"name,v,y', *STRAY[1:]]).encode() + b"\n"
    path = cli.written(text if kind == "csv" else gzip.compress(text), f"t.{kind}")
    assert "is not CSV" in cli.refused(path)


@compiled
def test_empty_rows_are_left_out_and_counted(cli):
    """Spreadsheets write separators; later rows keep their numbers."""
    lines = [*STRAY]
    lines[100:100] = ["", ",,"]
    lines += [",,"]
    path = cli.written("\n".join(lines))
    told = "rows without any value were left out: 2, such as row 102."
    assert told in " ".join(" ".join(cli.said(path, "--no-mixture")).split())
    assert cli.said(path)[0].startswith(f"{path} (1000 rows")
    lines[500] += ",x"
    assert "row 501 has 4 cells" in cli.refused(cli.written("\n".join(lines)))


@pytest.mark.parametrize(
    ("place", "message"), [(None, "cut off"), (0.5, "damaged"), (-6, "CRC")], ids=str
)
def test_damaged_gzip_is_told_in_a_line(place, message, cli):
    rng = np.random.RandomState(0)
    text = "a,y\n" + "".join(f"{x},{'xz'[int(x > 0)]}\n" for x in rng.randn(3000))
    data = bytearray(gzip.compress(text.encode()))
    if place is None:
        data = data[: len(data) // 2]
    else:
        data[len(data) // 2 if place == 0.5 else place] ^= 0xFF
    assert message in cli.refused(cli.written(bytes(data), "t.csv.gz"))


@compiled
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
@pytest.mark.short("jsonl")
def test_large_whole_numbers_stay_the_labels_that_they_are(kind, cli):
    labels, x = [2**53, 2**53 + 1], np.random.RandomState(0).randn(200)
    frame = pd.DataFrame({"x": x, "y": np.array(labels)[(x > 0).astype(int)]})
    path = cli.written(frame, f"t.{kind}")
    cli.kept(path)
    assert set(cli.said("predict", cli.model, path)[1:]) == set(map(str, labels))


@pytest.fixture
def parts(monkeypatch):
    """Files are large, and read in parts of so many rows."""

    def small(rows, deciding=files.LARGE_FILES.deciding_rows):
        monkeypatch.setattr(files, "LARGE_FILES", files.LargeFiles(100, 100, deciding, rows))

    return small


@compiled
@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "jsonl"])
def test_files_that_are_large_are_read_in_parts(kind, parts, cli):
    frame = homes(3000)[["area", "town", "dear"]]
    path = cli.written(frame, f"t.{kind}")
    parts(500)
    lines = cli.kept(path)
    assert lines[0] == f"{path} (3000 rows, 2 columns as 5 features), target dear"
    matters = one(lines, "Matters most")
    assert "area (+)" in matters and "town" in matters
    always = frame["dear"].value_counts().iloc[0] / 3000
    assert f"{1 - always:.1%} wrong with the most frequent class for" in one(lines, "Baseline")
    assert (cli.predicted(path)["prediction"] == frame["dear"]).mean() > 0.9


@compiled
def test_the_first_rows_of_a_large_file_decide_what_columns_are(parts, cli):
    """Words that are there twice have an indicator; a number that is none is named."""
    rng = np.random.RandomState(0)
    words = np.array([f"w{i}" for i in rng.permutation(150)])
    codes = rng.randint(149, size=6000)
    codes[5999], frame = 149, pd.DataFrame({"size": rng.randn(6000).round(3)}, dtype=object)
    frame["word"], frame["kind"] = words[codes], (rng.randn(150) > 0)[codes].astype(int)
    parts(500, deciding=3000)
    lines = cli.kept(frame)
    assert "(6000 rows, 2 columns as 150 features)" in lines[0]  # 149 words, the size
    assert (cli.predicted(frame)["prediction"] == frame["kind"]).mean() > 0.98
    frame.loc[4001, "size"] = "large"
    assert main([cli.written(frame)]) == 2  # after the table is named
    assert "row 4003 has 'large' in column 'size'" in cli.capsys.readouterr().err
    assert "(6000 rows" in cli.said(frame, "--bad-cells", "missing")[0]


@compiled
def test_large_files_say_which_row_has_no_label(parts, cli):
    """A column is what its first values are; one that never has a value is left out."""
    frame = homes(60)[["area", "dear"]]
    frame.insert(0, "day", [None] * 30 + ["2024-05-31"] * 30)
    frame.insert(0, "none", None)
    parts(20)
    lines = cli.said(frame)
    assert f"(60 rows, 3 columns as {22 + frame['area'].isna().any()} features)" in lines[0]
    frame.loc[44, "dear"] = None
    assert "row 46 has no value in column 'dear'" in cli.refused(frame)
    told = cli.refused(frame, "--passes", "2", "--save", "model")
    assert "--passes is only supported for files that fit" in told
    assert "fit into memory" in cli.refused(frame, "--choice", "day")


def test_labels_of_a_large_file_are_counted_row_by_row(parts, cli):
    frame = pd.DataFrame({"x": range(60), "y": [3, 1, 3, 3, 7, 1] * 10})
    parts(7)
    table = load(cli.written(frame))
    assert table.y.tolist() == [1, 3, 7] and table.counts.tolist() == [20, 30, 10]


def test_a_large_file_is_learned_as_its_rows_are(parts, cli):
    X, y = shuffle(*load_digits(return_X_y=True), random_state=0, n_samples=600)
    frame = pd.DataFrame(X).add_prefix("pixel").assign(y=y)
    parts(12)
    lines = cli.kept(frame)
    assert "(600 rows, " in lines[0]
    first, second = (number / 100 for number in numbers(lines[3]))
    assert second < first < 0.4
    encoder, model = load_checkpoint(cli.model)
    assert model.t_ == 600
    run = progressive_validate(clone(model), encoder.transform(frame), y, classes=range(10))
    # averages are taken at every chunk
    assert first == pytest.approx(run.expected_target_loss.mean(), abs=0.02)


def test_two_columns_of_parquet_with_one_name_are_refused(cli):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = str(cli.folder / "t.parquet")
    parquet.write_table(pyarrow.table([[1.0], [0], [2.0]], names=[*"aya"]), path)
    assert "t.parquet has 2 columns of the name 'a': names must differ" in cli.refused(path)
