"""Groups of items, which learners of one row per output do not take."""

import numpy as np
import pytest

from skstructured import KernelStructuredPredictor, OnlineStructuredPredictor, PiSTOLRegressor
from skstructured._base.validation import ITEMS


@pytest.mark.parametrize(
    "model",
    [OnlineStructuredPredictor(), KernelStructuredPredictor("permutahedron"), PiSTOLRegressor()],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("name", ["group", "groups", "qid", "query_id"])
def test_the_error_about_groups_says_what_takes_items(model, name):
    with pytest.raises(TypeError) as found:
        model.fit(np.eye(3), [0, 1, 1], **{name: [0, 0, 1]})
    kind = type(model).__name__
    assert str(found.value) == (
        f"{kind}.fit() got an unexpected keyword argument {name!r}. {ITEMS}"
    )
    assert not hasattr(model, "coef_") and not hasattr(model, "t_")


def test_other_arguments_are_unexpected_as_ever():
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'weights'$"):
        OnlineStructuredPredictor().fit(np.eye(3), [0, 1, 1], weights=[1, 1, 1])
