"""The names of other frameworks and of other versions, and what they are called here.

`alias` makes ``import mindspore`` mean Lamella; `alias_paths` and `public_paths` are its tables of
paths, `absent` knows the names of MindSpore that Lamella has not, `surface` counts those that it
has; the files with an underscore are private modules of MindSpore's that programs import.
`foreign_names` finds what a name of PyTorch or JAX is here; `missing` makes errors about names that
are not there. Its tables are plain data, which messages and the cheat sheets show.
"""
