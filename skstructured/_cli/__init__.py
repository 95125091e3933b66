"""The command line: reading tables, training, and reports."""
