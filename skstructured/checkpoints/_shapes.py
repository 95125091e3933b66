"""Whether what was loaded has the form of a learner that is freshly started.

Compiled loops do not check indices. So every array that they read or write must have the shape, the
dtype and the layout that a new learner of the same parameters, features and outputs has, and
every number that is an index must be in its range.
"""

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from skstructured._engine.mixing import GAP
from skstructured._engine.state import NORM_AT, Learned, LinearState
from skstructured._learners.online import OnlineEstimator
from skstructured.estimators.boosting.tree import Trees
from skstructured.estimators.kernel._expansion import Expansion, Support
from skstructured.estimators.kernel._model import KernelModel
from skstructured.estimators.logistic._full_matrix import COUNT, FullMatrix
from skstructured.extend.learner import OnlineLearner
from skstructured.spaces._labels import LabelSpace

#: Attributes that say what was learned, and no form.
FREE = {
    *("_kind", "used", "divided", "placed", "learned", "refactored", "count", "given", "forgotten"),
    *(
        "arrived",
        "known",
        "fitted",
        "lengths",
        "sizes",
        "space",
        "loss",
        "optimizer",
        "factor",
        "n_taught",
    ),
    *("_past", "gamma", "random_state", "rng"),
}

#: Fitted arrays of any estimator over a space, as numbers of outputs d and of features p.
WEIGHTS = {
    **{"coef_": "dp", "intercept_": "d", "start_": "d", "end_": "d", "transitions_": "dd"},
    "transition_coef_": "ddp",
}


def check_shapes(estimator: object) -> None:
    """A ValueError that names the first attribute with another form than a new learner's."""
    for part in _estimators_in(estimator):
        if "space_" in vars(part):
            _check_space(part)
        if isinstance(part, OnlineEstimator) and "_model" in vars(part):
            _check_model(part)
        elif isinstance(part, OnlineLearner) and "space_" in vars(part) and hasattr(part, "_start"):
            _check_started(part)


def _estimators_in(found: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """All estimators in an object."""
    seen = set() if seen is None else seen
    if id(found) in seen or isinstance(found, (str, bytes, np.ndarray)):
        return
    seen.add(id(found))
    if isinstance(found, BaseEstimator):
        yield found
    inner = vars(found) if hasattr(found, "__dict__") and not isinstance(found, type) else found
    if isinstance(inner, dict):
        inner = list(inner.values())
    if isinstance(inner, (list, tuple, set)):
        for value in inner:
            yield from _estimators_in(value, seen)


def _require(holds: Any, name: str) -> None:
    if not holds:
        raise ValueError(f"its {name} does not fit a learner of its parameters")


def _check_space(learner: Any) -> None:
    """Numbers of outputs agree, and weights in units of X have their shapes."""
    space, fitted = learner.space_, vars(learner)
    dim, p = getattr(space, "dim_", 0), fitted.get("n_features_in_", 0)
    if isinstance(space, LabelSpace):
        _require(dim == space._dim_of(len(space.classes_)), "space_.dim_")
    if hasattr(space, "n_items_"):
        _require(dim == space.n_items_**2, "space_.n_items_")
    for owner in (learner, fitted.get("_model")):
        loss = getattr(owner, "loss_", None) or getattr(owner, "loss", None)
        for other in (getattr(loss, "space", None), getattr(owner, "space", None)):
            _require(getattr(other, "dim_", dim) == dim, "loss_")
    for name in WEIGHTS.keys() & fitted.keys():
        wanted = tuple({"d": dim, "p": p}[axis] for axis in WEIGHTS[name])
        _require(np.shape(fitted[name]) == wanted, name)


def _check_model(learner: Any) -> None:
    """The model of a learner has the form of a new one."""
    fresh = clone(learner)
    own = fresh.get_params(deep=False).keys() | {"_model"}
    vars(fresh).update({name: value for name, value in vars(learner).items() if name not in own})
    fresh.random_state_ = copy.deepcopy(learner.random_state_)
    found, model = learner._model, fresh._new_model()
    if isinstance(model, KernelModel):  # the loop is handed the block of its expansion
        model.state.Theta = found.state.Theta
        model.state.by_feature = found.state.by_feature
    _check_alike(found, model, "_model")
    if isinstance(getattr(learner, "_calibrator", None), Learned):
        _check_alike(learner._calibrator, type(learner._calibrator)(), "_calibrator")


def _check_started(learner: Any) -> None:
    """What a learner without a model has learned has the form of what it starts with."""
    fresh = clone(learner)
    for name in vars(learner).keys() & {"n_features_in_", "_dtype"}:
        setattr(fresh, name, getattr(learner, name))
    fresh._start(copy.deepcopy(learner.space_))
    for name in vars(fresh).keys() - fresh.get_params(deep=False).keys() - {"space_", "loss_"}:
        value = getattr(fresh, name)
        if isinstance(value, (Learned, np.ndarray, tuple)):
            _require(name in vars(learner), name)
            _check_alike(getattr(learner, name), value, name)
    for owner in (learner, getattr(learner, "_weak", None)):
        for name in ("_trees", "trees"):
            if isinstance(getattr(owner, name, None), Trees):
                _check_trees(getattr(owner, name), learner.n_features_in_, name)


def _check_alike(found: Any, fresh: Any, name: str) -> None:
    """`found` has the form of `fresh`: types, shapes, dtypes, layouts, and sizes that are kept."""
    if found is fresh or isinstance(fresh, float):
        return
    _require(type(found) is type(fresh), name)
    if isinstance(fresh, np.ndarray):
        same = (found.shape, found.dtype) == (fresh.shape, fresh.dtype)
        _require(same and (found.flags.c_contiguous or not fresh.flags.c_contiguous), name)
    elif isinstance(fresh, (tuple, list)):
        _require(len(found) == len(fresh), name)
        for i, value in enumerate(fresh):
            _check_alike(found[i], value, f"{name}[{i}]")
    elif isinstance(fresh, Learned):
        _prepare(found, fresh)
        for key, value in vars(fresh).items():
            if key not in FREE and key != "_loops":
                _require(key in vars(found), f"{name}.{key}")
                _check_alike(vars(found)[key], value, f"{name}.{key}")
        _check_ranges(found, fresh, name)
    elif isinstance(fresh, (bool, int, str)):
        _require(found == fresh, name)


def _prepare(found: Any, fresh: Any) -> None:
    """Bring what is fresh to the storage, and to the number of rows, of what was found."""
    if isinstance(fresh, LinearState) and found.Theta is not None and fresh.Theta is None:
        fresh.store_for(bool(found.by_feature))
    if isinstance(fresh, Support):
        fresh._reserve(len(found.index))


def _check_ranges(found: Any, fresh: Any, name: str) -> None:
    """Numbers that are indices are in their ranges."""
    for key in ("vector", "vectors"):
        if isinstance(vars(fresh).get(key), np.ndarray) and vars(fresh)[key].size:
            same = vars(found)[key][..., NORM_AT] == vars(fresh)[key][..., NORM_AT]
            _require(np.all(same), f"{name}.{key}")
    if "slot" in vars(fresh):
        _require(np.all(found.slot == -1), f"{name}.slot")
    if isinstance(fresh, Support):
        _require(0 <= found.count <= len(found.index), f"{name}.count")
    if isinstance(fresh, Expansion):
        most = min(found.size, len(found.opened.index))
        _require(0 <= found.count <= most, f"{name}.count")
    if isinstance(fresh, FullMatrix):
        _require(0 <= found.numbers[COUNT] < len(found._waiting[0]), f"{name}.numbers")
    if "totals" in vars(fresh):  # the last entry is a norm
        _require(np.array_equal(found.totals[GAP + 1 : -1], fresh.totals[GAP + 1 : -1]), name)


def _check_trees(trees: Trees, p: int, name: str) -> None:
    """Nodes test features that there are, the lowest none, and answer classes that there are."""
    inner = trees.tried.shape[1]
    _require(np.all(trees.feature[:, inner:] == -1), f"{name}.feature")
    for array, most in ((trees.feature, p), (trees.answer, trees.counts.shape[2])):
        _require(np.all((array >= -1) & (array < most)), name)
    _require(np.all((trees.tried >= 0) & (trees.tried < p)), f"{name}.tried")
    _require(np.all(trees.answer >= 0) and np.all(trees.seen >= 0), name)
