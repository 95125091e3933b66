"""Draw the figures of docs/note, as PDF, from kept results.

`benchmarks.papers.note` and `benchmarks.defaults.streams` keep the numbers; nothing is measured.
"""

import csv
import math

from benchmarks._common import ROOT
from benchmarks._pictures import pyplot

FOLDER = ROOT / "docs" / "note"
NOTE = ROOT / "benchmarks" / "papers" / "results" / "note.csv"
STREAMS = ROOT / "benchmarks" / "defaults" / "results" / "streams.csv"
COLOURS = ("#0072B2", "#D55E00", "#009E73")

#: Learners of the figure of streams: what they are called in the file, and in the figure.
LEARNERS = {"mixture": "mixture", "average": "coin betting, averaged", "last": "coin betting, last"}


def kept(path, **wanted):
    """Rows of a file of results that have some values."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            row
            for row in csv.DictReader(file)
            if all(row[name] == value for name, value in wanted.items())
        ]


def numbers(rows, name):
    return [float(row[name]) for row in rows]


def curvature(ax):
    """1/κ* by BR, the bound 2BR + ln(K−1) + 2, and what random laws reach."""
    rows = kept(NOTE, table="curvature")
    for K, colour in zip(("2", "10", "100"), COLOURS, strict=True):
        of = [row for row in rows if row["K"] == K]
        reach, ours = numbers(of, "BR"), numbers(of, "ours")
        ax.plot(reach, ours, color=colour, label=f"K = {K}")
        simple = [2.0 * r + math.log(int(K) - 1) + 2.0 for r in reach]
        ax.plot(reach, simple, color=colour, ls=":")
        ax.plot(reach[::2], numbers(of, "random")[::2], ".", color=colour, ms=4)
    ax.set(xscale="log", yscale="log", xlabel="BR", ylabel="1/κ")
    for axis, ticks in ((ax.xaxis, (0.25, 0.5, 1, 2, 4, 8)), (ax.yaxis, (2, 4, 8, 16))):
        axis.set_ticks(ticks, list(map(str, ticks)))
        axis.set_ticks([], minor=True)
    ax.legend(frameon=False)


def risk(ax):
    """The mean loss of a pass over letter, what bounds the risk, and the error on other rows."""
    rows, (end,) = kept(NOTE, table="letter"), kept(NOTE, table="letter end")
    t = numbers(rows, "row")
    ax.plot(t, numbers(rows, "bound"), color=COLOURS[1], label="certificate of all rows so far")
    ax.plot(t, numbers(rows, "weighted"), color=COLOURS[1], ls=":", label="the mean that it bounds")
    ax.plot(t, numbers(rows, "mean"), color=COLOURS[0], label="plain mean of the losses")
    half = [t[-1] / 2.0, t[-1]]
    last = {"color": COLOURS[2], "lw": 2.5}
    ax.plot(half, [float(end["bound"])] * 2, label="certificate of the last half", **last)
    ax.plot(t[-1], float(end["held_out"]), "k^", ms=5, label="error on 6,000 other rows")
    ax.set(xscale="log", ylim=(0.0, 1.02), xlabel="rows learned", ylabel="error")
    ax.legend(frameon=False, fontsize=7, loc="lower left")


def streams(ax):
    """Log-losses of the mixture, and of the coin bettor among its experts."""
    rows = [row for row in kept(STREAMS, space="simplex") if row["last log-loss"]]
    width, places = 0.27, range(len(rows))
    for i, ((name, label), colour) in enumerate(zip(LEARNERS.items(), COLOURS, strict=True)):
        values = numbers(rows, f"{name} log-loss")
        at = [place + (i - 1) * width for place in places]
        ax.bar(at, values, width, color=colour, label=label)
    moving = sum(row["kind"] == "moving" for row in rows)
    ax.axvline(moving - 0.5, color="black", lw=0.7)
    ax.set(ylabel="log-loss, nats", ylim=(0.0, 2.3))
    ax.set_xticks(list(places), [row["set"] for row in rows], rotation=60, ha="right", fontsize=7)
    ax.legend(frameon=False, ncols=3, loc="upper left")


#: Figures, and their sizes in inches.
FIGURES = {curvature: (4.2, 3.0), risk: (4.2, 3.0), streams: (6.6, 3.0)}


def main():
    """Draw them all."""
    for draw, size in FIGURES.items():
        figure, ax = pyplot().subplots(figsize=size, layout="constrained")
        draw(ax)
        path = FOLDER / f"{draw.__name__}.pdf"
        figure.savefig(path, metadata={"CreationDate": None})
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
