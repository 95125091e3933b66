"""Print a prediction for each row of FILE, as CSV with a header: "> predictions.csv" keeps them.
Models of --qid print a score for each row, and those of --choice its probability, and 1 for the
likeliest row of each choice.

MODEL is what "python -m skstructured TABLE --save MODEL" kept. FILE has the same columns, in any
order, with or without the target: CSV, JSON lines, Parquet, svmlight, of any size; - is standard
input.
"""

import sys
import warnings

import numpy as np

from skstructured._cli import tables
from skstructured._cli.options import Parser, names
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
    parser = Parser("python -m skstructured predict", __doc__)
    parser.add_argument("MODEL", help="what --save kept")
    parser.add_argument("FILE", help="rows to predict")
    what = "print the probabilities of all classes, or of each label, too"
    parser.add_argument("--proba", action="store_true", help=what)
    what = "columns of FILE to print before the prediction, such as an id"
    parser.add("--keep", "COL[,COL…]", what, type=names, default=[])
    parser.add_bad_cells()
    _print_table(parser.parse_args(arguments))


def _print_table(options):
    """Print the kept columns and the predictions, part by part."""
    model, notes, pd, header = load_checkpoint(options.MODEL), [], tables.load_pandas(), True
    steps = getattr(model, "steps", [(None, model)])
    learner, bare, encoder = steps[-1][1], model, None
    if isinstance(steps[0][1], TableEncoder):
        encoder, bare = steps[0][1], model[1:]
    labels = _labels(model, learner) if options.proba else []
    for kept, X, given in _parts(model, learner, encoder, options, notes):
        found = _predicted(bare, learner, labels, X, given)
        table = pd.concat([kept.reset_index(drop=True), *found], axis=1)
        table.to_csv(sys.stdout, header=header, index=False, lineterminator="\n")
        header = False
    if header:  # there are no rows
        print(*options.keep, *_names(learner), *labels, sep=",")
    for note in notes:
        print(f"note: {note}", file=sys.stderr)


def _names(learner, width=0, kind="prediction"):
    """Names of the columns of predictions or probabilities, of this `width` if several."""
    if isinstance(learner, CHOICES):
        return ["probability", "chosen"]
    labels = getattr(getattr(learner, "space_", None), "label_names_", None) or range(width)
    plain = "score" if isinstance(learner, ListwiseRanker) else kind
    return [f"{kind}_{label}" for label in labels] or [plain]


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
    return _names(learner, learner.space_.dim_, "probability")


def _predicted(model, learner, labels, X, given):
    """Frames of predictions, and of probabilities if they are asked for."""
    is_choice, frame = isinstance(learner, CHOICES), tables.load_pandas().DataFrame
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # columns were found by their names
        y = np.asarray(model.predict(X, **given))
        proba = np.asarray(model.predict_proba(X, **given)) if labels or is_choice else None
    if is_choice:
        return [frame({"probability": proba, "chosen": y})]
    found = [frame(y, columns=_names(learner, y.shape[1] if y.ndim > 1 else 0))]
    return [*found, frame(proba, columns=labels)] if labels else found


def _parts(model, learner, encoder, options, notes):
    """Yield columns that are kept, rows that the model takes, and their rounds, part by part."""
    path = options.FILE
    if tables.ends_with(path, tables.SVMLIGHT):
        if options.keep or hasattr(model, "feature_names_in_"):
            what = "--keep does" if options.keep else "the model's rows have"
            raise ValueError(f"{path} has no names of columns, and {what}.")
        zero_based = tables.svmlight_labels(path)[0]
        for X, _ in svmlight_chunks(path, model.n_features_in_, zero_based=zero_based):
            yield tables.load_pandas().DataFrame(index=range(X.shape[0])), X, {}
        return
    is_choice = isinstance(learner, CHOICES)  # whose rows may stand in any order
    name = getattr(learner, "round_column_", None)
    if is_choice and name is None:
        raise ValueError(
            "the model does not say in which column choices have their names, for --save did not "
            "keep it: predict in Python, with qid=."
        )
    for frame in tables.frames(path, size=None if is_choice else tables.PART, notes=notes):
        tables.check_columns(path, frame, options.keep)
        given = {"qid": tables.rounds_of(path, frame, name)} if is_choice else {}
        if encoder is None:  # all columns are numbers
            features = getattr(model, "feature_names_in_", frame.columns)
            encoder = TableEncoder().fit(dict.fromkeys(features, np.zeros(1)))
        X = tables.encoded(encoder, frame, path, options.bad_cells)
        yield frame[options.keep], X, given
