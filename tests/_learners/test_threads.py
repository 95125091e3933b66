"""What predicts beside a thread that learns is told of states between two blocks alone."""

import contextlib
import os
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest
from conftest import INTERPRETED
from fitted import FITTED, learns_in_parts
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skstructured._learners import gates
from skstructured._learners.gates import reads_state
from skstructured._learners.guards import exclusive, uninterrupted
from skstructured.extend.learner import OnlineLearner
from skstructured.utils._trial import PREDICTIONS

#: Seconds after which a thread that waits for another has been forgotten.
LATE = 60.0
#: What is told of a learner without rows.
ATTRIBUTES = ("coef_", "expert_weights_", "leader_", "n_leaves_")
#: One of each kind, where kernels are interpreted.
KINDS = ("default", "second order", "kernel", "folklore", "boosting", "abstaining", "sequences")
#: Spaces known by an oracle in Python, whose kernels every process compiles.
SLOW = ("pairs", "trees")
LEARNERS = [
    pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
    for name, case in FITTED.items()
    if isinstance(case.estimator, OnlineLearner) and learns_in_parts(case.estimator)
    if name in KINDS or not INTERPRETED
]


def answers(model, X, name):
    """What a method says of rows, as bytes."""
    said = getattr(model, name) if name in ATTRIBUTES else getattr(model, name)(X)
    parts = [np.asarray(part) for part in (said if np.iterable(said) else [said])]
    return b"".join((p.astype(str) if p.dtype == object else p).tobytes() for p in parts)


def methods(model):
    """What a fitted learner has that tells of what it learned."""
    return [name for name in (*PREDICTIONS, *ATTRIBUTES) if hasattr(model, name)]


class Asked(threading.Thread):
    """A thread that asks a learner once."""

    def __init__(self, ask):
        super().__init__(daemon=True)
        self._ask, self.said, self.error = ask, None, None
        self.start()

    def run(self):
        try:
            self.said = self._ask()
        except BaseException as error:
            self.error = error

    def wait_at(self, gate):
        """Until the thread waits at the gate, or has ended; whether it waits."""
        late = time.monotonic() + LATE
        while self.is_alive() and not gate.waiting:
            assert time.monotonic() < late
            time.sleep(1e-4)
        return bool(gate.waiting)

    def answer(self):
        """What the thread was told."""
        self.join(LATE)
        assert not self.is_alive() and self.error is None
        return self.said


@pytest.fixture
def in_the_block(monkeypatch):
    """`in_the_block(model, task)`: run a task once, within the next block that it learns."""
    entered, waiting = uninterrupted.__enter__, {}

    def enter(self):
        found = entered(self)
        if self._estimator is not None and waiting.get("model") is self._estimator:
            waiting.pop("model")
            waiting["task"]()
        return found

    monkeypatch.setattr(uninterrupted, "__enter__", enter)
    return lambda model, task: waiting.update(model=model, task=task)


@pytest.mark.parametrize("name", LEARNERS)
def test_who_asks_within_a_block_is_told_after_it(name, in_the_block):
    case = FITTED[name]
    model, twin, X = case.started(), case.started(), case.X
    for i, method in enumerate(methods(model)):
        asked, row = [], (case.X[i : i + 1], case.y[i : i + 1])

        def ask(method=method, asked=asked):
            asked.append(Asked(lambda: answers(model, X, method)))
            assert asked[0].wait_at(gates._LEARNING[id(model)]), method

        in_the_block(model, ask)
        case.learn(model, *row)
        case.learn(twin, *row)
        assert asked[0].answer() == answers(twin, X, method), method
    assert gates._LEARNING == gates._READING == {}


def every_state(case, X, method):
    """The answers after every row of the second half."""
    model, (_, second) = case.started(), case.halves()
    found = {answers(model, X, method)}
    for i in range(len(second[1])):
        case.learn(model, *(part[i : i + 1] for part in second))
        found.add(answers(model, X, method))
    return found


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
@pytest.mark.parametrize("rows", [1, 7])
@pytest.mark.parametrize(
    "name",
    [
        "default",
        "default second order",
        "bandit gaptron",
        "reduction",
        "folklore",
        "boosting",
        "kernel",
        "kernel budget",
        "abstaining",
        "sequences",
    ],
)
@pytest.mark.short(every=4)
def test_eight_threads_are_told_what_was_between_two_rows(name, rows):
    case, method = FITTED[name], "decision_function"
    model, (_, (X, y)) = case.started(), case.halves()
    done = threading.Event()

    def ask():
        found = set()
        while not done.is_set():
            found.add(answers(model, case.X, method))
        return found

    said = [Asked(ask) for _ in range(8)]
    try:
        for start in range(0, len(y), rows):
            part = slice(start, start + rows)
            case.learn(model, X[part], y[part])
    finally:
        done.set()
    states = every_state(case, case.X, method)
    assert set().union(*(thread.answer() for thread in said)) <= states
    assert answers(model, case.X, method) in states
    assert gates._LEARNING == gates._READING == {}


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
@pytest.mark.parametrize("name", ["default", "numbers", "folklore", "kernel", "sequences"])
@pytest.mark.parametrize("anew", [True, False])
def test_threads_that_ask_as_a_learner_begins_are_told_or_refused(name, anew):
    case, before = FITTED[name], sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for _ in range(5):
            model = case.started() if anew else clone(case.estimator)
            done = threading.Event()

            def ask(model=model, done=done):
                while not done.is_set():
                    with contextlib.suppress(NotFittedError):
                        model.predict(case.X)

            said = [Asked(ask) for _ in range(3)]
            try:
                (model.fit if anew else partial(case.learn, model))(*case.halves()[0])
            finally:
                done.set()
            for thread in said:
                thread.answer()
    finally:
        sys.setswitchinterval(before)


class Slow:
    """A learner whose methods wait until they are told to go on."""

    def __init__(self):
        self.entered, self.go_on = threading.Event(), threading.Event()

    def _wait(self):
        self.entered.set()
        assert self.go_on.wait(LATE)

    @reads_state
    def read(self):
        self._wait()
        return "read"

    @reads_state
    def read_twice(self):
        return self.read(), self.read()

    @exclusive
    def learn(self, *blocks):
        for block in blocks:
            with uninterrupted(self):
                block()
        return "learned"


def test_learning_waits_for_those_that_read():
    slow = Slow()
    reading = Asked(slow.read_twice)
    assert slow.entered.wait(LATE)
    learning = Asked(lambda: slow.learn(lambda: None))
    learning.join(0.05)
    assert learning.said is None
    slow.go_on.set()
    assert reading.answer() == ("read", "read") and learning.answer() == "learned"


def test_readers_do_not_wait_for_each_other():
    slow = Slow()
    first = Asked(slow.read)
    assert slow.entered.wait(LATE)
    slow.entered.clear()
    second = Asked(slow.read)
    assert slow.entered.wait(LATE)
    slow.go_on.set()
    assert first.answer() == second.answer() == "read"


def test_who_learns_may_read_and_others_wait_for_one_block_only():
    slow, said = Slow(), []
    slow.go_on.set()

    def first():
        assert slow.read_twice() == ("read", "read")
        said.append(Asked(slow.read_twice))
        assert said[0].wait_at(gates._LEARNING[id(slow)])

    assert slow.learn(first, lambda: said.append(said[0].said)) == "learned"
    assert said[1] == ("read", "read")


def test_errors_leave_no_gate():
    slow, asked = Slow(), []
    slow.go_on.set()

    def fails():
        asked.append(Asked(slow.read))
        assert asked[0].wait_at(gates._LEARNING[id(slow)])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        slow.learn(fails)
    assert asked[0].answer() == "read"
    assert gates._LEARNING == gates._READING == {}
    assert slow.learn(lambda: None) == "learned"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no children")
def test_a_child_has_no_gates():
    gates._LEARNING[3], gates._READING[3, 4] = None, None
    try:
        gates._forget()
        assert gates._LEARNING == gates._READING == {}
    finally:
        gates._forget()


def raising_at(place):
    """A trace function that raises KeyboardInterrupt as the place-th function of gates begins.

    There, and at the end of loops and calls, Python calls handlers of signals.
    """
    left = [place]

    def trace(frame, event, _):
        if frame.f_code.co_filename == gates.__file__ and event == "call":
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt

    return trace


@pytest.mark.parametrize("reader_waits", [False, True])
def test_a_signal_anywhere_leaves_no_gate(reader_waits):
    """As any function of the gates begins; a reader of another thread always gets through."""
    traced, interrupted, place = sys.gettrace(), True, 0
    if traced is not None:
        pytest.skip("coverage is traced")
    while interrupted:
        place += 1
        slow, asked = Slow(), []
        slow.go_on.set()

        def block(slow=slow, asked=asked):
            if reader_waits:
                asked.append(Asked(slow.read))
                assert asked[0].wait_at(gates._LEARNING[id(slow)])

        sys.settrace(raising_at(place))
        try:
            slow.learn(block)
            interrupted = False
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        assert all(thread.answer() == "read" for thread in asked)
        assert Asked(slow.read).answer() == "read" and slow.learn(lambda: None) == "learned"
        assert gates.gate_of(id(slow)) is None and not gates._READING
    assert place > 4
    gates._forget()
