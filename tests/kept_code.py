"""Where numba keeps the code that tests compile: a folder per version of the package's source.

numba looks at the file of a kernel alone, and not at what it calls in others. ``NUMBA_CACHE_DIR``
is left as it is if it is set. Kernels are compiled when they are first called, unless
``SKSTRUCTURED_COMPILE`` is set: tests of bits compare compiled ones, and ``test_tiers.py`` those
that are interpreted.
"""

import hashlib
import os
import shutil
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".kernels"

#: Folders of earlier sources that stay.
KEPT = 3


def digest():
    """Digest of all that the package's modules say."""
    sources = sorted((ROOT / "skstructured").rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]


def forget_old():
    """Remove all folders but the latest."""
    folders = sorted(FOLDER.glob("*"), key=lambda path: path.stat().st_mtime)
    for folder in folders[:-KEPT]:
        shutil.rmtree(folder, ignore_errors=True)


os.environ.setdefault("SKSTRUCTURED_COMPILE", "1")
if "NUMBA_CACHE_DIR" not in os.environ:
    os.environ["NUMBA_CACHE_DIR"] = str(FOLDER / digest())
    forget_old()
