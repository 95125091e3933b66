"""The command that predicts: a prediction for each row of a file, as CSV with a header."""

import sys
import warnings

import numpy as np

from skstructured import items
from skstructured._cli import files, tables
from skstructured.checkpoints import load_checkpoint
from skstructured.streaming.table_encoder import TableEncoder


def print_table(options):
    """Print a prediction for each row of a file, as CSV with a header."""
    model, notes, header = load_checkpoint(options.MODEL), [], True
    learner = getattr(model, "steps", [(None, model)])[-1][1]
    labels = _probability_columns(model, learner) if options.proba else []
    for passthrough, *rows in _parts(model, learner, options, notes):
        frames = [passthrough.reset_index(drop=True), *_predicted(learner, labels, *rows)]
        table = files.load_pandas().concat(frames, axis=1)
        table.to_csv(sys.stdout, header=header, index=False, lineterminator="\n")
        header = False
    if header:  # there are no rows
        print(*options.keep, *_prediction_columns(learner), *labels, sep=",")
    for note in notes:
        print(f"note: {note}", file=sys.stderr)


def _predicts_choices(learner):
    """Whether a learner chooses an item in each round."""
    return isinstance(learner, (items.ConditionalLogit, items.ItemStructuredPredictor))


def _prediction_columns(learner, width=0, kind="prediction"):
    """Names of the columns of predictions or probabilities, of this `width` if several."""
    if _predicts_choices(learner):
        return ["probability", "chosen"]
    labels = getattr(getattr(learner, "space_", None), "label_names_", None) or range(width)
    is_ranker = isinstance(learner, (items.ListwiseRanker, items.StructuredRanker))
    return [f"{kind}_{label}" for label in labels] or ["score" if is_ranker else kind]


def _probability_columns(model, learner):
    """Names of the columns of probabilities; a ValueError for a model without probabilities."""
    task = getattr(getattr(learner, "space_", None), "task", None)
    if task not in ("multiclass", "multilabel") or not hasattr(model, "predict_proba"):
        needed = "models of classes or labels that have probabilities"
        raise ValueError(f"--proba is only supported for {needed}; got {type(learner).__name__}.")
    if task == "multiclass":
        return [f"probability_{label}" for label in model.classes_]
    return _prediction_columns(learner, learner.space_.dim_, "probability")


def _predicted(learner, labels, model, X, kwargs):
    """Frames of predictions, and of probabilities with ``--proba``."""
    is_choice, frame = _predicts_choices(learner), files.load_pandas().DataFrame
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # columns were found by their names
        y = np.asarray(model.predict(X, **kwargs))
        proba = np.asarray(model.predict_proba(X, **kwargs)) if labels or is_choice else None
    if is_choice:
        return [frame({"probability": proba, "chosen": y})]
    frames = [frame(y, columns=_prediction_columns(learner, y.shape[1] if y.ndim > 1 else 0))]
    return [*frames, frame(proba, columns=labels)] if labels else frames


def _parts(model, learner, options, notes):
    """Yield columns that are kept, a model of numbers, its rows and their rounds, part by part."""
    path, is_choice = options.FILE, _predicts_choices(learner)
    name, encoder = getattr(learner, "round_column_", None), getattr(model, "steps", [(0, 0)])[0][1]
    if is_choice and name is None:
        raise ValueError("Models of choices that --save has not made predict in Python, with qid=.")
    has_encoder = isinstance(encoder, TableEncoder)
    size = None if is_choice else files.LARGE_FILES.rows_per_part
    for frame in files.frames(path, size=size, notes=notes):
        files.check_columns(path, frame, options.keep)
        kwargs = {"qid": tables.rounds_of(path, frame, name)} if is_choice else {}
        if not has_encoder:  # all columns are numbers
            features = getattr(model, "feature_names_in_", frame.columns)
            encoder = TableEncoder().fit(dict.fromkeys(features, np.zeros(1)))
        X = tables.encoded(encoder, frame, path, options.bad_cells)
        yield frame[options.keep], model[1:] if has_encoder else model, X, kwargs
