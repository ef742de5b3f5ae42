"""Convolutions as products of matrices, where those are faster on this machine.

An autotuner: each convolution with its gradient is timed by itself with each algorithm, and the
fastest is remembered. A trial then decides whether the graph as a whole gains.
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch.fx import GraphModule, Node

from ...machine import winograd as tiles
from ...machine.measured import Key, Measured
from ..ir.agreement import agree_but_for_kinks, in_another_order, next_to
from ..ir.lazy_module import copied
from ..ir.metadata import TensorMetadata, meta_of
from . import winograd
from .casts import NARROW, is_cast
from .insert import inserted
from .memory import Memory
from .trial import NotYet

aten = torch.ops.aten
Tensors = tuple[torch.Tensor, ...]

SMALLEST = 2**20  # multiplications in a convolution that is worth timing
LARGEST = 2**24  # elements of all windows written out
GAIN = 0.9  # the most time, relative to PyTorch's convolution, for another algorithm to be chosen
HOPELESS = 1.3  # an algorithm this many times slower than the best in a round is dropped
ROUNDS, PATIENCE = 5, 0.3  # the most rounds of timing one convolution; the most seconds
AT_ONCE = 1.0  # seconds of timing, after which the rest waits for the next attempt


class Convolution(NamedTuple):
    """The sizes and settings of a convolution.

    Attributes:
        x, weight: the metadata of input and weights.
        kept: the metadata of the stored weights, of which `weight` may be a copy.
        y: the metadata of the result.
        stride, padding: of rows and columns.
        of_input: whether the gradient by the input is needed.
    """

    x: TensorMetadata
    weight: TensorMetadata
    kept: TensorMetadata
    y: TensorMetadata
    stride: tuple[int, int]
    padding: tuple[int, int]
    of_input: bool

    def direct(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        """By PyTorch's kernel."""
        return aten.convolution(x, weight, None, self.stride, self.padding, (1, 1), False,
                                (0, 0), 1)

    def direct_backward(self, gradient: torch.Tensor, x: torch.Tensor, weight: torch.Tensor,
                        wanted: Sequence[bool]) -> Sequence[torch.Tensor]:
        """The gradients by PyTorch's kernel: by input, weights and bias."""
        return aten.convolution_backward(
            gradient, x, weight, [weight.shape[0]], self.stride, self.padding, (1, 1), False,
            (0, 0), 1, wanted)


class Way(NamedTuple):
    """An algorithm for a convolution and its gradient.

    Attributes:
        suits: whether it is worth timing for this convolution.
        prepare: (convolution, x, weight) -> buffers for `forward` and `backward`. Each computes
            them again: they are larger than the input, and keeping them would raise peak memory.
        forward: (convolution, x, weight, *prepared) -> the result.
        backward: (convolution, gradient, x, weight, *prepared) -> the gradients by weights and, if
            needed, by input.
        any_layout: whether it accepts weights in another layout than the recorded one.
    """

    suits: Callable[[Convolution], bool]
    prepare: Callable[..., Tensors]
    forward: Callable[..., torch.Tensor]
    backward: Callable[..., Tensors]
    any_layout: bool = False


def _nothing(c: Convolution, x: torch.Tensor, weight: torch.Tensor) -> Tensors:
    return ()


def _direct(c: Convolution, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return c.direct(x, weight)


def _direct_backward(c: Convolution, gradient: torch.Tensor, x: torch.Tensor,
                     weight: torch.Tensor) -> Tensors:
    found = c.direct_backward(gradient, x, weight, [c.of_input, True, False])
    return (found[1], found[0]) if c.of_input else (found[1],)


def _is_in_float32(c: Convolution) -> bool:
    return c.x.dtype is torch.float32


def _is_small_window(c: Convolution) -> bool:
    return (c.weight.shape[2:] == (3, 3) and c.stride == (1, 1) and min(c.weight.shape[:2]) >= 16
            and _is_in_float32(c))


def _transformed(c: Convolution, x: torch.Tensor, weight: torch.Tensor) -> Tensors:
    return winograd.transformed(x, weight, c.padding)


def _winograd(c: Convolution, x: torch.Tensor, weight: torch.Tensor, seen: torch.Tensor,
              weights: torch.Tensor) -> torch.Tensor:
    return winograd.forward(seen, weights, c.x.shape, c.padding)


def _winograd_backward(c: Convolution, gradient: torch.Tensor, x: torch.Tensor,
                       weight: torch.Tensor, seen: torch.Tensor, weights: torch.Tensor) -> Tensors:
    return winograd.backward(gradient, seen, weights, c.x.shape, c.padding, c.of_input)


def _has_full_vectors(c: Convolution) -> bool:
    return (c.weight.shape[2:] == (3, 3) and c.stride == (1, 1) and max(c.padding) <= 2
            and not any(n % tiles.MULTIPLE for n in c.weight.shape[:2])
            and tiles.extension.load() is not None)


def _tiles(c: Convolution, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return tiles.by_tiles(x, weight, *c.padding, False)


def _tiles_backward(c: Convolution, gradient: torch.Tensor, x: torch.Tensor, weight: torch.Tensor
                    ) -> Tensors:
    of_weight = tiles.by_tiles_weights(gradient, x, *c.padding)
    return (of_weight, tiles.by_tiles(gradient, weight, *c.padding, True)) if c.of_input else (
        of_weight,)


def _has_few_windows(c: Convolution) -> bool:
    if not _is_in_float32(c):
        return False
    _, channels, height, width = c.weight.shape
    n, _, rows, columns = c.y.shape
    return channels <= 16 and n * rows * columns * channels * height * width <= LARGEST


def _windows(c: Convolution, x: torch.Tensor, weight: torch.Tensor) -> Tensors:
    """All windows of the input: (N, C height width, rows columns)."""
    height, width = c.weight.shape[2:]
    above, left = c.padding
    padded = F.pad(x, (left, left, above, above)) if above or left else x
    found = padded.unfold(2, height, c.stride[0]).unfold(3, width, c.stride[1])
    found = found.permute(0, 1, 4, 5, 2, 3)
    return (found.reshape(x.shape[0], x.shape[1] * height * width, -1),)


def _written_out(c: Convolution, x: torch.Tensor, weight: torch.Tensor, windows: torch.Tensor
                 ) -> torch.Tensor:
    return torch.matmul(weight.reshape(weight.shape[0], -1), windows).view(c.y.shape)


def _written_out_backward(c: Convolution, gradient: torch.Tensor, x: torch.Tensor,
                          weight: torch.Tensor, windows: torch.Tensor) -> Tensors:
    n, k = gradient.shape[:2]
    found = torch.bmm(gradient.reshape(n, k, -1), windows.transpose(1, 2)).sum(0)
    of_weight = found.view(weight.shape)
    if not c.of_input:
        return (of_weight,)
    return of_weight, c.direct_backward(gradient, x, weight, [True, False, False])[0]


WAYS: dict[str, Way] = {
    "torch": Way(lambda c: True, _nothing, _direct, _direct_backward),
    "tiles": Way(_has_full_vectors, _nothing, _tiles, _tiles_backward, True),
    "winograd": Way(_is_small_window, _transformed, _winograd, _winograd_backward, True),
    "windows": Way(_has_few_windows, _windows, _written_out, _written_out_backward),
}

known = Measured("convolutions-5", WAYS)


def convolutions(module: GraphModule, inputs: Sequence[torch.Tensor]) -> GraphModule | None:
    """The graph with the fastest algorithm for each convolution, with ``meta["verified"]``.

    The error of the results stays within a few times that of PyTorch's kernels. None if the
    fastest are these.

    Raises:
        NotYet: if there is more to time than `AT_ONCE` allows.
    """
    module = copied(module)
    memory = Memory(module.graph)
    pairs = list(_pairs(module, memory))
    start = time.perf_counter()

    def timed(c: Convolution) -> str:
        if time.perf_counter() - start > AT_ONCE:
            raise NotYet
        return fastest(c)

    names = [known.find(_key(c), lambda _, c=c: timed(c)) for c, *_ in pairs]
    changed = False
    for (convolution, sources, before, after), name in zip(pairs, names, strict=True):
        # what an earlier process has chosen may lack its kernel in this one
        if name is not None and name != "torch" and (way := WAYS[name]).suits(convolution):
            weights = sources if way.any_layout else (before.args[1], after.args[2])
            _replace(module, convolution, weights, before, after, way)
            changed = True
    module.meta["verified"] = True  # each algorithm, when it was timed
    return module if changed else None


def await_kernels(module: GraphModule) -> None:
    """Have the kernel in C++ built for a graph that it suits, before anything is tried."""
    for node in module.graph.nodes:
        if node.target is aten.convolution_backward.default:
            weight = meta_of(node.args[2])
            if weight is not None and weight.device.type == "cpu" and (
                    weight.shape[2:] == (3, 3) and weight.shape[0] % tiles.MULTIPLE == 0):
                tiles.extension.request()
                return


def _pairs(module: GraphModule, memory: Memory) -> Any:
    """The convolutions that other algorithms can compute, each with its gradient.

    The gradient may read another cast or copy of the same input or weights.
    """
    forward: dict[Any, Node] = {}
    for node in module.graph.nodes:
        if node.target is aten.convolution.default:
            key = (*map(_origin, node.args[:2]), *map(str, node.args[3:]))
            forward.setdefault(key, node)
        if node.target is not aten.convolution_backward.default:
            continue
        gradient, x, weight, _, *how, wanted = node.args
        before = forward.pop((_origin(x), _origin(weight), *map(str, how)), None)
        if before is None or not wanted[1] or not all(
                _are_equal(a, before, b, node, memory)
                for a, b in zip(before.args[:2], (x, weight), strict=True)):
            continue
        sources = [_uncopied(n.args[place], memory, n) for n, place in ((before, 1), (node, 2))]
        found = _described(before, node, sources, how, bool(wanted[0]))
        if found is not None:
            yield found, sources, before, node


def _origin(node: Any) -> Any:
    """What a value is a copy of, or its cast to bfloat16."""
    while node.target is aten.clone.default or is_cast(node, NARROW):
        node = node.args[0]
    return node


def _are_equal(value: Any, reader: Node, other: Any, its_reader: Node, memory: Memory) -> bool:
    """Whether two copies of one value are equal where they are read."""
    if value is other:
        return memory.version((value,), memory.place[reader]) == memory.version(
            (value,), memory.place[its_reader])
    origin, places = _origin(value), []
    for node in (value, other):
        places.append(memory.place[node])
        while node is not origin:
            if memory.writes(node):
                return False
            places.append(memory.place[node])
            node = node.args[0]
    if origin in (value, other):
        places += [memory.place[reader], memory.place[its_reader]]
    return len({memory.version((origin,), place) for place in places}) == 1


def _uncopied(weight: Any, memory: Memory, last: Node) -> Node:
    """The stored weights of which these are a copy, if nothing mutates either before `last`."""
    source = weight.args[0] if weight.target is aten.clone.default else None
    if isinstance(source, Node) and not memory.writes(weight) and memory.version(
            (source,), memory.place[weight]) == memory.version((source,), memory.place[last]):
        return source
    return weight


def _described(node: Node, after: Node, sources: Sequence[Node], how: Sequence[Any], of_input: bool
               ) -> Convolution | None:
    stride, padding, dilation, transposed, _, groups = how
    metas = [meta_of(n) for n in (*node.args[:2], sources[0], node, after.args[0])]
    again = [meta_of(n) for n in (*after.args[1:3], sources[1])]
    types = {f.dtype for f in metas if f is not None}
    if transposed or groups != 1 or types not in ({torch.float32}, {torch.bfloat16}) or any(
            f is None or len(f.shape) != 4 or f.device.type != "cpu" for f in metas) or any(
            d != 1 for d in dilation):
        return None
    if any(a != b for a, b in zip(metas, again, strict=False)):
        return None
    x, weight, kept, y, _ = metas
    assert x is not None and weight is not None and kept is not None and y is not None
    if weight.size * y.shape[0] * y.shape[2] * y.shape[3] < SMALLEST:
        return None
    return Convolution(x, weight, kept, y, (stride[0], stride[-1]), (padding[0], padding[-1]),
                       of_input)


def _key(c: Convolution) -> Key:
    return (*c.x.shape, *c.weight.shape, *c.stride, *c.padding, c.x.stride[1] == 1,
            c.weight.stride[1] == 1, c.kept.stride[1] == 1, c.of_input, str(c.x.dtype),
            torch.get_num_threads())


def fastest(c: Convolution) -> str:
    """The name of the fastest algorithm that is right; PyTorch's unless one is clearly faster."""
    best = {name: float("inf") for name, way in WAYS.items() if way.suits(c)}
    with torch.no_grad(), torch.random.fork_rng([]):
        x, gradient, weight = c.x.scratch(), c.y.scratch(), c.weight.scratch()
        weights = {c.weight: weight, c.kept: c.kept.copied(weight)}
        wanted: list[torch.Tensor] = []

        def nearby() -> list[torch.Tensor]:
            given = (next_to(x), next_to(weights[c.weight]))
            return [_direct(c, *given), *_direct_backward(c, next_to(gradient), *given)]

        start = time.perf_counter()
        for number in range(ROUNDS):
            for name in list(best):
                weight = weights[c.kept if WAYS[name].any_layout else c.weight]
                begin = time.perf_counter()
                way = WAYS[name]
                y = way.forward(c, x, weight, *way.prepare(c, x, weight))
                found = way.backward(c, gradient, x, weight, *way.prepare(c, x, weight))
                for value, meta in zip((y, *found), (c.y, c.weight, c.x), strict=False):
                    _as_meta(value, meta)
                best[name] = min(best[name], time.perf_counter() - begin)
                if name == "torch":
                    wanted = wanted or [y, *found]
                elif not number and not agree_but_for_kinks(
                        wanted, [y, *found], nearby, in_another_order([x, gradient], wanted)):
                    del best[name]
                del y, found
            hopeful = HOPELESS * min(best.values())
            best = {k: v for k, v in best.items() if v <= hopeful or k == "torch"}
            if len(best) == 1 or (number and time.perf_counter() - start > PATIENCE):
                break
    winner = min(best, key=lambda name: best[name])
    return winner if best[winner] < GAIN * best["torch"] else "torch"


def _as_meta(value: torch.Tensor, meta: TensorMetadata) -> torch.Tensor:
    """A value with the strides that the graph expects."""
    if value.stride() == meta.stride:
        return value
    last = meta.stride[1] == 1 and meta.shape[1] != 1
    return value.clone(memory_format=torch.channels_last if last else torch.contiguous_format)


def _replace(module: GraphModule, c: Convolution, weights: Sequence[Any], before: Node, after: Node,
             way: Way) -> None:
    x, _, bias = before.args[:3]
    gradient, its_x, wanted = *after.args[:2], after.args[-1]
    metas: dict[Any, Any] = {user.args[1]: meta_of(user) for user in after.users
                             if wanted[user.args[1]]}  # type: ignore[index]
    values = [x, weights[0]] if bias is None else [x, weights[0], bias]

    def forward(x: torch.Tensor, weight: torch.Tensor, *bias: torch.Tensor) -> Tensors:
        y = way.forward(c, x, weight, *way.prepare(c, x, weight))
        if bias:
            y = y + bias[0].view(-1, 1, 1)
        return (_as_meta(y, c.y),)

    def backward(gradient: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> Tensors:
        prepared = way.prepare(c, x, weight)
        of_weight, *of_input = way.backward(c, gradient, x, weight, *prepared)
        found = [*(of_input or [None]), of_weight, gradient.sum((0, 2, 3))]
        return tuple([_as_meta(found[i], meta) for i, meta in metas.items()])

    (y,) = inserted(module, before, forward, values)  # type: ignore[arg-type]
    found = inserted(module, after, backward,
                     [gradient, its_x, weights[1]], again=True)  # type: ignore[list-item]
    graph = module.graph
    places = dict(zip(metas, found, strict=True))
    for user in list(after.users):
        assert user.target is operator.getitem
        if user.args[1] in places:
            user.replace_all_uses_with(places[user.args[1]])
            graph.erase_node(user)
    before.replace_all_uses_with(y)
