"""What a long run on one machine needs: checkpoints that hold, and threads that do not wait."""
