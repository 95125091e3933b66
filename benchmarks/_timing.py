"""Clocks: one call, medians, and several tasks in turns."""

import time

import numpy as np


def timed(task):
    """What a task returns, and its seconds."""
    started = time.perf_counter()
    found = task()
    return found, time.perf_counter() - started


def seconds(task, calls=1):
    """Mean seconds of a call."""
    started = time.perf_counter()
    for _ in range(calls):
        task()
    return (time.perf_counter() - started) / calls


def in_turns(tasks, repeat, calls=1):
    """Seconds (repeat, len(tasks)); a first call of each, which may compile, is not counted."""
    for task in tasks:
        task()
    return np.array([[seconds(task, calls) for task in tasks] for _ in range(repeat)])


def median_seconds(task, repeat, calls=1):
    """Median seconds of a task, after a call that is not counted."""
    return np.median(in_turns([task], repeat, calls))


def side_by_side(ours, theirs, repeat, calls=1):
    """Median seconds of both in turns, and the median of theirs divided by ours."""
    times = in_turns((ours, theirs), repeat, calls)
    return *np.median(times, axis=0), np.median(times[:, 1] / times[:, 0])
