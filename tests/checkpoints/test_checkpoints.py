"""Checkpoints: every estimator comes back bit for bit, and no file is ever half of one."""

import ast
import inspect
import io
import json
import os
import pickle
import subprocess
import sys
import threading
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
from bits import differences
from conftest import INTERPRETED, ROOT
from fitted import FITTED, learns_in_parts
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process.kernels import Matern
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from toy_learner import NearestMean
from waiting import stream

import skstructured
from skstructured import RiskMonitor, SequenceTransformer
from skstructured._engine.state import NORM_AT
from skstructured.checkpoints import files, load_checkpoint, save_checkpoint
from skstructured.checkpoints.files import HEADER, SCHEMA
from skstructured.estimators.logistic._full_matrix import COUNT
from skstructured.experts.hedge import AdaHedge

skops_io = pytest.importorskip("skops.io")

TRUSTED = [Matern, NearestMean]
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


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.short(every=3)
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
    parts = {t for t in estimators if inspect.isabstract(t)} | {skstructured.FenchelYoung}
    assert estimators - parts - {RiskMonitor} <= listed
    assert SequenceTransformer in listed


def test_monitors_and_experts_come_back(path, rng):
    losses, hedge = rng.rand(30, 3), AdaHedge(3)
    hedge.update(losses)
    for thing in (RiskMonitor(0.1).update(losses[:, 0]), hedge):
        save_checkpoint(thing, path)
        same(copied(thing), load_checkpoint(path))


def test_a_search_comes_back(path):
    case = FITTED["default perceptron"]
    search = GridSearchCV(case.estimator, {"average": [True, False]}, cv=2).fit(case.X, case.y)
    save_checkpoint(search, path)
    with pytest.raises(ValueError, match="names types that are not trusted"):
        load_checkpoint(path)
    named = skops_io.get_untrusted_types(file=path)  # which they are, the version decides
    loaded = load_checkpoint(path, [name for name in named if name.startswith("sklearn.")])
    assert (loaded.predict(case.X) == search.predict(case.X)).all()


class TestFiles:
    def test_have_the_format_and_the_versions(self, model, path):
        save_checkpoint(model, str(path))
        with zipfile.ZipFile(path) as file:
            header = json.loads(file.read(HEADER))
        assert header["format"] == 1 and header["skstructured"] == skstructured.__version__
        assert set(header) == {"format", "skstructured", "numpy", "scikit-learn"}

    def test_of_a_newer_format_are_refused(self, model, path, monkeypatch):
        monkeypatch.setattr(files, "FORMAT", 2)
        save_checkpoint(model, path)
        monkeypatch.undo()
        with pytest.raises(ValueError, match=r"model\.skops has the format 2 .* up to 1"):
            load_checkpoint(path)

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
        for length in [0, 1, *range(50, len(whole), 997), len(whole) - 1]:
            path.write_bytes(whole[:length])
            with pytest.raises(ValueError, match=r"model\.skops is damaged, cut off, or no"):
                load_checkpoint(path)

    def test_with_a_wrong_byte_are_refused_or_the_same(self, model, path):
        save_checkpoint(model, path)
        whole, before, refused = path.read_bytes(), copied(model), 0
        for place in np.random.RandomState(0).choice(len(whole), 150, replace=False):
            wrong = bytearray(whole)
            wrong[place] ^= 0x55
            path.write_bytes(wrong)
            try:
                loaded = load_checkpoint(path)
            except ValueError as error:
                assert "model.skops" in str(error)
                refused += 1
            else:
                same(before, loaded)
        assert refused > 100

    @pytest.mark.parametrize("kind", ["pickle", "text", "zip", "skops"])
    def test_of_others_are_refused_by_name(self, kind, model, path):
        import skops.io

        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as file:
            file.writestr("other.txt", "text")
        path.write_bytes(
            {
                "pickle": lambda: pickle.dumps(model),
                "text": lambda: b"text",
                "zip": buffer.getvalue,
                "skops": lambda: skops.io.dumps(StandardScaler()),
            }[kind]()
        )
        with pytest.raises(ValueError, match=r"model\.skops is damaged, cut off, or no checkpoint"):
            load_checkpoint(path)

    @pytest.mark.parametrize(
        "header",
        [
            {"format": -1, "skstructured": "0.1.0"},
            {"format": 0, "skstructured": "0.1.0"},
            {"format": True, "skstructured": "0.1.0"},
            {"format": 1.0, "skstructured": "0.1.0"},
            {"format": None, "skstructured": "0.1.0"},
            {"format": 1},
            {"format": 1, "skstructured": None},
            {"skstructured": "0.1.0"},
            [1],
        ],
    )
    def test_with_another_header_are_refused(self, header, model, path):
        save_checkpoint(model, path)
        replaced(path, HEADER, json.dumps(header).encode())
        with pytest.raises(ValueError, match=r"model\.skops is damaged"):
            load_checkpoint(path)

    @pytest.mark.parametrize("node", [[], {}, 3, {"__loader__": "DictNode"}, {"__loader__": 1}])
    def test_that_hold_another_kind_of_node_are_refused(self, node, model, path):
        save_checkpoint(model, path)
        replaced(path, SCHEMA, json.dumps(node).encode())
        with pytest.raises(ValueError, match=r"model\.skops is damaged"):
            load_checkpoint(path)

    def test_that_unpack_to_many_times_their_size_are_refused(self, model, path):
        save_checkpoint(model, path)
        replaced(path, SCHEMA, b" " * 10**8, zipfile.ZIP_DEFLATED)
        assert path.stat().st_size < 10**6
        with pytest.raises(ValueError, match=r"model\.skops is damaged.*many times its size"):
            load_checkpoint(path)

    def test_that_name_a_member_many_times_are_refused(self, model, path):
        """Each name would be an array of its own in memory."""
        model.extra_ = [np.zeros(10**6)]
        save_checkpoint(model, path)
        with zipfile.ZipFile(path) as file:
            schema = json.loads(file.read(SCHEMA))
            large = max(file.infolist(), key=lambda info: info.file_size).filename

        def repeat(node):
            inner = node.values() if isinstance(node, dict) else node
            for value in inner if isinstance(node, (dict, list)) else ():
                if isinstance(value, list) and value and value[0].get("file") == large:
                    value.extend([dict(value[0], __id__=10**9 + i) for i in range(30)])
                else:
                    repeat(value)

        repeat(schema)
        replaced(path, SCHEMA, json.dumps(schema).encode())
        assert path.stat().st_size < 10**7
        with pytest.raises(ValueError, match=r"model\.skops is damaged.*many times its size"):
            load_checkpoint(path)

    @pytest.mark.parametrize("shape", [(5,), (5, 1)])
    def test_with_arrays_of_another_length_are_refused(self, shape, model, path):
        save_checkpoint(model, path)
        array = next(name for name in member_names(path) if name.endswith(".npy"))
        buffer = io.BytesIO()
        header = {"descr": "<f8", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(buffer, header)
        replaced(path, array, buffer.getvalue() + bytes(4 * 8))
        with pytest.raises(ValueError, match=r"model\.skops is damaged"):
            load_checkpoint(path)

    def test_with_arrays_that_say_they_are_huge_are_refused(self, model, path):
        save_checkpoint(model, path)
        array = next(name for name in member_names(path) if name.endswith(".npy"))
        buffer = io.BytesIO()
        wrong = {"descr": "<f8", "fortran_order": False, "shape": (10**15,)}
        np.lib.format.write_array_header_1_0(buffer, wrong)
        replaced(path, array, buffer.getvalue() + b"12345678")
        with pytest.raises(ValueError, match=r"model\.skops is damaged"):
            load_checkpoint(path)

    def test_with_sparse_matrices_come_back_and_unpack_to_their_size(self, path):
        X = sparse.random(60, 8, 0.5, "csr", random_state=0)
        model = SGDClassifier(random_state=0).fit(X, np.arange(60) % 2).sparsify()
        save_checkpoint(model, path)
        loaded = load_checkpoint(path, ["scipy.sparse._csr.csr_matrix"])
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        nested = [name for name in member_names(path) if name.endswith(".npz")]
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("data.npy", b"0" * 10**8)
        replaced(path, nested[0], buffer.getvalue())
        with pytest.raises(ValueError, match=r"model\.skops is damaged.*many times its size"):
            load_checkpoint(path)

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
    def test_that_are_pipes_are_refused(self, model, path):
        os.mkfifo(path)
        with pytest.raises(ValueError, match=r"path must be a regular file, got .*model\.skops"):
            load_checkpoint(path)

    def test_that_are_not_there_are_named(self, path):
        with pytest.raises(FileNotFoundError, match=r"model\.skops"):
            load_checkpoint(path)

    def test_hold_nothing_pickled(self, path):
        save_checkpoint(FITTED["kernel callable"].started(), path)
        with zipfile.ZipFile(path) as file:
            for name in file.namelist():
                assert name.endswith((".json", ".npy", ".npz"))
                if name.endswith(".npy"):
                    np.load(io.BytesIO(file.read(name)), allow_pickle=False)


def member_names(path):
    with zipfile.ZipFile(path) as file:
        return file.namelist()


def replaced(path, member, content, compression=zipfile.ZIP_STORED):
    """Put other bytes in the place of a member of a file."""
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(path, "w") as file:
        for name, old in members.items():
            kind = compression if name == member else zipfile.ZIP_STORED
            file.writestr(name, content if name == member else old, kind)


def rewritten(path, old, new):
    """Replace words in the description of the object in a file."""
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    members["schema.json"] = members["schema.json"].replace(old.encode(), new.encode())
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)


class TestTrust:
    def test_classes_of_others_are_refused_until_they_are_trusted(self, path):
        trial = NearestMean().fit(np.eye(3), [0, 1, 0])
        save_checkpoint(trial, path)
        with pytest.raises(ValueError, match=r"model\.skops names types .*toy_learner\.NearestM"):
            load_checkpoint(path)
        for trusted in ([NearestMean], ("toy_learner.NearestMean",)):
            same(copied(trial), load_checkpoint(path, trusted))

    @pytest.mark.parametrize(
        "name",
        [
            "json",
            "Nobody",
            "sys",
            "annotations",
            "importlib",
            "warnings",
            "GuaranteeError",
        ],
    )
    def test_names_that_only_seem_to_be_ours_are_refused(self, name, model, path):
        save_checkpoint(model, path)
        rewritten(path, '"OnlineStructuredPredictor"', f'"{name}"')
        named = rf"skstructured\.estimators\.online\.{name}'\], which are no classes"
        with pytest.raises(ValueError, match=named):
            load_checkpoint(path)

    @pytest.mark.parametrize(
        ("module", "name"), [("os", "system"), ("builtins", "eval"), ("skstructuredx", "A")]
    )
    def test_other_modules_are_not_even_imported(self, module, name, model, path):
        save_checkpoint(model, path)
        rewritten(path, '"OnlineStructuredPredictor"', f'"{name}"')
        rewritten(path, '"skstructured.estimators.online"', f'"{module}"')
        with pytest.raises(ValueError, match=rf"not trusted.*{module}\.{name}"):
            load_checkpoint(path)

    @pytest.mark.parametrize(
        "module", ["skstructured..online", "skstructured.\\u0000", "skstructured.no"]
    )
    def test_modules_that_are_not_there_are_named(self, module, model, path):
        save_checkpoint(model, path)
        rewritten(path, '"skstructured.estimators.online"', f'"{module}"')
        with pytest.raises(ValueError, match=r"model\.skops names .* which are no classes of skst"):
            load_checkpoint(path)

    def test_functions_of_the_package_are_no_classes(self, model, path):
        save_checkpoint(model, path)
        rewritten(path, '"OnlineStructuredPredictor"', '"write_whole"')
        known = '"skstructured.estimators.online"'
        rewritten(path, known, '"skstructured.checkpoints.files"')
        with pytest.raises(ValueError, match="which are no classes of skstructured"):
            load_checkpoint(path)

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
        ("given", "told"),
        [
            ({True: 1.0}, "a dict has a key of the type .*bool"),
            ({None: 1.0}, "a dict has a key of the type .*NoneType"),
            ({np.True_: 1.0}, "a dict has a key of the type .*bool"),
            ({(1, 2): 1.0}, "keys must be str, int"),
            ({1: 1.0, "1": 2.0}, "keys that are written the same"),
            (np.array([[{}, []]], dtype=object), "an array of objects is no vector"),
            (np.ma.MaskedArray([1.0]).view(np.recarray), "cannot be saved"),
            (threading.Lock(), "cannot be saved"),
        ],
    )
    def test_what_would_come_back_otherwise_is_refused(self, given, told, model, path):
        save_checkpoint(model, path)
        before = path.read_bytes()
        model.extra_ = given
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

    def test_mapped_arrays_are_refused(self, model, path, tmp_path):
        np.save(tmp_path / "a.npy", np.ones(3))
        model.extra_ = np.load(tmp_path / "a.npy", mmap_mode="r")
        with pytest.raises(ValueError, match=r"array is of the kind numpy\.memmap"):
            save_checkpoint(model, path)

    def test_what_holds_itself_is_refused(self, model, path):
        model.extra_ = [model]
        with pytest.raises(ValueError, match="cannot be saved"):
            save_checkpoint(model, path)

    @pytest.mark.parametrize("given", [NearestMean, None, "model", 3])
    def test_what_is_no_estimator_is_refused(self, given, path):
        with pytest.raises(TypeError, match="estimator must be an estimator, got"):
            save_checkpoint(given, path)

    def test_arguments_that_are_swapped_are_told(self, model, path):
        with pytest.raises(TypeError, match="the estimator comes first, the path second"):
            save_checkpoint(str(path), model)


class TestWriting:
    def test_folders_are_named(self, model, tmp_path):
        with pytest.raises(IsADirectoryError, match="path must be a file"):
            save_checkpoint(model, tmp_path)
        with pytest.raises(FileNotFoundError, match="path must lie in a folder that is there"):
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
            real = getattr(os, name)
            monkeypatch.setattr(
                os, name, lambda *given, r=real, n=name: (done.append(n), r(*given))[1]
            )
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
        with pytest.raises(ValueError, match=r"path must be a regular file, got .*model\.skops"):
            save_checkpoint(model, path)
        assert path.is_fifo() and os.listdir(path.parent) == [path.name]

    @pytest.mark.skipif(os.name == "nt", reason="what is being written cannot be replaced")
    @pytest.mark.exhaustive
    def test_processes_that_save_to_one_file_all_succeed(self, model, path):
        program = (
            "import sys; from pathlib import Path\n"
            "from skstructured.checkpoints.files import write_whole\n"
            "for _ in range(200): write_whole(Path(sys.argv[1]), sys.argv[2].encode() * 1000)"
        )
        given = [[sys.executable, "-c", program, os.fspath(path), name] for name in "abc"]
        savers = [subprocess.Popen(command) for command in given]
        assert [saver.wait(120) for saver in savers] == [0, 0, 0]
        assert path.read_bytes() in [name * 1000 for name in (b"a", b"b", b"c")]
        assert os.listdir(path.parent) == [path.name]


def short_vector(model):
    model._model.state.vectors = model._model.state.vectors[:, :2].copy()


def norm_elsewhere(model):
    model._model.state.vector[NORM_AT] = -1e8


def small_weights(model):
    model._model.state.Theta = np.zeros((1, 1))


def single_weights(model):
    model._model.state.Theta = model._model.state.Theta.astype(np.float32)


def weights_across(model):
    model._model.state.Theta = np.asfortranarray(model._model.state.Theta)


def few_moments(model):
    model._model.scale.statistics = model._model.scale.statistics[:, :1].copy()


def many_features(model):
    model.n_features_in_ = 10**7


def many_outputs(model):
    model.space_.dim_ = 4


def slots_taken(model):
    model._model.state.slot[0] = 10**6


def far_features(model):
    model._trees.feature[0, 0] = 10**6


def deep_nodes(model):
    model._trees.feature[0, -1] = 0


def many_wait(model):
    model._weights.numbers[COUNT] = 10**6


def long_block(model):
    model._model.expansion.count = 65


def many_rows(model):
    model._model.expansion.opened.count = 10**6


def few_blocks(model):
    opened = model._model.expansion.opened
    opened.blocks = opened.blocks[:0]


def narrow_steps(model):
    model.transitions_ = model.transitions_[:1]


def far_experts(model):
    model._model.state.totals[-2] = 10**6


class TestCraftedStates:
    """What no learner has is refused before any loop is handed it."""

    @pytest.mark.parametrize(
        ("name", "change"),
        [
            ("default", short_vector),
            ("parameter free", norm_elsewhere),
            ("online", small_weights),
            ("online", single_weights),
            ("online", weights_across),
            ("online", few_moments),
            ("default", many_features),
            ("default", many_outputs),
            ("sequences", slots_taken),
            ("choices, online", slots_taken),
            ("default tree", far_features),
            ("default tree", deep_nodes),
            ("folklore", many_wait),
            ("kernel", long_block),
            ("kernel", many_rows),
            ("kernel", few_blocks),
            ("random field", narrow_steps),
            ("kernel features mixed", far_experts),
        ],
    )
    @pytest.mark.parametrize("inside", [False, True])
    def test_are_refused_when_they_are_read_and_when_they_are_saved(
        self, name, change, inside, path, monkeypatch
    ):
        model = FITTED[name].started()
        change(model)
        given = make_pipeline(StandardScaler(), model) if inside else model
        as_it_is = SimpleNamespace(deepcopy=lambda estimator: estimator)
        monkeypatch.setattr(files, "copy", as_it_is)
        monkeypatch.setattr("skstructured._learners.lock.own", lambda value: value)
        with pytest.raises(ValueError, match="cannot be saved: .* does not fit a learner"):
            save_checkpoint(given, path)
        assert not path.exists()
        monkeypatch.setattr(files, "check_shapes", lambda estimator: None)
        save_checkpoint(given, path)
        monkeypatch.undo()
        with pytest.raises(ValueError, match=r"model\.skops is damaged.* does not fit a learner"):
            load_checkpoint(path)

    @pytest.mark.parametrize("name", ["default", "kernel", "sequences", "folklore", "table"])
    def test_what_passes_have_learned_fits(self, name, path):
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
