"""Tables through the command line: learned from a CSV file, predicted from another."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
import psutil

COMMAND = (sys.executable, "-W", "ignore", "-m", "skstructured")


def run(*words):
    """What the command prints, and its largest memory in MB, looked at 50 times a second."""
    memory = 0
    with tempfile.TemporaryFile("w+", encoding="utf-8") as printed:
        process = psutil.Popen([*COMMAND, *words], stdout=printed, stderr=subprocess.DEVNULL)
        while process.poll() is None:
            memory = max(memory, process.memory_info().rss)
            time.sleep(0.02)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, words)
        printed.seek(0)
        return printed.read(), memory / 2**20


def learned(train, test, folder):
    """Predictions for the rows of a file, seconds of learning, largest memory, and the screen."""
    model, started = str(Path(folder) / "model"), time.perf_counter()
    screen, memory = run(str(train), "--target", "y", "--save", model)
    seconds = time.perf_counter() - started
    said, more = run("predict", model, str(test))
    (Path(folder) / "said.csv").write_text(said, encoding="utf-8")
    return (
        pd.read_csv(Path(folder) / "said.csv").iloc[:, -1].to_numpy(),
        seconds,
        max(memory, more),
        screen,
    )


def judged_by_command(X, y, train, test):
    """Accuracy in % on rows `test` of a frame, and seconds, start of the processes included."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("train.csv", "test.csv")]
        X.iloc[train].assign(y=y[train]).to_csv(files[0], index=False)
        X.iloc[test].to_csv(files[1], index=False)
        said, seconds, *_ = learned(*files, folder)
    return 100.0 * (said == y[test]).mean(), seconds
