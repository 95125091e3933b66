"""What guards a call that learns: signals wait for whole rounds, and a second thread is refused."""

import _signal  # without the enums of `signal`, which cost more than a row of learning
import functools
import signal
import threading

#: Signals whose handlers may raise in the middle of a round, as Ctrl-C does.
RAISING = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGALRM", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGBREAK")
    if hasattr(signal, name)
)


class uninterrupted:
    """A block that signals do not interrupt: their handlers are called right after it.

    Weights that have moved are then always counted. Python calls handlers in the main thread alone,
    so that learning in another one is never interrupted.
    """

    def __enter__(self):
        self._came, self._handlers, self._held = [], {}, []
        if threading.current_thread() is threading.main_thread():
            try:
                self._hold()
            except BaseException:  # a signal that came while others were held already
                self._release()
                raise
        return self

    def _hold(self):
        for number in RAISING:
            handler = _signal.getsignal(number)
            if callable(handler):
                self._handlers[number] = handler
                self._held.append(number)
                _signal.signal(number, self._note)

    def _note(self, number, frame):
        self._came.append((number, frame))

    def _release(self):
        """Give every handler back, although the first ones given back may raise meanwhile."""
        try:
            while self._held:
                _signal.signal(self._held[-1], self._handlers[self._held[-1]])
                self._held.pop()
        except BaseException:
            self._release()
            raise

    def __exit__(self, *error):
        self._release()
        for number, frame in self._came:
            self._handlers[number](number, frame)


#: The thread that learns, for the identity of every estimator that learns now.
_BUSY = {}


def exclusive(method):
    """Have a method that learns refuse to run beside another thread's on the same estimator."""

    @functools.wraps(method)
    def guarded(self, *args, **kwargs):
        mine, outermost = threading.get_ident(), id(self) not in _BUSY
        if _BUSY.setdefault(id(self), mine) != mine:
            raise RuntimeError(
                f"this {type(self).__name__} is learning in another thread: one thread at a time "
                "may call its fit, partial_fit or update, while any number predict."
            )
        try:
            return method(self, *args, **kwargs)
        finally:
            if outermost:
                _BUSY.pop(id(self), None)

    return guarded
