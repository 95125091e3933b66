"""What ``python -m skstructured`` says of a file by default, and the model that it keeps."""

import io
import re
import shlex
import sys

import numpy as np
import pandas as pd
import pytest
from conftest import INTERPRETED
from scipy import sparse
from sklearn.datasets import load_digits
from table_files import homes, iris, load, one, people, refused, said, written

from skstructured import FolkloreClassifier, OnlineStructuredPredictor, TableEncoder
from skstructured.__main__ import main
from skstructured._cli.report import baseline_loss, effects
from skstructured._cli.tables import Table
from skstructured.checkpoints import load_checkpoint
from skstructured.evaluation import progressive_validate, validation
from skstructured.spaces import SPACES

compiled = pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")

RANKINGS = {"birkhoff": 0, "permutahedron": 1}


@pytest.fixture
def iris_csv(tmp_path):
    return written(tmp_path, iris(), "iris.csv")


def percents(line):
    return [float(number) / 100.0 for number in re.findall(r"([\d.]+)%", line)]


def validated(table, seed=0, **parameters):
    model = OnlineStructuredPredictor(decoder="nearest", random_state=seed, **parameters)
    return progressive_validate(model, table.X, table.y, random_state=seed)


@pytest.mark.parametrize(
    "given", [["--in-order"], ["--seed", "1"], []], ids=["in order", "seed 1", "default"]
)
def test_the_summary_is_of_a_progressive_validation(given, iris_csv, capsys):
    """Of the rows in the order of the file, or shuffled by the seed."""
    lines, table, seed = said(capsys, iris_csv, *given), load(iris_csv), len(given) // 2
    order = table if "--in-order" in given else table.in_random_order(seed)
    result, other = validated(order, seed), validated(table.in_random_order(1 - seed), seed)
    halves = [
        [r.expected_target_loss.mean(), r.expected_target_loss[75:].mean()] for r in (result, other)
    ]
    wanted, others = halves
    assert others != pytest.approx(wanted, abs=2e-3)
    assert lines[0] == f"{iris_csv} (150 rows, 4 features), target kind"
    assert lines[2].startswith("While learning")
    assert percents(lines[3]) == pytest.approx(wanted, abs=6e-4)
    accuracy = [1.0 - share for share in wanted]
    assert lines[4].startswith("Accuracy         ")
    assert "always the most frequent class" in lines[4]
    assert percents(lines[4])[:3] == pytest.approx([*accuracy, 1 / 3], abs=6e-4)
    if "--in-order" not in given:  # the classes stand one after the other
        assert percents(lines[5]) == pytest.approx([result.risk_bound(), 0.95], abs=6e-4)
    took = one(lines, "Time")
    assert re.fullmatch(r"Time +[\d.]+ s after [\d.]+ s of reading, [\d,]+ rows a second\.", took)
    words = " ".join([iris_csv, *given])
    assert lines[-1] == f"Next             python -m skstructured {words} --save model"


def test_shuffling_keeps_rows_and_outputs_together(iris_csv):
    table = load(iris_csv)
    mixed = table.in_random_order(3)
    assert (mixed.y != table.y).any()
    pairs = [sorted(zip(X.tolist(), y, strict=True)) for X, y, *_ in (table, mixed)]
    assert pairs[0] == pairs[1]


def test_too_few_rows_have_no_bound(tmp_path, capsys):
    noise = np.random.RandomState(0).randint(2, size=20)
    for y in (np.arange(4) % 2, noise):
        path = written(tmp_path, pd.DataFrame({"x": np.arange(len(y)) % 3, "y": y}))
        assert "New rows         no bound yet: there are too few rows." in said(capsys, path)


def rankings(first, n=30):
    """Two features and the ranks of three items, which they decide."""
    X = np.random.RandomState(0).randn(n, 2).round(3)
    ranks = np.argsort(np.argsort(np.column_stack([X, np.zeros(n)]))) + first
    return X, ranks, pd.DataFrame(np.column_stack([X, ranks]), columns=list("uvxyz"))


@pytest.mark.parametrize("space", RANKINGS)
def test_rankings_have_a_column_an_item(space, tmp_path, capsys):
    X, ranks, frame = rankings(RANKINGS[space])
    path, kept = written(tmp_path, frame), str(tmp_path / "model")
    told = said(capsys, path, "--target", "x,y,z", "--space", space, "--save", kept)
    assert told[0].endswith("(30 rows, 2 features), target x, y, z")
    table = load(path, "x,y,z", space).in_random_order(0)
    losses = validated(table, space=space).expected_target_loss
    assert percents(told[3])[0] == pytest.approx(losses.mean(), abs=6e-4)
    predicted = load_checkpoint(kept).predict(X.astype(str))
    assert predicted.shape == ranks.shape and (predicted == ranks).mean() > 0.6


@pytest.mark.parametrize("space", [*RANKINGS, "hypercube"])
def test_outputs_with_columns_are_numbers(space, tmp_path, capsys):
    path = written(tmp_path, pd.DataFrame({"u": [1, 2], "x": ["a", "b"], "y": ["b", "a"]}))
    wanted = "0 and 1" if space == "hypercube" else "whole numbers"
    assert f"must hold {wanted}" in refused(capsys, path, "--target", "x,y", "--space", space)


def test_a_label_set_has_a_baseline_in_its_own_unit(tmp_path, capsys):
    i = np.arange(40)
    path = written(tmp_path, pd.DataFrame({"x": i, "u": 1 * (i % 4 == 0), "v": 1 * (i % 5 > 0)}))
    told = said(capsys, path, "--target", "u,v", "--space", "hypercube")
    assert percents(told[4])[0] == pytest.approx((0.25 + 0.2) / 2, abs=6e-4)
    assert told[4].startswith("Baseline") and "of labels wrong" in told[4]
    assert percents(told[4])[1] == percents(told[3])[0]
    assert "--target u,v --space hypercube --save model" in told[-1]


def test_the_model_that_is_kept_knows_its_columns(tmp_path, capsys):
    """Frames are read by name, in whatever order; what is missing or no number is named."""
    pytest.importorskip("skops")
    frame = iris()
    frame.insert(4, "colour", np.where(frame["c"] > 2.5, "red", "blue"))
    path, kept = written(tmp_path, frame), str(tmp_path / "model")
    said(capsys, path, "--save", kept, "--passes", "3")
    model, rows, table = load_checkpoint(kept), pd.read_csv(path), load(path)
    alone = OnlineStructuredPredictor(decoder="nearest", max_iter=3, random_state=0)
    expected = alone.fit(table.X, table.y).predict(table.X)
    assert (expected == frame["kind"]).mean() > 0.8 and model[-1].n_iter_ > 1
    cells = rows.iloc[:, :5].to_numpy(object)
    np.testing.assert_array_equal(model.predict(cells), expected)
    np.testing.assert_array_equal(model.predict(cells.astype(str).astype(object)), expected)
    for order in (["kind", "d", "colour", "b", "a", "c"], [*"dcba", "colour"]):
        np.testing.assert_array_equal(model.predict(rows[order]), expected)
    assert model.predict(rows[:1].assign(colour="green"))[0].startswith("kind")
    with pytest.raises(ValueError, match="missing: b, colour"):
        model.predict(rows[[*"acd", "kind"]])
    with pytest.raises(ValueError, match="has 4 features, but TableEncoder is expecting 5"):
        model.predict(rows[[*"abcd"]].to_numpy())
    with pytest.raises(ValueError, match="column 'b' must hold numbers"):
        model.predict(rows.assign(b="red"))


def test_passes_of_the_model_are_the_learners_own_by_default(iris_csv, tmp_path, capsys):
    """What the bound is about, one pass, is kept where it is asked for."""
    pytest.importorskip("skops")
    kept = str(tmp_path / "model")
    lines = said(capsys, iris_csv, "--save", kept)
    model = load_checkpoint(kept)[-1]
    assert model.max_iter == "auto" and model.n_iter_ > 1
    assert lines[-3].startswith(f"Model            {kept}")
    assert lines[-2] == (
        f"Passes           {model.n_iter_}; the bound for new rows is about one, and --passes 1 "
        "keeps that model."
    )
    lines = said(capsys, iris_csv, "--save", kept, "--passes", "1")
    assert (load_checkpoint(kept)[-1].n_iter_, load_checkpoint(kept)[-1].t_) == (1, 150)
    assert "Passes" not in "".join(lines)
    assert main([iris_csv, "--save", kept, "--passes", "0"]) == 2
    assert "max_iter" in capsys.readouterr().err


def test_a_picture_of_the_run(iris_csv, tmp_path, capsys):
    pytest.importorskip("matplotlib").use("agg")
    picture = tmp_path / "run.png"
    assert said(capsys, iris_csv, "--plot", picture)[-2] == f"Picture          {picture}"
    assert picture.read_bytes().startswith(b"\x89PNG")


def best_constant_loss(space, y):
    """The least mean target loss of one answer for all rows, by trying every answer there is."""
    fitted = SPACES[space]().fit(y)
    everything = fitted.decode(fitted.vertices())
    return min(
        fitted.target_loss(np.repeat(everything[i : i + 1], len(y), axis=0), y).mean()
        for i in range(len(everything))
    )


@pytest.mark.parametrize("space", ["simplex", "hypercube", "ordinal", "birkhoff", "permutahedron"])
def test_the_baseline_is_the_best_answer_that_is_always_the_same(space):
    rng = np.random.RandomState(4)
    y = {
        "simplex": rng.choice([2, 5, 9], size=40, p=[0.2, 0.5, 0.3]),
        "hypercube": (rng.rand(40, 3) < [0.2, 0.6, 0.9]).astype(int),
        "ordinal": rng.choice([1, 2, 3, 7], size=41, p=[0.3, 0.1, 0.1, 0.5]),
        "birkhoff": np.array([rng.permutation(3) for _ in range(40)]),
        "permutahedron": np.array([[1, 2, 3], [1, 3, 2], [1, 3, 2], [2, 1, 3]]),
    }[space]
    if space == "permutahedron":  # by mean ranks, 1.25, 2.25, 2.5
        best = SPACES[space]().fit(y).target_loss(np.repeat([[1, 2, 3]], 4, axis=0), y).mean()
    else:
        best = best_constant_loss(space, y)
    assert baseline_loss(SPACES[space](), y) == pytest.approx(best)


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


def test_the_next_command_installs_what_is_missing_and_asks_for_a_file(
    iris_csv, monkeypatch, capsys
):
    X, y = load_digits(return_X_y=True)
    few = Table(X[:50], y[:50], "digits")
    monkeypatch.setattr("skstructured._cli.tables._digits", lambda space: few)
    assert said(capsys)[-1] == "Next             python -m skstructured FILE.csv"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    last = said(capsys, iris_csv)[-1]
    assert last.startswith("Next             pip install skops && python -m skstructured ")


def told(model, X, names, encoder=None):
    """The line about effects, or None; columns are numbers where no encoder is given."""
    made = encoder or TableEncoder().fit(dict.fromkeys(names, np.arange(3.0)))
    return next(effects(model, Table(X, None, "t", made)), None)


class TestEffects:
    def test_of_two_classes_they_have_signs(self):
        rng = np.random.RandomState(0)
        X = rng.randn(500, 4) * [1.0, 100.0, 1.0, 1.0]
        y = np.where(X[:, 0] - 0.005 * X[:, 1] > 0, "yes", "no")
        model = OnlineStructuredPredictor(random_state=0).fit(X, y)
        W = model.coef_[1] - model.coef_[0]
        wanted = np.argsort(-np.abs(W * X.std(axis=0)))[:3]
        assert list(wanted[:2]) == [0, 1]
        for rows in (X, sparse.csr_array(X)):
            line = told(model, rows, "abcd")
            assert re.fullmatch(r"Matters most     a \(\+\), b \(-\), .*, for yes\.", line)
        X[::7, 1] = np.nan
        assert told(model, X, "abcd").startswith("Matters most     a (+), b (-), ")

    def test_of_more_classes_and_of_learners_without_weights(self):
        X = np.random.RandomState(0).randn(300, 3)
        y = np.digitize(X[:, 2], [-0.5, 0.5])
        model = OnlineStructuredPredictor(random_state=0).fit(X, y)
        assert told(model, X, "abc").startswith("Matters most     c, ")
        constant = np.zeros((20, 3))
        assert told(model, constant, "abc") is None
        assert told(object(), X, "abc") is None
        assert told(FolkloreClassifier(), X, "abc") is None

    def test_a_column_is_named_once(self):
        rng = np.random.RandomState(0)
        table = {"sex": rng.choice(["m", "f"], 400), "size": rng.randn(400)}
        encoder = TableEncoder().fit(table)
        X = encoder.transform(table)
        line = told(OnlineStructuredPredictor(random_state=0).fit(X, table["sex"]), X, "", encoder)
        assert line.count("sex_") == 1 and "size (" in line


@compiled
@pytest.mark.parametrize("passes", [None, 3])
def test_a_model_of_rows_in_order_has_learned_them_in_order(passes, tmp_path, capsys):
    pytest.importorskip("skops")
    path, kept = written(tmp_path, people().drop(columns="paid")), str(tmp_path / "model")
    more = [] if passes is None else ["--passes", str(passes)]
    lines = said(capsys, path, "--in-order", "--save", kept, *more)
    assert not any(line.startswith("Passes") for line in lines) or passes
    learner, table = load_checkpoint(kept)[-1], load(path)
    assert (learner.shuffle, learner.max_iter) == (False, passes or 1)
    if passes is None:
        stream = OnlineStructuredPredictor(random_state=0)
        stream.partial_fit(table.X, table.y, classes=np.unique(table.y))
        np.testing.assert_allclose(learner.coef_, stream.coef_)


@compiled
def test_a_copy_of_the_target_is_pointed_out(tmp_path, capsys):
    frame = people()
    frame["alive"] = frame["saved"].map({"yes": 1, "no": 0})
    for y in ("yes", "no"):
        frame.loc[3, "saved"] = y
        lines = said(capsys, written(tmp_path, frame[["age", "alive", "sex", "saved"]]))
        is_copy = (frame["alive"] == (frame["saved"] == "yes")).all()
        careful = "Careful          column 'alive' says the same as the target"
        assert any(line.startswith(careful) for line in lines) == is_copy
    paid = frame["paid"] + np.arange(240) * 1e-3  # no two are the same
    price = frame[["age"]].assign(other=range(240), euros=paid, paid=paid)
    assert "column 'euros' says" in one(said(capsys, written(tmp_path, price)), "Careful")


@compiled
def test_words_have_the_order_that_is_given(tmp_path, capsys):
    pytest.importorskip("skops")
    rng, words, kept = np.random.RandomState(0), ["poor", "fair", "good"], str(tmp_path / "model")
    x = rng.randn(600)
    grade = np.array(words)[np.digitize(x + 0.3 * rng.randn(600), [-0.5, 0.5])]
    path = written(tmp_path, pd.DataFrame({"x": x, "grade": grade}))
    lines = said(capsys, path, "--order", ",".join(words), "--save", kept)
    assert "of the way from one end to the other off" in lines[3]
    assert load_checkpoint(kept).classes_.tolist() == words
    found = said(capsys, "predict", kept, path, "--proba")
    assert found[0] == "prediction,probability_poor,probability_fair,probability_good"
    codes = [words.index(line.split(",")[0]) for line in found[1:]]
    assert np.abs(codes - np.digitize(x, [-0.5, 0.5])).mean() < 0.2


@compiled
def test_signs_need_no_letters_beyond_ascii(tmp_path, monkeypatch):
    """A console or a pipe may have few letters."""
    frame = people().drop(columns="paid").rename(columns={"sex": "Geschlecht–♀"})
    console = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", console)
    assert main([written(tmp_path, frame)]) == 0
    told = console.buffer.getvalue().decode("ascii")
    assert "(+)" in told and "Geschlecht\\u2013" in told


@compiled
def test_what_is_warmed_up_is_what_is_timed(tmp_path, monkeypatch, capsys):
    """Also of real numbers, which the average is played of: compiling is in no time."""
    seen, turn = [], validation._turn

    def spied(learner, play, batch_size):
        seen.append(play)
        return turn(learner, play, batch_size)

    monkeypatch.setattr(validation, "_turn", spied)
    said(capsys, written(tmp_path, homes()[["area", "price"]]))
    assert seen == ["average", "average"]
