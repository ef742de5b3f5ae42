"""Recurrent layers: RNN, LSTM and GRU over sequences, and their cells for one step."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from ..autodiff.forward import recurrent_kernels
from ..autodiff.level import batching, derivatives_nest
from ..common.initializer import Uniform, initializer
from ..core import dtype as mstype
from ..core.require import one_of
from ..core.wrappers import differs
from ..machine.cudnn_recurrent import kernel_for
from ..tensors.parameter import Parameter, ParameterTuple
from ..tensors.random import drawing_from_numpy
from ..tensors.tensor import Tensor, wrap
from . import checks
from .cell import Cell
from .dropout import Dropout
from .recurrent_steps import (
    _gru_cell,
    _lstm_cell,
    _rnn_relu_cell,
    _rnn_tanh_cell,
    run_by_steps,
)

__all__ = ["LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "RNNCell"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
_FLOATING = (mstype.float16, mstype.float32, mstype.float64, mstype.bfloat16)


# -- the engine of a sequence: these Cells have no Parameters; they are there to be printed -------


class _DynamicRNN(Cell):
    """Runs layers of one kind over a sequence on PyTorch's kernels."""

    _mode = ""

    def construct(self, x: torch.Tensor, state: tuple[torch.Tensor, ...], weights: list,
                  layers: int, has_bias: bool, bidirectional: bool,
                  sizes: list[int] | None) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        half = torch.float16
        if x.dtype is half and x.is_cpu:  # computed in float32, as in `machine.halves`
            out, last = self.construct(
                x.float(), tuple(s.float() for s in state), [w.float() for w in weights],
                layers, has_bias, bidirectional, sizes)
            return out.to(half), tuple(s.to(half) for s in last)
        # the kernels have no rule for `vmap`, and those of accelerators one derivative
        if batching() and any(map(differs, (x, *state, *weights))) or (
                not x.is_cpu and derivatives_nest()):
            return run_by_steps(self._mode, x, state, weights, layers, has_bias, bidirectional,
                                 sizes)
        kernel = kernel_for(self._mode, x)
        hx = state if self._mode == "LSTM" else state[0]
        with recurrent_kernels():
            if sizes is None:
                out, *last = kernel(x, hx, weights, has_bias, layers, 0.0, False, bidirectional,
                                    False)
                return out, tuple(last)
            return _run_packed(kernel, x, state, weights, layers, has_bias, bidirectional, sizes)


class _DynamicRNNTanh(_DynamicRNN):
    _mode = "RNN_TANH"


class _DynamicRNNRelu(_DynamicRNN):
    _mode = "RNN_RELU"


class _DynamicGRUCPUGPU(_DynamicRNN):
    _mode = "GRU"


class _DynamicLSTMCPUGPU(_DynamicRNN):
    _mode = "LSTM"


_ENGINES = {engine._mode: engine for engine in (
    _DynamicRNNTanh, _DynamicRNNRelu, _DynamicGRUCPUGPU, _DynamicLSTMCPUGPU)}


class _DynamicRNNBase(Cell):
    """One layer over a sequence, with the weights as inputs; programs build layers of their own
    upon it. `x` has shape (T, N, C), a state (N, hidden_size)."""

    def __init__(self, mode: str):
        super().__init__()
        if mode not in _ENGINES:
            raise ValueError(f"For '_DynamicRNNBase', 'mode' must be one of {list(_ENGINES)}, "
                             f"but got {mode!r}.")
        self.is_lstm = mode == "LSTM"
        self.rnn = _ENGINES[mode]()

    def construct(self, x: Tensor, h: Any, seq_length: Tensor | None, w_ih: Tensor, w_hh: Tensor,
                  b_ih: Tensor | None, b_hh: Tensor | None) -> tuple:
        weights = [w._raw.to(x._raw.dtype) for w in (w_ih, w_hh, b_ih, b_hh) if w is not None]
        state = tuple(part._raw[None].contiguous() for part in (h if self.is_lstm else (h,)))
        sizes = None if seq_length is None else [
            min(int(n), x.shape[0]) for n in seq_length.asnumpy()]
        out, last = self.rnn(x._raw, state, weights, 1, b_ih is not None, False, sizes)
        final = tuple(wrap(part[0]) for part in last)
        return wrap(out), final if self.is_lstm else final[0]


def _run_packed(kernel: Any, x: torch.Tensor, state: tuple[torch.Tensor, ...], weights: list,
                layers: int, has_bias: bool, bidirectional: bool, sizes: list[int]) -> tuple:
    """Run sequences of the lengths `sizes`: outputs behind an end are 0, states stop there."""
    # the kernel needs the longest sequence first and none empty
    order = torch.tensor(sorted(range(len(sizes)), key=lambda i: -sizes[i]), device=x.device)
    back = order.argsort()
    lengths = torch.tensor([max(sizes[i], 1) for i in order.tolist()])
    packed = torch.nn.utils.rnn.pack_padded_sequence(x.index_select(1, order), lengths)
    hx = tuple(s.index_select(1, order) for s in state)
    data, *last = kernel(packed.data, packed.batch_sizes, hx if len(hx) == 2 else hx[0], weights,
                         has_bias, layers, 0.0, False, bidirectional)
    out, _ = torch.nn.utils.rnn.pad_packed_sequence(
        torch.nn.utils.rnn.PackedSequence(data, packed.batch_sizes), total_length=x.shape[0])
    out = out.index_select(1, back)
    final = tuple(s.index_select(1, back) for s in last)
    if min(sizes) == 0:
        empty = torch.tensor([n == 0 for n in sizes], device=x.device).view(1, -1, 1)
        out = torch.where(empty, torch.zeros_like(out), out)
        final = tuple(torch.where(empty, a, b) for a, b in zip(state, final, strict=True))
    return out, final


# -- layers over sequences ------------------------------------------------------------------------


class _RNNBase(Cell):
    """Parameters, checks and the loop over layers that RNN, LSTM and GRU share."""

    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1,
                 has_bias: bool = True, batch_first: bool = False, dropout: float = 0.0,
                 bidirectional: bool = False, dtype: Any = mstype.float32):
        super().__init__()
        name = type(self).__name__
        self.input_size = checks.positive_int(input_size, "input_size", name)
        self.hidden_size = checks.positive_int(hidden_size, "hidden_size", name)
        self.num_layers = checks.count(num_layers, "num_layers", name)
        self.has_bias = checks.boolean(has_bias, "has_bias", name)
        self.batch_first = checks.boolean(batch_first, "batch_first", name)
        checks.within(checks.of_type(dropout, float, "dropout", name), 0, 1, "[)", "dropout", name)
        self.dropout = dropout
        self.bidirectional = checks.boolean(bidirectional, "bidirectional", name)
        self.is_lstm = mode == "LSTM"
        self.rnn = _ENGINES[mode]()
        self.dropout_op = Dropout(p=dropout)
        gates, directions = _GATES[mode] * hidden_size, 2 if bidirectional else 1
        bound = 1 / math.sqrt(hidden_size)
        drawn: dict[str, list[Parameter]] = {
            "weight_ih": [], "weight_hh": [], "bias_ih": [], "bias_hh": []}
        shapes: dict[str, list[tuple[int, ...]]] = {kind: [] for kind in drawn}
        for layer in range(num_layers):
            width = input_size if layer == 0 else hidden_size * directions
            for suffix in ("", "_reverse")[:directions]:
                sizes = ((gates, width), (gates, hidden_size), (gates,), (gates,))
                for kind, shape in zip(drawn, sizes, strict=True):
                    shapes[kind].append(shape)
                    if has_bias or kind.startswith("weight"):
                        with drawing_from_numpy():
                            numbers = np.random.uniform(-bound, bound, shape)
                        drawn[kind].append(Parameter(Tensor(numbers, dtype),
                                                     name=f"{kind}_l{layer}{suffix}"))
        self._shapes = [shape for kind in shapes.values() for shape in kind]
        self.w_ih_list, self.w_hh_list, self.b_ih_list, self.b_hh_list = map(
            ParameterTuple, drawn.values())

    def construct(self, x: Tensor, hx: Any = None, seq_length: Tensor | None = None) -> tuple:
        name = type(self).__name__
        checks.rank(checks.tensor(x, "x", name).shape, (3,), name)
        raw = x._raw.transpose(0, 1) if self.batch_first else x._raw
        batch = raw.shape[1]
        self._check_sizes(x)
        state = self._state(x, hx, batch)
        sizes = None if seq_length is None else self._lengths(seq_length, batch, raw.shape[0])
        out, last = self._run(raw, state, sizes)
        output = wrap(out.transpose(0, 1) if self.batch_first else out)
        if self.is_lstm:
            return output, (wrap(last[0]), wrap(last[1]))
        return output, wrap(last[0])

    def _check_sizes(self, x: Tensor) -> None:
        """Refuse what doesn't fit: a kernel here reads as far as the weights say."""
        if x._raw.shape[2] != self.input_size:
            raise ValueError(f"For '{type(self).__name__}', the last dimension of 'x' must be "
                             f"'input_size' {self.input_size}, but got shape {x.shape}.")
        lists = (self.w_ih_list, self.w_hh_list, self.b_ih_list, self.b_hh_list)
        for parameter, shape in zip([p for part in lists for p in part], self._shapes,
                                    strict=False):  # there may be no biases
            if parameter._raw.shape != shape:
                raise ValueError(f"For '{type(self).__name__}', the Parameter '{parameter.name}' "
                                 f"must have shape {shape}, but got {parameter.shape}.")

    def _run(self, raw: torch.Tensor, state: tuple[torch.Tensor, ...], sizes: list[int] | None
             ) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        """All layers in one call of the kernel; one after the other with dropout between."""
        directions = 2 if self.bidirectional else 1
        if not (self.dropout and self.training and self.num_layers > 1):
            weights = self._weights(0, self.num_layers * directions, raw.dtype)
            return self.rnn(raw, state, weights, self.num_layers, self.has_bias,
                            self.bidirectional, sizes)
        last = []
        for layer in range(self.num_layers):
            begin, end = layer * directions, (layer + 1) * directions
            raw, final = self.rnn(raw, tuple(s[begin:end].contiguous() for s in state),
                                  self._weights(begin, end, raw.dtype), 1, self.has_bias,
                                  self.bidirectional, sizes)
            last.append(final)
            if layer < self.num_layers - 1:
                raw = self.dropout_op(wrap(raw))._raw
        return raw, tuple(torch.cat(parts) for parts in zip(*last, strict=True))

    def _weights(self, begin: int, end: int, kind: torch.dtype) -> list[torch.Tensor]:
        """The parameters of some directions of layers, in the order that the kernel takes."""
        lists = [self.w_ih_list, self.w_hh_list]
        if self.has_bias:
            lists += [self.b_ih_list, self.b_hh_list]
        return [parameters[i]._raw.to(kind) for i in range(begin, end) for parameters in lists]

    def _state(self, x: Tensor, hx: Any, batch: int) -> tuple[torch.Tensor, ...]:
        """The first state, checked; zeros if none is given."""
        name = type(self).__name__
        count = 2 if self.is_lstm else 1
        shape = (self.num_layers * (2 if self.bidirectional else 1), batch, self.hidden_size)
        if hx is None:
            return tuple(x._raw.new_zeros(shape) for _ in range(count))
        if self.is_lstm and (not isinstance(hx, tuple) or len(hx) != 2):
            raise TypeError(f"For '{name}', 'hx' must be a tuple of two Tensors, but got {hx!r}.")
        parts: tuple[Any, ...] = hx if self.is_lstm else (hx,)
        for part in parts:
            checks.tensor(part, "hx", name)
            if part.dtype != x.dtype or part.dtype not in _FLOATING:
                raise TypeError(f"For '{name}', 'x' and 'hx' must have one floating type, "
                                f"but got {x.dtype} and {part.dtype}.")
            if part.shape != shape:
                raise ValueError(f"For '{name}', 'hx' must have shape {shape}, "
                                 f"but got {part.shape}.")
        return tuple(part._raw.contiguous() for part in parts)

    def _lengths(self, seq_length: Tensor, batch: int, steps: int) -> list[int]:
        name = type(self).__name__
        if seq_length.dtype not in (mstype.int32, mstype.int64):
            raise TypeError(f"For '{name}', 'seq_length' must be int32 or int64, "
                            f"but got {seq_length.dtype}.")
        if seq_length.shape != (batch,):
            raise ValueError(f"For '{name}', 'seq_length' must have a length for each of the "
                             f"{batch} sequences, but got shape {seq_length.shape}.")
        lengths = [int(n) for n in seq_length]
        if any(n < 0 for n in lengths):
            raise ValueError(f"For '{name}', the lengths in 'seq_length' must be 0 or more, "
                             f"but got {lengths}.")
        return [min(n, steps) for n in lengths]


class RNN(_RNNBase):
    """An Elman network over sequences: h' = tanh(W x + b + U h + c).

    Args:
        input_size: the length of the input's last dimension.
        hidden_size: that of the state.
        num_layers: how many layers follow each other.
        nonlinearity: ``"tanh"`` or ``"relu"``; by keyword.
        has_bias: whether there are biases.
        batch_first: whether the batch is the first dimension of input and output.
        dropout: the probability to zero an element between layers while training.
        bidirectional: whether a second network runs backwards.
        dtype: type of the parameters.

    Inputs:
        - **x** - Tensor (T, N, input_size), or (N, T, input_size) with `batch_first`.
        - **hx** - Tensor (layers * directions, N, hidden_size), the first state; default zeros.
        - **seq_length** - Tensor (N,), the length of each sequence; default T.

    Outputs:
        Tensor (T, N, directions * hidden_size), and the last state of the shape of `hx`.

    Raises:
        TypeError, ValueError: if an argument is of the wrong type, shape or range.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.RNN(10, 16, 2, has_bias=True, batch_first=True)
        >>> output, hn = net(ms.ops.ones((3, 5, 10)), ms.ops.zeros((2, 3, 16)))
        >>> output.shape, hn.shape
        ((3, 5, 16), (2, 3, 16))
    """

    def __init__(self, *args: Any, **kwargs: Any):
        nonlinearity = kwargs.pop("nonlinearity", "tanh")
        one_of(nonlinearity, ("tanh", "relu"), "nonlinearity", type(self).__name__)
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)


class GRU(_RNNBase):
    """Gated recurrent units over sequences (Cho et al., 2014), the reset gate behind the product.

    Args: those of `RNN`, without `nonlinearity`.

    Inputs and outputs: those of `RNN`.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.GRU(10, 16, 2, bidirectional=True)
        >>> output, hn = net(ms.ops.ones((5, 3, 10)))
        >>> output.shape, hn.shape
        ((5, 3, 32), (4, 3, 16))
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__("GRU", *args, **kwargs)


class LSTM(_RNNBase):
    """Long short-term memory over sequences (Hochreiter and Schmidhuber, 1997).

    Args: those of `RNN`, without `nonlinearity`.

    Inputs: those of `RNN`; **hx** is a pair of Tensors, the state and the memory.

    Outputs:
        Tensor (T, N, directions * hidden_size), and the pair of the last state and memory.

    Examples:
        >>> import lamella as ms
        >>> net = ms.nn.LSTM(10, 16, 2, has_bias=True, batch_first=True, bidirectional=False)
        >>> output, (hn, cn) = net(ms.ops.ones((3, 5, 10)))
        >>> output.shape, hn.shape, cn.shape
        ((3, 5, 16), (2, 3, 16), (2, 3, 16))
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__("LSTM", *args, **kwargs)


# -- cells for one step ---------------------------------------------------------------------------


class RNNCellBase(Cell):
    """The parameters and checks that the cells share.

    Args:
        input_size, hidden_size: lengths of the input's and the state's last dimension.
        has_bias: whether there are biases.
        num_chunks: how many gates the cell has.
        dtype: type of the parameters.
    """

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool, num_chunks: int,
                 dtype: Any = mstype.float32):
        super().__init__()
        name = type(self).__name__
        self.has_bias = checks.boolean(has_bias, "has_bias", name)
        self.input_size = checks.positive_int(input_size, "input_size", name)
        self.hidden_size = checks.positive_int(hidden_size, "hidden_size", name)
        gates = num_chunks * hidden_size

        def parameter(*shape: int) -> Parameter:
            # drawn again below, as in MindSpore, so that a seed gives the same numbers
            with drawing_from_numpy():
                numbers = np.random.randn(*shape)
            return Parameter(Tensor(numbers, dtype))

        self.weight_ih = parameter(gates, input_size)
        self.weight_hh = parameter(gates, hidden_size)
        self.bias_ih = parameter(gates) if has_bias else None
        self.bias_hh = parameter(gates) if has_bias else None
        self.reset_parameters(dtype)

    def reset_parameters(self, dtype: Any = mstype.float32) -> None:
        """Draw the parameters again."""
        for parameter in self.get_parameters():
            parameter.set_data(initializer(Uniform(1 / math.sqrt(self.hidden_size)),
                                           parameter.shape, dtype))

    def _check(self, **inputs: Any) -> None:
        name = type(self).__name__
        for what, value in inputs.items():
            if checks.tensor(value, what, name).dtype not in _FLOATING:
                raise TypeError(f"For '{name}', '{what}' must be floating, but got {value.dtype}.")

    def _parameters(self) -> tuple[Any, ...]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh


class RNNCell(RNNCellBase):
    """One step of an Elman network: tanh(W x + b + U h + c).

    Args:
        input_size, hidden_size: lengths of the input's and the state's last dimension.
        has_bias: whether there are biases.
        nonlinearity: ``"tanh"`` or ``"relu"``.
        dtype: type of the parameters.

    Inputs:
        - **x** - Tensor (N, input_size).
        - **hx** - Tensor (N, hidden_size).

    Outputs:
        Tensor (N, hidden_size), the new state.

    Examples:
        >>> import lamella as ms
        >>> ms.nn.RNNCell(10, 16)(ms.ops.ones((3, 10)), ms.ops.ones((3, 16))).shape
        (3, 16)
    """

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool = True,
                 nonlinearity: str = "tanh", dtype: Any = mstype.float32):
        super().__init__(input_size, hidden_size, has_bias, 1, dtype)
        name = type(self).__name__
        checks.of_type(nonlinearity, str, "nonlinearity", name)
        self.nonlinearity = one_of(nonlinearity, ("tanh", "relu"), "nonlinearity", name)

    def construct(self, x: Tensor, hx: Tensor) -> Tensor:
        self._check(x=x, hx=hx)
        step = _rnn_tanh_cell if self.nonlinearity == "tanh" else _rnn_relu_cell
        return step(x, hx, *self._parameters())


class LSTMCell(RNNCellBase):
    """One step of a long short-term memory.

    Args: those of `RNNCell`, without `nonlinearity`.

    Inputs:
        - **x** - Tensor (N, input_size).
        - **hx** - a pair of Tensors (N, hidden_size), the state and the memory.

    Outputs:
        The pair of the new state and memory.

    Examples:
        >>> import lamella as ms
        >>> h = ms.ops.ones((3, 16))
        >>> hy, cy = ms.nn.LSTMCell(10, 16)(ms.ops.ones((3, 10)), (h, h))
        >>> hy.shape, cy.shape
        ((3, 16), (3, 16))
    """

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool = True,
                 dtype: Any = mstype.float32):
        super().__init__(input_size, hidden_size, has_bias, 4, dtype)

    def construct(self, x: Tensor, hx: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        if not isinstance(hx, tuple) or len(hx) != 2:
            raise TypeError(f"For '{type(self).__name__}', 'hx' must be a tuple of two Tensors, "
                            f"but got {type(hx).__name__}.")
        self._check(x=x, hx=hx[0], cx=hx[1])
        return _lstm_cell(x, hx, *self._parameters())


class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit.

    Args: those of `RNNCell`, without `nonlinearity`.

    Inputs:
        - **x** - Tensor (N, input_size).
        - **hx** - Tensor (N, hidden_size).

    Outputs:
        Tensor (N, hidden_size), the new state.

    Examples:
        >>> import lamella as ms
        >>> ms.nn.GRUCell(10, 16)(ms.ops.ones((3, 10)), ms.ops.ones((3, 16))).shape
        (3, 16)
    """

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool = True,
                 dtype: Any = mstype.float32):
        super().__init__(input_size, hidden_size, has_bias, 3, dtype)

    def construct(self, x: Tensor, hx: Tensor) -> Tensor:
        self._check(x=x, hx=hx)
        return _gru_cell(x, hx, *self._parameters())
