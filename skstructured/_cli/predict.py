"""``python -m skstructured predict MODEL FILE``: a kept model, and new rows of its table."""

import csv
import sys
import warnings

import numpy as np

from skstructured._cli.files import PARQUET, SVMLIGHT, ends_with, parquet_parts, text_chunks
from skstructured._cli.items_table import rounds_of, whole_rounds
from skstructured._cli.stream_file import svmlight_width
from skstructured._cli.stream_table import PART, is_large
from skstructured.checkpoints.files import load_checkpoint
from skstructured.items import ConditionalLogit, ItemStructuredPredictor, ListwiseRanker
from skstructured.streaming._files import svmlight_chunks

USAGE = "usage: python -m skstructured predict MODEL FILE [--proba]"

#: The option, and the spaces whose probabilities have a column for each class or label.
PROBA, COLUMNS_OF = "--proba", ("multiclass", "multilabel")

HELP = f"""\
{USAGE}

Print a prediction for each row of FILE, as CSV with a header: "> predictions.csv" keeps them.
Models of --qid print a score for each row, and those of --choice its probability, and 1 for the
likeliest row of each choice. With --proba the probabilities of all classes, or of each label,
stand behind the prediction.

MODEL is what "python -m skstructured TABLE --save MODEL" kept. FILE has the same columns, in any
order, with or without the target: CSV, JSON lines, Parquet, svmlight, of any size; - is standard
input.
"""


def predict(arguments):
    """Print a prediction for each row of a file, as CSV with a header.

    MODEL is what ``--save`` kept; FILE is CSV, JSON lines, Parquet or svmlight with the same
    columns, in any order, with or without the target, and of any size. Models of choices need the
    column that says which rows are of one choice. With ``--proba`` the probabilities of classes or
    labels stand behind the prediction.

    Raises
    ------
    OSError, ValueError, ImportError
        For arguments that are not two, and as `load_checkpoint`, the readers and the model do.
    """
    if {"-h", "--help"} & set(arguments):
        print(HELP, end="")
        return
    likely, names = PROBA in arguments, [name for name in arguments if name != PROBA]
    if len(names) != 2:
        raise ValueError(f"predict takes a model and a file, got {len(names)} names. {USAGE}")
    model, path = load_checkpoint(names[0]), names[1]
    labels = _labels(model) if likely else None
    writer = csv.writer(sys.stdout, lineterminator="\n")
    told = _of_choices(model, path) if _is_of_choices(model) else _of_rows(model, path, labels)
    for number, (names, rows) in enumerate(told):
        if not number:
            writer.writerow(names)
        writer.writerows(rows)


def _labels(model):
    """Names of the columns of probabilities; a ValueError for a model that has none of them."""
    space = getattr(_last(model), "space_", None)
    if getattr(space, "task", None) not in COLUMNS_OF or not hasattr(model, "predict_proba"):
        raise ValueError(
            f"{PROBA} is for models of classes or labels that have probabilities, and "
            f"{type(_last(model)).__name__} of this file has none."
        )
    labels = model.classes_ if space.task == "multiclass" else range(space.dim_)
    return [f"probability_{label}" for label in labels]


def _of_rows(model, path, labels=None):
    """Names of what is predicted of each row, and rows of it, part by part."""
    ranks = isinstance(_last(model), ListwiseRanker)
    for part in _parts(model, path):
        X = _rows(model, part) if isinstance(part, dict) else part
        y = _called(model.predict, X)
        wide = y.reshape(len(y), -1)
        names = [f"prediction_{j}" for j in range(wide.shape[1])]
        names = names if y.ndim > 1 else ["score" if ranks else "prediction"]
        if labels is None:
            yield names, wide.tolist()
        else:
            proba = _called(model.predict_proba, X)
            yield names + labels, [[*one, *p] for one, p in zip(wide, proba, strict=True)]


def _parts(model, path):
    """Parts of a file: columns by their names, or rows of a svmlight file."""
    if not ends_with(path, SVMLIGHT):
        is_parquet = ends_with(path, PARQUET)
        return parquet_parts(path, PART) if is_parquet else text_chunks(path, size=PART)
    if hasattr(model, "feature_names_in_"):
        raise ValueError(f"{path} has no names of columns, and the model's rows have.")
    zero_based = svmlight_width(path)[0]
    return (X for X, _ in svmlight_chunks(path, model.n_features_in_, zero_based=zero_based))


def _last(model):
    """The learner of a model."""
    return model[-1] if hasattr(model, "steps") else model


def _is_of_choices(model):
    return isinstance(_last(model), (ConditionalLogit, ItemStructuredPredictor))


def _of_choices(model, path):
    """The same of alternatives: probabilities, and 1 for the likeliest of each choice."""
    name = getattr(_last(model), "round_column_", None)
    if name is None:
        raise ValueError(
            "the model does not say in which column choices have their names, for --save did not "
            "keep it: predict in Python, with qid=."
        )
    for columns in whole_rounds(_parts(model, path), path, name, is_large(path)):
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
    return np.column_stack([_numbers(name, columns[name]) for name in names])


def _numbers(name, column):
    try:
        return column.astype(np.float64)
    except ValueError as error:
        raise ValueError(f"column {name!r} must hold numbers: {error}.") from error
