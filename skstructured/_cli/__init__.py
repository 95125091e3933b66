"""The command line: what it reads, learns and prints."""
