"""How long does it take to save a learner and to load it, beside joblib, which promises nothing?

10 classes and CSR rows: models of 2 p × 10 numbers, the averaged weights and those that move.
"""

import tempfile
from pathlib import Path

import joblib
import numpy as np
from scipy import sparse

from benchmarks._common import Results, arguments
from benchmarks._timing import in_turns
from skstructured import OnlineStructuredPredictor
from skstructured.checkpoints import load_checkpoint, save_checkpoint

FEATURES = (100, 10_000, 100_000, 1_000_000)


def fitted(p):
    """A learner of 1,000 rows with p features, 20 of them in a row."""
    rng = np.random.RandomState(0)
    given = (rng.randn(20_000), rng.randint(p, size=20_000), np.arange(0, 20_001, 20))
    X, y = sparse.csr_matrix(given, (1000, p)), rng.randint(10, size=1000)
    X.sum_duplicates()
    return OnlineStructuredPredictor(random_state=0).partial_fit(X, y, classes=np.arange(10))


def main():
    """Print the table."""
    args = arguments(__doc__, repeat=5)
    with Results(__file__, args) as results, tempfile.TemporaryDirectory() as folder:
        ours, theirs = Path(folder, "model.skops"), Path(folder, "model.joblib")
        results.say(f"{'features':>9}{'MB':>8}{'save':>10}{'load':>10}{'joblib':>10}{'load':>10}")
        for p in FEATURES[:2] if args.quick else FEATURES:
            model = fitted(p)
            tasks = (
                lambda model=model: save_checkpoint(model, ours),
                lambda: load_checkpoint(ours),
                lambda model=model: joblib.dump(model, theirs),
                lambda: joblib.load(theirs),
            )
            seconds = np.median(in_turns(tasks, args.repeat), axis=0)
            size = ours.stat().st_size / 1e6
            line = f"{p:9}{size:8.2f}" + "".join(f"{1e3 * s:7.1f} ms" for s in seconds)
            names = ("save", "load", "joblib_save", "joblib_load")
            results.add(line, p=p, megabytes=size, **dict(zip(names, seconds, strict=True)))


if __name__ == "__main__":
    main()
