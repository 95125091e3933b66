"""Timings, side by side in turns."""
