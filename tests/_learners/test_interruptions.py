"""Signals and threads that come in while an estimator learns."""

import gc
import signal
import sys
import threading
import time

import numpy as np
import pytest
from conftest import INTERPRETED
from learners import EVERY_LEARNER
from plain import bandit_gaptron, predictor
from sklearn.base import clone
from waiting import learning_elsewhere, stream

from skstructured._engine.epoch import SLOW_BLOCK
from skstructured._learners.guards import uninterrupted

needs_timer = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timers")
SIGNALS = 5 if INTERPRETED else 50

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
    "boosting": (20_000, ["edges_", "expert_mistakes_"]),
    "boosting others": (24, ["edges_", "expert_mistakes_"]),
    "second order": (500, ["coef_", "n_mistakes_"]),
}


@pytest.fixture
def untraced():
    """Skip where coverage is measured: a signal that interrupts it leaves its own lock locked."""
    monitors = getattr(sys, "monitoring", None)
    tools = [] if monitors is None else map(monitors.get_tool, range(6))
    if sys.gettrace() is not None or any(tools):
        pytest.skip("signals would interrupt the measuring of coverage")


def begin(model, X, y):
    """A new learner that has seen ten rows."""
    return clone(model).partial_fit(X[:10], y[:10], classes=[0, 1, 2])


def least_seconds(call):
    """The least time of three calls, all of which find their kernels compiled."""
    times = []
    for _ in range(3):
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times)


def learn_interrupted(model, X, y, seconds):
    """Learn rows, with a signal after some seconds; whether it came in before the end."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        model.partial_fit(X, y)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        return False
    except KeyboardInterrupt:
        return True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@needs_timer
@pytest.mark.usefixtures("untraced")
@pytest.mark.parametrize("which", list(LEARNERS))
@pytest.mark.short(every=4)
def test_signals_leave_rounds_that_are_learned_and_counted(which):
    model, (n, attributes) = EVERY_LEARNER[which], LEARNERS[which]
    n = min(n, 400) if INTERPRETED else n
    X, y = stream(n + 10)
    whole = begin(model, X, y).partial_fit(X[10:], y[10:])
    shortest = least_seconds(lambda: begin(model, X, y).partial_fit(X[10:], y[10:]))
    interrupted = 0
    for seconds in np.linspace(0.02, 0.9, SIGNALS) * shortest:
        learner = begin(model, X, y)
        interrupted += learn_interrupted(learner, X[10:], y[10:], seconds)
        assert 10 <= learner.t_ <= whole.t_
        if learner.t_ < whole.t_:
            learner.partial_fit(X[learner.t_ :], y[learner.t_ :])
        assert learner.t_ == whole.t_
        for name in attributes:
            np.testing.assert_array_equal(getattr(learner, name), getattr(whole, name))
    assert interrupted >= SIGNALS // 4  # a busy machine may learn faster than it did before


@needs_timer
@pytest.mark.usefixtures("untraced")
@pytest.mark.parametrize("which", ["online", "bandit gaptron", "soba", "second order"])
def test_a_fit_that_is_interrupted_leaves_the_old_model(which):
    model, (n, _) = EVERY_LEARNER[which], LEARNERS[which]
    X, y = stream(min(n, 400) if INTERPRETED else n)
    model = clone(model).fit(X, y)
    before, shortest = model.coef_, least_seconds(lambda: clone(model).fit(X, y))
    model.partial_fit = lambda X, y: model.fit(X[:, :2], y)
    assert learn_interrupted(model, X, y, 0.4 * shortest)
    del model.partial_fit
    assert (model.t_, model.n_features_in_) == (len(X), X.shape[1])
    np.testing.assert_array_equal(model.coef_, before)


@needs_timer
@pytest.mark.usefixtures("untraced")
def test_handlers_are_back_whenever_a_signal_comes():
    """Many short blocks, so that signals come while handlers are taken and given back.

    What a handler raises while garbage is collected is lost with a message: there is none.
    """
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    sigint = signal.getsignal(signal.SIGINT)  # ignored in the background of a script
    came = 0
    gc.disable()
    try:
        for seconds in np.linspace(1e-5, 1e-3, 20 * SIGNALS):
            entered = False
            try:
                signal.setitimer(signal.ITIMER_REAL, seconds)
                late = time.monotonic() + 10.0
                while time.monotonic() < late:
                    with uninterrupted():
                        entered = True
                        entered = False
            except KeyboardInterrupt:
                came += 1
            assert not entered
            assert signal.getsignal(signal.SIGALRM) is signal.default_int_handler
            assert signal.getsignal(signal.SIGINT) is sigint
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()
    assert came == 20 * SIGNALS


def test_handlers_are_back_after_an_error():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(ValueError, match="in the block"), uninterrupted():
        raise ValueError("in the block")
    assert signal.getsignal(signal.SIGINT) is before


def test_handlers_that_do_not_raise_are_called_after_the_block():
    called = []
    before = signal.signal(signal.SIGINT, lambda *_: called.append("handler"))
    try:
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            called.append("block")
    finally:
        signal.signal(signal.SIGINT, before)
    assert called == ["block", "handler"]


@pytest.mark.parametrize(
    "order", [(signal.SIGINT, signal.SIGTERM), (signal.SIGTERM, signal.SIGINT)]
)
def test_no_signal_of_a_block_is_lost(order):
    """Both handlers run, also if the first raises; what the last one raised comes out."""
    called = []

    def raises(number, _):
        called.append(number)
        raise {signal.SIGINT: KeyboardInterrupt, signal.SIGTERM: SystemExit}[number]

    before = {number: signal.signal(number, raises) for number in order}
    last = {signal.SIGINT: KeyboardInterrupt, signal.SIGTERM: SystemExit}[order[1]]
    try:
        with uninterrupted():
            for number in order:
                signal.raise_signal(number)
    except (KeyboardInterrupt, SystemExit) as error:
        came_out = type(error)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert (called, came_out) == (list(order), last)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_second_thread_may_not_learn_but_predict(method):
    X, y = stream(SLOW_BLOCK)  # one block also where kernels are interpreted
    model = predictor().fit(X, y)
    expected = model.predict(X)
    said = []
    with learning_elsewhere(model, X, y):
        with pytest.raises(RuntimeError, match="learning in another thread"):
            getattr(model, method)(X[:, :3] if method == "fit" else X, y)
        asking = threading.Thread(target=lambda: said.append(model.predict(X)))
        asking.start()
        assert said == []  # until the block has been learned
    asking.join()
    np.testing.assert_array_equal(said[0], model.predict(X))
    assert (said[0] != expected).any()
    assert model.t_ == 2 * SLOW_BLOCK
    model.partial_fit(X, y)
    assert model.t_ == 3 * SLOW_BLOCK


def test_a_second_thread_may_not_teach_a_bandit():
    X, y = stream(50)
    model = bandit_gaptron(radius=1.0, classes=[0, 1, 2], random_state=0).fit(X, y)
    actions, propensities = model.choose(X)
    with (
        learning_elsewhere(model, X, y),
        pytest.raises(RuntimeError, match="learning in another thread"),
    ):
        model.update(X, actions, actions == y, propensities)
    assert model.t_ == 100
