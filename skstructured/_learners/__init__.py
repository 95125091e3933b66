"""Parts shared by learners: learning, predictions, and locks."""
