"""Calling a compiled function: its guards choose one of its graphs, which is replayed."""
