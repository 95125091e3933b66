"""What the plain command of the tests leaves out."""

from types import SimpleNamespace

import pytest
from selection import few_cases, short_cases, values_of


def case(*marks, **params):
    """What pytest has collected for one case of a test, as far as is looked at."""
    return SimpleNamespace(
        callspec=SimpleNamespace(params=params),
        iter_markers=lambda name: [mark.mark for mark in marks],
    )


def item_of(mark, id):
    """A case that has a mark and the name `id`."""
    return SimpleNamespace(
        callspec=SimpleNamespace(id=id), get_closest_marker=lambda name: mark.mark
    )


KINDS = pytest.mark.parametrize("kind", ["a", "b", "c"])
SIZES = pytest.mark.parametrize(("n", "K"), [(1, 2), (2, 2)])


def test_each_value_of_a_grid_comes_once():
    grid = [case(KINDS, SIZES, kind=kind, n=n, K=2) for kind in "abc" for n in (1, 2)]
    kept = [(item.callspec.params["kind"], item.callspec.params["n"]) for item in few_cases(grid)]
    assert kept == [("a", 1), ("b", 2), ("c", 1)]


def test_a_list_is_kept_whole_and_what_is_no_list_stands_for_itself():
    sizes = [case(SIZES, n=n, K=2) for n in (1, 2)]
    assert few_cases(sizes) == sizes
    assert len(values_of(case(SIZES, n=1, K=2))) == 1
    assert len(values_of(case(SIZES, n=1, K=2, fixture="x"))) == 2


def test_a_mark_names_cases_or_every_nth():
    cases = [item_of(pytest.mark.short("b", "c"), id=id) for id in "abc"]
    assert short_cases(cases) == cases[1:]
    cases = [item_of(pytest.mark.short(every=2), id=id) for id in "abc"]
    assert short_cases(cases) == [cases[0], cases[2]]
