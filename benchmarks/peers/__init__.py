"""Our learners beside those that people use today, one table."""
