"""Which tests the plain command runs, and what it says of them.

``python -m pytest -n 2`` leaves out what is marked ``slow`` or ``exhaustive``. Exhaustive are tests
with the mark, rooms and cases that take long to compile, the cases of a list that the mark
``short`` does not name (``every=n`` names each nth), and of every other test all cases but four,
spread over those in which a value of one of its lists of parameters comes for the first time.
``-m "not slow"`` runs all of them, as CI does.

Rooms that take long to compile have tests with the mark ``interpreted``. They import
`test_the_room_as_python`, which runs these in a process that compiles nothing. It has the mark
``short`` without names: such a test is not exhaustive in any room.
"""

import math
import os
import re
import subprocess
import sys
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from numba import config as numba_config

TESTS = Path(__file__).parent

#: What tells the plain command from one that chooses tests by itself.
PLAIN = "not slow and not exhaustive"

#: Cases of one test that the plain command runs; all with a new value where nothing is compiled.
MOST = math.inf if numba_config.DISABLE_JIT else 4

#: In the names of rooms, tests and cases whose kernels take longer to compile than all else takes.
COSTLY = re.compile(
    r"_chains/|logistic/|boosting|folklore|sequence|crf|random.?field|network|svm|margin|max-min"
    r"|support.vectors|gaussian|newton|projected|birkhoff|matching|\[assignment|subsets|pairs|trees"
    r"|positions|forecaster|relatives",
    re.IGNORECASE,
)


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
    """At most `MOST` cases, of those with a value that is new in them.

    First those of which every value is new, then those of which any is.
    """
    kept, seen = [], set()
    for enough in (len, lambda values: 1):
        for item in items:
            values = values_of(item)
            if len(values - seen) >= enough(values):
                kept.append(item)
                seen |= values
    return kept[:: max(1, math.ceil(len(kept) / MOST))]


def has_bare_mark(item):
    """Whether the mark `short` of a test names no cases."""
    mark = item.get_closest_marker("short")
    return mark is not None and not mark.args and not mark.kwargs


def short_cases(items):
    """Of the cases of one test: those that its mark names, or so few as `few_cases`."""
    mark = items[0].get_closest_marker("short")
    if mark is None or has_bare_mark(items[0]):
        return few_cases(items)
    if "every" in mark.kwargs:
        return items[:: mark.kwargs["every"]]
    return [
        item for item in items if any(fnmatchcase(item.callspec.id, name) for name in mark.args)
    ]


def is_costly(item):
    """Whether it takes long to compile what a test calls, by the names of the test."""
    return not numba_config.DISABLE_JIT and COSTLY.search(item.nodeid) and not has_bare_mark(item)


#: Folders of the tests that were collected, and whether the plain command runs any test of each.
FOLDERS = pytest.StashKey()


def folders_of(items):
    """What `FOLDERS` keeps, once all marks are set."""
    found = {}
    for item in items:
        plain = not any(item.get_closest_marker(mark) for mark in ("slow", "exhaustive"))
        folder = item.path.parent.relative_to(TESTS).as_posix()
        found[folder] = found.get(folder, False) or plain
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark what takes long to compile, and the cases of long lists and grids."""
    cheap = [item for item in items if not is_costly(item)]
    grids, short = {}, set()
    for item in cheap:
        grids.setdefault(test_of(item), []).append(item)
    for grid in grids.values():
        short.update(short_cases(grid) if hasattr(grid[0], "callspec") else grid)
    for item in items:
        if item not in short:
            item.add_marker(pytest.mark.exhaustive)
    config.stash[FOLDERS] = folders_of(items)


@pytest.mark.short
@pytest.mark.skipif(numba_config.DISABLE_JIT, reason="it runs what is interpreted here")
def test_the_room_as_python(request):
    """The tests with the mark `interpreted` of the folder that imports this one pass."""
    if request.config.option.markexpr != PLAIN:
        pytest.skip("without the plain command they run compiled, and in .ci/interpreted as Python")
    options = ["-q", "-p", "no:cacheprovider", "-m", "interpreted and not exhaustive"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", request.path.parent, *options],
        cwd=TESTS.parent,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def pytest_report_header(config):
    """Say how long it takes, and what is left out."""
    everything = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if everything and config.option.markexpr == PLAIN and not hasattr(config, "workerinput"):
        return [
            "About three minutes on two cores, half of them for kernels that are compiled once.",
            'The exhaustive tests are left out: -m "not slow" runs them too.',
        ]
    return []
