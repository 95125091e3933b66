"""What ``python -m skstructured`` says of a file: beside learners, validations and metrics."""

import io
import re
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from table_files import compiled, homes, iris, load, numbers, one, results, trips

from skstructured import (
    ItemStructuredPredictor,
    ListwiseRanker,
    OnlineStructuredPredictor,
    PiSTOLRegressor,
    StructuredRegressor,
    TableEncoder,
)
from skstructured.__main__ import main
from skstructured._cli import columns, commands
from skstructured._cli.tables import Table
from skstructured.checkpoints import load_checkpoint
from skstructured.evaluation import progressive_validate, validation
from skstructured.guarantees import risk_bound
from skstructured.items.metrics import ndcg
from skstructured.spaces import SPACES_BY_NAME

RANKINGS = {"assignment": 0, "ranking": 1}


def percents(line):
    return [number / 100.0 for number in numbers(line)]


def validated(table, seed=0, **parameters):
    model = OnlineStructuredPredictor(decoder="nearest", random_state=seed, **parameters)
    return progressive_validate(model, table.X, table.y, random_state=seed)


@pytest.mark.parametrize(
    "given", [["--in-order"], ["--seed", "1"], []], ids=["in order", "seed 1", "default"]
)
def test_the_summary_is_of_a_progressive_validation(given, cli):
    """Of the rows in the order of the file, or shuffled by the seed."""
    path, seed = cli.written(iris()), len(given) // 2
    given = [*given, "--no-mixture"]
    lines, table = cli.said(path, *given), load(path)
    order = table if "--in-order" in given else table.in_random_order(seed)
    result, other = validated(order, seed), validated(table.in_random_order(1 - seed), seed)
    losses = [run.expected_target_loss for run in (result, other)]
    wanted, others = ([loss.mean(), loss[75:].mean()] for loss in losses)
    assert others != pytest.approx(wanted, abs=2e-3)
    assert lines[0] == f"{path} (150 rows, 4 features), target kind"
    assert lines[2].startswith("While learning")
    assert percents(lines[3]) == pytest.approx(wanted, abs=6e-4)
    always = "66.7% wrong with the most frequent class for every row"
    assert lines[4].startswith(f"Baseline         {always}")
    if "--in-order" not in given:  # the classes stand one after the other
        assert percents(lines[5]) == pytest.approx([result.risk_bound(), 0.95], abs=6e-4)
    took = one(lines, "Time")
    assert re.fullmatch(r"Time +[\d.]+ s after [\d.]+ s of reading, [\d,]+ rows a second\.", took)
    words = " ".join([path, *given])
    assert lines[-1] == f"Next             python -m skstructured {words} --save model"


def test_shuffling_keeps_rows_and_outputs_together(cli):
    table = load(cli.written(iris()))
    mixed = table.in_random_order(3)
    assert (mixed.y != table.y).any()
    pairs = [sorted(zip(X.tolist(), y, strict=True)) for X, y, *_ in (table, mixed)]
    assert pairs[0] == pairs[1]


@pytest.mark.parametrize("y", [np.arange(4) % 2, np.random.RandomState(0).randint(2, size=20)])
def test_too_few_rows_have_no_bound(y, cli):
    told = cli.said(pd.DataFrame({"x": np.arange(len(y)) % 3, "y": y}))
    assert "New rows         no bound yet: there are too few rows." in told
    few = "Held out         too few rows to hold any out for the mixture that --save keeps."
    assert (few in told) == (len(y) < 20) and "linear model alone" in one(told, "While learning")


@pytest.mark.parametrize("space", RANKINGS)
@pytest.mark.short("ranking")
def test_rankings_have_a_column_an_item(space, cli):
    X = np.random.RandomState(0).randn(30, 2).round(3)
    ranks = np.argsort(np.argsort(np.column_stack([X, np.zeros(30)]))) + RANKINGS[space]
    frame = pd.DataFrame(np.column_stack([X, ranks]), columns=list("uvxyz"))
    told = cli.kept(frame, "--target", "x,y,z", "--space", space)
    assert told[0].endswith("(30 rows, 2 features), target x, y, z")
    told = told[told.index(one(told, "While learning")) - 2 :]
    table = load(cli.written(frame), "x,y,z", space).in_random_order(0)
    losses = validated(table, space=space).expected_target_loss
    assert percents(told[3])[0] == pytest.approx(losses.mean(), abs=6e-4)
    found = load_checkpoint(cli.model).predict(X.astype(str))
    assert found.shape == ranks.shape and (found == ranks).mean() > 0.6


def test_a_label_set_has_a_baseline_in_its_own_unit(cli):
    i = np.arange(40)
    frame = pd.DataFrame({"x": i, "u": 1 * (i % 4 == 0), "v": 1 * (i % 5 > 0)})
    told = cli.said(frame, "--target", "u,v", "--space", "hypercube", "--no-mixture")
    assert percents(told[4])[0] == pytest.approx((0.25 + 0.2) / 2, abs=6e-4)
    assert told[4].startswith("Baseline") and "of labels wrong" in told[4]
    assert "--target u,v --space hypercube --no-mixture --save model" in told[-1]


@pytest.mark.parametrize(
    ("word", "name"), [("multilabel", "hypercube"), ("ranking", "permutahedron")]
)
def test_spaces_have_the_words_of_the_field_and_their_own_names(word, name, cli):
    ranks = np.array([[1, 2], [2, 1], [1, 2]] * 10) if word == "ranking" else np.eye(3)[:, :2]
    frame = pd.DataFrame(np.tile(ranks, (30 // len(ranks), 1)).astype(int), columns=["u", "v"])
    given = [cli.written(frame.assign(x=range(30))), "--target", "u,v", "--space"]
    told = [cli.said(*given, space) for space in (word, name)]
    assert [line for line in told[0] if line[:4] not in ("Time", "Next")] == [
        line for line in told[1] if line[:4] not in ("Time", "Next")
    ]


def best_constant_loss(space, y):
    """The least mean target loss of one answer for all rows, by trying every answer there is."""
    everything = space.decode(space.vertices())
    answers = [np.repeat(everything[i : i + 1], len(y), axis=0) for i in range(len(everything))]
    return min(space.target_loss(answer, y).mean() for answer in answers)


@pytest.mark.parametrize("name", ["simplex", "hypercube", "ordinal", "birkhoff", "permutahedron"])
def test_the_baseline_is_the_best_answer_that_is_always_the_same(name):
    rng = np.random.RandomState(4)
    y = {
        "simplex": rng.choice([2, 5, 9], size=40, p=[0.2, 0.5, 0.3]),
        "hypercube": (rng.rand(40, 3) < [0.2, 0.6, 0.9]).astype(int),
        "ordinal": rng.choice([1, 2, 3, 7], size=41, p=[0.3, 0.1, 0.1, 0.5]),
        "birkhoff": np.array([rng.permutation(3) for _ in range(40)]),
        "permutahedron": np.array([[1, 2, 3], [1, 3, 2], [1, 3, 2], [2, 1, 3]]),
    }[name]
    space = SPACES_BY_NAME[name]().fit(y)
    if name == "permutahedron":  # by mean ranks, 1.25, 2.25, 2.5
        best = space.target_loss(np.repeat([[1, 2, 3]], 4, axis=0), y).mean()
    else:
        best = best_constant_loss(space, y)
    assert commands.baseline_loss(SPACES_BY_NAME[name](), y) == pytest.approx(best)


def effects(model, X, names="", encoder=None, space="multiclass", **more):
    """The line on columns that matter, or None; all are numbers without an encoder."""
    encoder = encoder or TableEncoder().fit(dict.fromkeys(names, np.arange(3.0)))
    table = Table(X, None, "t", encoder, space=space, **more)
    names = columns.effects(model, table)
    return f"Matters most     {names}" if names else None


class TestEffects:
    """Columns that predictions of a model, of any kind, change with."""

    def test_of_two_classes_they_have_signs(self):
        rng = np.random.RandomState(0)
        X = rng.randn(500, 4) * [1.0, 100.0, 1.0, 1.0]
        y = np.where(X[:, 0] - 0.005 * X[:, 1] > 0, "yes", "no")
        model = OnlineStructuredPredictor(random_state=0).fit(X, y)
        for rows in (X, sparse.csr_array(X)):
            line = effects(model, rows, "abcd")
            assert re.fullmatch(r"Matters most     a \(\+\), b \(-\), [cd].*, for yes\.", line)
        X[::7, 1] = np.nan
        assert effects(model, X, "abcd").startswith("Matters most     a (+), b (-), ")

    def test_of_a_mixture_they_need_not_be_linear(self):
        """|b| and the product of d and e matter, which no line shows."""
        rng = np.random.RandomState(0)
        X = rng.randn(400, 5)
        y = 3.0 * np.abs(X[:, 1]) + 1.5 * X[:, 3] * X[:, 4]
        model = StructuredRegressor(random_state=0).fit(X, y)
        line = effects(model, X, "abcde", space="real")
        assert re.fullmatch(r"Matters most     b, (d, e|e, d)\.", line)

    def test_of_more_classes_and_of_models_without_means(self):
        X = np.random.RandomState(0).randn(300, 3)
        y = np.digitize(X[:, 2], [-0.5, 0.5])
        model = OnlineStructuredPredictor(random_state=0).fit(X, y)
        assert effects(model, X, "abc").startswith("Matters most     c, ")
        for other, rows in ((model, np.zeros((20, 3))), (object(), X)):
            assert effects(other, rows, "abc") is None
        grades = OnlineStructuredPredictor("ordinal", random_state=0).fit(X, y)
        assert effects(grades, X, "abc", space="ordinal").startswith("Matters most     c (+), ")

    def test_a_column_of_several_features_counts_once(self):
        rng = np.random.RandomState(0)
        table = {"sex": rng.choice(["m", "f"], 400), "size": rng.randn(400)}
        encoder = TableEncoder().fit(table)
        X = encoder.transform(table)
        model = OnlineStructuredPredictor(random_state=0).fit(X, table["sex"])
        assert re.fullmatch(r"Matters most     sex, size.*\.", effects(model, X, "", encoder))

    def test_of_items_they_are_within_rounds(self):
        """A column that is the same for all items of a list cannot matter."""
        rng = np.random.RandomState(0)
        qid = np.repeat(np.arange(100), 5)[rng.permutation(500)]
        X = np.column_stack([rng.randn(500), 100.0 * qid, rng.randn(500)])
        model = ListwiseRanker(random_state=0).fit(X, 1 * (X[:, 0] > 0), qid)
        line = effects(model, X, "abc", space="lists", qid=qid)
        assert line.startswith("Matters most     a (+), c") and line.count("b") == 0
        by_list = SimpleNamespace(predict=lambda X: X[:, 0] + X[:, 1])
        assert effects(by_list, X, "abc", space="lists", qid=qid) == "Matters most     a."

    def test_permutations_keep_rounds(self):
        qid = np.array(["u", "v", "u", "v", "u", "w"])
        order = columns.shuffled_within(qid, 6)
        assert (qid[order] == qid).all() and sorted(order) == list(range(6))
        assert sorted(columns.shuffled_within(None, 9)) == list(range(9))
        assert (columns.shuffled_within(None, 9) != np.arange(9)).any()


@compiled
def test_signs_need_no_letters_beyond_ascii(cli, monkeypatch):
    """A console or a pipe may have few letters."""
    frame = homes()[["area", "town", "dear"]].rename(columns={"area": "Fläche–♀"})
    console = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", console)
    assert main([cli.written(frame), "--no-mixture"]) == 0
    text = console.buffer.getvalue().decode("ascii")
    assert "Fl\\xe4che\\u2013\\u2640 (+)" in text


@compiled
def test_what_is_warmed_up_is_what_is_timed(cli, monkeypatch):
    """Also of real numbers: compiling is in no time."""
    seen, turn = [], validation._turn

    def spied(learner, play, *given):
        seen.append(play)
        return turn(learner, play, *given)

    monkeypatch.setattr(validation, "_turn", spied)
    cli.said(homes()[["area", "price"]])
    assert len(seen) > 1 and set(seen) == {"predict"}


@compiled
class TestRealNumbers:
    def test_the_screen_is_of_a_progressive_validation(self, cli):
        frame = homes()
        path = cli.written(frame.drop(columns="dear"), "homes.parquet")
        lines = cli.said(path, "--in-order")
        assert lines[0] == f"{path} (400 rows, 2 columns as 5 features), target price: real numbers"
        y = frame["price"].to_numpy()
        X = TableEncoder().fit_transform(frame[["area", "town"]])
        middle = np.median(y[:40])
        spread = np.median(np.abs(y[:40] - middle))
        given = {"random_state": 0}
        run = progressive_validate(
            PiSTOLRegressor(random_state=0), X, (y - middle) / spread, **given
        )
        missed = (spread * run.target_loss)[40:]
        late = missed[180:]
        always = np.abs(y[40:] - np.median(y[40:])).mean()
        wanted = [missed.mean(), late.mean(), np.quantile(late, 0.9), always]
        found = [*numbers(lines[3]), *numbers(lines[4]), *numbers(one(lines, "Baseline"))]
        assert found == pytest.approx(wanted, rel=1e-3)
        assert wanted[0] < always / 3
        assert "no bound" in one(lines, "New rows") and "area (+)" in one(
            lines, "Matters most     area (+)"
        )

    @pytest.mark.exhaustive
    def test_a_model_is_kept_and_predicts(self, cli):
        frame = homes()
        cli.kept(frame.drop(columns="dear"))
        found = cli.predicted(frame)["prediction"]
        wanted = load_checkpoint(cli.model).predict(frame[["area", "town"]])
        np.testing.assert_allclose(found, wanted, rtol=1e-15)  # pandas before 3 drops a last digit
        assert np.median(np.abs(found - frame["price"])) < 1e4


def test_units_are_of_the_first_rows():
    y = np.r_[np.arange(10.0), 1e9 * np.ones(90)]
    assert commands.units(y) == (4.5, 2.5, 10)
    assert commands.units(np.r_[np.zeros(9), 10.0]) == (0.0, 3.0, 10)
    assert commands.units(np.full(5, 2.0)) == (2.0, 1.0, 10)
    assert (commands.amount(12345.6), commands.amount(0.123456)) == ("12,346", "0.1235")


class TestOrder:
    def test_neighbours_that_agree_are_told_of(self):
        rng = np.random.RandomState(0)
        y = np.repeat(rng.randint(0, 2, 200), 10)
        same, chance = np.mean(y[1:] == y[:-1]), np.mean(y) ** 2 + np.mean(1 - y) ** 2
        assert commands.same_as_before(y) == pytest.approx(same)
        line = " ".join(commands.order_lines(y))
        assert f"{same:.1%}" in line and f"{chance:.1%}" in line
        for other in (rng.permutation(y), np.sort(y)):
            assert list(commands.order_lines(other)) == []  # one of them is sorted by its label

    @compiled
    def test_on_the_screen(self, cli):
        rng = np.random.RandomState(0)
        blocks = np.repeat(rng.randint(0, 2, 100), 10)
        frame = pd.DataFrame({"a": rng.randn(1000), "y": blocks})
        assert any("use --in-order" in line for line in cli.said(frame))
        lines = cli.said(frame, "--in-order")
        before = 1.0 - commands.same_as_before(blocks)
        told = f"; {before:.1%} wrong with the label of the row before."
        assert one(lines, "Baseline").endswith(told)
        assert not any(line.startswith("Order") for line in lines)
        # The risk given the labels before does rise from block to block, but not in random order.
        lines = cli.said(frame.sample(frac=1.0, random_state=0), "--in-order")
        assert not any(line.startswith(("Order", "Changes")) for line in lines)

    @compiled
    @pytest.mark.exhaustive
    def test_changes(self, cli):
        rng = np.random.RandomState(0)
        a = rng.randn(1000)
        y = np.where(np.arange(1000) < 500, a > 0, rng.rand(1000) < 0.5).astype(int)
        frame = pd.DataFrame({"a": a, "y": y})
        assert one(cli.said(frame, "--in-order"), "Changes")
        assert not any(line.startswith("Changes") for line in cli.said(frame))


def rounds_of(frame, name, target):
    """Features and outputs of the rounds, in the order of their first rows."""
    encoder = TableEncoder().fit(frame.drop(columns=[name, target]))
    parts = [part for _, part in frame.groupby(name, sort=False)]
    X = [encoder.transform(part.drop(columns=[name, target])) for part in parts]
    return X, [part[target].to_numpy() for part in parts]


def scores_while_learning(model, X, y):
    """What a learner of items makes of each round before it learns it."""
    rounds, found = model.begin(X, y), []
    for i in range(len(X)):
        model.learn_blocks(rounds, np.array([i]), lambda block, _: found.append(block.theta), 2)
    return found


@compiled
def test_a_ranking_is_measured_before_it_is_learned(cli):
    frame = results()
    lines = cli.said(frame, "--target", "grade", "--qid", "query", "--in-order")
    title = f"({len(frame)} rows, 3 columns as 5 features), 60 lists by query, target grade"
    assert lines[0].endswith(title)
    X, y = rounds_of(frame, "query", "grade")
    scores = scores_while_learning(ListwiseRanker(random_state=0), X, y)
    found = [ndcg([g], [s.values], k=10) for g, s in zip(y, scores, strict=True) if g.any()]
    assert len(found) == 59 and "1 with grades of 0 only" in lines[4]
    late = found[len(found) // 2 :]
    assert numbers(lines[3]) == pytest.approx([np.mean(found), np.mean(late)], abs=6e-4)
    kept = (1.0 - np.array(found)[-round(0.5 * len(found)) :]).clip(0.0, 1.0)
    assert numbers(one(lines, "New lists"))[0] == pytest.approx(1.0 - risk_bound(kept), abs=6e-4)
    guesses = [np.zeros(len(frame)), -np.arange(len(frame))]
    guesses = [ndcg(frame["grade"], guess, frame["query"], k=10) for guess in guesses]
    assert numbers(one(lines, "Baseline")) == pytest.approx(guesses, abs=6e-4)
    assert one(lines, "Matters most").split()[2:4] == ["match", "(+),"]


@compiled
def test_choices_are_those_of_a_progressive_validation(cli):
    frame = trips()
    lines = cli.said(frame, "--choice", "trip", "--in-order")
    X, marks = rounds_of(frame, "trip", "chosen")
    y, learner = (
        [int(m.argmax()) for m in marks],
        ItemStructuredPredictor(decoder="map", random_state=0),
    )
    run = progressive_validate(learner, X, y)
    wrong = run.expected_target_loss
    shares = [100 * wrong.mean(), 100 * wrong[len(wrong) // 2 :].mean()]
    assert numbers(lines[3]) == pytest.approx(shares, abs=6e-2)
    bound = 100 * risk_bound(wrong[-(len(y) // 2) :])
    assert numbers(one(lines, "New choices"))[0] == pytest.approx(bound, abs=6e-2)
    counts = np.bincount(y)
    wanted = [100 - 100 * counts.max() / len(y), counts.argmax() + 1]
    assert numbers(one(lines, "Baseline")) == pytest.approx(wanted, abs=6e-2)
    assert "wrong with row" in one(lines, "Baseline")
    scores = scores_while_learning(run.estimator, X, y)  # a new run
    proba = [run.estimator.decode(theta).means().values for theta in scores]
    logs = [np.log(p[place]) for p, place in zip(proba, y, strict=True)]
    equal = -np.mean([np.log(len(x)) for x in X])
    assert numbers(one(lines, " " * 17 + "log-likelihood")) == pytest.approx(
        [np.mean(logs), equal], abs=6e-4
    )


def test_grades_that_no_row_has_are_counted():
    table = Table(None, np.array(["a", "c", "a"]), "t", space="ordinal")
    assert commands.unit_of(table).tell(0.5) == "0.50 grades off of 2"
    assert commands.unit_of(table, ["a", "b", "c"]).tell(0.5) == "1.00 grades off of 3"


@compiled
@pytest.mark.parametrize(("option", "make"), [("--qid", results), ("--choice", trips)])
def test_rounds_are_shuffled_whole_and_their_rows_keep_their_order(option, make, cli):
    frame = make()
    name, target = ("query", "grade") if option == "--qid" else ("trip", "chosen")
    given = [option, name, "--no-mixture"] if option == "--qid" else [option, name]
    first, other = (cli.said(frame, *given, "--seed", s)[3] for s in "12")
    assert first != other
    place, qid, y = np.arange(len(frame))[:, None], frame[name].to_numpy(), frame[target].to_numpy()
    mixed = Table(place, y, "", qid=qid).in_random_order(1)
    rows = mixed.X[:, 0]
    assert (mixed.qid == qid[rows]).all() and (mixed.y == y[rows]).all()
    order = list(dict.fromkeys(mixed.qid))
    assert order != list(dict.fromkeys(qid)) and sorted(order) == sorted(set(qid))
    starts = [rows[mixed.qid == label] for label in order]
    assert (rows == np.concatenate(starts)).all()
    assert all((np.diff(part) > 0).all() for part in starts)


@compiled
def test_too_few_rounds_are_no_promise(cli):
    lines = cli.said(trips(5), "--choice", "trip")
    assert one(lines, "New choices").endswith("no bound yet: there are too few choices.")
