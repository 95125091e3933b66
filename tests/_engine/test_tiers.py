"""Kernels that are interpreted until compiling pays, and both of their forms."""

import os
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from conftest import INTERPRETED, ROOT
from learners import EVERY_LEARNER
from pairs import CASES, loss_of
from sklearn.base import clone
from spanning_trees import SpanningTrees
from streams import words
from tiers import BothForms, cool_down

import skstructured as sk
from skstructured._engine import compiled
from skstructured._engine.compiled import kernel
from skstructured._engine.rounds import STEPS_PER_ROW, learn_rounds, learn_rows
from skstructured._engine.state import at_once
from skstructured._engine.types import FUNCTION_TYPES, as_loss
from skstructured.evaluation import progressive_validate
from skstructured.extend.surrogate import run_gradient_rows
from skstructured.guarantees.rises import RiseTest
from skstructured.optimizers import GradientDescent

pytestmark = pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")


@pytest.fixture
def cold(monkeypatch):
    """Kernels as in a new process on a new machine."""
    cool_down(monkeypatch)


@pytest.fixture
def both(monkeypatch):
    return BothForms(monkeypatch)


@pytest.fixture
def stream(rng):
    X = rng.randn(60, 4)
    return X, (X[:, 0] > 0.0).astype(int) + (X[:, 1] > 0.5)


def learned(model, X, y, parts=1):
    for rows in np.array_split(np.arange(len(y)), parts):
        model.partial_fit(X[rows], y[rows], classes=[0, 1, 2])
    return model


@pytest.mark.parametrize("name", [name for name in EVERY_LEARNER if name != "toy"])
@pytest.mark.short("default", "online", "folklore", "gaptron", "kernel plain")
def test_both_forms_of_the_kernels_of_learners_are_alike(name, stream, both):
    X, y = stream
    X[38] = 20.0 * abs(X[38])  # beyond the edges of its columns
    model = learned(clone(EVERY_LEARNER[name]), X[:40], y[:40], parts=2)
    model.predict(X[40:])
    assert both.names


@pytest.mark.parametrize(("name", "dim"), CASES)
def test_both_forms_of_the_kernels_of_losses_are_alike(name, dim, both, rng):
    loss, theta = loss_of(name, dim), 3.0 * rng.randn(12, dim)
    V = loss.space.argmax(rng.randn(12, dim))
    run_gradient_rows(loss.kernel, theta, V, *loss.kernel_arguments(dim))
    assert "gradient_rows" in both.names or not compiled.is_kernel(loss.kernel)


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["sequence", "items", "margin", "field"])
def test_both_forms_of_the_kernels_of_other_outputs_are_alike(kind, both, rng):
    if kind == "items":
        X, y = [rng.randn(m, 3) for m in (3, 4, 5)], [rng.randint(3, size=m) for m in (3, 4, 5)]
        sk.ListwiseRanker(max_iter=2, random_state=0).fit(X, y).predict(X)
    elif kind == "margin":
        X = rng.randn(20, 3)
        sk.MaxMinMarginNetwork(tol=0.3).fit(X, rng.randint(3, size=20)).predict(X)
    else:
        X, y = words(8)
        names = {"sequence": sk.OnlineStructuredPredictor, "field": sk.ConditionalRandomField}
        given = {"space": "sequence", "max_iter": 2} if kind == "sequence" else {}
        names[kind](**given).fit(X, y).predict(X)
    assert both.names


def test_both_forms_of_the_test_of_rises_are_alike(both, rng):
    RiseTest(0.05).update(np.append(rng.rand(60), 0.5 + 0.5 * rng.rand(60)))
    assert "seek_rise" in both.names


def test_a_new_process_interprets_and_compiles_when_it_pays(cold, stream, monkeypatch):
    X, y = stream
    whole = learned(sk.OnlineStructuredPredictor(optimizer="ogd"), X, y)
    steps = learn_rows.interpreted_steps
    assert not learn_rows.is_warm and steps > 60.0 * STEPS_PER_ROW
    learned(sk.OnlineStructuredPredictor(optimizer="ogd"), X, y)
    assert learn_rows.interpreted_steps == 2.0 * steps  # counted, not timed
    monkeypatch.setattr(learn_rows, "worth", 2.5 * steps)
    model = sk.OnlineStructuredPredictor(optimizer="ogd")
    for part in range(0, 60, 10):
        learned(model, X[part : part + 10], y[part : part + 10])
    assert learn_rows.is_warm and model.t_ == 60
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("optimizer", ["ogd", "mixture"])
def test_loops_over_a_loss_in_python_are_never_compiled(optimizer, cold, rng):
    """Spanning trees, whose means are found by an oracle in Python."""
    X = rng.randn(20, 2)
    y = np.array([[1, 1, 0], [0, 1, 1]])[(X[:, 0] > 0.0).astype(int)]
    model = sk.OnlineStructuredPredictor(
        SpanningTrees([(0, 1), (1, 2), (0, 2)], 3), optimizer=optimizer, random_state=0
    )
    interpreted = progressive_validate(model, X, y, play="predict")
    compiled.compile_at_once()
    plain = progressive_validate(model, X, y, play="predict")
    assert not compiled.is_kernel(plain.estimator.loss_.kernel)
    np.testing.assert_allclose(plain.surrogate_loss, interpreted.surrogate_loss, rtol=1e-6)


def test_a_kernel_that_turns_out_not_to_compile_is_named_and_nothing_is_learned(cold, stream):
    @kernel(cached=False)
    def step(state, inner, square, bound, weight):
        return -0.01 * locals()["weight"]

    class Mixed(GradientDescent):
        step_kernel = staticmethod(step)

    X, y = stream
    model = learned(sk.OnlineStructuredPredictor(optimizer=Mixed()), X[:30], y[:30])
    compiled.compile_at_once()
    weights = model.coef_.copy()
    for _ in range(2):
        with pytest.raises(TypeError, match="cannot compile a kernel of Mixed or FenchelYoung"):
            model.partial_fit(X[30:], y[30:])
    assert model.t_ == 30
    np.testing.assert_array_equal(model.coef_, weights)


def test_pickles_of_an_interpreted_learner_go_on_compiled(cold, stream, monkeypatch):
    X, y = stream
    half = learned(sk.OnlineStructuredPredictor(), X[:30], y[:30])
    assert not learn_rounds.is_warm
    saved = pickle.dumps(half)
    monkeypatch.setattr(learn_rounds, "worth", 0.0)
    for model in (half, pickle.loads(saved)):
        learned(model, X[30:], y[30:])
    assert learn_rounds.is_warm
    np.testing.assert_array_equal(
        half.predict_proba(X), pickle.loads(saved).partial_fit(X[30:], y[30:]).predict_proba(X)
    )


def test_rows_that_threads_learn_meanwhile_are_not_lost(cold, stream, monkeypatch):
    X, y = stream
    model = learned(sk.OnlineStructuredPredictor(optimizer="ogd"), X[:3], y[:3])
    monkeypatch.setattr(learn_rows, "worth", 3.0 * learn_rows.interpreted_steps)
    errors = []

    def learn(rows):
        try:
            for i in rows:
                model.partial_fit(X[i : i + 1], y[i : i + 1])
                model.predict(X[:5])
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=learn, args=(range(3 + k, 60, 3),)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [] and model.t_ == 60 and learn_rows.is_warm


@pytest.mark.parametrize("name", ["default", "folklore", "soba", "default boosting"])
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timers")
def test_signals_leave_interpreted_rounds_whole(name, cold, stream):
    X, y = stream

    def handler(*_):
        raise InterruptedError

    previous, interrupted = signal.signal(signal.SIGALRM, handler), 0
    try:
        whole = learned(clone(EVERY_LEARNER[name]), X, y)
        for seconds in np.linspace(1e-3, 0.05, 12):
            model = learned(clone(EVERY_LEARNER[name]), X[:10], y[:10])
            signal.setitimer(signal.ITIMER_REAL, seconds)
            try:
                model.partial_fit(X[10:], y[10:])
            except InterruptedError:
                interrupted += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0.0)
            if model.t_ < 60:
                model.partial_fit(X[model.t_ :], y[model.t_ :])
            np.testing.assert_array_equal(model.predict(X), whole.predict(X))
    finally:
        signal.signal(signal.SIGALRM, previous)
    assert interrupted > 0


def test_calls_that_are_interpreted_end_before_an_error_of_theirs_is_raised(cold):
    @kernel(cached=False)
    def failing(x):
        x[0] = 1.0
        raise ZeroDivisionError("told")

    x = np.zeros(2)
    with pytest.raises(ZeroDivisionError, match="told"):
        at_once((failing, x), (x.fill, 7.0))
    assert x[0] == 1.0


class TestKernels:
    def test_interpreted_ones_interpret_those_that_they_call(self, cold):
        @kernel(cached=False)
        def inner(x):
            return x.sum()

        @kernel(cached=False)
        def outer(x):
            return inner(x) + 1.0

        inner.is_warm = True
        assert outer(np.ones(3)) == 4.0
        assert not inner.dispatcher.signatures and not outer.dispatcher.signatures
        outer.is_warm = True
        assert outer(np.ones(3)) == 4.0 and outer.dispatcher.signatures

    def test_those_that_call_themselves_are_interpreted(self, cold):
        @kernel(cached=False)
        def count_down(n):
            return n if n == 0 else count_down(n - 1)

        assert count_down(5) == 0 and not count_down.dispatcher.signatures

    @pytest.mark.parametrize("steps", [3.0, lambda x: 3.0 * x.size + 3.0])
    def test_steps_are_those_of_entries_or_of_arguments(self, steps, cold):
        @kernel(cached=False, steps=steps, worth=40.0)
        def total(x):
            return x.sum()

        assert total(np.ones(9)) == 9.0
        assert total.interpreted_steps == 30.0 and not total.is_warm
        total(np.ones(9))
        assert total.is_warm

    def test_entries_are_those_of_tuples_too(self, cold):
        @kernel(cached=False)
        def total(x, pair):
            return x.sum() + pair[0].sum()

        total(np.ones(3), (np.ones((2, 2)), 5))
        assert total.interpreted_steps == 9.0  # one each for the arguments and the tuple

    @pytest.mark.exhaustive
    def test_code_of_an_older_source_is_not_on_disk(self, tmp_path):
        code = f"""
import numpy as np, os, pathlib, sys
from skstructured._engine.moments import complete as f
if len(sys.argv) > 1:
    for path in pathlib.Path({str(tmp_path)!r}).rglob("*.nbi"):
        os.utime(path, (1.0, 1.0))
f(np.ones((2, 3)), np.ones((11, 3)), np.ones((2, 3)))
print(f.is_warm)
"""
        env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        said = []
        for compiles, arguments in (("1", []), ("0", []), ("0", ["old"])):
            call = [sys.executable, "-c", code, *arguments]
            environment = env | {"SKSTRUCTURED_COMPILE": compiles}
            done = subprocess.run(
                call, env=environment, cwd=ROOT, capture_output=True, text=True, check=True
            )
            said.append(done.stdout.strip())
        assert said == ["True", "True", "False"]

    def test_functions_are_addresses_where_they_are_compiled(self, cold):
        @kernel(cached=False, function_type=FUNCTION_TYPES.loss)
        def twice(loss, x):
            return 2.0 * as_loss(loss)(x, x, x, x, x)

        def first(theta, truth, g, params, work):
            return theta[0]

        value, x = kernel(first, cached=False, steps=50.0), np.array([2.0])
        assert twice(value, x) == 4.0 and twice.interpreted_steps == 100.0
        twice.is_warm = True
        assert twice(value, x) == 4.0 and twice(first, x) == 4.0
        assert len(twice.dispatcher.signatures) == 1

    def test_are_pickled_by_name(self):
        assert pickle.loads(pickle.dumps(learn_rows)).py_func.__name__ == "learn_rows"

    @pytest.mark.parametrize(
        "rule",
        ["on disk", "SKSTRUCTURED_COMPILE", pytest.param("warm_up", marks=pytest.mark.slow)],
    )
    def test_are_compiled_at_once(self, rule, tmp_path):
        warming = "sk.warm_up('MulticlassPerceptron')" if rule == "warm_up" else ""
        code = f"""
import numpy as np, skstructured as sk
from skstructured._engine.moments import complete as f
{warming}
print(f.is_warm); f(np.ones((2, 3)), np.ones((11, 3)), np.ones((2, 3))); print(f.is_warm)
"""
        env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "SKSTRUCTURED_COMPILE": "0"}
        first = env | ({"SKSTRUCTURED_COMPILE": "1"} if rule != "warm_up" else {})
        said = []
        for e in (first, env):
            call = [sys.executable, "-c", code]
            said.append(
                subprocess.run(
                    call, env=e, cwd=ROOT, capture_output=True, text=True, check=True
                ).stdout.split()[-1]
            )
        assert said == ["True", "True"]
