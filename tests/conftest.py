import os
from pathlib import Path

import kept_code  # noqa: F401  # before numba reads where its code is kept
import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from numba import config as numba_config
from selection import (  # noqa: F401
    PLAIN,
    pytest_collection_modifyitems,
    pytest_report_header,
)

#: Pictures without a screen, in every process that the tests start.
os.environ["MPLBACKEND"] = "Agg"

for _name, _examples in {"short": 15, "exhaustive": 60}.items():
    settings.register_profile(
        _name,
        deadline=None,
        max_examples=15 if numba_config.DISABLE_JIT else _examples,
        derandomize=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


def pytest_configure(config):
    """Fewer examples where exhaustive tests are left out; before the tests are read."""
    settings.load_profile("short" if config.option.markexpr == PLAIN else "exhaustive")


#: The checkout that these tests are of.
ROOT = Path(__file__).parents[1]

#: Interpreted kernels are a thousand times slower: the suite then runs on less data.
INTERPRETED = bool(numba_config.DISABLE_JIT)


def data_directory():
    given = os.environ.get("SKSTRUCTURED_DATA")
    for folder in (given, ROOT.parent / "shared" / "data"):
        if folder and Path(folder).is_dir():
            return Path(folder)
    return None


@pytest.fixture(scope="session")
def load():
    """Arrays of one of the project's data sets, or a skip where they are not there."""
    folder = data_directory()

    def read(name):
        if folder is None or not (folder / f"{name}.npz").exists():
            pytest.skip(f"data set {name} not found: set SKSTRUCTURED_DATA")
        with np.load(folder / f"{name}.npz", allow_pickle=False) as arrays:
            return dict(arrays)

    return read


@pytest.fixture
def rng():
    return np.random.RandomState(0)


@pytest.fixture
def cli(tmp_path, capsys, monkeypatch):
    """Runs of the command line in a folder of their own, which do not say how far they are."""
    from table_files import CommandLine

    monkeypatch.setattr("skstructured._cli.files.SECONDS_TO_PROGRESS", 600.0)
    return CommandLine(tmp_path, capsys)
