"""`jit`: a function that is recorded on its first call and replayed as a graph from then on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .compiled import Compiled


def jit(function: Callable[..., Any] | None = None, *, capture_mode: str = "ast",
        jit_level: str = "O0", dynamic: int | bool = 0, fullgraph: bool = False, backend: str = "",
        **options: Any) -> Any:
    """Record a function on its first call and replay its kernels from then on.

    The whole call becomes one graph: forward, backward, clipping, the optimizer's update. Python
    control flow on tensors works: each path taken is recorded, and a replay checks that the values
    it depends on are the same, and changes nothing if they are not. A function that prints a tensor
    or hands it to NumPy can't be held by a graph; it runs eagerly, with one warning that says why.
    A call that raises changes no Parameter.

    Inside a gradient call, or inside another compiled function, the function runs as it is: what is
    around it records it.

    Args:
        function: a function, a method or a Cell; without it, a decorator is returned.
        capture_mode: ``"ast"``, ``"bytecode"`` or ``"trace"``; each means recording here.
        jit_level: ``""``, ``"O0"``, ``"O1"`` or ``"O2"``; each replays the recorded kernels.
        dynamic: accepted as MindSpore does; each shape has its own graph.
        fullgraph: raise instead of running eagerly.
        backend: ``""``, ``"ms_backend"`` or ``"GE"``; accepted as MindSpore does.
        **options: more of MindSpore's, without effect.

    Returns:
        A `Compiled`, called like the function; its `report` says how it has been run.

    Raises:
        TypeError: if `function` is not callable.
        ValueError: if an argument has a value that MindSpore doesn't know.

    Examples:
        >>> import lamella as ms
        >>> @ms.jit
        ... def f(x):
        ...     if x.sum() > 0:
        ...         return x * 2
        ...     return -x
        >>> print(f(ms.Tensor([1.0, 2.0])), f(ms.Tensor([1.0, -2.0])), f(ms.Tensor([3.0, 4.0])))
        [2. 4.] [-1.  2.] [6. 8.]
        >>> f.report()["traces"], f.report()["replays"]
        (2, 1)
    """
    for name, value, known in (("capture_mode", capture_mode, ("ast", "bytecode", "trace")),
                               ("jit_level", jit_level, ("", "O0", "O1", "O2")),
                               ("backend", backend, ("", "ms_backend", "GE"))):
        if value not in known:
            raise ValueError(f"For 'jit', '{name}' must be one of {', '.join(map(repr, known))}, "
                             f"but got {value!r}.")

    def decorate(fn: Callable[..., Any]) -> Compiled:
        if not callable(fn):
            raise TypeError(f"For 'jit', 'function' must be a function or a Cell, "
                            f"but got {type(fn).__name__}.")
        return fn if isinstance(fn, Compiled) else Compiled(fn, fullgraph)

    return decorate if function is None else decorate(function)
