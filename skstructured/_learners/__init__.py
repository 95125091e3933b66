"""What learners share: how they learn, what they predict, what guards them."""
