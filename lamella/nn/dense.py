"""Fully connected layers."""

from __future__ import annotations

import math
from typing import Any

from .. import ops
from ..common.initializer import HeUniform, Uniform, initializer
from ..core import dtype as mstype
from ..ops.primitive import Primitive
from ..tensors.parameter import Parameter
from ..tensors.tensor import Tensor
from . import checks
from .activation import get_activation
from .cell import Cell
from .cell_tree import operator

__all__ = ["Dense", "Linear", "BiDense"]


class Dense(Cell):
    """A fully connected layer: activation(x W^T + b).

    Args:
        in_channels: the length of the last dimension of the input.
        out_channels: that of the output.
        weight_init: initializer of the weight (out_channels, in_channels); default
            ``HeUniform(sqrt(5))``.
        bias_init: initializer of the bias (out_channels,); default
            ``Uniform(1 / sqrt(in_channels))``.
        has_bias: whether a bias is added.
        activation: the name of an activation (see `get_activation`), a Cell or a Primitive.
        dtype: type of the parameters.

    Inputs:
        - **x** - Tensor (..., in_channels).

    Outputs:
        Tensor (..., out_channels).

    Raises:
        TypeError, ValueError: if an argument is of the wrong type, not positive, or a Tensor given
            as an initializer has the wrong shape.

    Examples:
        >>> import lamella as ms
        >>> layer = ms.nn.Dense(3, 2, weight_init="ones", bias_init="zeros", activation="relu")
        >>> print(layer(ms.Tensor([[1.0, 2.0, 3.0]])))
        [[6. 6.]]
    """

    _operators = {"matmul": operator("MatMul", transpose_b=True), "bias_add": operator("BiasAdd"),
                  "reshape": operator("Reshape"), "shape_op": operator("Shape")}

    def __init__(self, in_channels: int, out_channels: int, weight_init: Any = None,
                 bias_init: Any = None, has_bias: bool = True, activation: Any = None,
                 dtype: Any = mstype.float32):
        super().__init__()
        name = type(self).__name__
        self.in_channels = checks.positive_int(in_channels, "in_channels", name)
        self.out_channels = checks.positive_int(out_channels, "out_channels", name)
        self.has_bias = checks.boolean(has_bias, "has_bias", name)
        self.weight, self.bias = _weight_and_bias(
            in_channels, out_channels, weight_init, bias_init, has_bias, dtype, name)
        self.activation = make_activation(activation, name)
        self.activation_flag = self.activation is not None

    def construct(self, x: Tensor) -> Tensor:
        if self.activation_flag:
            return self._activated(x)
        return ops.dense(x, self.weight, self.bias)

    def _activated(self, x: Tensor) -> Tensor:
        # the activation sees a matrix whatever the input's rank: its axis counts there
        out = ops.dense(x, self.weight, self.bias)
        if out.ndim == 2:
            return self.activation(out)
        return self.activation(out.reshape(-1, self.out_channels)).reshape(out.shape)

    def by_operators(self, x: Tensor) -> Tensor:
        """What `construct` gives, by the operators, some of which have strategies."""
        out = self.matmul(x.reshape(-1, self.in_channels), self.weight)
        if self.has_bias:
            out = self.bias_add(out, self.bias)
        if self.activation_flag:
            out = self.activation(out)
        return out if x.ndim == 2 else out.reshape((*x.shape[:-1], self.out_channels))

    def extend_repr(self) -> str:
        s = f"input_channels={self.in_channels}, output_channels={self.out_channels}"
        if self.has_bias:
            s += f", has_bias={self.has_bias}"
        if self.activation_flag:
            s += f", activation={self.activation}"
        return s


class Linear(Cell):
    """A fully connected layer x W^T + b, with the argument names that others use.

    Args:
        in_features: the length of the last dimension of the input.
        out_features: that of the output.
        bias: whether a bias is added.
        weight_init, bias_init: initializers, as those of `Dense`.
        dtype: type of the parameters; default float32.

    Inputs:
        - **x** - Tensor (..., in_features).

    Outputs:
        Tensor (..., out_features).

    Examples:
        >>> import lamella as ms
        >>> ms.nn.Linear(3, 2)(ms.Tensor([[1.0, 2.0, 3.0]])).shape
        (1, 2)
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True,
                 weight_init: Any = None, bias_init: Any = None, dtype: Any = None):
        super().__init__()
        name = type(self).__name__
        self.in_features = checks.positive_int(in_features, "in_features", name)
        self.out_features = checks.positive_int(out_features, "out_features", name)
        self.has_bias = checks.boolean(bias, "bias", name)
        self.weight, self.bias = _weight_and_bias(
            in_features, out_features, weight_init, bias_init, bias,
            mstype.float32 if dtype is None else dtype, name)

    def construct(self, x: Tensor) -> Tensor:
        return ops.dense(x, self.weight, self.bias)

    def extend_repr(self) -> str:
        s = f"input_features={self.in_features}, output_features={self.out_features}"
        return s + f", has_bias={self.has_bias}" if self.has_bias else s


class BiDense(Cell):
    """A bilinear layer: y_k = x1^T W_k x2 + b_k.

    Args:
        in1_channels, in2_channels: lengths of the last dimensions of the two inputs.
        out_channels: that of the output.
        weight_init: initializer of the weight (out_channels, in1_channels, in2_channels); default
            ``Uniform(1 / sqrt(in1_channels))``.
        bias_init: initializer of the bias; default the same.
        has_bias: whether a bias is added.
        dtype: type of the parameters.

    Inputs:
        - **input1** - Tensor (..., in1_channels).
        - **input2** - Tensor (..., in2_channels), of the same leading shape.

    Outputs:
        Tensor (..., out_channels).

    Examples:
        >>> import lamella as ms
        >>> layer = ms.nn.BiDense(2, 3, 4)
        >>> layer(ms.ops.ones((5, 2)), ms.ops.ones((5, 3))).shape
        (5, 4)
    """

    def __init__(self, in1_channels: int, in2_channels: int, out_channels: int,
                 weight_init: Any = None, bias_init: Any = None, has_bias: bool = True,
                 dtype: Any = mstype.float32):
        super().__init__()
        name = type(self).__name__
        self.in1_channels = checks.positive_int(in1_channels, "in1_channels", name)
        self.in2_channels = checks.positive_int(in2_channels, "in2_channels", name)
        self.out_channels = checks.positive_int(out_channels, "out_channels", name)
        self.has_bias = checks.boolean(has_bias, "has_bias", name)
        bound = 1 / math.sqrt(in1_channels)
        shape = (out_channels, in1_channels, in2_channels)
        weight_init = Uniform(bound) if weight_init is None else weight_init
        self.weight = Parameter(initializer(
            checks.init_shape(weight_init, shape, "weight_init", name), shape, dtype), "weight")
        self.bias = None
        if has_bias:
            bias_init = Uniform(bound) if bias_init is None else bias_init
            self.bias = Parameter(initializer(
                checks.init_shape(bias_init, (out_channels,), "bias_init", name),
                [out_channels], dtype), "bias")

    def construct(self, input1: Tensor, input2: Tensor) -> Tensor:
        name = type(self).__name__
        shape1 = checks.tensor(input1, "input1", name).shape
        shape2 = checks.tensor(input2, "input2", name).shape
        if shape1[-1] != self.in1_channels or shape2[-1] != self.in2_channels:
            raise ValueError(f"For '{name}', the last dimensions of 'input1' and 'input2' must be "
                             f"{self.in1_channels} and {self.in2_channels}, "
                             f"but got shapes {shape1} and {shape2}.")
        if shape1[:-1] != shape2[:-1]:
            raise ValueError(f"For '{name}', the shapes of 'input1' and 'input2' may differ in the "
                             f"last dimension only, but got {shape1} and {shape2}.")
        return ops.bidense(input1, input2, self.weight, self.bias)

    def extend_repr(self) -> str:
        s = (f"in1_channels={self.in1_channels}, in2_channels={self.in2_channels}, "
             f"output_channels={self.out_channels}")
        return s + f", has_bias={self.has_bias}" if self.has_bias else s


def _weight_and_bias(inputs: int, outputs: int, weight_init: Any, bias_init: Any, has_bias: bool,
                     dtype: Any, name: str) -> tuple[Parameter, Parameter | None]:
    if weight_init is None:
        weight_init = HeUniform(math.sqrt(5))
    checks.init_shape(weight_init, (outputs, inputs), "weight_init", name)
    weight = Parameter(initializer(weight_init, [outputs, inputs], dtype), name="weight")
    if not has_bias:
        return weight, None
    if bias_init is None:
        bias_init = Uniform(1 / math.sqrt(inputs))
    checks.init_shape(bias_init, (outputs,), "bias_init", name)
    return weight, Parameter(initializer(bias_init, [outputs], dtype), name="bias")


def make_activation(activation: Any, name: str) -> Any:
    """The Cell or Primitive that the argument `activation` of layer `name` stands for."""
    if isinstance(activation, str):
        return get_activation(activation)
    if activation is not None and not isinstance(activation, (Cell, Primitive)):
        raise TypeError(f"For '{name}', 'activation' must be a str, a Cell or a Primitive, "
                        f"but got {activation!r} of type {type(activation).__name__}.")
    return activation
