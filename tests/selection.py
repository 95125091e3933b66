"""Which tests the plain command runs, and what it says of them.

``python -m pytest -n 2`` leaves out what is marked ``slow`` or ``exhaustive``. Exhaustive are tests
with the mark, rooms and cases that take long to compile, the cases of a list that the mark
``short`` does not name (``every=n`` names each nth), and of every other test all cases but four,
spread over those in which a value of one of its lists of parameters comes for the first time.
``-m "not slow"`` runs all of them, as CI does.
"""

import math
import re
from fnmatch import fnmatchcase

import pytest
from numba import config as numba_config

#: What tells the plain command from one that chooses tests by itself.
PLAIN = "not slow and not exhaustive"

#: Cases of one test that the plain command runs; all with a new value where nothing is compiled.
MOST = math.inf if numba_config.DISABLE_JIT else 4

#: In the names of rooms, tests and cases whose kernels take longer to compile than all else takes.
COSTLY = re.compile(
    "_chains/|sequence|crf|random.?field|network|svm|margin|gaussian|newton|projected|birkhoff-sq"
    "|subsets|pairs|trees|positions|forecaster|relatives",
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


def short_cases(items):
    """Of the cases of one test: those that its mark names, or so few as `few_cases`."""
    mark = items[0].get_closest_marker("short")
    if mark is None:
        return few_cases(items)
    if "every" in mark.kwargs:
        return items[:: mark.kwargs["every"]]
    return [
        item for item in items if any(fnmatchcase(item.callspec.id, name) for name in mark.args)
    ]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what takes long to compile, and the cases of long lists and grids."""
    compiled = not numba_config.DISABLE_JIT
    cheap = [item for item in items if not (compiled and COSTLY.search(item.nodeid))]
    grids, short = {}, set()
    for item in cheap:
        grids.setdefault(test_of(item), []).append(item)
    for grid in grids.values():
        short.update(short_cases(grid) if hasattr(grid[0], "callspec") else grid)
    for item in items:
        if item not in short:
            item.add_marker(pytest.mark.exhaustive)


def pytest_report_header(config):
    """Say how long it takes, and what is left out."""
    everything = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    if everything and config.option.markexpr == PLAIN and not hasattr(config, "workerinput"):
        return [
            "About three minutes on two cores, half of them for kernels that are compiled once.",
            'The exhaustive tests are left out: -m "not slow" runs them too.',
        ]
    return []
