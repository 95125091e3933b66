"""What tests of the command line share."""

import io
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from conftest import INTERPRETED
from sklearn.datasets import load_iris

from skstructured.__main__ import main
from skstructured._cli.files import first_rows
from skstructured._cli.tables import read

compiled = pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")


def load(path, target=None, space=None, **more):
    """The table of a file, as the command line reads it."""
    given = {"target": target, "space": space, "delimiter": None, "columns": None, "order": None}
    given |= {"qid": None, "choice": None, "bad_cells": None, "file": str(path)}
    given |= dict.fromkeys(["numbers", "categories", "dates"]) | more
    options = SimpleNamespace(**given)
    return read(options, first_rows(options))


class CommandLine:
    """Runs of the command; a frame among the arguments is a file that is written at once."""

    def __init__(self, folder, capsys):
        self.folder, self.capsys, self.model = folder, capsys, str(folder / "model")

    def written(self, frame, name="t.csv"):
        """The path of a new file with a frame, in the format of its name, or with a text."""
        path = str(self.folder / name)
        if isinstance(frame, (str, bytes)):
            Path(path).write_bytes(frame if isinstance(frame, bytes) else frame.encode())
        elif name.endswith(".parquet"):
            frame.to_parquet(path)
        elif name.endswith(".jsonl"):
            frame.to_json(path, orient="records", lines=True, date_format="iso")
        else:
            frame.to_csv(path, index=False, sep="\t" if name.endswith(".tsv") else ",")
        return path

    def _run(self, arguments, status):
        given = [self.written(a) if isinstance(a, pd.DataFrame) else str(a) for a in arguments]
        assert main(given) == status
        return self.capsys.readouterr()

    def said(self, *arguments):
        """What a run prints, line by line; it must end well."""
        return self._run(arguments, 0).out.splitlines()

    def refused(self, *arguments):
        """The one line of an error; nothing else is printed."""
        out, err = self._run(arguments, 2)
        assert out == "" and err.startswith("error: ") and err.count("\n") == 1
        return err

    def kept(self, *arguments):
        """What a run prints that keeps its model."""
        return self.said(*arguments, "--save", self.model)

    def predicted(self, *arguments):
        """What ``predict`` prints, as a frame."""
        told = self.said("predict", self.model, *arguments)
        return pd.read_csv(io.StringIO("\n".join(told)))


def one(lines, start):
    """The one line that begins so."""
    (line,) = [line for line in lines if line.startswith(start)]
    return line


def numbers(line):
    """The numbers of a line, of which the 10 of NDCG@10 is none."""
    found = re.findall(r"(?<![@\w.,])-?\d[\d,]*\.?\d*", line)
    return [float(number.replace(",", "")) for number in found]


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


def results(n=60, seed=0):
    """Results of queries, in no order, with gaps and words; the last query has no grade above 0."""
    rng = np.random.RandomState(seed)
    query = np.repeat(np.arange(n), rng.randint(2, 15, size=n))
    frame = pd.DataFrame({"query": [f"q{i}" for i in query], "match": rng.rand(len(query))})
    frame["age"] = np.where(rng.rand(len(query)) < 0.1, np.nan, rng.gamma(2.0, 90.0, len(query)))
    frame["kind"] = rng.choice(["news", "shop"], len(query))
    liked = 3.0 * frame["match"] + (frame["kind"] == "news") + 0.5 * rng.randn(len(query))
    frame["grade"] = np.clip(liked.round(), 0, 3).astype(int)
    frame.loc[query == n - 1, "grade"] = 0
    return frame.sample(frac=1.0, random_state=1)


def trips(n=200, seed=0):
    """Times and costs of three modes, and which one was chosen; some trips have two modes."""
    rng = np.random.RandomState(seed)
    frame = pd.DataFrame({"trip": np.repeat(np.arange(n), 3), "mode": ["bus", "car", "rail"] * n})
    frame["time"], frame["cost"] = rng.gamma(4.0, 15.0, 3 * n), rng.gamma(3.0, 2.0, 3 * n)
    liked = -0.05 * frame["time"] - 0.4 * frame["cost"] + rng.gumbel(size=3 * n)
    frame["chosen"] = (liked == liked.groupby(frame["trip"]).transform("max")).astype(int)
    frame = frame.drop(index=range(0, 3 * n, 30)).reset_index(drop=True)
    return frame[frame.groupby("trip")["chosen"].transform("sum") == 1]
