"""What every other room stands on, and what knows nothing of Tensors.

`cuts` warns where a gradient ends
though the program goes on with what was computed, and `flow` reads in the program's source whether
it does.
"""
