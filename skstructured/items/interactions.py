"""Features of who chooses, and constants of alternatives, as features of items."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from skstructured._base.component import parameters
from skstructured._base.ragged import Ragged, stack_rows
from skstructured._base.validation import unchanged_on_error
from skstructured.extend._types import Array
from skstructured.items._choice_data import column_number

__all__ = ["ChooserInteractions"]


@parameters
class ChooserInteractions(TransformerMixin, BaseEstimator):
    """Make features of items of features of the chooser, and constants of alternatives.

    For the step before `ConditionalLogit`, on rows of items. What is the same for all items of a
    round, as the income of who chooses, does nothing there by itself; it counts in products with
    what differs. The output has, in this order,

    - all columns but `alternatives`, and the columns of the chooser that are in `pairs`;
    - constants of alternatives: for each but `base` an indicator of its items;
    - a product of each of `pairs`; one with `alternatives` is a product with each constant.

    Parameters
    ----------
    pairs : sequence of pairs of str or int, default=()
        (column of items, column of the chooser), by name, or by number for arrays: ``("cost",
        "income")``; ``("mode", "income")``, where "mode" is `alternatives`, is how much more each
        alternative is liked per unit of income, compared with `base`.
    alternatives : str, int or None, default=None
        The column that names the alternative an item is, with words or numbers.
    base : object, default=None
        The alternative without a constant; None is the first in sorted order.

    Attributes
    ----------
    alternatives_ : ndarray of shape (K,)
        Those of `fit`, sorted, where there is a column of them; later ones are refused.
    n_features_in_ : int
        Columns of the input.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X had string names.

    Notes
    -----
    Names go on to the summary of `ConditionalLogit` with ``set_output(transform="pandas")``, which
    is for rows, not for lists of matrices.

    Examples
    --------
    >>> import pandas as pd
    >>> from skstructured.items import ChooserInteractions
    >>> X = pd.DataFrame({"mode": ["bus", "car"], "cost": [2.0, 5.0], "income": [3.0, 3.0]})
    >>> make = ChooserInteractions([("cost", "income"), ("mode", "income")], alternatives="mode")
    >>> make.set_output(transform="pandas").fit_transform(X)
       cost  mode=car  cost*income  mode=car*income
    0   2.0       0.0          6.0              0.0
    1   5.0       1.0         15.0              3.0
    """

    pairs: Sequence[tuple[Any, Any]] = ()
    alternatives: str | int | None = None
    base: Any = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Look at columns and alternatives.

        Parameters
        ----------
        X : {array-like, data frame, sparse matrix} of shape (N, p), or list of n matrices (m, p)
            Rows of items, or one matrix per round.
        y : None
            Not used.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For columns that are not there, a base that is no alternative, and an output without a
            column.
        """
        with unchanged_on_error(self):
            X = self._checked(_rows_of(X)[0], reset=True)
            self._pairs = self._numbered_pairs()
            self._names_at = None
            if hasattr(self, "alternatives_"):
                del self.alternatives_
            if self.alternatives is not None:
                self._names_at = self._column(self.alternatives, "alternatives")
                self._choose_constants(_safe_indexing(X, self._names_at, axis=1))
            out = {chooser for _, chooser in self._pairs} | {self._names_at}
            self._kept = [j for j in range(self.n_features_in_) if j not in out]
            if not len(self.get_feature_names_out()):
                raise ValueError("there is no column of items: all are of the chooser.")
        return self

    def transform(self, X: Any) -> Any:
        """Features of items, CSR where X is.

        Parameters
        ----------
        X : {array-like, data frame, sparse matrix} of shape (N, p), or list of n matrices (m, p)
            Rows of items, or one matrix per round.

        Returns
        -------
        {ndarray, CSR matrix} of shape (N, n_features_out), or list of n matrices
            Kept columns, constants, products, in the form of X.
        """
        check_is_fitted(self, "_kept")
        rows, offsets = _rows_of(X)
        found = self._made(self._checked(rows, reset=False))
        return found if offsets is None else Ragged(found, offsets).unstack()

    def _made(self, X):
        """Features of rows."""
        kept, constants = [self._numbers(X, j) for j in self._kept], self._constants(X)
        products = [
            part * self._numbers(X, chooser)
            for item, chooser in self._pairs
            for part in (constants if item == self._names_at else [self._numbers(X, item)])
        ]
        found = np.column_stack([*kept, *constants, *products])
        return sparse.csr_matrix(found) if sparse.issparse(X) else found

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names such as "cost", "mode=car", "cost*income", "mode=car*income".

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of columns; None is those of `fit`.

        Returns
        -------
        ndarray of shape (n_features_out,)
            Of strings.
        """
        check_is_fitted(self, "_kept")
        names = _check_feature_names_in(self, input_features)
        constants = [f"{names[self._names_at]}={level}" for level in self._levels()]
        products = [
            f"{part}*{names[chooser]}"
            for item, chooser in self._pairs
            for part in (constants if item == self._names_at else [names[item]])
        ]
        return np.array([*(names[j] for j in self._kept), *constants, *products], dtype=object)

    def _checked(self, X, reset):
        """X with its width and names checked; data frames stay what they are."""
        if hasattr(X, "columns"):
            validate_data(self, X, reset=reset, skip_check_array=True)
            if len(X) == 0:
                raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
            return X
        dtype = None if self.alternatives is not None else np.float64
        given = {"accept_sparse": "csr", "ensure_all_finite": dtype is not None}
        return validate_data(self, X, reset=reset, dtype=dtype, **given)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def _column(self, given, name):
        """Number of a column that is given by name or number."""
        size, names = self.n_features_in_, list(getattr(self, "feature_names_in_", []))
        found = column_number(given, names, size)
        if found is None:
            known = ", ".join(map(repr, names[:20])) if names else f"a number below {size}"
            raise ValueError(f"{name} must name columns of X, {known}; got {given!r}.")
        return found

    def _numbered_pairs(self):
        pairs = []
        for pair in self.pairs:
            if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
                raise ValueError(
                    f"pairs must be pairs (column of items, column of the chooser), got {pair!r}."
                )
            pairs.append(tuple(self._column(part, "pairs") for part in pair))
        return pairs

    def _choose_constants(self, column):
        levels = np.unique(_as_words(column))
        base = levels[0] if self.base is None else self.base
        if base not in levels.tolist():
            known = ", ".join(map(repr, levels[:20].tolist()))
            raise ValueError(f"base must be one of {known}, got {base!r}.")
        self.alternatives_, self._base = levels, base

    def _levels(self):
        """Alternatives that have a constant."""
        given = self.alternatives_ if self._names_at is not None else []
        return [level for level in given if level != self._base]

    def _constants(self, X):
        """Indicators (N,) of alternatives; a ValueError for one that was not there."""
        if self._names_at is None:
            return []
        column = _as_words(_safe_indexing(X, self._names_at, axis=1))
        new = ~np.isin(column, self.alternatives_)
        if new.any():
            known = ", ".join(map(repr, self.alternatives_[:20].tolist()))
            raise ValueError(
                f"alternatives of fit were {known}, but X has {column[new].tolist()[0]!r}."
            )
        return [(column == level).astype(np.float64) for level in self._levels()]

    def _numbers(self, X, j):
        """Column j as float64; a ValueError unless it holds numbers."""
        column = _dense(_safe_indexing(X, j, axis=1))
        try:
            return column.astype(np.float64)
        except (TypeError, ValueError):
            name = _check_feature_names_in(self, None)[j]
            raise ValueError(
                f"column {name!r} must hold numbers, got {column.dtype}: encode it first, by "
                "TableEncoder."
            ) from None


def _rows_of(X):
    """Rows of items, and offsets of the rounds where there is one matrix for each."""
    if sparse.issparse(X) or hasattr(X, "columns") or not hasattr(X, "__len__") or len(X) == 0:
        return X, None
    if np.ndim(X) != 3 if isinstance(X, np.ndarray) else np.ndim(X[0]) < 2:
        return X, None
    stacked = stack_rows(X)
    return stacked.values, stacked.offsets


def _dense(column):
    """A column as an array (N,)."""
    return np.asarray(column.toarray() if sparse.issparse(column) else column).reshape(-1)


def _as_words(column):
    """Names of alternatives (N,): numbers as they are, others as strings; a ValueError for gaps."""
    column = _dense(column)
    if column.dtype.kind in "biuf":
        if column.dtype.kind == "f" and np.isnan(column).any():
            raise ValueError("alternatives must not have gaps, got NaN.")
        return column
    if any(word is None or word != word for word in column.tolist()):
        raise ValueError("alternatives must not have gaps, got None or NaN.")
    return column.astype(str)
