"""MindSpore's `common`: initializers and the base objects."""
