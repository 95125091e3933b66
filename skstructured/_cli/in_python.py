"""The lines of Python that make the model of the command line."""

import re
from pathlib import Path

import skstructured
from skstructured._cli.files import PARQUET, dialect, ends_with

IMPORTS = ("import pandas as pd", "from sklearn.pipeline import make_pipeline")


def python_lines(table, learner, options):
    """Lines that, pasted into Python, read the file and make the model that ``--save`` keeps."""
    if table.encoder is None:
        return
    target = table.targets[0] if len(table.targets) == 1 else list(table.targets)
    rounds = getattr(table, "round", None)  # of items
    others = target if rounds is None else [target, rounds]
    if options.columns or options.ignore:
        features = f"frame[{list(table.encoder.feature_names_in_)!r}]"
    else:
        features = f"frame.drop(columns={others!r})"
    shown = re.sub(r"\s*\n\s*", " ", repr(learner))
    lines = [
        *IMPORTS,
        *_imported(type(learner)),
        f"frame = {_read(options.file or options.data, options.delimiter)}",
        f"model = make_pipeline(TableEncoder(), {shown})",
        f"model.fit({features}, frame[{target!r}]{_asked(learner, rounds)})",
    ]
    for j, line in enumerate(lines):
        yield f"{'' if j else 'In Python':17}{line}"


def _asked(learner, rounds):
    """The argument that says which items are of one round."""
    return "" if rounds is None else f", {type(learner).__name__.lower()}__qid=frame[{rounds!r}]"


def _imported(kind):
    if hasattr(skstructured, kind.__name__):
        return [f"from skstructured import {kind.__name__}, TableEncoder"]
    return [
        f"from {kind.__module__} import {kind.__name__}",
        "from skstructured import TableEncoder",
    ]


def _read(path, delimiter):
    """How pandas reads a file as the command line does."""
    if str(path) == "-":
        return "pd.read_csv('FILE.csv')"
    path = Path(path).as_posix()
    if ends_with(path, PARQUET):
        return f"pd.read_parquet({path!r})"
    found = dialect(path, delimiter)
    if found is None:
        return f"pd.read_json({path!r}, lines=True)"
    return f"pd.read_csv({path!r}{''.join(f', {key}={value!r}' for key, value in found.items())})"
