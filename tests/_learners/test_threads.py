"""What is read, copied and saved beside a thread that learns: a state between two blocks."""

import contextlib
import copy
import os
import pickle
import signal
import sys
import threading

import numpy as np
import pytest
from conftest import INTERPRETED
from fitted import FITTED, learns_in_parts
from learner_checks import PREDICTIONS
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from skstructured._learners.lock import lock_of
from skstructured.bandits import SOBAClassifier
from skstructured.estimators import structured
from skstructured.estimators._stream import StreamMember
from skstructured.extend.learner import OnlineLearner

#: Seconds after which a thread that waits for another has been forgotten.
LATE = 60.0
#: A learner whose predictions do not wait: it learns on a copy, which replaces the state at once.
ASIDE = "mixed"
#: What is told of a learner without rows.
ATTRIBUTES = ("coef_", "expert_weights_", "leader_", "dual_coef_")
#: One of each kind, where kernels are interpreted.
KINDS = (
    "default", "second order", "kernel", "folklore", "boosting", "abstaining", "sequences", "mixed",
)  # fmt: skip
LEARNERS = [
    name
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

    def answer(self):
        """What the thread was told."""
        self.join(LATE)
        assert not self.is_alive() and self.error is None
        return self.said


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.short(*KINDS)
def test_who_reads_copies_or_learns_waits_for_a_block(name):
    case = FITTED[name]
    model, row = case.started(), (case.X[:1], case.y[:1])
    tasks = {
        m: lambda m=m: answers(model, case.X, m) for m in methods(model) if m != "staged_predict"
    }
    tasks = {} if name == ASIDE else tasks
    tasks |= {"pickle": lambda: pickle.dumps(model), "copy": lambda: copy.deepcopy(model)}
    tasks["learn"] = lambda: case.learn(model, *row)
    with lock_of(model):
        threads = {task: Asked(call) for task, call in tasks.items()}
        threads["learn"].join(0.05)
        assert [task for task, thread in threads.items() if not thread.is_alive()] == []
    for thread in threads.values():
        thread.answer()


def state_of(model, X):
    return model.t_, answers(model, X, "decision_function")


#: How a state is taken beside a thread that learns.
TAKEN = {"pickle": lambda model: pickle.loads(pickle.dumps(model)), "copy": copy.deepcopy}


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
@pytest.mark.parametrize("rows", [1, 7])
@pytest.mark.parametrize(
    "name", ["default", "bandit gaptron", "folklore", "boosting", "kernel", "sequences"]
)
@pytest.mark.short(every=4)
def test_what_threads_are_told_was_between_two_blocks(name, rows):
    case = FITTED[name]
    model, (_, (X, y)) = case.started(), case.halves()
    done, before = threading.Event(), sys.getswitchinterval()

    def ask(take):
        found = set()
        while not done.is_set():
            found.add(take())
        return found

    said = [Asked(lambda: ask(lambda: answers(model, case.X, "decision_function")))]
    taken = [Asked(lambda t=t: ask(lambda: state_of(t(model), case.X))) for t in TAKEN.values()]
    sys.setswitchinterval(1e-5)
    try:
        for start in range(0, len(y), rows):
            case.learn(model, X[start : start + rows], y[start : start + rows])
    finally:
        done.set()
        sys.setswitchinterval(before)
    twin = case.started()
    states = {state_of(twin, case.X)}
    for i in range(len(y)):
        case.learn(twin, X[i : i + 1], y[i : i + 1])
        states.add(state_of(twin, case.X))
    assert set().union(*(thread.answer() for thread in taken)) <= states
    assert said[0].answer() <= {answer for _, answer in states}
    assert state_of(model, case.X) in states


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
@pytest.mark.parametrize("name", ["default", "folklore", "boosting", "sequences"])
def test_two_threads_that_learn_take_turns(name):
    case = FITTED[name]
    model, (X, y) = case.started(), case.halves()[1]
    learned = [Asked(lambda: [case.learn(model, X, y) for _ in range(3)]) for _ in range(2)]
    for thread in learned:
        thread.answer()
    assert model.t_ == case.started().t_ + 6 * len(y)


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
@pytest.mark.parametrize("name", ["default", "numbers", "folklore", "kernel", "sequences"])
@pytest.mark.parametrize("anew", [True, False])
def test_threads_that_ask_as_a_learner_begins_are_told_or_refused(name, anew):
    case = FITTED[name]
    for _ in range(5):
        model, done = case.started() if anew else clone(case.estimator), threading.Event()

        def ask(model=model, done=done):
            while not done.is_set():
                with contextlib.suppress(NotFittedError):
                    model.predict(case.X)

        said = [Asked(ask) for _ in range(3)]
        try:
            X, y = case.halves()[0]
            model.fit(X, y) if anew else case.learn(model, X, y)
        finally:
            done.set()
        for thread in said:
            thread.answer()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no children")
@pytest.mark.parametrize("name", ["default", "folklore", "soba"])
def test_a_child_learns_though_another_thread_did(name):
    """The locks that threads of the parent hold as it forks are new ones in the child."""
    case = FITTED[name]
    model, row = case.started(), (case.X[:1], case.y[:1])
    held, done = threading.Event(), threading.Event()

    def hold():
        with lock_of(model):
            held.set()
            done.wait(LATE)

    holder = Asked(hold)
    assert held.wait(LATE)
    child = os.fork()
    if child == 0:
        signal.alarm(int(LATE))
        case.learn(model, *row)
        model.predict(case.X)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    done.set()
    holder.answer()
    assert status == 0


class Read:
    """Rows, and what happens as a method reads them."""

    def __init__(self, X, happens):
        self._X, self._happens, self.shape = X, happens, X.shape

    def __array__(self, dtype=None, copy=None):
        happens, self._happens = self._happens, lambda: None
        happens()
        return np.array(self._X, dtype)

    def __len__(self):
        return len(self._X)


def learned(model, twin, X):
    """Whether two learners, one of which may have learned beside others, are the same."""
    same = [answers(model, X, name) == answers(twin, X, name) for name in methods(twin)]
    return all(same) and model.t_ == twin.t_


@pytest.mark.parametrize(
    "name",
    ["default", "kernel", "folklore", "boosting", "second order", "bandit gaptron", "mixed"],
)
def test_first_calls_that_overlap_take_turns(name):
    """Another thread begins as rows of a first call are read, and learns after them."""
    case = FITTED[name]
    model, X, y = clone(case.estimator), case.X, case.y
    others = []

    def begin():
        others.append(Asked(lambda: case.learn(model, X[20:], y[20:])))
        others[0].join(0.05)

    case.learn(model, Read(X[:20], begin), y[:20])
    others[0].answer()
    twin = case.learn(clone(case.estimator), X[:20], y[:20])
    assert learned(model, case.learn(twin, X[20:], y[20:]), X)


@pytest.mark.parametrize("first", [True, False])
def test_rewards_that_are_read_at_once_are_all_learned(first):
    rng, others = np.random.RandomState(0), []
    X, rewards, p = rng.randn(30, 3), rng.randint(2, size=30), np.full(30, 0.5)
    model = SOBAClassifier(classes=[0, 1], random_state=0)
    if not first:
        model.update(X[:5], [0] * 5, rewards[:5], p[:5])

    def begin():
        others.append(Asked(lambda: model.update(X[:10], [0] * 10, rewards[:10], p[:10])))
        others[0].join(0.05)

    model.update(X[10:], [0] * 20, Read(rewards[10:], begin), p[10:])
    others[0].answer()
    assert model.t_ == 30 + 5 * (not first)


@pytest.mark.parametrize("name", ["folklore", "boosting", "second order", "abstaining"])
def test_a_call_that_is_refused_keeps_what_others_learned(name):
    """Its rows end with NaN; as they are read, somebody else learns."""
    case = FITTED[name]
    model, twin = case.started(), case.go_on(case.started())
    bad = np.array(case.X)
    bad[-1] = np.inf
    with pytest.raises(ValueError, match="inf"):
        case.learn(model, Read(bad, lambda: case.go_on(model)), case.y)
    assert learned(model, twin, case.X)


REFITTED = {
    "default": (
        "predict",
        "predict_proba",
        "predict_log_proba",
        "decision_function",
        "predict_mean",
    ),
    "folklore": ("predict", "predict_proba", "decision_function"),
    "boosting": ("predict", "predict_proba"),
    "second order": ("predict", "decision_function"),
    "bandit gaptron": ("predict",),
    "kernel": ("predict", "predict_proba"),
    "mixed": ("predict", "predict_proba", "decision_function"),
    "numbers": ("predict",),
    "numbers, mixed": ("predict",),
    "quadratic": ("predict",),
    "random field of classes": ("predict", "predict_proba", "decision_function"),
    "prediction sets": ("predict_set",),
}


@pytest.mark.parametrize(
    ("name", "method"), [(name, method) for name, all_ in REFITTED.items() for method in all_]
)
def test_predictions_are_of_one_model_though_it_is_fitted_meanwhile(name, method):
    """`fit` with other labels, and with more of them, as the rows are read."""
    case = FITTED[name]
    X, y = case.X, np.asarray(case.y)
    other = 5.0 - 3.0 * y if y.dtype.kind == "f" else np.append(np.roll(y, 1)[1:], "d")
    model = clone(case.estimator).fit(X, y)
    before = answers(model, X, method)
    assert answers(model, Read(X, lambda: model.fit(X, other)), method) == before
    assert answers(model, X, method) == answers(clone(case.estimator).fit(X, other), X, method)


def test_a_stream_that_is_learned_aside_does_not_keep_predictions_waiting(monkeypatch):
    """Another thread waits within the second of three blocks, its first member ahead."""
    case, blocks, goes_on, at = FITTED["mixed"], [], threading.Event(), threading.Event()
    model, twin, (X, y) = case.started(), case.started(), case.halves()[1]
    case.learn(twin, X[:8], y[:8])
    learn = StreamMember.learned_means

    def learned_means(self, batch):
        blocks.append(batch.n_rounds)
        if len(blocks) == 4:
            at.set()
            goes_on.wait(LATE)
        return learn(self, batch)

    monkeypatch.setattr(structured.StructuredPredictor, "_stream_block", 8)
    monkeypatch.setattr(StreamMember, "learned_means", learned_means)
    other = Asked(lambda: case.learn(model, X, y))
    assert at.wait(LATE)
    for take in (lambda m: m, copy.copy, *TAKEN.values()):
        one = Asked(lambda take=take: take(model)).answer()
        assert learned(one, twin, case.X) and {m.learner.t_ for m in one.estimators_} == {28}
        np.testing.assert_array_equal(one.weights_, twin.weights_)
    goes_on.set()
    other.answer()
    assert blocks == [8, 8, 8, 8, 4, 4] and learned(model, case.go_on(case.started()), case.X)
