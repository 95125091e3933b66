"""Tables that do not fit into memory: chunks of columns, encoded on the way."""

import os
from collections import Counter

import numpy as np

from skstructured._cli.careful import check_classes, check_no_gaps
from skstructured._cli.files import PARQUET, chosen, ends_with, parquet_parts, text_chunks
from skstructured._cli.read import WIDE, outputs, space_of, targets_of
from skstructured.streaming._files import Chunks
from skstructured.streaming._frames import as_texts, is_missing
from skstructured.streaming.table_encoder import TableEncoder

#: Bytes of a file that is not taken into memory, and of a compressed one.
LARGE, LARGE_GZIP = 1 << 26, 1 << 23

#: Rows of a part.
PART = 10_000

#: Different words of a column that have a feature each; where there are more, they are hashed.
MOST_VALUES = 20_000


def is_large(path):
    """Whether the cells of a file might fill the memory."""
    if path is None or str(path) == "-" or not os.path.isfile(path):
        return False
    most = LARGE_GZIP if str(path).endswith(".gz") or ends_with(path, PARQUET) else LARGE
    return os.path.getsize(path) > most


class EncodedParts:
    """The parts of a file, their labels, and the encoder that its first part has decided on.

    The file is gone through once for its labels, and for the values of columns of words; a
    `ValueError` names a row without a label.
    """

    def __init__(self, path, options):
        self.path, self.options = path, options
        first = next(self._parts())
        self.header = list(first)
        self.targets = targets_of(path, first, options.target, options.space)
        self.encoder = TableEncoder().partial_fit(self._features(first))
        self.space, self.labels, self.counts = options.space, {}, []
        self.values = {one.name: Counter() for one in self.encoder._coders_of("hashed categories")}
        self.shown = self._features(first)
        self.n = self._go_through()
        self.encoder._decide(self.shown, True, dict(self._values()))

    def _parts(self):
        if ends_with(self.path, PARQUET):
            return parquet_parts(self.path, PART)
        return text_chunks(self.path, self.options.delimiter, PART)

    def _features(self, part):
        kept = chosen(self.path, part, self.options.columns, self.options.ignore, self.targets)
        return {name: values for name, values in kept.items() if name not in self.targets}

    def _raw(self, part, done):
        """The outputs of a part as the file has them, (n, d)."""
        check_no_gaps(self.path, part, self.targets, done)
        return np.column_stack([part[name].astype(object) for name in self.targets])

    def _go_through(self):
        """Learn the labels; returns the number of rows."""
        done, seen = 0, {}
        for part in self._parts():
            y = self._raw(part, done)
            self.space = space_of(y, self.space)
            if self.space == "real":
                raise ValueError(f"{self.path} is too large for --space real: take a part of it.")
            if self.space not in WIDE:
                for label in y[:, 0]:
                    seen[label] = seen.get(label, 0) + 1
            done += len(y)
            self._count(part)
        if seen:
            raw = np.array(list(seen), dtype=object)[:, None]
            check_classes(self.path, raw[:, 0], self.targets[0], self.header)
            self.labels = dict(zip(seen, outputs(raw, self.space, self.path), strict=True))
            self.counts = list(seen.values())
        return done

    def _count(self, part):
        """Count the values of columns that may have a feature for each, and see those without."""
        for one in self.encoder._coders_of("undecided"):
            if is_missing(self.shown[one.name]).all():
                self.shown[one.name] = part[one.name]
        for name in list(self.values):
            self.values[name].update(as_texts(part[name], is_missing(part[name])).tolist())
            if len(self.values[name]) > MOST_VALUES:
                del self.values[name]

    def _values(self):
        """Columns and their values, those twice that are there more than once."""
        for name, counts in self.values.items():
            times = np.minimum(list(counts.values()), 2)
            yield name, np.repeat(np.array(list(counts), dtype=object), times)

    def chunks(self):
        """The chunks (X, y); they may be gone through again."""
        return Chunks(self._encoded)

    def _encoded(self):
        done = 0
        for part in self._parts():
            y = self._raw(part, done)
            done += len(y)
            yield self.encoder.transform(self._features(part)), self._labelled(y)

    def _labelled(self, y):
        if self.space in WIDE:
            return outputs(y, self.space, self.path)
        return np.array([self.labels[label] for label in y[:, 0]])
