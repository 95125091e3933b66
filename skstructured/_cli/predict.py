"""``python -m skstructured predict MODEL FILE``: a kept model, and new rows of its table."""

import csv
import sys
import warnings

import numpy as np

from skstructured._cli.files import PARQUET, SVMLIGHT, ends_with, parquet_parts, text_chunks
from skstructured._cli.stream_file import svmlight_width
from skstructured._cli.stream_table import PART
from skstructured.checkpoints.files import load_checkpoint
from skstructured.streaming._files import svmlight_chunks

USAGE = "usage: python -m skstructured predict MODEL FILE"

HELP = f"""\
{USAGE}

Print a prediction for each row of FILE, as CSV with a header: "> predictions.csv" keeps them.

MODEL is what "python -m skstructured TABLE --save MODEL" kept. FILE has the same columns, in any
order, with or without the target: CSV, JSON lines, Parquet, svmlight, of any size; - is standard
input.
"""


def predict(arguments):
    """Print a prediction for each row of a file, as CSV with a header.

    MODEL is what ``--save`` kept; FILE is CSV, JSON lines, Parquet or svmlight with the same
    columns, in any order, with or without the target, and of any size.

    Raises
    ------
    OSError, ValueError, ImportError
        For arguments that are not two, and as `load_checkpoint`, the readers and the model do.
    """
    if {"-h", "--help"} & set(arguments):
        print(HELP, end="")
        return
    if len(arguments) != 2:
        raise ValueError(f"predict takes a model and a file, got {len(arguments)} names. {USAGE}")
    model, path = load_checkpoint(arguments[0]), arguments[1]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    for number, part in enumerate(_parts(model, path)):
        y = _predicted(model, part)
        wide = y.reshape(len(y), -1)
        if not number:
            names = [f"prediction_{j}" for j in range(wide.shape[1])]
            writer.writerow(names if y.ndim > 1 else ["prediction"])
        writer.writerows(wide.tolist())


def _parts(model, path):
    """Parts of a file: columns by their names, or rows of a svmlight file."""
    if not ends_with(path, SVMLIGHT):
        is_parquet = ends_with(path, PARQUET)
        return parquet_parts(path, PART) if is_parquet else text_chunks(path, size=PART)
    if hasattr(model, "feature_names_in_"):
        raise ValueError(f"{path} has no names of columns, and the model's rows have.")
    zero_based = svmlight_width(path)[0]
    return (X for X, _ in svmlight_chunks(path, model.n_features_in_, zero_based=zero_based))


def _predicted(model, part):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # columns were found by their names
        return np.asarray(model.predict(_rows(model, part) if isinstance(part, dict) else part))


def _rows(model, columns):
    """What the model takes: the columns, of one with an encoder, else an array of numbers."""
    if hasattr(model, "steps"):
        return columns
    names = getattr(model, "feature_names_in_", list(columns))
    missing = [name for name in names if name not in columns]
    if missing:
        raise ValueError(f"rows must have the columns {', '.join(names)}; missing: {missing[0]}.")
    return np.column_stack([_numbers(name, columns[name]) for name in names])


def _numbers(name, column):
    try:
        return column.astype(np.float64)
    except ValueError as error:
        raise ValueError(f"column {name!r} must hold numbers: {error}.") from error
