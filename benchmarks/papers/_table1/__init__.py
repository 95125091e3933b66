"""The parts of `table1_mistakes`."""
