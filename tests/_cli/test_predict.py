"""``python -m skstructured predict``: predictions of models that were kept."""

import numpy as np
import pandas as pd
import pytest
from conftest import INTERPRETED
from sklearn.datasets import dump_svmlight_file
from table_files import one, people, predicted, refused, said, written

from skstructured import OnlineStructuredPredictor
from skstructured.checkpoints import load_checkpoint, save_checkpoint

pytestmark = pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")


def passengers(n=300):
    rng = np.random.RandomState(0)
    frame = pd.DataFrame({"age": np.where(rng.rand(n) < 0.2, np.nan, rng.randint(1, 80, n))})
    frame["sex"] = rng.choice(["male", "female"], n)
    frame["day"] = pd.Timestamp("1912-04-10") + pd.to_timedelta(rng.randint(0, 9, n), "D")
    frame["survived"] = ((frame["sex"] == "female") ^ (rng.rand(n) < 0.1)).astype(int)
    return frame


@pytest.fixture
def kept(tmp_path):
    pytest.importorskip("skops")
    return str(tmp_path / "model")


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
def test_a_table_is_learned_kept_and_predicted(kind, kept, tmp_path, capsys):
    pytest.importorskip("pyarrow")
    frame = passengers()
    path = written(tmp_path, frame, f"t.{kind}")
    lines = said(capsys, path, "--target", "survived", "--save", kept)
    assert lines[0] == f"{path} (300 rows, 3 columns as 25 features), target survived"
    line = one(lines, "Matters most")
    assert ("sex_female (+)" in line) != ("sex_male (-)" in line) and line.endswith(", for 1.")
    found = predicted(capsys, kept, path)
    assert list(found.columns) == ["prediction"] and len(found) == 300
    assert (found["prediction"] == frame["survived"]).mean() > 0.85
    # another order, no target, and a column more
    other = written(tmp_path, frame[["day", "sex", "age"]].assign(more=1), "new.csv")
    pd.testing.assert_frame_equal(predicted(capsys, kept, other), found)


def test_models_of_several_targets_predict(kept, tmp_path, capsys):
    frame = pd.DataFrame(np.random.RandomState(0).randn(200, 3), columns=list("abc"))
    frame["p"], frame["q"] = (frame["a"] > 0).astype(int), (frame["b"] > 0).astype(int)
    path = written(tmp_path, frame)
    said(capsys, path, "--space", "hypercube", "--target", "p,q", "--save", kept)
    found = predicted(capsys, kept, path, "--proba")
    names = [f"{kind}_{label}" for kind in ("prediction", "probability") for label in "pq"]
    assert list(found.columns) == names
    assert (found.iloc[:, :2].to_numpy() == frame[["p", "q"]].to_numpy()).mean() > 0.85
    assert ((found.iloc[:, 2:] > 0.5).to_numpy() == frame[["p", "q"]].to_numpy()).mean() > 0.85
    error = refused(capsys, "predict", kept, written(tmp_path, frame[["a", "c"]]))
    assert error == "error: rows must have the columns a, b, c; missing: b.\n"


def test_a_file_that_is_not_there_is_named(kept, capsys):
    assert "No such file or directory" in refused(capsys, "predict", "nowhere", "t.csv")


def test_models_of_svmlight_files_predict(kept, tmp_path, capsys):
    X = np.random.RandomState(0).randn(200, 3)
    y, path = (X[:, 0] > 0).astype(int), str(tmp_path / "t.svm")
    dump_svmlight_file(X, y, path, zero_based=False)
    said(capsys, path, "--save", kept)
    assert (predicted(capsys, kept, path)["prediction"] == y).mean() > 0.9
    (tmp_path / "t.csv").write_text("a,b,c\n1,x,2\n")
    told = refused(capsys, "predict", kept, tmp_path / "t.csv")
    assert "row 2 has 'x' in column 'b', which has numbers" in told
    said(capsys, written(tmp_path, passengers()), "--save", kept)
    assert "t.svm has no names of columns" in refused(capsys, "predict", kept, path)


def test_probabilities_stand_behind_predictions(kept, tmp_path, capsys):
    path = written(tmp_path, people().drop(columns="paid"))
    said(capsys, path, "--save", kept)
    found = predicted(capsys, "--proba", kept, path)
    assert list(found) == ["prediction", "probability_no", "probability_yes"]
    assert found["prediction"].tolist() == said(capsys, "predict", kept, path)[1:]
    wanted = load_checkpoint(kept).predict_proba(pd.read_csv(path))
    np.testing.assert_allclose(found.iloc[:, 1:], wanted, rtol=1e-12)
    said(capsys, written(tmp_path, people()[["age", "paid"]]), "--save", kept)
    told = refused(capsys, "predict", kept, path, "--proba")
    assert "--proba is for models of classes or labels" in told


def test_names_of_labels_survive_from_a_frame(kept, tmp_path, capsys):
    frame = people()[["age", "paid"]].fillna(30.0)
    y = pd.DataFrame({"old": frame["age"] > 30, "rich": frame["paid"] > 300}).astype(int)
    for outputs, names in ((y, ["old", "rich"]), (y.to_numpy(), [0, 1])):
        save_checkpoint(OnlineStructuredPredictor("hypercube").fit(frame, outputs), kept)
        found = predicted(capsys, kept, written(tmp_path, frame), "--proba")
        wanted = [f"{kind}_{name}" for kind in ("prediction", "probability") for name in names]
        assert list(found) == wanted


@pytest.fixture
def model(kept, tmp_path, capsys):
    """A model of ages, sexes and days that says whether somebody survived."""
    said(capsys, written(tmp_path, passengers()), "--save", kept)
    return kept


def test_one_bad_cell_is_named_or_taken_as_missing(model, tmp_path, capsys):
    frame = passengers(20).astype(object)
    frame.loc[7, "age"], frame.loc[7, "day"] = None, None
    wanted = said(capsys, "predict", model, written(tmp_path, frame))
    frame.loc[7, "age"], frame.loc[7, "day"] = "n.k.", "1912-13-01"
    path = written(tmp_path, frame)
    told = refused(capsys, "predict", model, path)
    assert "row 9 has 'n.k.' in column 'age', which has numbers" in told
    assert said(capsys, "predict", model, path, "--bad-cells", "missing") == wanted
    told = refused(capsys, "predict", model, written(tmp_path, frame.assign(age=30)))
    assert "row 9 has '1912-13-01' in column 'day', which has dates" in told


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_without_rows_gives_a_header(kind, model, tmp_path, capsys):
    pytest.importorskip("pyarrow")
    path = written(tmp_path, passengers().assign(id="a")[:0], f"new.{kind}")
    assert said(capsys, "predict", model, path) == ["prediction"]
    header = ["id,prediction,probability_0,probability_1"]
    assert said(capsys, "predict", model, path, "--keep", "id", "--proba") == header


def test_columns_are_kept_beside_predictions(model, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("skstructured._cli.predict.PART", 7)
    frame = passengers(20).assign(id=[f"00{i}" for i in range(20)])
    path = written(tmp_path, frame)
    plain = said(capsys, "predict", model, path)[1:]
    cells = zip(frame["id"], frame["sex"], plain, strict=True)
    lines = said(capsys, "predict", model, path, "--keep", "id,sex")
    assert lines == ["id,sex,prediction", *map(",".join, cells)]
    assert "no column 'name'" in refused(capsys, "predict", model, path, "--keep", "name")
