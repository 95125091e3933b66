"""What was measured, a JSON line each, so that runs go on where others ended."""

import itertools
import json
import time
from pathlib import Path

import numpy as np

from benchmarks._common import commit
from benchmarks.papers._pistol_vs_svm.problems import MIDDLE, SHUFFLES

PATH = Path(__file__).parents[1] / "results" / "pistol_vs_svm.jsonl"
KEYS = ("set", "n", "shuffle", "learner")


def read():
    """Rows measured, by set, n, shuffle and learner; later ones count."""
    if not PATH.exists():
        return {}
    rows = [json.loads(line) for line in PATH.read_text().splitlines()]
    return {tuple(row[key] for key in KEYS): row for row in rows}


def jobs(problem):
    """n, shuffle and name of all to be learned of a problem: many rows again and again at last."""
    found = []
    for n, seed in itertools.product(problem.sizes(), range(SHUFFLES)):
        for name, learner in problem.learners.items():
            if n <= learner.many or (seed == 0 and n <= learner.most):
                found.append((n, seed, name))
    return sorted(found, key=lambda job: (job[0] > MIDDLE and job[1] > 0, *job[:2]))


def measure(problem, n, seed, name):
    """Test error in %, and seconds to learn n rows of a shuffle."""
    rows = np.random.RandomState(seed).permutation(len(problem.y))[:n]
    learner = problem.learners[name]
    model, X, y = learner.make(seed), learner.prepare(problem.X[rows]), problem.y[rows]
    wall, processor = time.perf_counter(), time.process_time()
    model.fit(X, y)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    predicted = model.predict(learner.prepare(problem.X_test))
    error = 100 * float(np.mean(predicted != problem.y_test))
    found = {"error": error, "seconds": processor, "wall": wall}
    best = getattr(model, "best_params_", None)
    return found | ({"C": best["C"]} if best else {})


def fill(problem, keep=True, say=print):
    """Measure what is not in the store yet; all measured now and before."""
    known, run = read() if keep else {}, f"{time.strftime('%m-%d %H:%M')} {commit()}"
    for job in jobs(problem):
        key = problem.name, *job
        if key not in known:
            row = dict(zip(KEYS, key, strict=True)) | measure(problem, *job)
            known[key] = row | {"run": run}
            say(json.dumps(known[key], ensure_ascii=False))
            if keep:
                append(known[key])
    return known


def append(row):
    """Add a line to the store."""
    with PATH.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row, ensure_ascii=False) + "\n")
