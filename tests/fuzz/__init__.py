"""Random calls of every public callable, in processes of their own: nothing may crash or hang.

`python -m tests.fuzz --calls 100000` makes them, `python -m tests.fuzz --call 0:17` one again;
docs/reliability.md tells what was found. `surface.py`: what there is to call; `seeds.py`: calls
that are right, from the docstrings; `arguments.py`: how they are made wrong; `judge.py`: what
counts as a clear error; `worker.py`: the process that calls; `harness.py`: the one that watches it.
"""
