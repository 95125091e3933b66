"""Which columns of a table matter most to a linear learner of classes."""

import numpy as np
from sklearn.preprocessing import StandardScaler

#: Columns that are named.
SHOWN = 3

#: Characters of a name that are shown.
LONGEST = 30


def effects(learner, table):
    """Yield the line that names the columns with the largest effects, if there are any.

    The effect of a feature on a class is its weight times its deviation; of two classes it has a
    sign, for the second one. Of more it is how far the effects on the classes lie apart. Of a real
    number it has a sign. Each column of the table is named once, by the feature of it that matters
    most, and one of long texts by its words.
    """
    W, classes = getattr(learner, "coef_", None), getattr(learner, "classes_", ())
    if W is None or (W.ndim == 2 and len(W) != len(classes)):
        return
    sizes = _effects_of_a_unit(W) * _deviations(table.X)
    found = [_told(j, sizes[j], W, table) for j in _largest(sizes, table.encoder)]
    if found:
        towards = f", for {classes[1]}" if len(classes) == 2 else ""
        yield f"Matters most     {', '.join(found)}{towards}."


def _largest(sizes, encoder):
    """Features with the largest effects: of a column one, of texts any number."""
    owners = [(one.name, one.kind) for one in encoder._coders_of() for _ in one.names]
    named, kept = set(), []
    for j in np.argsort(-np.abs(sizes), kind="stable"):
        if sizes[j] == 0.0 or len(kept) == SHOWN:
            break
        if owners[j][1] == "words" or owners[j] not in named:
            kept.append(j)
        named.add(owners[j])
    return kept


def _told(j, size, W, table):
    """A feature by its name or its word, and the sign of its effect."""
    name = table.encoder.get_feature_names_out()[j]
    for one in table.encoder._coders_of("words"):
        if name in one.names and one.name in table.texts:
            word = one.most_frequent(table.texts[one.name], one.names.index(name))
            name = f"{one.name} {word!r}"
    name = name if len(name) <= LONGEST else f"{name[: LONGEST - 3]}..."
    has_sign = W.ndim == 1 or len(W) == 2
    return f"{name} ({'+' if size > 0 else '-'})" if has_sign else name


def _effects_of_a_unit(W):
    """Of one more of each feature, (p,)."""
    if W.ndim == 1:
        return W
    return W[1] - W[0] if len(W) == 2 else np.ptp(W, axis=0)


def _deviations(X):
    """Of the columns of dense rows that may have gaps, or of CSR rows."""
    with np.errstate(invalid="ignore"):  # of columns without a value
        return np.sqrt(np.nan_to_num(StandardScaler(with_mean=False).fit(X).var_))
