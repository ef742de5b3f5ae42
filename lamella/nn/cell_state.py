"""A network's state as a dictionary: `state_dict`, `load_state_dict` and their hooks."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from ..autodiff.hooks import HookHandle, add_hook
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor
from .cell_tree import CellTree

_EXTRA = "_extra_state"


class CellState(CellTree):
    """Saving and loading the Parameters and persistent buffers of a Cell."""

    _state_hooks: dict[str, OrderedDict[int, Callable[..., Any]]]

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "",
                   keep_vars: bool = False) -> OrderedDict[str, Any]:
        """The Parameters and persistent buffers by path.

        Args:
            destination: a dict to fill; default: a new one.
            prefix: put before every path.
            keep_vars: accepted for MindSpore's sake; the objects themselves are given.
        """
        found = OrderedDict() if destination is None else destination
        for path, cell in self.cells_and_names(name_prefix=prefix.rstrip(".")):
            start = f"{path}." if path else ""
            for hook in cell._hooks_of("state_pre").values():
                hook(cell, start, keep_vars)
            for name, parameter in cell._params.items():
                if parameter is not None:
                    found[start + name] = parameter
            for name, buffer in cell._buffers.items():
                if buffer is not None and name not in cell._non_persistent_buffers:
                    found[start + name] = buffer
            if type(cell).get_extra_state is not CellState.get_extra_state:
                found[start + _EXTRA] = cell.get_extra_state()
            for hook in cell._hooks_of("state_post").values():
                hook(cell, found, start, {})
        return found

    def load_state_dict(self, state_dict: Mapping[str, Any],
                        strict: bool = True) -> tuple[list[str], list[str]]:
        """Take over the values of a state dictionary.

        Nothing is changed unless everything fits.

        Args:
            state_dict: Tensors by path, as `state_dict` gives them.
            strict: whether the paths must match exactly.

        Returns:
            The paths that `state_dict` lacks, and those the network doesn't know.

        Raises:
            TypeError: if `state_dict` is no mapping, or a value no Tensor.
            RuntimeError: if a shape differs, or with `strict` a path is missing or unknown.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"For 'load_state_dict', 'state_dict' must be a mapping, "
                            f"but got {type(state_dict).__name__}.")
        missing: list[str] = []
        errors: list[str] = []
        updates: list[Callable[[], Any]] = []
        known: set[str] = set()
        for path, cell in self.cells_and_names():
            start = f"{path}." if path else ""
            for hook in cell._hooks_of("load_pre").values():
                hook(cell, state_dict, start, {}, strict, missing, [], errors)
            targets = {**cell._params, **{k: v for k, v in cell._buffers.items()
                                          if k not in cell._non_persistent_buffers}}
            for name, target in targets.items():
                if target is None:
                    continue
                known.add(start + name)
                if start + name not in state_dict:
                    missing.append(start + name)
                    continue
                _plan_update(start + name, target, state_dict[start + name], updates, errors)
            if type(cell).set_extra_state is not CellState.set_extra_state:
                known.add(start + _EXTRA)
                if start + _EXTRA in state_dict:
                    extra = state_dict[start + _EXTRA]
                    updates.append(lambda cell=cell, extra=extra: cell.set_extra_state(extra))
                else:
                    missing.append(start + _EXTRA)
        unexpected = [key for key in state_dict if key not in known]
        if strict and missing:
            errors.append(f"missing: {', '.join(missing)}")
        if strict and unexpected:
            errors.append(f"not in the network: {', '.join(unexpected)}")
        if errors:
            raise RuntimeError(f"For 'load_state_dict', the state does not fit "
                               f"{type(self).__name__}: " + "; ".join(errors) + ".")
        for update in updates:
            update()
        for _, cell in self.cells_and_names():
            for hook in cell._hooks_of("load_post").values():
                hook(cell, (missing, unexpected))
        return missing, unexpected

    def get_extra_state(self) -> Any:
        """Further state to save with the Parameters; to be defined by a Cell that has some."""
        raise RuntimeError(f"{type(self).__name__} defines no 'get_extra_state'.")

    def set_extra_state(self, state: Any) -> None:
        """Restore the result of `get_extra_state`; to be defined by a Cell that has some."""
        raise RuntimeError(f"{type(self).__name__} defines no 'set_extra_state'.")

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(cell, prefix, keep_vars)`` before `state_dict` reads the Cell."""
        return self._add_state_hook("state_pre", hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(cell, state_dict, prefix, local_metadata)`` after the Cell was read."""
        return self._add_state_hook("state_post", hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(cell, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)`` before `load_state_dict` looks at the Cell."""
        return self._add_state_hook("load_pre", hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call ``hook(cell, (missing_keys, unexpected_keys))`` after `load_state_dict`."""
        return self._add_state_hook("load_post", hook)

    def _add_state_hook(self, kind: str, hook: Callable[..., Any]) -> HookHandle:
        if not callable(hook):
            raise TypeError(f"A state hook must be a function, but got {type(hook).__name__}.")
        return add_hook(self.__dict__, ("_state_hooks", kind), hook)

    def _hooks_of(self, kind: str) -> Mapping[int, Callable[..., Any]]:
        return self.__dict__.get("_state_hooks", {}).get(kind, {})


def _plan_update(path: str, target: Tensor, value: Any, updates: list, errors: list[str]) -> None:
    """Note the update of one Parameter or buffer, or why it can't be."""
    if not isinstance(value, Tensor):
        raise TypeError(f"For 'load_state_dict', the value of '{path}' must be a Tensor, "
                        f"but got {type(value).__name__}.")
    if value.shape != target.shape:
        errors.append(f"'{path}' has shape {target.shape}, but got {value.shape}")
    elif isinstance(target, Parameter):
        updates.append(lambda: target.assign_raw(value._raw))
    else:
        updates.append(lambda: target._raw.copy_(value._raw.detach()))
