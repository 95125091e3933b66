"""``python -m skstructured predict``: predictions of models that were kept."""

import io

import numpy as np
import pandas as pd
import pytest
from conftest import INTERPRETED
from sklearn.datasets import dump_svmlight_file
from table_files import refused, said

from skstructured import OnlineStructuredPredictor
from skstructured.__main__ import main
from skstructured.checkpoints import load_checkpoint, save_checkpoint

pytestmark = pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")


def passengers(n=300):
    rng = np.random.RandomState(0)
    frame = pd.DataFrame({"age": np.where(rng.rand(n) < 0.2, np.nan, rng.randint(1, 80, n))})
    frame["sex"] = rng.choice(["male", "female"], n)
    frame["day"] = pd.Timestamp("1912-04-10") + pd.to_timedelta(rng.randint(0, 9, n), "D")
    frame["survived"] = ((frame["sex"] == "female") ^ (rng.rand(n) < 0.1)).astype(int)
    return frame


def predicted(capsys, *arguments):
    assert main(["predict", *arguments]) == 0
    return pd.read_csv(io.StringIO(capsys.readouterr().out))


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
def test_a_table_is_learned_kept_and_predicted(kind, tmp_path, capsys):
    pytest.importorskip("skops")
    frame, path = passengers(), str(tmp_path / f"t.{kind}")
    if kind == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
    kept = str(tmp_path / "model")
    assert main([path, "--target", "survived", "--save", kept]) == 0
    out = capsys.readouterr().out
    assert "(300 rows, 3 columns as 25 features), target survived" in out
    (line,) = [line for line in out.splitlines() if line.startswith("Matters most")]
    assert ("sex_female (+)" in line) != ("sex_male (-)" in line) and line.endswith(", for 1.")
    found = predicted(capsys, kept, path)
    assert list(found.columns) == ["prediction"] and len(found) == 300
    assert (found["prediction"] == frame["survived"]).mean() > 0.85
    other = str(tmp_path / "new.csv")  # another order, no target, and a column more
    frame[["day", "sex", "age"]].assign(more=1).to_csv(other, index=False)
    pd.testing.assert_frame_equal(predicted(capsys, kept, other), found)


def test_models_of_numbers_and_of_several_targets_predict(tmp_path, capsys):
    pytest.importorskip("skops")
    pytest.importorskip("pyarrow")
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(rng.randn(200, 3), columns=list("abc"))
    frame["p"], frame["q"] = (frame["a"] > 0).astype(int), (frame["b"] > 0).astype(int)
    path, kept = str(tmp_path / "t.csv"), str(tmp_path / "model")
    frame.to_csv(path, index=False)
    given = ["--space", "hypercube", "--target", "p,q"]
    assert main([path, *given, "--save", kept]) == 0
    capsys.readouterr()
    found = predicted(capsys, kept, path)
    assert list(found.columns) == ["prediction_p", "prediction_q"]
    assert (found.to_numpy() == frame[["p", "q"]].to_numpy()).mean() > 0.85
    numbers = str(tmp_path / "t.parquet")
    frame[list("abcp")].to_parquet(numbers)
    assert main([numbers, "--save", kept]) == 0
    capsys.readouterr()
    again = predicted(capsys, kept, numbers)
    assert (again["prediction"] == frame["p"]).mean() > 0.85
    frame[["a", "c"]].to_csv(path, index=False)
    assert main(["predict", kept, path]) == 2
    error = capsys.readouterr().err
    assert error == "error: rows must have the columns a, b, c; missing: b.\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predict"], "the following arguments are required: MODEL, FILE. usage: python"),
        (
            ["predict", "a", "b", "c"],
            "unrecognized arguments: c. usage: python -m skstructured",
        ),
        (["predict", "nowhere", "t.csv"], "No such file or directory"),
    ],
)
def test_errors_of_predictions_are_one_line(arguments, message, capsys):
    pytest.importorskip("skops")
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and message in err and err.count("\n") == 1


def test_models_of_svmlight_files_predict(tmp_path, capsys):
    pytest.importorskip("skops")
    X = np.random.RandomState(0).randn(200, 3)
    y, path, kept = (X[:, 0] > 0).astype(int), str(tmp_path / "t.svm"), str(tmp_path / "model")
    dump_svmlight_file(X, y, path, zero_based=False)
    assert main([path, "--save", kept]) == 0
    capsys.readouterr()
    assert (predicted(capsys, kept, path)["prediction"] == y).mean() > 0.9
    (tmp_path / "t.csv").write_text("a,b,c\n1,x,2\n")
    assert main(["predict", kept, str(tmp_path / "t.csv")]) == 2
    assert "row 2 has 'x' in column 'b', which has numbers" in capsys.readouterr().err
    passengers().to_csv(tmp_path / "p.csv", index=False)
    assert main([str(tmp_path / "p.csv"), "--save", kept]) == 0
    assert main(["predict", kept, path]) == 2
    assert "t.svm has no names of columns" in capsys.readouterr().err


def test_predict_has_help(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["predict", "--help"])
    assert ended.value.code == 0
    assert "Print a prediction for each row of FILE" in capsys.readouterr().out


def people(n=240):
    rng = np.random.RandomState(1)
    frame = pd.DataFrame({"age": np.where(rng.rand(n) < 0.2, np.nan, rng.gamma(6.0, 5.0, n))})
    frame["sex"] = rng.choice(["male", "female", None], n)
    frame["day"] = (pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.randint(0, 90, n), "D")).date
    frame["saved"] = np.where((frame["sex"] == "female") ^ (rng.rand(n) < 0.1), "yes", "no")
    frame["paid"] = 10.0 * frame["age"].fillna(30) + rng.standard_t(2, n).round(2)
    return frame


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


def test_probabilities_of_labels_have_numbers_and_numbers_have_none(tmp_path, capsys):
    pytest.importorskip("skops")
    path, kept = str(tmp_path / "people.csv"), str(tmp_path / "model")
    frame = people()[["age", "paid"]].assign(a=[0, 1] * 120, b=[1, 1, 0] * 80)
    frame.to_csv(path, index=False)
    said(capsys, path, "--target", "a,b", "--space", "hypercube", "--save", kept)
    header = said(capsys, "predict", kept, path, "--proba")[0]
    assert header == "prediction_a,prediction_b,probability_a,probability_b"
    said(capsys, path, "--target", "paid", "--save", kept)
    assert main(["predict", kept, path, "--proba"]) == 2
    assert "--proba is for models of classes or labels" in capsys.readouterr().err


def test_names_of_labels_survive_from_a_frame(tmp_path, capsys):
    pytest.importorskip("skops")
    frame, path, kept = (
        people()[["age", "paid"]].fillna(30.0),
        str(tmp_path / "t.csv"),
        tmp_path / "m",
    )
    frame.to_csv(path, index=False)
    y = pd.DataFrame({"old": frame["age"] > 30, "rich": frame["paid"] > 300}).astype(int)
    save_checkpoint(OnlineStructuredPredictor("hypercube").fit(frame, y), kept)
    header = said(capsys, "predict", kept, path, "--proba")[0]
    assert header == "prediction_old,prediction_rich,probability_old,probability_rich"
    save_checkpoint(OnlineStructuredPredictor("hypercube").fit(frame, y.to_numpy()), kept)
    header = said(capsys, "predict", kept, path, "--proba")[0]
    assert header == "prediction_0,prediction_1,probability_0,probability_1"


@pytest.fixture
def model(tmp_path, capsys):
    """A model of ages, sexes and days that says whether somebody survived."""
    pytest.importorskip("skops")
    path, kept = str(tmp_path / "t.csv"), str(tmp_path / "model")
    passengers().to_csv(path, index=False)
    said(capsys, path, "--save", kept)
    return kept


def test_one_bad_cell_is_named_or_taken_as_missing(model, tmp_path, capsys):
    frame, path = passengers(20).astype(object), str(tmp_path / "new.csv")
    frame.loc[7, "age"], frame.loc[7, "day"] = None, None
    frame.to_csv(path, index=False)
    wanted = said(capsys, "predict", model, path)
    frame.loc[7, "age"], frame.loc[7, "day"] = "n.k.", "1912-13-01"
    frame.to_csv(path, index=False)
    told = refused(capsys, "predict", model, path)
    assert "row 9 has 'n.k.' in column 'age', which has numbers" in told
    assert said(capsys, "predict", model, path, "--bad-cells", "missing") == wanted
    frame["age"] = 30
    frame.to_csv(path, index=False)
    told = refused(capsys, "predict", model, path)
    assert "row 9 has '1912-13-01' in column 'day', which has dates" in told


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_without_rows_gives_a_header(kind, model, tmp_path, capsys):
    path = str(tmp_path / f"new.{kind}")
    frame = passengers().assign(id="a")[:0]
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    assert said(capsys, "predict", model, path) == ["prediction"]
    header = ["id,prediction,probability_0,probability_1"]
    assert said(capsys, "predict", model, path, "--keep", "id", "--proba") == header


def test_columns_are_kept_beside_predictions(model, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("skstructured._cli.predict.PART", 7)
    frame, path = passengers(20).assign(id=[f"00{i}" for i in range(20)]), str(tmp_path / "new.csv")
    frame.to_csv(path, index=False)
    plain = said(capsys, "predict", model, path)[1:]
    lines = said(capsys, "predict", model, path, "--keep", "id,sex")
    assert lines[0] == "id,sex,prediction"
    wanted = [
        f"00{i},{sex},{y}" for i, (sex, y) in enumerate(zip(frame["sex"], plain, strict=True))
    ]
    assert lines[1:] == wanted
    assert "no column 'name'" in refused(capsys, "predict", model, path, "--keep", "name")


def test_an_unclosed_quote_is_no_end_of_the_file(model, tmp_path, capsys):
    path, frame = tmp_path / "new.csv", passengers(20)
    frame.to_csv(path, index=False)
    lines = path.read_text().splitlines()
    lines[5] = lines[5].replace("male", '"male').replace("fe", "")
    path.write_text("\n".join(lines) + "\n")
    assert "row 6 is not CSV" in refused(capsys, "predict", model, path)
