"""How much worse is the mean of shards than one pass over everything, and what does it cost?

covtype, one pass of the default `OnlineStructuredPredictor` over all rows but 50,000 that are held
out, and one over each of 2 to 64 disjoint shards, the mean of which is one model. Shuffles make
other shards and other held-out rows. "worst" and "mean" are single shards by themselves; "by label"
deals the rows sorted by their label, so that most shards see few of the classes. Bytes are those of
a pickle that a shard sends; seconds those of `average_fitted`, and of one shard beside one pass.
"""

import pickle

import numpy as np

from benchmarks._common import Results, arguments
from benchmarks._timing import timed
from benchmarks.data import covtype
from skstructured import OnlineStructuredPredictor, average_fitted

SHARDS = (2, 4, 8, 16, 32, 64)
HELD_OUT = 50_000


def learned(X, y, classes):
    """The default learner after one pass, and seconds."""
    model = OnlineStructuredPredictor(random_state=0)
    return timed(lambda: model.partial_fit(X, y, classes=classes))


def surrogate(model, X, y):
    """Mean surrogate loss."""
    V = model.space_.unpack(model.space_.pack(y))
    return float(np.mean(model.loss_.value(model.embedding_scores(X), V)))


def one_deal(places, data, test, classes):
    """Measures of the mean of estimators of these shards."""
    X, y = data
    fitted = [learned(X[at], y[at], classes) for at in places]
    shards = [model for model, _ in fitted]
    model, seconds = timed(lambda: average_fitted(shards))
    alone = [shard.score(*test) for shard in shards]
    losses = [surrogate(shard, *test) for shard in shards]
    weighted = np.average(losses, weights=[shard.t_ for shard in shards])
    sent = [len(pickle.dumps(shard)) for shard in shards]
    return {
        "accuracy": model.score(*test),
        "worst": min(alone),
        "mean": float(np.mean(alone)),
        "surrogate": surrogate(model, *test),
        "surrogates": float(weighted),
        "merge": seconds,
        "slowest": max(spent for _, spent in fitted),
        "bytes": max(sent),
    }


def runs(seed, rows, counts):
    """Yield (how rows were dealt, number of shards, measures) of one shuffle."""
    X, y = covtype(rows, seed)
    held = min(HELD_OUT, len(y) // 5)
    test, data = (X[:held], y[:held]), (X[held:], y[held:])
    classes = np.unique(y)
    whole, seconds = learned(*data, classes)
    measured = {"accuracy": whole.score(*test), "surrogate": surrogate(whole, *test)}
    yield "all rows", 1, measured | {"slowest": seconds, "bytes": len(pickle.dumps(whole))}
    order = np.argsort(data[1], kind="stable")
    for k in counts:
        shuffled = np.array_split(np.arange(len(order)), k)
        yield "shuffled", k, one_deal(shuffled, data, test, classes)
    for k in counts[1::2]:
        yield "by label", k, one_deal(np.array_split(order, k), data, test, classes)


def line_of(how, k, found, baseline):
    """A line of the table: medians over the shuffles."""
    middle = {name: float(np.median([run[name] for run in found])) for name in found[0]}
    behind = [a["accuracy"] - b["accuracy"] for a, b in zip(found, baseline, strict=True)]
    middle |= {"behind": float(np.median(behind)), "least": min(behind), "most": max(behind)}
    text = f"{how:10}{k:4} {middle['accuracy']:9.4f} {middle['behind']:+9.4f}"
    text += f" ({middle['least']:+.4f} to {middle['most']:+.4f})"
    if "worst" in middle:
        text += f" {middle['mean']:8.4f} {middle['worst']:8.4f} {middle['surrogate']:8.4f}"
        text += f" {middle['surrogates']:8.4f} {1e3 * middle['merge']:7.2f} ms"
    else:
        text += f"{'':18} {middle['surrogate']:8.4f}{'':9}{'':11}"
    return text + f" {middle['slowest']:6.2f} s {middle['bytes']:7.0f}", middle


def main():
    """Print the table."""
    args = arguments(__doc__, shuffles={"type": int, "default": 5})
    rows, shuffles = (20_000, 1) if args.quick else (None, args.shuffles)
    with Results(__file__, args) as results:
        X, y = covtype(rows)
        learned(X[:100], y[:100], np.unique(y))  # what may compile is not counted
        found = {}
        for seed in range(shuffles):
            for how, k, measured in runs(seed, rows, SHARDS[:3] if args.quick else SHARDS):
                found.setdefault((how, k), []).append(measured)
        held = min(HELD_OUT, len(X) // 5)
        results.say(
            f"covtype: {len(X) - held} rows learned, {held} held out, medians of "
            f"{shuffles} shuffles"
        )
        results.say(
            "dealt   shards  accuracy    behind   (least to most)        a shard    worst"
            "      S   mean S    merge    slowest   bytes"
        )
        for (how, k), runs_of in found.items():
            line, middle = line_of(how, k, runs_of, found["all rows", 1])
            results.add(line, table="shards", dealt=how, shards=k, **middle)
        worst = max(
            run["surrogate"] - run["surrogates"]
            for (how, _), all_ in found.items()
            for run in all_
            if how != "all rows"
        )
        results.say(
            f"S of the mean less the mean of S, at most: {worst:+.4f} (one optimizer: at most 0)"
        )


if __name__ == "__main__":
    main()
