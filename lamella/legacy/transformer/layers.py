"""Layers of these Transformers that compute in one type and return another."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from ... import ops
from ...common.initializer import initializer
from ...core import checks
from ...core import dtype as mstype
from ...nn.activation import get_activation
from ...nn.cell import Cell
from ...nn.dropout import Dropout
from ...nn.normalization import LayerNorm
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor

__all__ = ["FeedForward", "FixedSparseAttention", "MoE"]


class _Linear(Cell):
    """Dense whose product is of `compute_dtype` and whose result has its input's type.

    Args:
        in_channels, out_channels: sizes.
        weight_init, bias_init: initializers.
        has_bias: whether a bias is added.
        activation: a name, a Cell's class, or None.
        transpose_b: whether the weight is (out, in).
        compute_dtype, param_init_type: types of the product and of the weights.
    """

    def __init__(self, in_channels: int, out_channels: int, weight_init: Any = "normal",
                 bias_init: Any = "zeros", has_bias: bool = True, activation: Any = None,
                 transpose_b: bool = True, compute_dtype: Any = mstype.float16,
                 param_init_type: Any = mstype.float32, **kwargs: Any):
        super().__init__()
        for name, size in (("in_channels", in_channels), ("out_channels", out_channels)):
            checks.check_positive_int(size, name, type(self).__name__)
        shape = [out_channels, in_channels] if transpose_b else [in_channels, out_channels]
        self.transpose_b, self.dtype, self.has_bias = transpose_b, compute_dtype, has_bias
        self.weight = Parameter(initializer(weight_init, shape, param_init_type), name="weight")
        if has_bias:
            self.bias = Parameter(initializer(bias_init, [out_channels], param_init_type),
                                  name="bias")
        self.activation = _activation(activation)

    def construct(self, x: Tensor) -> Tensor:
        weight = ops.cast(self.weight, self.dtype)
        if self.transpose_b:
            weight = ops.transpose(weight, (1, 0))
        result = ops.matmul(ops.cast(x, self.dtype), weight)
        if self.has_bias:
            result = result + ops.cast(self.bias, self.dtype)
        if self.activation is not None:
            result = self.activation(result)
        return ops.cast(result, x.dtype)

    def shard(self, *args: Any, **kwargs: Any) -> _Linear:  # type: ignore[override]
        """Strategies spread nothing here."""
        return self


def _activation(given: Any) -> Any:
    if given is None or isinstance(given, str):
        return get_activation(given)
    return given() if isinstance(given, type) else given


class _LayerNorm(LayerNorm):
    """LayerNorm over the last dimension, whose input says its type."""

    def __init__(self, normalized_shape: Any, eps: float = 1e-5,
                 param_init_type: Any = mstype.float32, **kwargs: Any):
        if isinstance(normalized_shape, int):
            normalized_shape = [normalized_shape]
        super().__init__(list(normalized_shape), epsilon=eps, dtype=param_init_type)

    def shard(self, *args: Any, **kwargs: Any) -> _LayerNorm:  # type: ignore[override]
        """Strategies spread nothing here."""
        return self


class _Dropout(Dropout):
    """Dropout given by the probability to keep a number.

    Args:
        keep_prob: in (0, 1].
        dtype: of no effect.
    """

    def __init__(self, keep_prob: float = 0.5, dtype: Any = mstype.float32):
        super().__init__(p=1 - keep_prob)

    def shard(self, *args: Any, **kwargs: Any) -> _Dropout:  # type: ignore[override]
        """Strategies spread nothing here."""
        return self


class FeedForward(Cell):
    """Two dense layers with an activation between, and dropout.

    Args:
        hidden_size, ffn_hidden_size: sizes outside and between.
        dropout_rate: the probability to drop a number of the result.
        hidden_act: the activation's name, or a Cell's class.
        expert_num: must be 1.
        param_init_type: the weights' type.
        compute_dtype: the products' type.

    Inputs:
        - **x** - Tensor (..., hidden_size).

    Outputs:
        Tensor of the same shape and type.

    Raises:
        NotImplementedError: if `expert_num` is above 1.

    Examples:
        >>> import lamella as ms
        >>> from lamella.legacy.transformer import FeedForward
        >>> FeedForward(8, 32, 0.0)(ms.ops.ones((2, 3, 8))).shape
        (2, 3, 8)
    """

    def __init__(self, hidden_size: int, ffn_hidden_size: int, dropout_rate: float,
                 hidden_act: Any = "gelu", expert_num: int = 1, expert_group_size: Any = None,
                 param_init_type: Any = mstype.float32, parallel_config: Any = None,
                 compute_dtype: Any = mstype.float16):
        super().__init__()
        if expert_num != 1:
            raise NotImplementedError(
                f"For 'FeedForward', mixtures of experts of older versions aren't in Lamella; "
                f"'expert_num' must be 1, but got {expert_num}.")
        common = {"transpose_b": False, "param_init_type": param_init_type,
                  "compute_dtype": compute_dtype}
        self.mapping = _Linear(hidden_size, ffn_hidden_size, activation=hidden_act, **common)
        self.projection = _Linear(ffn_hidden_size, hidden_size, **common)
        self.dropout = Dropout(p=dropout_rate)

    def construct(self, x: Tensor) -> Tensor:
        return self.dropout(self.projection(self.mapping(x)))


class FixedSparseAttention(Cell):
    """Not in Lamella: raises NotImplementedError when it is made."""

    def __init__(self, *args: Any, **kwargs: Any):
        raise NotImplementedError("'FixedSparseAttention' isn't in Lamella, and no part of "
                                  "MindSpore 2.10; ops.flash_attention_score takes sparse masks.")


class MoE(Cell):
    """Not in Lamella: raises NotImplementedError when it is made."""

    def __init__(self, *args: Any, **kwargs: Any):
        raise NotImplementedError("'MoE' of older versions isn't in Lamella; 'expert_num' must "
                                  "be 1.")


def _args_type_validator_check(*type_args: Any, **type_kwargs: Any) -> Callable[[Any], Any]:
    """A decorator: arguments go to functions of the value and the name, which may raise."""
    def decorate(function: Any) -> Any:
        signature = inspect.signature(function)
        by_name = signature.bind_partial(*type_args, **type_kwargs).arguments

        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            for name, value in signature.bind(*args, **kwargs).arguments.items():
                if name in by_name:
                    by_name[name](value, name)
            return function(*args, **kwargs)
        return checked
    return decorate


def _valid_type_checks(types: Any, class_name: str) -> Callable[[Any, str], Any]:
    """A check that a value's class is one of these."""
    return lambda value, name: checks.check_type_name(name, type(value), types, class_name)


def _valid_value_checks(types: Any, class_name: str) -> Callable[[Any, str], Any]:
    """A check that a value, such as a data type, is one of these."""
    return lambda value, name: checks.check_type_name(name, value, types, class_name)


def _check_input_dtype(input_dtype: Any, param_name: str, allow_dtypes: Any, cls_name: str) -> None:
    checks.check_type_name(param_name, input_dtype, allow_dtypes, cls_name)


def _check_past_none_input_none(use_past: bool, param_name: str, func_name: str, default_value: Any,
                                is_tensor: bool, is_default: bool) -> bool:
    """Whether an argument that only ``use_past`` reads was left at its default without it."""
    if not use_past and (is_tensor or not is_default):
        raise TypeError(f"{func_name} {param_name} must be {default_value} if use_past is False.")
    return True


class _LayerInputCheck:
    """Checks of inputs' shapes, which raise ValueError."""

    @staticmethod
    def check_shape_length(input_shape: Any, param_name: str, func_name: str,
                           target_len: Any) -> bool:
        """Whether a shape has `target_len` dimensions, or one of these numbers."""
        wanted = target_len if isinstance(target_len, (list, tuple)) else [target_len]
        if len(input_shape) not in wanted:
            raise ValueError(f"For '{func_name}', '{param_name}' must have {wanted} dimensions, "
                             f"but has the shape {input_shape}.")
        return True

    @staticmethod
    def check_shape_equal(input_shape: Any, param_name: str, func_name: str,
                          target_shape: Any) -> bool:
        """Whether a shape is `target_shape`, or one of these."""
        wanted = target_shape if isinstance(target_shape[0], (list, tuple)) else [target_shape]
        if list(input_shape) not in [list(shape) for shape in wanted]:
            raise ValueError(f"For '{func_name}', '{param_name}' must have one of the shapes "
                             f"{wanted}, but has {input_shape}.")
        return True

    @staticmethod
    def check_shape_value_on_axis(input_shape: Any, dim: int, param_name: str, cls_name: str,
                                  target_value: int) -> bool:
        """Whether one length is `target_value`."""
        if input_shape[dim] != target_value:
            raise ValueError(f"For '{cls_name}', '{param_name}' must have {target_value} in "
                             f"dimension {dim}, but has the shape {input_shape}.")
        return True
