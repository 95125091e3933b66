"""``python -m skstructured``."""

import csv
import gzip
import os
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from conftest import INTERPRETED, ROOT
from sklearn.datasets import load_iris

from skstructured.__main__ import main
from skstructured._cli.read import load_text

compiled = pytest.mark.skipif(INTERPRETED, reason="needs compiled kernels")


@pytest.fixture
def iris_csv(tmp_path):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    lines = ["a,b,c,d,kind"] + [
        ",".join([*map(str, x), name]) for x, name in zip(X, names, strict=True)
    ]
    path = tmp_path / "iris.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def rows(text):
    """Lines of the table of bounds, cell by cell."""
    told = text.partition("A bound above")[0]
    return [line.split() for line in told.splitlines()[2:]]


@compiled
def test_default_table_keeps_its_bounds(capsys):
    assert main(["--bounds"]) == 0
    out = capsys.readouterr().out
    assert "digits (1797 rows, 64 features)" in out
    lines = rows(out)
    assert [line[:2] for line in lines] == [
        [regularizer, decoder]
        for decoder in ("randomized", "nearest")
        for regularizer in ("shannon", "squared", "tsallis")
    ]
    for line in lines[:3]:
        mistakes, bound, margin = float(line[2]), float(line[5]), float(line[6])
        assert 0 < mistakes < bound and margin == pytest.approx(bound - mistakes, abs=0.11)
        assert float(line[7].replace(",", "")) > 0


@compiled
@pytest.mark.parametrize("space", ["ordinal", "hypercube"])
def test_digits_in_other_spaces(space, capsys):
    given = ["--bounds", "--decoder", "randomized", "--regularizer", "squared"]
    assert main(["--space", space, *given]) == 0
    (line,) = rows(capsys.readouterr().out)
    assert float(line[2]) < float(line[5])


def test_a_csv_file(iris_csv, capsys):
    assert main(["--data", str(iris_csv), "--target", "kind", "--bounds"]) == 0
    out = capsys.readouterr().out
    assert "(150 rows, 4 features)" in out
    assert all(float(line[3]) < 0.7 for line in rows(out))


def test_text_columns_and_several_targets(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("u,v,p,q\n1,red,0,1\n2,blue,1,1\n3,red,0,0\n4,blue,1,0\n", encoding="utf-8")
    assert main(["--data", str(path), "--target", "p,q", "--space", "hypercube"]) == 0
    assert "(4 rows, 2 columns as 3 features)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "missing.csv", "--target", "y"], "No such file or directory: missing.csv"),
        (["--data", "{csv}", "--target", "zz"], "no column 'zz'; it has a, b, c, d, kind"),
        (["--space", "birkhoff"], "--space birkhoff needs a file"),
        (["--data", "{bad}", "--target", "y"], "row 3 has no value in column 'y'"),
        (["--data", "{short}", "--target", "y"], "row 2 has 1 cells, the header has 2"),
        (["--data", "{head}", "--target", "y"], "no rows below its header"),
        (["--data", "{only}", "--target", "y"], "no column besides the target"),
        (["--data", "{inf}", "--target", "y"], "column 'x' holds infinity"),
        (["--data", "{csv}", "--target", "kind", "--space", "hypercube"], "must hold 0 and 1"),
        (["--data", "{dir}", "--target", "y"], "Is a directory"),
        (["--data", "{latin}", "--target", "y"], "{latin} is not UTF-8 text"),
        (["--regularizer", "l2"], "regularizer='l2' is not known"),
        (["--decoder", "l2"], "decoder='l2' is not known"),
        (["--space", "hypercube", "--regularizer", "tsallis"], "no oracle for Hypercube with"),
        (["--passes", "3"], "--passes is about the model that --save keeps"),
        (["--bounds", "--save", "model"], "--save is not for --bounds"),
        (["--bounds", "--plot", "run.png"], "--plot is not for --bounds"),
        (["--target", "kind"], "--target is about a file, and none is given"),
        (["--delimiter", ";"], "--delimiter is about a file, and none is given"),
        (["{csv}", "--data", "{csv}"], "--data names a file, and FILE another"),
    ],
)
def test_errors_are_one_line_and_status_two(arguments, message, iris_csv, tmp_path, capsys):
    files = {
        "bad": "x,y\n1,2\n3,\n",
        "short": "x,y\n1\n",
        "head": "x,y\n",
        "only": "y\n1\n2\n",
        "inf": "x,y\n1,2\ninf,3\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "latin").write_bytes("x,y\n1,é\n".encode("latin-1"))
    paths = {name: str(tmp_path / name) for name in [*files, "latin"]}
    paths |= {"csv": str(iris_csv), "dir": str(tmp_path)}
    assert main([argument.format(**paths) for argument in arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    assert captured.err.startswith("error: ") and message.format(**paths) in captured.err


@pytest.mark.parametrize(
    "given",
    [
        ["--passes", "1"],
        ["--passes", "0"],
        ["--optimizer", "ogd"],
        ["--no-average"],
        ["--no-standardize"],
        ["--regularizer", "squared"],
        ["--decoder", "map"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("more", [[], ["--bounds"], ["--save", "model"]], ids=" ".join)
def test_a_learner_of_ones_own_takes_no_parameters(given, more, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    own = ["--learner", "skstructured:OnlineStructuredPredictor"]
    assert main([*own, *given, *more]) == 2
    message = f"error: {given[0]} is not for --learner, which is played with its own defaults.\n"
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", message) and not list(tmp_path.iterdir())


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
        X, *_ = load_text(str(path), "y", "simplex")
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


def test_standard_input(iris_csv, monkeypatch, capsys):
    with open(iris_csv, newline="", encoding="utf-8") as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert main(["-", "--target", "kind"]) == 0
    assert capsys.readouterr().out.startswith("standard input (150 rows, 4 features), target kind")


def test_too_little_memory_is_told_in_a_line(monkeypatch, capsys):
    def fails(*_):
        raise MemoryError("Unable to allocate 12 GiB")

    monkeypatch.setattr("skstructured._cli.learn.load_digits_stream", fails)
    assert main([]) == 2
    assert capsys.readouterr().err == "error: not enough memory: Unable to allocate 12 GiB\n"


@pytest.mark.skipif(os.name != "posix", reason="a pipe closed by its reader")
def test_a_reader_that_has_enough_ends_it_quietly(iris_csv):
    command = [sys.executable, "-m", "skstructured", "--data", str(iris_csv), "--target", "kind"]
    reader, writer = os.pipe()
    os.close(reader)
    pipes = {"stdout": writer, "stderr": subprocess.PIPE}
    done = subprocess.run(command, cwd=ROOT, text=True, check=False, **pipes)
    os.close(writer)
    told = [line for line in done.stderr.splitlines() if not line.startswith("compiling once")]
    assert told == []
    assert done.returncode == 128 + signal.SIGPIPE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.exhaustive
def test_a_full_disk_is_told_in_a_line(iris_csv):
    command = [sys.executable, "-m", "skstructured", "--data", str(iris_csv), "--target", "kind"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command,
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert "error: No space left on device" in done.stderr.splitlines()[:2]


def test_help_explains_the_columns(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    for word in ("mistakes", "comparator", "bound", "margin", "--target", "--space"):
        assert word in out


@pytest.mark.exhaustive
def test_the_warm_up_runs_learners_of_every_kind(monkeypatch, capsys):
    from skstructured._cli import warm_up as _warm_up

    learners = list(_warm_up._learners())
    names = {type(model).__name__ for model, _ in learners}
    assert {"OnlineStructuredPredictor", "GaptronClassifier", "SOBAClassifier"} <= names
    assert {len(y) for _, y in learners} == {12, 6}  # rows, and sequences of 12 rows in all
    few = [learners[0], learners[-1]]
    monkeypatch.setattr(_warm_up, "_learners", lambda: few)
    assert main(["--warm-up"]) == 0
    assert "compiled in" in capsys.readouterr().out
