"""What every other room stands on, and what knows nothing of Tensors.

`structures` says what tuples, dicts, dataclasses and registered classes consist of and how they are
rebuilt: each function that takes or gives such structures walks them by it. `cuts` warns where a
gradient ends though the program goes on with what was computed, and `flow` reads in the program's
source whether it does.
"""
