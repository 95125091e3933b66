"""Whether the order of a table's rows says something."""

import numpy as np

#: By how much, and by how many standard errors, the row before must say more than any other.
POINTS, ERRORS = 0.05, 4.0


def same_as_before(y):
    """The share of rows with the label of the row before."""
    return float(np.mean(y[1:] == y[:-1])) if len(y) > 1 else 0.0


def order_line(y):
    """The line that says that neighbours have one label, of a file that is not sorted by it."""
    if y.ndim > 1 or len(y) < 2:
        return None
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    by_chance, same = float(np.sum((counts / len(y)) ** 2)), same_as_before(codes)
    noise = ERRORS * np.sqrt(by_chance * (1.0 - by_chance) / len(y))
    is_sorted = np.sum(codes[1:] != codes[:-1]) < len(counts)
    if is_sorted or same - by_chance < max(POINTS, noise):
        return None
    return (
        f"Order            {same:.1%} of the rows have the label of the row before, by chance it\n"
        f"                 would be {by_chance:.1%}. Rows were shuffled: if they stand in order of "
        "time, give --in-order."
    )


def change_line(changed):
    """The line that says that a stream changes."""
    if not changed:
        return None
    return (
        "Changes          the rows changed on the way, or became harder to predict:\n"
        "                 the bound above is about rows like the last ones."
    )
