"""One thread of BLAS while products are small: threads that wait for each other only cost time."""

import contextlib
import functools
import threading
from collections.abc import Iterator
from typing import Any

from threadpoolctl import ThreadpoolController

#: Held by the thread that has set the number of threads, which is one for the process.
BLAS_LOCK = threading.Lock()


@functools.cache
def _blas() -> Any:
    """The BLAS libraries of this process; finding them takes milliseconds."""
    return ThreadpoolController().select(user_api="blas")


@contextlib.contextmanager
def one_blas_thread(is_enabled: bool) -> Iterator[None]:
    """Products have one thread if `is_enabled`, and if no other thread has set it already."""
    if not (is_enabled and BLAS_LOCK.acquire(blocking=False)):
        yield
        return
    try:
        with _blas().limit(limits=1):
            yield
    finally:
        BLAS_LOCK.release()
