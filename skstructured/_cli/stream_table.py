"""Tables that do not fit into memory: chunks of columns, encoded on the way."""

import os

import numpy as np

from skstructured._cli.careful import check_classes, check_no_gaps
from skstructured._cli.files import PARQUET, chosen, ends_with, parquet_parts, text_chunks
from skstructured._cli.read import WIDE, outputs, space_of, targets_of
from skstructured.streaming._files import Chunks
from skstructured.streaming.table_encoder import TableEncoder

#: Bytes of a file that is not taken into memory, and of a compressed one.
LARGE, LARGE_GZIP = 1 << 26, 1 << 23

#: Rows of a part.
PART = 10_000


def is_large(path):
    """Whether the cells of a file might fill the memory."""
    if path is None or str(path) == "-" or not os.path.isfile(path):
        return False
    most = LARGE_GZIP if str(path).endswith(".gz") or ends_with(path, PARQUET) else LARGE
    return os.path.getsize(path) > most


class EncodedParts:
    """The parts of a file, their labels, and the encoder that its first part has decided on.

    The file is gone through once for its labels; a `ValueError` names a row without one.
    """

    def __init__(self, path, options):
        self.path, self.options = path, options
        first = next(self._parts())
        self.header = list(first)
        self.targets = targets_of(path, first, options.target, options.space)
        self.encoder = TableEncoder().partial_fit(self._features(first))
        self.space, self.labels, self.counts = options.space, {}, []
        self.n = self._go_through()

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
        if seen:
            raw = np.array(list(seen), dtype=object)[:, None]
            check_classes(self.path, raw[:, 0], self.targets[0], self.header)
            self.labels = dict(zip(seen, outputs(raw, self.space, self.path), strict=True))
            self.counts = list(seen.values())
        return done

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
