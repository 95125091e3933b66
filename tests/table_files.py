"""What tests of the command line share."""

import io
from types import SimpleNamespace

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

from skstructured.__main__ import main
from skstructured._cli.tables import read


def load(path, target=None, space=None, **more):
    """The table of a file, as the command line reads it."""
    given = {"target": target, "space": space, "delimiter": None, "columns": None, "order": None}
    given |= {"qid": None, "choice": None, "bad_cells": None, "file": str(path)} | more
    return read(SimpleNamespace(**given))


def said(capsys, *arguments):
    """What a run prints, line by line; it must end well."""
    assert main([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out.splitlines()


def refused(capsys, *arguments):
    """The one line of an error; nothing else is printed."""
    assert main([str(argument) for argument in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and err.count("\n") == 1
    return err


def predicted(capsys, *arguments):
    """What ``predict`` prints, as a frame."""
    return pd.read_csv(io.StringIO("\n".join(said(capsys, "predict", *arguments))))


def one(lines, start):
    """The one line that begins so."""
    (line,) = [line for line in lines if line.startswith(start)]
    return line


def written(folder, frame, name="t.csv"):
    """The path of a new file with a frame, in the format of its name."""
    path = str(folder / name)
    if name.endswith(".parquet"):
        frame.to_parquet(path)
    elif name.endswith(".jsonl"):
        frame.to_json(path, orient="records", lines=True, date_format="iso")
    else:
        frame.to_csv(path, index=False, sep="\t" if name.endswith(".tsv") else ",")
    return path


def iris():
    """Four numbers and a word, the class."""
    X, y = load_iris(return_X_y=True)
    return pd.DataFrame(X, columns=list("abcd")).assign(kind=[f"kind {k}" for k in y])


def people(n=240):
    """Ages with gaps, words with gaps, and days, which decide what was saved and paid."""
    rng = np.random.RandomState(1)
    frame = pd.DataFrame({"age": np.where(rng.rand(n) < 0.2, np.nan, rng.gamma(6.0, 5.0, n))})
    frame["sex"] = rng.choice(["male", "female", None], n)
    frame["day"] = (pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.randint(0, 90, n), "D")).date
    frame["paid"] = 10.0 * frame["age"].fillna(30) + rng.standard_t(2, n).round(2)
    frame["saved"] = np.where((frame["sex"] == "female") ^ (rng.rand(n) < 0.1), "yes", "no")
    return frame


def homes(n=400):
    """Areas with gaps and towns, which decide the price, and whether it is dear."""
    rng = np.random.RandomState(0)
    frame = pd.DataFrame({"area": np.where(rng.rand(n) < 0.1, np.nan, rng.randint(20, 200, n))})
    frame["town"] = rng.choice(["Ulm", "Kiel", "Bonn"], n)
    frame["price"] = 2000.0 * frame["area"].fillna(100) + 50000.0 * (frame["town"] == "Ulm")
    frame["price"] += 0.25 + (5000 * rng.standard_t(2, n)).round()
    frame["dear"] = np.where(frame["price"] > 250000, "yes", "no")
    return frame
