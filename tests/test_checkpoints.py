"""Checkpoints: every estimator comes back bit for bit, and no file is ever half of one."""

import ast
import functools
import inspect
import io
import json
import os
import pickle
import subprocess
import sys
import threading
import zipfile

import numpy as np
import pytest
import skops.io
from bits import differences
from conftest import INTERPRETED, ROOT
from coordinate_steps import AdaGrad, FTRLProximal
from fitted import FITTED, learns_in_parts
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process.kernels import Matern
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from spanning_trees import SpanningTrees
from toy_learner import NearestMean
from waiting import stream

import skstructured
from skstructured import RiskMonitor, SequenceTransformer, checkpoints
from skstructured._base.component import Component
from skstructured.checkpoints import HEADER_MEMBER, load_checkpoint, save_checkpoint
from skstructured.experts.hedge import AdaHedge

TRUSTED = [Matern, NearestMean, SpanningTrees, AdaGrad, FTRLProximal]
KINDS = ("default", "kernel", "sequences", "pipeline", "abstaining")
#: Spaces known by an oracle in Python, whose kernels every process compiles.
SLOW = ("pairs", "trees")
CASES = [
    pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else [])
    for name in FITTED
    if name in KINDS or not INTERPRETED
]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.skops"


@pytest.fixture
def model():
    return FITTED["default"].started()


def same(a, b):
    assert next(differences(a, b), None) is None


def copied(model):
    return pickle.loads(pickle.dumps(model))


def refused(path, told="is damaged"):
    """Assert that a file is refused by its name."""
    with pytest.raises(ValueError, match=rf"model\.skops {told}"):
        load_checkpoint(path)


def members(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def replaced(path, member, content, compression=zipfile.ZIP_STORED):
    """Put other bytes in the place of the first member of a file with such a name."""
    found = members(path)
    member = next(name for name in found if name.endswith(member))
    found[member] = content
    with zipfile.ZipFile(path, "w") as file:
        for name, old in found.items():
            file.writestr(name, old, compression if name == member else zipfile.ZIP_STORED)


def rewritten(path, old, new):
    """Replace words in the description of the object in a file."""
    replaced(path, "schema.json", members(path)["schema.json"].replace(old.encode(), new.encode()))


def array_of(shape):
    """Four numbers behind a header that says another shape."""
    buffer = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue() + bytes(4 * 8)


def other_zip(path):
    """A zip file of other members."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("other.txt", "text")


def with_large_parts(path):
    """An archive in the archive that unpacks to 100 MB, in the place of a sparse matrix."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("data.npy", b"0" * 10**8)
    replaced(path, ".npz", buffer.getvalue())


def with_many_names(path):
    """Each name of a member would be an array of its own in memory."""
    with zipfile.ZipFile(path) as file:
        schema = json.loads(file.read("schema.json"))
        large = max(file.infolist(), key=lambda info: info.file_size).filename

    def repeat(node):
        inner = node.values() if isinstance(node, dict) else node
        for value in inner if isinstance(node, (dict, list)) else ():
            if isinstance(value, list) and value and value[0].get("file") == large:
                value.extend([dict(value[0], __id__=10**9 + i) for i in range(30)])
            else:
                repeat(value)

    repeat(schema)
    replaced(path, "schema.json", json.dumps(schema).encode())


#: Contents of the header, of the description and of an array that no checkpoint has.
HEADERS = [{"format": wrong, "skstructured": "0.1.0"} for wrong in (-1, 0, True, 1.0, None)]
HEADERS += [{"format": 1}, {"format": 1, "skstructured": None}, {"skstructured": "0.1.0"}, [1]]
NODES = [[], {}, 3, {"__loader__": "DictNode"}, {"__loader__": 1}]
MEMBERS = [(HEADER_MEMBER, json.dumps(wrong).encode()) for wrong in HEADERS]
MEMBERS += [("schema.json", json.dumps(wrong).encode()) for wrong in NODES]
MEMBERS += [(".npy", array_of(shape)) for shape in ((5,), (5, 1), (10**15,))]

#: What a file may be in the place of a checkpoint, and what is said of it.
DAMAGES = {
    "pickle": (lambda path: path.write_bytes(pickle.dumps([1])), "cut off, or not a checkpoint"),
    "text": (lambda path: path.write_bytes(b"text"), "cut off, or not a checkpoint"),
    "zip": (other_zip, "cut off, or not a checkpoint"),
    "skops": (lambda path: skops.io.dump(StandardScaler(), path), "cut off, or not a checkpoint"),
    "large member": (
        lambda path: replaced(path, "schema.json", b" " * 10**8, zipfile.ZIP_DEFLATED),
        ".*many times its size",
    ),
    "large parts": (with_large_parts, ".*many times its size"),
    "many names": (with_many_names, ".*many times its size"),
    **{
        f"member {i}": (functools.partial(replaced, member=member, content=content), "")
        for i, (member, content) in enumerate(MEMBERS)
    },
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.short("default*", "kernel plain", "rankings", "prediction*")
def test_every_estimator_comes_back_and_goes_on_bit_for_bit(name, path):
    case = FITTED[name]
    model = case.started()
    before = copied(model)
    assert save_checkpoint(model, path) is None
    same(before, copied(model))
    loaded = load_checkpoint(path, trusted=TRUSTED)
    same(before, loaded)
    if learns_in_parts(model):
        after = copied(case.go_on(model))
        assert list(differences(before, after))
        same(after, copied(case.go_on(loaded)))
    assert os.listdir(path.parent) == [path.name]


def test_every_public_estimator_is_in_the_list():
    public = {getattr(skstructured, name) for name in skstructured.__all__}
    estimators = {t for t in public if isinstance(t, type) and issubclass(t, BaseEstimator)}
    cases = [case.estimator for case in FITTED.values()]
    steps = [step for case in cases if hasattr(case, "steps") for _, step in case.steps]
    listed = {type(case) for case in [*cases, *steps]}
    parts = {t for t in estimators if inspect.isabstract(t) or issubclass(t, Component)}
    assert estimators - parts - {RiskMonitor} <= listed
    assert SequenceTransformer in listed


def test_monitors_and_experts_come_back(path, rng):
    losses, hedge = rng.rand(30, 3), AdaHedge(3)
    hedge.update(losses)
    for thing in (RiskMonitor(0.1).update(losses[:, 0]), hedge):
        save_checkpoint(thing, path)
        same(copied(thing), load_checkpoint(path))


@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
def test_a_mixture_has_its_trees_once(path, rng):
    X = rng.randn(1000, 3)
    model = skstructured.StructuredRegressor(n_landmarks=20, random_state=0)
    save_checkpoint(model.fit(X, X[:, 0] * X[:, 1]), path)
    leaves = 100 * 800  # 100 trees, each with a leaf for each of 800 rows
    assert path.stat().st_size < 1.5 * 16 * leaves
    loaded = load_checkpoint(path)
    assert loaded.estimators_[-1] is loaded._mixed.members[-1]
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_a_search_comes_back(path):
    case = FITTED["default perceptron"]
    search = GridSearchCV(case.estimator, {"average": [True, False]}, cv=2).fit(case.X, case.y)
    save_checkpoint(search, path)
    with pytest.raises(ValueError, match="names types that are not trusted"):
        load_checkpoint(path)
    named = skops.io.get_untrusted_types(file=path)  # which they are, the version decides
    loaded = load_checkpoint(path, [name for name in named if name.startswith("sklearn.")])
    assert (loaded.predict(case.X) == search.predict(case.X)).all()


class TestFiles:
    def test_have_the_format_and_the_versions(self, model, path):
        save_checkpoint(model, str(path))
        header = json.loads(members(path)[HEADER_MEMBER])
        assert header["format"] == 1 and header["skstructured"] == skstructured.__version__
        assert set(header) == {"format", "skstructured", "numpy", "scikit-learn"}

    def test_of_a_newer_format_are_refused(self, model, path, monkeypatch):
        monkeypatch.setattr(checkpoints, "CHECKPOINT_FORMAT", 2)
        save_checkpoint(model, path)
        monkeypatch.undo()
        refused(path, "has the format 2 .* up to 1")

    def test_of_another_version_warn(self, model, path, monkeypatch):
        monkeypatch.setattr(skstructured, "__version__", "0.0.1")
        save_checkpoint(model, path)
        monkeypatch.undo()
        with pytest.warns(UserWarning, match=r"written by skstructured 0\.0\.1") as caught:
            loaded = load_checkpoint(path)
        assert caught[0].filename == __file__
        same(copied(model), loaded)

    def test_cut_off_anywhere_are_refused_by_name(self, model, path):
        save_checkpoint(model, path)
        whole = path.read_bytes()
        for length in [0, 1, *range(50, len(whole), 1997), len(whole) - 1]:
            path.write_bytes(whole[:length])
            refused(path, "is damaged, cut off, or no")

    def test_with_a_wrong_byte_are_refused_or_the_same(self, model, path):
        save_checkpoint(model, path)
        whole, before, count = path.read_bytes(), copied(model), 0
        for place in np.random.RandomState(0).choice(len(whole), 60, replace=False):
            wrong = bytearray(whole)
            wrong[place] ^= 0x55
            path.write_bytes(wrong)
            try:
                same(before, load_checkpoint(path))
            except ValueError as error:
                assert "model.skops" in str(error)
                count += 1
        assert count > 40

    @pytest.mark.parametrize("name", DAMAGES)
    def test_of_others_are_refused_by_name(self, name, model, path):
        change, told = DAMAGES[name]
        large = {"many names": np.zeros(10**6), "large parts": sparse.eye(3, format="csr")}
        model.extra_ = [large.get(name)]
        save_checkpoint(model, path)
        change(path)
        assert path.stat().st_size < 10**7
        refused(path, f"is damaged, {told}")

    def test_may_be_unpacked_to_several_times_their_size(self, path, monkeypatch):
        monkeypatch.setattr(checkpoints, "most_unpacked", lambda size: 8 * size)
        save_checkpoint(StandardScaler().fit([[1.0], [2.0]]), path)
        assert load_checkpoint(path).mean_ == 1.5
        monkeypatch.setattr(checkpoints, "most_unpacked", lambda size: 0)
        refused(path, "is damaged, .*many times its size")

    def test_with_sparse_matrices_come_back(self, path):
        X = sparse.random(60, 8, 0.5, "csr", random_state=0)
        model = SGDClassifier(random_state=0).fit(X, np.arange(60) % 2).sparsify()
        save_checkpoint(model, path)
        loaded = load_checkpoint(path, ["scipy.sparse._csr.csr_matrix"])
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))

    def test_that_are_not_there_are_named(self, path):
        with pytest.raises(FileNotFoundError, match=r"model\.skops"):
            load_checkpoint(path)

    def test_hold_nothing_pickled(self, path):
        save_checkpoint(FITTED["kernel callable"].started(), path)
        for name, content in members(path).items():
            assert name.endswith((".json", ".npy", ".npz"))
            if name.endswith(".npy"):
                np.load(io.BytesIO(content), allow_pickle=False)


MODULE, OWN = "skstructured.estimators.online", "OnlineStructuredPredictor"

#: Names in the place of a learner's, and what is said of them; some only seem to be ours.
SEEMING = ("json", "Nobody", "sys", "annotations", "importlib", "LinearModel", "FenchelYoung")
FOREIGN = [
    *((MODULE, name, rf"names .*online\.{name}'\], which are not classes") for name in SEEMING),
    ("os", "system", r".*not trusted.*os\.system"),
    ("builtins", "eval", r".*not trusted.*builtins\.eval"),
    ("skstructuredx", "A", r".*not trusted.*skstructuredx\.A"),
    ("skstructured..online", OWN, "names .* which are not classes of skst"),
    ("skstructured.\\u0000", OWN, "names .* which are not classes of skst"),
    ("skstructured.no", OWN, "names .* which are not classes of skst"),
    ("skstructured.checkpoints", "write_whole", ".*are not classes of skstructured"),
]


class TestTrust:
    def test_classes_of_others_are_refused_until_they_are_trusted(self, path):
        trial = NearestMean().fit(np.eye(3), [0, 1, 0])
        save_checkpoint(trial, path)
        refused(path, r"names types .*toy_learner\.NearestM")
        for trusted in ([NearestMean], ("toy_learner.NearestMean",)):
            same(copied(trial), load_checkpoint(path, trusted))

    @pytest.mark.parametrize(("module", "name", "told"), FOREIGN)
    def test_other_modules_are_not_even_imported_and_functions_are_no_classes(
        self, module, name, told, model, path
    ):
        save_checkpoint(model, path)
        rewritten(path, f'"{OWN}"', f'"{name}"')
        rewritten(path, f'"{MODULE}"', f'"{module}"')
        refused(path, told)

    @pytest.mark.parametrize("trusted", [True, "toy_learner.NearestMean", None, [3]])
    def test_anything_but_names_and_types_is_refused(self, trusted, path):
        with pytest.raises(TypeError, match="trusted must"):
            load_checkpoint(path, trusted)


def linear(X, Z):
    """A kernel of one's own."""
    return X @ Z.T


class TestWhatCannotBeKept:
    def test_lambdas_are_refused_and_functions_are_kept(self, path):
        X, y = stream(30)
        model = skstructured.KernelStructuredPredictor(kernel=lambda X, Z: X @ Z.T)
        with pytest.raises(ValueError, match="cannot be saved: .*<lambda>"):
            save_checkpoint(model.fit(X, y), path)
        assert not path.exists()
        model.set_params(kernel=linear).fit(X, y)
        save_checkpoint(model, path)
        same(copied(model), load_checkpoint(path, [linear]))

    @pytest.mark.parametrize(
        ("make", "told"),
        [
            (lambda _: {True: 1.0}, "a dict has a key of the type .*bool"),
            (lambda _: {None: 1.0}, "a dict has a key of the type .*NoneType"),
            (lambda _: {np.True_: 1.0}, "a dict has a key of the type .*bool"),
            (lambda _: {(1, 2): 1.0}, "keys must be str, int"),
            (lambda _: {1: 1.0, "1": 2.0}, "keys that are written the same"),
            (lambda _: np.array([[{}, []]], dtype=object), "an array of objects is not a vector"),
            (lambda _: np.ma.MaskedArray([1.0]).view(np.recarray), "cannot be saved"),
            (lambda _: threading.Lock(), "cannot be saved"),
            (lambda model: [model], "cannot be saved"),
            (lambda _: np.memmap(__file__, mode="r", shape=3), r"of the kind numpy\.memmap"),
        ],
    )
    def test_what_would_come_back_otherwise_is_refused(self, make, told, model, path):
        save_checkpoint(model, path)
        before = path.read_bytes()
        model.extra_ = make(model)
        with pytest.raises(ValueError, match=told):
            save_checkpoint(model, path)
        assert path.read_bytes() == before and os.listdir(path.parent) == [path.name]

    @pytest.mark.parametrize(
        "given", [{1: 2.0, 3: 4}, {np.int64(3): 1}, {1.5: "a"}, {"__loader__": "x"}, {}]
    )
    def test_other_dicts_are_kept(self, given, model, path):
        model.extra_ = given
        save_checkpoint(model, path)
        same(copied(model), load_checkpoint(path))

    @pytest.mark.parametrize("given", [NearestMean, None, "model", 3])
    def test_what_is_no_estimator_is_refused(self, given, model, path):
        with pytest.raises(TypeError, match="estimator must be an estimator, got"):
            save_checkpoint(given, path)
        with pytest.raises(TypeError, match="the estimator comes first, the path second"):
            save_checkpoint(str(path), model)


class TestWriting:
    def test_folders_are_named(self, model, tmp_path):
        with pytest.raises(IsADirectoryError, match="path must be a file"):
            save_checkpoint(model, tmp_path)
        with pytest.raises(FileNotFoundError, match="path must be in a folder that exists"):
            save_checkpoint(model, tmp_path / "none" / "model.skops")

    def test_links_stay_links(self, model, path):
        path.with_name("real").write_text("")
        path.symlink_to(path.with_name("real"))
        save_checkpoint(model, path)
        assert path.is_symlink()
        same(copied(model), load_checkpoint(path.with_name("real")))

    @pytest.mark.parametrize("call", ["fsync", "replace"])
    @pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
    def test_a_write_that_fails_leaves_the_old_checkpoint(
        self, call, error, model, path, monkeypatch
    ):
        save_checkpoint(model, path)
        before = path.read_bytes()

        def fails(*_):
            raise error("no space left")

        FITTED["default"].go_on(model)
        monkeypatch.setattr(os, call, fails)
        with pytest.raises(error, match="no space left"):
            save_checkpoint(model, path)
        monkeypatch.undo()
        assert path.read_bytes() == before and os.listdir(path.parent) == [path.name]

    def test_the_file_is_on_the_disk_before_its_name_and_the_name_at_the_end(
        self, model, path, monkeypatch
    ):
        done = []
        for name in ("fsync", "replace"):
            given = {"n": name, "real": getattr(os, name)}
            noted = functools.partial(lambda *a, n, real: (done.append(n), real(*a))[1], **given)
            monkeypatch.setattr(os, name, noted)
        save_checkpoint(model, path)
        assert done == ["fsync", "replace"] + ["fsync"] * (os.name != "nt")

    def test_temporary_files_of_killed_processes_are_removed_after_an_hour(self, model, path):
        other = path.with_name(f"{path.name}.b")
        places = [(path, "0"), (other, "0"), (path, "1")]
        mine, others, new = (p.with_name(f".{p.name}.{digit * 32}.tmp") for p, digit in places)
        kept = [others, new, path.with_name("model.tmp")]
        for leftover in (mine, *kept):
            leftover.write_bytes(b"half")
            if leftover != new:
                os.utime(leftover, (1e9, 1e9))
        save_checkpoint(model, path)
        assert not mine.exists() and all(leftover.exists() for leftover in kept)

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
    def test_pipes_beside_the_file_are_not_waited_for(self, model, path):
        pipe = path.with_name(f".{path.name}.{'0' * 32}.tmp")
        os.mkfifo(pipe)
        save_checkpoint(model, path)
        same(copied(model), load_checkpoint(path))

    @pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
    @pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
    def test_permissions_stay_as_they_were(self, mode, model, path):
        save_checkpoint(model, path)
        path.chmod(mode)
        save_checkpoint(model, path)
        assert path.stat().st_mode & 0o7777 == mode

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
    def test_a_pipe_is_refused_and_stays(self, model, path):
        os.mkfifo(path)
        for call in (lambda: save_checkpoint(model, path), lambda: load_checkpoint(path)):
            with pytest.raises(
                ValueError, match=r"path must be a regular file, got .*model\.skops"
            ):
                call()
        assert path.is_fifo() and os.listdir(path.parent) == [path.name]

    @pytest.mark.skipif(os.name == "nt", reason="what is being written cannot be replaced")
    @pytest.mark.exhaustive
    def test_processes_that_save_to_one_file_all_succeed(self, model, path):
        program = (
            "import sys; from pathlib import Path\n"
            "from skstructured.checkpoints import write_whole\n"
            "for _ in range(60): write_whole(Path(sys.argv[1]), sys.argv[2].encode() * 1000)"
        )
        given = [[sys.executable, "-c", program, os.fspath(path), name] for name in "ab"]
        savers = [subprocess.Popen(command) for command in given]
        assert [saver.wait(120) for saver in savers] == [0, 0]
        assert path.read_bytes() in [name * 1000 for name in (b"a", b"b")]
        assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("name", ["default", "kernel", "sequences", "folklore", "table"])
@pytest.mark.short("default", "kernel", "table")
def test_what_passes_have_learned_comes_back(name, path):
    case = FITTED[name]
    model = clone(case.estimator).fit(case.X, case.y)
    save_checkpoint(model, path)
    same(copied(model), load_checkpoint(path))


def test_no_class_of_the_package_runs_what_is_in_a_file():
    sources = (ROOT / "skstructured").rglob("*.py")
    called = (node for path in sources for node in ast.walk(ast.parse(path.read_text("utf-8"))))
    names = {getattr(node.func, "id", "") for node in called if isinstance(node, ast.Call)}
    assert not names & {"exec", "eval", "__import__"}


class TestThreads:
    def test_what_is_saved_beside_a_learning_thread_is_between_two_blocks(self, path):
        case, done = FITTED["default"], threading.Event()
        model, (X, y) = case.started(), case.halves()[1]

        def learn():
            while not done.is_set():
                case.learn(model, X, y)

        learning = threading.Thread(target=learn)
        learning.start()
        try:
            save_checkpoint(model, path)
        finally:
            done.set()
            learning.join()
        loaded, twin = load_checkpoint(path), case.started()
        for _ in range((loaded.t_ - twin.t_) // len(y)):
            case.learn(twin, X, y)
        same(copied(twin), loaded)

    def test_threads_that_save_to_one_file_leave_one_of_theirs(self, path):
        models = [FITTED["default"].started() for _ in range(4)]
        errors = []

        def save(model):
            try:
                for _ in range(5):
                    save_checkpoint(model, path)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=save, args=(model,)) for model in models]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == [] and os.listdir(path.parent) == [path.name]
        same(copied(models[0]), load_checkpoint(path))


@pytest.mark.exhaustive
@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
@pytest.mark.skipif(INTERPRETED, reason="slow without compiled kernels")
def test_children_that_are_killed_lose_nothing(tmp_path):
    """A short form of ``python -m benchmarks.scale.kill``."""
    script = ROOT / "benchmarks" / "scale" / "_killing.py"
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, script, tmp_path, "5"],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["chunks"] > 0 and found["same"]
    assert found["lost"] == found["unreadable"] == 0


def test_without_skops_the_error_names_what_to_install(model, path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    for call in (lambda: save_checkpoint(model, path), lambda: load_checkpoint(path)):
        with pytest.raises(ImportError, match="pip install skops"):
            call()
