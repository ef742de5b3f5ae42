"""What a recorded graph depends on, and whether that has changed."""
