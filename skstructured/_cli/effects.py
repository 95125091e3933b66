"""Which columns of a table matter most to a linear learner of classes."""

import numpy as np

#: Columns that are named.
SHOWN = 3


def effects(learner, X, names):
    """The line that names the columns with the largest effects; None where there are none.

    The effect of a column on a class is its weight times its deviation; of two classes it has a
    sign, for the second one. Of more it is how far the effects on the classes lie apart. Of a real
    number it has a sign.
    """
    W, classes = getattr(learner, "coef_", None), getattr(learner, "classes_", ())
    if W is None or (W.ndim == 2 and len(W) != len(classes)):
        return None
    lies = _effects_of_a_unit(W)
    sizes = lies * _deviations(X)
    order = np.argsort(-np.abs(sizes), kind="stable")[:SHOWN]
    order = [j for j in order if sizes[j] != 0.0]
    if not order:
        return None
    has_sign = W.ndim == 1 or len(W) == 2
    signs = {j: (f" ({'+' if sizes[j] > 0 else '−'})" if has_sign else "") for j in order}
    told = ", ".join(f"{names[j]}{signs[j]}" for j in order)
    towards = f", for {classes[1]}" if len(classes) == 2 else ""
    return f"Matters most     {told}{towards}."


def _effects_of_a_unit(W):
    """Of one more of each column, (p,)."""
    if W.ndim == 1:
        return W
    return W[1] - W[0] if len(W) == 2 else np.ptp(W, axis=0)


def _deviations(X):
    """Of the columns of dense rows that may have gaps, or of CSR rows."""
    if hasattr(X, "toarray"):
        mean, square = X.mean(axis=0), X.multiply(X).mean(axis=0)
        return np.sqrt(np.maximum(np.ravel(square) - np.ravel(mean) ** 2, 0.0))
    there = np.isfinite(X)
    count = np.maximum(there.sum(axis=0), 1)
    mean = np.where(there, X, 0.0).sum(axis=0) / count
    return np.sqrt((np.where(there, X - mean, 0.0) ** 2).sum(axis=0) / count)
