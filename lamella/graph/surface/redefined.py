"""GRAPH_MODE for gradients of functions that a step defines again in each call.

Such a function is a new object each time, with the same code. All of them use one compiled
function, which has the values of the closure as arguments.
"""

from __future__ import annotations

import copy
import functools
import types
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..guards.arguments import may_be_passed_on, with_closure
from ..runtime.compiled import Compiled

MOST = 64  # code objects; beyond that, the oldest is dropped

_compiled: OrderedDict[Any, Compiled | None] = OrderedDict()  # None for code met once


def redefined(request: Any, compile: Callable[[Any], Compiled]) -> Callable[..., Any] | None:
    """The compiled function of a gradient, if another function with the same code has come before.

    Args:
        request: the gradient function.
        compile: compiles a function that runs the request.

    Returns:
        A callable; None for the first function with some code, and for a closure whose values
        can't be arguments.
    """
    fn = request.fn
    if type(fn) is not types.FunctionType or "<locals>" not in fn.__qualname__:
        return None
    key = fn.__code__, id(fn.__globals__), request.key()
    if key not in _compiled:
        _compiled[key] = None
        if len(_compiled) > MOST:
            _compiled.popitem(last=False)
        return None
    if fn.__dict__ or not _may_be_passed_on(fn):
        return None
    found = _compiled.get(key)  # another thread may have dropped it
    if found is None:
        bare = copy.copy(request)
        bare.fn = with_closure(fn, [types.CellType() for _ in fn.__closure__ or ()])
        found = _compiled[key] = compile(functools.partial(_run, bare))
        found.name = f"{request.name} of {fn.__qualname__}"
    return functools.partial(_call, found, fn)


def _call(compiled: Compiled, fn: types.FunctionType, *args: Any, **kwargs: Any) -> Any:
    closed = tuple([cell.cell_contents for cell in fn.__closure__ or ()])
    return compiled(closed, fn.__defaults__, fn.__kwdefaults__, args, kwargs)


def _run(bare: Any, closed: tuple, defaults: Any, named: Any, args: tuple, kwargs: dict) -> Any:
    """Run a request on its function with other values in the closure."""
    request = copy.copy(bare)
    request.fn = with_closure(bare.fn, [types.CellType(value) for value in closed])
    request.fn.__defaults__, request.fn.__kwdefaults__ = defaults, named
    return request.run_on(*args, **kwargs)


def _may_be_passed_on(fn: types.FunctionType) -> bool:
    """Whether a function only reads its closure's variables, and none of them holds a local
    function, which may share them.
    """
    return may_be_passed_on(fn) and not any(
        isinstance(cell.cell_contents, types.FunctionType)
        and "<locals>" in cell.cell_contents.__qualname__ for cell in fn.__closure__ or ())
