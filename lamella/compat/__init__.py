"""The names of other frameworks and of other versions, and what they are called here.

`foreign_names` finds what a name of PyTorch or JAX is here; `missing` makes errors about names that
are not there. The tables are plain data, which messages and the cheat sheets show.
"""
