"""How the command line begins and ends: compiling, a baseline, the next command to try."""

import shlex

import numpy as np
import pytest
from sklearn.datasets import load_digits
from test_command_line_summary import iris_csv, iris_lines, percents, said, validated, write

from skstructured._cli.read import Table, load_text
from skstructured._cli.report import baseline_loss, shuffled
from skstructured.spaces import SPACES

__all__ = ["iris_csv", "iris_lines"]  # fixtures


def best_constant_loss(space, y):
    """The least mean target loss of one answer for all rows, by trying every answer there is."""
    fitted = SPACES[space]().fit(y)
    everything = fitted.decode(fitted.vertices())
    return min(
        fitted.target_loss(np.repeat(everything[i : i + 1], len(y), axis=0), y).mean()
        for i in range(len(everything))
    )


@pytest.mark.parametrize("space", ["simplex", "hypercube", "ordinal", "birkhoff"])
def test_the_baseline_is_the_best_answer_that_is_always_the_same(space):
    rng = np.random.RandomState(4)
    y = {
        "simplex": rng.choice([2, 5, 9], size=40, p=[0.2, 0.5, 0.3]),
        "hypercube": (rng.rand(40, 3) < [0.2, 0.6, 0.9]).astype(int),
        "ordinal": rng.choice([1, 2, 3, 7], size=41, p=[0.3, 0.1, 0.1, 0.5]),
        "birkhoff": np.array([rng.permutation(3) for _ in range(40)]),
    }[space]
    assert baseline_loss(space, y) == pytest.approx(best_constant_loss(space, y))


def test_the_baseline_of_rankings_goes_by_mean_ranks():
    y = np.array([[1, 2, 3], [1, 3, 2], [1, 3, 2], [2, 1, 3]])
    space = SPACES["permutahedron"]().fit(y)
    always = np.repeat([[1, 2, 3]], 4, axis=0)  # mean ranks 1.25, 2.25, 2.5
    assert baseline_loss("permutahedron", y) == pytest.approx(space.target_loss(always, y).mean())


def test_the_accuracy_stands_beside_a_baseline_and_the_next_command_at_the_end(iris_csv, capsys):
    lines = said(capsys, iris_csv, "--seed", "2")
    table = shuffled(load_text(iris_csv, None, "simplex"), 2)
    losses = validated(table, seed=2).expected_target_loss
    label, told = lines[4][:17], percents(lines[4])
    assert label == "Accuracy         " and "always the most frequent class" in lines[4]
    assert told == pytest.approx([1 - losses.mean(), 1 - losses[75:].mean(), 1 / 3], abs=6e-4)
    assert lines[-1] == f"Next             python -m skstructured {iris_csv} --seed 2 --save model"


def test_the_next_command_runs(iris_csv, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("skops")
    given = shlex.split(said(capsys, iris_csv)[-1])[4:]
    last = shlex.split(said(capsys, *given)[-1])
    assert (tmp_path / "model").exists()
    assert last[:3] == ["Next", "python", "-m"] and last[-2:] == [">", "predictions.csv"]
    given = [iris_csv if word == "NEW_FILE" else word for word in last[4:-2]]
    assert given == ["predict", "model", iris_csv]
    assert len(said(capsys, *given)) == 151


def test_the_next_command_installs_what_is_missing(iris_csv, monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    last = said(capsys, iris_csv)[-1]
    assert last.startswith("Next             pip install skops && python -m skstructured ")


def test_without_a_file_the_next_command_is_about_one(capsys, monkeypatch):
    few = load_text_of_few_digits()
    monkeypatch.setattr("skstructured._cli.learn.load_digits_stream", lambda space: few)
    assert said(capsys)[-1] == "Next             python -m skstructured FILE.csv"


def load_text_of_few_digits():
    X, y = load_digits(return_X_y=True)
    return Table(X[:50], y[:50], "digits")


def test_a_label_set_has_a_baseline_in_its_own_unit(tmp_path, capsys):
    lines = [(i, int(i % 4 == 0), int(i % 5 > 0)) for i in range(40)]
    path = write(tmp_path / "sets.csv", "xuv", lines)
    told = said(capsys, path, "--target", "u,v", "--space", "hypercube")
    assert percents(told[4])[0] == pytest.approx((0.25 + 0.2) / 2, abs=6e-4)
    assert told[4].startswith("Baseline") and "of labels wrong" in told[4]
    assert percents(told[4])[1] == percents(told[3])[0]
    assert "--target u,v --space hypercube --save model" in told[-1]
