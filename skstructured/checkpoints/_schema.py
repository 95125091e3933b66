"""Types and functions named in a skops file, and those that could not be read back."""

import importlib
import sys

import numpy as np

#: Kinds of keys of dicts that are read back as they were, besides numbers of numpy.
KEYS = ("builtins.str", "builtins.int", "builtins.float")


def nodes(schema):
    """Every object in a description, the outermost first."""
    waiting = [schema]
    while waiting:
        given = waiting.pop()
        if isinstance(given, dict):
            if isinstance(given.get("__loader__"), str):
                yield given
            waiting.extend(given.values())
        elif isinstance(given, list):
            waiting.extend(given)


def type_of(node):
    """(module, name) of the type of a described object, or of the function it is."""
    return str(node.get("__module__")), str(node.get("__class__"))


def types_in(schema):
    """(module, name) of every type and function in a description."""
    return {type_of(node) for node in nodes(schema)}


def find(module, name):
    """What a module has under a name; None where there is neither."""
    try:
        return getattr(importlib.import_module(module), name, None)
    except (ImportError, ValueError):  # a name with a null in it
        return None


def is_of_the_package(module, name):
    """Whether a class is really defined in a module of this package, under this name."""
    if not f"{module}.".startswith("skstructured."):
        return False
    found = find(module, name)
    return isinstance(found, type) and (found.__module__, found.__qualname__) == (module, name)


def trouble_in(schema):
    """The first of what a description holds that would not be read back; None if all would be."""
    lost = (
        pair for pair in sorted(types_in(schema)) if not hasattr(sys.modules.get(pair[0]), pair[1])
    )
    told = (f"{'.'.join(pair)}, which cannot be found again under that name" for pair in lost)
    return next(filter(None, (*map(_trouble_of, nodes(schema)), *told)), None)


def _trouble_of(node):
    loader, (module, name) = node["__loader__"], type_of(node)
    if loader == "DictNode":
        return _trouble_of_keys(node)
    if loader != "NdArrayNode":
        return None
    if name == "ndarray":
        several = node["type"] == "json" and len(node["shape"]["content"]) != 1
        return "an array of objects that is no vector" if several else None
    if not issubclass(find(module, name), np.generic):
        return f"an array of the kind {module}.{name}: copy it into one of numpy's own"
    return None


def _trouble_of_keys(node):
    kinds = [type_of(kind) for kind in node["key_types"]["content"]]
    for module, name in kinds:
        number = module == "numpy" and name not in ("bool", "bool_")
        if not number and f"{module}.{name}" not in KEYS:
            return f"a dict with a key of the type {name}: keys must be str, int or float"
    if len(kinds) != len(node["content"]):
        return "a dict with keys that are written the same, as 1 and '1'"
    return None
