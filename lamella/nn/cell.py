"""Cell: the building block of networks, a function with Parameters and Cells of its own."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Any

import torch

from ..autodiff.custom import call_with_bprop, has_rule
from ..autodiff.recompute import checkpointed
from ..core import dtype as mstype
from ..core.declared import without_caches
from ..core.dtype import to_raw
from ..core.elsewhere import found_elsewhere
from ..core.errors import KERNEL_ERRORS, describe, explain_construction
from ..core.state import state
from ..tensors.tensor import Tensor
from .cell_call import CellHooks, call_in_float, record_run, run_slot
from .cell_compile import CellCompile
from .cell_errors import explained_call
from .cell_marks import CellMarks
from .cell_state import CellState

_FLOATING_FLAGS = {"fp16": mstype.float16, "fp32": mstype.float32, "bf16": mstype.bfloat16}


class Cell(CellState, CellHooks, CellCompile, CellMarks):
    """The base of all networks and layers. A subclass computes in `construct`.

    Parameters, Cells and ParameterTuples assigned as attributes belong to the Cell, and Parameters
    are named after their path. A subclass that defines ``bprop(self, *inputs, out, dout)`` gives
    its own backward rule: it takes the inputs, what `construct` returned, and the gradient of that,
    and returns a gradient for each input. It may take inputs by name after ``*``, and may end its
    result with a dict of gradients by Parameter. One that defines
    ``jvp(self, *inputs, out, dinputs)`` gives its forward rule: alone, gradients are its transpose.

    Args:
        auto_prefix: whether Parameters of Cells below get their path before their name.
        flags: attributes to set, as `add_flags` does.

    Examples:
        >>> import lamella as ms
        >>> from lamella import nn
        >>> class Scale(nn.Cell):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.factor = ms.Parameter(ms.Tensor(3.0))
        ...     def construct(self, x):
        ...         return x * self.factor
        >>> net = Scale()
        >>> print(net(ms.Tensor([1.0, 2.0])), [p.name for p in net.get_parameters()])
        [3. 6.] ['factor']
    """

    # names of Parameters that `to_float` leaves alone, such as running statistics
    kept_in_own_type: frozenset[str] = frozenset()

    _is_whole = True  # no structure of Tensors, also if a subclass is a dataclass
    _amp_level = ""  # the level of `auto_mixed_precision`

    def __init_subclass__(cls, **given: Any) -> None:
        """Let errors about the arguments of Lamella's own Cells name them."""
        super().__init_subclass__(**given)
        explain_construction(cls)

    def __init__(self, auto_prefix: bool = True, flags: dict[str, Any] | None = None):
        own = self.__dict__
        own["_params"] = OrderedDict()
        own["_cells"] = OrderedDict()
        own["_buffers"] = OrderedDict()
        own["_auto_prefix"] = auto_prefix
        own["_plain"] = not has_rule(self)  # construct is all there is to a call
        own["_float_type"] = None
        own["_recompute"] = False
        own["training"] = False
        own["requires_grad"] = False
        own["_create_time"] = int(time.time() * 1e9)
        if flags is not None:
            if not isinstance(flags, dict):
                raise TypeError(f"For 'Cell', 'flags' must be a dict, but got {describe(flags)}.")
            self.add_flags(**flags)

    # -- calling ---------------------------------------------------------------------------------

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs from the inputs; to be defined by the subclass."""
        rename = "; its method 'forward' must be called 'construct'" if hasattr(
            type(self), "forward") else ""
        raise AttributeError(f"For '{type(self).__name__}', the method 'construct' is not defined"
                             f"{rename}.")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._plain:
            try:
                return self.construct(*args, **kwargs)
            except KERNEL_ERRORS as error:
                explained = explained_call(self, args, kwargs, error)
                if explained is error:
                    raise
                raise explained from error
        if "_waits" in self.__dict__:
            self._give_first_values()
            return self(*args, **kwargs)
        if self.requires_grad and state.level is None and torch.is_grad_enabled():
            return record_run(self, args, kwargs)
        return self._call_with_extras(args, kwargs)

    def _call_with_extras(self, args: tuple, kwargs: dict) -> Any:
        """A call with hooks, a precision of its own, recomputation or a backward rule."""
        if self.__dict__.get("_call_hooks"):
            return self._call_hooked(self._call_unhooked, args, kwargs)
        return self._call_unhooked(args, kwargs)

    def _call_unhooked(self, args: tuple, kwargs: dict) -> Any:
        if self._float_type is not None:
            return call_in_float(self, self._call_body, args, kwargs)
        return self._call_body(args, kwargs)

    def _call_body(self, args: tuple, kwargs: dict) -> Any:
        if state.trace is not None and "_parameter_hooks" in self.__dict__:
            return self._call_with_parameter_hooks(self._call_rule, args, kwargs)
        return self._call_rule(args, kwargs)

    def _call_rule(self, args: tuple, kwargs: dict) -> Any:
        if has_rule(self):
            return call_with_bprop(self, args, kwargs)
        if self._recompute:
            return checkpointed(self.construct, args, kwargs)
        try:
            return self.construct(*args, **kwargs)
        except KERNEL_ERRORS as error:
            explained = explained_call(self, args, kwargs, error)
            if explained is error:
                raise
            raise explained from error

    def _refresh_plain(self) -> None:
        """Note whether a call is more than `construct`, so that calls need not find out."""
        own = self.__dict__
        own["_plain"] = not (has_rule(self) or own.get("_call_hooks") or self._recompute
                             or self._float_type is not None or self.requires_grad
                             or "_parameter_hooks" in own or "_waits" in own)

    def _give_first_values(self) -> None:
        """Make the data of Parameters that wait for it (see `no_init_parameters`)."""
        for parameter in self._params.values():
            if parameter is not None:
                parameter.init_data()
        self.__dict__.pop("_waits", None)  # another thread may have been first
        self._refresh_plain()

    def _take_recorded_run(self, args: tuple, kwargs: dict, positions: tuple,
                           weights: tuple) -> Any:
        """The run recorded by the last call after `set_grad`, if it was on these very inputs."""
        runs, key = run_slot(self)
        recorded = runs.get(key)
        if recorded is None or not recorded.fits(self, args, kwargs):
            return None
        run = recorded.run_for(positions, weights)
        if run is not None:
            del runs[key]
        return run

    # -- modes -----------------------------------------------------------------------------------

    def set_train(self, mode: bool = True) -> Cell:
        """Put this Cell and all below it into training mode, or evaluation mode.

        Dropout and batch normalization act differently in the two. A new Cell is in evaluation
        mode.
        """
        for _, cell in self.cells_and_names():
            cell.__dict__["training"] = mode
        self.__dict__["phase"] = "train" if mode else "predict"
        return self

    def set_broadcast_flag(self, mode: bool = True) -> Cell:
        """Set the flag ``broadcast_flag`` of this Cell and all below it; returns the Cell."""
        return self.add_flags_recursive(broadcast_flag=mode)

    def run_construct(self, cast_inputs: Any, kwargs: dict[str, Any]) -> Any:
        """Call `construct` and nothing else."""
        return self.construct(*cast_inputs, **kwargs)

    def set_grad(self, requires_grad: bool = True) -> Cell:
        """Record calls made outside a gradient.

        The next `grad` of the Cell on the same inputs then reuses that run instead of calling
        `construct` again.
        """
        self.__dict__["requires_grad"] = requires_grad
        self.__dict__.pop("_run_of_set_grad", None)
        self._refresh_plain()
        return self

    def to_float(self, dst_type: Any) -> Cell:
        """Compute in another floating type: inputs and Parameters are converted at every call.

        Applies to this Cell and all below it; a later `to_float` on one of those wins there.
        The Parameters themselves keep their type.

        Args:
            dst_type: ``float16``, ``bfloat16`` or ``float32``.

        Raises:
            ValueError: for another type.
        """
        if dst_type not in (mstype.float16, mstype.float32, mstype.bfloat16):
            raise ValueError(f"For 'to_float', 'dst_type' must be float16, float32 or bfloat16, "
                             f"but got {dst_type!r}.")
        return self.add_flags_recursive(**{
            flag: kind == dst_type for flag, kind in _FLOATING_FLAGS.items()})

    def recompute(self, *, use_reentrant: bool = True, output_recompute: bool = False,
                  early_stop: bool = True, context_fn: Any = None, **kwargs: Any) -> None:
        """Keep no intermediate results for the backward pass: compute them again there."""
        self.__dict__["_recompute"] = True
        self._refresh_plain()

    def add_flags(self, **flags: Any) -> Cell:
        """Set attributes of this Cell. ``fp16``, ``fp32`` and ``bf16`` let it compute in that type.

        Examples:
            >>> import lamella as ms
            >>> net = ms.nn.Dense(3, 2).add_flags(fp16=True)
            >>> net(ms.ops.ones((1, 3))).dtype, net.fp16
            (mindspore.float16, True)
        """
        for name, value in flags.items():
            self.get_flags()[name] = value
            setattr(self, name, value)
        for flag, kind in _FLOATING_FLAGS.items():
            if flags.get(flag):
                self.__dict__["_float_type"] = to_raw(kind)
                self._refresh_plain()
        return self

    def add_flags_recursive(self, **flags: Any) -> Cell:
        """Set attributes of this Cell and all below it."""
        for _, cell in self.cells_and_names():
            cell.add_flags(**flags)
        return self

    def get_flags(self) -> dict[str, Any]:
        """The attributes set by `add_flags`."""
        return self.__dict__.setdefault("_flags", {})

    def set_comm_fusion(self, fusion_type: int, recurse: bool = True) -> Cell:
        """Note on each trainable Parameter with which others its gradient is communicated."""
        if not isinstance(fusion_type, int) or fusion_type < 0:
            raise ValueError(f"For 'set_comm_fusion', 'fusion_type' must be an int of 0 or more, "
                             f"but got {fusion_type!r}.")
        for parameter in self.trainable_params(recurse):
            parameter.comm_fusion = fusion_type
        return self

    # -- conversion ------------------------------------------------------------------------------

    def cast_inputs(self, inputs: tuple, dst_type: Any) -> tuple:
        """The inputs, with Tensors of another type converted to `dst_type`."""
        raw_type = to_raw(dst_type, "cast_inputs")
        return tuple(i if i._raw.dtype is raw_type else Tensor.from_torch(i._raw.to(raw_type))
                     for i in inputs)

    def to(self, *args: Any, **kwargs: Any) -> Cell:
        """Convert Parameters and buffers to another floating type.

        Args:
            dtype: the type; also by position. Integers and booleans keep theirs.
        """
        dtype = kwargs.get("dtype", args[0] if args else None)
        if not isinstance(dtype, mstype.Type):
            raise TypeError(f"For 'Cell.to', a floating data type is expected, but got {dtype!r}; "
                            f"devices are chosen by lamella.set_device.")
        raw_type = to_raw(dtype)
        for _, cell in self.cells_and_names():
            for parameter in cell._params.values():
                if parameter is not None and parameter._data.is_floating_point():
                    parameter._data = parameter._data.to(raw_type)
            for buffer in cell._buffers.values():
                if buffer is not None and buffer._raw.is_floating_point():
                    buffer._raw = buffer._raw.to(raw_type)
        return self

    def to_empty(self, *, device: Any = None, recurse: bool = True) -> Cell:
        """Give Parameters and buffers new memory without values."""
        for _, cell in self.cells_and_names() if recurse else (("", self),):
            for parameter in cell._params.values():
                if parameter is not None:
                    parameter._data = torch.empty_like(parameter._data).contiguous()
            for buffer in cell._buffers.values():
                if buffer is not None:
                    buffer._raw = torch.empty_like(buffer._raw)
        return self

    # -- identity --------------------------------------------------------------------------------

    @property
    def cls_name(self) -> str:
        """The name of the class."""
        return type(self).__name__

    @property
    def create_time(self) -> int:
        """When the Cell was made, in nanoseconds."""
        return self._create_time

    @property
    def param_prefix(self) -> str:
        """The path before this Cell's Parameters, as their names show it."""
        for name, parameter in self._params.items():
            if parameter is not None and parameter.name.endswith(f".{name}"):
                return parameter.name[: -len(name) - 1]
        return ""

    def update_cell_prefix(self) -> None:
        """Give each Cell below its path as the attribute ``cell_prefix``."""
        for path, cell in self.cells_and_names():
            cell.__dict__["cell_prefix"] = path

    def _get_name(self) -> str:
        return type(self).__name__

    def extend_repr(self) -> str:
        """The text between the parentheses of the printed form; for the subclass to define."""
        return ""

    def __repr__(self) -> str:
        extra = self.extend_repr()
        if not self._cells and "\n" not in extra:
            return f"{type(self).__name__}({extra})"
        lines = [extra] if extra else []
        lines += [f"({name}): {cell!r}" for name, cell in self._cells.items()]
        inner = "\n".join(lines).replace("\n", "\n  ")
        return f"{type(self).__name__}(\n  {inner}\n)"

    def _repr_html_(self) -> str:
        """The Cell in a notebook."""
        return found_elsewhere("nn", "cell_html")(self)

    def __getstate__(self) -> dict[str, Any]:
        return without_caches(self)
