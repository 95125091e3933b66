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

#: Options, and their help.
PROBA = "print the probabilities of all classes, or of each label, too"
KEEP = "columns of FILE to print before the prediction, such as an id"
BAD_CELLS = "take cells that should be numbers or dates and are not as missing"


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise ValueError(f"{message}. {' '.join(self.format_usage().split())}")


def predict(arguments):
    """Print a prediction for each row of a file, as CSV with a header.

    Raises
    ------
    OSError, ValueError, ImportError
        For arguments that are not two, and as `load_checkpoint`, the readers and the model do.
    """
    given = {"formatter_class": argparse.RawDescriptionHelpFormatter}
    parser = _Parser("python -m skstructured predict", description=__doc__, **given)
    parser.add_argument("MODEL", help="what --save kept")
    parser.add_argument("FILE", help="rows to predict")
    parser.add_argument("--proba", action="store_true", help=PROBA)
    parser.add_argument("--keep", metavar="COL[,COL…]", type=names, default=[], help=KEEP)
    parser.add_argument("--bad-cells", choices=("missing",), help=BAD_CELLS)
    options = parser.parse_args(arguments)
    model, notes, header = load_checkpoint(options.MODEL), [], True
    labels, pd = _labels(model) if options.proba else [], load_pandas()
    for kept, X, given in _parts(pd, model, options, notes):
        found = _predicted(pd, model, labels, X, given)
        table = pd.concat([kept.reset_index(drop=True), *found], axis=1)
        table.to_csv(sys.stdout, header=header, index=False, lineterminator="\n")
        header = False
    if header:  # there are no rows
        print(*options.keep, *_names(model), *labels, sep=",")
    for note in notes:
        print(f"note: {note}", file=sys.stderr)


def _learner(model):
    return model[-1] if hasattr(model, "steps") else model


def _columns(model, kind, width=0):
    """Names of columns of predictions or probabilities of this `width`, if there are several."""
    labels = getattr(getattr(_learner(model), "space_", None), "label_names_", None)
    return [f"{kind}_{label}" for label in labels or range(width)]


def _names(model, width=0):
    """Names of the columns of predictions, of this `width` if they have several."""
    if isinstance(_learner(model), CHOICES):
        return ["probability", "chosen"]
    plain = "score" if isinstance(_learner(model), ListwiseRanker) else "prediction"
    return _columns(model, "prediction", width) or [plain]


def _labels(model):
    """Names of the columns of probabilities; a ValueError for a model that has none of them."""
    space = getattr(_learner(model), "space_", None)
    task = getattr(space, "task", None)
    if task not in TASKS or not hasattr(model, "predict_proba"):
        raise ValueError(
            "--proba is for models of classes or labels that have probabilities, and "
            f"{type(_learner(model)).__name__} of this file has none."
        )
    if task == "multiclass":
        return [f"probability_{label}" for label in model.classes_]
    return _columns(model, "probability", space.dim_)


def _predicted(pd, model, labels, X, given):
    """Frames of predictions, and of probabilities if they are asked for."""
    model = model[1:] if _has_encoder(model) else model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # columns were found by their names
        y = np.asarray(model.predict(X, **given))
        wants = labels or isinstance(_learner(model), CHOICES)
        proba = np.asarray(model.predict_proba(X, **given)) if wants else None
    if isinstance(_learner(model), CHOICES):
        return [pd.DataFrame(dict(zip(_names(model), (proba, y), strict=True)))]
    found = [pd.DataFrame(y, columns=_names(model, y.shape[1] if y.ndim > 1 else 0))]
    return [*found, pd.DataFrame(proba, columns=labels)] if labels else found


def _parts(pd, model, options, notes):
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
    name = getattr(_learner(model), "round_column_", None)
    if isinstance(_learner(model), CHOICES) and name is None:
        raise ValueError(
            "the model does not say in which column choices have their names, for --save did not "
            "keep it: predict in Python, with qid=."
        )
    is_choice = isinstance(_learner(model), CHOICES)  # whose rows may stand in any order
    for frame in frames(path, size=None if is_choice else PART, notes=notes):
        check_columns(path, frame, options.keep)
        given = {"qid": rounds_of(path, frame, name)} if is_choice else {}
        encoder = model[0] if _has_encoder(model) else _numbers(model, frame)
        yield frame[options.keep], encoded(encoder, frame, path, options.bad_cells), given


def _has_encoder(model):
    return hasattr(model, "steps") and isinstance(model[0], TableEncoder)


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
