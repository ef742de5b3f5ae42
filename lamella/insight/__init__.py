"""Seeing what a program does: gradients and why they are zero, what limits a step, checks."""
