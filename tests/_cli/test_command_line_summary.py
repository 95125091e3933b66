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
from sklearn.datasets import load_digits, load_iris
from table_files import load, said

from skstructured import FolkloreClassifier, OnlineStructuredPredictor, TableEncoder
from skstructured.__main__ import main
from skstructured._cli.report import baseline_loss, effects
from skstructured._cli.tables import Table
from skstructured.checkpoints import load_checkpoint
from skstructured.evaluation import progressive_validate, validation
from skstructured.spaces import SPACES

compiled = pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")


RANKINGS = {"birkhoff": 0, "permutahedron": 1}


def write(path, header, lines, mark=","):
    text = [mark.join(map(str, line)) for line in [header, *lines]]
    path.write_text("\n".join(text) + "\n", encoding="utf-8")
    return str(path)


@pytest.fixture
def iris_lines():
    X, y = load_iris(return_X_y=True)
    return [(*x, f"kind {k}") for x, k in zip(X, y, strict=True)]


@pytest.fixture
def iris_csv(tmp_path, iris_lines):
    return write(tmp_path / "iris.csv", [*"abcd", "kind"], iris_lines)


def percents(line):
    return [float(number) / 100.0 for number in re.findall(r"([\d.]+)%", line)]


def validated(table, play="iterates", seed=0, **parameters):
    model = OnlineStructuredPredictor(decoder="nearest", random_state=seed, **parameters)
    return progressive_validate(model, table.X, table.y, random_state=seed, play=play)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("flags", "play", "parameters"),
    [
        ([], "iterates", {}),
        (["--no-average"], "iterates", {"average": False}),
        (
            ["--no-average", "--optimizer", "pistol"],
            "last",
            {"average": False, "optimizer": "pistol"},
        ),
        (["--no-standardize"], "iterates", {"standardize": False}),
        (["--optimizer", "ogd"], "average", {"optimizer": "ogd"}),
        (["--regularizer", "squared"], "iterates", {"regularizer": "squared"}),
    ],
)
def test_the_summary_is_of_a_progressive_validation(flags, play, parameters, iris_csv, capsys):
    lines = said(capsys, iris_csv, *flags)
    table = load(iris_csv).in_random_order(0)
    result = validated(table, play, **parameters)
    losses = result.expected_target_loss
    wanted = [losses.mean(), losses[75:].mean()]
    assert lines[0] == f"{iris_csv} (150 rows, 4 features), target kind"
    assert lines[2].startswith("While learning") and percents(lines[3]) == pytest.approx(
        wanted, abs=6e-4
    )
    accuracy = [1.0 - share for share in wanted]
    assert lines[4].startswith("Accuracy") and percents(lines[4])[:2] == pytest.approx(
        accuracy, abs=6e-4
    )
    assert percents(lines[5]) == pytest.approx([result.risk_bound(), 0.95], abs=6e-4)
    (took,) = [line for line in lines if line.startswith("Time")]
    assert re.fullmatch(r"Time +[\d.]+ s after [\d.]+ s of reading, [\d,]+ rows a second\.", took)


def test_flags_change_what_is_learned(iris_csv, capsys):
    flags = ([], ["--no-average"], ["--no-standardize"], ["--seed", "1"], ["--in-order"])
    told = [tuple(said(capsys, iris_csv, *given)[3:6]) for given in flags]
    assert len(set(told)) == len(flags)


def test_rows_in_the_order_of_the_file(iris_csv, capsys):
    line = said(capsys, iris_csv, "--in-order")[3]
    result = validated(load(iris_csv))
    assert percents(line)[0] == pytest.approx(result.expected_target_loss.mean(), abs=6e-4)


def test_rows_are_shuffled_by_the_seed(iris_csv, capsys):
    line, table = said(capsys, iris_csv, "--seed", "1")[3], load(iris_csv)
    found = [validated(table.in_random_order(seed), seed=1).expected_target_loss for seed in (1, 0)]
    wanted, others = ([losses.mean(), losses[75:].mean()] for losses in found)
    assert percents(line) == pytest.approx(wanted, abs=6e-4)
    assert others != pytest.approx(wanted, abs=2e-3)


def test_shuffling_keeps_rows_and_outputs_together(iris_csv):
    table = load(iris_csv)
    mixed = table.in_random_order(3)
    assert (mixed.y != table.y).any()
    pairs = [sorted(zip(X.tolist(), y, strict=True)) for X, y, *_ in (table, mixed)]
    assert pairs[0] == pairs[1]


def test_too_few_rows_have_no_bound(tmp_path, capsys):
    few = write(tmp_path / "few.csv", "xy", [(i, i % 2) for i in range(4)])
    assert any(line.startswith("New rows         no bound") for line in said(capsys, few))
    noise = np.random.RandomState(0).randint(2, size=20)
    noisy = write(tmp_path / "noisy.csv", "xy", [(i % 3, k) for i, k in enumerate(noise)])
    assert "New rows         no bound yet: there are too few rows." in said(capsys, noisy)


@pytest.mark.parametrize("flags", [[], ["--bounds"]])
def test_the_target_is_the_last_column(flags, iris_csv, capsys):
    assert said(capsys, iris_csv, *flags)[0].endswith("(150 rows, 4 features), target kind")
    lines = said(capsys, "--data", iris_csv, "--target", "kind", *flags)
    assert lines[0].endswith("(150 rows, 4 features), target kind")


def rankings(first, n=30):
    """Lines of two features and the ranks of three items, which they decide."""
    rng = np.random.RandomState(0)
    X = rng.randn(n, 2).round(3)
    ranks = np.argsort(np.argsort(np.column_stack([X, np.zeros(n)]))) + first
    return X, ranks, [(*x, *rank) for x, rank in zip(X, ranks, strict=True)]


@pytest.mark.parametrize("space", RANKINGS)
def test_rankings_have_a_column_an_item(space, tmp_path, capsys):
    X, ranks, lines = rankings(RANKINGS[space])
    path, kept = write(tmp_path / "r.csv", "uvxyz", lines), str(tmp_path / "model")
    told = said(capsys, path, "--target", "x,y,z", "--space", space, "--save", kept)
    assert told[0].endswith("(30 rows, 2 features), target x, y, z")
    table = load(path, "x,y,z", space).in_random_order(0)
    losses = validated(table, space=space).expected_target_loss
    assert percents(told[3])[0] == pytest.approx(losses.mean(), abs=6e-4)
    predicted = load_checkpoint(kept).predict(X.astype(str))
    assert predicted.shape == ranks.shape and (predicted == ranks).mean() > 0.6


@pytest.mark.parametrize("space", [*RANKINGS, "hypercube"])
def test_outputs_with_columns_are_numbers(space, tmp_path, capsys):
    path = write(tmp_path / "r.csv", "uxy", [(1, "a", "b"), (2, "b", "a")])
    assert main([path, "--target", "x,y", "--space", space]) == 2
    wanted = "0 and 1" if space == "hypercube" else "whole numbers"
    assert f"must hold {wanted}" in capsys.readouterr().err


def test_the_model_that_is_kept_reads_cells(tmp_path, capsys):
    rng, kept = np.random.RandomState(0), str(tmp_path / "model")
    cells = [
        (f"{a:.2f}", rng.choice(["red", "blue"]), f"{1e4 * b:.0f}") for a, b in rng.randn(60, 2)
    ]
    kinds = ["yes" if (float(a) > 0) == (c == "red") else "no" for a, c, _ in cells]
    lines = [(*cell, kind) for cell, kind in zip(cells, kinds, strict=True)]
    path = write(tmp_path / "t.csv", ["a", "colour", "b", "kind"], lines)
    lines = said(capsys, path, "--save", kept, "--passes", "3")
    assert lines[-3].startswith(f"Model            {kept}")
    model, table = load_checkpoint(kept), load(path)
    alone = OnlineStructuredPredictor(decoder="nearest", max_iter=3, random_state=0)
    alone.fit(table.X, table.y)
    encoded = table.encoder.transform(np.array(cells, dtype=object))
    np.testing.assert_array_equal(
        model.predict(np.array(cells, dtype=object)), alone.predict(encoded)
    )
    assert model.predict(np.array([["0.5", "green", "7"]], dtype=object))[0] in ("yes", "no")
    assert model[-1].n_iter_ > 1


def test_the_model_that_is_kept_knows_its_columns(tmp_path, capsys):
    """Frames are read by name, in whatever order; what is missing or no number is named."""
    X, y = load_iris(return_X_y=True)
    colour = np.where(X[:, 2] > 2.5, "red", "blue")
    frame = pd.DataFrame(X, columns=[*"abcd"]).assign(colour=colour, kind=y)
    path, kept = str(tmp_path / "t.csv"), str(tmp_path / "model")
    frame.to_csv(path, index=False)
    said(capsys, path, "--save", kept)
    model, rows = load_checkpoint(kept), pd.read_csv(path)
    expected = model.predict(rows[[*"abcd", "colour"]].to_numpy(object))
    assert (expected == y).mean() > 0.8
    for order in (["kind", "d", "colour", "b", "a", "c"], [*"dcba", "colour"]):
        np.testing.assert_array_equal(model.predict(rows[order]), expected)
    with pytest.raises(ValueError, match="missing: b, colour"):
        model.predict(rows[[*"acd", "kind"]])
    with pytest.raises(ValueError, match="has 4 features, but TableEncoder is expecting 5"):
        model.predict(X)
    with pytest.raises(ValueError, match="column 'b' must hold numbers"):
        model.predict(rows.assign(b="red"))


def test_passes_of_the_model_are_the_learners_own_by_default(iris_csv, tmp_path, capsys):
    """What the bound is about, one pass, is kept where it is asked for."""
    kept = str(tmp_path / "model")
    lines = said(capsys, iris_csv, "--save", kept)
    model = load_checkpoint(kept)[-1]
    assert model.max_iter == "auto" and model.n_iter_ > 1
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
    assert said(capsys, iris_csv, "--plot", str(picture))[-2] == f"Picture          {picture}"
    assert picture.read_bytes().startswith(b"\x89PNG")


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
    assert baseline_loss(SPACES[space](), y) == pytest.approx(best_constant_loss(space, y))


def test_the_baseline_of_rankings_goes_by_mean_ranks():
    y = np.array([[1, 2, 3], [1, 3, 2], [1, 3, 2], [2, 1, 3]])
    space = SPACES["permutahedron"]().fit(y)
    always = np.repeat([[1, 2, 3]], 4, axis=0)  # mean ranks 1.25, 2.25, 2.5
    assert baseline_loss(SPACES["permutahedron"](), y) == pytest.approx(
        space.target_loss(always, y).mean()
    )


def test_the_accuracy_stands_beside_a_baseline_and_the_next_command_at_the_end(iris_csv, capsys):
    lines = said(capsys, iris_csv, "--seed", "2")
    table = load(iris_csv).in_random_order(2)
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
    monkeypatch.setattr("skstructured._cli.tables._digits", lambda space: few)
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
            assert line.startswith("Matters most     a (+), b (-), ") and line.endswith(
                ", for yes."
            )
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


def people(n=240):
    rng = np.random.RandomState(1)
    frame = pd.DataFrame({"age": np.where(rng.rand(n) < 0.2, np.nan, rng.gamma(6.0, 5.0, n))})
    frame["sex"] = rng.choice(["male", "female", None], n)
    frame["day"] = (pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.randint(0, 90, n), "D")).date
    frame["saved"] = np.where((frame["sex"] == "female") ^ (rng.rand(n) < 0.1), "yes", "no")
    frame["paid"] = 10.0 * frame["age"].fillna(30) + rng.standard_t(2, n).round(2)
    return frame


@compiled
@pytest.mark.parametrize("passes", [None, 3])
def test_a_model_of_rows_in_order_has_learned_them_in_order(passes, tmp_path, capsys):
    pytest.importorskip("skops")
    path, kept = str(tmp_path / "t.csv"), str(tmp_path / "model")
    people().drop(columns="paid").to_csv(path, index=False)
    more = [] if passes is None else ["--passes", str(passes)]
    lines = said(capsys, path, "--in-order", "--save", kept, *more)
    assert not any(line.startswith("Passes") for line in lines) or passes
    learner = load_checkpoint(kept)[-1]
    table = load(path)
    assert (learner.shuffle, learner.max_iter) == (False, passes or 1)
    if passes is None:
        stream = OnlineStructuredPredictor(random_state=0)
        stream.partial_fit(table.X, table.y, classes=np.unique(table.y))
        np.testing.assert_allclose(learner.coef_, stream.coef_)


@compiled
def test_a_copy_of_the_target_is_pointed_out(tmp_path, capsys):
    frame = people().drop(columns="paid")
    frame["alive"] = frame["saved"].map({"yes": 1, "no": 0})
    for y, copied in (("yes", "alive"), ("no", "alive")):
        frame.loc[3, "saved"] = y
        frame[["age", "alive", "sex", "saved"]].to_csv(tmp_path / "t.csv", index=False)
        lines = said(capsys, tmp_path / "t.csv")
        is_copy = (frame["alive"] == (frame["saved"] == "yes")).all()
        careful = f"Careful          column {copied!r} says the same as the target"
        assert any(line.startswith(careful) for line in lines) == is_copy
    paid = people()["paid"] + np.arange(240) * 1e-3  # no two are the same
    price = people()[["age"]].assign(paid=paid, euros=paid, other=range(240))
    price[["age", "other", "euros", "paid"]].to_csv(tmp_path / "t.csv", index=False)
    (careful,) = [line for line in said(capsys, tmp_path / "t.csv") if "says the same" in line]
    assert "'euros'" in careful


@compiled
def test_words_have_the_order_that_is_given(tmp_path, capsys):
    pytest.importorskip("skops")
    rng, words, kept = np.random.RandomState(0), ["poor", "fair", "good"], str(tmp_path / "model")
    x = rng.randn(600)
    grade = np.array(words)[np.digitize(x + 0.3 * rng.randn(600), [-0.5, 0.5])]
    path = tmp_path / "t.csv"
    pd.DataFrame({"x": x, "grade": grade}).to_csv(path, index=False)
    lines = said(capsys, path, "--order", ",".join(words), "--save", kept)
    assert "of the way from one end to the other off" in lines[3]
    model = load_checkpoint(kept)
    assert model.classes_.tolist() == words
    found = said(capsys, "predict", kept, path, "--proba")
    assert found[0] == "prediction,probability_poor,probability_fair,probability_good"
    codes = [words.index(line.split(",")[0]) for line in found[1:]]
    assert np.abs(codes - np.digitize(x, [-0.5, 0.5])).mean() < 0.2


@compiled
def test_signs_need_no_letters_beyond_ascii(tmp_path, monkeypatch):
    """A console or a pipe may have few letters."""
    people().drop(columns="paid").rename(columns={"sex": "Geschlecht–♀"}).to_csv(
        tmp_path / "t.csv", index=False
    )
    raw = io.BytesIO()
    console = io.TextIOWrapper(raw, encoding="ascii")
    monkeypatch.setattr(sys, "stdout", console)
    status = main([str(tmp_path / "t.csv")])
    console.flush()
    told = raw.getvalue().decode("ascii")
    assert status == 0 and "(+)" in told and "Geschlecht\\u2013" in told


@compiled
def test_what_is_warmed_up_is_what_is_timed(tmp_path, monkeypatch, capsys):
    """Also of real numbers, which the average is played of: compiling is in no time."""
    people().drop(columns="saved").to_csv(tmp_path / "t.csv", index=False)
    seen, turn = [], validation._turn

    def spied(learner, play, batch_size):
        seen.append(play)
        return turn(learner, play, batch_size)

    monkeypatch.setattr(validation, "_turn", spied)
    said(capsys, str(tmp_path / "t.csv"))
    assert seen == ["average", "average"]
