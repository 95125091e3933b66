"""Rows of weight 0 are as if they were not there, however far away, in every learner."""

import numpy as np
import pytest
from fitted import FITTED
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from skstructured.utils._learner_checks import has_argument


def _far(X):
    """Rows, or rounds of rows, that are far away."""
    return 1e4 + 1e3 * X if isinstance(X, np.ndarray) else [1e4 + 1e3 * x for x in X]


def _joined(far, near):
    """Two lists in turns, the far ones first."""
    if isinstance(near, np.ndarray):
        return np.stack([far, near], axis=1).reshape(-1, *near.shape[1:])
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


def _answer(model, X):
    names = ("decision_function", "predict_proba", "predict_mean", "predict")
    call = next(getattr(model, name) for name in names if hasattr(model, name))
    return np.concatenate([np.ravel(each) for each in call(X)])


#: Learners that go to an optimum, which takes longer and ends within tol of it.
LONG = ("MaxMinMarginNetwork", "StructuralSVM")


def cases():
    """(name, method) of all that take weights."""
    for name, case in FITTED.items():
        for method in ("fit", "partial_fit"):
            learn = getattr(case.estimator, method, None)
            if isinstance(case.estimator, Pipeline) or name.startswith(LONG) or learn is None:
                continue
            if has_argument(learn, "sample_weight"):
                yield name, method


@pytest.mark.parametrize(("name", "method"), list(cases()))
@pytest.mark.short("default-*", "kernel plain-*", "folklore-*", "sequences-*")
def test_rows_of_weight_0(name, method):
    case = FITTED[name]
    weight = np.random.RandomState(0).choice([0.5, 1.0, 2.0], len(case.y))
    X, y = _joined(_far(case.X), case.X), _joined(_others(case.y), case.y)
    one, other = _model(case), _model(case)
    told = {"classes": case.classes()} if has_argument(getattr(one, method), "classes") else {}
    getattr(one, method)(case.X, case.y, sample_weight=weight, **told)
    weight = _joined(np.zeros(len(weight)), weight)
    getattr(other, method)(X, y, sample_weight=weight, **told)
    np.testing.assert_allclose(_answer(other, case.X), _answer(one, case.X), rtol=1e-6, atol=1e-6)
