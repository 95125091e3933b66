"""Public modules of the package, less the one for PyTorch if that is not installed."""

import importlib.util
import pkgutil

import skstructured

#: What cannot be imported.
MISSING = () if importlib.util.find_spec("torch") else ("FenchelYoungLoss", "LabelSequenceLoss")


def public_modules():
    """Names of the public modules below the package that can be imported."""
    names = [m.name for m in pkgutil.iter_modules(skstructured.__path__) if m.name[0] != "_"]
    return [name for name in names if name != "torch" or not MISSING]
