"""Binary classifiers as experts: their parameters, what they say of rows, how they are trained."""

import inspect
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import _name_estimators
from sklearn.utils import _safe_indexing, check_array, column_or_1d, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import check_is_fitted, validate_data

from skstructured._base.validation import (
    check_lengths,
    check_sparse,
    matrices_refused,
    weighted_mean,
)
from skstructured._engine.state import Learned

#: Opinions are multiples of 1/GRID: the last bits of a product of matrices depend on how many rows
#: are multiplied at a time, and chunks of any size are to give the same bits.
GRID = 2.0**20


def named_experts(estimators, taken=()):
    """Pairs (name, expert) of a list of such pairs or of experts; a ValueError if it is neither.

    Parameters
    ----------
    estimators : list
        Pairs, or experts, which are named after their class, and numbered where that is not enough.
    taken : iterable of str
        Names that are no longer free.
    """
    given = list(estimators) if isinstance(estimators, (list, tuple)) else []
    if not given:
        raise ValueError(
            f"estimators must be a list of one classifier or more, or of pairs (name, classifier), "
            f"got {estimators!r}."
        )
    named = all(isinstance(one, (tuple, list)) and len(one) == 2 for one in given)
    pairs = [tuple(one) for one in given] if named else _name_estimators(given)
    _check_names([name for name, _ in pairs], set(taken))
    for name, expert in pairs:
        if not (hasattr(expert, "predict") and hasattr(expert, "get_params")):
            raise ValueError(f"the expert {name!r} must be a classifier, got {expert!r}.")
    return pairs


def _check_names(names, taken):
    for i, name in enumerate(names):
        if not isinstance(name, str) or "__" in name or name in taken or name in names[:i]:
            raise ValueError(
                f"Names of estimators must be different strings without '__' that are no "
                f"parameters, got {name!r} among {names!r}."
            )


def is_fitted(expert):
    """Whether an expert has been fitted."""
    try:
        check_is_fitted(expert)
    except NotFittedError:
        return False
    return True


def is_frame(X):
    """Whether X is a data frame."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def checked_rows(estimator, X, reset):
    """X as the experts get it: frames and CSR as they are, all else as an array of numbers.

    Frames may hold columns that are no numbers, which the experts have to cope with.

    Raises
    ------
    ValueError
        For NaN and inf (unless every expert takes NaN), and another width or names than fitted.
    """
    finite = "allow-nan" if estimator._takes_nan else True
    if issparse(X):
        check_sparse(X)
    checked = X
    if not (is_frame(X) and _holds_text(X)):
        given = {"accept_sparse": "csr", "ensure_all_finite": finite, "input_name": "X"}
        with matrices_refused(X):
            checked = check_array(X, estimator=estimator, **given)
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    return X if is_frame(X) else checked


def _holds_text(frame):
    return any(getattr(kind, "kind", "O") not in "biuf" for kind in frame.dtypes)


def rows_of(X, which):
    """Some rows, in the form that X has."""
    return X[which] if isinstance(X, np.ndarray) or issparse(X) else _safe_indexing(X, which)


def opinions(name, expert, X, classes):
    """What an expert says of rows: (n,) in [−1, 1], negative for the first of two classes.

    Twice the probability of the second class, less 1; without ``predict_proba`` the decision
    function, cut to [−1, 1]; without both −1 or 1 for the class predicted. All to 20 binary places,
    and 0 for NaN.
    """
    labels = np.asarray(getattr(expert, "classes_", classes)).tolist()
    unknown = [label for label in labels if label not in classes.tolist()]
    if unknown:
        raise ValueError(
            f"the expert {name!r} has the class {unknown[0]!r}, which is not among those of y, "
            f"{classes.tolist()}."
        )
    with np.errstate(divide="ignore", invalid="ignore"):  # of experts with hardly a row so far
        said = _said(expert, X, labels, classes)
    if said.shape != (X.shape[0],):
        raise ValueError(
            f"the expert {name!r} must give one number per row of {X.shape[0]}, got shape "
            f"{said.shape}."
        )
    return np.rint(np.clip(np.where(np.isnan(said), 0.0, said), -1.0, 1.0) * GRID) / GRID


def _said(expert, X, labels, classes):
    """`opinions` as the expert gives them; `labels` are the classes in the expert's order."""
    if hasattr(expert, "predict_proba"):
        proba = np.asarray(expert.predict_proba(X), dtype=np.float64)
        return _column(proba, labels, classes[1]) - _column(proba, labels, classes[0])
    if hasattr(expert, "decision_function"):
        sign = 1.0 if labels[-1] == classes[1] else -1.0
        return sign * np.asarray(expert.decision_function(X), dtype=np.float64)
    predicted = np.asarray(expert.predict(X))
    return np.where(predicted == classes[1], 1.0, -1.0) * np.isin(predicted, classes)


def _column(proba, labels, label):
    return proba[:, labels.index(label)] if label in labels else np.zeros(len(proba))


def part_of(given, which, n):
    """Metadata of some of n rows: entries per row are taken there, all else is unchanged."""
    return {
        key: _safe_indexing(value, which) if _entries(value) == n else value
        for key, value in given.items()
    }


def _entries(value):
    return np.shape(value)[0] if np.ndim(value) else None


def seed(expert, rng):
    """Give seeds to all generators of an expert that has none: its ``random_state`` are None."""
    found = sorted(expert.get_params(deep=True).items())
    names = [key for key, value in found if key.endswith("random_state") and value is None]
    if names:
        expert.set_params(**{name: rng.randint(np.iinfo(np.int32).max) for name in names})


def folds(codes, cv):
    """The fold of each row: consecutive rows of each class, so that all have equal shares."""
    fold = np.empty(len(codes), dtype=np.intp)
    for code in (0, 1):
        mine = np.flatnonzero(codes == code)
        fold[mine] = np.arange(len(mine)) * cv // max(len(mine), 1)
    return fold


def out_of_fold(found, fold, codes, learned):
    """`found` (n,) with what ``learned(others)`` says of the rows of each fold.

    Rows stay as they are if the other folds have one class alone.
    """
    for k in np.unique(fold):
        inside, others = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
        if len(np.unique(codes[others])) == 2:
            found[inside] = learned(others)(inside)
    return found


@dataclass
class Expert(Learned):
    """A classifier among the experts.

    Attributes
    ----------
    name : str
    model : classifier
        A copy of one that learns, and others as they are.
    learns : bool
        Whether it is trained.
    naive : bool
        Whether it has not seen a row, so that it says 0.
    calibration : estimator or None, default=None
        What makes its opinions into probabilities.
    """

    name: str
    model: Any
    learns: bool
    naive: bool
    calibration: Any = None

    def opinions(self, rows, classes):
        """What it says of rows, (n,)."""
        if self.naive:
            return 0.0
        return calibrated(self.calibration, opinions(self.name, self.model, rows, classes))

    def fit(self, rows, codes, classes, fold, given):
        """Fit one that learns on all rows; what it says of rows that it did not see."""
        if not self.learns:
            return opinions(self.name, self.model, rows, classes)
        fresh = clone(self.model)

        def learned(others):
            more = part_of(given, others, len(codes))
            twin = clone(fresh).fit(rows_of(rows, others), classes[codes[others]], **more)
            return lambda which: opinions(self.name, twin, rows_of(rows, which), classes)

        said = out_of_fold(np.zeros(len(codes)), fold, codes, learned)
        self.model, self.naive = fresh.fit(rows, classes[codes], **given), False
        return said

    def calibrate(self, method, said, codes, fold):
        """Learn to calibrate what was said; that, by the maps of the other folds."""
        if method is None:
            return said

        def learned(others):
            model = calibration(method, said[others], codes[others])
            return lambda which: calibrated(model, said[which])

        if len(np.unique(codes)) == 2:
            self.calibration = calibration(method, said, codes)
        return out_of_fold(said.copy(), fold, codes, learned)

    def learn(self, x, y, classes, given):
        """Learn one row; of the first it is told the classes, if it takes them."""
        if self.naive and "classes" in inspect.signature(self.model.partial_fit).parameters:
            given = given | {"classes": classes}
        if self.naive or hasattr(self.model, "partial_fit"):
            self.model.partial_fit(x, y, **given)
        self.naive = False


def check_expert(name, expert, learns, fitted, online):
    """Whether an expert can do what `train` says."""
    if not learns and not fitted:
        raise NotFittedError(f"the expert {name!r} is not fitted, and is not to be trained.")
    if learns and online and not hasattr(expert, "partial_fit"):
        raise ValueError(
            f"the expert {name!r} has no partial_fit to learn row by row: call fit of "
            "AbstainingHedgeClassifier, or fit the experts beforehand and say train=False."
        )
    if learns and not online and not hasattr(expert, "fit"):
        raise ValueError(f"the expert {name!r} has no fit.")


def check_marker(marker, classes):
    """Raise a ValueError for an abstain_label that is one of the classes, or not a label."""
    if marker in classes.tolist():
        raise ValueError(f"abstain_label must not be one of the classes, got {marker!r}.")
    if np.ndim(marker) or isinstance(marker, complex):
        raise ValueError(f"abstain_label must be a label, got {marker!r}.")


#: What `calibrate` may be but None.
METHODS = ("sigmoid", "isotonic")


def calibration(method, said, codes):
    """The estimator that makes opinions into P(second class), by what was said and true.

    "sigmoid" is Platt's P = 1/(1 + exp(−(a u + b))), fitted to softened labels; "isotonic" the
    monotone P of the least squared error.
    """
    if method == "isotonic":
        return IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(said, codes)
    counts = np.bincount(codes, minlength=2)
    right = (counts + 1.0) / (counts + 2.0)
    labels, weight = np.r_[codes, 1 - codes], np.r_[right[codes], 1.0 - right[codes]]
    model = LogisticRegression(C=1e6, tol=1e-8, max_iter=1000)
    return model.fit(np.r_[said, said][:, None], labels, sample_weight=weight)


def calibrated(model, said):
    """Opinions (n,) as 2 P(second class) − 1 by a `calibration`; as they are without one."""
    if model is None or len(said) == 0:
        return said
    isotonic = isinstance(model, IsotonicRegression)
    share = model.predict(said) if isotonic else model.predict_proba(said[:, None])[:, 1]
    return np.rint((2.0 * share - 1.0) * GRID) / GRID


class OverExperts(ClassifierMixin, _BaseComposition):
    """Parameters of the experts in the list ``estimators``, as those of scikit-learn's ensembles.

    `get_params`, `set_params` and `clone` for experts with names or without.
    """

    __init__ = object.__init__  # that of scikit-learn's base is abstract

    @property
    def _named(self):
        """Pairs (name, expert)."""
        return named_experts(self.estimators, super().get_params(deep=False))

    @_named.setter
    def _named(self, pairs):
        pairwise = all(isinstance(one, (tuple, list)) for one in self.estimators)
        self.estimators = pairs if pairwise else [expert for _, expert in pairs]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows whose label `predict` answers; an answer that is no label is wrong."""
        said = np.asarray(self.predict(X), dtype=object)  # type: ignore[attr-defined]
        labels = np.asarray(column_or_1d(y), dtype=object)
        check_lengths(len(said), len(labels))
        return weighted_mean((said == labels).astype(np.float64), sample_weight)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with `deep` the experts, and theirs as ``name__parameter``."""
        try:
            return self._get_params("_named", deep)
        except ValueError:  # to be refused by name, when it learns
            return super().get_params(deep=False)

    def set_params(self, **params: Any) -> Self:
        """Set parameters, experts by their names, and parameters of experts; returns self."""
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        own = params.keys() <= super().get_params(deep=False).keys()
        return super().set_params(**params) if own else self._set_params("_named", **params)

    def get_metadata_routing(self) -> MetadataRouter:
        """How metadata are handed on to the experts, by what each requests."""
        router = MetadataRouter(owner=self)
        for name, expert in self._named:
            mapping = MethodMapping()
            for method in ("fit", "partial_fit"):
                if hasattr(expert, method):
                    mapping.add(caller=method, callee=method)
            router.add(**{name: expert}, method_mapping=mapping)
        return router

    def _routed(self, method, params):
        """What of the metadata `params` of a call goes to which expert: names to dicts."""
        if params and not get_config()["enable_metadata_routing"]:
            raise TypeError(
                f"{method}() got an unexpected keyword argument {next(iter(params))!r}: metadata "
                "go to the experts that request them, with enable_metadata_routing=True."
            )
        if not params:
            return {}
        routed = process_routing(self, method, **params)
        return {name: dict(routed[name].get(method, {})) for name in routed}

    def __sklearn_clone__(self):
        """A new one; with ``train=False`` over copies of the experts as they are, fitted."""
        twin = super().__sklearn_clone__()
        if self.train is False:
            twin.estimators = deepcopy(self.estimators)
        return twin

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        try:
            experts = [get_tags(expert).input_tags for _, expert in self._named]
        except (ValueError, TypeError, AttributeError):  # experts without tags
            experts = []
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = bool(experts) and all(one.sparse for one in experts)
        tags.input_tags.allow_nan = bool(experts) and all(one.allow_nan for one in experts)
        return tags
