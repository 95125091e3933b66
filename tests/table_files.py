"""What tests of the command line share."""

from types import SimpleNamespace

from skstructured.__main__ import main
from skstructured._cli.tables import read


def load(path, target=None, space=None, **more):
    """The table of a file, as the command line reads it."""
    given = {"target": target, "space": space, "delimiter": None, "columns": None, "order": None}
    given |= {"qid": None, "choice": None, "bad_cells": None, "file": str(path)} | more
    return read(SimpleNamespace(**given))


def said(capsys, *arguments):
    """What a run prints, line by line; it must end well."""
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out.splitlines()


def refused(capsys, *arguments):
    """The one line of an error; nothing else is printed."""
    assert main([str(argument) for argument in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and err.count("\n") == 1
    return err
