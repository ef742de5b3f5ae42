"""`GRAPH_MODE`: a Cell or a gradient function that is called at top level runs compiled.

In this mode `Cell.__call__` is replaced, and gradient functions call this module. In PYNATIVE_MODE
there is no check, so eager calls cost nothing extra. A `__call__` that a program puts there stays;
if it calls the one of PYNATIVE_MODE, Cells run eagerly. The compiled function of a Cell is kept by
the Cell, and that of a gradient by the function it differentiates, so both have the same lifetime.
"""

from __future__ import annotations

import types
from functools import partial
from typing import Any

from ...autodiff import reverse
from ...core import context
from ...core.forking import Lock
from ...core.state import state
from ...nn.cell import Cell
from ..runtime.compiled import Compiled
from ..runtime.methods import CompiledMethods
from .as_asked import CompiledAsAsked
from .config import choices
from .phases import flags_of_phase, has_phase
from .redefined import redefined

_eager_call = Cell.__call__
_making = Lock()


def _graph_call(self: Cell, *args: Any, **kwargs: Any) -> Any:
    if (state.trace is not None or state.level is not None or state.whole
            or not reverse.runs_as_graphs()):  # a program's own `__call__` calls it in either mode
        return _eager_call(self, *args, **kwargs)
    if has_phase(self):
        with flags_of_phase(self):
            return compiled_cell(self)(*args, **kwargs)
    return compiled_cell(self)(*args, **kwargs)


def _graph_gradient(request: Any, args: tuple, kwargs: dict) -> Any:
    if state.trace is not None or state.level is not None or state.whole:
        return request.run_on(*args, **kwargs)
    compiled = request.compiled
    if compiled is None:
        compiled = request.compiled = redefined(
            request, lambda run: CompiledAsAsked(partial(_whole, run), **_choices_of(request.fn)))
    return (compiled or compiled_gradient(request))(*args, **kwargs)


def _switch(mode: int) -> None:
    graph = mode == context.GRAPH_MODE
    if Cell.__call__ in (_graph_call, _eager_call):  # else a program has put its own there
        Cell.__call__ = _graph_call if graph else _eager_call  # type: ignore[method-assign]
    reverse.register_graphs(_graph_gradient if graph else None)


context.mode_listeners.append(_switch)


def _whole(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function so that nothing inside it is compiled by itself."""
    before, state.whole = state.whole, True
    try:
        return function(*args, **kwargs)
    finally:
        state.whole = before


def _whole_cell(cell: Cell, *args: Any, **kwargs: Any) -> Any:
    return _whole(_eager_call, cell, *args, **kwargs)


def _whole_gradient(request: Any, *args: Any, **kwargs: Any) -> Any:
    return _whole(request.run_on, *args, **kwargs)


def compiled_cell(cell: Cell) -> Compiled:
    """The compiled function of a Cell's calls, made at its first use."""
    found = cell.__dict__.get("_compiled_whole")
    if found is None or found.fn.args[0] is not cell:  # the Cell is a shallow copy
        with _making:  # one for all threads
            found = cell.__dict__.get("_compiled_whole")
            if found is None or found.fn.args[0] is not cell:
                found = CompiledAsAsked(partial(_whole_cell, cell), **choices(cell.jit_config_dict),
                                        dynamic=cell.declared_inputs())
                found.name = type(cell).__name__
                cell.__dict__["_compiled_whole"] = found
    return found


def compiled_gradient(request: Any) -> Compiled:
    """The compiled function for a gradient.

    A program may make the same gradient function at every step, as in ``grad(net)(x)``; so the
    compiled function is kept with the differentiated function, by the arguments of `grad`.
    """
    if request.compiled is not None:
        return request.compiled
    holder = getattr(_owner(request.fn), "__dict__", None)
    kept = {} if holder is None else holder.get("_compiled_gradients")
    if kept is None:
        made = CompiledMethods()
        kept = holder.setdefault("_compiled_gradients", made)  # type: ignore[union-attr]
    key = getattr(request.fn, "__func__", None), *request.key()  # an object has several methods
    with _making:  # one for all threads
        found = kept.get(key)
        if found is None or found.fn.args[0].fn != request.fn:  # the function is a copy
            found = kept[key] = CompiledAsAsked(
                partial(_whole_gradient, request), **_choices_of(request.fn),
                dynamic=_declared_of(request.fn))
            found.name = f"{request.name} of {_name_of(request.fn)}"
    request.compiled = found
    return found


def _owner(fn: Any) -> Any:
    """The object that keeps a gradient's compiled function: the function, or a method's object."""
    return fn.__self__ if isinstance(fn, types.MethodType) else fn


def _choices_of(fn: Any) -> dict[str, Any]:
    owner = _owner(fn)
    return choices(owner.jit_config_dict if isinstance(owner, Cell) else None)


def _declared_of(fn: Any) -> list[Any] | None:
    """What varies among a Cell's inputs; the gradient's calls aren't checked by it, as in 2.10."""
    found = fn.declared_inputs() if isinstance(fn, Cell) else None
    return None if found is None else list(found)


def _name_of(fn: Any) -> str:
    return getattr(fn, "__qualname__", type(fn).__name__)
