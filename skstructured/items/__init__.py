"""Items with features of their own: choices, learning to rank, assignments."""
