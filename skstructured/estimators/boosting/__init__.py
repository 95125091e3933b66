"""Online boosting, and the shallow trees that it combines: both learn one row at a time."""
