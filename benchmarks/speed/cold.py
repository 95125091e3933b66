"""The first fit on a new machine, beside another commit, in CPU seconds.

``python -m benchmarks.speed.cold COMMIT`` makes a work tree of COMMIT and starts a process in each
in turns, with an empty folder for kernels: it imports the package, learns 300 rows with ten
features and three classes (40 sentences of five words for sequences, 40 queries of five items) and
predicts them, by `fit` or, under the second heading, by `partial_fit`; or it runs the first command
of the README. "again" is a second process of each, which finds the code of the first on disk, if it
compiled. The last line has the seconds of ``import sklearn, scipy, pandas``. Seconds are those of
the processor, without the imports of scikit-learn, numba and the package; a ratio is that of two
processes one after the other, its median, the least and the largest. Of what COMMIT does not have
there is none.
"""

import argparse
import compileall
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks._common import ROOT, Results, two_commits

#: A learner of each family, as a user writes it.
LEARNERS = (
    "StructuredPredictor()",
    "OnlineStructuredPredictor()",
    "OnlineStructuredPredictor('sequence')",
    "ListwiseRanker()",
    "KernelStructuredPredictor()",
    "FolkloreClassifier()",
    "ConditionalRandomField('sequence')",
    "MaxMinMarginNetwork()",
    "StructuredRegressor()",
    "StructuredRanker()",
    "PiSTOLClassifier()",
)

#: Learners that learn by `partial_fit`.
ONLINE = (
    "StructuredPredictor()",
    "OnlineStructuredPredictor()",
    "OnlineStructuredPredictor('sequence')",
    "KernelStructuredPredictor()",
    "FolkloreClassifier()",
    "GaptronClassifier()",
    "GaussianAggregatingForecaster()",
    "AdaBoostOLMClassifier()",
)

#: The first command of the README.
COMMAND = "python -m skstructured docs/cells.csv --target diagnosis"

FIRST_FIT = """
import time
import numpy as np, scipy.sparse, sklearn.linear_model, sklearn.pipeline
before = time.process_time()
import skstructured
model = skstructured.{learner}
imported = time.process_time()
np.random.seed(0)  # a mixture of other draws may need other functions
rng = np.random.RandomState(0)
X, y = rng.randn(300, 10), rng.randint(3, size=300)
if "sequence" in {learner!r} or "Ranker" in {learner!r}:
    X, y = [rng.randn(5, 4) for _ in range(40)], [rng.randint(3, size=5) for _ in range(40)]
if {method!r} == "fit" or "Ranker" in {learner!r}:
    getattr(model, {method!r})(X, y).predict(X)
else:
    model.partial_fit(X, y, classes=[0, 1, 2]).predict(X)
print(imported - before, time.process_time() - imported)
"""

FIRST_COMMAND = """
import time
import numpy as np, scipy.sparse, sklearn.linear_model, sklearn.pipeline
before = time.process_time()
import skstructured.__main__
skstructured.OnlineStructuredPredictor
imported = time.process_time()
skstructured.__main__.main([{file!r}, "--target", "diagnosis", "--save", "tumors.model"])
print(imported - before, time.process_time() - imported)
"""


IMPORTS = """
import time
import sklearn, scipy, pandas
print(0.0, time.process_time())
"""


def script_of(learner, method):
    """What a process runs."""
    if learner == COMMAND:
        return FIRST_COMMAND.format(file=str(ROOT / "docs" / "cells.csv"))
    return FIRST_FIT.format(learner=learner, method=method)


def seconds(folder, script):
    """CPU seconds of the import, and of first fits in two processes with the package of a folder.

    Its byte code is there, as after an installation. NaN if it does not have the learner.
    """
    compileall.compile_dir(Path(folder) / "skstructured", quiet=1)
    with tempfile.TemporaryDirectory() as site:
        package = Path(site) / "skstructured"
        package.symlink_to(Path(folder) / "skstructured")
        paths = {"PYTHONPATH": site, "NUMBA_CACHE_DIR": f"{site}/kernels"}
        command = [sys.executable, "-W", "ignore", "-c", script]
        options = {"env": {**os.environ, **paths, "OMP_NUM_THREADS": "1"}, "cwd": site}
        runs = [
            subprocess.run(command, **options, capture_output=True, text=True, check=False)
            for _ in range(2)
        ]
    if "AttributeError" in runs[0].stderr:
        return [np.nan] * 3
    (imported, first), (_, again) = (map(float, run.stdout.split()[-2:]) for run in runs)
    return [imported, first, again]


def compared(out, learner, script, folders, repeat):
    """A line about a learner: medians, and the ratio of pairs."""
    pairs = np.array([[seconds(folder, script) for folder in folders] for _ in range(repeat)])
    now, then = np.median(pairs[:, :, 1], axis=0)
    again, then_again = np.median(pairs[:, :, 2], axis=0)
    imported = np.median(pairs[:, 0, 0])
    ratios = pairs[:, 0, 1] / pairs[:, 1, 1]
    middle, low, high = np.median(ratios), ratios.min(), ratios.max()
    medians = " ".join(f"{median:8.2f}" for median in (now, again, then, then_again))
    line = f"{learner:36s} {imported:6.2f} {medians}   {middle:.2f}"
    out.add(
        f"{line}  ({low:.2f} to {high:.2f})",
        learner=learner,
        import_s=imported,
        now_s=now,
        again_s=again,
        then_s=then,
        then_again_s=then_again,
        ratio=middle,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit")
    parser.add_argument("--repeat", type=int, default=5)
    args = parser.parse_args()
    args.quick = False
    with two_commits(args.commit) as folders, Results(__file__, args) as out:
        out.say(f"{'CPU s':36s} import      now    again {args.commit[:8]:>8s}    again   ratio")
        for learner in (COMMAND, *LEARNERS):
            compared(out, learner, script_of(learner, "fit"), folders, args.repeat)
        out.say("by partial_fit")
        for learner in ONLINE:
            compared(out, learner, script_of(learner, "partial_fit"), folders, args.repeat)
        compared(out, "import sklearn, scipy, pandas", IMPORTS, folders, args.repeat)


if __name__ == "__main__":
    main()
