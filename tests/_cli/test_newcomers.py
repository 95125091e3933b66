"""What somebody meets on the command line who has a file, and no manual."""

import gzip
import io
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from conftest import INTERPRETED

import skstructured
from skstructured import OnlineStructuredPredictor
from skstructured.__main__ import main
from skstructured._cli.files import read_text, without_decimal_comma
from skstructured._cli.read import load_text
from skstructured._cli.report import shuffled, unshuffled
from skstructured.checkpoints import load_checkpoint
from skstructured.evaluation import validation

compiled = pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")


def people(n=240):
    rng = np.random.RandomState(1)
    frame = pd.DataFrame({"age": np.where(rng.rand(n) < 0.2, np.nan, rng.gamma(6.0, 5.0, n))})
    frame["sex"] = rng.choice(["male", "female", None], n)
    frame["day"] = (pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.randint(0, 90, n), "D")).date
    frame["saved"] = np.where((frame["sex"] == "female") ^ (rng.rand(n) < 0.1), "yes", "no")
    frame["paid"] = 10.0 * frame["age"].fillna(30) + rng.standard_t(2, n).round(2)
    return frame


def said(capsys, *arguments):
    assert main(list(arguments)) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "", "t.csv is empty: a table has a line of column names, then rows"),
        ("t.csv", "a,y\n1,no\n2,no\n", "one value 'no' in column 'y', the target, which needs at"),
        ("t.csv", "a,y\n1,no\n2,no\n", "with --target (there are a, y)"),
        ("t.csv", "a,y\n1,no\n2,\n", "row 3 has no value in column 'y', the target: leave such"),
        ("t.csv", "0,0,1\n1,2,1\n", "its first line must give each a name of its own"),
        ("t.csv", "a,y\n1,x,no\n", "row 2 has 3 cells, the header has 2: quote cells"),
        ("t.csv", "a,y\n1,é\n", "is not UTF-8 text (byte 0xe9 at 6): iconv -f latin1 -t utf-8"),
        ("t.csv.gz", "a,y\n1,no\n", "t.csv.gz is not compressed by gzip, as its name says"),
        ("t.json", '[{"a": 1, "y": 0}]', "is a JSON list: write its objects on a line each"),
    ],
)
def test_errors_say_what_to_do(name, content, message, tmp_path, capsys):
    path = tmp_path / name
    path.write_bytes(content.encode("latin-1"))
    assert main([str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and message in err


@pytest.mark.parametrize(
    ("cell", "found"),
    [
        ("1,5", "1.5"),
        ("-0,25", "-0.25"),
        ("1.234,5", "1234.5"),
        ("12.345.678,9", "12345678.9"),
        ("1.5", "1.5"),
        ("1,2,3", "1,2,3"),
        ("12.34,5", "12.34,5"),
        ("a,5", "a,5"),
        ("Smith, J", "Smith, J"),
        ("1,", "1,"),
        ("", ""),
    ],
)
def test_a_decimal_comma_is_a_point(cell, found):
    assert without_decimal_comma(cell) == found


def test_decimal_commas_stand_between_semicolons_only(tmp_path):
    for mark, wanted in ((";", ["1.5", "2.25"]), (",", ["1,5", "2,25"]), ("\t", ["1,5", "2,25"])):
        path = tmp_path / "t.csv"
        path.write_text(f'a{mark}y\n"1,5"{mark}0\n"2,25"{mark}1\n')
        assert list(read_text(path)["a"]) == wanted


def test_standard_input_may_begin_with_a_byte_order_mark(monkeypatch):
    raw = io.BytesIO("a,y\n1,é\n".encode("utf-8-sig"))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=raw))
    columns = read_text("-")
    assert list(columns) == ["a", "y"] and list(columns["y"]) == ["é"]


def test_rows_are_put_back_in_order(tmp_path):
    people().drop(columns="paid").to_csv(tmp_path / "t.csv", index=False)
    table = load_text(tmp_path / "t.csv", None, None)
    mixed = shuffled(table, 5)
    assert (mixed.y != table.y).any()
    back = unshuffled(mixed, 5)
    np.testing.assert_array_equal(back.X, table.X)
    assert (back.y == table.y).all()


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
    table = load_text(path, None, None)
    assert (learner.shuffle, learner.max_iter) == (False, passes or 1)
    if passes is None:
        stream = OnlineStructuredPredictor(random_state=0)
        stream.partial_fit(table.X, table.y, classes=np.unique(table.y))
        np.testing.assert_allclose(learner.coef_, stream.coef_)


def test_query_ids_are_not_read_as_classes(tmp_path, capsys):
    path = tmp_path / "queries.svm"
    path.write_text("1 qid:1 1:0.5 2:0.25\n0 qid:1 1:0.25 2:1\n")
    assert main([str(path)]) != 0
    assert "query_id=True" in capsys.readouterr().err


@compiled
@pytest.mark.parametrize("kind", ["csv", "csv.gz", "semicolons", "marks", "parquet", "jsonl"])
@pytest.mark.parametrize("target", ["saved", "paid"])
@pytest.mark.parametrize("more", [[], ["--ignore", "day"]], ids=["all", "some"])
def test_the_lines_of_python_make_the_model_that_is_kept(kind, target, more, tmp_path, capsys):
    pytest.importorskip("skops")
    frame, path, kept = people(), str(tmp_path / f"t.{kind}"), str(tmp_path / "model")
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    elif kind == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif kind == "semicolons":
        frame.to_csv(path, index=False, sep=";", decimal=",")
    else:
        frame.to_csv(path, index=False, na_rep="?" if kind == "marks" else "")
    lines = said(capsys, path, "--target", target, "--save", kept, *more)
    start = [line.startswith("In Python") for line in lines].index(True)
    code = [line[17:] for line in lines[start:] if line[:17].strip() in ("", "In Python")]
    assert len(code) == 6
    made = {}
    exec("\n".join(code), made)
    found = np.array(said(capsys, "predict", kept, path)[1:])
    wanted = made["model"].predict(made["frame"])
    if target == "saved":
        assert (found == wanted).all()
    else:
        np.testing.assert_allclose(found.astype(float), wanted, rtol=1e-9)


@compiled
def test_columns_that_may_be_mistaken_are_told(tmp_path, capsys):
    rng, n = np.random.RandomState(0), 300
    frame = pd.DataFrame({"price": [f"${i:,}" for i in rng.randint(10**4, 10**5, n)]})
    frame["sold"] = [f"{i}.12.2024" for i in rng.randint(1, 30, n)]
    frame["colour"], frame["empty"] = rng.choice(["red", "blue"], n), None
    frame["kind"] = rng.randint(0, 2, n)
    path = str(tmp_path / "t.csv")
    frame.to_csv(path, index=False)
    lines = said(capsys, path)
    start = [line.startswith("Careful") for line in lines].index(True)
    told = [line[17:] for line in lines[start : start + 3]]
    assert told == [
        "column 'empty' has no value and is left out.",
        f"'price' has words such as '{frame['price'][0]}'; numbers are 1234.5, and dates "
        "2024-05-31.",
        f"'sold' has words such as '{frame['sold'][0]}'; numbers are 1234.5, and dates 2024-05-31.",
    ]
    (matters,) = [line for line in lines if line.startswith("Matters most")]
    assert lines.index(matters) == start + 3
    frame.assign(kind=[f"id{i}" for i in range(n)])[["colour", "kind"]].to_csv(path, index=False)
    lines = said(capsys, path)
    assert any("'kind' has 300 classes in 300 rows" in line for line in lines)
    assert any("no bound: 300 rows are too few" in line for line in lines)
    frame[["colour", "kind"]].to_csv(path, index=False)
    assert not any(line.startswith("Careful") for line in said(capsys, path))


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


def test_files_that_gzip_made_are_read(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a;y\n1,5;0\n"))
    assert read_text(path)["a"].tolist() == ["1.5"]


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"skstructured {skstructured.__version__}\n"


@compiled
def test_probabilities_stand_behind_predictions(tmp_path, capsys):
    pytest.importorskip("skops")
    path, kept = str(tmp_path / "people.csv"), str(tmp_path / "model")
    people().drop(columns="paid").to_csv(path, index=False)
    said(capsys, path, "--target", "saved", "--save", kept)
    header, *lines = said(capsys, "predict", "--proba", kept, path)
    assert header == "prediction,probability_no,probability_yes"
    plain = said(capsys, "predict", kept, path)[1:]
    cells = [line.split(",") for line in lines]
    assert [cell[0] for cell in cells] == plain
    found = np.array([cell[1:] for cell in cells], dtype=float)
    wanted = load_checkpoint(kept).predict_proba(pd.read_csv(path))
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


@compiled
def test_probabilities_of_labels_have_numbers_and_numbers_have_none(tmp_path, capsys):
    pytest.importorskip("skops")
    path, kept = str(tmp_path / "people.csv"), str(tmp_path / "model")
    frame = people()[["age", "paid"]].assign(a=[0, 1] * 120, b=[1, 1, 0] * 80)
    frame.to_csv(path, index=False)
    said(capsys, path, "--target", "a,b", "--space", "hypercube", "--save", kept)
    header = said(capsys, "predict", kept, path, "--proba")[0]
    assert header == "prediction_0,prediction_1,probability_0,probability_1"
    said(capsys, path, "--target", "paid", "--save", kept)
    assert main(["predict", kept, path, "--proba"]) == 2
    assert "--proba is for models of classes or labels" in capsys.readouterr().err
