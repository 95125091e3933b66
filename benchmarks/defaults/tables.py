"""Tables with gaps, words and dates: `TableEncoder` and a learner beside pipelines made by hand.

Accuracy in % on the third of the rows that was not learned (of small tables the mean over ten
such), and seconds to fit. "ours" is three lines of Python, "command" ``python -m skstructured``
with the same rows in a CSV file. By hand: gaps filled with means and marked, numbers standardised,
words one-hot, long texts by tf-idf, dates as days, month and weekday, then `LogisticRegression`.
Trees are `HistGradientBoostingClassifier`, on the frames as they are, without long texts.
"""

import time
import warnings

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from benchmarks._common import Results, arguments
from benchmarks.data import load
from benchmarks.defaults._by_command import judged_by_command
from skstructured import OnlineStructuredPredictor, TableEncoder

GAPS = 0.2

#: Tables of fewer rows are split ten times.
SMALL = 1000


def punched(frame, rng):
    """A frame with gaps, and every third column as words for its quarters."""
    frame = frame.mask(rng.rand(*frame.shape) < GAPS)
    for name in frame.columns[::3]:
        words = pd.qcut(frame[name], 4, labels=False, duplicates="drop")
        frame[name] = words.map({0: "low", 1: "middle", 2: "high", 3: "highest"})
    return frame


def passengers(rng, n=2000):
    """Two numbers, two words, gaps: who survived."""
    frame = pd.DataFrame({"class": rng.choice(["1st", "2nd", "3rd"], n, p=[0.2, 0.2, 0.6])})
    frame["sex"] = rng.choice(["male", "female"], n, p=[0.65, 0.35])
    frame["age"] = np.where(rng.rand(n) < GAPS, np.nan, rng.gamma(6.0, 5.0, n))
    frame["fare"] = rng.gamma(2.0, 10.0, n) * (1 + 3 * (frame["class"] == "1st"))
    score = 2.5 * (frame["sex"] == "female") - (frame["class"] == "3rd") - 0.7
    return frame, (score + rng.logistic(size=n) > 0).astype(int)


def rentals(rng, n=4000):
    """Dates and hours: whether many bicycles are out."""
    when = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.randint(0, 730 * 24, n), "h")
    frame = pd.DataFrame({"when": when, "warm": rng.randn(n)})
    summer, weekend = when.month.isin([5, 6, 7, 8]), when.weekday >= 5
    return frame, (2.0 * summer - weekend + frame["warm"] + rng.logistic(size=n) > 0.5).astype(int)


def users(rng, n=30_000, kinds=10_000):
    """Ten thousand users with tastes of their own."""
    taste, who = 2.0 * rng.randn(kinds), rng.randint(kinds, size=n)
    frame = pd.DataFrame({"user": [f"user{i}" for i in who], "price": rng.randn(n)})
    return frame, (taste[who] - frame["price"] + rng.logistic(size=n) > 0).astype(int)


def letters(rng, n=3000, words=800):
    """Long texts on one of four subjects, and a number."""
    subject, theme = rng.randint(4, size=n), rng.dirichlet(np.full(words, 0.05), size=4)
    texts = [" ".join(f"w{i}" for i in rng.choice(words, 12, p=theme[s])) for s in subject]
    return pd.DataFrame({"text": texts, "length": rng.randn(n)}), subject


def forests(rng, n=10_000):
    """Cover types: kinds of wilderness as words, gaps in numbers."""
    arrays = load("covtype")
    chosen = rng.permutation(len(arrays["y"]))[:n]
    frame = pd.DataFrame(arrays["X_num"][chosen].astype(float)).mask(rng.rand(n, 10) < 0.05)
    frame.columns = [f"x{j}" for j in range(10)]
    frame["wilderness"] = np.array(["Rawah", "Neota", "Comanche", "Cache"])[
        arrays["wilderness"][chosen]
    ]
    return frame, arrays["y"][chosen]


def tables(quick):
    """Name, frame, labels."""
    for read in (load_iris, load_wine, load_breast_cancer):
        bunch, rng = read(as_frame=True), np.random.RandomState(0)
        name = read.__name__.removeprefix("load_")
        yield f"{name}, punched", punched(bunch.data, rng), bunch.target.to_numpy()
    yield "passengers", *passengers(np.random.RandomState(0))
    if quick:
        return
    for make in (rentals, users, letters, forests):
        yield make.__name__, *make(np.random.RandomState(0))
    arrays, rng = load("abalone"), np.random.RandomState(0)
    frame = pd.DataFrame(arrays["X"].astype(float)).rename(columns=lambda j: f"x{j}")
    old = (arrays["y_cont"] > np.median(arrays["y_cont"])).astype(int)
    yield "abalone, punched", punched(frame, rng), old


def parts_of_date(column):
    """Days, month, weekday."""
    when = column.iloc[:, 0].dt
    return pd.DataFrame({"days": when.dayofyear, "month": when.month, "weekday": when.weekday})


def by_hand(frame):
    """The pipeline that somebody would make who looked at the columns."""
    numbers = list(frame.select_dtypes("number").columns)
    dates = list(frame.select_dtypes("datetime").columns)
    texts = [name for name in frame.columns if name == "text"]
    words = [name for name in frame.columns if name not in (*numbers, *dates, *texts)]
    calendar = make_pipeline(
        FunctionTransformer(parts_of_date), OneHotEncoder(handle_unknown="ignore")
    )
    steps = [
        ("numbers", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), numbers),
        ("words", OneHotEncoder(handle_unknown="ignore"), words),
        *(("dates", calendar, [name]) for name in dates),
        *(("texts", TfidfVectorizer(), name) for name in texts),
    ]
    return make_pipeline(ColumnTransformer(steps), LogisticRegression(max_iter=2000))


def trees(frame):
    """Gradient boosting on the columns that it takes."""

    def taken(frame):
        frame = frame.drop(columns="text", errors="ignore").copy()
        for name in frame.columns:
            if frame[name].dtype.kind == "M":
                frame[name] = frame[name].astype("int64") / 1e9
            elif frame[name].dtype.kind not in "iuf":
                many = frame[name].nunique() > 255
                frame[name] = (
                    frame[name].map(hash) % 255 if many else frame[name].astype("category")
                )
        return frame

    booster = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
    return make_pipeline(FunctionTransformer(taken), booster)


def parts_of(y, split):
    """Rows that are learned, and rows that are not."""
    order = np.random.RandomState(split).permutation(len(y))
    return order[: 2 * len(y) // 3], order[2 * len(y) // 3 :]


def judged(model, X, y, split):
    """Accuracy in %, and seconds."""
    train, test = parts_of(y, split)
    started = time.perf_counter()
    model.fit(X.iloc[train], y[train])
    seconds = time.perf_counter() - started
    return 100.0 * model.score(X.iloc[test], y[test]), seconds


def main():
    args = arguments(__doc__)
    with Results(__file__, args) as out, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out.say(f"{'':24}{'ours':>16}{'command':>16}{'by hand':>16}{'trees':>16}")
        for name, X, y in tables(args.quick):
            ours = make_pipeline(TableEncoder(), OnlineStructuredPredictor(random_state=0))
            ours.fit(X, y)  # what is compiled is in no time
            models, splits = (ours, by_hand(X), trees(X)), range(10 if len(y) < SMALL else 1)
            found = np.mean([[judged(m, X, y, split) for m in models] for split in splits], axis=0)
            command = np.mean([judged_by_command(X, y, *parts_of(y, s)) for s in splits], axis=0)
            found = np.insert(found, 1, command, axis=0)
            text = f"{name:24}" + "".join(f"{points:9.1f} {s:6.2f}" for points, s in found)
            heads = ("ours", "command", "by_hand", "trees")
            row = {head: points for head, (points, _) in zip(heads, found, strict=True)}
            out.add(text, data=name, **row, seconds=found[0][1])


if __name__ == "__main__":
    main()
