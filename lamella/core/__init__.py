"""The core: objects and rules that every other room stands on.

`settings` holds the settings of the process, each with its name and its default, and says which of
them a graph depends on; `declared` is how a class says which attributes of its objects are state,
and how a module says that its functions reach outside of the program. Nothing here knows Tensors.
"""
