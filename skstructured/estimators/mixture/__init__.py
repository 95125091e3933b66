"""Members that know honest scores of their training rows, and the weights that mix them."""
