"""Rows standardised as they arrive, with random features of them behind their own."""

import numpy as np

from skstructured._engine.rows import CACHED, LEAST_BLOCK, Rows
from skstructured._engine.standardize import FIRST
from skstructured._engine.state import Learned


class MappedScale(Learned):
    """What a `RunningScale` is to a model, for rows [z, φ(z)], z as such a scale makes them.

    Nothing of φ is stored: it is computed for each block of rows. CSR rows are made dense.

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

    def makes_sparse(self, rows):
        """Rows are never CSR behind it; the first ones decide how they are scaled."""
        self.inner.makes_sparse(rows)
        return False

    def block_size(self, size, rows):
        """Rows to transform at a time, that stay in cache meanwhile."""
        return min(size, max(LEAST_BLOCK, CACHED // self.columns))

    def apply(self, rows, order=None, weight=None):
        """See `RunningScale`."""
        ready, places, undo = self.inner.apply(rows, order, weight)
        mapped = self._mapped(ready.matrix if self.used else ready.matrix[places])
        return mapped, _all_of(mapped), undo

    def apply_ahead(self, rows, order, weight):
        """See `RunningScale`."""
        ready, places, undo, before = self.inner.apply_ahead(rows, order, weight)
        if not self.used:
            mapped = self._mapped(ready.matrix[places])
            return mapped, _all_of(mapped), undo, mapped.data
        mapped, X = self._mapped(ready.matrix), before
        if ready.is_sparse:
            X = ready._replace(data=before).matrix
        else:
            X = before.reshape(ready.n_rows, -1)
        return mapped, _all_of(mapped), undo, self._mapped(X).data

    def transformed_matrix(self, rows):
        """Rows as they are transformed now; they are not counted."""
        return self._mapped(self.inner.transformed_matrix(rows)).X

    def transformed(self, rows):
        """`transformed_matrix` as rows."""
        return self._mapped(self.inner.transformed_matrix(rows))

    #: Weights are those of transformed rows.
    completed = transformed

    def fold(self, W, columns=None):
        """Weights of `completed` rows, which are those of transformed ones."""
        return W

    def anew(self):
        """A new scale with the same features, which has seen no rows."""
        return MappedScale(self.inner.anew(), self.features)

    def _mapped(self, Z):
        Z = Z.toarray() if hasattr(Z, "toarray") else Z
        return Rows.from_array(self.features.behind(Z, self.mapped))


def _all_of(rows):
    return FIRST if rows.n_rows == 1 else np.arange(rows.n_rows)
