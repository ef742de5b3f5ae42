"""Guards: the objects that a recorded graph depends on, and whether they have changed."""
