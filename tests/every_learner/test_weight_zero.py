"""Rows of weight 0 are as if they were not there, however far away, in every learner."""

import numpy as np
import pytest
from fitted import FITTED, learns_in_parts
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from skstructured.utils._learner_checks import has_argument


def _far(X):
    """Rows, or rounds of rows, that are far away."""
    return 1e4 + 1e3 * X if isinstance(X, np.ndarray) else [1e4 + 1e3 * x for x in X]


def _joined(far, near):
    """Two lists in turns, the far ones first."""
    if isinstance(near, np.ndarray):
        out = np.empty((2 * len(near), *near.shape[1:]), dtype=near.dtype)
        out[::2], out[1::2] = far, near
        return out
    return [each for both in zip(far, near, strict=True) for each in both]


def _others(y):
    """Other outputs of the same forms: those of the rows backwards."""
    lengths = {np.shape(each) for each in y}
    if len(lengths) > 1:  # sequences keep their lengths
        return [np.roll(each, 1) for each in y]
    if isinstance(y, np.ndarray) and y.dtype.kind == "f" and y.ndim == 1:
        return 1e6 * y
    return y[::-1]


def _model(case):
    model = clone(case.estimator)
    if "shuffle" in model.get_params():
        model.set_params(shuffle=False)  # orders of more rows are others
    return model


def _answers(model, X):
    names = ("decision_function", "predict_proba", "predict_mean", "predict")
    calls = [getattr(model, name) for name in names if hasattr(model, name)]
    return [np.concatenate([np.ravel(each) for each in call(X)]) for call in calls[:1]]


#: Learners that go to an optimum, which takes longer and ends within tol of it.
LONG = ("MaxMinMarginNetwork", "StructuralSVM")

CASES = [
    name
    for name, case in FITTED.items()
    if not isinstance(case.estimator, Pipeline)
    and has_argument(case.estimator.fit, "sample_weight")
    and not name.startswith(LONG)
]

IN_PARTS = [
    name
    for name in CASES
    if learns_in_parts(FITTED[name].estimator)
    and has_argument(FITTED[name].estimator.partial_fit, "sample_weight")
]


def _inputs(case):
    weight = np.random.RandomState(0).choice([0.5, 1.0, 2.0], len(case.y))
    joined = _joined(_far(case.X), case.X), _joined(_others(case.y), case.y)
    return weight, *joined, _joined(np.zeros(len(weight)), weight)


@pytest.mark.parametrize("name", CASES)
def test_fit(name):
    case = FITTED[name]
    weight, X, y, with_zeros = _inputs(case)
    one = _model(case).fit(case.X, case.y, sample_weight=weight)
    other = _model(case).fit(X, y, sample_weight=with_zeros)
    for wanted, found in zip(_answers(one, case.X), _answers(other, case.X), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", IN_PARTS)
def test_partial_fit(name):
    case = FITTED[name]
    weight, X, y, with_zeros = _inputs(case)
    one, other = _model(case), _model(case)
    told = {"classes": case.classes()} if has_argument(one.partial_fit, "classes") else {}
    one.partial_fit(case.X, case.y, sample_weight=weight, **told)
    other.partial_fit(X, y, sample_weight=with_zeros, **told)
    for wanted, found in zip(_answers(one, case.X), _answers(other, case.X), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)
