"""Errors of arguments and files come before scikit-learn, scipy, numba and pandas are imported."""

import subprocess
import sys

import pytest
from conftest import ROOT
from table_files import homes, iris, trips

import skstructured
from skstructured.__main__ import SPACE_NAMES, SPACE_OPTIONS, main
from skstructured.spaces import SPACES_BY_NAME, SPACES_BY_TASK

#: The command in a process that cannot import what its first argument names.
WITHOUT = """
import sys
sys.modules.update(dict.fromkeys(sys.argv.pop(1).split()))
from skstructured.__main__ import main
sys.exit(main())
"""

SLOW = "sklearn scipy numba skops"
TABLE = "a,b,kind\n1,2,x\n3,4,y\n"

#: The content of t.csv (or another name), arguments, and what is printed.
EARLY = {
    "option": ("t.csv", TABLE, ["--foo", "t.csv"], "unrecognized arguments: --foo"),
    "space": ("t.csv", TABLE, ["--space", "nonsense", "t.csv"], "argument --space: invalid choice"),
    "number": ("t.csv", TABLE, ["--seed", "x", "t.csv"], "argument --seed: invalid int value: 'x'"),
    "help": ("t.csv", TABLE, ["--help"], "output space (default: multiclass"),
    "version": ("t.csv", TABLE, ["--version"], f"skstructured {skstructured.__version__}\n"),
    "help of predict": ("t.csv", TABLE, ["predict", "--help"], "\n\nFILE must have the columns"),
    "pair": ("t.csv", TABLE, ["t.csv", "--passes", "3"], "--passes is about the model that --save"),
    "digits": ("t.csv", TABLE, ["--space", "ranking"], "--space ranking needs a FILE: the digits"),
    "place": ("t.csv", TABLE, ["t.csv", "--save", "none/model"], "a folder that exists"),
    "no file": ("t.csv", TABLE, ["none.csv"], "error: No such file or directory: none.csv\n"),
    "no file, to save": ("t.csv", TABLE, ["none.csv", "--save", "model"], "No such file"),
    "svmlight": ("t.svm", "1 1:0.5\n", ["t.svm"], "error: Read svmlight files in Python: "),
    "no model": ("t.csv", TABLE, ["predict", "none.skops", "t.csv"], "directory: none.skops\n"),
    "no rows": ("t.csv", TABLE, ["predict", "t.csv", "none.csv"], "directory: none.csv\n"),
    "column": ("t.csv", TABLE, ["t.csv", "--target", "c"], "no column 'c'; it has a, b, kind.\n"),
    "columns": ("t.csv", TABLE, ["t.csv", "--columns", "a,c"], "no column 'c'; it has a, b, kind"),
    "lists": ("t.csv", TABLE, ["t.csv", "--qid", "c"], "no column 'c'; it has a, b, kind"),
    "targets": (
        "t.csv",
        TABLE,
        ["t.csv", "--target", "a,c", "--space", "multilabel"],
        "no column 'c'; it has a, b, kind",
    ),
    "empty": ("t.csv", "", ["t.csv"], "t.csv is empty"),
    "delimiter": ("t.csv", TABLE, ["t.csv", "--delimiter", "::"], "--delimiter must be one char"),
    "cells": ("t.csv", TABLE + "1,2\n", ["t.csv"], "row 4 has 2 cells, the header has 3"),
    "quotes": ("t.csv", TABLE + '"1,2,x\n', ["t.csv"], "row 4 is not CSV"),
    "json": ("t.jsonl", '{"a": 1}\n{', ["t.jsonl"], "row 2 is not JSON"),
}


def told(folder, without, given):
    """The status of the command in a folder, and all that it prints."""
    command = [sys.executable, "-c", WITHOUT, without, *given]
    options = {"cwd": folder, "capture_output": True, "text": True, "check": False}
    done = subprocess.run(command, env=None, **options)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(autouse=True)
def _checkout(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


@pytest.mark.parametrize("case", EARLY)
@pytest.mark.short("space", "no file", "column", "no model")
def test_errors_come_before_slow_imports(case, tmp_path):
    name, content, given, message = EARLY[case]
    (tmp_path / name).write_text(content)
    status, printed = told(tmp_path, f"{SLOW} pandas pyarrow", given)
    assert message in printed and "Traceback" not in printed
    assert status == 2 * (not {"--help", "--version"} & {*given})


LATER = {
    "no rows": ("t.csv", "a,b,kind\n", ["t.csv"], "t.csv has no rows below its header"),
    "column of json": ("t.jsonl", '{"a": 1}\n', ["t.jsonl", "--target", "b"], "no column 'b'"),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", LATER)
def test_errors_of_rows_need_pandas_alone(case, tmp_path):
    name, content, given, message = LATER[case]
    (tmp_path / name).write_text(content)
    status, printed = told(tmp_path, SLOW, given)
    assert status == 2 and message in printed


def test_names_of_spaces_are_those_of_the_package():
    """Written down, so they are known before spaces are imported."""
    wanted = {
        name: task
        for name in SPACES_BY_NAME
        for task in SPACES_BY_TASK
        if SPACES_BY_NAME[name] is SPACES_BY_TASK[task]
    }
    wanted |= {"ordinal": "ordinal", "real": "real", "regression": "real"}
    assert {name: SPACE_NAMES.get(name, name) for name in (*SPACE_OPTIONS, *SPACE_NAMES)} == wanted


@pytest.mark.parametrize(
    ("frame", "given", "title"),
    [
        (iris(), ["--no-mixture"], "(150 rows, 4 features), target kind"),
        (homes(), ["--target", "price", "--no-mixture"], "target price: real numbers"),
        (trips(9), ["--choice", "trip"], "choices by trip, target chosen"),
    ],
    ids=["classes", "numbers", "choices"],
)
def test_the_table_is_named_before_anything_is_compiled(frame, given, title, cli, monkeypatch):
    monkeypatch.setattr("skstructured._cli.commands.compile_validation", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        main([cli.written(frame), *given])
    assert cli.capsys.readouterr().out.endswith(f"{title}\n\n")
