"""Lines on columns that are misread, give the target away, or are identifiers."""

import numpy as np
import pandas as pd
import pytest
from table_files import compiled, homes, load, numbers, one, people

from skstructured import TableEncoder
from skstructured._cli import columns, files
from skstructured._cli.commands import rare_class


def lines_of(frame, y, is_real=False):
    encoder = TableEncoder().fit(frame)
    return columns.about_columns(frame, encoder, np.asarray(y), ["y"], is_real)


def coded(n=960, values=16, classes=8, seed=0):
    """Codes, each of which has one class, beside noise."""
    rng = np.random.RandomState(seed)
    code = rng.randint(0, values, n)
    frame = pd.DataFrame({"noise": rng.randn(n), "resolution_code": [f"r{c}" for c in code]})
    return frame.assign(number=code, y=[f"c{c * 3 % classes}" for c in code])


@pytest.mark.parametrize("name", ["resolution_code", "number"])
def test_a_column_that_gives_the_target_away_is_named(name):
    frame = coded()
    lines = lines_of(frame[["noise", name]], frame["y"])
    assert list(lines) == [name]
    assert f"column {name!r} alone is 100.0% right about 'y'" in lines[name]
    frame.loc[frame.index % 20 == 0, name] = frame[name].iloc[7]
    assert "alone is 95." in lines_of(frame[[name]], frame["y"])[name]
    frame.loc[frame.index % 5 == 0, name] = frame[name].iloc[7]
    assert lines_of(frame[[name]], frame["y"]) == {}


def test_one_value_or_a_limit_of_a_number_gives_a_rare_class_away():
    rng = np.random.RandomState(0)
    y = np.where(rng.rand(4000) < 0.03, "yes", "no")
    closed = pd.Series(rng.rand(4000)).where(y == "yes").astype(object)
    by = np.where(y == "yes", "fraud team", rng.choice(["a", "b", "c"], 4000))
    amount = np.where(y == "yes", 9.5 + rng.rand(4000), 9.0 * rng.rand(4000))
    frame = pd.DataFrame({"closed": closed, "by": by, "amount": amount, "noise": rng.rand(4000)})
    assert set(lines_of(frame, y)) == {"closed", "by", "amount"}


def literal_share(column, y):
    """Rows that the most frequent class of the same value in the other half is right about."""
    right, share = 0, {k: np.mean(y == k) for k in sorted(set(y))}
    for i, cell in enumerate(column):
        seen = [y[j] for j in range(len(y)) if (i + j) % 2 and column[j] == cell]
        right += y[i] == max(share, key=lambda k: seen.count(k) + 0.5 * share[k])
    return right / len(y)


def test_the_share_is_of_rows_that_were_not_looked_at():
    rng = np.random.RandomState(3)
    y = rng.choice(["a", "b", "c"], 200, p=[0.5, 0.3, 0.2])
    column = pd.Series(np.where(rng.rand(200) < 0.3, rng.choice(["u", "v", "a"], 200), y))
    codes = np.unique(y, return_inverse=True)[1]
    share = columns.share_right(column, None, codes, max_wrong=2.0)
    assert share == pytest.approx(literal_share(column, y)) and share < 0.9


def test_a_number_that_is_the_target_in_other_units():
    y = homes()["price"].to_numpy()
    frame = homes()[["area", "town"]].assign(dollars=(1.1 * y + 3.0).round())
    assert list(lines_of(frame, y, True)) == ["dollars"]
    told = lines_of(frame, y, True)["dollars"]
    assert numbers(told)[0] > 95.0 and "right about the tenth of 'y': leave it out" in told
    frame["dollars"] += 0.2 * y.std() * np.random.RandomState(0).randn(len(y))
    assert lines_of(frame, y, True) == {}


def test_identifiers_are_named():
    rng, n = np.random.RandomState(0), 300
    frame = pd.DataFrame({"id": rng.permutation(n), "stamp": np.cumsum(rng.rand(n))})
    frame["ticket"] = [f"t{max(i, 2)}" for i in rng.permutation(n)]  # two are copies
    frame["amount"], frame["age"] = rng.randn(n), rng.randint(0, 90, n)
    frame["text"] = [f"the word {i} and others" for i in range(n)]
    frame["day"] = pd.date_range("2024-01-01", periods=n).astype(str)
    lines = lines_of(frame, rng.choice(["a", "b"], n))
    assert list(lines) == ["id", "stamp", "ticket"]
    assert all("leave it out if it is an identifier" in line for line in lines.values())
    assert lines_of(frame[:19], ["a", "b"] * 9 + ["a"]) == {}


BAD = {"1.5\x00": "number", "1912-13-01": "date", '4"': "number", "n.k.": "number"}
MORE = [pytest.param(cell, marks=pytest.mark.slow) for cell in list(BAD)[2:]]


@compiled
@pytest.mark.parametrize("cell", [*list(BAD)[:2], *MORE])
@pytest.mark.short(every=10)
def test_a_cell_that_makes_a_column_categories_is_named_or_missing(cell, cli):
    name = "day" if BAD[cell] == "date" else "age"
    frame = people().drop(columns="paid").astype(object)
    frame.loc[7, name] = None
    wanted = cli.said(frame)
    frame.loc[7, name] = cell
    path = cli.written(frame)
    told = " ".join(" ".join(cli.said(path)).split())
    assert f"column {name!r} is read as categories: 1 of 240 cells are not {BAD[cell]}s" in told
    assert f"such as {cell!r} in row 9; use --bad-cells missing." in told
    lines = cli.said(path, "--bad-cells", "missing")
    assert lines[0] == wanted[0] and lines[3:5] == wanted[3:5]
    assert not any("categories" in line for line in lines)


@compiled
def test_bad_cells_among_marks_and_a_bad_target_are_named(cli):
    """Bad targets are not made missing."""
    frame = homes().drop(columns="dear").astype(object)
    frame["size"] = [f"{i / 7:.2f}".replace(".", ",") for i in range(400)]
    frame.loc[[3, 9], "size"], frame.loc[4, "price"] = ["n.k.", "1.5"], "unknown"
    path = cli.written(frame[["area", "size", "price"]])
    lines = cli.said(path, "--no-mixture")
    told = " ".join(" ".join(lines).split())
    assert "column 'size' is read as categories: 2 of 400 cells are not numbers, such" in told
    assert "such as 'n.k.' in row 5; use --bad-cells missing." in told
    assert "column 'price' is read as categories: 1 of 400 cells are not numbers" in told
    assert "'unknown' in row 6; leave out such rows." in told
    lines = cli.said(path, "--bad-cells", "missing", "--no-mixture")
    assert one(lines, "Formats") == "Formats          size (10,00 as 10)."
    assert "column 'size'" not in " ".join(lines) and "column 'price'" in " ".join(lines)


@compiled
def test_columns_of_large_files_are_named_too(cli, monkeypatch):
    frame = coded().astype(object)
    frame.loc[30, "noise"] = "x"
    wanted = load(cli.written(frame)).careful
    assert [line.split("'")[1] for line in wanted] == ["noise", "resolution_code", "number"]
    small = files.LargeFiles(1000, deciding_rows=500, rows_per_part=100)
    monkeypatch.setattr(files, "LARGE_FILES", small)
    table = load(cli.written(frame))
    assert [line.split("'")[1] for line in table.careful] == ["noise", "resolution_code", "number"]
    assert "1 of 500 cells" in table.careful[0]
    table = load(cli.written(frame), bad_cells="missing")
    assert np.isnan(next(iter(table.chunks))[0][30, 0]) and len(table.careful) == 2


@compiled
def test_long_lines_go_on_below(cli):
    lines = cli.said(coded(), "--no-mixture")
    start = lines.index(one(lines, "Careful"))
    assert all(len(line) <= 100 for line in lines[start : start + 4])
    assert lines[start + 1].startswith(" " * 17)


def test_a_rare_class_has_its_recall():
    rng = np.random.RandomState(0)
    y = np.where(rng.rand(2000) < 0.03, "yes", "no")
    said = np.where(rng.rand(2000) < 0.02, "yes", y)
    both = np.sum((y == "yes") & (said == "yes"))
    (line,) = rare_class(y, (said != y).astype(float))
    share, recall = np.mean(y == "yes"), both / np.sum(y == "yes")
    told = f"yes, {share:.1%} of the rows: recall {recall:.1%}."
    assert line == f"Rare class       {told}" and recall > 0.3
    assert list(rare_class(rng.choice(["a", "b"], 200), np.zeros(200))) == []
    y = np.repeat([0, 1, 2], [500, 480, 20])
    (line,) = rare_class(y, (np.arange(1000) % 4 == 0).astype(float))
    assert line == "Rare class       2, 2.0% of the rows: recall 75.0%."


@compiled
def test_always_the_same_answer_may_be_better(cli):
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(rng.randn(400, 30)).add_prefix("x")
    frame["y"] = np.where(rng.rand(400) < 0.05, "yes", "no")
    lines = cli.said(frame, "--no-mixture")
    assert one(lines, "Rare class").startswith("Rare class       yes, ")
    wrong, always = numbers(lines[3]), numbers(one(lines, "Baseline"))[0]
    assert always < min(wrong) and ", which is better." in one(lines, "Baseline")
    frame["x0"] += 20.0 * (frame["y"] == "yes")
    assert "which is better" not in one(cli.said(frame, "--no-mixture"), "Baseline")


class TestCopies:
    def frame(self, n=200):
        rng = np.random.RandomState(0)
        return pd.DataFrame(
            {"a": rng.randn(n), "b": [None, "x"] * (n // 2), "y": [0, 1] * (n // 2)}
        )

    def test_rows_that_occur_several_times_are_named(self):
        frame = pd.concat([self.frame(), self.frame()[4:10]], ignore_index=True)
        frame.index += 2
        (line,) = columns.copies(frame, ["y"])
        assert line.startswith("6 of 206 rows are copies of others, such as rows 6 and 202: leave")
        assert list(columns.copies(frame[:202], ["y"])) == []  # one in a hundred, or fewer

    def test_equal_rows_with_other_targets_and_few_values_are_no_copies(self):
        frame = pd.concat([self.frame(), self.frame()], ignore_index=True)
        assert list(columns.copies(frame.assign(y=range(400)), ["y"])) == []
        frame["a"] = frame["a"].round(1)
        assert list(columns.copies(frame, ["y"])) == []

    def test_large_files_have_the_line_too(self, cli, monkeypatch):
        path = cli.written(pd.concat([self.frame()] * 2))
        whole = load(path).careful
        monkeypatch.setattr(files, "LARGE_FILES", files.LargeFiles(1000))
        assert "200 of 400 rows are copies of others, such as rows 2 and 202" in whole[0]
        assert load(path).careful == whole


@pytest.mark.parametrize("written", [float, "{:,.3f}".format], ids=["plain", "marks"])
def test_cells_far_beyond_all_others_are_named(written, cli):
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(np.add(rng.randn(2000, 3).round(3), [0, 5, 0]), columns=list("abc"))
    frame["c"] = np.exp(2.0 * frame["c"]).round(3)  # amounts may be skewed
    frame["flag"], frame.loc[::7, "a"] = np.arange(2000) == 9, np.nan
    low, high = frame["b"].min(), frame["b"].max()
    frame.loc[[17, 31], "b"] = [-5000.0, 4000.0]
    frame["b"] = frame["b"].map(written)
    careful = load(cli.written(frame.assign(y=frame["a"] > 0))).careful
    (line,) = [line for line in careful if "far beyond" in line]
    assert f"column 'b' has {frame['b'][17]} in row 19, far beyond all others, from" in line
    assert numbers(line.partition("others")[2]) == pytest.approx([low, high], abs=1e-3)


COUNTS = {
    "poisson": lambda rng: rng.poisson(11, 600),
    "exactly 20": lambda rng: np.r_[np.arange(20), rng.poisson(8, 600).clip(0, 19)],
    "skewed": lambda rng: np.round(10.0 * np.exp(rng.randn(300))).astype(int),
}
CODES = {
    "equal": lambda rng: np.arange(600) % 30,
    "19": lambda rng: np.r_[np.arange(19), rng.poisson(8, 600).clip(0, 18)],
    "texts": lambda rng: np.array([f"n{count}" for count in rng.poisson(11, 600)]),
}


@compiled
@pytest.mark.parametrize("name", [*COUNTS, *CODES])
def test_counts_that_are_classes_name_the_space_of_amounts(name, cli):
    rng = np.random.RandomState(0)
    y = (COUNTS | CODES)[name](rng)
    table = load(cli.written(pd.DataFrame({"a": rng.randn(len(y)), "count": y})))
    hints = [line for line in table.careful if "use --space real if they are amounts" in line]
    assert table.space == "multiclass" and len(hints) == (name in COUNTS)


@compiled
def test_columns_with_many_clipped_cells_are_named(cli):
    """Those with a share above 1%; heavy columns are not clipped."""
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(rng.randn(1000, 4), columns=["many", "few", "heavy", "usual"]).round(4)
    for name, n in (("many", 20), ("few", 8), ("heavy", 90)):
        frame.loc[: n - 1, name] *= 1000.0
    frame.loc[500:, "many"] = np.nan
    x = frame["many"].dropna()
    first, median, third = np.percentile(x, [25, 50, 75])
    share = np.mean(np.abs(x - median) > 5.0 * (third - first) / 1.349)
    (line,) = [
        line
        for line in load(cli.written(frame.assign(y=rng.randint(0, 2, 1000)))).careful
        if "count as the edge of their column" in line
    ]
    assert 0.03 < share < 0.05 and line.endswith(
        f"column: {share:.1%} of 'many'. Correct them if they are mistakes."
    )
