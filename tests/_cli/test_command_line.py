"""``python -m skstructured``: options, errors, exit codes, what is saved."""

import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from conftest import INTERPRETED, ROOT
from sklearn.datasets import load_iris
from table_files import refused, said

import skstructured
from skstructured.__main__ import main
from skstructured.checkpoints import load_checkpoint

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
        (["{csv}", "--space", "ordinal"], "words with --order A,B,C"),
        (["{csv}", "--order", "setosa,virginica"], "row 52: --order does not name 'versicolor'"),
        (["{csv}", "--order", "a,b", "--space", "simplex"], "--order is for --space ordinal"),
        (["--order", "a,b"], "--order is about a file, and none is given"),
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


def test_too_little_memory_is_told_in_a_line(monkeypatch, capsys):
    def fails(*_):
        raise MemoryError("Unable to allocate 12 GiB")

    monkeypatch.setattr("skstructured._cli.tables._digits", fails)
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
    told = done.stderr.splitlines()
    assert [line for line in told if not line.startswith("skstructured compiles its loops")] == []
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


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"skstructured {skstructured.__version__}\n"


@pytest.mark.parametrize("place", ["folder", "nowhere/model"])
def test_where_no_model_could_be_kept_nothing_is_read(
    place, iris_csv, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr("skstructured.__main__.read", lambda options: 1 / 0)
    (tmp_path / "folder").mkdir()
    assert place.partition("/")[0] in refused(capsys, iris_csv, "--save", tmp_path / place)


@pytest.mark.parametrize("name", ["iris.csv", "link.csv", "notes.txt", "other.zip"])
def test_a_model_takes_the_place_of_a_model_only(name, iris_csv, tmp_path, capsys):
    """Neither of the data, by whatever name, nor of any other file."""
    (tmp_path / "link.csv").symlink_to(iris_csv)
    (tmp_path / "notes.txt").write_text("mine")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as members:
        members.writestr("mine.txt", "mine")
    content = (tmp_path / name).read_bytes()
    told = refused(capsys, iris_csv, "--save", tmp_path / name)
    assert "would overwrite a file that is not a model" in told
    assert (tmp_path / name).read_bytes() == content


def test_a_model_may_be_replaced(iris_csv, tmp_path, capsys):
    pytest.importorskip("skops")
    for passes in "12":
        said(capsys, iris_csv, "--save", tmp_path / "model", "--passes", passes)
        assert load_checkpoint(tmp_path / "model")[-1].max_iter == int(passes)


def test_a_model_is_kept_before_anything_is_printed(iris_csv, tmp_path, monkeypatch):
    """A reader that has enough, as head has, does not lose it."""
    pytest.importorskip("skops")

    def closed(*_, **__):
        raise BrokenPipeError

    monkeypatch.setattr("builtins.print", closed)
    monkeypatch.setattr("skstructured.__main__._close_quietly", lambda: 141)
    assert main([str(iris_csv), "--save", str(tmp_path / "model")]) == 141
    assert load_checkpoint(tmp_path / "model")[-1].t_ > 0


def test_without_skops_the_error_says_what_to_install(iris_csv, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    told = refused(capsys, iris_csv, "--save", tmp_path / "model")
    assert told.endswith("pip install skops\n")


def test_without_pandas_digits_are_learned_and_files_say_what_to_install(
    iris_csv, capsys, monkeypatch
):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert "pip install pandas" in refused(capsys, iris_csv)
    assert said(capsys)[0] == "digits (1797 rows, 64 features)"
