"""``python -m skstructured predict MODEL FILE``: a kept model, and new rows of its table."""

import csv
import sys
import warnings

import numpy as np

from skstructured._cli.files import PARQUET, ends_with, parquet_parts, text_chunks
from skstructured._cli.stream_table import PART
from skstructured.checkpoints.files import load_checkpoint

USAGE = "usage: python -m skstructured predict MODEL FILE"


def predict(arguments):
    """Print a prediction for each row of a file, as CSV with a header.

    MODEL is what ``--save`` kept; FILE is CSV, JSON lines or Parquet with the same columns, in any
    order, with or without the target, and of any size.

    Raises
    ------
    OSError, ValueError, ImportError
        For arguments that are not two, and as `load_checkpoint`, the readers and the model do.
    """
    if len(arguments) != 2:
        raise ValueError(f"predict takes a model and a file, got {len(arguments)} names. {USAGE}")
    model, path = load_checkpoint(arguments[0]), arguments[1]
    is_parquet = ends_with(path, PARQUET)
    parts = parquet_parts(path, PART) if is_parquet else text_chunks(path, size=PART)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    for number, columns in enumerate(parts):
        y = _predicted(model, columns)
        wide = y.reshape(len(y), -1)
        if not number:
            names = [f"prediction_{j}" for j in range(wide.shape[1])]
            writer.writerow(names if y.ndim > 1 else ["prediction"])
        writer.writerows(wide.tolist())


def _predicted(model, columns):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # columns were found by their names
        return np.asarray(model.predict(_rows(model, columns)))


def _rows(model, columns):
    """What the model takes: the columns, of one with an encoder, else an array of numbers."""
    if hasattr(model, "steps"):
        return columns
    names = getattr(model, "feature_names_in_", list(columns))
    missing = [name for name in names if name not in columns]
    if missing:
        raise ValueError(f"rows must have the columns {', '.join(names)}; missing: {missing[0]}.")
    return np.column_stack([columns[name].astype(np.float64) for name in names])
