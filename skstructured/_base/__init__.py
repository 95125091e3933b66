"""Foundations of all packages: components, checks of user input, rows and sequences as read."""
