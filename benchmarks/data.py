"""The project's data sets for benchmarks: found as the tests find them, never downloaded."""

import os
from pathlib import Path

import numpy as np


def load(name):
    given = os.environ.get("SKSTRUCTURED_DATA")
    folder = Path(given) if given else Path(__file__).parents[2] / "shared" / "data"
    with np.load(folder / f"{name}.npz", allow_pickle=False) as arrays:
        return dict(arrays)
