"""`JitConfig`, and the settings of `jit` and `GRAPH_MODE` that it and other options give."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ...core import context
from ...core.require import one_of
from ...tensors.tensor import Tensor
from ..runtime.declared import Dimensions, Signatures

AUTOMATIC = "O1"  # the level where none is given
LEVELS = ("O0", "O1", "O2")

# the options of `jit` in MindSpore 2.10, and the values or the type each may have
_OPTIONS: dict[str, Any] = {
    "disable_format_transform": bool,
    "exec_order": ("bfs", "dfs"),
    "infer_boost": ("on", "off"),
    "auto_offload": ("weight", "activation", "all"),
    "ge_options": dict,
}


class JitConfig:
    """How a network is compiled; see `Cell.set_jit_config`.

    Args:
        jit_level: ``"O0"`` replays the recorded kernels, ``"O1"`` may choose faster ones;
            ``""`` leaves it to Lamella. ``"O2"`` is the same as ``"O1"``.
        exc_mode: ``"auto"``, ``"sink"`` or ``"no_sink"``; all run the same way here.
        jit_syntax_level: ``"STRICT"`` raises where a function can't be one graph, ``"LAX"`` runs it
            eagerly then; ``""`` is as ``"LAX"``.
        debug_level: ``"RELEASE"`` or ``"DEBUG"``; no effect.
        infer_boost: ``"on"`` or ``"off"``; no effect.
        **kwargs: more, kept in `jit_config_dict`.

    Raises:
        ValueError: if an argument has another value.

    Examples:
        >>> import lamella as ms
        >>> ms.JitConfig(jit_level="O1").jit_config_dict["jit_level"]
        'O1'
    """

    def __init__(self, jit_level: str = "", exc_mode: str = "auto", jit_syntax_level: str = "",
                 debug_level: str = "RELEASE", infer_boost: str = "off", **kwargs: Any):
        one_of(jit_level, ("", *LEVELS), "jit_level", "JitConfig")
        one_of(exc_mode, ("auto", "sink", "no_sink"), "exc_mode", "JitConfig")
        one_of(jit_syntax_level, ("", "STRICT", "COMPATIBLE", "LAX"), "jit_syntax_level",
               "JitConfig")
        one_of(debug_level, ("RELEASE", "DEBUG"), "debug_level", "JitConfig")
        one_of(infer_boost, ("", "on", "off"), "infer_boost", "JitConfig")
        self.jit_config_dict: dict[str, Any] = {
            **kwargs, "jit_level": jit_level, "exc_mode": exc_mode,
            "jit_syntax_level": jit_syntax_level, "debug_level": debug_level,
            "infer_boost": infer_boost}
        if jit_level:
            self.jit_config_dict.setdefault("backend", "GE" if jit_level == "O2" else "ms_backend")


def choices(config: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The arguments of `Compiled` from a configuration: the level, and `fullgraph`.

    Defaults are those of ``set_context(jit_level=..., jit_config=..., jit_syntax_level=...)``.
    """
    own = dict(config or {})
    around = context.get_context("jit_config") or {}
    level = own.get("jit_level") or context.get_context("jit_level") or around.get("jit_level")
    syntax = own.get("jit_syntax_level") or around.get("jit_syntax_level")
    strict = (syntax == "STRICT" if syntax
              else context.get_context("jit_syntax_level") == context.STRICT)
    return {"level": "O1" if level == "O2" else level or AUTOMATIC, "fullgraph": strict}


def check_options(options: dict[str, Any]) -> None:
    """Check the options of `jit` that are known; others are ignored, as in MindSpore.

    Raises:
        TypeError: if one is of the wrong type.
        ValueError: if one has an unknown value.
    """
    for name, value in options.items():
        known = _OPTIONS.get(name)
        if isinstance(known, tuple):
            one_of(value, known, name, "jit")
        elif known is not None and not isinstance(value, known):
            raise TypeError(f"For 'jit', '{name}' must be a {known.__name__}, but got {value!r}.")


def declared(given: Any) -> Any:
    """The declared signature of one argument: its dimensions, None where they vary.

    Args:
        given: a Tensor made by ``Tensor(shape=[None, 3], dtype=...)``, tuples or lists of them, or
            anything else, which declares nothing.

    Returns:
        A tuple of dimensions, a list of such signatures, or None.
    """
    if isinstance(given, Tensor):
        return Dimensions.of(given)
    if isinstance(given, (tuple, list)):
        return [declared(inner) for inner in given]
    return None


def declared_arguments(fn: Callable[..., Any], inputs: tuple, named: dict[str, Any],
                       name: str) -> list[Any]:
    """The declared signatures of a function's arguments, by position.

    Raises:
        ValueError: if `named` has a name that is no argument.
    """
    if not named:
        return Signatures([declared(given) for given in inputs], name, all_given=True)
    known = list(inspect.signature(fn).parameters)
    for argument in named:
        if argument not in known:
            raise ValueError(f"For '{name}', there is no argument '{argument}'; "
                             f"there are {', '.join(known)}.")
    return Signatures([declared(named.get(argument)) for argument in known], name,
                      all_given=False)


def varies(signature: Any) -> bool:
    """Whether a declared signature leaves a dimension open."""
    if isinstance(signature, list):
        return any(varies(inner) for inner in signature)
    return isinstance(signature, tuple) and None in signature
