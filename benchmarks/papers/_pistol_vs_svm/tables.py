"""Errors and seconds of every learner, by rows, and what the acceptance lines ask."""

import numpy as np

from benchmarks.papers._pistol_vs_svm.problems import (
    OWN,
    OWN_DENSE,
    OWN_TEN,
    PAPERS,
    RAW,
    RAW_TEN,
    SHUFFLES,
    STREAM,
    SVM,
    TEN,
)

OURS = (PAPERS, STREAM, OWN, OWN_DENSE, RAW, TEN, OWN_TEN, RAW_TEN)


def select(found, name):
    """Rows of a set by learner and n: lists over shuffles."""
    groups = {}
    for (set_, n, _, learner), row in sorted(found.items()):
        if set_ == name:
            groups.setdefault(learner, {}).setdefault(n, []).append(row)
    return groups


def means(rows):
    """Mean error, its deviation, and mean seconds."""
    errors = [row["error"] for row in rows]
    return np.mean(errors), np.std(errors), np.mean([row["seconds"] for row in rows])


def table(out, name, found):
    """A line for every learner and n."""
    out.say(
        f"\n{name}: test error in %, ± deviation over shuffles; seconds to learn; C of searches"
    )
    groups = select(found, name)
    for n in sorted({n for sizes in groups.values() for n in sizes}):
        for learner in (learner for learner in groups if n in groups[learner]):
            line(out, name, n, learner, groups[learner][n])


def line(out, name, n, learner, rows):
    """One of the lines."""
    error, spread, spent = means(rows)
    chosen = " ".join(f"{row['C']:g}" for row in rows if "C" in row)
    told = (
        f"{n:6} {learner:22} {error:6.2f} ± {spread:4.2f} {spent:9.2f} s  {len(rows)} of {SHUFFLES}"
    )
    numbers = {"error": error, "deviation": spread, "seconds": spent, "shuffles": len(rows)}
    out.add(f"{told}  {chosen}".rstrip(), table=name, n=n, learner=learner, **numbers)


def conclusions(out, found):
    """Ours beside the search, at all rows of a set, on the shuffles that both learned."""
    out.say("\nall rows, on the shuffles that both have: points behind the search, and its times")
    for name in dict.fromkeys(key[0] for key in found):
        groups = select(found, name)
        for learner in OURS:
            if SVM in groups and learner in groups:
                beside(out, name, learner, groups[learner], groups[SVM])


def beside(out, name, learner, ours, theirs):
    """A line at the most rows that both learned."""
    n = max(set(ours) & set(theirs))
    both = {row["shuffle"] for row in ours[n]} & {row["shuffle"] for row in theirs[n]}
    shared = ([row for row in rows[n] if row["shuffle"] in both] for rows in (ours, theirs))
    (error, _, spent), (their_error, _, their_spent) = map(means, shared)
    numbers = {"points": error - their_error, "seconds": spent, "ratio": their_spent / spent}
    line = "{points:+6.2f} points {seconds:9.2f} s, {ratio:7.1f} : 1".format(**numbers)
    told = f"{name:20} {n:6} {learner:22} {line}"
    out.add(told, table="conclusions", set=name, n=n, learner=learner, **numbers)
