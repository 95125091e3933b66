"""What predicts beside a thread that learns: it reads between two blocks, never within one.

As long as nobody learns, readers of an estimator note that they read, and wait for nobody. Who
begins to learn waits until those are done. From then on readers queue at the gate, which the
learner holds, and it lets those that wait pass after every block.
"""

import functools
import os
import threading
import time

#: Seconds between two looks at who is still reading, or waiting.
LOOK = 5e-5

#: The gate of every estimator that learns now, by identity.
_LEARNING = {}

#: (identity of an estimator, thread) of those that read while nobody learned.
_READING = {}


class Gate:
    """What a thread holds as it learns with an estimator: readers pass between two blocks."""

    def __init__(self):
        self.thread, self.lock, self.waiting = threading.get_ident(), threading.RLock(), {}

    def take(self, estimator):
        """The gate by which the thread learns: itself, or one before. RuntimeError if others do."""
        held = _LEARNING.setdefault(id(estimator), self)
        if held.thread != self.thread:
            refuse_elsewhere(estimator)
        return held

    def leave(self, estimator):
        """Have no gate, if this is it."""
        if _LEARNING.get(id(estimator)) is self:
            del _LEARNING[id(estimator)]

    def close(self, estimator):
        """Let those end that began to read before; called by who learns, with the lock."""
        key = id(estimator)
        while any(who == key and thread != self.thread for who, thread in list(_READING)):
            time.sleep(LOOK)

    def let_pass(self):
        """Open the gate for those that wait now; called by who learns, between two blocks."""
        here = set(self.waiting)
        if not here:
            return
        self.lock.release()
        try:
            while here & set(self.waiting):
                time.sleep(LOOK)
        finally:
            self.lock.acquire()

    def passed(self, estimator, read):
        """What `read` returns between two blocks, in a tuple; None if learning ended meanwhile."""
        mine = object()
        self.waiting[mine] = None
        try:
            with self.lock:
                del self.waiting[mine]
                return (read(),) if _LEARNING.get(id(estimator)) is self else None
        finally:
            self.waiting.pop(mine, None)


def refuse_elsewhere(estimator):
    """A RuntimeError where another thread learns with the estimator."""
    gate = _LEARNING.get(id(estimator))
    if gate is not None and gate.thread != threading.get_ident():
        raise RuntimeError(
            f"this {type(estimator).__name__} is learning in another thread: one thread at a time "
            "may call its fit, partial_fit or update, or save it, while any number predict."
        )


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
            found = gate.passed(self, lambda: method(self, *args, **kwargs))
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
