"""``python -m skstructured``: exit codes, the model that is kept, and what it predicts."""

import errno
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from table_files import compiled, homes, iris, load, numbers, one, people, results, trips

import skstructured
from skstructured import (
    ListwiseRanker,
    OnlineStructuredPredictor,
    StructuredPredictor,
    StructuredRanker,
    TableEncoder,
)
from skstructured.__main__ import main
from skstructured._cli import files
from skstructured._cli.tables import Table
from skstructured.checkpoints import load_checkpoint, save_checkpoint


@pytest.fixture
def iris_csv(cli):
    return cli.written(iris(), "iris.csv")


def test_too_little_memory_is_told_in_a_line(monkeypatch, cli):
    def fails(*_):
        raise MemoryError("Unable to allocate 12 GiB")

    monkeypatch.setattr("skstructured._cli.tables._digits", fails)
    assert cli.refused() == "error: not enough memory: Unable to allocate 12 GiB\n"


def run(path, stdout):
    """The status of a process, and the lines of its errors."""
    given = {"cwd": ROOT, "text": True, "stdout": stdout, "stderr": subprocess.PIPE}
    done = subprocess.run([sys.executable, "-m", "skstructured", path], check=False, **given)
    lines = done.stderr.splitlines()
    return done.returncode, [line for line in lines if not line.startswith("skstructured compiles")]


@pytest.mark.skipif(os.name != "posix", reason="a pipe closed by its reader")
@pytest.mark.exhaustive
def test_a_reader_that_has_enough_ends_it_quietly(iris_csv):
    reader, writer = os.pipe()
    os.close(reader)
    assert run(iris_csv, writer) == (128 + signal.SIGPIPE, [])
    os.close(writer)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.exhaustive
def test_a_full_disk_is_told_in_a_line(iris_csv):
    with open("/dev/full", "w") as full:
        status, told = run(iris_csv, full)
    assert status == 2 and "error: No space left on device: standard output" in told[:2]


@pytest.mark.parametrize(
    ("given", "status", "words"),
    [
        (["--help"], 0, ["--target", "--space", "--dates", "--save"]),
        (["--version"], 0, [f"skstructured {skstructured.__version__}\n"]),
        (["predict", "--help"], 0, ["Print a prediction for each row of FILE"]),
        (["predict"], 2, ["the following arguments are required: MODEL, FILE", "usage: python -m"]),
        (["predict", "a", "b", "c"], 2, ["unrecognized arguments: c"]),
    ],
)
def test_help_explains_the_columns(given, status, words, capsys):
    with pytest.raises(SystemExit) as stop:
        main(given)
    told = capsys.readouterr()
    assert stop.value.code == status and all(word in told[status // 2] for word in words)


@pytest.mark.parametrize("place", ["folder", "nowhere/model"])
def test_where_no_model_could_be_kept_nothing_is_read(place, iris_csv, cli, monkeypatch):
    monkeypatch.setattr("skstructured.__main__.first_rows", lambda options: 1 / 0)
    (cli.folder / "folder").mkdir()
    assert place.partition("/")[0] in cli.refused(iris_csv, "--save", cli.folder / place)


@pytest.mark.parametrize("name", ["iris.csv", "link.csv", "notes.txt", "other.zip"])
def test_a_model_takes_the_place_of_a_model_only(name, iris_csv, cli):
    """Neither of the data, by whatever name, nor of any other file."""
    path = cli.folder / name
    (cli.folder / "link.csv").symlink_to(iris_csv)
    cli.written("mine", "notes.txt")
    with zipfile.ZipFile(cli.folder / "other.zip", "w") as members:
        members.writestr("mine.txt", "mine")
    content = path.read_bytes()
    told = cli.refused(iris_csv, "--save", path)
    assert "would overwrite a file that is not a model" in told and path.read_bytes() == content


def test_a_model_is_kept_before_anything_is_printed_and_may_be_replaced(iris_csv, cli, monkeypatch):
    """A reader that has enough, as head has, does not lose it."""
    cli.kept(iris_csv, "--passes", "2")

    def closed(*_, **__):
        raise BrokenPipeError

    monkeypatch.setattr("builtins.print", closed)
    monkeypatch.setattr("skstructured.__main__._close_quietly", lambda: 141)
    assert main([iris_csv, "--save", cli.model, "--passes", "1"]) == 141
    assert load_checkpoint(cli.model)[-1].max_iter == 1


def full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_leaves_the_results(iris_csv, cli, monkeypatch, capsys):
    monkeypatch.setattr("skstructured.checkpoints.os.fsync", full)
    monkeypatch.setattr("skstructured.__main__._close_quietly", lambda: 1 / 0)
    path = cli.folder / "model"
    assert main([iris_csv, "--save", str(path), "--no-mixture"]) == 2
    out, err = capsys.readouterr()
    assert "Baseline" in out and "Time" in out and "Next" not in out
    assert err == f"error: No space left on device: {path}\n"
    assert sorted(os.listdir(cli.folder)) == ["iris.csv"]


@pytest.mark.parametrize("given", [[], ["predict", "model"]])
def test_an_interruption_is_one_line(given, iris_csv, cli, monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    for name in ("_check_options", "_run_predict"):
        monkeypatch.setattr(f"skstructured.__main__.{name}", interrupted)
    assert main([*given, iris_csv]) == 130
    assert capsys.readouterr() == ("", "Interrupted\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has it")
@pytest.mark.exhaustive
def test_a_full_standard_output_is_named(iris_csv):
    with open("/dev/full", "w") as output:
        status, lines = run(iris_csv, output)
    assert (status, lines) == (2, ["error: No space left on device: standard output"])


class Missing:
    """A finder by which modules are not installed."""

    def __init__(self, *names):
        self.names = names

    def find_spec(self, name, *_):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@pytest.mark.exhaustive
def test_the_error_says_what_to_install(iris_csv, cli, monkeypatch):
    for name in ("skops", "skops.io", "pandas"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "meta_path", [Missing("skops"), *sys.meta_path])
    assert cli.refused(iris_csv, "--save", cli.model).endswith("pip install skops.\n")
    monkeypatch.delitem(sys.modules, "pandas")
    monkeypatch.setattr(sys, "meta_path", [Missing("pandas"), *sys.meta_path])
    assert cli.refused(iris_csv).endswith("pip install pandas\n")
    assert cli.said()[0] == "digits (1797 rows, 64 features)"


@pytest.mark.exhaustive
def test_the_next_command_runs(iris_csv, cli, monkeypatch):
    monkeypatch.chdir(cli.folder)
    given = shlex.split(cli.said(iris_csv)[-1])[4:]
    last = shlex.split(cli.said(*given)[-1])
    assert Path("model").exists()
    assert last[:3] == ["Next", "python", "-m"] and last[-2:] == [">", "predictions.csv"]
    given = [iris_csv if word == "NEW_FILE" else word for word in last[4:-2]]
    assert given == ["predict", "model", iris_csv]
    assert len(cli.said(*given)) == 151


def test_the_next_command_installs_what_is_missing_and_asks_for_a_file(iris_csv, monkeypatch, cli):
    X, y = load_digits(return_X_y=True)
    few = Table(X[:50], y[:50], "digits")
    monkeypatch.setattr("skstructured._cli.tables._digits", lambda space: few)
    assert cli.said()[-1] == "Next             python -m skstructured FILE.csv"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    last = cli.said(iris_csv)[-1]
    assert last.startswith("Next             pip install skops && python -m skstructured ")


def test_the_model_that_is_kept_knows_its_columns(cli):
    """Frames are read by name, in whatever order; what is missing or no number is named."""
    frame = iris()
    frame.insert(4, "colour", np.where(frame["c"] > 2.5, "red", "blue"))
    path = cli.written(frame)
    cli.kept(path, "--passes", "3")
    model, rows, table = load_checkpoint(cli.model), pd.read_csv(path), load(path)
    alone = OnlineStructuredPredictor(decoder="nearest", max_iter=3, random_state=0)
    expected = alone.fit(table.X, table.y).predict(table.X)
    assert (expected == frame["kind"]).mean() > 0.8 and model[-1].n_iter_ > 1
    cells = rows.iloc[:, :5].to_numpy(object)
    orders = (["kind", "d", "colour", "b", "a", "c"], [*"dcba", "colour"])
    texts = cells.astype(str).astype(object)
    for given in (cells, texts, *(rows[order] for order in orders)):
        np.testing.assert_array_equal(model.predict(given), expected)
    assert model.predict(rows[:1].assign(colour="green"))[0].startswith("kind")
    for given, message in (
        (rows[[*"acd", "kind"]], "missing: b, colour"),
        (rows[[*"abcd"]].to_numpy(), "has 4 features, but TableEncoder is expecting 5"),
        (rows.assign(b="red"), "Column 'b' must contain numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            model.predict(given)


def test_a_mixture_is_kept_whose_score_was_shown(iris_csv, cli):
    lines, table = cli.kept(iris_csv), load(iris_csv)
    model = load_checkpoint(cli.model)[-1]
    same = StructuredPredictor(random_state=0).fit(table.X, table.y)
    np.testing.assert_array_equal(model.predict_proba(table.X), same.predict_proba(table.X))
    wrong = 1.0 - same.validation_score_
    assert lines[2].startswith(f"Held out         {wrong:.1%} wrong (")
    names = "linear, arc-cosine, laplacian, rbf, boosting and trees."
    assert " ".join(" ".join(lines[3:5]).split()) == f"by a mixture that --save keeps: {names}"
    seen = np.r_[np.ones(round(150 * wrong) + 2), np.zeros(152 - round(150 * wrong))]
    ends = [seen.mean() + sign * 1.96 * seen.std() / np.sqrt(154) for sign in (-1, 1)]
    assert numbers(lines[2])[1:3] == pytest.approx([100.0 * end for end in ends], abs=0.06)
    first = lines[2 : lines.index(one(lines, "While learning"))]
    assert type(model) is StructuredPredictor and first == cli.said(iris_csv)[2 : 2 + len(first)]


@pytest.mark.exhaustive
def test_a_mixture_of_label_sets_is_for_f1_and_one_of_numbers_has_r2(cli):
    frame = people()
    frame["old"] = (frame["age"] > 30).astype(int)
    frame["saved"] = (frame["saved"] == "yes").astype(int)
    lines = cli.kept(frame, "--target", "saved,old", "--space", "hypercube")
    model = load_checkpoint(cli.model)[-1]
    assert model.decoder == "f1" and "% of labels wrong (" in one(lines, "Held out")
    assert numbers(lines[2])[0] == pytest.approx(100 * (1 - model.validation_score_), abs=0.06)
    frame = homes().drop(columns="dear")
    lines = cli.kept(frame, "--target", "price")
    model = load_checkpoint(cli.model)[-1]
    mean, low, high, _ = numbers(one(lines, "Held out"))
    assert 0.0 < low < mean < high and "on average (" in lines[2]
    new = homes(900)
    missed = np.abs(cli.predicted(new)["prediction"] - new["price"]).mean()
    assert 0.6 * missed < mean < 1.5 * missed
    always = np.abs(frame["price"] - frame["price"].median()).mean()
    assert numbers(one(lines, "Baseline"))[0] == pytest.approx(always, rel=1e-3)


def test_work_that_takes_long_says_what_it_is_and_how_far(iris_csv, cli, monkeypatch, capsys):
    monkeypatch.setattr("skstructured._cli.files.SECONDS_TO_PROGRESS", 1e-3)
    slow = {
        "_whole": "skstructured._cli.tables",
        "progressive_validate": "skstructured._cli.commands",
    }
    for name, module in slow.items():
        monkeypatch.setattr(f"{module}.{name}", slowed(getattr(sys.modules[module], name)))
    assert main([iris_csv, "--save", cli.model]) == 0
    told = capsys.readouterr().err.splitlines()
    assert all(re.fullmatch(r".*, \d+ s", line) for line in told)
    for start in (f"Reading {iris_csv}: 150 rows, ", "While learning: 150/150 rows, "):
        assert any(line.startswith(start) for line in told)
    mixture = "Held out: a mixture learns 150 rows (--no-mixture leaves it out), "
    assert any(line.startswith(mixture) for line in told)
    monkeypatch.setattr(OnlineStructuredPredictor, "fit", slowed(OnlineStructuredPredictor.fit))
    assert main([iris_csv, "--save", cli.model, "--passes", "1"]) == 0
    assert "Model: learns 150 rows, " in capsys.readouterr().err


def slowed(work):
    """The same work, which takes three times as long, so it is told of when it is done."""

    def done(*given, **more):
        started = time.perf_counter()
        result = work(*given, **more)
        time.sleep(0.2 + 2.0 * (time.perf_counter() - started))
        return result

    return done


@compiled
def test_what_is_done_quickly_says_nothing(iris_csv, monkeypatch, capsys):
    monkeypatch.setattr("skstructured._cli.files.SECONDS_TO_PROGRESS", 600.0)
    assert main([iris_csv]) == 0
    assert capsys.readouterr().err == ""


def test_the_mixture_can_be_left_out(iris_csv, cli, monkeypatch):
    monkeypatch.setattr("skstructured._cli.commands.mixture_of", lambda *_: 1 / 0)
    lines = cli.said(iris_csv, "--no-mixture")
    assert not any(line.startswith("Held out") for line in lines)
    assert lines[-1].endswith("iris.csv --no-mixture --save model")
    cli.kept(iris_csv, "--no-mixture")
    assert isinstance(load_checkpoint(cli.model)[-1], OnlineStructuredPredictor)


def test_passes_of_the_model_are_the_learners_own_if_asked_for(iris_csv, cli):
    """What the bound is about, one pass, is kept where it is asked for."""
    lines = cli.kept(iris_csv, "--passes", "auto")
    model = load_checkpoint(cli.model)[-1]
    assert model.max_iter == "auto" and model.n_iter_ > 1
    assert lines[-3].startswith(f"Model            {cli.model}")
    assert lines[-2] == (
        f"Passes           {model.n_iter_}; the bound for new rows is about one, and --passes 1 "
        "keeps that model."
    )
    lines = cli.kept(iris_csv, "--passes", "1")
    assert (load_checkpoint(cli.model)[-1].n_iter_, load_checkpoint(cli.model)[-1].t_) == (1, 150)
    assert "Passes" not in "".join(lines)
    assert "max_iter" in cli.refused(iris_csv, "--save", cli.model, "--passes", "0")


@compiled
@pytest.mark.parametrize("passes", [None, 3])
def test_a_model_of_rows_in_order_has_learned_them_in_order(passes, cli):
    path = cli.written(people().drop(columns="paid"))
    lines = cli.kept(path, "--in-order", *([] if passes is None else ["--passes", passes]))
    assert not any(line.startswith("Passes") for line in lines) or passes
    learner, table = load_checkpoint(cli.model)[-1], load(path)
    assert (learner.shuffle, learner.max_iter) == (False, passes or 1)
    if passes is None:
        stream = OnlineStructuredPredictor(random_state=0)
        stream.partial_fit(table.X, table.y, classes=np.unique(table.y))
        np.testing.assert_allclose(learner.coef_, stream.coef_)


@compiled
@pytest.mark.exhaustive
def test_words_have_the_order_that_is_given(cli):
    rng, words = np.random.RandomState(0), ["poor", "fair", "good"]
    x = rng.randn(600)
    grade = np.array(words)[np.digitize(x + 0.3 * rng.randn(600), [-0.5, 0.5])]
    path = cli.written(pd.DataFrame({"x": x, "grade": grade}))
    lines = cli.kept(path, "--order", ",".join(words))
    assert " grades off of 3 (" in lines[2] and " grades off of 3; " in " ".join(lines)
    assert load_checkpoint(cli.model).classes_.tolist() == words
    found = cli.predicted(path, "--proba")
    assert list(found) == ["prediction", *(f"probability_{word}" for word in words)]
    codes = found["prediction"].map(words.index)
    assert np.abs(codes - np.digitize(x, [-0.5, 0.5])).mean() < 0.2


def survivors(n=240):
    """Ages, sexes and days, with gaps, and who was saved."""
    return people(n).drop(columns="paid")


@compiled
@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
@pytest.mark.short("csv")
def test_a_table_is_learned_kept_and_predicted(kind, cli):
    frame = survivors()
    path = cli.written(frame, f"t.{kind}")
    lines = cli.kept(path, "--target", "saved")
    assert lines[0] == f"{path} (240 rows, 3 columns as 26 features), target saved"
    line = one(lines, "Matters most")
    assert line.split()[2] == "sex,"
    found = cli.predicted(path)
    assert list(found.columns) == ["prediction"] and len(found) == 240
    assert (found["prediction"] == frame["saved"]).mean() > 0.85
    # another order, no target, and a column more
    other = cli.written(frame[["day", "sex", "age"]].assign(more=1), "new.csv")
    pd.testing.assert_frame_equal(cli.predicted(other), found)


@compiled
@pytest.mark.exhaustive
def test_models_of_several_targets_predict(cli):
    frame = pd.DataFrame(np.random.RandomState(0).randn(200, 3), columns=list("abc"))
    frame["p"], frame["q"] = (frame["a"] > 0).astype(int), (frame["b"] > 0).astype(int)
    cli.kept(frame, "--space", "hypercube", "--target", "p,q")
    found, y = cli.predicted(frame, "--proba"), frame[["p", "q"]].to_numpy()
    names = [f"{kind}_{label}" for kind in ("prediction", "probability") for label in "pq"]
    assert list(found.columns) == names
    assert (found.iloc[:, :2].to_numpy() == y).mean() > 0.85
    assert ((found.iloc[:, 2:] > 0.5).to_numpy() == y).mean() > 0.85
    error = cli.refused("predict", cli.model, frame[["a", "c"]])
    assert error == "error: X must have the columns a, b, c; missing: b.\n"


@compiled
def test_models_without_a_table_read_numbers(cli):
    assert "No such file or directory" in cli.refused("predict", "nowhere", "t.csv")
    frame = pd.DataFrame(np.random.RandomState(0).randn(200, 3), columns=list("abc"))
    y = (frame["a"] > 0).astype(int)
    save_checkpoint(OnlineStructuredPredictor().fit(frame.to_numpy(), y), cli.model)
    assert (cli.predicted(frame)["prediction"] == y).mean() > 0.9
    told = cli.refused("predict", cli.model, cli.written("1 1:0.5\n", "t.svm"))
    assert "Read svmlight files in Python" in told
    told = cli.refused("predict", cli.model, cli.written("a,b,c\n1,x,2\n"))
    assert "row 2 has 'x' in column 'b', which has numbers" in told


@compiled
@pytest.mark.exhaustive
def test_probabilities_stand_behind_predictions(cli):
    path = cli.written(survivors())
    cli.kept(path)
    found = cli.predicted("--proba", path)
    assert list(found) == ["prediction", "probability_no", "probability_yes"]
    assert found["prediction"].tolist() == cli.said("predict", cli.model, path)[1:]
    wanted = load_checkpoint(cli.model).predict_proba(pd.read_csv(path))
    np.testing.assert_allclose(found.iloc[:, 1:], wanted, rtol=1e-12)
    cli.kept(people()[["age", "paid"]])
    told = cli.refused("predict", cli.model, path, "--proba")
    assert "--proba is only supported for models of classes or labels" in told


@compiled
def test_names_of_labels_survive_from_a_frame(cli):
    frame = people()[["age", "paid"]].fillna(30.0)
    y = pd.DataFrame({"old": frame["age"] > 30, "rich": frame["paid"] > 300}).astype(int)
    for outputs, names in ((y, ["old", "rich"]), (y.to_numpy(), [0, 1])):
        save_checkpoint(OnlineStructuredPredictor("hypercube").fit(frame, outputs), cli.model)
        wanted = [f"{kind}_{name}" for kind in ("prediction", "probability") for name in names]
        assert list(cli.predicted(frame, "--proba")) == wanted


@compiled
@pytest.mark.exhaustive
def test_one_bad_cell_is_named_or_taken_as_missing(cli):
    cli.kept(survivors())
    frame = survivors(20).astype(object)
    frame.loc[7, "age"], frame.loc[7, "day"] = None, None
    wanted = cli.said("predict", cli.model, frame)
    frame.loc[7, "age"], frame.loc[7, "day"] = "n.k.", "1912-13-01"
    told = cli.refused("predict", cli.model, frame)
    assert "row 9 has 'n.k.' in column 'age', which has numbers" in told
    assert cli.said("predict", cli.model, frame, "--bad-cells", "missing") == wanted
    told = cli.refused("predict", cli.model, frame.assign(age=30))
    assert "row 9 has '1912-13-01' in column 'day', which has dates" in told


@compiled
@pytest.mark.exhaustive
def test_a_file_without_rows_gives_a_header(cli):
    cli.kept(survivors())
    for name in ("new.csv", "new.parquet"):
        path = cli.written(survivors().assign(id="a")[:0], name)
        assert cli.said("predict", cli.model, path) == ["prediction"]
        header = ["id,prediction,probability_no,probability_yes"]
        assert cli.said("predict", cli.model, path, "--keep", "id", "--proba") == header


@compiled
@pytest.mark.exhaustive
def test_columns_are_kept_beside_predictions(cli, monkeypatch):
    cli.kept(survivors())
    monkeypatch.setattr(files, "LARGE_FILES", files.LargeFiles(rows_per_part=7))
    frame = survivors(20).assign(id=[f"00{i}" for i in range(20)])
    plain = cli.said("predict", cli.model, frame)[1:]
    cells = zip(frame["id"], frame["day"].astype(str), plain, strict=True)
    lines = cli.said("predict", cli.model, frame, "--keep", "id,day")
    assert lines == ["id,day,prediction", *map(",".join, cells)]
    assert "no column 'name'" in cli.refused("predict", cli.model, frame, "--keep", "name")


@compiled
def test_a_kept_ranker_writes_scores_as_in_python(cli):
    frame = results()
    features = frame.drop(columns=["query", "grade"])
    cli.kept(frame, "--target", "grade", "--qid", "query", "--in-order")
    found = cli.predicted(frame)
    model = make_pipeline(TableEncoder(), ListwiseRanker(shuffle=False, max_iter=1, random_state=0))
    model.fit(features, frame["grade"], listwiseranker__qid=frame["query"])
    assert list(found) == ["score"]
    np.testing.assert_allclose(found["score"], model.predict(features))
    pd.testing.assert_frame_equal(cli.predicted(features[["kind", "age", "match"]]), found)


@compiled
def test_queries_are_ranked_by_a_mixture(cli):
    frame = results()
    features = frame.drop(columns=["query", "grade"])
    lines = cli.kept(frame, "--target", "grade", "--qid", "query")
    model = make_pipeline(TableEncoder(), StructuredRanker(random_state=0))
    model.fit(features, frame["grade"], structuredranker__qid=frame["query"])
    assert one(lines, "Held out").startswith("Held out         NDCG@10 0.9")
    score = numbers(one(lines, "Held out"))[0]
    assert score == pytest.approx(model[-1].validation_score_, abs=0.01)  # few lists are longer
    np.testing.assert_allclose(cli.predicted(frame)["score"], model.predict(features))
    lines = cli.said(frame, "--target", "grade", "--qid", "query", "--no-mixture")
    assert not any(line.startswith("Held out") for line in lines)


@compiled
def test_a_kept_model_of_choices_writes_probabilities_and_marks(cli, monkeypatch):
    frame = trips()
    cli.kept(frame, "--choice", "trip")
    found = cli.predicted(frame)
    by_trip = found.groupby(frame["trip"].to_numpy())
    np.testing.assert_allclose(by_trip["probability"].sum(), 1.0)
    assert (by_trip["chosen"].sum() == 1).all()
    assert (found.loc[by_trip["probability"].idxmax(), "chosen"] == 1).all()
    assert found["chosen"].corr(frame["chosen"].reset_index(drop=True)) > 0.4
    apart = frame.sample(frac=1.0, random_state=0)
    again = cli.predicted(apart)
    again.index = apart.index
    np.testing.assert_allclose(again.sort_index(), found)
    monkeypatch.setattr(files, "LARGE_FILES", files.LargeFiles(rows_per_part=7))
    np.testing.assert_allclose(cli.predicted(frame), found)
    lost = cli.refused("predict", cli.model, frame.drop(columns="trip"))
    assert "no column 'trip'" in lost
