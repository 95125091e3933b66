"""Do readers of files stand bytes that atheris makes up, guided by what the code goes through?

Plays `tests/fuzz_atheris.py`: svmlight and Parquet files read in chunks, CSV tables of the command
line, checkpoints, and the schema of checkpoints that are otherwise whole. "edges" are branches of
the readers that were reached. A finding ends a target; its input is kept where this was started.
"""

import re
import subprocess
import sys

from benchmarks._common import ROOT, Results, arguments

PROGRAM = ROOT / "tests" / "fuzz_atheris.py"
DONE = re.compile(r"#(\d+)\s+DONE\s+cov: (\d+)")

#: Targets, and the share of the inputs that each is given: a schema takes milliseconds.
TARGETS = {"svmlight": 1.0, "table": 1.0, "parquet": 1.0, "checkpoint": 1.0, "schema": 0.2}


def played(name, inputs):
    """Inputs, edges and the finding, if there is one, of a target."""
    command = [sys.executable, str(PROGRAM), name, f"-runs={inputs}", "-verbosity=1"]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    found = DONE.search(done.stderr)
    if done.returncode or found is None:
        return 0, 0, done.stderr[-600:]
    return int(found[1]), int(found[2]), None


def main():
    """Print the table."""
    args = arguments(__doc__, inputs={"type": int, "default": 200_000})
    inputs = 1000 if args.quick else args.inputs
    with Results(__file__, args) as results:
        results.say(f"{'target':12}{'inputs':>10}{'edges':>8}  finding")
        for name, share in TARGETS.items():
            made, edges, finding = played(name, int(share * inputs))
            line = f"{name:12}{made:10}{edges:8}  {finding or 'none'}"
            results.add(line, name=name, n=made, edges=edges, found=int(finding is not None))


if __name__ == "__main__":
    main()
