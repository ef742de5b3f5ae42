"""Mixed precision: which parts of a network compute in float16 or bfloat16."""

from __future__ import annotations

from typing import Any

from .. import nn, ops
from ..autodiff.tree import map_tensors
from ..core import dtype as mstype
from ..core import log
from ..core.require import of_type
from ..nn.cell import Cell
from ..nn.container import SequentialCell
from ..ops.primitive import Primitive
from ..tensors.tensor import Tensor, wrap
from .autocast import autocast, existing

__all__ = ["AMP_BLACK_LIST", "AMP_WHITE_LIST", "auto_mixed_precision", "custom_mixed_precision",
           "get_black_list", "get_white_list"]

AMP_WHITE_LIST = [
    *existing(nn, "Conv1d Conv2d Conv3d Conv1dTranspose Conv2dTranspose Conv3dTranspose Dense "
                  "LSTMCell RNNCell GRUCell"),
    *existing(ops, "Conv2D Conv3D Conv2DTranspose Conv3DTranspose Conv2DBackpropInput MatMul "
                   "BatchMatMul PReLU ReLU Ger")]
AMP_BLACK_LIST = existing(nn, "BatchNorm1d BatchNorm2d BatchNorm3d LayerNorm")


def get_white_list() -> list[type]:
    """The Cells and operators that level "O1" computes in low precision, as a new list.

    Examples:
        >>> import lamella as ms
        >>> ms.nn.Dense in ms.amp.get_white_list()
        True
    """
    return list(AMP_WHITE_LIST)


def get_black_list() -> list[type]:
    """The Cells that level "O2" keeps in float32, as a new list.

    Examples:
        >>> import lamella as ms
        >>> ms.nn.LayerNorm in ms.amp.get_black_list()
        True
    """
    return list(AMP_BLACK_LIST)


def auto_mixed_precision(network: Any, amp_level: str = "O0",
                         dtype: mstype.Type = mstype.float16) -> Any:
    """Make a network compute partly in low precision; Parameters keep their type.

    Args:
        network: a Cell; with level "auto" also a function.
        amp_level: - "O0": no change.
            - "O1": layers and operators of the white list (products, convolutions) in low
              precision, everything between them in float32.
            - "O2": everything but the black list (normalizations).
            - "O3": everything.
            - "auto": each operator by itself: products in low precision, sensitive ones in float32,
              others in the type of their inputs.
        dtype: ``float16`` or ``bfloat16``.

    Returns:
        The network, within a Cell that gives float32 for "O2" and "O3".

    Raises:
        TypeError: if `network` is no Cell (nor, with "auto", a function).
        ValueError: if `amp_level` or `dtype` is none of the above.

    Examples:
        >>> import lamella as ms
        >>> class Double(ms.nn.Cell):
        ...     def construct(self, x):
        ...         self.computed_in = x.dtype
        ...         return x * 2
        >>> inner = Double()
        >>> net = ms.amp.auto_mixed_precision(inner, "O3", ms.bfloat16)
        >>> print(net(ms.Tensor([1.5])), inner.computed_in)
        [3.] BFloat16
    """
    is_cell = isinstance(network, Cell)
    if not is_cell and (amp_level != "auto" or not callable(network) or isinstance(network, type)):
        wanted = "a Cell or a function" if amp_level == "auto" else "a Cell"
        raise TypeError(f"For 'auto_mixed_precision' with amp_level {amp_level!r}, 'network' must "
                        f"be {wanted}, but got {type(network).__name__}.")
    if dtype not in (mstype.float16, mstype.bfloat16):
        raise ValueError(f"For 'auto_mixed_precision', 'dtype' must be float16 or bfloat16, "
                         f"but got {dtype!r}.")
    if amp_level not in ("O0", "O1", "O2", "O3", "auto"):
        raise ValueError(f"For 'auto_mixed_precision', 'amp_level' must be 'O0', 'O1', 'O2', 'O3' "
                         f"or 'auto', but got {amp_level!r}.")
    if amp_level == "O0":
        return network
    if getattr(network, "_amp_level", None):
        log.warning("The network's mixed precision changes from level %s to %s.",
                    network._amp_level, amp_level)
    lowered: Any = network
    if amp_level == "O1":
        _lower_some(lowered, dtype, tuple(get_white_list()), ())
    elif amp_level == "O2":
        lowered = _OutputTo32(lower_all_but(lowered, dtype, tuple(get_black_list())))
    elif amp_level == "O3":
        lowered = _OutputTo32(lowered.to_float(dtype))
    else:
        lowered = autocast(network, dtype)
    lowered._amp_level = amp_level
    return lowered


def custom_mixed_precision(network: Cell, *, white_list: list[type] | None = None,
                           black_list: list[type] | None = None,
                           dtype: mstype.Type = mstype.float16) -> Cell:
    """Make the layers and operators of a list, or all but those, compute in low precision.

    The results of each come back as float32. Operators count where they are attributes of a Cell.

    Args:
        network: the network, which is changed.
        white_list: classes of Cells and Primitives to compute in low precision.
        black_list: classes not to; one of the two lists must be given.
        dtype: ``float16`` or ``bfloat16``.

    Returns:
        The network.

    Raises:
        TypeError: if `network` is no Cell or an element is no class of Cells or Primitives.
        ValueError: if none or both of the lists are given, or for another `dtype`.

    Examples:
        >>> import lamella as ms
        >>> class Double(ms.nn.Cell):
        ...     def construct(self, x):
        ...         self.computed_in = x.dtype
        ...         return x * 2
        >>> net = ms.amp.custom_mixed_precision(Double(), white_list=[Double])
        >>> print(net(ms.Tensor([1.5])).dtype, net.computed_in)
        Float32 Float16
    """
    of_type(network, Cell, "network", "custom_mixed_precision")
    if (white_list is None) == (black_list is None):
        raise ValueError("For 'custom_mixed_precision', exactly one of 'white_list' and "
                         "'black_list' must be given.")
    if dtype not in (mstype.float16, mstype.bfloat16):
        raise ValueError(f"For 'custom_mixed_precision', 'dtype' must be float16 or bfloat16, "
                         f"but got {dtype!r}.")
    name = "black_list" if white_list is None else "white_list"
    classes: list[type] = of_type(black_list if white_list is None else white_list, list, name,
                                  "custom_mixed_precision")
    for one in classes:
        if not isinstance(one, type) or not issubclass(one, (Cell, Primitive)):
            raise TypeError(f"For 'custom_mixed_precision', '{name}' must hold classes of Cells "
                            f"and Primitives, but got {one!r}.")
    if white_list is None:
        _lower_some(network, dtype, (Cell, Primitive), tuple(classes))
    else:
        _lower_some(network, dtype, tuple(classes), ())
    return network


def _has_own_precision(cell: Cell) -> bool:
    return cell.__dict__.get("_float_type") is not None


def _lower_some(cell: Cell, dtype: Any, chosen: tuple[type, ...], kept: tuple[type, ...]) -> None:
    """Lower the chosen Cells and operators; a Cell that has others within only through them."""
    if _has_own_precision(cell) or isinstance(cell, kept):
        return
    whole = type(cell) in chosen or (Cell in chosen and not cell._cells)
    if whole:
        cell.to_float(dtype)
        cell.register_forward_hook(_output_to_32)
        return
    for name, value in list(cell.__dict__.items()):
        if isinstance(value, Primitive) and not isinstance(value, kept) and (
                type(value) in chosen or Primitive in chosen):
            cell.__dict__[name] = _Lowered(value, dtype)
    for below in cell._cells.values():
        if below is not None:
            _lower_some(below, dtype, chosen, kept)


def lower_all_but(network: Cell, dtype: Any, kept: tuple[type, ...]) -> Cell:
    """Let all of `network` compute in `dtype` but the Cells of some classes."""
    network.to_float(dtype)
    for name, below in list(network._cells.items()):
        if below is None:
            continue
        if isinstance(below, kept):
            network._cells[name] = _OutputTo16(below.to_float(mstype.float32), dtype)
        else:
            lower_all_but(below, dtype, kept)
    if isinstance(network, SequentialCell) and "cell_list" in network.__dict__:
        network.cell_list = list(network._cells.values())
    return network


def _auto_black_list(network: Cell, black_list: list[type], dtype: Any) -> Cell:
    """MindSpore's name of `lower_all_but`."""
    return lower_all_but(network, dtype, tuple(black_list))


def _do_keep_batchnorm_fp32(network: Cell) -> None:
    """Keep the Cells of the black list in a network of float16 in float32."""
    lower_all_but(network, mstype.float16, tuple(AMP_BLACK_LIST))


def to_float32(outputs: Any) -> Any:
    """The outputs with floating Tensors as float32."""
    return map_tensors(
        lambda t: wrap(t._raw.float()) if t._raw.is_floating_point() else t, outputs)


def _output_to_32(cell: Cell, inputs: Any, outputs: Any) -> Any:
    return to_float32(outputs)


class _Lowered(Primitive):
    """A primitive on inputs in low precision, with its results as float32."""

    def __init__(self, primitive: Primitive, dtype: Any):
        super().__init__(primitive.name)
        self.__dict__.update(primitive.__dict__)
        self.primitive = primitive
        self._raw_type = dtype.raw

    def __call__(self, *args: Any) -> Any:
        return to_float32(self.primitive(*map_tensors(self._lower, args)))

    def _lower(self, tensor: Tensor) -> Tensor:
        raw = tensor._raw
        return wrap(raw.to(self._raw_type)) if raw.is_floating_point() else tensor


class _OutputTo16(Cell):
    """A network with its outputs in low precision."""

    def __init__(self, backbone: Cell, dtype: Any = mstype.float16):
        super().__init__(auto_prefix=False)
        self._backbone = backbone
        self.dtype = dtype

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        """The network's output, computed in low precision."""
        return map_tensors(lambda t: wrap(t._raw.to(self.dtype.raw)),
                           self._backbone(*args, **kwargs))


class _OutputTo32(Cell):
    """A network with its outputs as float32."""

    def __init__(self, backbone: Cell):
        super().__init__(auto_prefix=False)
        self._backbone = backbone

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        """The network's output, converted to float32."""
        return to_float32(self._backbone(*args, **kwargs))
