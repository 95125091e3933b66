"""Gaptron's Table 1 (van der Hoeven 2020) as an experiment: mistakes, their bounds, time, growth.

Features are standardised with the whole file's means; "unit rows" are scaled to ‖x‖ = 1 besides,
which is what Table 1 assumes. covtype: 100,000 rows drawn at random. A seed is another order of the
rows (another stream, where it is synthetic) and other draws of the learner. ± is the half-width of
a 95% confidence interval over seeds. Full information: mistakes are exact expectations over the
learner's own draw, 1 − p'(y); with bandit feedback they are counted. Learners too slow for a stream
play its first rounds only. The bound is the first seed's, for the best comparator that was found.
"""

import warnings

from benchmarks._common import Results, arguments
from benchmarks.papers._table1.exploration import exploration
from benchmarks.papers._table1.growth import growth
from benchmarks.papers._table1.learners import REACH
from benchmarks.papers._table1.pictures import SHOWN, draw_exploration, draw_table
from benchmarks.papers._table1.streams import streams
from benchmarks.papers._table1.tables import table

OPTIONS = {
    "pictures": {"help": "folder to save the pictures in"},
    "only": {"nargs": "*", "help": "names of streams, growth, exploration"},
}


PARTS = ("growth", "exploration")


def run(out, wanted, quick, pictures):
    tables = {stream.name: table(out, stream, quick) for stream in streams() if wanted(stream.name)}
    if wanted("growth"):
        growth(out, quick)
    found = exploration(out, quick) if wanted("exploration") else None
    if pictures and found:
        draw_exploration(found, f"{pictures}/exploration.png")
    if pictures and tables.keys() >= set(SHOWN):
        draw_table(tables, f"{pictures}/table1_mistakes.png")


def main():
    args = arguments(__doc__, **OPTIONS)
    warnings.simplefilter("error")
    only = args.only or ((*SHOWN, *PARTS) if args.quick else None)
    with Results(__file__, args) as out:
        out.say(f"bandit Gaptron: D = {REACH:g}/X (1/X where it says so), horizon = rounds played")
        run(out, lambda name: not only or name in only, args.quick, args.pictures)


if __name__ == "__main__":
    main()
