"""The Tensor, the Parameter, and what Python's syntax does with them.

`tensor` holds a PyTorch tensor in one slot; `construction`, `conversion` and `printing` make it
from data and turn it into other things; `operators` and `indexing` are Python's syntax; `inplace`,
`inplace_methods` and `indexed_copies` are changes in place; `promotion`, `unsigned` and `narrow`
the types that results have and that PyTorch lacks; `tensor_forms` and `overloads` the forms of
methods; `random` the generators. The room is called `tensors` because ``lamella.tensor`` is the
function that makes one.
"""
