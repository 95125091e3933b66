"""Parts broken in one method each, and the checks that they fail."""

from functools import partial, wraps
from inspect import signature


def broken(module, name, base, method, change):
    """A class of a module with ``change(self, the method, its arguments)`` in place of a method."""
    original = getattr(base, method)

    @wraps(original)
    def changed(self, *given, **named):
        bound = signature(original).bind(self, *given, **named)
        bound.apply_defaults()
        return change(self, partial(original, self), *bound.args[1:])

    return type(name, (base,), {method: changed, "__module__": module})


def told(**fields):
    """What returns the named tuple of a method with some fields changed."""

    def changed(_, call, *given):
        found = call(*given)
        new = {name: change(getattr(found, name)) for name, change in fields.items()}
        return found._replace(**new)

    return changed


def failures(named):
    """Name -> message of the checks that fail."""
    failed = {}
    for name, check in named:
        try:
            check()
        except AssertionError as error:
            failed[name] = str(error)
    return failed


def assert_fails(subject, named, wanted):
    """Whether exactly the wanted checks fail, with messages that say of what."""
    failed = failures(named)
    assert failed.keys() == wanted, failed
    for name, message in failed.items():
        what = message.removeprefix(f"{subject!r} fails {name}")
        assert what != message and len(what) > 10
