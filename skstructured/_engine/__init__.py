"""The engine: rows, weights and the one loop over them; it knows no space, loss or learner."""
