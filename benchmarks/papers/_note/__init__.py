"""What `benchmarks.papers.note` checks, an item of the note a module, and its figures."""
