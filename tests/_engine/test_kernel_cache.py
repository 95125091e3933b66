"""The disk cache of kernels: never stale, never torn, and learning goes on without it."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest
from conftest import INTERPRETED

import skstructured
from skstructured._cli import warm_up as _warm_up
from skstructured._engine import kernel_cache
from skstructured._engine.compiled import kernel
from skstructured._engine.move_and_score import csr_move_and_score_for

pytestmark = pytest.mark.skipif(INTERPRETED, reason="nothing is compiled")

PACKAGE = Path(skstructured.__file__).parent

#: Prints the class that one small kernel, with a callee in another file, plays.
DRAW = """
import numpy as np
from skstructured.bandits._first_order import draw
work = np.array([0.0, 1.0, 0.5, 0.0, 0.0])
print(draw(np.array([0.0, 2.0, 1.0]), 0.0, work)[0])
"""


#: Compiling is an error from here on.
REFUSE = """
import numba.core.event as event
import skstructured
class Refuse(event.Listener):
    def on_start(self, e): raise AssertionError(e.data["dispatcher"])
    def on_end(self, e): pass
event.register("numba:compile", Refuse())
"""


@pytest.fixture
def copied(tmp_path):
    """A folder with a copy of the package, and no cache."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "site" / "skstructured", ignore=ignore)
    return tmp_path / "site"


def start(script, site=None, **environment):
    """A process that runs `script` with a package and variables of its own."""
    environment = {"PYTHONPATH": str(site or PACKAGE.parent), **environment}
    dropped = ("NUMBA_CACHE_DIR", "PYTHONPATH", "COV_CORE_SOURCE", "COV_CORE_CONFIG")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    command = [sys.executable, "-W", "always", "-c", textwrap.dedent(script)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=kept | environment, cwd="/", **pipes)


def run(script, site=None, **environment):
    """What `script` printed, and what it warned of."""
    process = start(script, site, **environment)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out, err


def kernels_below(folder):
    return sorted(folder.rglob(f"{kernel_cache.FOLDER}*/*"))


@pytest.mark.exhaustive
def test_a_changed_callee_in_another_file_is_compiled_again(copied):
    assert run(DRAW, copied)[0] == "1\n"
    assert kernels_below(copied)
    source = copied / "skstructured" / "losses" / "gap.py"
    text = source.read_text()
    assert text.count("if theta[k] > theta[best]") == 1
    source.write_text(text.replace("if theta[k] > theta[best]", "if theta[k] < theta[best]"))
    assert run(DRAW, copied)[0] == "0\n"


@pytest.mark.exhaustive
def test_a_second_process_compiles_nothing(copied, tmp_path):
    run(DRAW, copied, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    before = {path: path.stat().st_mtime_ns for path in kernels_below(tmp_path / "cache")}
    assert before
    run(REFUSE + DRAW, copied, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    after = {path: path.stat().st_mtime_ns for path in kernels_below(tmp_path / "cache")}
    assert after == before


#: Prints projections on the subsets of two of four, known by their oracle alone.
PROJECT = """
import numpy as np
from skstructured.extend._by_vertices import projection_kernel
from skstructured.spaces import KSubsets
from skstructured._engine.compiled import LOSS, address
kernel = projection_kernel(KSubsets({k}))
address(kernel, LOSS)
mu = np.zeros(4)
kernel(np.array([0.7, 0.5, 0.2, 0.1]), np.zeros(4), mu, np.zeros(0), np.zeros(1))
print(mu.sum().round(9))
"""


@pytest.mark.exhaustive
def test_kernels_of_our_oracles_are_kept(tmp_path):
    places = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert run(PROJECT.format(k=2), **places)[0] == "2.0\n"
    kept = kernels_below(tmp_path / "cache")
    assert any("active_set_projection" in path.name for path in kept)
    assert run(REFUSE + PROJECT.format(k=2), **places)[0] == "2.0\n"
    assert kernels_below(tmp_path / "cache") == kept
    assert run(PROJECT.format(k=3), **places)[0] == "3.0\n"


@pytest.mark.exhaustive
def test_a_damaged_file_is_compiled_again(copied):
    run(DRAW, copied)
    whole = {path: path.read_bytes() for path in kernels_below(copied)}
    assert whole
    for damaged in (lambda file: b"", lambda file: b"short", lambda file: file[:-100] + bytes(100)):
        for path, file in whole.items():
            path.write_bytes(damaged(file))
        assert run(DRAW, copied)[0] == "1\n"


LEARN = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import numpy as np
    {before}
    from skstructured import MulticlassPerceptron
    X = np.eye(3)
    model = MulticlassPerceptron(max_iter=5, tol=None).fit(X, [0, 1, 2])
print([str(w.message) for w in caught if "skstructured" in str(w.message)])
print(model.score(X, [0, 1, 2]))
"""


def check_learned_with_one_warning(out):
    messages, score = out.strip().split("\n")
    assert messages.count("cannot keep its compiled kernels") == 1
    assert "NUMBA_CACHE_DIR" in messages
    assert float(score) == 1.0


@pytest.mark.exhaustive
def test_learning_works_where_nothing_can_be_written(copied, tmp_path):
    shutil.rmtree(copied / "skstructured" / "__pycache__", ignore_errors=True)
    (copied / "skstructured" / "__pycache__").write_text("a file in the folder's place")
    nowhere = str(tmp_path / "nowhere")
    Path(nowhere).write_text("a file too")
    places = {"NUMBA_CACHE_DIR": f"{nowhere}/cache", "HOME": nowhere, "XDG_CACHE_HOME": ""}
    out, _ = run(LEARN.format(before=""), copied, PYTHONDONTWRITEBYTECODE="1", **places)
    check_learned_with_one_warning(out)
    for folder in (f"{nowhere}/cache", f"{copied}/skstructured/__pycache__", f"{nowhere}/.cache"):
        assert f"{folder}: Not a directory" in out  # every folder, with its own cause


WARM_UP = """
from skstructured import MulticlassPerceptron
from skstructured._cli.warm_up import warm_up
learners = [(MulticlassPerceptron(), [0, 1, 2] * 4)][:{learners}]
import skstructured.__main__ as command
command.warm_up = lambda: warm_up(learners)
from skstructured.__main__ import main
raise SystemExit(main(["--warm-up"]))
"""


@pytest.mark.exhaustive
def test_the_warm_up_keeps_kernels_or_says_that_it_cannot(copied, tmp_path):
    out, _ = run(WARM_UP.format(learners=1), copied, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    (folder,) = (tmp_path / "cache").iterdir()
    assert f"kept in {folder}" in out
    assert {path.name.split("-")[0] for path in folder.iterdir()} >= {
        "epoch.epoch",
        "move_and_score.dense_move_and_score",
        "move_and_score.csr_move_and_score",
        "gap.mistake_gradient",
    }
    shutil.rmtree(copied / "skstructured" / "__pycache__", ignore_errors=True)
    (copied / "skstructured" / "__pycache__").write_text("a file in the folder's place")
    nowhere = str(tmp_path / "nowhere")
    Path(nowhere).write_text("a file too")
    places = {"NUMBA_CACHE_DIR": f"{nowhere}/cache", "HOME": nowhere, "XDG_CACHE_HOME": ""}
    script = WARM_UP.format(learners=0)  # the formula of certificates is a kernel as well
    process = start(script, copied, PYTHONDONTWRITEBYTECODE="1", **places)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 1 and "NUMBA_CACHE_DIR" in err


def test_the_warm_up_knows_every_optimizer_and_pair():
    from skstructured._cli.warm_up import _learners

    learners = [model for model, _ in _learners()]
    used = {(m.space, m.regularizer) for m in learners if hasattr(m, "regularizer")}
    assert {("birkhoff", "squared"), ("ordinal", "shannon"), ("simplex", "tsallis")} <= used
    assert {"ogd", "adaptive", "parameter_free", "pistol"} <= {
        m.optimizer for m in learners if isinstance(getattr(m, "optimizer", None), str)
    }


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on file sizes")
@pytest.mark.exhaustive
def test_learning_works_on_a_full_disk(copied, tmp_path):
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))"
    home = {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": ""}
    out, _ = run(LEARN.format(before=full), copied, PYTHONDONTWRITEBYTECODE="1", **home)
    check_learned_with_one_warning(out)
    assert not kernels_below(tmp_path)


def test_variants_of_a_kernel_have_names_of_their_own():
    signature = "(float64)"
    caches = [csr_move_and_score_for(*sizes)._cache for sizes in [(2, 2), (2, 4), (3, 3)]]
    codegen = csr_move_and_score_for(2, 2).targetctx.codegen()
    names = {cache._name(signature, codegen) for cache in caches}
    assert len(names) == 3
    assert names == {cache._name(signature, codegen) for cache in caches}


def test_a_kernel_of_code_that_has_no_module_runs():
    names = {"kernel": kernel}
    exec("@kernel\ndef doubled(a):\n    return 2.0 * a", names)
    assert names["doubled"].__module__ is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # numba keeps no such code
        assert names["doubled"](3.0) == 6.0


def test_a_folder_that_can_only_be_read_is_read(tmp_path, monkeypatch):
    folders = [tmp_path / "file" / "below", tmp_path / "warm", tmp_path / "other"]
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setattr(kernel_cache, "folders", lambda: folders)
    kernel_cache.write("name", {"a": 1})
    assert (folders[1] / "name").is_file()
    monkeypatch.setattr(kernel_cache, "folders", lambda: [folders[2], *folders[:2]])
    assert kernel_cache.read("name") == {"a": 1}
    assert kernel_cache.read("another") is None


def test_kernels_of_old_versions_are_removed(tmp_path, monkeypatch):
    for i in range(7):
        old = tmp_path / f"{kernel_cache.FOLDER}{i}"
        old.mkdir()
        (old / "kernel.nbc").write_bytes(b"old")
        os.utime(old, (i, i))
    monkeypatch.setattr(kernel_cache, "folders", lambda: [tmp_path / f"{kernel_cache.FOLDER}new"])
    kernel_cache.write("name", 1)
    kept = {path.name.removeprefix(kernel_cache.FOLDER) for path in tmp_path.iterdir()}
    assert kept == {"new", "6", "5", "4", "3"}


def test_a_numba_with_other_insides_is_told(monkeypatch):
    monkeypatch.setattr(kernel_cache, "_told", set())
    with pytest.warns(RuntimeWarning, match="numba .* is not one"):
        kernel_cache.keep_on_disk(object(), ())
    monkeypatch.setattr(kernel_cache, "read", lambda name: ("something", "else"))
    cache = csr_move_and_score_for(2, 2)._cache
    with pytest.warns(RuntimeWarning, match="could not read its compiled kernels"):
        assert cache.load_overload("(float64)", csr_move_and_score_for(2, 2).targetctx) is None


#: Scores one row with CSR kernels of several widths; every rename waits a random moment, so that
#: what two processes write comes in mixed order.
SCORES = """
import os, random, time
import numpy as np
rename = os.replace
moments = random.Random({seed})
def late(*paths):
    time.sleep(moments.random() / 20)
    rename(*paths)
os.replace = late
from skstructured._engine.compiled import kernel
from skstructured._engine.move_and_score import csr_move_and_score_for
widths = [2, 3, 4]
moments.shuffle(widths)
for dim in widths:
    data, indices = np.array([1.0, 2.0]), np.array([0, 2], dtype=np.int32)
    indptr = np.array([0, 2], dtype=np.int32)
    Theta = np.arange(3.0 * dim).reshape(3, dim)
    raw, none = np.empty(dim), np.zeros(dim)
    csr_move_and_score_for(dim, dim)(data, indices, indptr, 3, 0, 0, Theta, none, none, 0.0, raw)
    expected = Theta[0] + 2.0 * Theta[2]
    assert (raw == expected).all(), (dim, raw, expected)
"""


@pytest.mark.slow
def test_processes_that_fill_a_cold_cache_together_leave_it_right(tmp_path):
    failures = []
    for attempt in range(50):
        cache = str(tmp_path / f"cache{attempt}")
        together = [
            start(SCORES.format(seed=2 * attempt + k), NUMBA_CACHE_DIR=cache) for k in (0, 1)
        ]
        ended = [process.communicate(timeout=600)[1] for process in together]
        after = start(SCORES.format(seed=attempt), NUMBA_CACHE_DIR=cache)
        ended.append(after.communicate(timeout=600)[1])
        codes = [process.returncode for process in (*together, after)]
        if any(codes):
            failures.append((attempt, codes, [text[-300:] for text in ended]))
    assert not failures


AVERAGED = """
import numpy as np
from skstructured import OnlineStructuredPredictor
X = np.random.RandomState(0).randn(200, 4)
y = np.argmax(X, axis=1)
model = OnlineStructuredPredictor(optimizer="ogd", random_state=0).fit(X, y)
print(round(float(np.linalg.norm(model.average_weights_)), 6))
"""


@pytest.mark.slow
def test_an_upgrade_by_pip_leaves_no_old_machine_code(tmp_path):
    environment, source = tmp_path / "venv", tmp_path / "source"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    site = next((environment / "lib").glob("python*/site-packages"))
    borrowed = "\n".join(path for path in sys.path if path.endswith("site-packages"))
    (site / "borrowed.pth").write_text(borrowed)
    root, ignore = PACKAGE.parent, shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, source / "skstructured", ignore=ignore)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(root / name, source)

    def install_and_run(version, **places):
        top = source / "skstructured" / "__init__.py"
        stated, count = re.subn(
            '(?m)^__version__ = ".*"$', f'__version__ = "{version}"', top.read_text()
        )
        assert count == 1
        top.write_text(stated)
        pip = [environment / "bin" / "python", "-m", "pip", "install", "-q", "--no-deps"]
        subprocess.run([*pip, "--upgrade", "--force-reinstall", source], check=True)
        assert (site / f"skstructured-{version}.dist-info").is_dir()
        return run(AVERAGED, site, **places)[0]

    first = install_and_run("0.1.0")
    assert kernels_below(site)
    average = source / "skstructured" / "_engine" / "average.py"
    text = average.read_text()
    assert text.count("A[k, width] += terms[r, k]") == 1
    average.write_text(
        text.replace("A[k, width] += terms[r, k]", "A[k, width] += 3.0 * terms[r, k]")
    )
    upgraded = install_and_run("0.1.1")
    fresh = run(AVERAGED, site, NUMBA_CACHE_DIR=str(tmp_path / "fresh"))[0]
    assert upgraded == fresh != first
    assert np.isfinite(float(fresh))


def test_warming_up_passes_folders_that_may_not_be_looked_at(tmp_path, monkeypatch):
    class Closed:
        def is_dir(self):
            raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(_warm_up, "folders", lambda: [Closed(), tmp_path / "no", tmp_path])
    assert _warm_up.warm_up([]) == tmp_path


def test_the_digest_is_of_every_file(tmp_path):
    """Of its name and content, in subpackages too; nothing else counts."""
    (tmp_path / "deep" / "deeper").mkdir(parents=True)
    (tmp_path / "__pycache__").mkdir()
    files = [tmp_path / "a.py", tmp_path / "deep" / "b.py", tmp_path / "deep" / "deeper" / "c.py"]
    for file in files:
        file.write_text("x = 1\n")
    seen = [list(kernel_cache._source_bytes(tmp_path))]
    for file in files:
        file.write_text("x = 2\n")
        seen.append(list(kernel_cache._source_bytes(tmp_path)))
    assert len({tuple(parts) for parts in seen}) == len(files) + 1
    for other in (tmp_path / "__pycache__" / "a.py", tmp_path / "a.nbc"):
        other.write_text("x = 3\n")
    assert list(kernel_cache._source_bytes(tmp_path)) == seen[-1]


def test_names_are_of_the_processor_too(monkeypatch):
    class Codegen:
        def __init__(self, processor):
            self.processor = processor

        def magic_tuple(self):
            return ("x86_64", self.processor, "+avx")

    monkeypatch.setattr(kernel_cache, "package_digest", lambda: "digest")
    cache = kernel_cache.KernelCache(lambda x: x, None)
    names = {cache._name("f(x)", Codegen(processor)) for processor in ("one", "one", "other")}
    assert len(names) == 2
