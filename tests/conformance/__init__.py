"""The differential tester: the same cases on MindSpore and on Lamella, and what differs.

`cases/` has the cases, one file per family: expressions and the arrays they are about, both as
text, so that both sides make them for themselves. `runner.py` runs a family on one of the two,
`drive.py` keeps it going behind crashes and hangs, `recorded/` holds what MindSpore gave,
`compare.py` says what differs, and `meant.py` which of it is meant. `python -m tests.conformance`
is the command.
"""
