"""The compilation settings of a Cell: `compile`, `set_inputs`, `set_jit_config`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core import log
from ..core.declared import COMPILED
from ..core.require import of_type
from ..core.state import state
from ..tensors.parameter import Parameter
from ..tensors.tensor import wrap
from .cell_tree import CellTree


class _Compiler:
    """What compiles Cells: the functions that `register_compiler` was given."""

    compile_ahead: Callable[..., None]
    compiled_cell: Callable[[Any], Callable[..., Any]]
    declared_arguments: Callable[..., list[Any]]
    JitConfig: type


_compiler = _Compiler()


def register_compiler(**functions: Any) -> None:
    """Register the compiler of Cells; `graph`, a room above this one, does so on import."""
    vars(_compiler).update(functions)


class CellCompile(CellTree):
    """Compilation ahead of calls, and its settings."""

    # the last run after `set_grad`, and flags that graphs were made with
    __caches__ = (*COMPILED, "_run_of_set_grad", "_flags_of_phases")

    @property
    def compiled(self) -> bool:
        """Whether there is a compiled function of the Cell.

        Examples:
            >>> import lamella as ms
            >>> net = ms.nn.ReLU()
            >>> before = net.compiled
            >>> net.compile(ms.ops.ones(3))
            >>> before, net.compiled
            (False, True)
        """
        return any(name in self.__dict__ for name in COMPILED)

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Record the graph for such inputs now, without changing anything.

        Args:
            *args, **kwargs: what `construct` takes; Tensors with open dimensions
                (``Tensor(shape=[None, 3], dtype=...)``) only declare the inputs, as `set_inputs`.

        Examples:
            >>> import lamella as ms
            >>> net = ms.nn.Dense(2, 1)
            >>> net.compile(ms.ops.ones((3, 2)))
        """
        _compiler.compile_ahead(self, args, kwargs)

    def compile_and_run(self, *args: Any, **kwargs: Any) -> Any:
        """Call the Cell compiled, in either mode.

        Examples:
            >>> import lamella as ms
            >>> print(ms.nn.ReLU().compile_and_run(ms.Tensor([-1.0, 2.0])))
            [0. 2.]
        """
        return _compiler.compiled_cell(self)(*args, **kwargs)  # type: ignore[arg-type]

    def set_inputs(self, *inputs: Any, **kwargs: Any) -> None:
        """Declare the inputs of a compiled Cell; dimensions given as None may vary.

        Args:
            *inputs: for each input a Tensor, such as ``Tensor(shape=[None, 3], dtype=...)``, or
                what else it will be.
            **kwargs: the same for some inputs, by name.

        Raises:
            ValueError: if inputs are given both by position and by name, or a name is no input of
                `construct`.

        Examples:
            >>> import lamella as ms
            >>> net = ms.nn.ReLU()
            >>> net.set_inputs(ms.Tensor(shape=[None, 2], dtype=ms.float32))
            >>> [i.shape for i in net.get_inputs()]
            [(-1, 2)]
        """
        if inputs and kwargs:
            raise ValueError("For 'set_inputs', the inputs must be given by position or by name, "
                             "not both.")
        own = self.__dict__
        before = own.get("_set_inputs")
        own["_set_inputs"] = (inputs, kwargs)
        try:
            self.declared_inputs()
        except ValueError:
            own["_set_inputs"] = before
            raise
        self._forget_graphs()

    def get_inputs(self) -> Any:
        """What `set_inputs` was given: a tuple, or a dict by name; None if it was never called."""
        given = self.__dict__.get("_set_inputs")
        if given is None:
            return None
        inputs, kwargs = given
        return kwargs if kwargs else inputs

    def declared_inputs(self) -> list[Any] | None:
        """For each input the form that `set_inputs` declared; None where it was never called."""
        given = self.__dict__.get("_set_inputs")
        if given is None:
            return None
        construct: Any = self.construct  # type: ignore[attr-defined]
        return _compiler.declared_arguments(construct, given[0], given[1], "set_inputs")

    def set_jit_config(self, jit_config: Any) -> None:
        """Set how this Cell is compiled; only the first call counts.

        Args:
            jit_config: a `JitConfig`.

        Raises:
            TypeError: if it is none.

        Examples:
            >>> import lamella as ms
            >>> net = ms.nn.ReLU()
            >>> net.set_jit_config(ms.JitConfig(jit_level="O1"))
            >>> net.jit_config_dict["jit_level"]
            'O1'
        """
        of_type(jit_config, _compiler.JitConfig, "jit_config", "set_jit_config")
        if self.jit_config_dict:
            log.warning(f"{type(self).__name__} has a JitConfig already; the new one is left out.")
            return
        self.__dict__["_jit_config"] = jit_config.jit_config_dict
        self._forget_graphs()

    @property
    def jit_config_dict(self) -> dict[str, Any]:
        """The options of `set_jit_config`."""
        return self.__dict__.get("_jit_config", {})

    def _forget_graphs(self) -> None:
        for name in COMPILED:
            self.__dict__.pop(name, None)

    def register_parameter_forward_hook(self, hook: Any) -> None:
        """Let `hook` change the values of Parameters that compiled calls of this Cell see.

        The Parameters keep their values; gradients flow through the hook. Eager calls don't call
        it, as in MindSpore.

        Args:
            hook: ``hook(parameter)`` gives the value to use, for all Parameters of this Cell and
                below; or a list of dicts ``{"params": [...], "hook": hook}``.

        Raises:
            TypeError: if `hook` is neither, or a hook or Parameter in it is none.
            ValueError: if a dict lacks one of the two.

        Examples:
            >>> import lamella as ms
            >>> net = ms.nn.Dense(1, 1, weight_init=2.0, has_bias=False)
            >>> net.register_parameter_forward_hook(lambda p: p * 10)
            >>> print(ms.jit(net)(ms.Tensor([[3.0]])))
            [[60.]]
        """
        name = "register_parameter_forward_hook"
        if not callable(hook) and not isinstance(hook, (list, tuple)):
            raise TypeError(f"For '{name}', 'hook' must be a function or a list of dicts, "
                            f"but got {hook!r}.")
        entries = [{"params": None, "hook": hook}] if callable(hook) else hook
        for entry in entries:
            _check_entry(name, entry)
        hooks = self.__dict__.setdefault("_parameter_hooks", [])
        hooks.extend((entry["params"], entry["hook"]) for entry in entries)
        self._refresh_plain()  # type: ignore[attr-defined]

    def _call_with_parameter_hooks(self, body: Callable[[tuple, dict], Any], args: tuple,
                                   kwargs: dict) -> Any:
        """Call `body` with this Cell's hooks on Parameters in this thread's overlay."""
        before = state.overlay
        overlay = {} if before is None else before.copy()
        for listed, hook in self.__dict__["_parameter_hooks"]:
            chosen: Any = self.get_parameters() if listed is None else listed
            for parameter in chosen:
                given = hook(wrap(overlay[parameter] if parameter in overlay else parameter._raw))
                overlay[parameter] = given._raw
        state.overlay = overlay
        try:
            return body(args, kwargs)
        finally:
            state.overlay = before


def _check_entry(name: str, entry: Any) -> None:
    if not isinstance(entry, dict) or not {"params", "hook"} <= entry.keys():
        raise ValueError(f"For '{name}', each dict must have 'params' and 'hook', "
                         f"but got {entry!r}.")
    for parameter in entry["params"] or ():
        if not isinstance(parameter, Parameter):
            raise TypeError(f"For '{name}', 'params' must hold Parameters, "
                            f"but got {type(parameter).__name__}.")
    if not callable(entry["hook"]):
        raise TypeError(f"For '{name}', 'hook' must be a function, but got {entry['hook']!r}.")
