"""Signals that come in while an estimator learns."""

import contextlib
import copy
import functools
import gc
import pickle
import signal
import sys
import time

import numpy as np
import pytest
from bits import differences
from conftest import INTERPRETED
from fitted import FITTED
from learners import EVERY_LEARNER
from sklearn.base import clone
from waiting import stream

import skstructured as sk
from skstructured._learners.online import OnlineEstimator

needs_timer = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timers")
SIGNALS = 25

#: Kinds of signals, and the clocks that send them.
TIMERS = {"ALRM": "REAL", "PROF": "PROF", "VTALRM": "VIRTUAL"}

#: Learners, how many rows they are given, and what must be as if nothing had come in.
LEARNERS = {
    "online": (150_000, ["last_weights_"]),
    "average": (100_000, ["average_weights_"]),
    "uniform average": (100_000, ["average_weights_"]),
    "pistol": (100_000, ["last_weights_"]),
    "bandit gaptron": (100_000, ["coef_", "n_mistakes_"]),
    "banditron": (100_000, ["coef_", "n_mistakes_"]),
    "soba": (300, ["coef_", "n_mistakes_"]),
    "newtron": (60, ["coef_", "n_mistakes_"]),
    "confidit": (300, ["coef_", "n_mistakes_"]),
    "reduction": (40, ["n_mistakes_", "n_taught_"]),
    "boosting": (20_000, ["edges_", "expert_weights_"]),
    "folklore": (1_000, ["t_"]),
    "kernel": (300, ["dual_coef_"]),
    "second order": (500, ["coef_", "n_mistakes_"]),
}


@pytest.fixture
def untraced():
    """Skip where coverage is measured: a signal that interrupts it leaves its own lock locked."""
    monitors = getattr(sys, "monitoring", None)
    tools = [] if monitors is None else map(monitors.get_tool, range(6))
    if sys.gettrace() is not None or any(tools):
        pytest.skip("signals would interrupt the measuring of coverage")


class Interruption(BaseException):
    """What a handler raises."""


@contextlib.contextmanager
def handling(handler, kind="ALRM"):
    """A handler of a kind of signals, and the clock that sends them: ``start(seconds, again)``."""
    number, timer = getattr(signal, f"SIG{kind}"), getattr(signal, f"ITIMER_{TIMERS[kind]}")
    before = signal.signal(number, handler)
    try:
        yield functools.partial(signal.setitimer, timer)
    finally:
        signal.setitimer(timer, 0.0)
        time.sleep(1e-3)  # one may be on its way, to another thread
        signal.signal(number, before)


def learn_interrupted(model, X, y, seconds, kind="ALRM", again=0.0):
    """Learn rows, with a signal after some seconds, and more of them; whether it came in time."""
    on = [False]

    def handler(_, frame):
        if on[0] and not frame.f_code.co_filename.endswith("_weakrefset.py"):
            raise Interruption

    gc.disable()  # what a handler raises within a finalizer, or where a set forgets, is lost
    with handling(handler, kind) as start:
        try:
            try:
                on[0] = True
                start(seconds, again)
                model.partial_fit(X, y)
                on[0] = False
                return False
            except Interruption:
                on[0] = False
                return True
        except Interruption:  # another one, as the first was caught
            on[0] = False
            return True
        finally:
            gc.enable()


@needs_timer
@pytest.mark.usefixtures("untraced")
@pytest.mark.skipif(INTERPRETED, reason="blocks are whole where loops are compiled")
@pytest.mark.parametrize("which", list(LEARNERS))
@pytest.mark.short(every=4)
def test_signals_leave_rounds_that_are_learned_and_counted(which, rng):
    """Of three kinds, alone or in a row: what is left goes on as if none had come in."""
    n, attributes = LEARNERS[which]
    X, y = stream(n + 10)
    started = clone(EVERY_LEARNER[which]).partial_fit(X[:10], y[:10], classes=[0, 1, 2])
    times = []
    for _ in range(3):
        whole, before = copy.deepcopy(started), time.perf_counter()
        whole.partial_fit(X[10:], y[10:])
        times.append(time.perf_counter() - before)
    interrupted = 0
    for seconds in rng.uniform(0.02, 0.9, SIGNALS) * min(times):
        learner, kind = copy.deepcopy(started), rng.choice(list(TIMERS))
        again = rng.choice([0.0, 1e-4])
        interrupted += learn_interrupted(learner, X[10:], y[10:], seconds, kind, again)
        assert 10 <= learner.t_ <= whole.t_
        if learner.t_ < whole.t_:
            learner.partial_fit(X[learner.t_ :], y[learner.t_ :])
        assert learner.t_ == whole.t_
        for name in (*attributes, "predict"):
            given = [getattr(one, name) for one in (learner, whole)]
            given = [one(X[:100]) if callable(one) else one for one in given]
            np.testing.assert_array_equal(*given)
    assert interrupted > 0


@needs_timer
@pytest.mark.usefixtures("untraced")
@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
@pytest.mark.parametrize("which", ["online", "folklore", "soba", "boosting", "abstaining"])
def test_a_handler_predicts_learns_and_saves(which):
    """It runs in the thread that learns, and waits for nothing.

    Kernels are loaded before: numba does not load one while a signal interrupts it in that.
    """
    case, told = FITTED[which], []
    X, y = case.halves()[1]
    model = case.learn(case.started(), X, y)

    def handler(*_):
        told.append(len(model.predict(case.X)))
        case.learn(model, X[:1], y[:1])
        pickle.loads(pickle.dumps(model)).predict(X)

    handler()
    model = case.started()
    with handling(handler) as start:
        late = time.monotonic() + 30.0
        for count in range(20):
            start(1e-3)
            while len(told) == count:  # a call may end before the signal comes
                assert time.monotonic() < late
                case.learn(model, X, y)
    assert set(told) == {len(case.X)}


class Slow(sk.extend.OutputSpace):
    """A space whose oracle takes a millisecond a row, in Python, and may end it."""

    #: Calls with one row until it calls what ends it; none if negative.
    left, end = -1, None

    def argmax(self, theta):
        if len(np.atleast_2d(theta)) == 1:
            Slow.left -= 1
            if Slow.left == 0:
                Slow.end()
        late = time.perf_counter() + 1e-3 * len(np.atleast_2d(theta))
        while time.perf_counter() < late:
            pass
        return (np.asarray(theta) > 0).astype(float)


@needs_timer
@pytest.mark.usefixtures("untraced")
def test_any_number_of_signals_comes_in_one_block():
    """A loop in Python is left by no handler that returns; what raises in it undoes it."""
    rng, came = np.random.RandomState(0), []
    X, y = rng.randn(80, 3), (rng.randn(80, 4) > 0).astype(int)
    model = sk.OnlineStructuredPredictor(Slow(), optimizer="ogd", random_state=0)
    model.partial_fit(X[:2], y[:2])
    with handling(lambda *_: came.append(1)) as start:
        start(5e-4, 5e-5)
        model.partial_fit(X, y)
    assert model.t_ == 82 and len(came) > 20
    before = copy.deepcopy(model)

    def leave(*_):
        raise Interruption

    def broken():
        raise RuntimeError("the oracle broke")

    for Slow.end in (functools.partial(signal.raise_signal, signal.SIGALRM), broken):
        Slow.left = 50
        with handling(leave), pytest.raises((Interruption, RuntimeError)):
            model.partial_fit(X[:60], y[:60])
        assert Slow.left <= 0 and not list(differences(before, copy.deepcopy(model)))


def test_a_first_call_is_not_seen_before_it_is_over(monkeypatch):
    X, y = stream(300)
    model, seen, learn = clone(EVERY_LEARNER["online"]), [], OnlineEstimator.learn_blocks
    with model.turn:  # makes the locks
        before = vars(model).copy()

    def learned(self, *given):
        seen.append(vars(model).copy())
        learn(self, *given)

    monkeypatch.setattr(OnlineEstimator, "learn_blocks", learned)
    model.partial_fit(X, y, classes=[0, 1, 2])
    assert seen == [before] and model.t_ == 300


@needs_timer
@pytest.mark.usefixtures("untraced")
@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
def test_what_is_saved_within_the_first_call_goes_on(rng):
    """A first call is seen when it is over: nothing before, all of it after."""
    X, y = stream(5000)
    saved = []
    for seconds in rng.uniform(1e-4, 3e-3, 20):
        model = clone(EVERY_LEARNER["online"])
        with handling(lambda *_, m=model: saved.append(pickle.dumps(m))) as start:
            start(seconds)
            model.partial_fit(X, y, classes=[0, 1, 2])
    assert saved
    for one in map(pickle.loads, saved):
        start = getattr(one, "t_", 0)
        assert start in (0, 5000)
        one.partial_fit(X[:10], y[:10], classes=[0, 1, 2])
        assert one.t_ == start + 10
