"""Do two models learn in two threads at once what one thread learns one after the other?

Each task fits two separate models; "times" is the time of one thread over that of two: with all
loops free of Python's global lock 2, on two idle cores. Two processes, which share no lock, tell
what the machine gives: "of them" is the time of the processes over that of the threads. At the end
one model learns, alone and while 8 threads predict with it, a row at a time.
"""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy import sparse

from benchmarks._common import Results, arguments
from benchmarks._timing import in_turns, timed
from skstructured import (
    FolkloreClassifier,
    KernelStructuredPredictor,
    OnlineStructuredPredictor,
)


def dense(seed, n, p, K=10):
    """Rows and classes by a linear rule with noise."""
    rng = np.random.RandomState(seed)
    X = rng.randn(n, p)
    return X, np.argmax(X @ rng.randn(p, K) + rng.randn(n, K), axis=1)


def csr(seed, n, p, K=10):
    """Sparse rows, 100 numbers each, and their classes."""
    rng = np.random.RandomState(seed)
    columns, values = rng.randint(p, size=(n, 100)), rng.randn(n, 100)
    pointers = np.arange(0, 100 * n + 1, 100)
    X = sparse.csr_matrix((values.ravel(), columns.ravel(), pointers), (n, p))
    X.sum_duplicates()
    return X, columns[:, 0] % K


def fit(model, X, y):
    """All rows at once."""
    model.fit(X, y)


def chunks(size):
    """A way to learn rows by ``partial_fit``, so many at a time."""

    def learn(model, X, y):
        for start in range(0, len(y), size):
            part = slice(start, start + size)
            model.partial_fit(X[part], y[part], classes=np.arange(10))

    return learn


def tasks(quick):
    """Name -> (a function that makes a model, rows of a seed, how they are learned)."""
    n = 2000 if quick else 20_000

    def online():
        return OnlineStructuredPredictor(max_iter=5, random_state=0)

    def kernel():
        return KernelStructuredPredictor(max_iter=1, random_state=0)

    def folklore():
        return FolkloreClassifier(random_state=0)

    return {
        "online, dense": (online, lambda s: dense(s, 2 * n, 100), fit),
        "online, CSR": (online, lambda s: csr(s, 2 * n, 20_000), fit),
        "online, chunks of 1000": (online, lambda s: dense(s, 4 * n, 100), chunks(1000)),
        "online, chunks of 100": (online, lambda s: dense(s, 4 * n, 100), chunks(100)),
        "online, one row at a time": (online, lambda s: dense(s, n // 4, 100), chunks(1)),
        "CSR, chunks of 1000": (online, lambda s: csr(s, 2 * n, 20_000), chunks(1000)),
        "folklore": (folklore, lambda s: dense(s, n // 10, 30), fit),
        "kernel": (kernel, lambda s: dense(s, n // 4, 30), fit),
        "kernel, chunks of 100": (kernel, lambda s: dense(s, n // 4, 30), chunks(100)),
    }


def both_ways(make, rows, learn):
    """Three tasks: two models one after the other, in two threads, and in two processes."""
    inputs = [rows(seed) for seed in (0, 1)]

    def in_turn():
        for given in inputs:
            learn(make(), *given)

    def at_once():
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda given: learn(make(), *given), inputs))

    def apart():
        children = [forked(lambda given=given: learn(make(), *given)) for given in inputs]
        if any(os.waitpid(child, 0)[1] for child in children):
            raise RuntimeError("a child failed.")

    return in_turn, at_once, apart


def forked(task):
    """A child process that runs a task."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        task()
        status = 0
    finally:
        os._exit(status)


def beside(X, y, learn):
    """Seconds to learn alone, and beside 8 threads that predict; their predictions a second."""
    done, counts = threading.Event(), np.zeros(8)
    model = OnlineStructuredPredictor(random_state=0).partial_fit(X, y, classes=np.arange(10))

    def ask(place):
        while not done.is_set():
            model.predict(X[place : place + 1])
            counts[place] += 1

    _, alone = timed(lambda: learn(model, X, y))
    threads = [threading.Thread(target=ask, args=(place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    try:
        _, seconds = timed(lambda: learn(model, X, y))
    finally:
        done.set()
    for thread in threads:
        thread.join()
    return alone, seconds, counts.sum() / seconds


def main():
    """Print the tables."""
    args = arguments(__doc__, repeat=5)
    with Results(__file__, args) as results:
        results.say(f"{os.cpu_count()} cores")
        results.say()
        results.say(f"{'two models':28} one thread  two threads  times  of them")
        for name, given in tasks(args.quick).items():
            times = in_turns(both_ways(*given), args.repeat)
            one, two, apart = np.median(times, axis=0)
            ratio, share = np.median(times[:, [0, 2]] / times[:, [1]], axis=0)
            line = f"{name:28} {one:8.2f} s {two:10.2f} s {ratio:6.2f} {share:8.2f}"
            row = {"one": one, "two": two, "apart": apart, "times": ratio, "of_them": share}
            results.add(line, table="two models", name=name, **row)
        results.say()
        results.say("one model that learns chunks of 1000 rows, alone and beside 8 that predict")
        X, y = dense(0, 20_000 if args.quick else 400_000, 100)
        runs = np.array([beside(X, y, chunks(1000)) for _ in range(args.repeat)])
        alone, seconds, rate = np.median(runs, axis=0)
        line = f"{alone:.2f} s, {seconds:.2f} s; {rate:.0f} predictions a second"
        results.add(line, table="beside", one=alone, two=seconds, rate=rate)


if __name__ == "__main__":
    main()
