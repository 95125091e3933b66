"""Does anything crash, hang, hide a NaN or fail unnamed in a million inputs, good and bad?

Plays `tests/fuzz.py` over every public estimator and what reads files, in pieces. A piece that is
done is a line of `results/fuzz.jsonl`: started again, it goes on after those of the same commit. An
input is one call, one file or one checkpoint. Each finding is told with the command that plays it
again.
"""

import json
import sys
from argparse import Namespace
from collections import Counter
from pathlib import Path

from benchmarks._common import ROOT, Results, arguments, commit

sys.path.insert(0, str(ROOT / "tests"))

import fuzz
from fuzz_inputs import AREAS, GROUPS

#: Inputs of a piece, and how far the seeds of two pieces are apart.
PIECE, APART = 50_000, 10**6

#: Where pieces that are done are kept.
DONE = Path(__file__).parent / "results" / "fuzz.jsonl"

#: Seconds of processor time after which a call counts as one that never ends.
PATIENCE = 120.0

#: Groups in the order of the table, and what an input of each is.
WHAT = {
    "online": "a call of OnlineStructuredPredictor over any space",
    "classes": "a call of another learner of classes, with bandit feedback too",
    "binary": "a call of a learner of two classes",
    "numbers": "a call of PiSTOLRegressor",
    "sequences": "a call of a learner of label sequences, online or batch",
    "batch": "a call of a batch learner",
    "chunks": "fit_chunks or progressive_validate over chunks",
    "arrays": "array_chunks of arrays",
    "svmlight": "a damaged svmlight file, read in chunks",
    "tables": "a table of any cells, encoded whole or as a stream",
    "parquet": "a damaged Parquet file, read in chunks",
    "checkpoint": "a damaged checkpoint, loaded",
    "monitors": "a call of RiskMonitor",
    "transformers": "a call of SequenceTransformer",
}


def pieces(version):
    """Pieces that are done, of this version of the code."""
    lines = DONE.read_text(encoding="utf-8").splitlines() if DONE.exists() else []
    return [piece for piece in map(json.loads, lines) if piece["commit"] == version]


def play(number, inputs, workers):
    """Play a piece: how many inputs of each group, and its findings."""
    given = Namespace(calls=inputs, seed=number * APART, workers=workers, patience=PATIENCE)
    given.areas, given.groups, found = AREAS, GROUPS, []

    def report(seed, text):
        found.append(f"{fuzz.again(seed, AREAS, GROUPS)}: {text[:600]}")

    fuzzer = fuzz.run(given, report)
    return {"piece": number, "made": dict(fuzzer.made), "found": found}


def played(inputs, workers, quick):
    """Pieces, those before and new ones, until there are enough inputs."""
    version = commit()
    done = [] if quick else pieces(version)
    while (made := sum(sum(piece["made"].values()) for piece in done)) < inputs:
        number = max((piece["piece"] for piece in done), default=0) + 1
        piece = {"commit": version, **play(number, min(PIECE, inputs - made), workers)}
        if not quick:
            with DONE.open("a", encoding="utf-8") as file:
                file.write(json.dumps(piece) + "\n")
        done.append(piece)
        print(f"piece {number}: {len(piece['found'])} findings", flush=True)
    return done


def main():
    """Print the table."""
    options = {
        "inputs": {"type": int, "default": 1_000_000},
        "workers": {"type": int, "default": 2},
    }
    args = arguments(__doc__, **options)
    with Results(__file__, args) as results:
        done = played(1000 if args.quick else args.inputs, args.workers, args.quick)
        made = sum((Counter(piece["made"]) for piece in done), Counter())
        results.say()
        for name, what in WHAT.items():
            results.add(
                f"{name:14} {made[name]:9}  {what}", table="inputs", name=name, n=made[name]
            )
        found = [text for piece in done for text in piece["found"]]
        total = sum(made.values())
        results.say()
        results.add(
            f"{total} inputs, {len(found)} findings", table="all", n=total, found=len(found)
        )
        for text in found:
            results.say(text)


if __name__ == "__main__":
    main()
