"""Calling a compiled function: choosing among its graphs, and running one."""
