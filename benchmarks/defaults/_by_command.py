"""Tables through the command line: learned from a CSV file, predicted from another."""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

COMMAND = (sys.executable, "-W", "ignore", "-m", "skstructured")


def run(*words):
    """What the command prints."""
    done = subprocess.run([*COMMAND, *words], capture_output=True, text=True, check=True)
    return done.stdout


def peak():
    """The largest memory, in MB, of a process that was waited for."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def learned(train, test, folder):
    """Predictions for the rows of a file, seconds of learning, and what the screen said."""
    model, started = str(Path(folder) / "model"), time.perf_counter()
    screen = run(str(train), "--target", "y", "--save", model)
    seconds = time.perf_counter() - started
    said = run("predict", model, str(test))
    (Path(folder) / "said.csv").write_text(said, encoding="utf-8")
    return pd.read_csv(Path(folder) / "said.csv").iloc[:, -1].to_numpy(), seconds, screen


def judged_by_command(X, y, train, test):
    """Accuracy in % on rows `test` of a frame, and seconds, start of the processes included."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("train.csv", "test.csv")]
        X.iloc[train].assign(y=y[train]).to_csv(files[0], index=False)
        X.iloc[test].to_csv(files[1], index=False)
        said, seconds, _ = learned(*files, folder)
    return 100.0 * (said == y[test]).mean(), seconds
