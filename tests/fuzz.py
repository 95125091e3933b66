"""Fuzz every learner with good and bad input, in subprocesses: no crash, no internal error, no NaN.

    python tests/fuzz.py --calls 20000 --seed 0

Cases are numbered by their seeds, from `--seed` on; a case is one learner and a few calls. Every
finding is one line with the command that plays its case again. The exit code says whether there
was one. A call that takes more than `--patience` seconds of processor time counts as one that never
ends. A crash is played again alone; where it does not come back, what went before in its process is
to blame, and the line says how to play that.
"""

import argparse
import collections
import contextlib
import functools
import os
import selectors
import signal
import subprocess
import sys
import threading

from fuzz_inputs import AREAS, GROUPS, Finding

#: Cases, with successive seeds, that a process plays at most.
LIFE = 3000

#: Calls for which a process of their own is not worth its start.
FEW = 150

#: A process that says nothing for so many times its patience is ended as well, busy or not.
IDLE = 30.0


def worker(patience, play):
    """Play the seeds that come in, a line each; tell every call before it is made.

    The signal of the timer ends a process also where a kernel never comes back to Python.
    """

    told, sys.stdout = sys.stdout, open(os.devnull, "w")  # learners print too, if they are told to

    def say(*words):
        print(*words, file=told, flush=True)

    def tell(text):
        say("call", " ".join(text.split()))
        signal.setitimer(signal.ITIMER_PROF, patience)

    for line in sys.stdin:
        try:
            calls = play(int(line), tell)
        except Finding as finding:
            say("found", " ".join(str(finding).split()))
        else:
            say("done", calls)


class Worker:
    """A subprocess that plays cases, and what it said last."""

    def __init__(self, areas, patience, groups=GROUPS, program=__file__):
        command = [sys.executable, program, "--worker", "--areas", ",".join(areas)]
        command += ["--patience", str(patience), "--groups", ",".join(groups)]
        path = os.pathsep.join(filter(None, [os.getcwd(), *sys.path]))
        # Freed memory is filled, so that reading it does not go unnoticed.
        environment = os.environ | {"PYTHONPATH": path, "MALLOC_PERTURB_": "165"}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        self.patience, self.buffer = patience, b""
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.process.stdout, selectors.EVENT_READ)

    def play(self, seed):
        """Play one case: (number of calls, what was found or None)."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(f"{seed}\n".encode())
            self.process.stdin.flush()
        last, calls = "its first call", 0
        while True:
            kind, _, text = self.line().partition(" ")
            if kind == "call":
                last, calls = text, calls + 1
            elif kind == "done":
                return calls, None
            else:
                return calls, f"{text if kind == 'found' else kind} in {last}"

    def line(self):
        """The next line the process says, or how it ended."""
        while b"\n" not in self.buffer:
            if not self.selector.select(IDLE * self.patience):
                self.process.kill()
            piece = os.read(self.process.stdout.fileno(), 65536)
            if not piece:
                return self.end()
            self.buffer += piece
        line, _, self.buffer = self.buffer.partition(b"\n")
        return line.decode()

    def end(self):
        """What a process that said no more has died of."""
        code = self.process.wait()
        endless = code in (-signal.SIGPROF, -signal.SIGKILL)
        return f"no-end-within-{self.patience:g}-s" if endless else f"crash-with-exit-code-{code}"

    @property
    def is_alive(self):
        return self.process.poll() is None

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.selector.close()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()


class Fuzzer:
    """Hands out seeds to workers until enough calls were made."""

    def __init__(self, calls, seed, start, report, groups=GROUPS):
        self.groups = groups
        self.left, self.seed, self.start = calls, seed, start
        self.report, self.lock, self.findings = report, threading.Lock(), 0
        self.made = collections.Counter()

    def next_seeds(self):
        with self.lock:
            self.seed += LIFE
            return range(self.seed - LIFE, self.seed)

    def work(self):
        """One thread: a worker process after another."""
        while self.left > 0:
            seeds = list(self.next_seeds())
            while seeds and self.left > 0:
                self.play(seeds)

    def play(self, seeds):
        """Take and play seeds in one process until it ends."""
        player, first, calls = self.start(), seeds[0], 0
        while seeds and self.left > 0:
            seed = seeds.pop(0)
            made, found = player.play(seed)
            calls += made
            died = found is not None and not player.is_alive
            self.count(seed, made, self.blame(seed, found, first, calls) if died else found)
            if died:
                break
        player.stop()

    def blame(self, seed, found, first, calls):
        """What a process died of: the case itself, if it dies alone too, or those before it."""
        alone = self.start()
        _, again = alone.play(seed)
        alone.stop()
        if again is not None:
            return again
        return f"{found}, not alone, but in --workers 1 --seed {first} --calls {calls}"

    def count(self, seed, calls, found):
        with self.lock:
            self.left -= max(calls, 1)
            self.made[self.groups[seed % len(self.groups)]] += max(calls, 1)
            if found is not None:
                self.findings += 1
                self.report(seed, found)

    def run(self, workers):
        workers = max(1, min(workers, self.left // FEW))
        threads = [threading.Thread(target=self.work) for _ in range(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self.findings


def parsed(arguments):
    """The command line; areas and groups as tuples."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--patience", type=float, default=60.0)
    parser.add_argument("--areas", default=",".join(AREAS), help="any of %(default)s, or nothing")
    parser.add_argument(
        "--groups", default=",".join(GROUPS), help="any of %(default)s, with repeats"
    )
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    for name, known in (("areas", AREAS), ("groups", GROUPS)):
        words = tuple(filter(None, getattr(given, name).split(",")))
        if set(words) - set(known):
            parser.error(f"--{name} must be among {', '.join(known)}, got {getattr(given, name)}")
        setattr(given, name, words)
    return given


def again(seed, areas, groups):
    """The command that plays a case again."""
    command = f"python tests/fuzz.py --calls 1 --seed {seed} --areas {','.join(areas) or repr('')}"
    return command if groups == GROUPS else f"{command} --groups {','.join(groups)}"


def run(given, report):
    """The `Fuzzer` of a command line after its run; ``report(seed, found)`` is told of findings."""
    start = functools.partial(Worker, given.areas, given.patience, given.groups)
    fuzzer = Fuzzer(given.calls, given.seed, start, report, given.groups)
    fuzzer.run(given.workers)
    return fuzzer


def main(arguments=None):
    given = parsed(arguments)
    if given.worker:
        from fuzz_groups import play

        return worker(given.patience, functools.partial(play, given.areas, given.groups))

    def report(seed, found):
        print(f"{again(seed, given.areas, given.groups)}: {found}", flush=True)

    fuzzer = run(given, report)
    made = ", ".join(f"{name} {count}" for name, count in sorted(fuzzer.made.items()))
    print(f"{given.calls - fuzzer.left} calls ({made}), {fuzzer.findings} findings", flush=True)
    return int(fuzzer.findings > 0)


if __name__ == "__main__":
    sys.exit(main())
