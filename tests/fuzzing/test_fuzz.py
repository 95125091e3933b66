"""A short run of the fuzzer, and that the fuzzer sees what it is there for."""

import functools
import inspect
import os
import signal
import subprocess
import sys
import types
from importlib.util import find_spec

import fuzz
import numpy as np
import pytest
from conftest import INTERPRETED, ROOT
from fuzz_files import TARGETS
from fuzz_inputs import GROUPS, MISFITS, Finding, misfit
from fuzz_play import MAKERS, call
from sklearn.base import BaseEstimator

import skstructured
from skstructured import SequenceTransformer, TableEncoder


@pytest.mark.exhaustive
def test_a_short_run_finds_nothing(capsys):
    calls = "60" if INTERPRETED else "300"
    arguments = ["--calls", calls, "--seed", "0", "--areas", "foreign,mapped"]
    arguments += ["--groups", "online,classes,online,binary,classes,svmlight,chunks"]
    code = fuzz.main(arguments)
    assert code == 0, capsys.readouterr().out


@pytest.mark.skipif(not find_spec("atheris"), reason="atheris is not installed")
@pytest.mark.parametrize("target", ["svmlight", "table", "parquet", "checkpoint", "schema"])
def test_a_short_guided_run_finds_nothing(target, tmp_path):
    for needed in {"parquet": ["pyarrow"], "checkpoint": ["skops"], "schema": ["skops"]}.get(
        target, []
    ):
        pytest.importorskip(needed)
    program = ROOT / "tests" / "fuzz_atheris.py"
    command = [sys.executable, str(program), target, "-runs=300"]
    path = os.pathsep.join([os.getcwd(), *filter(None, sys.path)])
    environment = os.environ | {"PYTHONPATH": path}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, errors="replace"
    )
    assert done.returncode == 0 and "DONE" in done.stderr, done.stderr[-2000:]


def test_every_public_estimator_is_fuzzed():
    public = {getattr(skstructured, name) for name in skstructured.__all__}
    wanted = {t for t in public if isinstance(t, type) and issubclass(t, BaseEstimator)}
    wanted = {t for t in wanted if hasattr(t, "fit") and not inspect.isabstract(t)}
    elsewhere = (
        "skstructured.items",
        "skstructured.evaluation",
    )  # of tests/items, tests/evaluation
    wanted = {t for t in wanted if not t.__module__.startswith(elsewhere)}
    rng, found = np.random.RandomState(0), {SequenceTransformer, TableEncoder}
    for make in MAKERS.values():
        found |= {type(make(rng, ())[0]) for _ in range(400)}
    assert wanted <= found


def test_every_group_is_played_and_every_group_is_known():
    assert set(GROUPS) == set(MAKERS) | set(TARGETS)
    for name, target in TARGETS.items():
        if name != "parquet" or find_spec("pyarrow"):
            assert target(np.random.RandomState(0), (), lambda call: None) >= 1


class Misbehaving(BaseEstimator):
    """A learner that does one thing it must not."""

    def __init__(self, how="nothing"):
        self.how = how

    def partial_fit(self, X, y):
        self.weights_ = np.array([1.0, np.nan if self.how == "hides NaN" else 2.0])
        if self.how == "fails inside":
            return np.zeros(2)[X]
        if self.how == "fails unsaid":
            return np.zeros(2) + np.zeros(3)
        if self.how == "changes, then refuses":
            error = ValueError("refused")
            raise error
        return self

    def predict(self, X):
        if self.how == "changes while reading":
            self.weights_[0] += 1.0
        return np.array([np.inf if self.how == "answers inf" else 0.0])


@pytest.mark.parametrize(
    ("how", "method", "wrong", "message"),
    [
        ("nothing", "partial_fit", None, None),
        ("nothing", "partial_fit", "NaN in X", "accepted NaN in X"),
        ("hides NaN", "partial_fit", None, "nan in Misbehaving.weights_"),
        ("fails inside", "partial_fit", None, "IndexError at test_fuzz.py"),
        ("fails unsaid", "partial_fit", None, "ValueError at test_fuzz.py:.* broadcast"),
        ("changes, then refuses", "partial_fit", None, "refused, and changed: refused"),
        ("changes while reading", "predict", None, "reading changed the learner"),
        ("answers inf", "predict", None, "inf in the result"),
    ],
)
def test_what_must_not_happen_is_found(how, method, wrong, message, monkeypatch):
    case = types.SimpleNamespace(learner=Misbehaving(how), fitted=None)
    if method == "predict":
        call(case, "partial_fit", (9, None), {}, None)
    if how == "changes, then refuses":  # as if the library had raised it
        monkeypatch.setattr("fuzz_play.is_deliberate", lambda error: True)
    arguments = (9, None) if method == "partial_fit" else (9,)
    if message is None:
        return call(case, method, arguments, {}, wrong)
    with pytest.raises(Finding, match=message):
        call(case, method, arguments, {}, wrong)


PROGRAM = """
import os, time
import fuzz

played = []

def play(seed, tell):
    tell(f"a learner of {seed}.fit")
    if seed == 12 or (seed == 13 and played):
        os.abort()
    while seed == 14:
        pass
    if seed == 15:
        raise fuzz.Finding("something")
    played.append(seed)
    return 1

fuzz.worker(0.5, play)
"""


@pytest.mark.exhaustive
def test_crashes_and_endless_calls_are_told_with_the_seeds_to_blame(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    start = functools.partial(fuzz.Worker, (), 0.5, program=tmp_path / "program.py")
    found, died = {}, f"crash-with-exit-code-{-signal.SIGABRT}"
    fuzzer = fuzz.Fuzzer(8, 10, start, found.__setitem__)
    fuzzer.next_seeds = lambda: [10, 11, 12, 14, 15, 16, 13, 17]
    assert fuzzer.run(workers=1) == 4 == len(found)
    assert found[12] == f"{died} in a learner of 12.fit"
    assert found[13] == (
        f"{died} in a learner of 13.fit, not alone, but in --workers 1 --seed 15 --calls 3"
    )
    assert found[14] == "no-end-within-0.5-s in a learner of 14.fit"
    assert found[15] == "something in a learner of 15.fit"


@pytest.mark.parametrize("name", list(MISFITS))
def test_every_misfit_is_one(name, rng, monkeypatch):
    monkeypatch.setattr("fuzz_inputs.pick", lambda rng, choices: name)
    X, told = misfit(rng, rng.randn(4, 3))
    assert told == name
    lines = X.shape[0] if X.format == "csr" else X.shape[1]
    size = X.shape[1] if X.format == "csr" else X.shape[0]
    fits = (
        all(array.ndim == 1 for array in (X.indptr, X.indices, X.data))
        and X.indptr.dtype.kind == X.indices.dtype.kind == "i"
        and len(X.indptr) == lines + 1
        and X.indptr[0] == 0
        and (np.diff(X.indptr) >= 0).all()
        and X.indptr[-1] <= min(len(X.indices), len(X.data))
        and ((X.indices >= 0) & (X.indices < size)).all()
    )
    assert not fits
