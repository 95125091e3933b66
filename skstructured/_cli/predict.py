"""``python -m skstructured predict MODEL FILE``: a kept model, and new rows of its table."""

import csv
import sys
import warnings
from pathlib import Path

import numpy as np

from skstructured._cli.read import read_csv, read_parquet
from skstructured._cli.stream_file import PARQUET
from skstructured.checkpoints.files import load_checkpoint

USAGE = "usage: python -m skstructured predict MODEL FILE"


def predict(arguments):
    """Print a prediction for each row of a file, as CSV with a header.

    MODEL is what ``--save`` kept; FILE is CSV or Parquet with the same columns, in any order, with
    or without the target.

    Raises
    ------
    OSError, ValueError, ImportError
        For arguments that are not two, and as `load_checkpoint`, the readers and the model do.
    """
    if len(arguments) != 2:
        raise ValueError(f"predict takes a model and a file, got {len(arguments)} names. {USAGE}")
    model, path = load_checkpoint(arguments[0]), arguments[1]
    is_parquet = Path(path).suffix.lower() in PARQUET
    columns = read_parquet(path) if is_parquet else read_csv(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # columns were found by their names
        y = np.asarray(model.predict(_rows(model, columns)))
    wide = y.reshape(len(y), -1)
    header = [f"prediction_{j}" for j in range(wide.shape[1])] if y.ndim > 1 else ["prediction"]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(wide.tolist())


def _rows(model, columns):
    """What the model takes: the columns, of one with an encoder, else an array of numbers."""
    if hasattr(model, "steps"):
        return columns
    names = getattr(model, "feature_names_in_", list(columns))
    missing = [name for name in names if name not in columns]
    if missing:
        raise ValueError(f"rows must have the columns {', '.join(names)}; missing: {missing[0]}.")
    return np.column_stack([columns[name].astype(np.float64) for name in names])
