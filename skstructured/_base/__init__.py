"""What every room stands on: components, checks of what users give, rows and sequences as read."""
