"""The tree of a network: the Parameters, buffers and Cells that a Cell owns, and their names."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from inspect import getattr_static
from typing import Any

from .. import ops
from ..compat.missing import attribute_of
from ..core.primitive import Primitive
from ..core.require import of_type
from ..tensors.parameter import Parameter, ParameterTuple, is_generated_name
from ..tensors.tensor import Tensor
from .cell_lists import warn_of_listed_cells

REGISTRIES = ("_params", "_cells", "_buffers")  # the attributes that hold what a Cell owns
_NOTHING = object()


class CellTree:
    """Registration and lookup of a Cell's Parameters, Cells and buffers."""

    _params: OrderedDict[str, Parameter | None]
    _cells: OrderedDict[str, Any]
    _buffers: OrderedDict[str, Tensor | None]
    _non_persistent_buffers: dict[str, None] = {}  # an object's own, once it has any
    _auto_prefix: bool

    # the operators that MindSpore's class keeps as attributes, where programs that derive from it
    # call them: each is made at its first use
    _operators: dict[str, Callable[[Any], Any]] = {}

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        params, cells, buffers = own.get("_params"), own.get("_cells"), own.get("_buffers")
        if isinstance(value, Parameter):
            _require_init(self, params)
            _forget(own, name, cells, buffers)
            self.insert_param_to_cell(name, value)
        elif isinstance(value, CellTree):
            _require_init(self, cells)
            _forget(own, name, params, buffers)
            shared = getattr_static(type(self), name, _NOTHING)
            if isinstance(shared, property):  # which nothing of the object's own comes before
                _require_free(self, "Cell", name, cells)
            if self._auto_prefix:
                value.update_parameters_name(name + ".")
            cells[name] = value  # type: ignore[index]
            if shared is not _NOTHING:  # a method of newer versions, which would hide the Cell
                own[name] = value
        elif params is not None and name in params:
            self._set_parameter(name, value)
        elif cells is not None and name in cells:
            if isinstance(value, Primitive):  # in its place, while the tree keeps the Cell
                object.__setattr__(self, name, value)
            elif value is None:
                own.pop(name, None)
                cells[name] = None
            else:
                raise TypeError(f"'{name}' is a Cell of {type(self).__name__}, and can only be "
                                f"replaced by a Cell, a Primitive or None, but got "
                                f"{type(value).__name__}.")
        elif buffers is not None and name in buffers:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"'{name}' is a buffer of {type(self).__name__}, and can only be "
                                f"replaced by a Tensor or None, but got {type(value).__name__}.")
            buffers[name] = value
        elif isinstance(value, Tensor) and value.__dict__.get("_is_buffer"):
            self.register_buffer(name, value, value.persistent)  # type: ignore[attr-defined]
        else:
            if isinstance(value, ParameterTuple):
                self._register_parameter_tuple(name, value)
            object.__setattr__(self, name, value)

    def _set_parameter(self, name: str, value: Any) -> None:
        parameter = self._params[name]
        if value is None:
            self._params[name] = None
        elif parameter is not None and (isinstance(value, Tensor) or (
                isinstance(value, (int, float)) and not parameter.ndim)):
            parameter.set_data(value)  # MindSpore's graph mode takes numbers, too
        else:
            raise TypeError(f"'{name}' is a Parameter of {type(self).__name__}, and can only be "
                            f"replaced by a Parameter, a Tensor or None, or a number if it holds "
                            f"one, but got {type(value).__name__}.")

    def _register_parameter_tuple(self, name: str, values: ParameterTuple) -> None:
        before = self.__dict__.get(name)
        replaced = {id(p) for p in before} if isinstance(before, ParameterTuple) else set()
        for parameter in values:
            if is_generated_name(parameter.name):
                number = self.__dict__["_numbered"] = self.__dict__.get("_numbered", 0) + 1
                parameter.name = f"Parameter${number}"
            there = self._params.get(parameter.name)
            if there is not None and there is not parameter and id(there) not in replaced:
                raise ValueError(f"For '{type(self).__name__}', a parameter named "
                                 f"'{parameter.name}' exists already; give '{name}' other names.")
            self._params[parameter.name] = parameter
            self._note_waiting(parameter)

    def _note_waiting(self, parameter: Parameter) -> None:
        """Note that the next call has to give first values to a Parameter."""
        if parameter.init is not None:
            self.__dict__.update(_waits=True, _plain=False)

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for registry in REGISTRIES:
            entries = own.get(registry)
            if entries is not None and name in entries:
                return entries[name]
        if name in type(self)._operators:
            made = type(self)._operators[name](self)
            made.__dict__["owner"] = self, name  # for strategies that it may be given
            return made
        if "_params" not in own and not name.startswith("__"):
            raise AttributeError(f"The '{type(self).__name__}' object has no attribute '{name}'; "
                                 f"call super().__init__() first in its __init__.")
        raise attribute_of(self, (kind.__name__ for kind in type(self).__mro__), name,
                           f"The '{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for registry in (self._params, self._cells, self._buffers):
            if name in registry:
                del registry[name]
                self.__dict__.pop(name, None)
                return
        object.__delattr__(self, name)

    def __dir__(self):
        return sorted({*object.__dir__(self), *self._params, *self._cells, *self._buffers})

    # -- adding ----------------------------------------------------------------------------------

    def insert_child_to_cell(self, child_name: str, child_cell: Any) -> None:
        """Add a Cell under a name.

        Raises:
            KeyError: if the name is no str, holds a dot, or belongs to something else.
            TypeError: if `child_cell` is neither a Cell nor None.
        """
        if not isinstance(child_name, str) or not child_name or "." in child_name:
            raise KeyError(f"For 'insert_child_to_cell', 'child_name' must be a str without '.', "
                           f"but got {child_name!r}.")
        _require_free(self, "insert_child_to_cell", child_name, self._cells, self._params)
        if child_cell is not None and not isinstance(child_cell, CellTree):
            raise TypeError(f"For 'insert_child_to_cell', 'child_cell' must be a Cell or None, "
                            f"but got {type(child_cell).__name__}.")
        if child_cell is not None and self._auto_prefix:
            child_cell.update_parameters_name(child_name + ".")
        self._cells[child_name] = child_cell

    def insert_param_to_cell(self, param_name: str, param: Parameter | None,
                             check_name_contain_dot: bool = True) -> None:
        """Add a Parameter under a name; one without a name of its own takes it.

        Raises:
            KeyError: if the name is no str, holds a dot, or belongs to something else.
            TypeError: if `param` is neither a Parameter nor None.
        """
        params = self.__dict__.get("_params")
        _require_init(self, params)
        if not isinstance(param_name, str) or not param_name or (
                check_name_contain_dot and "." in param_name):
            raise KeyError(f"For 'insert_param_to_cell', 'param_name' must be a str without '.', "
                           f"but got {param_name!r}.")
        _require_free(self, "insert_param_to_cell", param_name, self._params, self._cells)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"For 'insert_param_to_cell', 'param' must be a Parameter or None, "
                            f"but got {type(param).__name__}.")
        if param is not None and is_generated_name(param.name):
            param.name = param_name
        self._params[param_name] = param
        if param is not None:
            self._note_waiting(param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a Tensor that belongs to the state but is not learned.

        Args:
            name: its name.
            tensor: the Tensor, or None.
            persistent: whether it is part of `state_dict`.

        Raises:
            KeyError: if the name is empty, holds a dot, or belongs to something else.
            TypeError: if `tensor` is neither a Tensor nor None.
        """
        _require_init(self, self.__dict__.get("_buffers"))
        if not isinstance(name, str):
            raise TypeError(f"For 'register_buffer', the buffer name should be a string, but got "
                            f"{name!r}.")
        if not name or "." in name:
            raise KeyError("For 'register_buffer', the buffer name must not be empty or contain "
                           f'".", but got {name!r}.')
        _require_free(self, "register_buffer", name, self._buffers, self._params, self._cells)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"For 'register_buffer', 'tensor' must be a Tensor or None, "
                            f"but got {type(tensor).__name__}.")
        self._buffers[name] = tensor
        if not persistent:
            self.__dict__.setdefault("_non_persistent_buffers", {})[name] = None
        elif name in self._non_persistent_buffers:
            del self._non_persistent_buffers[name]

    # -- cells -----------------------------------------------------------------------------------

    def cells(self):
        """The direct children."""
        return self.name_cells().values()

    def name_cells(self) -> OrderedDict[str, Any]:
        """The direct children by name, each once."""
        seen: set[int] = set()
        found: OrderedDict[str, Any] = OrderedDict()
        for name, cell in self._cells.items():
            if cell is not None and id(cell) not in seen:
                seen.add(id(cell))
                found[name] = cell
        return found

    def cells_and_names(self, cells: Any = None,
                        name_prefix: str = "") -> Iterator[tuple[str, Any]]:
        """This Cell and all below it, each once, with its path (the Cell's own is ``''``)."""
        seen: set[int] = set() if cells is None else cells
        if id(self) in seen:
            return
        seen.add(id(self))
        yield name_prefix, self
        for name, cell in self._cells.items():
            if cell is not None:
                path = f"{name_prefix}.{name}" if name_prefix else name
                yield from cell.cells_and_names(seen, path)

    def get_sub_cell(self, target: str) -> Any:
        """The Cell at a path such as ``"layer1.0"``.

        Raises:
            AttributeError: if there is none.
        """
        cell: Any = self
        for part in target.split(".") if target else ():
            child = cell._cells.get(part)
            if child is None:
                raise AttributeError(f"For 'get_sub_cell', there is no Cell at '{target}': "
                                     f"{type(cell).__name__} has no Cell '{part}'.")
            cell = child
        return cell

    def apply(self, fn: Callable[[Any], Any]) -> Any:
        """Call `fn` on every Cell below this one, then on this one; returns the Cell."""
        for cell in self.cells():
            cell.apply(fn)
        fn(self)
        return self

    # -- parameters and buffers ------------------------------------------------------------------

    def parameters_and_names(self, name_prefix: str = "",
                             expand: bool = True) -> Iterator[tuple[str, Parameter]]:
        """The Parameters, each once, with their paths; those of Cells below too, if `expand`."""
        seen: set[int] = set()
        for path, cell in self.cells_and_names(name_prefix=name_prefix) if expand else (
                (name_prefix, self),):
            for name, parameter in cell._params.items():
                if parameter is not None and id(parameter) not in seen:
                    seen.add(id(parameter))
                    yield (f"{path}.{name}" if path else name), parameter

    def get_parameters(self, expand: bool = True) -> Iterator[Parameter]:
        """The Parameters, those of Cells below too, if `expand`."""
        for _, parameter in self.parameters_and_names(expand=expand):
            yield parameter

    def trainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The Parameters that require a gradient."""
        warn_of_listed_cells(self, CellTree)
        return [p for p in self.get_parameters(recurse) if p.requires_grad]

    def untrainable_params(self, recurse: bool = True) -> list[Parameter]:
        """The Parameters that require no gradient."""
        return [p for p in self.get_parameters(recurse) if not p.requires_grad]

    def parameters_dict(self, recurse: bool = True) -> OrderedDict[str, Parameter]:
        """The Parameters by their names."""
        return OrderedDict((p.name, p) for p in self.get_parameters(recurse))

    def parameters_broadcast_dict(self, recurse: bool = True) -> OrderedDict[str, Parameter] | None:
        """The Parameters that devices share (all that are not layer-wise parallel)."""
        found = OrderedDict((p.name, p) for p in self.get_parameters(recurse)
                            if not p.layerwise_parallel)
        return found or None

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """Name every Parameter `prefix` and its path from this Cell."""
        of_type(prefix, str, "prefix", "update_parameters_name")
        for path, parameter in self.parameters_and_names(expand=recurse):
            parameter.name = prefix + path

    def check_names(self) -> None:
        """Check that no two Parameters share a name.

        Raises:
            ValueError: if two do.
        """
        names: dict[str, str] = {}
        for path, parameter in self.parameters_and_names():
            if parameter.name in names:
                raise ValueError(f"Parameters '{names[parameter.name]}' and '{path}' are both "
                                 f"named '{parameter.name}'; give one of them another name.")
            names[parameter.name] = path

    def check_names_and_refresh_name(self) -> None:
        """Name each Parameter after its path, then check that the names differ."""
        for path, parameter in self.parameters_and_names():
            parameter.name = path
        self.check_names()

    def remove_redundant_parameters(self) -> None:
        """Forget Parameters whose data has no elements."""
        for _, cell in self.cells_and_names():
            for name, parameter in list(cell._params.items()):
                if parameter is not None and parameter.size == 0:
                    del cell._params[name]

    def init_parameters_data(self, auto_parallel_mode: bool = False) -> dict[Parameter, Parameter]:
        """Make the data of Parameters whose initializers were delayed.

        Returns:
            Each Parameter, with itself as the value: nothing is replaced by another object.
        """
        return {parameter: parameter.init_data() for parameter in self.get_parameters()}

    def named_buffers(self, prefix: str = "", recurse: bool = True,
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their paths."""
        seen: set[int] = set()
        cells = self.cells_and_names(name_prefix=prefix) if recurse else ((prefix, self),)
        for path, cell in cells:
            for name, buffer in cell._buffers.items():
                if buffer is None or (remove_duplicate and id(buffer) in seen):
                    continue
                seen.add(id(buffer))
                yield (f"{path}.{name}" if path else name), buffer

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path.

        Raises:
            AttributeError: if there is none.
        """
        path, _, name = target.rpartition(".")
        cell = self.get_sub_cell(path)
        if cell._buffers.get(name) is None:
            raise AttributeError(f"For 'get_buffer', {type(cell).__name__} has no attribute "
                                 f"'{name}' that is a buffer.")
        return cell._buffers[name]


def operator(name: str, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """For `_operators`: what makes the operator of this name.

    Nothing of it is kept: an attribute that a first call leaves would make a compiled function
    record its second call again.
    """
    def make(_: Any) -> Any:
        return getattr(ops, name)(*args, **kwargs)

    return make


def _require_free(cell: Any, function: str, name: str, registry: Any, *others: Any) -> None:
    """Refuse a name that something outside `registry` has: an attribute or one of the `others`.

    An attribute of the class counts, since it would be found before what is registered. A property
    that has no value yet doesn't: what it reads is what is registered.
    """
    if name not in registry and (
            name in cell.__dict__ or any(name in o for o in others)
            or hasattr(type(cell), name) and hasattr(cell, name)):
        raise KeyError(f"For '{function}', {type(cell).__name__} has an attribute "
                       f"'{name}' already.")


def _require_init(cell: CellTree, registry: Any) -> None:
    if registry is None:
        raise AttributeError(f"Call super().__init__() in {type(cell).__name__}.__init__ before "
                             f"assigning Parameters, Cells or buffers.")


def _forget(own: dict, name: str, *registries: Any) -> None:
    """Take a name out of where it was, because another kind of thing takes its place."""
    own.pop(name, None)
    for registry in registries:
        if registry is not None:
            registry.pop(name, None)


