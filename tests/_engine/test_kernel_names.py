"""What the names of kept kernels are made of: kernels of other source or machines are not found."""

import platform
from types import SimpleNamespace

import pytest

from skstructured._engine import kernel_cache

FILES = {"__init__.py": "a = 1\n", "sub/one.py": "b = 2\n", "sub/deep/two.py": "c = 3\n"}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A folder that stands for the package, and what its digest is."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(kernel_cache.resources, "files", lambda name: tmp_path)
    return tmp_path, kernel_cache.package_digest.__wrapped__


@pytest.mark.parametrize("name", FILES)
def test_a_changed_file_of_any_subpackage_changes_the_digest(name, package):
    folder, digest = package
    before = digest()
    (folder / name).write_text(FILES[name].replace("=", "= -"))
    changed = digest()
    (folder / name).write_text(FILES[name])
    assert digest() == before != changed


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_name_changes_the_digest(name, package):
    folder, digest = package
    before = digest()
    (folder / name).rename(folder / name.replace(".py", "s.py"))
    assert digest() != before


def test_what_is_no_source_changes_nothing(package):
    folder, digest = package
    before = digest()
    (folder / "sub" / "__pycache__").mkdir()
    (folder / "sub" / "__pycache__" / "one.py").write_text("no source")
    (folder / "sub" / "notes.txt").write_text("nor this")
    assert digest() == before


@pytest.mark.parametrize(
    ("where", "name", "value"),
    [
        (kernel_cache.numba, "__version__", "0.0"),
        (kernel_cache.np, "__version__", "0.0"),
        (platform, "machine", lambda: "another"),
        (kernel_cache.config, "BOUNDSCHECK", 7),
        (kernel_cache.config, "OPT", 7),
    ],
)
def test_what_compiles_changes_the_digest(where, name, value, package, monkeypatch):
    digest = package[1]
    before = digest()
    monkeypatch.setattr(where, name, value)
    assert digest() != before


def multiplier(factor):
    """A function whose closure is all that tells it from others."""

    def function(x):
        return factor * x

    return function


def name_of(function=None, options=False, signature="(float64)", machine=("x86", "skylake", "+a")):
    codegen = SimpleNamespace(magic_tuple=lambda: machine)
    cache = kernel_cache.KernelCache(function or multiplier(2.0), options)
    return cache._name(signature, codegen)


@pytest.mark.parametrize(
    "other",
    [
        {"machine": ("x86", "haswell", "+a")},
        {"machine": ("x86", "skylake", "-a")},
        {"signature": "(float32)"},
        {"options": ["nsz"]},
        {"function": multiplier(3.0)},
    ],
    ids=["processor", "its features", "signature", "options", "closure"],
)
def test_kernels_that_differ_have_names_that_differ(other):
    assert name_of() == name_of() != name_of(**other)


def test_trouble_is_told_folder_by_folder(tmp_path, monkeypatch):
    for name in ("first", "second"):
        (tmp_path / name).write_text("a file in the folder's place")
    places = [tmp_path / name / "kernels" / "these" for name in ("first", "second")]
    monkeypatch.setattr(kernel_cache, "folders", lambda: places)
    with pytest.raises(OSError, match="Not a directory") as caught:
        kernel_cache.write("name", 1)
    assert all(str(place.parent) in str(caught.value) for place in places)


class Compiled:
    """Stands for a dispatcher of numba, which is another object in every process."""

    def __init__(self, function, module="skstructured.spaces.k_subsets"):
        self.py_func = function
        function.__module__ = module


def calling(oracle):
    """A function that closes over a compiled one."""

    def function(x):
        return oracle(x)

    return function


def test_compiled_functions_in_a_closure_are_known_by_their_own():
    names = [name_of(calling(Compiled(multiplier(factor)))) for factor in (2.0, 2.0, 3.0)]
    assert names[0] == names[1] != names[2]
    deep = [name_of(calling(Compiled(calling(Compiled(multiplier(f)))))) for f in (2.0, 2.0, 3.0)]
    assert deep[0] == deep[1] != deep[2] and deep[0] not in names


def test_functions_of_users_are_not_ours():
    ours, theirs = Compiled(multiplier(2.0)), Compiled(multiplier(2.0), "skstructured_of_mine")
    assert kernel_cache.is_ours(ours) and not kernel_cache.is_ours(theirs)
    assert kernel_cache.is_ours(Compiled(calling(ours)))
    assert not kernel_cache.is_ours(Compiled(calling(theirs)))
