"""Recurrent networks as Primitives, whose weights are one Tensor or two."""

from __future__ import annotations

from typing import Any

import torch

from ...autodiff.forward import recurrent_kernels
from ...core import context
from ...core.require import of_type
from ...machine.cudnn_recurrent import kernel_for
from ...tensors.tensor import Tensor, wrap
from .attributed import Attributed

__all__ = ["BasicLSTMCell", "CudnnGRU", "DynamicGRUV2", "DynamicRNN", "LSTM"]


def _check_only(name: str, **choices: Any) -> None:
    """Check attributes of which one value means something: pairs of what is given and that."""
    for argument, (given, only) in choices.items():
        if given != only:
            raise ValueError(f"For '{name}', '{argument}' must be {only!r}, but got {given!r}.")


def _stacked(values: list[list[torch.Tensor]], kind: torch.dtype) -> tuple[Tensor, ...]:
    """For each of several series, its values at all steps as one Tensor."""
    return tuple([wrap(torch.stack(series).to(kind)) for series in zip(*values, strict=True)])


class DynamicRNN(Attributed):
    """A layer of LSTM (Hochreiter and Schmidhuber, 1997), with what its gates were at each step.

    Args:
        cell_type, direction, activation: must be ``"LSTM"``, ``"UNIDIRECTIONAL"``, ``"tanh"``.
        time_major: must be True: the first dimension is time.
        use_peephole, num_proj: must be False and 0.
        cell_clip: bounds the memory; below 0 not.
        forget_bias: added to the forget gate.
        cell_depth, keep_prob, is_training: accepted as MindSpore does.

    Inputs:
        - **x** - Tensor (T, N, I).
        - **w** - Tensor (I + H, 4 H): for the input and the state, the gates' weights in the order
          input, new value, forget, output.
        - **b** - Tensor (4 H,).
        - **seq_length** - None.
        - **init_h**, **init_c** - Tensors (1, N, H).

    Outputs:
        At each step, Tensors (T, N, H): the result, the state, the memory, the input gate, the new
        value, the forget gate, the output gate, tanh of the memory.

    Raises:
        ValueError: if an attribute or `seq_length` has another value, or a shape doesn't fit.

    Examples:
        >>> import lamella as ms
        >>> x, zero = ms.ops.ones((2, 16, 64)), ms.ops.zeros((1, 16, 32))
        >>> out = ms.ops.DynamicRNN()(x, ms.ops.ones((96, 128)), ms.ops.ones(128), None, zero, zero)
        >>> len(out), out[0].shape
        (8, (2, 16, 32))
    """

    def __init__(self, cell_type: str = "LSTM", direction: str = "UNIDIRECTIONAL",
                 cell_depth: int = 1, use_peephole: bool = False, keep_prob: float = 1.0,
                 cell_clip: float = -1.0, num_proj: int = 0, time_major: bool = True,
                 activation: str = "tanh", forget_bias: float = 0.0, is_training: bool = True):
        super().__init__(
            cell_type=cell_type, direction=direction, cell_depth=cell_depth,
            use_peephole=use_peephole, keep_prob=keep_prob, cell_clip=cell_clip, num_proj=num_proj,
            time_major=time_major, activation=activation, forget_bias=forget_bias,
            is_training=is_training)
        _check_only("DynamicRNN", cell_type=(cell_type, "LSTM"), time_major=(time_major, True),
                    direction=(direction, "UNIDIRECTIONAL"), use_peephole=(use_peephole, False),
                    num_proj=(num_proj, 0), activation=(activation, "tanh"))

    def __call__(self, x: Tensor, w: Tensor, b: Tensor, seq_length: Any, init_h: Tensor,
                 init_c: Tensor) -> tuple[Tensor, ...]:
        _check_only("DynamicRNN", seq_length=(seq_length, None))
        state, memory = init_h._raw.squeeze(0), init_c._raw.squeeze(0)
        size = state.shape[-1]
        if w.shape != (x.shape[2] + size, 4 * size) or b.shape != (4 * size,):
            raise ValueError(f"For 'DynamicRNN', 'w' and 'b' must have the shapes "
                             f"{(x.shape[2] + size, 4 * size)} and {(4 * size,)}, "
                             f"but got {w.shape} and {b.shape}.")
        kept = []
        for step in x._raw:
            gates = torch.cat((step, state), -1) @ w._raw + b._raw
            take, value, keep, show = gates.chunk(4, -1)
            take, value = take.sigmoid(), value.tanh()
            keep, show = (keep + self.forget_bias).sigmoid(), show.sigmoid()
            memory = keep * memory + take * value
            if self.cell_clip > 0:
                memory = memory.clamp(-self.cell_clip, self.cell_clip)
            outward = memory.tanh()
            state = show * outward
            kept.append([state, state, memory, take, value, keep, show, outward])
        return _stacked(kept, b._raw.dtype)


class DynamicGRUV2(Attributed):
    """A layer of GRU (Cho et al., 2014), with what its gates were at each step.

    Args:
        direction, activation: must be ``"UNIDIRECTIONAL"`` and ``"tanh"``.
        time_major: must be True: the first dimension is time.
        num_proj: must be 0.
        gate_order: ``"rzh"`` (reset, update, new) or ``"zrh"``: the order in the weights.
        reset_after: whether the reset gate multiplies after the product with the weights.
        cell_depth, keep_prob, cell_clip, is_training: accepted as MindSpore does.

    Inputs:
        - **x** - Tensor (T, N, I).
        - **weight_input** - Tensor (I, 3 H).
        - **weight_hidden** - Tensor (H, 3 H).
        - **bias_input**, **bias_hidden** - Tensors (3 H,), or None.
        - **seq_length** - None.
        - **init_h** - Tensor (N, H).

    Outputs:
        At each step, Tensors (T, N, H): the result, the state, the update gate, the reset gate, the
        new value, and what the state gives to the new value.

    Raises:
        ValueError: if an attribute or `seq_length` has another value.

    Examples:
        >>> import lamella as ms
        >>> x, zero = ms.ops.ones((2, 8, 64)), ms.ops.zeros((8, 16))
        >>> out = ms.ops.DynamicGRUV2()(x, ms.ops.ones((64, 48)), ms.ops.ones((16, 48)), None,
        ...                             None, None, zero)
        >>> len(out), out[0].shape
        (6, (2, 8, 16))
    """

    def __init__(self, direction: str = "UNIDIRECTIONAL", cell_depth: int = 1,
                 keep_prob: float = 1.0, cell_clip: float = -1.0, num_proj: int = 0,
                 time_major: bool = True, activation: str = "tanh", gate_order: str = "rzh",
                 reset_after: bool = True, is_training: bool = True):
        super().__init__(
            direction=direction, cell_depth=cell_depth, keep_prob=keep_prob, cell_clip=cell_clip,
            num_proj=num_proj, time_major=time_major, activation=activation, gate_order=gate_order,
            reset_after=reset_after, is_training=is_training)
        _check_only("DynamicGRUV2", direction=(direction, "UNIDIRECTIONAL"),
                    time_major=(time_major, True), num_proj=(num_proj, 0),
                    activation=(activation, "tanh"))
        if gate_order not in ("rzh", "zrh"):
            raise ValueError(f"For 'DynamicGRUV2', 'gate_order' must be 'rzh' or 'zrh', "
                             f"but got {gate_order!r}.")

    def __call__(self, x: Tensor, weight_input: Tensor, weight_hidden: Tensor,
                 bias_input: Tensor | None, bias_hidden: Tensor | None, seq_length: Any,
                 init_h: Tensor) -> tuple[Tensor, ...]:
        _check_only("DynamicGRUV2", seq_length=(seq_length, None))
        state, inner, outer = init_h._raw, weight_input._raw, weight_hidden._raw
        zero = torch.zeros((), dtype=inner.dtype, device=inner.device)
        b_i = zero if bias_input is None else bias_input._raw
        b_h = zero if bias_hidden is None else bias_hidden._raw
        first, second = (0, 1) if self.gate_order == "rzh" else (1, 0)
        size, kept = state.shape[-1], []
        b_n = b_h[2 * size:] if b_h.dim() else b_h
        for step in x._raw:
            by_input = (step @ inner + b_i).chunk(3, -1)
            by_state = (state @ outer[:, :2 * size] + (b_h[:2 * size] if b_h.dim() else b_h)
                        ).chunk(2, -1)
            reset = (by_input[first] + by_state[first]).sigmoid()
            update = (by_input[second] + by_state[second]).sigmoid()
            if self.reset_after:
                hidden = state @ outer[:, 2 * size:] + b_n
                new = (by_input[2] + reset * hidden).tanh()
            else:
                hidden = (reset * state) @ outer[:, 2 * size:] + b_n
                new = (by_input[2] + hidden).tanh()
            state = new + update * (state - new)
            kept.append([state, state, update, reset, new, hidden])
        kind = next((t for t in (bias_input, bias_hidden) if t is not None), init_h)._raw.dtype
        return _stacked(kept, kind)


def unpacked(name: str, w: Tensor, gates: int, attributes: Any) -> list[torch.Tensor]:
    """The weights of each layer and direction, as PyTorch's kernels take them.

    One after the other lie for each layer and direction the weights for the input and for the
    state; then, for each, the two biases, or their sum alone, as MindSpore's layers give it on
    CPUs.
    """
    hidden, own = attributes.hidden_size, w._raw.reshape(-1)
    state = attributes.projected or hidden  # how wide what is handed on is
    directions = 2 if attributes.bidirectional else 1
    shapes = [(gates * hidden, attributes.input_size if layer == 0 else state * directions)
              for layer in range(attributes.num_layers) for _ in range(directions)]
    last = hidden * attributes.projected
    sizes = [n * (width + state) + last for n, width in shapes]
    biases = [2 * n for n, _ in shapes] if attributes.has_bias else []
    summed = [n for n, _ in shapes] if attributes.has_bias else []
    if summed and own.numel() == sum(sizes) + sum(summed):
        biases = summed
    if own.numel() != sum(sizes) + sum(biases):
        raise ValueError(f"For '{name}', 'w' must have {sum(sizes) + sum(biases)} elements, "
                         f"but got shape {w.shape}.")
    parts = own.split(sizes + biases)
    found = []
    for i, (n, width) in enumerate(shapes):
        a, b, projection = parts[i].split([n * width, n * state, last])
        found += [a.view(n, width), b.view(n, state)]
        if biases is summed:
            found += [parts[len(shapes) + i], torch.zeros_like(parts[len(shapes) + i])]
        elif biases:
            found += parts[len(shapes) + i].chunk(2)
        if last:
            found.append(projection.view(attributes.projected, hidden))
    return found


class Packed(Attributed):
    """A network of several layers whose weights are one Tensor."""

    @property
    def projected(self) -> int:
        """How wide an LSTM makes what it hands on; 0: as wide as its memory."""
        return self.__dict__.get("proj_size", 0)

    def __init__(self, input_size: int, hidden_size: int, num_layers: int, has_bias: bool,
                 bidirectional: bool, dropout: float, **more: Any):
        super().__init__(input_size=input_size, hidden_size=hidden_size, num_layers=num_layers,
                         has_bias=has_bias, bidirectional=bidirectional, dropout=dropout, **more)
        name = self.name
        for argument in ("input_size", "hidden_size", "num_layers"):
            value = self.__dict__[argument]
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"For '{name}', the '{argument}' must be int and must be > 0, "
                                 f"but got {value!r}.")
        for argument in ("has_bias", "bidirectional"):
            of_type(self.__dict__[argument], bool, argument, name)
        if not isinstance(dropout, float):
            raise TypeError(f"For '{name}', 'dropout' must be a float, but got {dropout!r}.")
        if not 0 <= dropout <= 1:
            raise ValueError(f"For '{name}', 'dropout' must be in the range [0.0, 1.0], "
                             f"but got {dropout}.")

    def _check_sizes(self, input: Tensor, w: Tensor, **states: Tensor) -> None:
        """Refuse what doesn't fit: a kernel here reads as far as the weights say."""
        if input.ndim != 3 or input.shape[2] != self.input_size:
            raise ValueError(f"For '{self.name}', 'input' must have shape (T, N, "
                             f"{self.input_size}), but got {input.shape}.")
        layers = self.num_layers * (2 if self.bidirectional else 1)
        for argument, given in states.items():
            width = self.hidden_size if argument == "c" else self.projected or self.hidden_size
            shape = (layers, input.shape[1], width)
            if given.shape != shape:
                raise ValueError(f"For '{self.name}', '{argument}' must have shape {shape}, "
                                 f"but got {given.shape}.")
        kinds = {"input": input.dtype, **{k: v.dtype for k, v in states.items()}, "w": w.dtype}
        if len(set(kinds.values())) > 1 or not w._raw.is_floating_point():
            raise TypeError(f"For '{self.name}', all Tensors must have one floating type, but got "
                            f"{', '.join(f'{k}: {v}' for k, v in kinds.items())}.")

    def _run(self, mode: str, gates: int, input: Tensor, w: Tensor, **states: Tensor
             ) -> list[Tensor]:
        self._check_sizes(input, w, **states)
        weights = unpacked(self.name, w, gates, self)
        raws = [given._raw for given in states.values()]
        state = raws if len(raws) > 1 else raws[0]
        with recurrent_kernels(bool(self.projected)):  # oneDNN has no projections
            kernel = kernel_for(mode, input._raw, self.dropout)
            found = kernel(input._raw, state, weights, self.has_bias, self.num_layers,
                           self.dropout, self.dropout > 0, self.bidirectional, False)
        return [wrap(raw) for raw in found]

    def _unused(self) -> tuple[Tensor, Tensor]:
        """What only the gradient's kernel of MindSpore reads."""
        return (wrap(torch.zeros(1, 1, device=context.current_device())),
                wrap(torch.zeros(1, 1, device=context.current_device())))


class LSTM(Packed):
    """Layers of LSTM, see `nn.LSTM`, with all weights in one Tensor.

    Args:
        input_size, hidden_size, num_layers: I, H and the number of layers.
        has_bias, bidirectional: whether there are biases, and a direction backwards.
        dropout: the share of values between layers that become 0.
        proj_size: P, how wide `h` and the result are made by weights of their own; 0: H wide.

    Inputs:
        - **input** - Tensor (T, N, I).
        - **h**, **c** - Tensors (layers * directions, N, H); `h` with `proj_size` (…, N, P).
        - **w** - Tensor of all weights, and then all biases, layer by layer.

    Outputs:
        The result (T, N, directions * H), the last `h` and `c`, and two Tensors without meaning.

    Raises:
        TypeError: if an argument is of the wrong type.
        ValueError: if one is out of range, or `w` has another number of elements.

    Examples:
        >>> import lamella as ms
        >>> zero = ms.ops.zeros((1, 2, 3))
        >>> lstm = ms.ops.LSTM(4, 3, 1, False, False, 0.0)
        >>> lstm(ms.ops.ones((5, 2, 4)), zero, zero, ms.ops.ones((84, 1, 1)))[0].shape
        (5, 2, 3)
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int, has_bias: bool,
                 bidirectional: bool, dropout: float, proj_size: int = 0):
        super().__init__(input_size, hidden_size, num_layers, has_bias, bidirectional, dropout,
                         proj_size=proj_size)
        if isinstance(proj_size, bool) or not isinstance(proj_size, int):
            raise TypeError(f"For 'LSTM', 'proj_size' must be an int, but got {proj_size!r}.")
        if not 0 <= proj_size < hidden_size:
            raise ValueError(f"For 'LSTM', 'proj_size' must be in range of [0, {hidden_size}), "
                             f"but got {proj_size}.")

    def __call__(self, input: Tensor, h: Tensor, c: Tensor, w: Tensor) -> tuple[Tensor, ...]:
        return (*self._run("LSTM", 4, input, w, h=h, c=c),
                *self._unused())


class CudnnGRU(Packed):
    """Layers of GRU, see `nn.GRU`, with all weights in one Tensor; arguments as `LSTM`.

    Inputs:
        - **input** - Tensor (T, N, I).
        - **h** - Tensor (layers * directions, N, H).
        - **w** - Tensor of all weights, and then all biases, layer by layer.

    Outputs:
        The result (T, N, directions * H), the last `h`, and two Tensors without meaning.
    """

    def __call__(self, input: Tensor, h: Tensor, w: Tensor) -> tuple[Tensor, ...]:
        return (*self._run("GRU", 3, input, w, h=h),
                *self._unused())


class BasicLSTMCell(Attributed):
    """One step of LSTM (Hochreiter and Schmidhuber, 1997), with what its gates were.

    Args:
        keep_prob: must be 1.
        forget_bias: added to the forget gate.
        state_is_tuple: must be True.
        activation: must be ``"tanh"``.

    Inputs:
        - **x** - Tensor (N, I).
        - **h**, **c** - the state and the memory, Tensors (N, H).
        - **w** - Tensor (I + H, 4 H): for the input and the state, the gates' weights in the order
          input, new value, forget, output.
        - **b** - Tensor (4 H,).

    Outputs:
        Tensors (N, H): the memory, the state, the input gate, the new value, the forget gate, the
        output gate, tanh of the memory.

    Raises:
        ValueError: if an attribute has another value, or shapes don't fit.

    Examples:
        >>> import lamella as ms
        >>> x, zero = ms.ops.ones((1, 2)), ms.ops.zeros((1, 3))
        >>> out = ms.ops.BasicLSTMCell()(x, zero, zero, ms.ops.zeros((5, 12)), ms.ops.zeros(12))
        >>> print(len(out), out[2])
        7 [[0.5 0.5 0.5]]
    """

    def __init__(self, keep_prob: float = 1.0, forget_bias: float = 1.0,
                 state_is_tuple: bool = True, activation: str = "tanh"):
        super().__init__(keep_prob=keep_prob, forget_bias=forget_bias,
                         state_is_tuple=state_is_tuple, activation=activation)
        _check_only(self.name, keep_prob=(keep_prob, 1.0), state_is_tuple=(state_is_tuple, True),
                    activation=(activation, "tanh"))

    def __call__(self, x: Tensor, h: Tensor, c: Tensor, w: Tensor, b: Tensor
                 ) -> tuple[Tensor, ...]:
        width = c.shape[-1]
        if (x.ndim, h.shape, w.shape, b.shape) != (
                2, c.shape, (x.shape[-1] + width, 4 * width), (4 * width,)):
            raise ValueError(f"For '{self.name}', the shapes must be (N, I), (N, H), (N, H), "
                             f"(I + H, 4 H) and (4 H,), but got {x.shape}, {h.shape}, {c.shape}, "
                             f"{w.shape} and {b.shape}.")
        gates = torch.cat((x._raw, h._raw), 1) @ w._raw + b._raw
        enter, new, keep, leave = gates.chunk(4, 1)
        enter, new, leave = enter.sigmoid(), new.tanh(), leave.sigmoid()
        keep = (keep + self.forget_bias).sigmoid()
        memory = keep * c._raw + enter * new
        seen = memory.tanh()
        return tuple([wrap(part) for part in (memory, leave * seen, enter, new, keep, leave,
                                              seen)])
