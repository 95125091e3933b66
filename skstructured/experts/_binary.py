"""Binary classifiers as experts: their opinions on rows, and their training."""

import inspect
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import _name_estimators
from sklearn.utils import _safe_indexing, check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from skstructured._base.validation import check_sparse, matrices_refused
from skstructured._engine.state import State


def rounded(opinions):
    """Multiples of 2⁻²⁰: the last bits of a product depend on how many rows are multiplied."""
    return np.rint(opinions * 2.0**20) / 2.0**20


def named_experts(estimators):
    """Pairs (name, expert) of a list of such pairs, or of experts, named by their class."""
    entries = list(estimators) if isinstance(estimators, (list, tuple)) else []
    if not entries:
        raise ValueError(
            f"estimators must be a list of one classifier or more, or of pairs (name, classifier), "
            f"got {estimators!r}."
        )
    named = all(isinstance(entry, (tuple, list)) and len(entry) == 2 for entry in entries)
    named = named and all(isinstance(name, str) for name, _ in entries)
    pairs = [tuple(entry) for entry in entries] if named else _name_estimators(entries)
    for name, expert in pairs:
        if not (hasattr(expert, "predict") and hasattr(expert, "get_params")):
            raise ValueError(f"Expert {name!r} must be a classifier, got {expert!r}.")
    return pairs


def is_fitted(expert):
    """Whether an expert has been fitted."""
    try:
        check_is_fitted(expert)
    except NotFittedError:
        return False
    return True


def checked_rows(estimator, X, reset, takes_nan):
    """Checked X as the experts get it: frames and CSR unchanged, anything else as an array."""
    finite = "allow-nan" if takes_nan else True
    if issparse(X):
        check_sparse(X)
    checked, is_frame = X, hasattr(X, "columns") and hasattr(X, "dtypes")
    if not (is_frame and any(getattr(kind, "kind", "O") not in "biuf" for kind in X.dtypes)):
        options = {"accept_sparse": "csr", "ensure_all_finite": finite, "input_name": "X"}
        with matrices_refused(X):
            checked = check_array(X, estimator=estimator, **options)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    return X if is_frame else checked


def rows_at(X, indices):
    """Some rows, in the form that X has."""
    return X[indices] if isinstance(X, np.ndarray) or issparse(X) else _safe_indexing(X, indices)


def opinions(name, expert, X, classes):
    """Opinions of an expert on rows: (n,) in [−1, 1], negative for the first of two classes."""
    labels = np.asarray(getattr(expert, "classes_", classes)).tolist()
    unknown = [label for label in labels if label not in classes.tolist()]
    if unknown:
        raise ValueError(
            f"Expert {name!r} has the class {unknown[0]!r}, which is not among those of y, "
            f"{classes.tolist()}."
        )
    signs = np.where(np.asarray(labels) == classes[1], 1.0, -1.0)
    with np.errstate(divide="ignore", invalid="ignore"):  # of experts with hardly a row so far
        if hasattr(expert, "predict_proba"):
            scores = np.asarray(expert.predict_proba(X), dtype=np.float64) @ signs
        elif hasattr(expert, "decision_function"):
            scores = signs[-1] * np.asarray(expert.decision_function(X), dtype=np.float64)
        else:
            predicted = np.asarray(expert.predict(X))
            scores = np.where(predicted == classes[1], 1.0, -1.0) * np.isin(predicted, classes)
    if scores.shape != (X.shape[0],):
        raise ValueError(
            f"Expert {name!r} must return one number for each of {X.shape[0]} rows, got shape "
            f"{scores.shape}."
        )
    return rounded(np.clip(np.where(np.isnan(scores), 0.0, scores), -1.0, 1.0))


def seed(expert, rng):
    """Give seeds to all generators of an expert that has none: with ``random_state=None``."""
    params = sorted(expert.get_params(deep=True).items())
    names = [key for key, value in params if key.endswith("random_state") and value is None]
    if names:
        expert.set_params(**{name: rng.randint(np.iinfo(np.int32).max) for name in names})


def folds(codes, cv):
    """The fold of each row: consecutive rows of each class; all folds have equal shares."""
    fold = np.empty(len(codes), dtype=np.intp)
    for code in (0, 1):
        mine = np.flatnonzero(codes == code)
        fold[mine] = np.arange(len(mine)) * cv // max(len(mine), 1)
    return fold


def out_of_fold(opinions, fold, codes, learned):
    """`opinions` (n,), of each fold ``learned(others, inside)`` if the others have two classes."""
    for k in np.unique(fold):
        inside, others = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
        if len(np.unique(codes[others])) == 2:
            opinions[inside] = learned(others, inside)
    return opinions


@dataclass
class Expert(State):
    """A classifier among the experts, a copy if it `learns`; if `naive`, its opinion is 0.

    `calibration` is the map from its opinions to probabilities.
    """

    name: str
    model: Any
    learns: bool
    naive: bool
    calibration: Any = None

    def opinions(self, rows, classes):
        """Its opinions on rows, (n,)."""
        if self.naive:
            return 0.0
        return calibrated(self.calibration, opinions(self.name, self.model, rows, classes))

    def fit(self, rows, codes, classes, fold):
        """Fit an expert that learns on all rows; its opinions on rows that it did not see."""
        if not self.learns:
            return opinions(self.name, self.model, rows, classes)
        fresh = clone(self.model)

        def learned(others, inside):
            twin = clone(fresh).fit(rows_at(rows, others), classes[codes[others]])
            return opinions(self.name, twin, rows_at(rows, inside), classes)

        held_out_opinions = out_of_fold(np.zeros(len(codes)), fold, codes, learned)
        self.model, self.naive = fresh.fit(rows, classes[codes]), False
        return held_out_opinions

    def calibrate(self, method, opinions, codes, fold):
        """Learn to calibrate opinions; return them calibrated by the maps of the other folds."""
        if method is None:
            return opinions

        def learned(others, inside):
            return calibrated(
                calibration(method, opinions[others], codes[others]), opinions[inside]
            )

        if len(np.unique(codes)) == 2:
            self.calibration = calibration(method, opinions, codes)
        return out_of_fold(opinions.copy(), fold, codes, learned)

    def learn(self, x, y, classes):
        """Learn one row; with the first, pass the classes if the expert accepts them."""
        accepts = self.naive and "classes" in inspect.signature(self.model.partial_fit).parameters
        options = {"classes": classes} if accepts else {}
        if self.naive or hasattr(self.model, "partial_fit"):
            self.model.partial_fit(x, y, **options)
        self.naive = False


def expert_of(name, model, train, online):
    """The `Expert` of a classifier; an error unless it can do as `train` requires."""
    if not (isinstance(train, (bool, np.bool_)) or train == "auto"):
        raise ValueError(f"train must be 'auto', True or False, got {train!r}.")
    fitted = is_fitted(model)
    learns = not fitted if train == "auto" else bool(train)
    learns = learns and not isinstance(model, FrozenEstimator)
    if not learns and not fitted:
        raise NotFittedError(
            f"Expert {name!r} is not fitted, and train=False: fit it first, or set train='auto'."
        )
    if learns and online and not hasattr(model, "partial_fit"):
        raise ValueError(
            f"Expert {name!r} has no partial_fit to learn row by row: call fit of "
            "AbstainingHedgeClassifier, or fit the experts beforehand and set train=False."
        )
    if learns and not online and not hasattr(model, "fit"):
        raise ValueError(f"Expert {name!r} has no fit.")
    if learns:
        model = deepcopy(model) if fitted else clone(model)
    return Expert(name, model, learns, learns and not fitted)


def check_marker(marker, classes):
    """Raise a ValueError for an abstain_label that is one of the classes, or not a label."""
    if marker in classes.tolist():
        raise ValueError(f"abstain_label must not be one of the classes, got {marker!r}.")
    if np.ndim(marker) or isinstance(marker, complex):
        raise ValueError(f"abstain_label must be a label, got {marker!r}.")


def calibration(method, opinions, codes):
    """The estimator that maps opinions to P(second class): isotonic, or Platt's sigmoid."""
    if method == "isotonic":
        return IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(opinions, codes)
    counts = np.bincount(codes, minlength=2)
    right = (counts + 1.0) / (counts + 2.0)
    labels, weight = np.r_[codes, 1 - codes], np.r_[right[codes], 1.0 - right[codes]]
    model = LogisticRegression(C=1e6, tol=1e-8, max_iter=1000)
    return model.fit(np.r_[opinions, opinions][:, None], labels, sample_weight=weight)


def calibrated(model, opinions):
    """Opinions (n,) as 2 P(second class) − 1 by a `calibration`; unchanged without one."""
    if model is None or len(opinions) == 0:
        return opinions
    isotonic = isinstance(model, IsotonicRegression)
    share = model.predict(opinions) if isotonic else model.predict_proba(opinions[:, None])[:, 1]
    return rounded(2.0 * share - 1.0)
