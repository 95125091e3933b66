"""Objects of older versions are read under the names that their attributes had."""

import numpy as np
import pytest

from skstructured._engine.standardize import RunningScale
from skstructured.items._model import ItemRounds
from skstructured.items.structured import Grades
from skstructured.spaces._real_line import RealLine

CASES = [
    (RunningScale(2, True, True), "centred"),
    (ItemRounds.__new__(ItemRounds), "centred"),
    (Grades(np.arange(3.0), np.ones(3)), "centre"),
    (RealLine().fit(np.arange(3.0)), "centre"),
]


@pytest.mark.parametrize(("saved", "older"), CASES)
def test_british_names_are_read(saved, older):
    name = {"centre": "center", "centred": "centered"}[older]
    vars(saved).setdefault(name, True)
    value = vars(saved)[name]
    state = {older if key == name else key: item for key, item in vars(saved).items()}
    new = type(saved).__new__(type(saved))
    new.__setstate__(state)
    assert getattr(new, name) == value and not hasattr(new, older)
