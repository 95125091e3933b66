"""``python -m skstructured``: options, errors, exit codes, what is saved."""

import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import INTERPRETED, ROOT
from table_files import iris, refused, said, written

import skstructured
from skstructured.__main__ import main
from skstructured.checkpoints import load_checkpoint

compiled = pytest.mark.skipif(INTERPRETED, reason="needs compiled kernels")
OWN = ["--learner", "skstructured:OnlineStructuredPredictor"]


@pytest.fixture
def iris_csv(tmp_path):
    return Path(written(tmp_path, iris(), "iris.csv"))


@compiled
@pytest.mark.parametrize("space", ["simplex", "ordinal"])
def test_default_table_keeps_its_bounds(space, capsys):
    title, _, *lines = said(capsys, "--bounds", "--space", space)
    assert title.endswith("digits (1797 rows, 64 features)")
    lines = [line.split() for line in lines]
    names = ["shannon", "squared", "tsallis"] if space == "simplex" else ["shannon", "squared"]
    assert [line[:2] for line in lines] == [
        [n, d] for d in ("randomized", "nearest") for n in names
    ]
    for line in lines[: len(names)]:
        mistakes, bound, margin = float(line[2]), float(line[5]), float(line[6])
        assert 0 < mistakes < bound and margin == pytest.approx(bound - mistakes, abs=0.11)
        assert float(line[7].replace(",", "")) > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.csv"], "No such file or directory: missing.csv"),
        (["{csv}", "--target", "zz"], "no column 'zz'; it has a, b, c, d, kind"),
        (["--space", "birkhoff"], "--space birkhoff needs a file"),
        (["{bad}"], "row 3 has no value in column 'y'"),
        (["{short}"], "row 2 has 1 cells, the header has 2"),
        (["{head}"], "no rows below its header"),
        (["{only}"], "no column besides the target"),
        (["{inf}"], "column 'x' holds infinity"),
        (["{csv}", "--space", "hypercube"], "must hold 0 and 1"),
        (["{dir}"], "Is a directory"),
        (["{latin}"], "{latin} is not UTF-8 text"),
        (["--passes", "3"], "--passes is about the model that --save keeps"),
        (["--bounds", "--save", "model"], "--save is not for --bounds"),
        (["--bounds", "--plot", "run.png"], "--plot is not for --bounds"),
        (["--target", "kind"], "--target is about a file, and none is given"),
        (["--delimiter", ";"], "--delimiter is about a file, and none is given"),
        (["{csv}", "--space", "ordinal"], "words with --order A,B,C"),
        (["{csv}", "--order", "kind 0,kind 2"], "row 52: --order does not name 'kind 1'"),
        (["{csv}", "--order", "a,b", "--space", "simplex"], "--order is for --space ordinal"),
        (["--order", "a,b"], "--order is about a file, and none is given"),
        ([*OWN, "--passes", "0"], "--passes is not for --learner, which is played with its own de"),
        ([*OWN, "--passes", "1", "--save", "model"], "--passes is not for --learner, which is pl"),
    ],
)
def test_errors_are_one_line_and_status_two(arguments, message, iris_csv, tmp_path, capsys):
    files = {"bad": "x,y\n1,2\n3,\n", "short": "x,y\n1\n", "head": "x,y\n", "only": "y\n1\n2\n"}
    for name, text in files.items() | {("inf", "x,y\n1,2\ninf,3\n"), ("latin", "x,y\n1,é\n")}:
        (tmp_path / name).write_bytes(text.encode("latin-1"))
    paths = {name: str(tmp_path / name) for name in [*files, "inf", "latin"]}
    paths |= {"csv": str(iris_csv), "dir": str(tmp_path)}
    told = refused(capsys, *(argument.format(**paths) for argument in arguments))
    assert message.format(**paths) in told and not Path("model").exists()


def test_too_little_memory_is_told_in_a_line(monkeypatch, capsys):
    def fails(*_):
        raise MemoryError("Unable to allocate 12 GiB")

    monkeypatch.setattr("skstructured._cli.tables._digits", fails)
    assert refused(capsys) == "error: not enough memory: Unable to allocate 12 GiB\n"


def run(path, stdout):
    """The status of a process, and the lines of its errors."""
    command = [sys.executable, "-m", "skstructured", str(path)]
    done = subprocess.run(
        command, cwd=ROOT, text=True, check=False, stdout=stdout, stderr=subprocess.PIPE
    )
    lines = done.stderr.splitlines()
    return done.returncode, [line for line in lines if not line.startswith("skstructured compiles")]


@pytest.mark.skipif(os.name != "posix", reason="a pipe closed by its reader")
def test_a_reader_that_has_enough_ends_it_quietly(iris_csv):
    reader, writer = os.pipe()
    os.close(reader)
    assert run(iris_csv, writer) == (128 + signal.SIGPIPE, [])
    os.close(writer)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.exhaustive
def test_a_full_disk_is_told_in_a_line(iris_csv):
    with open("/dev/full", "w") as full:
        status, told = run(iris_csv, full)
    assert status == 2 and "error: No space left on device" in told[:2]


@pytest.mark.parametrize(
    ("given", "status", "words"),
    [
        (["--help"], 0, ["mistakes", "comparator", "bound", "margin", "--target", "--space"]),
        (["--version"], 0, [f"skstructured {skstructured.__version__}\n"]),
        (["predict", "--help"], 0, ["Print a prediction for each row of FILE"]),
        (["predict"], 2, ["the following arguments are required: MODEL, FILE", "usage: python -m"]),
        (["predict", "a", "b", "c"], 2, ["unrecognized arguments: c"]),
    ],
)
def test_help_explains_the_columns(given, status, words, capsys):
    with pytest.raises(SystemExit) as stop:
        main(given)
    told = capsys.readouterr()
    assert stop.value.code == status and all(word in told[status // 2] for word in words)


@pytest.mark.parametrize("place", ["folder", "nowhere/model"])
def test_where_no_model_could_be_kept_nothing_is_read(
    place, iris_csv, tmp_path, capsys, monkeypatch
):
    pytest.importorskip("skops")
    monkeypatch.setattr("skstructured.__main__.read", lambda options: 1 / 0)
    (tmp_path / "folder").mkdir()
    assert place.partition("/")[0] in refused(capsys, iris_csv, "--save", tmp_path / place)


@pytest.mark.parametrize("name", ["iris.csv", "link.csv", "notes.txt", "other.zip"])
def test_a_model_takes_the_place_of_a_model_only(name, iris_csv, tmp_path, capsys):
    """Neither of the data, by whatever name, nor of any other file."""
    pytest.importorskip("skops")
    (tmp_path / "link.csv").symlink_to(iris_csv)
    (tmp_path / "notes.txt").write_text("mine")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as members:
        members.writestr("mine.txt", "mine")
    content = (tmp_path / name).read_bytes()
    told = refused(capsys, iris_csv, "--save", tmp_path / name)
    assert "would overwrite a file that is not a model" in told
    assert (tmp_path / name).read_bytes() == content


def test_a_model_is_kept_before_anything_is_printed_and_may_be_replaced(
    iris_csv, tmp_path, monkeypatch, capsys
):
    """A reader that has enough, as head has, does not lose it."""
    pytest.importorskip("skops")
    said(capsys, iris_csv, "--save", tmp_path / "model", "--passes", "2")

    def closed(*_, **__):
        raise BrokenPipeError

    monkeypatch.setattr("builtins.print", closed)
    monkeypatch.setattr("skstructured.__main__._close_quietly", lambda: 141)
    assert main([str(iris_csv), "--save", str(tmp_path / "model"), "--passes", "1"]) == 141
    assert load_checkpoint(tmp_path / "model")[-1].max_iter == 1


def test_the_error_says_what_to_install(iris_csv, tmp_path, capsys, monkeypatch):
    for name in ("skops", "skops.io", "pandas"):
        monkeypatch.setitem(sys.modules, name, None)
    assert refused(capsys, iris_csv, "--save", tmp_path / "m").endswith("pip install skops\n")
    assert refused(capsys, iris_csv).endswith("pip install pandas\n")
    assert said(capsys)[0] == "digits (1797 rows, 64 features)"
