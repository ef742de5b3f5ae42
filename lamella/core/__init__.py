"""The core: objects and rules that every other room stands on. Nothing here knows Tensors.

`settings` holds the settings of the process, each with its name and its default, and says which of
them a graph depends on; `declared` is how a class says which attributes of its objects are state,
and how a module says that its functions reach outside of the program. `structures` says what
tuples, dicts, dataclasses and registered classes consist of and how they are rebuilt: each function
that takes or gives such structures walks them by it. `cuts` warns where a gradient ends though the
program goes on with what was computed, and `flow` reads in the program's source whether it does.
"""
