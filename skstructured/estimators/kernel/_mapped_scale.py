"""Rows standardised as they arrive, with random features of them behind their own."""

import numpy as np
from scipy.sparse import csr_matrix

from skstructured._engine.rows import CACHED, LEAST_BLOCK, Rows
from skstructured._engine.standardize import FIRST
from skstructured._engine.state import Learned


class MappedScale(Learned):
    """What a `RunningScale` is to a model, for rows [z, φ(z)], z as such a scale makes them.

    Nothing of φ is stored: it is computed for each block of rows. The first rows decide: after CSR
    ones all are CSR, the entries of z and behind them those of φ, where `features` reads such rows;
    else all are dense.

    Parameters
    ----------
    inner : RunningScale
        What makes z, and the indicators of gaps, which stand between z and φ(z).
    features : FourierMap
        What makes φ.
    """

    def __init__(self, inner, features):
        self.inner, self.features = inner, features
        self.mapped = inner.statistics.shape[1]

    @property
    def used(self):
        """See `RunningScale`."""
        return self.inner.used

    @property
    def indicators(self):
        """See `RunningScale`."""
        return self.inner.indicators

    @property
    def columns(self):
        """Columns of rows as they are learned."""
        return self.inner.columns + self.features.columns

    @property
    def is_sparse(self):
        """Whether rows are CSR behind it."""
        return getattr(self.features, "reads_sparse", False)

    def settle(self, rows):
        """Look at the first rows, which decide how all are scaled and mapped."""
        self.inner.makes_sparse(rows)
        if hasattr(self.features, "drawn_for"):
            self.features = self.features.drawn_for(self.inner.began_sparse)

    def makes_sparse(self, rows):
        """Whether rows are CSR behind it, which the first ones decide."""
        self.inner.makes_sparse(rows)
        return self.is_sparse

    def block_size(self, size, rows):
        """Rows to transform at a time, that stay in cache meanwhile."""
        entries = self.columns
        if self.is_sparse:
            entries = self.features.columns + len(rows.data) // max(rows.n_rows, 1)
        return min(size, max(LEAST_BLOCK, CACHED // max(entries, 1)))

    def apply(self, rows, order=None, weight=None):
        """See `RunningScale`."""
        mapped = self._behind(*self.inner.apply(rows, order, weight))
        return mapped, _all_of(mapped)

    def counted(self, rows, order, weight, ahead=False):
        """See `RunningScale`."""
        found = self.inner.counted(rows, order, weight, ahead)
        mapped = self._behind(found.rows, found.places)
        before = mapped.data
        if ahead and self.used:
            before = self._behind(_with_data(found.rows, found.before), found.places).data
        return found._replace(rows=mapped, places=_all_of(mapped), before=before)

    def _behind(self, ready, places):
        """Rows z in the order of `places`, with φ behind."""
        if self.is_sparse:
            return self._mapped_rows(ready, places)
        return self._mapped(ready.matrix if self.used else ready.matrix[places])

    def transformed_matrix(self, rows):
        """Rows as they are transformed now; they are not counted."""
        return self.transformed(rows).matrix

    def transformed(self, rows):
        """`transformed_matrix` as rows."""
        Z = self.inner.transformed_matrix(rows)
        if self.is_sparse:
            return self._mapped_rows(Rows.from_array(Z), np.arange(rows.n_rows))
        return self._mapped(Z)

    #: Weights are those of transformed rows.
    completed = transformed

    def fold(self, W, columns=None):
        """Weights of `completed` rows, which are those of transformed ones."""
        return W

    def anew(self):
        """A new scale with the same features, which has seen no rows."""
        return MappedScale(self.inner.anew(), self.features)

    def _mapped_rows(self, rows, places):
        """Rows in the order of `places` as CSR, with φ behind; dense ones are made CSR."""
        if not rows.is_sparse:
            taken = csr_matrix(rows.matrix[places], dtype=np.float64)
            rows, places = Rows.from_array(taken), np.arange(len(places))
        return self.features.behind_rows(rows, places, self.inner.columns)

    def _mapped(self, Z):
        Z = Z.toarray() if hasattr(Z, "toarray") else Z
        return Rows.from_array(self.features.behind(Z, self.mapped))


def _all_of(rows):
    return FIRST if rows.n_rows == 1 else np.arange(rows.n_rows)


def _with_data(rows, data):
    """Rows with other numbers in their places."""
    if rows.is_sparse:
        return rows._replace(data=data, X=None)
    return rows._replace(data=data, X=data.reshape(rows.n_rows, -1))
