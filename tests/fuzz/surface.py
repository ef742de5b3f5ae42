"""What there is to call: functions, Primitives, layers, optimizers, methods and operators."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.ops.primitive import Primitive

# what acts on the machine or the whole process instead of its arguments; what waits for other
# processes; and loops, which go on forever if a condition or a bound says so
LEFT_OUT = {"ops.WhileLoop", "ops.Print", "Tensor.tofile", "Tensor.dump", "Tensor.to_dlpack",
            "Tensor.from_dlpack",
            "ops.print_", "ops.ForiLoop", "ops.CustomRegOp", "ops.DataType", "ops.Custom",
            "ops.init_process_group", "Tensor.storage",
            "Tensor.untyped_storage", "Tensor.to_torch", "Tensor.asnumpy", "Tensor.numpy",
            "Tensor.share_memory_"}
OPERATORS = ("__abs__ __add__ __and__ __bool__ __complex__ __contains__ __eq__ __float__ "
             "__floordiv__ __ge__ __getitem__ __gt__ __index__ __int__ __invert__ __iter__ __le__ "
             "__len__ __lshift__ __lt__ __matmul__ __mod__ __mul__ __ne__ __neg__ __or__ __pow__ "
             "__radd__ __rand__ __rfloordiv__ __rmatmul__ __rmod__ __rmul__ __ror__ __round__ "
             "__rpow__ __rshift__ __rsub__ __rtruediv__ __rxor__ __setitem__ __sub__ __truediv__ "
             "__xor__ __repr__ __str__").split()
ROOMS = ("mint", "numpy", "scipy")  # other forms of the operators


class Target(NamedTuple):
    """Something to call.

    Attributes:
        name: as ``"ops.add"``.
        thing: the function, method or class.
        is_class: whether it has to be made before it can be called.
        owner: what it is found in, to put a recorder in its place.
    """

    name: str
    thing: Callable[..., Any]
    is_class: bool
    owner: Any


def targets() -> list[Target]:
    """All of them, in the order of their names."""
    return sorted((t for t in _found() if t.name not in LEFT_OUT), key=lambda t: t.name)


def _found() -> Iterator[Target]:
    for name in dir(ops):
        thing = getattr(ops, name)
        if name.startswith("_") or not callable(thing):
            continue
        if not isinstance(thing, type):
            yield Target(f"ops.{name}", thing, False, ops)
        elif issubclass(thing, Primitive) and thing is not Primitive:
            yield Target(f"ops.{name}", thing, True, ops)
    for name in dir(nn):
        thing = getattr(nn, name)
        if isinstance(thing, type) and issubclass(thing, nn.Cell) and not name.startswith("_"):
            yield Target(f"nn.{name}", thing, True, nn)
    for name in dir(Tensor):
        thing = inspect.getattr_static(Tensor, name)
        if (name in OPERATORS or not name.startswith("_")) and inspect.isfunction(thing):
            yield Target(f"Tensor.{name}", thing, False, Tensor)
    for room in ROOMS:
        try:
            module = importlib.import_module(f"{ms.__name__}.{room}")
        except ImportError:
            continue
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if inspect.isfunction(thing):
                yield Target(f"{room}.{name}", thing, False, module)
