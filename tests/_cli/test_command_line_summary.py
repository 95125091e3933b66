"""What ``python -m skstructured`` says of a file by default, and the model that it keeps."""

import re
import sys

import numpy as np
import pandas as pd
import pytest
from conftest import INTERPRETED
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file, load_digits, load_iris, load_svmlight_file
from sklearn.utils import shuffle

from skstructured import OnlineStructuredPredictor
from skstructured.__main__ import main
from skstructured._cli.read import load_text
from skstructured._cli.report import _rows_needed, shuffled
from skstructured._cli.stream_file import Stream
from skstructured.checkpoints import load_checkpoint
from skstructured.evaluation import progressive_validate

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


def said(capsys, *arguments):
    """What a run prints, line by line; it must end well."""
    assert main(list(arguments)) == 0
    return capsys.readouterr().out.splitlines()


def percents(line):
    return [float(number) / 100.0 for number in re.findall(r"([\d.]+)%", line)]


def validated(table, play="iterates", seed=0, **parameters):
    model = OnlineStructuredPredictor(decoder="nearest", random_state=seed, **parameters)
    return progressive_validate(model, table.X, table.y, random_state=seed, play=play)


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
    table = shuffled(load_text(iris_csv, None, "simplex"), 0)
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
    result = validated(load_text(iris_csv, None, "simplex"))
    assert percents(line)[0] == pytest.approx(result.expected_target_loss.mean(), abs=6e-4)


def test_rows_are_shuffled_by_the_seed(iris_csv, capsys):
    line, table = said(capsys, iris_csv, "--seed", "1")[3], load_text(iris_csv, None, "simplex")
    found = [validated(shuffled(table, seed), seed=1).expected_target_loss for seed in (1, 0)]
    wanted, others = ([losses.mean(), losses[75:].mean()] for losses in found)
    assert percents(line) == pytest.approx(wanted, abs=6e-4)
    assert others != pytest.approx(wanted, abs=2e-3)


def test_shuffling_keeps_rows_and_outputs_together(iris_csv):
    table = load_text(iris_csv, None, "simplex")
    mixed = shuffled(table, 3)
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


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_the_header_tells_what_separates_cells(mark, tmp_path, iris_lines, iris_csv):
    path = write(tmp_path / "other.csv", [*"abcd", "kind"], iris_lines, mark)
    table, wanted = (load_text(p, None, "simplex") for p in (path, iris_csv))
    np.testing.assert_array_equal(table.X, wanted.X)
    np.testing.assert_array_equal(table.y, wanted.y)


def test_a_delimiter_that_is_given_counts(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("a;b:y\n" + "".join(f"{i};0:{i % 2}\n" for i in range(6)), encoding="utf-8")
    assert (
        "(6 rows, 1 column as 6 features), target y"
        in said(capsys, str(path), "--delimiter", ":")[0]
    )
    assert "(6 rows, 1 features), target b:y" in said(capsys, str(path))[0]
    assert main([str(path), "--delimiter", "::"]) == 2
    assert "is not a CSV file" in capsys.readouterr().err


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
    table = shuffled(load_text(path, "x,y,z", space), 0)
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
    model, table = load_checkpoint(kept), load_text(path, None, "simplex")
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


def test_a_model_of_parquet_knows_its_columns(digit_files, capsys):
    kept = str(digit_files / "model")
    said(capsys, str(digit_files / "digits.parquet"), "--save", kept)
    model = load_checkpoint(kept)
    rows = pd.read_parquet(digit_files / "digits.parquet").drop(columns="digit")
    assert model.predict(rows).shape == (600,)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(rows[rows.columns[::-1]])


@pytest.mark.parametrize("place", ["folder", "nowhere/model"])
def test_where_no_model_could_be_kept_nothing_is_learned(place, iris_csv, tmp_path, capsys):
    (tmp_path / "folder").mkdir()
    assert main([iris_csv, "--save", str(tmp_path / place)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and place.partition("/")[0] in err


def test_without_skops_the_error_says_what_to_install(iris_csv, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    assert main([iris_csv, "--save", str(tmp_path / "model")]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.endswith("pip install skops\n")


def test_passes_of_the_model_are_the_learners_own_by_default(iris_csv, tmp_path, capsys):
    """What the bound is about, one pass, is kept where it is asked for."""
    kept = str(tmp_path / "model")
    lines = said(capsys, iris_csv, "--save", kept)
    model = load_checkpoint(kept)[-1]
    assert model.max_iter == "auto" and model.n_iter_ > 1
    assert "max_iter" not in "".join(lines)
    assert lines[-2] == (
        f"Passes           {model.n_iter_}; the bound for new rows is about one, and --passes 1 "
        "keeps that model."
    )
    lines = said(capsys, iris_csv, "--save", kept, "--passes", "1")
    assert (load_checkpoint(kept)[-1].n_iter_, load_checkpoint(kept)[-1].t_) == (1, 150)
    assert "max_iter=1" in "".join(lines) and "Passes" not in "".join(lines)
    assert main([iris_csv, "--save", kept, "--passes", "0"]) == 2
    assert "max_iter" in capsys.readouterr().err


def test_a_picture_of_the_run(iris_csv, tmp_path, capsys):
    pytest.importorskip("matplotlib").use("agg")
    picture = tmp_path / "run.png"
    assert said(capsys, iris_csv, "--plot", str(picture))[-8] == f"Picture          {picture}"
    assert picture.read_bytes().startswith(b"\x89PNG")


def texts_of_classes(n):
    """A text, and one of six classes, which it decides."""
    rng = np.random.RandomState(0)
    k = rng.randint(6, size=n)
    return [(f"t{i}", i) for i in k]


def test_rows_needed_where_a_bound_says_nothing(tmp_path, capsys):
    given = ("--bounds", "--decoder", "randomized", "--regularizer", "shannon")
    every = texts_of_classes(800)
    few = write(tmp_path / "few.csv", "xy", every[:60])
    lines = said(capsys, few, *given)
    compared, bound = (float(lines[2].split()[place]) for place in (4, 5))
    assert bound > 60 > compared and lines[3].startswith("A bound above the number of rows")
    number = float(re.search(r"shannon, randomized: about ([\d,]+)", lines[4])[1].replace(",", ""))
    assert number == pytest.approx((bound - compared) / (1.0 - compared / 60), rel=0.05)
    assert number > 60
    many = write(tmp_path / "many.csv", "xy", every)
    assert len(said(capsys, many, *given)) == 3


def test_no_number_of_rows_helps_a_comparator_that_loses_one_a_row():
    assert _rows_needed(50.0, 20.0, 20).startswith("no number")
    assert _rows_needed(50.0, 10.0, 20) == "about 80"
    assert _rows_needed(2050.0, 10.0, 20) == "about 4,080"


@pytest.fixture
def digit_files(tmp_path):
    """Digits in the order of the stream, as Parquet and as svmlight."""
    pytest.importorskip("pyarrow")
    X, y = shuffle(*load_digits(return_X_y=True), random_state=0)
    frame = pd.DataFrame(X[:600], columns=[f"p{j}" for j in range(64)]).assign(digit=y[:600])
    frame.to_parquet(tmp_path / "digits.parquet")
    dump_svmlight_file(X[:600], y[:600], str(tmp_path / "digits.svm"), zero_based=False)
    dump_svmlight_file(X[:600] + 1, y[:600], str(tmp_path / "from0.svm"), zero_based=True)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "width"),
    [
        pytest.param("digits.parquet", 64, marks=compiled),
        ("digits.svm", 64),
        ("from0.svm", 64),
    ],
)
def test_files_larger_than_memory_are_read_in_chunks(name, width, digit_files, capsys):
    path, kept = str(digit_files / name), str(digit_files / "model")
    lines = said(capsys, path, "--save", kept)
    assert lines[0].startswith(f"{path} (600 rows, {width} features)")
    first, second = percents(lines[3])
    assert second < first < 0.4
    model = load_checkpoint(kept)
    assert model.t_ == 600
    other = name.replace("parquet", "svm")
    X, y = load_svmlight_file(
        str(digit_files / other), n_features=64, zero_based=other != "digits.svm"
    )
    X = X.toarray() if name.endswith("parquet") else X
    losses = progressive_validate(
        clone(model), X, y, play="average", classes=range(10)
    ).expected_target_loss
    assert first == pytest.approx(losses.mean(), abs=0.02)  # averages are taken at every chunk


def test_labels_of_a_stream_are_counted_row_by_row(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("".join(f"{label} 1:1.0\n" for label in (3, 1, 3, 3, 7, 1)))
    stream = Stream.of(str(path), None, "simplex")
    assert stream.classes.tolist() == [1, 3, 7] and stream.counts.tolist() == [2, 3, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["digits.svm", "--target", "p0"], "--target is not for svmlight"),
        (["digits.svm", "--space", "hypercube"], "--space hypercube is not for svmlight"),
        (["digits.svm", "--plot", "a.png"], "--plot is for tables that fit into memory"),
        (["digits.parquet", "--bounds"], "--bounds is for tables that fit into memory"),
        (["digits.parquet", "--target", "no"], "no column 'no'; it has p0"),
        (["none.parquet"], "none.parquet"),
        (["none.svm"], "No such file"),
        (["empty.svm"], "has no rows"),
    ],
)
def test_what_does_not_go_with_large_files(arguments, message, digit_files, capsys):
    (digit_files / "empty.svm").write_text("")
    assert main([str(digit_files / arguments[0]), *arguments[1:]]) == 2
    assert message in capsys.readouterr().err


def test_label_sets_of_parquet_files(digit_files, capsys):
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(rng.randn(200, 3), columns=list("abc"))
    frame["u"], frame["v"] = (frame["a"] > 0).astype(int), (frame["b"] > 0).astype(int)
    frame.to_parquet(digit_files / "sets.parquet")
    path = str(digit_files / "sets.parquet")
    lines = said(capsys, path, "--target", "u,v", "--space", "hypercube")
    assert "(200 rows, 3 features), target u, v" in lines[0] and "of labels wrong" in lines[3]
