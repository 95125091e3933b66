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
    is_choice = _predicts_choices(learner)
    if is_choice and not hasattr(learner, "round_column_"):
        raise ValueError("Models of choices that --save has not made predict in Python, with qid=.")
    size = None if is_choice else files.LARGE_FILES.rows_per_part
    for frame in files.frames(options.FILE, size=size, notes=notes):
        files.check_columns(options.FILE, frame, options.keep)
        copied = frame[options.keep].reset_index(drop=True)
        predictions = _predicted(model, learner, labels, frame, options)
        table = files.load_pandas().concat([copied, *predictions], axis=1)
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


def _predicted(model, learner, labels, frame, options):
    """Data frames of the predictions for rows, and of probabilities with ``--proba``."""
    path, is_choice, data_frame = options.FILE, _predicts_choices(learner), type(frame)
    kwargs = {"qid": tables.rounds_of(path, frame, learner.round_column_)} if is_choice else {}
    encoder = getattr(model, "steps", [(None, None)])[0][1]
    if isinstance(encoder, TableEncoder):
        model = model[1:]
    else:  # all columns are numbers
        features = getattr(model, "feature_names_in_", frame.columns)
        encoder = TableEncoder().fit(dict.fromkeys(features, np.zeros(1)))
    X = tables.encoded(encoder, frame, path, options.bad_cells)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # columns were found by their names
        y = np.asarray(model.predict(X, **kwargs))
        proba = np.asarray(model.predict_proba(X, **kwargs)) if labels or is_choice else None
    if is_choice:
        return [data_frame({"probability": proba, "chosen": y})]
    names = _prediction_columns(learner, y.shape[1] if y.ndim > 1 else 0)
    frames = [data_frame(y, columns=names)]
    return [*frames, data_frame(proba, columns=labels)] if labels else frames
