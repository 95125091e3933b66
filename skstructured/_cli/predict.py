"""``python -m skstructured predict MODEL FILE``: a kept model, and new rows of its table."""

import csv
import sys
import warnings

import numpy as np

from skstructured._cli.files import PARQUET, ends_with, parquet_parts, text_chunks
from skstructured._cli.items_table import rounds_of, whole_rounds
from skstructured._cli.stream_table import PART, is_large
from skstructured.checkpoints.files import load_checkpoint
from skstructured.items import ConditionalLogit, ItemStructuredPredictor, ListwiseRanker

USAGE = "usage: python -m skstructured predict MODEL FILE"


def predict(arguments):
    """Print a prediction for each row of a file, as CSV with a header.

    MODEL is what ``--save`` kept; FILE is CSV, JSON lines or Parquet with the same columns, in any
    order, with or without the target, and of any size. Models of choices need the column that says
    which rows belong together.

    Raises
    ------
    OSError, ValueError, ImportError
        For arguments that are not two, and as `load_checkpoint`, the readers and the model do.
    """
    if len(arguments) != 2:
        raise ValueError(f"predict takes a model and a file, got {len(arguments)} names. {USAGE}")
    model, path = load_checkpoint(arguments[0]), arguments[1]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    told = _of_choices(model, path) if _is_of_choices(model) else _of_rows(model, path)
    for number, (names, rows) in enumerate(told):
        if not number:
            writer.writerow(names)
        writer.writerows(rows)


def _parts(path, size):
    """Columns of a file, `size` rows at a time."""
    is_parquet = ends_with(path, PARQUET)
    return parquet_parts(path, size) if is_parquet else text_chunks(path, size=size)


def _of_rows(model, path):
    """Names of what is predicted of each row, and rows of it, part by part."""
    ranks = isinstance(_last(model), ListwiseRanker)
    for columns in _parts(path, PART):
        y = _called(model.predict, _rows(model, columns))
        wide = y.reshape(len(y), -1)
        names = [f"prediction_{j}" for j in range(wide.shape[1])]
        yield names if y.ndim > 1 else ["score" if ranks else "prediction"], wide.tolist()


def _last(model):
    """The learner of a model."""
    return model[-1] if hasattr(model, "steps") else model


def _is_of_choices(model):
    return isinstance(_last(model), (ConditionalLogit, ItemStructuredPredictor))


def _of_choices(model, path):
    """The same of alternatives: probabilities, and 1 for the likeliest of each round."""
    name = getattr(_last(model), "round_column_", None)
    if name is None:
        raise ValueError(
            "the model does not know which column says what rows belong together, for --save did "
            "not keep it: predict in Python, with qid=."
        )
    for columns in whole_rounds(_parts(path, PART), path, name, is_large(path)):
        given = _rows(model, columns), rounds_of(path, columns, name)
        proba, marks = (
            _called(method, given[0], qid=given[1])
            for method in (model.predict_proba, model.predict)
        )
        yield ["probability", "chosen"], list(zip(proba.tolist(), marks.tolist(), strict=True))


def _called(method, rows, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # columns were found by their names
        return np.asarray(method(rows, **given))


def _rows(model, columns):
    """What the model takes: the columns, of one with an encoder, else an array of numbers."""
    if hasattr(model, "steps"):
        return columns
    names = getattr(model, "feature_names_in_", list(columns))
    missing = [name for name in names if name not in columns]
    if missing:
        raise ValueError(f"rows must have the columns {', '.join(names)}; missing: {missing[0]}.")
    return np.column_stack([columns[name].astype(np.float64) for name in names])
