"""Tests that run on a simulated accelerator, which `backend.cpp` adds to PyTorch.

Each test of this folder runs in a process of its own, forked from one that has imported Lamella,
with the simulated device as Lamella's: see `conftest.py`. So the other tests never see it.
"""
