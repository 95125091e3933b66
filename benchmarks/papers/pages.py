"""What the Python on pages of docs prints, with all rows of their data sets.

Needs what the pages import, and SKSTRUCTURED_DATA for those that read data sets from there; pages
that cannot run are named.
"""

import contextlib
import io
import re
import sys
from pathlib import Path

from benchmarks._common import ROOT, Results, arguments

DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)

#: Pages that the tests of docs run, whose numbers are about data sets.
PAGES = (
    "choose",
    "classifiers",
    "components",
    "kernels",
    "risk",
    "tasks/bandits",
    "tasks/classify",
)


def printed(page: Path):
    """What the blocks of a page print, one after the other in one namespace."""
    names, out = {}, io.StringIO()
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        with contextlib.redirect_stdout(out):
            exec(compile(block, page.name, "exec"), names)
    return out.getvalue().rstrip()


def main():
    """Run the pages and keep what they print."""
    args = arguments(__doc__)
    sys.path.insert(0, str(DOCS / "snippets"))
    with Results(__file__, args) as out:
        for name in PAGES[:1] if args.quick else PAGES:
            out.say(f"\n{name}.md")
            try:
                out.say(printed(DOCS / f"{name}.md"))
            except ImportError as error:
                out.say(f"not run: {error}")


if __name__ == "__main__":
    main()
