"""The numbers of docs/note: every constant of its theorems beside what the code computes.

The largest curvature against searches; certificates of risks along a pass over letter, and how
often they fail in simulations; mixtures of steps against their bounds on streams that change; items
with features against an adversary. `benchmarks.papers.note_pictures` draws the figures from them.
"""

from benchmarks._common import Results, arguments
from benchmarks.papers._note import curvature, items, mixtures, risks

PARTS = (
    curvature.run,
    risks.curve,
    risks.coverage,
    mixtures.sharing,
    mixtures.bounds,
    items.run,
)


def main():
    """Print and keep them all."""
    args = arguments(__doc__)
    with Results(__file__, args) as results:
        for part in PARTS:
            part(results, args.quick)


if __name__ == "__main__":
    main()
