"""Signatures of the public constructors: names, order, kinds and defaults, as kept in a listing."""

import importlib
import inspect
import pkgutil
from pathlib import Path

import skstructured

KEPT = Path(__file__).with_name("signatures.txt")


def public_classes():
    """Every public class but exceptions, once, by its name."""
    inner = [m.name for m in pkgutil.iter_modules(skstructured.__path__) if m.name[0] != "_"]
    rooms = [skstructured, *(importlib.import_module(f"skstructured.{name}") for name in inner)]
    things = (getattr(room, name) for room in rooms for name in room.__all__)
    classes = (thing for thing in things if inspect.isclass(thing))
    return {cls.__name__: cls for cls in classes if not issubclass(cls, Exception | Warning)}


def shown(name, cls):
    """A line such as ``Tsallis(alpha=1.5)``, without annotations."""
    signature = inspect.signature(cls)
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    listed = signature.replace(parameters=bare, return_annotation=inspect.Signature.empty)
    return f"{name}{listed}"


def test_signatures_are_as_kept():
    now = [shown(*item) for item in sorted(public_classes().items())]
    assert now == KEPT.read_text(encoding="utf-8").splitlines()
