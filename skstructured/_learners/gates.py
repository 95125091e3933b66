"""What predicts beside a thread that learns: it reads between two blocks, never within one.

As long as nobody learns, readers of an estimator note that they read, and wait for nobody. Who
begins to learn waits until those are done. From then on readers wait at the gate of the learner,
which lets those that have come pass after every block.
"""

import functools
import os
import threading
import time

#: Seconds between two looks at who is still reading.
LOOK = 5e-5

#: The gate of every estimator that learns now, by identity.
_LEARNING = {}

#: (identity of an estimator, thread) of those that read while nobody learned.
_READING = {}


class Ticket:
    """A reader at a gate: it waits for `go`, and who learns waits for `done`."""

    def __init__(self):
        self.go, self.done, self.is_over = threading.Event(), threading.Event(), False


class Gate:
    """Of a thread that learns with an estimator: readers wait here, and pass between blocks."""

    def __init__(self):
        self.thread, self.waiting = threading.get_ident(), {}

    def take(self, estimator):
        """The gate by which the thread learns: itself, or one before. RuntimeError if others do."""
        held = _LEARNING.setdefault(id(estimator), self)
        if held.thread != self.thread:
            raise _refusal(estimator)
        return held

    def close(self, estimator):
        """Let those end that began to read before."""
        key = id(estimator)
        while any(who == key and thread != self.thread for who, thread in list(_READING)):
            time.sleep(LOOK)

    def let_pass(self):
        """Let those read that wait now, side by side, and wait for them."""
        here = list(self.waiting)
        for ticket in here:
            ticket.go.set()
        for ticket in here:
            ticket.done.wait()

    def leave(self, estimator):
        """Have no gate, if it is this one; those that wait go on without it."""
        if _LEARNING.get(id(estimator)) is self:
            del _LEARNING[id(estimator)]
            for ticket in list(self.waiting):
                ticket.is_over = True
                ticket.go.set()

    def passed(self, key, read):
        """What `read` returns between two blocks, in a tuple; None where learning has ended."""
        ticket = Ticket()
        self.waiting[ticket] = None
        try:
            if _LEARNING.get(key[0]) is not self:
                return None
            ticket.go.wait()
            if ticket.is_over:
                return None
            _READING[key] = None
            return (read(),)
        finally:
            _READING.pop(key, None)
            self.waiting.pop(ticket, None)
            ticket.done.set()


def _refusal(estimator):
    return RuntimeError(
        f"this {type(estimator).__name__} is learning in another thread: one thread at a time "
        "may call its fit, partial_fit or update, or save it, while any number predict."
    )


def refuse_elsewhere(estimator):
    """A RuntimeError where another thread learns with the estimator."""
    gate = _LEARNING.get(id(estimator))
    if gate is not None and gate.thread != threading.get_ident():
        raise _refusal(estimator)


def settled(method):
    """Have a method that reads what was learned see it between two blocks of a learning thread."""

    @functools.wraps(method)
    def reads(self, *args, **kwargs):
        key = (id(self), threading.get_ident())
        gate = _LEARNING.get(key[0])
        if key in _READING or (gate is not None and gate.thread == key[1]):
            return method(self, *args, **kwargs)
        while True:
            _READING[key] = None
            try:
                gate = _LEARNING.get(key[0])
                if gate is None:
                    return method(self, *args, **kwargs)
            finally:
                _READING.pop(key, None)
            found = gate.passed(key, lambda: method(self, *args, **kwargs))
            if found is not None:
                return found[0]

    return reads


def between_blocks(estimator):
    """Say that a block has been learned, so that readers may pass."""
    gate = _LEARNING.get(id(estimator))
    if gate is not None and gate.waiting:
        gate.let_pass()


def _forget():
    """In a child process there is none of the threads that learned or read."""
    _LEARNING.clear()
    _READING.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
