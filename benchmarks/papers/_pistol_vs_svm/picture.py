"""Error by rows, and seconds by rows below, in Okabe and Ito's colours."""

from benchmarks._pictures import pyplot
from benchmarks.papers._pistol_vs_svm.problems import (
    OWN,
    OWN_TEN,
    PAPERS,
    RAW,
    RAW_TEN,
    SVM,
    TEN,
)
from benchmarks.papers._pistol_vs_svm.tables import means, select

LOOKS = {
    SVM: ("SVM, C searched by 5 folds", "#000000", "s", "-"),
    PAPERS: ("PiSTOL, one pass", "#D55E00", "o", "-"),
    TEN: ("PiSTOL, ten passes", "#D55E00", "o", ":"),
    OWN: ("PiSTOL, one pass, no bandwidth", "#0072B2", "^", "-"),
    OWN_TEN: ("PiSTOL, ten passes, no bandwidth", "#0072B2", "^", ":"),
    RAW: ("PiSTOL, one pass, rows as they are", "#009E73", "D", "-"),
    RAW_TEN: ("PiSTOL, ten passes, rows as they are", "#009E73", "D", ":"),
}
TITLES = {
    "a9a": "a9a, Gaussian",
    "covtype": "covtype, class 2 against the rest, Gaussian",
    "news20": "news20 bigrams, 10 groups against 10, linear",
}
TICKS = [4**k for k in range(4, 9)]


def draw(found, path):
    """Save the picture."""
    figure, axes = pyplot().subplots(2, 3, figsize=(11, 7), sharex="col", layout="constrained")
    for column, name in zip(axes.T, TITLES, strict=True):
        panel(column, select(found, name))
        column[0].set_title(TITLES[name], fontsize="medium")
        column[1].set_xlabel("rows learned")
    axes[0, 0].set_ylabel("test error, %")
    axes[1, 0].set_ylabel("seconds to learn, search included")
    labelled = {label: line for ax in axes.flat for line, label in zip(*legend(ax), strict=True)}
    figure.legend(labelled.values(), labelled, loc="outside upper center", ncols=3, frameon=False)
    figure.savefig(path, dpi=120)


def legend(ax):
    return ax.get_legend_handles_labels()


def panel(column, groups):
    """Lines of one set: errors above, seconds below."""
    for learner in (learner for learner in LOOKS if learner in groups):
        label, colour, marker, style = LOOKS[learner]
        look = {"color": colour, "marker": marker, "ls": style, "ms": 4, "lw": 1.3, "label": label}
        sizes = sorted(groups[learner])
        error, spread, spent = zip(*(means(groups[learner][n]) for n in sizes), strict=True)
        column[0].errorbar(sizes, error, spread, elinewidth=0.7, **look)
        column[1].plot(sizes, spent, **look)
    for ax in column:
        ax.set(xscale="log")
        ax.set_xticks(TICKS, [f"{n:,}" for n in TICKS])
        ax.minorticks_off()
    column[1].set(yscale="log")
