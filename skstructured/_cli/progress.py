"""Progress of work that takes long."""

import contextlib
import sys
import threading
import time

#: Seconds before the first line; before each other one it is twice as long.
SECONDS_TO_PROGRESS = 2.0


@contextlib.contextmanager
def stage(what):
    """Print the name of a stage to stderr if it takes long; yields a function of the rows done."""
    started, done, over = time.perf_counter(), [], threading.Event()

    def report(rows, total=None):
        done[:] = [f": {rows:,}{f'/{total:,}' if isinstance(total, int) else ''} rows"]

    def tell():
        pause = SECONDS_TO_PROGRESS
        while not over.wait(pause):
            elapsed = time.perf_counter() - started
            print(f"{what}{''.join(done)}, {elapsed:.0f} s", file=sys.stderr, flush=True)
            pause *= 2.0

    clock = threading.Thread(target=tell, daemon=True)
    clock.start()
    try:
        yield report
    finally:
        over.set()
        clock.join()
