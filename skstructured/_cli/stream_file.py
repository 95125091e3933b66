"""Files that may not fit into memory, for the command line."""

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.pipeline import make_pipeline

from skstructured._cli.files import PARQUET, SVMLIGHT, ends_with
from skstructured._cli.read import WIDE, title
from skstructured._cli.stream_table import EncodedParts
from skstructured.evaluation import progressive_validate
from skstructured.evaluation.validation import warm_up
from skstructured.streaming._files import WIDEST, parquet_chunks, parquet_columns, svmlight_chunks

#: The largest chunks.
MOST_ROWS, MOST_BYTES = 10_000, 1 << 24


def is_stream(path):
    """Whether a file is one that is read in chunks, by the end of its name."""
    return ends_with(path, (*PARQUET, *SVMLIGHT))


class Stream(NamedTuple):
    """Chunks of a file, all its labels, its name, how often each label occurs, its features."""

    chunks: object
    classes: object
    name: str
    counts: object = None
    names: object = None
    encoder: object = None
    space: str = "simplex"

    @classmethod
    def encoded(cls, path, options):
        """The chunks of a table with words, dates or gaps that does not fit into memory."""
        parts = EncodedParts(path, options)
        columns, width = parts.encoder.n_features_in_, len(parts.encoder.get_feature_names_out())
        name = f"{title(path, parts.n, width, columns)}, target {', '.join(parts.targets)}"
        classes, codes = np.unique(list(parts.labels.values()), return_inverse=True)
        counts = np.bincount(codes, parts.counts) if len(codes) else None
        known = classes if len(codes) else None
        rest = {"encoder": parts.encoder, "space": parts.space}
        return cls(parts.chunks(), known, name, counts, **rest)

    @classmethod
    def of(cls, path, target, space):
        """The chunks of a file, which is gone through once for its labels and their number.

        Raises
        ------
        OSError, ValueError, ImportError
            As the readers of chunks; the message is one line.
        """
        space = space or "simplex"
        if ends_with(path, SVMLIGHT):
            return _svmlight(cls, path, target, space)._replace(space=space)
        names = parquet_columns(path)
        targets = names[-1] if target is None else target
        targets = targets.split(",") if space in WIDE else targets
        wanted = list(targets) if space in WIDE else [targets]
        seen = [_labels(y) for _, y in parquet_chunks(path, targets, columns=[])]
        size = _share(sum(m for m, *_ in seen), MOST_ROWS)
        chunks, rest = parquet_chunks(path, targets, size), [n for n in names if n not in wanted]
        told = _told(cls, chunks, seen, path, len(rest), f", target {', '.join(wanted)}", space)
        return told._replace(names=rest, space=space)

    def named(self, learner):
        """The learner behind its encoder, or with the names of the columns: others are refused."""
        if self.encoder is not None:
            return make_pipeline(self.encoder, learner)
        if self.names is not None:
            learner.feature_names_in_ = np.array(self.names, dtype=object)
        return learner

    def validated(self, learner, play, seed, progress):
        """The `StreamResult` of a learner over the chunks, and seconds without compiling."""
        warm_up(learner, *next(iter(self.chunks)), self.classes, play)
        started = time.perf_counter()
        rest = {"random_state": seed, "classes": self.classes, "play": play}
        report = progress("learning", started)

        def tell(rounds, _):
            report(rounds, None)

        result = progressive_validate(learner, self.chunks, progress=tell, **rest)
        return result, time.perf_counter() - started


def _share(total, most):
    """A chunk size that gives at least fifty chunks."""
    return min(most, max(1, total // 50))


def _labels(y):
    """The number of rows, their distinct labels, and how often each occurs."""
    return len(y), *np.unique(y, return_counts=True)


def _told(kind, chunks, seen, path, width, told, space):
    if not seen:
        raise ValueError(f"{path} has no rows.")
    n, labels = sum(m for m, *_ in seen), np.concatenate([part for _, part, _ in seen])
    classes, codes = np.unique(labels, return_inverse=True)
    name = f"{path} ({n} rows, {width} features){told}"
    if space in WIDE:
        return kind(chunks, None, name)
    counts = np.bincount(codes, np.concatenate([count for *_, count in seen]))
    return kind(chunks, classes, name, counts)


def _svmlight(kind, path, target, space):
    if target is not None or space in WIDE:
        what = "--target" if target is not None else f"--space {space}"
        raise ValueError(f"{what} is not for svmlight files, which have one label per row.")
    zero_based, width, seen = svmlight_width(path)
    size = _share(Path(path).stat().st_size, MOST_BYTES)
    chunks = svmlight_chunks(path, width, size, zero_based)
    return _told(kind, chunks, seen, path, width, "", space)


def svmlight_width(path):
    """Whether columns of a svmlight file count from 0, how many there are, and its labels."""
    try:
        return False, *_width_and_labels(path, False)
    except ValueError as error:
        if "zero_based=True" not in str(error):
            raise
        return True, *_width_and_labels(path, True)


def _width_and_labels(path, zero_based):
    """Columns of a svmlight file, and how many rows of which labels its parts have."""
    width, seen = 1, []
    for X, y in svmlight_chunks(path, WIDEST, zero_based=zero_based):
        width = max(width, int(X.indices.max(initial=0)) + 1)
        seen.append(_labels(y))
    return width, seen
