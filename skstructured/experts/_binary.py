"""Binary classifiers as experts: their names, what they say of rows, how they are trained."""

import inspect

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.utils import _safe_indexing, check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from skstructured._base.validation import check_sparse, matrices_refused

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
    if all(isinstance(one, (tuple, list)) and len(one) == 2 for one in given):
        pairs = [tuple(one) for one in given]
    else:
        pairs = list(zip(_names_of(given), given, strict=True))
    _check_names([name for name, _ in pairs], set(taken))
    for name, expert in pairs:
        if not (hasattr(expert, "predict") and hasattr(expert, "get_params")):
            raise ValueError(f"the expert {name!r} must be a classifier, got {expert!r}.")
    return pairs


def _names_of(experts):
    kinds = [type(expert).__name__.lower() for expert in experts]
    return [
        kind if kinds.count(kind) == 1 else f"{kind}-{kinds[:i].count(kind) + 1}"
        for i, kind in enumerate(kinds)
    ]


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


def teach(expert, X, y, classes, given):
    """One call of ``partial_fit``; `classes` where they are not known yet and it takes them."""
    if classes is not None and "classes" in inspect.signature(expert.partial_fit).parameters:
        given = given | {"classes": classes}
    expert.partial_fit(X, y, **given)


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


def opinions_out_of_fold(name, expert, X, codes, classes, fold, given):
    """What clones say of the rows of a fold, fitted on the other folds; 0 if one class is left.

    `given` are the metadata of ``fit``.
    """
    said = np.zeros(len(codes))
    for k in np.unique(fold):
        inside, outside = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
        if len(np.unique(codes[outside])) == 2:
            more = part_of(given, outside, len(codes))
            twin = clone(expert).fit(rows_of(X, outside), classes[codes[outside]], **more)
            said[inside] = opinions(name, twin, rows_of(X, inside), classes)
    return said


def check_marker(marker, classes):
    """Raise a ValueError for an abstain_label that is one of the classes, or not a label."""
    if marker in classes.tolist():
        raise ValueError(f"abstain_label must not be one of the classes, got {marker!r}.")
    if np.ndim(marker) or isinstance(marker, complex):
        raise ValueError(f"abstain_label must be a label, got {marker!r}.")


#: What `calibrate` may be but None.
METHODS = ("sigmoid", "isotonic")


class Sigmoid:
    """Platt's: P(second class) = 1/(1 + exp(−(a u + b))), fitted to softened labels."""

    def __init__(self, said, codes):
        counts = np.bincount(codes, minlength=2)
        right = (counts + 1.0) / (counts + 2.0)
        labels, weight = np.r_[codes, 1 - codes], np.r_[right[codes], 1.0 - right[codes]]
        model = LogisticRegression(C=1e6, tol=1e-8, max_iter=1000)
        self._model = model.fit(np.r_[said, said][:, None], labels, sample_weight=weight)

    def __call__(self, said):
        """Calibrated opinions (n,)."""
        share = self._model.predict_proba(said[:, None])[:, 1] if len(said) else np.empty(0)
        return np.rint((2.0 * share - 1.0) * GRID) / GRID


class Isotonic:
    """The monotone P(second class) of the least squared error."""

    def __init__(self, said, codes):
        model = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        self._model = model.fit(said, codes)

    def __call__(self, said):
        """Calibrated opinions (n,)."""
        share = self._model.predict(said) if len(said) else np.empty(0)
        return np.rint((2.0 * share - 1.0) * GRID) / GRID


def calibrator(method, said, codes):
    """A map of opinions (n,) to calibrated ones, or None: without a method, or a second class."""
    if method is None or len(np.unique(codes)) < 2:
        return None
    return {"sigmoid": Sigmoid, "isotonic": Isotonic}[method](said, codes)


def calibrated_out_of_fold(method, said, codes, fold):
    """Opinions (n,) of each fold by the map of the other folds' opinions and labels."""
    found = said.copy()
    for k in np.unique(fold):
        inside, outside = fold == k, fold != k
        how = calibrator(method, said[outside], codes[outside])
        if how is not None:
            found[inside] = how(said[inside])
    return found
