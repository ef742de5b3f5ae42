"""Cases, one file per family: each has `CASES`, a list."""
