"""Cases, a file a family: each has `CASES`, a list."""
