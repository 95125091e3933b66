"""Which tests the plain command runs, what it compiles before them, and what it says of both.

``python -m pytest -n 2`` leaves out what is marked ``slow`` or ``exhaustive``. Exhaustive are tests
with the mark, the cases of a list that the mark ``short`` does not name (``every=n`` names each
nth), and of every test with several lists of parameters all cases but a few, in which each value of
each list comes once.
``-m "not slow"`` runs all of them, as CI does.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from numba import config as numba_config

#: What tells the plain command from one that chooses tests by itself.
PLAIN = "not slow and not exhaustive"

#: Both halves of what the tests compile: a process begins at each end of the list.
COMPILING = str(Path(__file__).parent / "compiling.py")


def values_of(item):
    """The values of a case, each with the names of the parameters that stand in one list."""
    params, lists = item.callspec.params, []
    for mark in item.iter_markers("parametrize"):
        names = mark.args[0] if mark.args else mark.kwargs["argnames"]
        lists.append(
            tuple(re.split(r",\s*", names.strip())) if isinstance(names, str) else tuple(names)
        )
    lists += [(name,) for name in params.keys() - {name for names in lists for name in names}]
    return {(names, *(id(params[name]) for name in names)) for names in lists}


def test_of(item):
    return item.nodeid.partition("[")[0]


def few_cases(items):
    """Of the cases of one test: so many that each value of each parameter comes once.

    First those of which every value is new, then those of which any is.
    """
    kept, seen = [], set()
    for enough in (len, lambda values: 1):
        for item in items:
            values = values_of(item)
            if len(values - seen) >= enough(values):
                kept.append(item)
                seen |= values
    return kept


def short_cases(items):
    """Of the cases of one test: those that its mark names, or so few as `few_cases`."""
    mark = items[0].get_closest_marker("short")
    if mark is None:
        return few_cases(items)
    if "every" in mark.kwargs:
        return items[:: mark.kwargs["every"]]
    return [item for item in items if item.callspec.id in mark.args]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the cases of long lists and grids."""
    cases = [item for item in items if hasattr(item, "callspec")]
    grids = {}
    for item in cases:
        grids.setdefault(test_of(item), []).append(item)
    short = {item for grid in grids.values() for item in short_cases(grid)}
    for item in cases:
        if item not in short:
            item.add_marker(pytest.mark.exhaustive)


def is_whole(config):
    """Whether pytest was asked for all of the tests, in processes of their own."""
    everything = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    return everything and config.option.dist != "no" and not hasattr(config, "workerinput")


def compiles(config):
    """Whether kernels are to be compiled before the tests are shared out."""
    return is_whole(config) and not numba_config.DISABLE_JIT and not config.option.collectonly


def pytest_report_header(config):
    if is_whole(config) and config.option.markexpr == PLAIN:
        return [
            "About three minutes on two cores, and two more where kernels are not compiled yet.",
            'The exhaustive tests are left out: -m "not slow" runs them too.',
        ]
    return []


def pytest_sessionstart(session):
    """Compile what the tests need once, where each process would compile it for itself."""
    if compiles(session.config):
        found = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        halves = [
            subprocess.Popen([sys.executable, COMPILING, step], env=found) for step in ("1", "-1")
        ]
        for half in halves:
            half.wait()
