"""Mixed precision of level "auto": each operator chooses its type, as in PyTorch's autocast."""

from __future__ import annotations

import collections
import enum
import functools
import re
import threading
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode

from .. import ops
from ..core import context, log
from ..core import dtype as mstype
from ..core.require import of_type
from ..machine import batch_norm, layouts
from ..nn.cell import Cell

__all__ = ["AMP_AUTO_BLACK_LIST", "AMP_AUTO_WHITE_LIST", "AMP_PRIM_ARG_TABLE", "AmpDecorator",
           "AmpLevel", "AmpStrategy", "create_amp_strategy", "get_curr_amp_strategy",
           "pop_amp_strategy", "push_amp_strategy"]

Names = list[tuple[str, list[int]]]  # of Primitives, with the places of the inputs that count


def existing(room: Any, names: str) -> list[type]:
    """The classes with these names that a room has."""
    return [getattr(room, name) for name in names.split() if hasattr(room, name)]


AMP_AUTO_WHITE_LIST = existing(ops, """
    Conv2D Conv3D Conv2DTranspose Conv3DTranspose MatMul BatchMatMul PReLU Einsum Dense Addmm Addbmm
    Addmv Baddbmm Mv""")
AMP_AUTO_BLACK_LIST = existing(ops, """
    Pow ACos Asin Cosh Erfinv Exp Expm1 Log Log10 Log1p Log2 Reciprocal Rsqrt Sinh Tan Softplus
    LayerNorm BatchNorm GroupNorm Norm KLDivLoss SmoothL1Loss MultilabelMarginLoss SoftMarginLoss
    TripletMarginLoss MultiMarginLoss BCEWithLogitsLoss Pdist Cdist Renorm ReduceProd Softmax
    LogSoftmax CumProd CumSum NLLLoss""")
AMP_PRIM_ARG_TABLE: dict[type, list[int]] = collections.defaultdict(list)

# The operators that are computed in float32. PyTorch's own list is shorter, on CPUs above all.
_SENSITIVE = frozenset(
    "pow __pow__ __rpow__ acos arccos asin arcsin cosh erfinv exp expm1 log log10 log1p log2 "
    "reciprocal rsqrt sinh tan softplus layer_norm native_layer_norm batch_norm native_batch_norm "
    "group_norm instance_norm norm vector_norm kl_div smooth_l1_loss huber_loss l1_loss mse_loss "
    "multilabel_margin_loss soft_margin_loss triplet_margin_loss multi_margin_loss nll_loss "
    "nll_loss2d cross_entropy binary_cross_entropy_with_logits cosine_embedding_loss pdist cdist "
    "renorm prod softmax log_softmax cumprod cumsum sum logsumexp".split())


_LOW = (torch.float16, torch.bfloat16)


class AmpLevel(enum.IntEnum):
    """Levels of mixed precision, as MindSpore's C++ module names them."""

    AmpO0 = 0
    AmpO1 = 1
    AmpO2 = 2
    AmpO3 = 3
    AmpAuto = 4

    __str__ = enum.Enum.__str__


class AmpStrategy(NamedTuple):
    """How operators are computed: a level, a type of low precision, and lists of operators."""

    level: AmpLevel
    dtype: mstype.Type
    white_list: Names
    black_list: Names

    def get_amp_level(self) -> AmpLevel:
        """The level."""
        return self.level

    def get_amp_dtype(self) -> mstype.Type:
        """The type of low precision."""
        return self.dtype

    def get_white_list(self) -> Names:
        """The operators that are computed in low precision."""
        return self.white_list

    def get_black_list(self) -> Names:
        """The operators that are computed in float32."""
        return self.black_list

    def begin(self, stack: ExitStack) -> None:
        """Have this thread's operators computed so until `stack` is closed.

        Products are what PyTorch's autocast lowers; of `black_list`, what is in it besides the
        operators that are always computed in float32 counts.
        """
        on = self.level is AmpLevel.AmpAuto
        stack.enter_context(torch.autocast(context.current_device().type, self.dtype.raw, on,
                                           cache_enabled=False))
        if on:
            stack.enter_context(_SensitiveInFloat32([name for name, _ in self.black_list]))


def create_amp_strategy(level: AmpLevel, dtype: mstype.Type, white_list: Names,
                        black_list: Names) -> AmpStrategy:
    """A strategy for `push_amp_strategy`.

    Raises:
        ValueError: for the levels O1, O2 and O3, which belong to whole networks, or another `dtype`
            than float16 and bfloat16.

    Examples:
        >>> import lamella as ms
        >>> found = create_amp_strategy(AmpLevel.AmpAuto, ms.float16, [], [("MaxPool", [])])
        >>> print(found.get_amp_level(), found.get_amp_dtype())
        AmpLevel.AmpAuto Float16
    """
    of_type(level, AmpLevel, "level", "create_amp_strategy")
    if level not in (AmpLevel.AmpO0, AmpLevel.AmpAuto):
        raise ValueError(f"A strategy for operators must have the level AmpO0 or AmpAuto, but got "
                         f"{level}. For a whole network: "
                         f"auto_mixed_precision(network, {level.name[3:]!r}).")
    if dtype not in (mstype.float16, mstype.bfloat16):
        raise ValueError(f"For 'create_amp_strategy', 'dtype' must be float16 or bfloat16, but got "
                         f"{dtype!r}.")
    return AmpStrategy(level, dtype, white_list, black_list)


class _Pushed(threading.local):
    """The strategies of a thread, the last of which counts."""

    def __init__(self) -> None:
        self.strategies: list[tuple[AmpStrategy, ExitStack]] = []


_pushed = _Pushed()


def push_amp_strategy(level: AmpLevel, dtype: mstype.Type, white_list: Names,
                      black_list: Names) -> None:
    """Have operators computed by a strategy, until `pop_amp_strategy`."""
    strategy, stack = create_amp_strategy(level, dtype, white_list, black_list), ExitStack()
    strategy.begin(stack)
    _pushed.strategies.append((strategy, stack))


def pop_amp_strategy() -> None:
    """End the last strategy that was pushed."""
    if not _pushed.strategies:
        log.warning("There is no strategy of mixed precision to pop.")
        return
    _pushed.strategies.pop()[1].close()


def get_curr_amp_strategy() -> AmpStrategy | None:
    """The last strategy that was pushed; None without one."""
    return _pushed.strategies[-1][0] if _pushed.strategies else None


class AmpDecorator:
    """Operators inside of the block are computed by a strategy.

    Examples:
        >>> import lamella as ms
        >>> x = ms.Tensor([[1.5]])
        >>> with AmpDecorator(AmpLevel.AmpAuto, ms.bfloat16, [], []):
        ...     print(ms.ops.matmul(x, x).dtype, ms.ops.exp(x).dtype)
        BFloat16 Float32
    """

    def __init__(self, amp_level: AmpLevel, amp_dtype: mstype.Type, white_list: Names,
                 black_list: Names):
        self.amp_level, self.amp_dtype = amp_level, amp_dtype
        self.white_list, self.black_list = white_list, black_list

    def __enter__(self) -> None:
        push_amp_strategy(self.amp_level, self.amp_dtype, self.white_list, self.black_list)

    def __exit__(self, *error: Any) -> None:
        pop_amp_strategy()


class _SensitiveInFloat32(TorchFunctionMode):
    """Gives kernels that lose much in low precision float32 instead.

    Args:
        more: Primitives whose kernels do, besides those that always do.
    """

    def __init__(self, more: list[str]):
        super().__init__()
        kernels = [re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower() for name in more]
        self.names = _SENSITIVE.union(*([k, f"{k}1d", f"{k}2d", f"{k}3d"] for k in kernels))

    def __torch_function__(self, func: Any, types: Any, args: Any = (),
                           kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.native_batch_norm and not kwargs and (
                found := batch_norm.in_float32(*args)) is not None:
            return found
        if func is torch.conv2d and len(args) > 1:
            args = (*layouts.channels_last(*args[:2]), *args[2:])
        if getattr(func, "__name__", "") in self.names:
            args = [_raised(a) for a in args]
            kwargs = {key: _raised(value) for key, value in kwargs.items()}
        return func(*args, **kwargs)


def _raised(value: Any) -> Any:
    if isinstance(value, torch.Tensor) and value.dtype in _LOW:
        return value.float()
    return torch.float32 if isinstance(value, torch.dtype) and value in _LOW else value


class _Autocast:
    """A Cell's `construct`, or a function, run where each operator has its own precision."""

    def __init__(self, owner: Any, dtype: mstype.Type):
        self.owner = owner  # so that a copy of the Cell has its own
        self.strategy = AmpStrategy(AmpLevel.AmpAuto, dtype, [], [])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        owner = self.owner
        with ExitStack() as stack:
            self.strategy.begin(stack)
            if isinstance(owner, Cell):
                return type(owner).construct(owner, *args, **kwargs)
            return owner(*args, **kwargs)


def autocast(network: Callable[..., Any], dtype: mstype.Type) -> Any:
    """A Cell, changed, or a function with each operator in its own precision."""
    if isinstance(network, Cell):
        network.__dict__["construct"] = _Autocast(network, dtype)
        return network
    return functools.wraps(network)(_Autocast(network, dtype))
