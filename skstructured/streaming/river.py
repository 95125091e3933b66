"""Learners of this package behind the interface of river: dicts in, a row at a time.

Needs river, ``pip install river``; nothing else in the package imports it.
"""

import pickle
from collections.abc import Hashable, Iterable, Mapping
from typing import Any
from zlib import crc32

import numpy as np
from river import base
from scipy.sparse import csr_matrix
from sklearn.base import clone

from skstructured._base.validation import check_choice, check_integer
from skstructured.estimators.kernel import PiSTOLRegressor
from skstructured.estimators.online import OnlineStructuredPredictor

__all__ = ["RiverClassifier", "RiverMultiLabelClassifier", "RiverRegressor"]


class NamedFeatures:
    """Columns of features by their names, in the order in which they are first learned.

    Parameters
    ----------
    n_features : int
        Columns. Features that come when all are taken share those of others, by a hash of their
        names, and their values are added.
    absent : {"missing", "zero"}
        What a feature is that a row does not name: NaN in dense rows, or 0 in CSR ones.
    """

    def __init__(self, n_features: int, absent: str) -> None:
        check_integer("n_features", n_features)
        check_choice("absent", absent, ("missing", "zero"))
        self.n_features, self.absent = n_features, absent
        self.columns: dict[Any, int] = {}

    def learn(self, x: Mapping[Any, Any]) -> None:
        """Give new features a column each, in the order of their names, while there are some."""
        free = self.n_features - len(self.columns)
        new = sorted((name for name in x if name not in self.columns), key=repr) if free else []
        for name in new[:free]:
            self.columns[name] = len(self.columns)

    def row(self, x: Mapping[Any, Any]) -> Any:
        """The row (1, n_features); features that were never learned are left out.

        Raises
        ------
        ValueError
            Naming a feature whose value is not a number.
        """
        values: dict[int, float] = {}
        for name, value in x.items():
            column = self._column(name)
            if column is not None and value is not None:
                values[column] = values.get(column, 0.0) + _number(name, value)
        at, found = list(values), list(values.values())
        if self.absent == "zero":
            return csr_matrix((found, ([0] * len(at), at)), shape=(1, self.n_features))
        row = np.full((1, self.n_features), np.nan)
        row[0, at] = found
        return row

    def _column(self, name: Any) -> int | None:
        """Where a feature stands; None for one that was never learned."""
        if name in self.columns or len(self.columns) < self.n_features:
            return self.columns.get(name)
        return crc32(repr(name).encode()) % self.n_features


def _number(name: Any, value: Any) -> float:
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"x[{name!r}] must be a number or None, got {value!r}: river's OneHotEncoder makes "
            "numbers of words."
        ) from None


class _OverDicts:
    """A learner of rows, fed with dicts."""

    estimator: Any
    n_features: int
    absent: str
    _model: Any = None
    _features: NamedFeatures | None = None

    def _unfitted(self) -> Any:
        """The learner where none is given."""
        raise NotImplementedError

    def _learn(self, x: Mapping[Hashable, Any], y: Any, **first: Any) -> None:
        """Learn one row; `first` goes to the first call alone. Nothing changes where it fails."""
        features = self._features or NamedFeatures(self.n_features, self.absent)
        known = len(features.columns)
        features.learn(x)
        model = self._model
        try:
            row = features.row(x)
            if model is None:
                model = self._unfitted() if self.estimator is None else clone(self.estimator)
                model.partial_fit(row, y, **first)
            else:
                model.partial_fit(row, y)
        except BaseException:
            for name in list(features.columns)[known:]:
                del features.columns[name]
            raise
        self._model, self._features = model, features

    def _row(self, x: Mapping[Hashable, Any]) -> Any:
        return self._features.row(x)  # type: ignore[union-attr]  # after it was learned

    @property
    def _raw_memory_usage(self) -> int:
        """Bytes of the pickled model; what else hangs on it, compiled code, is everyone's."""
        return len(pickle.dumps(self))


class RiverClassifier(_OverDicts, base.Classifier):
    """A classifier for river, over any online learner of classes.

    Features have names and may come and go: the first row that has one gives it a column, and
    what a row lacks is missing, or 0. Columns are standardised on the way, so that no scaler has to
    stand before it.

    Parameters
    ----------
    estimator : estimator or None, default=None
        A learner with ``partial_fit``; a clone of it learns. None is
        ``OnlineStructuredPredictor(random_state=0)``.
    classes : iterable, default=(False, True)
        All labels that will come.
    n_features : int, default=64
        Columns. Features that come when all are taken share those of others, by a hash.
    absent : {"missing", "zero"}, default="missing"
        What a feature is that a row does not name. "missing" is the mean of the rows so far that
        have it, in dense rows: for measurements. "zero" is 0 in CSR rows, of any width: for words.

    Raises
    ------
    ValueError
        When used: a label that is not among `classes`, a value that is not a number, a parameter
        out of its range; nothing is then learned.

    Examples
    --------
    >>> from skstructured.streaming.river import RiverClassifier
    >>> model = RiverClassifier()
    >>> for x, y in [({"a": 1.0}, True), ({"a": -1.0}, False), ({"a": 2.0, "b": 1.0}, True)] * 5:
    ...     model.learn_one(x, y)
    >>> model.predict_one({"a": 1.5})
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        classes: Iterable = (False, True),
        n_features: int = 64,
        absent: str = "missing",
    ) -> None:
        self.estimator = estimator
        self.classes = classes
        self.n_features = n_features
        self.absent = absent

    def _unfitted(self) -> Any:
        return OnlineStructuredPredictor(random_state=0)

    @property
    def _multiclass(self) -> bool:
        return len(list(self.classes)) > 2

    def learn_one(self, x: Mapping[Hashable, Any], y: Hashable) -> None:
        """Learn a row and its label."""
        classes = list(self.classes)
        if y not in classes:
            raise ValueError(f"y={y!r} is not among classes={classes!r}, which are all labels.")
        self._learn(x, [classes.index(y)], classes=np.arange(len(classes)))

    def predict_proba_one(self, x: Mapping[Hashable, Any], **_: Any) -> dict[Any, float]:
        """Probabilities of the labels; before anything was learned, the same of all.

        Raises
        ------
        NotImplementedError
            Where the estimator has no probabilities.
        """
        classes = list(self.classes)
        if self._model is None:
            return dict.fromkeys(classes, 1.0 / len(classes))
        if not hasattr(self._model, "predict_proba"):
            raise NotImplementedError(f"{self._model!r} has no probabilities.")
        found = self._model.predict_proba(self._row(x))[0]
        return dict(zip(classes, found.tolist(), strict=True))

    def predict_one(self, x: Mapping[Hashable, Any], **_: Any) -> Any:
        """The label that the estimator predicts; before anything was learned, the first."""
        at = 0 if self._model is None else int(self._model.predict(self._row(x))[0])
        return list(self.classes)[at]


class RiverRegressor(_OverDicts, base.Regressor):
    """A regressor for river, over any online learner of numbers.

    Parameters
    ----------
    estimator : estimator or None, default=None
        A regressor with ``partial_fit``; a clone of it learns. None is
        ``PiSTOLRegressor(random_state=0)``, whose y must be of the order of 1:
        ``river.preprocessing.TargetStandardScaler(RiverRegressor())`` sees to that.
    n_features, absent : int, str
        As of `RiverClassifier`.

    Raises
    ------
    ValueError
        When used: a value that is not a number, a parameter out of its range; nothing is then
        learned.
    """

    def __init__(
        self, estimator: Any = None, n_features: int = 64, absent: str = "missing"
    ) -> None:
        self.estimator = estimator
        self.n_features = n_features
        self.absent = absent

    def _unfitted(self) -> Any:
        return PiSTOLRegressor(random_state=0)

    def learn_one(self, x: Mapping[Hashable, Any], y: float) -> None:
        """Learn a row and its number."""
        self._learn(x, [y])

    def predict_one(self, x: Mapping[Hashable, Any]) -> float:
        """The number predicted; 0 before anything was learned."""
        return 0.0 if self._model is None else float(self._model.predict(self._row(x))[0])


class RiverMultiLabelClassifier(_OverDicts, base.MultiLabelClassifier):
    """A classifier of sets of labels for river, over any online learner of them.

    Parameters
    ----------
    estimator : estimator or None, default=None
        A learner of indicator matrices with ``partial_fit``; a clone of it learns. None is
        ``OnlineStructuredPredictor("hypercube", random_state=0)``.
    labels : iterable or None, default=None
        All labels that will come; None are those of the first y.
    n_features, absent : int, str
        As of `RiverClassifier`.

    Raises
    ------
    ValueError
        When used: a label that is not among `labels`, a value that is not a number, a parameter
        out of its range; nothing is then learned.
    """

    _labels: list | None = None

    def __init__(
        self,
        estimator: Any = None,
        labels: Iterable | None = None,
        n_features: int = 64,
        absent: str = "missing",
    ) -> None:
        self.estimator = estimator
        self.labels = labels
        self.n_features = n_features
        self.absent = absent

    def _unfitted(self) -> Any:
        return OnlineStructuredPredictor("hypercube", random_state=0)

    def learn_one(self, x: Mapping[Hashable, Any], y: Mapping[Hashable, bool]) -> None:
        """Learn a row and its labels, a dict of those that are true, or false."""
        labels = self._labels or list(y if self.labels is None else self.labels)
        strange = [name for name in y if name not in labels]
        if strange:
            raise ValueError(f"y has the label {strange[0]!r}, which is not among {labels!r}.")
        self._learn(x, [[int(bool(y.get(name, False))) for name in labels]])
        self._labels = labels

    def predict_proba_one(
        self, x: Mapping[Hashable, Any], **_: Any
    ) -> dict[Hashable, dict[bool, float]]:
        """Probabilities of each label; none before anything was learned."""
        if self._model is None:
            return {}
        if not hasattr(self._model, "predict_proba"):
            raise NotImplementedError(f"{self._model!r} has no probabilities.")
        found = self._model.predict_proba(self._row(x))[0].tolist()
        named = zip(self._labels or (), found, strict=True)
        return {name: {False: 1.0 - share, True: share} for name, share in named}

    def predict_one(self, x: Mapping[Hashable, Any], **_: Any) -> dict[Hashable, bool]:
        """Which labels are predicted; none before anything was learned."""
        if self._model is None:
            return {}
        found = self._model.predict(self._row(x))[0]
        return {name: bool(one) for name, one in zip(self._labels or (), found, strict=True)}
