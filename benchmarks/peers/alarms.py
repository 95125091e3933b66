"""Alarms of a rising error on 16 streams, and on ten without a rise (ADWIN, Page–Hinkley).

"false": share of repetitions with an alarm before the change, in %; "found": with one after it;
"delay": losses from the change to the first alarm after it, median of all repetitions (inf: most
have none). Every loss is seen at once. An alarm of ADWIN counts if its mean rose, Page–Hinkley is
`mode="up"`; both are river's, at their defaults otherwise (ADWIN has δ = 0.002 per test). The
monitor has its defaults: at most 0.05 false alarms per 30,000 losses in the mean. "per 50,000" has
a longer run length, with about as many false alarms as ADWIN; "all short" counts them in streams of
10,000 independent losses. Losses are mistakes, if nothing else is said. In the last streams errors
come in clusters: every loss is repeated, so losses are not independent. Needs river.
"""

import numpy as np

from benchmarks._common import Results, arguments
from benchmarks.data import load
from skstructured import OnlineStructuredPredictor, RiskMonitor, StructuredPredictor
from skstructured.guarantees.risk import RiseTest

REPEATS, SHUFFLES, MANY, STILL, LONG = 100, 20, 600, 10_000, 200_000
#: Losses after a change.
AFTER = 5000


class Monitor:
    """The test of `RiskMonitor`, with its defaults."""

    run_length = RiskMonitor().run_length

    def alarms(self, losses):
        return RiseTest(0.05, self.run_length).update(losses)


class RareMonitor(Monitor):
    """The same with about as many false alarms as ADWIN."""

    run_length = 50_000


class Adwin:
    """river's ADWIN; alarms if its mean rose."""

    def alarms(self, losses):
        from river.drift import ADWIN

        detector, alarms = ADWIN(), []
        for t, loss in enumerate(losses.tolist(), 1):
            before = detector.estimation
            detector.update(loss)
            if detector.drift_detected and detector.estimation > before:
                alarms.append(t)
        return alarms


class PageHinkley:
    """river's test of Page and Hinkley."""

    def alarms(self, losses):
        from river.drift import PageHinkley

        detector, alarms = PageHinkley(mode="up"), []
        for t, loss in enumerate(losses.tolist(), 1):
            detector.update(loss)
            if detector.drift_detected:
                alarms.append(t)
        return alarms


METHODS = {
    "RiskMonitor": Monitor,
    "per 50,000": RareMonitor,
    "ADWIN": Adwin,
    "Page-Hinkley": PageHinkley,
}


def mistakes(risks):
    """A stream of mistakes with these probabilities, by a generator."""
    return lambda rng: (rng.random(len(risks)) < risks).astype(float)


def clusters(risk, times):
    """A stream of mistakes, each loss some times in a row."""
    return lambda rng: np.repeat((rng.random(STILL // times) < risk).astype(float), times)


def shares(risks):
    """A stream of losses between 0 and 1 with these means and a standard deviation of about 0.1."""
    return lambda rng: rng.beta(16.0 * risks, 16.0 * (1.0 - risks))


def steps(*parts):
    """Risks by parts: pairs of a risk and for how many losses."""
    return np.concatenate([np.full(n, risk) for risk, n in parts])


def simulated():
    """Name, loss after which the risk rises, and the stream."""
    for before, after, start in (
        (0.05, 0.1, 2000),
        (0.1, 0.2, 500),
        (0.1, 0.2, 5000),
        (0.3, 0.4, 4000),
        (0.1, 0.6, 5000),
    ):
        name = f"{before} to {after} after {start}"
        yield name, start, mistakes(steps((before, start), (after, AFTER)))
    for before, after, start, later in (
        (0.07, 0.13, 300, 3000),
        (0.07, 0.13, 1000, 3000),
        (0.07, 0.13, 3000, 1000),
    ):
        name = f"{before} to {after} after {start}"
        yield name, start, mistakes(steps((before, start), (after, later)))
    for first, low, high in (
        ((0.2, 5000), (0.05, 5000), (0.2, 5000)),
        ((0.2, 5000), (0.05, 5000), (0.15, 5000)),
        ((0.4, 300), (0.05, 3000), (0.1, 3000)),
    ):
        name = f"{first[0]} to {low[0]} to {high[0]}"
        yield name, first[1] + low[1], mistakes(steps(first, low, high))
    slowly = np.concatenate([np.full(3000, 0.1), np.linspace(0.1, 0.3, 2000), np.full(3000, 0.3)])
    yield "0.1 to 0.3 in 2000 steps", 3000, mistakes(slowly)
    yield "shares, 0.2 to 0.25", 2000, shares(steps((0.2, 2000), (0.25, AFTER)))


def still():
    """Streams without a rise: name, stream, repetitions."""
    for risk in (0.01, 0.1, 0.3, 0.5):
        yield f"always {risk}", mistakes(np.full(STILL, risk)), MANY
    yield "shares, always 0.2", shares(np.full(STILL, 0.2)), MANY
    yield "0.3 falls to 0.1", mistakes(steps((0.3, STILL // 2), (0.1, STILL // 2))), MANY
    falling = 0.1 + 0.4 / np.sqrt(np.arange(1.0, STILL + 1.0))
    yield "0.1 + 0.4 t^-½", mistakes(falling), MANY
    yield f"always 0.1, {LONG} losses", mistakes(np.full(LONG, 0.1)), 2 * SHUFFLES
    for times in (2, 5):
        name = f"always 0.1, each {times} times"
        yield name, clusters(0.1, times), 2 * REPEATS


def another_area(rng):
    """covtype: a model of one wilderness area, on 4,000 new rows of it and then on another one."""
    arrays = load("covtype")
    X, y = arrays["X_num"].astype(float), arrays["y"]
    here, there = (rng.permutation(np.flatnonzero(arrays["wilderness"] == k)) for k in (0, 2))
    learned, rows = here[:5000], np.r_[here[5000:9000], there[:AFTER]]
    model = OnlineStructuredPredictor(random_state=0).fit(X[learned], y[learned])
    return (model.predict(X[rows]) != y[rows]).astype(float)


def turning_rows():
    """8,000 rows of two classes, with other weights and another product after 4,000."""
    rng, n = np.random.default_rng(6), 8000
    X = rng.normal(size=(n, 8))
    X[:, 2] = rng.gamma(2, 100, n)
    Z = X.copy()
    Z[:, 2] = (Z[:, 2] - 200) / 140
    weights, product = rng.normal(size=(2, 8)), 1.5 * Z[:, 0] * Z[:, 1]
    scores = np.where(np.arange(n) < n // 2, Z @ weights[0] + product, Z @ weights[1] - product)
    return X, np.where(scores + 0.5 * rng.normal(size=n) > 0, "up", "down")


def adapting(_):
    """Mistakes of a model that learns 100 rows after their prediction."""
    X, y = turning_rows()
    model, found = StructuredPredictor(random_state=0), []
    for rows in np.split(np.arange(len(y)), len(y) // 100):
        if rows[0] > 0:
            found.append(model.predict(X[rows]) != y[rows])
        model.partial_fit(X[rows], y[rows], classes=["down", "up"])
    return np.concatenate(found).astype(float)


def frozen(_):
    """Mistakes of a model of the first 2,000 rows on later ones."""
    X, y = turning_rows()
    model = StructuredPredictor(random_state=0).fit(X[:2000], y[:2000])
    return (model.predict(X[2000:]) != y[2000:]).astype(float)


def learned():
    """Streams of learners: name, loss after which the rows change, stream, repetitions."""
    yield "covtype, another area", 4000, another_area, SHUFFLES
    yield "adapting model", 3900, adapting, 1
    yield "model of the first rows", 2000, frozen, 1


def judged(method, losses, start):
    """Whether there was an alarm before the change, and how many losses after it the next one."""
    alarms = np.array([*METHODS[method]().alarms(losses), np.inf])
    return alarms[0] <= start, alarms[alarms > start][0] - start


def report_rise(out, name, start, draw, repeats):
    """A line with a stream's false alarms, rises found, and delay."""
    streams = [draw(np.random.default_rng(seed)) for seed in range(repeats)]
    risks = [np.mean([part.mean() for part in parts]) for parts in cut(streams, start)]
    text, row = f"{name:26}{risks[0]:6.3f}{risks[1]:6.3f}{repeats:5}", {}
    for method in METHODS:
        early, delays = np.array([judged(method, losses, start) for losses in streams]).T
        found, delay = np.isfinite(delays).mean(), np.quantile(delays, 0.5, method="higher")
        text += f"{early.mean():8.0%}{found:7.0%}{delay:7.0f}"
        row |= {f"{method}_false": early.mean(), f"{method}_found": found, f"{method}_delay": delay}
    out.add(text, table="rises", stream=name, before=risks[0], after=risks[1], **row)


def cut(streams, start):
    """The streams before the change, and after it."""
    return [losses[:start] for losses in streams], [losses[start:] for losses in streams]


def report_still(out, name, draw, repeats):
    """A line with the share of repetitions that have a false alarm; their numbers by method."""
    streams = [draw(np.random.default_rng(seed)) for seed in range(repeats)]
    text, row = f"{name:26}{np.mean(streams):12.3f}{repeats:5}", {}
    for method, make in METHODS.items():
        alarmed = np.mean([bool(make().alarms(losses)) for losses in streams])
        text += f"{alarmed:8.1%}{'':14}"
        row[f"{method}_false"] = alarmed
    out.add(text, table="still", stream=name, **row)
    return repeats * np.array(list(row.values()))


def report_short(out, counts):
    """A line with the number of short streams of independent losses that have a false alarm."""
    totals = dict(zip(METHODS, np.rint(np.sum(counts, axis=0)).astype(int), strict=True))
    text = f"{f'all short, {MANY * len(counts)} streams':43}"
    text += "".join(f"{total:8}{'':14}" for total in totals.values())
    row = {f"{method}_false": int(total) for method, total in totals.items()}
    out.add(text, table="short", stream="all short", **row)


def main():
    args = arguments(__doc__)
    repeats = 3 if args.quick else REPEATS
    with Results(__file__, args) as out:
        out.say(f"{'':43}" + "".join(f"{method:>22}" for method in METHODS))
        out.say(f"{'':26}before after  n  " + "   false  found  delay" * len(METHODS))
        for name, start, draw in simulated():
            report_rise(out, name, start, draw, repeats)
        for name, start, draw, times in learned():
            if not (args.quick and times == 1):
                report_rise(out, name, start, draw, min(times, repeats))
        out.say(f"without a rise, {STILL} losses: share of repetitions with an alarm")
        numbers = [
            (times, report_still(out, name, draw, min(times, repeats) if args.quick else times))
            for name, draw, times in still()
        ]
        report_short(out, [counts for times, counts in numbers if times == MANY])


if __name__ == "__main__":
    main()
