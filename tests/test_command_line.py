"""``python -m skstructured``."""

import numpy as np
import pytest
from conftest import INTERPRETED
from sklearn.datasets import load_iris

from skstructured.__main__ import main

compiled = pytest.mark.skipif(INTERPRETED, reason="needs compiled kernels")


@pytest.fixture
def iris_csv(tmp_path):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    lines = ["a,b,c,d,kind"] + [
        ",".join([*map(str, x), name]) for x, name in zip(X, names, strict=True)
    ]
    path = tmp_path / "iris.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def rows(text):
    return [line.split() for line in text.splitlines()[2:]]


@compiled
def test_default_table_keeps_its_bounds(capsys):
    assert main([]) == 0
    out = capsys.readouterr().out
    assert "digits (1797 rows, 64 features)" in out
    lines = rows(out)
    assert [line[:2] for line in lines] == [
        [regularizer, decoder]
        for decoder in ("randomized", "nearest")
        for regularizer in ("shannon", "squared", "tsallis")
    ]
    for line in lines[:3]:
        mistakes, bound, margin = float(line[2]), float(line[5]), float(line[6])
        assert 0 < mistakes < bound and margin == pytest.approx(bound - mistakes, abs=0.11)
        assert float(line[7].replace(",", "")) > 0


@compiled
@pytest.mark.parametrize("space", ["ordinal", "hypercube"])
def test_digits_in_other_spaces(space, capsys):
    assert main(["--space", space, "--decoder", "randomized", "--regularizer", "squared"]) == 0
    (line,) = rows(capsys.readouterr().out)
    assert float(line[2]) < float(line[5])


def test_a_csv_file(iris_csv, capsys):
    assert main(["--data", str(iris_csv), "--target", "kind", "--shuffle"]) == 0
    out = capsys.readouterr().out
    assert "(150 rows, 4 features)" in out
    assert all(float(line[3]) < 0.7 for line in rows(out))


def test_text_columns_and_several_targets(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("u,v,p,q\n1,red,0,1\n2,blue,1,1\n3,red,0,0\n4,blue,1,0\n", encoding="utf-8")
    assert main(["--data", str(path), "--target", "p,q", "--space", "hypercube"]) == 0
    assert "(4 rows, 3 features)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "missing.csv", "--target", "y"], "No such file or directory: missing.csv"),
        (["--data", "{csv}", "--target", "zz"], "no column 'zz'; it has a, b, c, d, kind"),
        (["--data", "{csv}"], "--data needs --target"),
        (["--data", "{bad}", "--target", "y"], "row 3 has no value in column 'x'"),
        (["--data", "{short}", "--target", "y"], "row 2 has 1 cells, the header has 2"),
        (["--data", "{head}", "--target", "y"], "no rows below its header"),
        (["--data", "{only}", "--target", "y"], "no column besides the target"),
        (["--data", "{nan}", "--target", "y"], "NaN"),
        (["--data", "{csv}", "--target", "kind", "--space", "hypercube"], "must hold 0 and 1"),
        (["--regularizer", "l2"], "regularizer='l2' is not known"),
        (["--decoder", "l2"], "decoder='l2' is not known"),
        (["--space", "hypercube", "--regularizer", "tsallis"], "no oracle for Hypercube with"),
    ],
)
def test_errors_are_one_line_and_status_two(arguments, message, iris_csv, tmp_path, capsys):
    files = {
        "bad": "x,y\n1,2\n,3\n",
        "short": "x,y\n1\n",
        "head": "x,y\n",
        "only": "y\n1\n2\n",
        "nan": "x,y\n1,2\nnan,3\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    paths = {name: str(tmp_path / name) for name in files} | {"csv": str(iris_csv)}
    assert main([argument.format(**paths) for argument in arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    assert captured.err.startswith("error: ") and message in captured.err


def test_help_explains_the_columns(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    for word in ("mistakes", "comparator", "bound", "margin", "--target", "--space"):
        assert word in out
