"""How two objects differ, down to the last bit of every array in them."""

import types

import numpy as np
from scipy import sparse

#: Compared by ==, and by their types.
SIMPLE = (int, float, str, bytes, type(None), type, types.FunctionType, np.dtype)


def differences(a, b, where="", seen=None):
    """Sentences about what differs; none where the objects have the same bits everywhere."""
    seen = set() if seen is None else seen
    if (id(a), id(b)) in seen:
        return
    seen.add((id(a), id(b)))
    if type(a) is not type(b):
        yield f"{where} is {type(b)} and not {type(a)}"
    elif isinstance(a, np.ndarray):
        yield from _of_arrays(a, b, where, seen)
    elif isinstance(a, dict):
        a, b = ({k: v for k, v in one.items() if k != "_lock"} for one in (a, b))
        if [(type(key), key) for key in a] != [(type(key), key) for key in b]:
            yield f"{where} has the keys {list(b)} and not {list(a)}"
            return
        for key in a:
            yield from differences(a[key], b[key], f"{where}[{key!r}]", seen)
    elif isinstance(a, (list, tuple)):
        yield from differences(dict(enumerate(a)), dict(enumerate(b)), where, seen)
    elif isinstance(a, SIMPLE):
        if a != b and not (a != a and b != b):
            yield f"{where} is {b!r} and not {a!r}"
    else:
        yield from differences(_inside(a), _inside(b), f"{where}.{type(a).__name__}", seen)


def _of_arrays(a, b, where, seen):
    if (a.dtype, a.shape, a.flags.writeable) != (b.dtype, b.shape, b.flags.writeable):
        yield f"{where} is {b.dtype} {b.shape} and not {a.dtype} {a.shape}, or read-only"
    elif a.dtype == object:
        yield from differences(a.tolist(), b.tolist(), where, seen)
    elif a.tobytes() != b.tobytes() or _order(a) != _order(b):
        yield f"{where} has other bits"


def _order(array):
    return array.flags.c_contiguous, array.flags.f_contiguous


def _inside(thing):
    """What an object is made of."""
    if isinstance(thing, np.generic):
        return thing.tobytes()
    if isinstance(thing, np.random.RandomState):
        return thing.get_state(legacy=False)
    if isinstance(thing, np.random.Generator):
        return thing.bit_generator.state
    if sparse.issparse(thing):
        return vars(thing.tocsr())
    return getattr(thing, "__dict__", None) or list(thing.__reduce_ex__(4)[1:])
