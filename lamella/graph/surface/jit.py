"""`jit`: a function that is recorded on its first call and replayed as a graph from then on."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ...core.require import one_of
from ...nn.cell_tree import CellTree
from ..runtime.compiled import Compiled
from .as_asked import CompiledAsAsked
from .config import JitConfig, check_options, choices, declared

# arguments of older versions, which MindSpore 2.10 ignores; two of them have an effect here
_OLDER = ("mode", "hash_args", "compile_once", "input_signature", "jit_config")


def jit(function: Callable[..., Any] | None = None, *, capture_mode: str = "ast",
        jit_level: str = "", dynamic: int = 0, fullgraph: bool = False, backend: str = "",
        **options: Any) -> Any:
    """Record a function on its first call and replay its kernels from then on.

    The whole call becomes one graph: forward, backward, clipping, the optimizer's update. Python
    control flow on tensors works: each path taken is recorded with guards on the values that it
    depends on, and a replay whose guards fail has no effect. Numbers, lists, arrays and functions
    that the function reads from objects, modules or variables are guarded, too: if one has changed,
    the function is recorded again. Arguments may be new objects in each call: functions, methods,
    dataclass objects and NumPy arrays are inputs like the Tensors that they hold. Assignments to
    objects are repeated by each replay, and `print` is repeated at its end. A graph can't hold
    other side effects, input from outside (a clock, a file, the environment), and a tensor as text
    or as a NumPy array: the run that is being recorded continues eagerly, and later calls run
    eagerly, with one warning that names the operation and the line. Random numbers of Python's and
    NumPy's generators are drawn first by each replay, in the program's order. A call that raises
    while it is compiled changes no Parameter.

    Inside an eager gradient call (``value_and_grad(step, None, weights)(x)``) the function is
    recorded with its backward pass, and each later call replays both: it is one operation of the
    gradient call, as long as what this differentiates by is the same. Inside of other
    transformations (derivatives of derivatives, forward mode, `vmap`), and inside another compiled
    function, it runs as it is, and is part of what these compute or record.

    Args:
        function: a function, a method, a Cell or a Cell class, whose `construct` is compiled then;
            without it, a decorator is returned.
        capture_mode: ``"ast"``, ``"bytecode"`` or ``"trace"``; each means recording here.
        jit_level: ``"O0"`` replays the recorded kernels; ``"O1"`` (which ``""`` and ``"O2"`` mean
            too) improves the graph and, once it has run for half a second, compares that with
            machine code made in the background, and keeps what is faster.
        dynamic: 1 if shapes change from call to call. One graph then holds for any size, from the
            second size on; otherwise from the third.
        fullgraph: raise instead of running eagerly.
        backend: ``""``, ``"ms_backend"`` or ``"GE"``; accepted as MindSpore does.
        **options: MindSpore's other options: ``disable_format_transform``, ``exec_order``,
            ``infer_boost``, ``auto_offload`` and ``ge_options`` are checked and have no effect. Of
            the arguments of older versions, ``fn`` is `function`, ``input_signature`` declares the
            arguments' shapes, ``jit_config`` gives the level; the others have no effect.

    Returns:
        A `Compiled`, called like the function; its `report` tells how it has been run.

    Raises:
        TypeError: if `function` is not callable, or an argument is of the wrong type.
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
    one_of(capture_mode, ("ast", "bytecode", "trace"), "capture_mode", "jit")
    one_of(jit_level, ("", "O0", "O1", "O2"), "jit_level", "jit")
    one_of(backend, ("", "ms_backend", "GE"), "backend", "jit")
    if not isinstance(dynamic, int):
        raise TypeError(f"For 'jit', 'dynamic' must be an int, but got {dynamic!r}.")
    if dynamic not in (0, 1):
        raise ValueError(f"For 'jit', 'dynamic' must be 0 or 1, but got {dynamic!r}.")
    if not isinstance(fullgraph, bool):
        raise TypeError(f"For 'jit', 'fullgraph' must be a bool, but got {fullgraph!r}.")
    function = options.pop("fn", function)
    older = {name: options.pop(name) for name in _OLDER if name in options}
    check_options(options)
    settings = _settings(jit_level, dynamic, fullgraph, older)
    return functools.partial(_decorated, settings) if function is None else _decorated(settings,
                                                                                       function)


def _settings(level: str, dynamic: int, fullgraph: bool, older: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `Compiled`."""
    config = older.get("jit_config")
    requested = {"jit_level": level}
    if isinstance(config, JitConfig):
        requested = config.jit_config_dict
    elif config is not None:
        raise TypeError(f"For 'jit', 'jit_config' must be a JitConfig, but got {config!r}.")
    signature = older.get("input_signature")
    signatures: list[Any] | None = [] if dynamic else None
    if signature is not None:
        signatures = declared(signature if isinstance(signature, (tuple, list)) else (signature,))
    return {"level": choices(requested)["level"], "dynamic": signatures,
            "fullgraph": fullgraph or requested.get("jit_syntax_level") == "STRICT"}


def _decorated(settings: dict[str, Any], fn: Any) -> Any:
    """`fn` compiled, whatever kind of callable it is."""
    if isinstance(fn, (staticmethod, classmethod)):
        return type(fn)(_decorated(settings, fn.__func__))
    if inspect.isclass(fn) and issubclass(fn, CellTree):
        fn.construct = _decorated(settings, fn.construct)  # type: ignore[attr-defined]
        return fn
    if isinstance(fn, Compiled):
        return fn
    if not callable(fn):
        raise TypeError(f"For 'jit', 'function' must be a function or a Cell, "
                        f"but got {type(fn).__name__}.")
    dynamic = getattr(fn, "__lamella_dynamic__", settings["dynamic"])
    return CompiledAsAsked(fn, settings["fullgraph"], settings["level"], dynamic)
