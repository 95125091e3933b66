"""Every example of the gallery runs, fills its pictures, and is right in what its text says."""

import ast
import runpy

import matplotlib
import numpy as np
import pytest
from conftest import INTERPRETED, ROOT, data_directory

matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

FOLDER = ROOT / "docs" / "examples"

#: Name of an example -> its file, in the folder of its task.
EXAMPLES = {path.stem.removeprefix("plot_"): path for path in sorted(FOLDER.glob("*/plot_*.py"))}

#: Those that compare many fits of other libraries.
LONG = ("first_look", "kernel_vs_svm")
CASES = [pytest.param(n, marks=pytest.mark.slow) if n in LONG else n for n in EXAMPLES]

#: Those that read other data if they are available.
WITH_DATA = [name for name, p in EXAMPLES.items() if "SKSTRUCTURED_DATA" in p.read_text("utf-8")]

#: Those that train networks.
WITH_TORCH = [name for name, p in EXAMPLES.items() if "import torch" in p.read_text("utf-8")]


def off_curve(names, model):
    """Mean distance of predictions to the curve."""
    return np.abs(names["found"][model] - names["curve"]).mean()


#: Claims of an example's text, of the names that it leaves.
CLAIMS = {
    "first_fit": lambda names: np.argmax([np.mean(v) for v in names["accuracy"].values()]) == 0,
    "ordinal": lambda names: np.argmin([np.abs(v).mean() for v in names["off"].values()]) == 0,
    "boosting": lambda names: names["late"][0] < 0.6 and names["late"][-1] > 0.9,
    "rank_vectors": lambda names: names["is_corner"].mean() > 0.5,
    "wrong_targets": lambda names: all(
        (values[2].mean() > 2.0 * values[0].mean()) == ("Ridge" in name)
        for name, values in names["error"].items()
    ),
    "matchings": lambda names: np.abs(names["P"].sum(axis=1) - 1).max() < 1e-9,
    "dependency_trees": lambda names: names["curve"][-1][0] < names["curve"][-1][1],
    "sequences": lambda names: np.argmax(names["right"]) == 1,
    "network": lambda names: (
        max(names["curve"][-5:]) < names["linear"]
        and names["pair"].diagonal().min() > names["pair"].mean()
    ),
    "words": lambda names: 2 * names["wrong"]["in a chain"].sum() < names["wrong"]["alone"].sum(),
    "outliers": lambda names: (
        off_curve(names, 'PiSTOLRegressor("rbf")') < 0.2 * off_curve(names, "KernelRidge, tuned")
    ),
    "risk_certificate": lambda names: names["failed"] <= 0.05 * len(names["bounds"]),
    "parameter_free": lambda names: (
        names["error"] < min(names["errors"]) + 0.01 and names["without"] <= names["tuned"]
    ),
    "folklore_vs_newton": lambda names: (
        sum(min(newton) < own + 0.005 for *newton, own in names["bits"].values()) == 1
    ),
    "bandit": lambda names: np.mean(names["earned"]["BanditronClassifier"]) > 2 / 8,
    "losses": lambda names: sum(name.endswith("*") for name in names["losses"]) == 4,
    "shards": lambda names: (
        np.all(names["merged"][1] <= names["single"][1] + 1e-12)
        and np.all(names["merged"][0][3:] > names["single"][0][3:])
    ),
    "moving_stream": lambda names: (
        names["accuracy"]["mixture (default)"] > names["accuracy"]["one optimizer, averaged"] + 0.1
        and names["leads"][19, : names["half"]].sum() < 0.5
        and np.all(names["leads"][[24, 44, 64], : names["half"]].sum(axis=1) > 0.5)
    ),
    "travel_mode": lambda names: (
        np.all(np.diff(names["shares"][:, 0]) < 0)
        and np.all(np.diff(names["shares"][:, 1:], axis=0) > 0)
    ),
    "search_results": lambda names: (
        np.mean(names["found"]["ListwiseRanker"]) > np.mean(names["found"]["ridge on grades"])
        and np.mean(names["found"]["random order"]) < names["bound"]
        and names["bound"] < 1.0 - names["late"].mean()
    ),
    "shortest_paths": lambda names: (
        names["mean"]["costs predicted"][0] < names["mean"]["paths learned"][0]
        and np.all(names["mean"]["paths learned"][3:] < names["mean"]["costs predicted"][3:])
    ),
    "table": lambda names: 0.2 < names["wrong"] < names["bound"] < 0.4,
    "out_of_core": lambda names: np.array_equal(names["at_once"].coef_, names["pieces"].coef_),
}


def run(name, monkeypatch, folder):
    """Names that the example leaves; it may show nothing and write nothing."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(plt, "show", lambda: None)
    try:
        names = runpy.run_path(str(EXAMPLES[name]))
        figures = [plt.figure(number) for number in plt.get_fignums()]
        assert figures and all(ax.has_data() for figure in figures for ax in figure.axes)
    finally:
        plt.close("all")
    assert not list(folder.iterdir())
    return names


@pytest.mark.short("first_fit")
@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.exhaustive
def test_example_runs_and_is_right(name, monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("SKSTRUCTURED_DATA", raising=False)
    if name in WITH_TORCH:
        pytest.importorskip("torch", reason="torch is not installed")
    names = run(name, monkeypatch, tmp_path)
    printed = capsys.readouterr().out
    assert printed and "nan" not in printed.split()
    assert CLAIMS.get(name, bool)(names)


@pytest.mark.slow
@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
@pytest.mark.skipif(data_directory() is None, reason="no data sets: set SKSTRUCTURED_DATA")
@pytest.mark.parametrize("name", WITH_DATA)
def test_example_runs_with_real_data(name, monkeypatch, tmp_path):
    monkeypatch.setenv("SKSTRUCTURED_DATA", str(data_directory()))
    run(name, monkeypatch, tmp_path)


def test_the_gallery_can_read_them():
    for name, path in EXAMPLES.items():
        text = path.read_text("utf-8")
        title, rule, *rest = ast.get_docstring(ast.parse(text)).splitlines()
        assert set(rule) == {"="} and len(rule) == len(title) and any(rest), name
        assert "\n# %%\n# " in text and "__main__" not in text, name
