"""Benchmarks of skstructured, run as modules from the repository's root: see README.md."""

import os

# One thread for linear algebra; read when numpy is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
