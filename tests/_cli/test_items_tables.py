"""Learning to rank and choices on the command line, beside learners and metrics."""

import re

import numpy as np
import pandas as pd
import pytest
from conftest import INTERPRETED
from sklearn.pipeline import make_pipeline
from table_files import one, predicted, refused, said, written

from skstructured import TableEncoder
from skstructured._cli import tables
from skstructured._cli.report import deviations
from skstructured._cli.tables import Table
from skstructured.evaluation import progressive_validate
from skstructured.guarantees import risk_bound
from skstructured.items import ItemStructuredPredictor, ListwiseRanker
from skstructured.items.metrics import ndcg

compiled = pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")


def results(n=60, seed=0):
    """Results of queries, in no order, with gaps and words; the last query has no grade above 0."""
    rng = np.random.RandomState(seed)
    query = np.repeat(np.arange(n), rng.randint(2, 15, size=n))
    frame = pd.DataFrame({"query": [f"q{i}" for i in query], "match": rng.rand(len(query))})
    frame["age"] = np.where(rng.rand(len(query)) < 0.1, np.nan, rng.gamma(2.0, 90.0, len(query)))
    frame["kind"] = rng.choice(["news", "shop"], len(query))
    liked = 3.0 * frame["match"] + (frame["kind"] == "news") + 0.5 * rng.randn(len(query))
    frame["grade"] = np.clip(liked.round(), 0, 3).astype(int)
    frame.loc[query == n - 1, "grade"] = 0
    return frame.sample(frac=1.0, random_state=1)


def trips(n=200, seed=0):
    rng = np.random.RandomState(seed)
    frame = pd.DataFrame({"trip": np.repeat(np.arange(n), 3), "mode": ["bus", "car", "rail"] * n})
    frame["time"], frame["cost"] = rng.gamma(4.0, 15.0, 3 * n), rng.gamma(3.0, 2.0, 3 * n)
    liked = -0.05 * frame["time"] - 0.4 * frame["cost"] + rng.gumbel(size=3 * n)
    frame["chosen"] = (liked == liked.groupby(frame["trip"]).transform("max")).astype(int)
    return frame.drop(index=range(0, 3 * n, 30)).reset_index(drop=True).pipe(_with_choice)


def _with_choice(frame):
    """Trips that have lost the chosen row are left out."""
    return frame[frame.groupby("trip")["chosen"].transform("sum") == 1]


def numbers(line):
    return [float(number) for number in re.findall(r"(?<![@\w])-?\d+\.\d+", line)]


def rounds_of(frame, name, target):
    """Features and outputs of the rounds, in the order of their first rows."""
    encoder = TableEncoder().fit(frame.drop(columns=[name, target]))
    for _, part in frame.groupby(name, sort=False):
        X = encoder.transform(part.drop(columns=[name, target]))
        yield X, part[target].to_numpy()


@compiled
def test_a_ranking_is_measured_before_it_is_learned(tmp_path, capsys):
    frame = results()
    lines = said(
        capsys, written(tmp_path, frame), "--target", "grade", "--qid", "query", "--in-order"
    )
    assert lines[0].endswith(
        f"({len(frame)} rows, 3 columns as 5 features), 60 lists by query, target grade"
    )
    model, found = ListwiseRanker(random_state=0), []
    pairs = list(rounds_of(frame, "query", "grade"))
    rounds = model.begin([X for X, _ in pairs], [y for _, y in pairs])
    for i, (_, y) in enumerate(pairs):
        theta = []
        model._learn(rounds, np.array([i]), lambda b, w, to=theta: to.append(b.theta.values), 2)
        if y.any():
            found.append(ndcg([y], theta, k=10))
    assert len(found) == 59 and "1 with grades of 0 only" in lines[4]
    late = found[len(found) // 2 :]
    assert numbers(lines[3]) == pytest.approx([np.mean(found), np.mean(late)], abs=6e-4)
    kept = (1.0 - np.array(found)[-round(0.5 * len(found)) :]).clip(0.0, 1.0)
    assert numbers(one(lines, "New lists"))[0] == pytest.approx(1.0 - risk_bound(kept), abs=6e-4)
    scores = [np.zeros(len(frame)), -np.arange(len(frame))]
    guesses = [ndcg(frame["grade"], s, frame["query"], k=10) for s in scores]
    assert numbers(one(lines, "Baseline")) == pytest.approx([*guesses, np.mean(found)], abs=6e-4)
    assert one(lines, "Matters most").split()[2:4] == ["match", "(+),"]


@compiled
def test_choices_are_those_of_a_progressive_validation(tmp_path, capsys):
    frame = trips()
    lines = said(capsys, written(tmp_path, frame), "--choice", "trip", "--in-order")
    pairs = list(rounds_of(frame, "trip", "chosen"))
    X, y = [x for x, _ in pairs], [int(marks.argmax()) for _, marks in pairs]
    learner = ItemStructuredPredictor(decoder="map", random_state=0)
    run = progressive_validate(learner, X, y)
    wrong = run.expected_target_loss
    told = [100 * wrong.mean(), 100 * wrong[len(wrong) // 2 :].mean()]
    assert numbers(lines[3]) == pytest.approx(told, abs=6e-2)
    assert numbers(one(lines, "New choices"))[0] == pytest.approx(
        100 * risk_bound(wrong[-(len(y) // 2) :]), abs=6e-2
    )
    always = np.bincount(y).max() / len(y)
    found = numbers(one(lines, "Accuracy"))
    assert found == pytest.approx([*(100 - part for part in told), 100 * always], abs=6e-2)
    assert f"always row {np.bincount(y).argmax() + 1} of each" in one(lines, "Accuracy")
    chosen = run.estimator.begin(X, y)  # a new run, for probabilities round by round
    logs = []
    for i, place in enumerate(y):
        parts = []
        run.estimator._learn(chosen, np.array([i]), lambda b, w, to=parts: to.append(b.theta), 2)
        logs.append(np.log(run.estimator._decode(parts[0]).means().values[place]))
    equal = -np.mean([np.log(len(x)) for x in X])
    assert numbers(one(lines, "Log-likelihood")) == pytest.approx([np.mean(logs), equal], abs=6e-4)


@compiled
@pytest.mark.parametrize(("option", "make"), [("--qid", results), ("--choice", trips)])
def test_rounds_are_shuffled_whole_and_their_rows_keep_their_order(option, make, tmp_path, capsys):
    frame = make()
    name, target = ("query", "grade") if option == "--qid" else ("trip", "chosen")
    path = written(tmp_path, frame)
    first, other = (said(capsys, path, option, name, "--seed", s)[3] for s in "12")
    assert first != other
    place, qid = np.arange(len(frame))[:, None], frame[name].to_numpy()
    table = Table(place, frame[target].to_numpy(), "", qid=qid, round=name)
    mixed = table.in_random_order(1)
    assert (mixed.qid == frame[name].to_numpy()[mixed.X[:, 0]]).all()
    assert (mixed.y == frame[target].to_numpy()[mixed.X[:, 0]]).all()
    order = list(dict.fromkeys(mixed.qid))
    assert order != list(dict.fromkeys(frame[name])) and sorted(order) == sorted(set(frame[name]))
    starts = [mixed.X[mixed.qid == label, 0] for label in order]
    assert (mixed.X[:, 0] == np.concatenate(starts)).all()
    assert all((np.diff(rows) > 0).all() for rows in starts)


@compiled
def test_a_kept_ranker_writes_scores_as_in_python(tmp_path, capsys):
    pytest.importorskip("skops")
    frame, kept = results(), str(tmp_path / "model")
    path = written(tmp_path, frame)
    said(capsys, path, "--target", "grade", "--qid", "query", "--in-order", "--save", kept)
    found = predicted(capsys, kept, path)
    features = frame.drop(columns=["query", "grade"])
    model = make_pipeline(TableEncoder(), ListwiseRanker(shuffle=False, max_iter=1, random_state=0))
    model.fit(features, frame["grade"], listwiseranker__qid=frame["query"])
    assert list(found) == ["score"]
    np.testing.assert_allclose(found["score"], model.predict(features))
    without = written(tmp_path, features[["kind", "age", "match"]], "new.csv")
    pd.testing.assert_frame_equal(predicted(capsys, kept, without), found)


@compiled
def test_a_kept_model_of_choices_writes_probabilities_and_marks(tmp_path, capsys, monkeypatch):
    pytest.importorskip("skops")
    frame, kept = trips(), str(tmp_path / "model")
    path = written(tmp_path, frame)
    said(capsys, path, "--choice", "trip", "--save", kept)
    found = predicted(capsys, kept, path)
    by_trip = found.groupby(frame["trip"].to_numpy())
    np.testing.assert_allclose(by_trip["probability"].sum(), 1.0)
    assert (by_trip["chosen"].sum() == 1).all()
    assert (found.loc[by_trip["probability"].idxmax(), "chosen"] == 1).all()
    assert found["chosen"].corr(frame["chosen"].reset_index(drop=True)) > 0.4
    apart = frame.sample(frac=1.0, random_state=0)
    again = predicted(capsys, kept, written(tmp_path, apart, "apart.csv"))
    again.index = apart.index
    np.testing.assert_allclose(again.sort_index(), found)
    monkeypatch.setattr("skstructured._cli.predict.PART", 7)
    np.testing.assert_allclose(predicted(capsys, kept, path), found)
    lost = written(tmp_path, frame.drop(columns="trip"), "lost.csv")
    assert "no column 'trip'" in refused(capsys, "predict", kept, lost)


WRONG = {
    "no such column": (trips(9), ["--choice", "trp"], "has no column 'trp'; it has trip, mode"),
    "both": (trips(9), ["--choice", "trip", "--qid", "trip"], "give one of them"),
    "target is the round": (trips(9), ["--choice", "chosen"], "are both the column 'chosen'"),
    "not 0 or 1": (trips(9).assign(chosen=2), ["--choice", "trip"], r"row 2.*has 2\."),
    "two chosen": (
        trips(9).assign(chosen=lambda f: f["chosen"].where(f["trip"] != 4, 1)),
        ["--choice", "trip"],
        r"trip 4 has 3 chosen rows \(rows \d+, \d+, \d+\), and 1 of",
    ),
    "none chosen": (trips(9).assign(chosen=0), ["--choice", "trip"], "trip 0 has 0 chosen rows, a"),
    "words for grades": (results(9), ["--qid", "query", "--target", "kind"], "grades as numbers"),
    "below 0": (results(9).assign(grade=-1), ["--qid", "query"], r"row 2.*has -1\."),
    "all 0": (results(9).assign(grade=0), ["--qid", "query"], "all grades of column 'grade' are 0"),
    "a gap": (
        trips(9).assign(trip=[None] + [1] * (len(trips(9)) - 1)),
        ["--choice", "trip"],
        "row 2 has no value in column",
    ),
    "no features": (trips(9)[["trip", "chosen"]], ["--choice", "trip"], "no column besides"),
    "a space": (trips(9), ["--choice", "trip", "--space", "birkhoff"], "--space is not for --qid"),
    "a picture": (trips(9), ["--choice", "trip", "--plot", "p.png"], "--plot is not for --qid"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_told_in_a_line(case, tmp_path, capsys):
    frame, options, message = WRONG[case]
    assert re.search(message, refused(capsys, written(tmp_path, frame), *options))


def test_files_whose_rounds_are_not_read_are_refused(tmp_path, capsys, monkeypatch):
    assert "query_id=True" in refused(capsys, str(tmp_path / "t.svm"), "--qid", "q")
    monkeypatch.setattr(tables, "is_large", lambda path: True)
    assert "fit into memory" in refused(capsys, written(tmp_path, trips(9)), "--choice", "trip")
    assert "none is given" in refused(capsys, "--choice", "trip")


@compiled
def test_too_few_rounds_are_no_promise(tmp_path, capsys):
    lines = said(capsys, written(tmp_path, trips(5)), "--choice", "trip")
    assert one(lines, "New choices").endswith("no bound yet: there are too few choices.")


def test_columns_count_by_how_they_vary_within_rounds():
    X = np.array([[1.0, 9.0], [3.0, 9.0], [5.0, np.nan], [9.0, 2.0], [1.0, 4.0]])
    qid = np.array([0, 0, 1, 1, 1])
    within = [[-1.0, 0.0], [1.0, 0.0], [0.0, np.nan], [4.0, -1.0], [-4.0, 1.0]]
    np.testing.assert_allclose(deviations(X, qid), np.nanstd(within, axis=0))
    np.testing.assert_allclose(deviations(X), np.nanstd(X, axis=0))
