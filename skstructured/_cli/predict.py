"""Print a prediction for each row of FILE, as CSV with a header: "> predictions.csv" keeps them.
Models of --qid print a score for each row, and those of --choice its probability, and 1 for the
likeliest row of each choice.

MODEL is what "python -m skstructured TABLE --save MODEL" kept. FILE has the same columns, in any
order, with or without the target: CSV, JSON lines, Parquet, svmlight, of any size; - is standard
input.
"""

import argparse
import sys
import warnings
from types import SimpleNamespace

import numpy as np

from skstructured._cli.files import SVMLIGHT, ends_with, frames, load_pandas
from skstructured._cli.options import names
from skstructured._cli.tables import PART, check_columns, encoded, rounds_of, svmlight_labels
from skstructured.checkpoints import load_checkpoint
from skstructured.items import ConditionalLogit, ItemStructuredPredictor, ListwiseRanker
from skstructured.streaming import svmlight_chunks
from skstructured.streaming.table_encoder import TableEncoder

#: Learners of choices; spaces whose probabilities have a column for each class or label.
CHOICES, TASKS = (ConditionalLogit, ItemStructuredPredictor), ("multiclass", "multilabel")


def predict(arguments):
    """Print a prediction for each row of a file, as CSV with a header.

    Raises
    ------
    OSError, ValueError, ImportError
        As `load_checkpoint`, the readers and the model do.
    """
    kind = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "python -m skstructured predict", None, __doc__, formatter_class=kind
    )
    parser.add_argument("MODEL", help="what --save kept")
    parser.add_argument("FILE", help="rows to predict")
    what = "print the probabilities of all classes, or of each label, too"
    parser.add_argument("--proba", action="store_true", help=what)
    what = "columns of FILE to print before the prediction, such as an id"
    parser.add_argument("--keep", metavar="COL[,COL…]", type=names, default=[], help=what)
    what = "take cells that should be numbers or dates and are not as missing"
    parser.add_argument("--bad-cells", choices=("missing",), help=what)
    _print_table(parser.parse_args(arguments))


def _print_table(options):
    """Print the kept columns and the predictions, part by part."""
    model, notes, pd, header = load_checkpoint(options.MODEL), [], load_pandas(), True
    learner, encoder = model, None
    if hasattr(model, "steps"):
        learner, encoder = model[-1], model[0] if isinstance(model[0], TableEncoder) else None
    labels = _labels(model, learner) if options.proba else []
    bare = model if encoder is None else model[1:]
    for kept, X, given in _parts(pd, model, learner, encoder, options, notes):
        found = _predicted(pd, bare, learner, labels, X, given)
        table = pd.concat([kept.reset_index(drop=True), *found], axis=1)
        table.to_csv(sys.stdout, header=header, index=False, lineterminator="\n")
        header = False
    if header:  # there are no rows
        print(*options.keep, *_names(learner), *labels, sep=",")
    for note in notes:
        print(f"note: {note}", file=sys.stderr)


def _columns(learner, kind, width=0):
    """Names of columns of predictions or probabilities of this `width`, if there are several."""
    labels = getattr(getattr(learner, "space_", None), "label_names_", None)
    return [f"{kind}_{label}" for label in labels or range(width)]


def _names(learner, width=0):
    """Names of the columns of predictions, of this `width` if they have several."""
    if isinstance(learner, CHOICES):
        return ["probability", "chosen"]
    plain = "score" if isinstance(learner, ListwiseRanker) else "prediction"
    return _columns(learner, "prediction", width) or [plain]


def _labels(model, learner):
    """Names of the columns of probabilities; a ValueError for a model that has none of them."""
    task = getattr(getattr(learner, "space_", None), "task", None)
    if task not in TASKS or not hasattr(model, "predict_proba"):
        raise ValueError(
            "--proba is for models of classes or labels that have probabilities, and "
            f"{type(learner).__name__} of this file has none."
        )
    if task == "multiclass":
        return [f"probability_{label}" for label in model.classes_]
    return _columns(learner, "probability", learner.space_.dim_)


def _predicted(pd, model, learner, labels, X, given):
    """Frames of predictions, and of probabilities if they are asked for."""
    is_choice = isinstance(learner, CHOICES)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # columns were found by their names
        y = np.asarray(model.predict(X, **given))
        proba = np.asarray(model.predict_proba(X, **given)) if labels or is_choice else None
    if is_choice:
        return [pd.DataFrame(dict(zip(_names(learner), (proba, y), strict=True)))]
    found = [pd.DataFrame(y, columns=_names(learner, y.shape[1] if y.ndim > 1 else 0))]
    return [*found, pd.DataFrame(proba, columns=labels)] if labels else found


def _parts(pd, model, learner, encoder, options, notes):
    """Yield columns that are kept, rows that the model takes, and their rounds, part by part."""
    path = options.FILE
    if ends_with(path, SVMLIGHT):
        if options.keep or hasattr(model, "feature_names_in_"):
            what = "--keep does" if options.keep else "the model's rows have"
            raise ValueError(f"{path} has no names of columns, and {what}.")
        zero_based = svmlight_labels(path)[0]
        for X, _ in svmlight_chunks(path, model.n_features_in_, zero_based=zero_based):
            yield pd.DataFrame(index=range(X.shape[0])), X, {}
        return
    is_choice = isinstance(learner, CHOICES)  # whose rows may stand in any order
    name = getattr(learner, "round_column_", None)
    if is_choice and name is None:
        raise ValueError(
            "the model does not say in which column choices have their names, for --save did not "
            "keep it: predict in Python, with qid=."
        )
    for frame in frames(path, size=None if is_choice else PART, notes=notes):
        check_columns(path, frame, options.keep)
        given = {"qid": rounds_of(path, frame, name)} if is_choice else {}
        X = encoded(encoder or _numbers(model, frame), frame, path, options.bad_cells)
        yield frame[options.keep], X, given


def _numbers(model, frame):
    """What makes rows of columns of numbers."""
    names = list(getattr(model, "feature_names_in_", frame.columns))
    missing = [name for name in names if name not in frame]
    if missing:
        raise ValueError(f"rows must have the columns {', '.join(names)}; missing: {missing[0]}.")
    return SimpleNamespace(
        columns_=[{"column": name, "taken for": "number"} for name in names],
        transform=lambda frame: frame[names].astype(np.float64).to_numpy(),
    )
