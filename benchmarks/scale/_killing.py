"""Children that learn and save chunk after chunk, and are killed at random moments.

As a script: ``python _killing.py FOLDER KILLS`` prints what came of it as JSON.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
from scipy import sparse

from skstructured import OnlineStructuredPredictor
from skstructured.checkpoints import load_checkpoint, save_checkpoint

N_ROWS, N_CLASSES = 200, 10


class Task(NamedTuple):
    """How many features and kills; seconds that a child may live at least; and how it saves."""

    n_features: int = 100_000
    kills: int = 200
    longest: float = 0.3
    save: object = save_checkpoint


def chunk(i, n_features):
    """Rows and labels of chunk i, always the same."""
    rng = np.random.RandomState(i)
    columns = rng.randint(n_features, size=(N_ROWS, 20))
    pointers = np.arange(0, 20 * N_ROWS + 1, 20)
    X = sparse.csr_matrix((rng.randn(20 * N_ROWS), columns.ravel(), pointers), (N_ROWS, n_features))
    return X, (columns[:, 0] + rng.randint(3, size=N_ROWS)) % N_CLASSES


def learn(model, i, n_features):
    """Learn chunk i."""
    return model.partial_fit(*chunk(i, n_features), classes=np.arange(N_CLASSES))


def learned(model):
    """How many chunks a model has learned."""
    return getattr(model, "t_", 0) // N_ROWS


def resumed(path):
    """The model of the checkpoint, or a new one where there is none yet."""
    if path.exists():
        return load_checkpoint(path)
    return OnlineStructuredPredictor(optimizer="parameter_free", decoder="sampled", random_state=0)


def child(path, task, told):
    """Learn, save and tell for ever."""
    model = resumed(path)
    while True:
        learn(model, learned(model), task.n_features)
        task.save(model, path)
        os.write(told, b"%d\n" % learned(model))


def start(path, task):
    """A child, and the end of the pipe that it tells its chunks by."""
    reading, telling = os.pipe()
    number = os.fork()
    if number:
        os.close(telling)
        return number, reading
    try:
        child(path, task, telling)
    finally:
        os._exit(1)


def kill_one(path, task, seconds):
    """The last chunk that a child told of before it was killed, and whether it was writing."""
    number, reading = start(path, task)
    time.sleep(seconds)
    os.kill(number, signal.SIGKILL)
    _, status = os.waitpid(number, 0)
    with open(reading, "rb") as pipe:
        told = pipe.read().split()
    if os.WTERMSIG(status) != signal.SIGKILL:
        raise RuntimeError(f"a child ended by itself with the status {status}.")
    left = list(path.parent.glob(f".{path.name}.*.tmp"))
    for temporary in left:
        temporary.unlink()
    return int(told[-1]) if told else 0, bool(left)


def warm(path, task):
    """Load what a child runs into this process, from which it forks; how long a chunk takes."""
    first = path.with_name("first")
    task.save(learn(resumed(first), 0, task.n_features), first)
    start = time.perf_counter()
    task.save(learn(resumed(first), 1, task.n_features), first)
    first.unlink()
    return time.perf_counter() - start


def kill_many(path, task, seed=0):
    """What came of killing children that go on from each other's checkpoints."""
    longest = max(task.longest, 6 * warm(path, task))  # some chunks are learned on any machine
    rng, found = Random(seed), {"chunks": 0, "writing": 0, "lost": 0, "unreadable": 0, "ahead": 0}
    for _ in range(task.kills):
        told, writing = kill_one(path, task, rng.uniform(0.0, longest))
        found["writing"] += writing
        told = max(told, found["chunks"])
        try:
            found["chunks"] = learned(resumed(path))
        except ValueError:
            found["unreadable"] += 1
            path.unlink()
            found["chunks"] = 0
            continue
        found["lost"] += found["chunks"] < told
        found["ahead"] += found["chunks"] > told
    return found


def is_as_without_kills(path, task):
    """Whether the last checkpoint has the bits of a run that nobody killed, and goes on so."""
    model, plain = resumed(path), resumed(path.with_name("none"))
    for i in range(learned(model)):
        learn(plain, i, task.n_features)
    for _ in range(2):
        pairs = ((plain.coef_, model.coef_), (plain.last_weights_, model.last_weights_))
        X = chunk(10**6, task.n_features)[0]
        pairs += ((plain.sample(X), model.sample(X)), (plain.intercept_, model.intercept_))
        if any(a.tobytes() != b.tobytes() for a, b in pairs):
            return False
        for each in (plain, model):
            learn(each, learned(each), task.n_features)
    return True


def main(folder, kills):
    """Print what came of some kills."""
    path, task = Path(folder) / "model.skops", Task(20_000, int(kills))
    found = kill_many(path, task)
    print(json.dumps({**found, "same": is_as_without_kills(path, task)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
