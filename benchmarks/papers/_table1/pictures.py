"""Mistakes over rounds, and mistakes over classes, in Okabe and Ito's colours."""

from benchmarks._pictures import pyplot
from benchmarks._statistics import mean_and_width
from benchmarks.papers._table1.exploration import KS, PLAYERS
from benchmarks.papers._table1.streams import ROUNDS
from benchmarks.papers._table1.tables import checkpoints

LOOKS = {
    "Gaptron logistic": ("#D55E00", "-"),
    "Gaptron hinge": ("#D55E00", "--"),
    "Gaptron smooth_hinge": ("#D55E00", ":"),
    "Gaptron logistic, 1/X": ("#E69F00", "-."),
    "FY decoder": ("#0072B2", "-"),
    "Perceptron": ("#000000", "-"),
    "2nd-order Perceptron": ("#009E73", "-"),
    "Banditron": ("#000000", "-"),
    "SOBA": ("#009E73", "-"),
    "SOBA, exploration 0.1": ("#009E73", "--"),
    "Confidit": ("#CC79A7", "-"),
    "Newtron": ("#56B4E9", "-"),
    "BanditReduction": ("#0072B2", "--"),
}
#: Streams in the picture of the table.
SHOWN = ("satimage, unit rows", "noisy", "drifting")
MARKERS = (("#0072B2", "o"), ("#D55E00", "s"), ("#E69F00", "D"))


def draw_table(tables, path):
    """Mistakes over rounds on the streams `SHOWN`, with full information above."""
    figure, axes = pyplot().subplots(2, 3, figsize=(12, 7.4), sharex="col", layout="constrained")
    for column, name in zip(axes.T, SHOWN, strict=True):
        for ax, bandit in zip(column, (False, True), strict=True):
            panel(ax, [runs for runs in tables[name] if runs.learner.bandit == bandit])
        column[0].set_title(name)
        column[1].set_xlabel("rounds")
    for row, feedback in zip(axes, ("full information", "bandit feedback"), strict=True):
        row[0].set_ylabel(f"cumulative mistakes, {feedback}")
        legend(row)
    figure.savefig(path, dpi=120)


def legend(row):
    """The legend of the panel with most learners, beside the last one."""
    found = (ax.get_legend_handles_labels() for ax in row)
    handles, labels = max(found, key=lambda pair: len(pair[1]))
    row[-1].legend(handles, labels, loc="center left", bbox_to_anchor=(1.02, 0.5))


def panel(ax, found):
    for runs in found:
        colour, style = LOOKS[runs.learner.name]
        mean, width = mean_and_width(runs.curves)
        rounds = checkpoints(runs.rounds) + 1
        ax.plot(rounds, mean, style, color=colour, label=runs.learner.name, lw=1.6)
        ax.fill_between(rounds, mean - width, mean + width, color=colour, alpha=0.2, lw=0)
    ax.set(xlim=(0, None), ylim=(0, None))
    ax.spines[["top", "right"]].set_visible(False)


def draw_exploration(found, path):
    """Mistakes over the number of classes, separable and noisy."""
    figure, axes = pyplot().subplots(1, 2, figsize=(9.5, 4.2), sharey=True, layout="constrained")
    looks = dict(zip(PLAYERS, MARKERS, strict=True))
    for (stream, name), values in found.items():
        ax, (colour, marker) = axes[int(stream == "noisy")], looks[name]
        mean, width = mean_and_width(values)
        ax.errorbar(KS, mean, width, color=colour, marker=marker, label=name, capsize=3)
        ax.set_xscale("log", base=2)
        ax.set(title=stream, xlabel="classes K", xticks=KS, xticklabels=KS, ylim=(0, ROUNDS))
    for ax in axes:
        ax.plot(KS, [ROUNDS * (1 - 1 / K) for K in KS], color="0.6", ls=":", label="guessing")
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel(f"expected mistakes in {ROUNDS} rounds")
    axes[0].legend(frameon=False)
    figure.savefig(path, dpi=120)
