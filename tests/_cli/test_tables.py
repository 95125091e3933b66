"""Tables as people have them on the command line, and predictions of models that were kept."""

import io

import numpy as np
import pandas as pd
import pytest
from conftest import INTERPRETED
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from skstructured import FolkloreClassifier, OnlineStructuredPredictor, TableEncoder
from skstructured.__main__ import main
from skstructured._cli.effects import effects
from skstructured._cli.read import Table

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
    assert list(found.columns) == ["prediction_0", "prediction_1"]
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
        (["predict"], "predict takes a model and a file, got 0 names"),
        (["predict", "a", "b", "c"], "got 3 names. usage: python -m skstructured predict MODEL"),
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
    assert "column 'b' must hold numbers" in capsys.readouterr().err
    passengers().to_csv(tmp_path / "p.csv", index=False)
    assert main([str(tmp_path / "p.csv"), "--save", kept]) == 0
    assert main(["predict", kept, path]) == 2
    assert "t.svm has no names of columns" in capsys.readouterr().err


def test_predict_has_help(capsys):
    assert main(["predict", "--help"]) == 0
    assert "usage: python -m skstructured predict MODEL FILE" in capsys.readouterr().out


def test_columns_must_have_names_of_their_own(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("a,a,y\n1,2,0\n3,4,1\n")
    assert main([str(path)]) == 2
    assert "has two columns of the name 'a'" in capsys.readouterr().err


def told(model, X, names, encoder=None, **rest):
    """The line about effects, or None; columns are numbers where no encoder is given."""
    made = encoder or TableEncoder().fit(dict.fromkeys(names, np.arange(3.0)))
    return next(effects(model, Table(X, None, "t", made, **rest)), None)


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

    def test_a_column_is_named_once_and_texts_by_their_words(self):
        rng = np.random.RandomState(0)
        words = ["good day", "bad day", "long walk", "short walk", "old house", "new house"]
        texts = np.array([" ".join(rng.choice(words, 5)) for _ in range(400)], dtype=object)
        table = {"text": texts, "sex": rng.choice(["m", "f"], 400), "size": rng.randn(400)}
        good = np.array([text.count("good") > 1 for text in texts])
        y = good ^ (rng.rand(400) < 0.1) ^ ((table["sex"] == "f") & (rng.rand(400) < 0.2))
        encoder = TableEncoder().fit(table)
        X = encoder.transform(table)
        model = OnlineStructuredPredictor(random_state=0).fit(X, y)
        line = told(model, X, "", encoder, texts={"text": texts})
        assert line.startswith("Matters most     text '") and "words_" not in line
        assert "good" in line.split("' (+)")[0]
        column = encoder.get_feature_names_out().tolist().index
        (coder,) = encoder._coders_of("words")
        for j, name in enumerate(coder.names):
            one = coder.transform(np.array([coder.most_frequent(texts, j)], dtype=object))
            assert X[:, column(name)].any() == (one[0, j] > 0)
        del table["text"]
        encoder = TableEncoder().fit(table)
        X = encoder.transform(table)
        line = told(OnlineStructuredPredictor(random_state=0).fit(X, table["sex"]), X, "", encoder)
        assert line.count("sex_") == 1 and "size (" in line
