"""What operations make of values that are longer than what counts of them (`growing`).

A rule gives the operation to run instead, and how far its result counts. None means that there is
no rule for this use: then the operation gets the part that counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .boxes import ADD, PLACE, PUT, TAKE, Box
from .rolling import links_in, with_links
from .table import TABLE, Step, is_tensor

if TYPE_CHECKING:
    from .growing import Growing

EXPANDS = ("expand.default", "broadcast_to.default")
_VIEWS = ("view.default", "_unsafe_view.default", "_reshape_alias.default", "reshape.default",
          "squeeze.default", "squeeze.dim", "squeeze.dims", "unsqueeze.default")
_FILES = ("table", "pointwise", "activations")  # whose rows compute each element by itself
_LIKE = ("zeros_like.default", "ones_like.default", "full_like.default", "empty_like.default")
# products: the letters of the factors' dimensions and of the result's; addends come before
_PRODUCTS = {"mm": ("ik", "kj", "ij"), "bmm": ("bik", "bkj", "bij"), "mv": ("ik", "k", "i"),
             "dot": ("k", "k", ""), "addmm": ("ik", "kj", "ij"), "baddbmm": ("bik", "bkj", "bij"),
             "addmv": ("ik", "k", "i")}
_NEUTRAL = {"sum": 0, "mean": 0, "amax": -math.inf, "amin": math.inf, "logsumexp": -math.inf,
            "argmax": -math.inf, "argmin": math.inf}


class Length(NamedTuple):
    """How far a value counts in a dimension, and how long it is there.

    Attributes:
        now, most: what counts, and what there is, of each `outer` times `inner` elements: a view
            may have joined the dimension with others.
    """

    now: int
    most: int
    outer: int = 1
    inner: int = 1

    @property
    def is_plain(self) -> bool:
        """Whether the dimension isn't joined with others."""
        return self.outer == self.inner == 1

    @property
    def size(self) -> int:
        """The recorded size of the dimension."""
        return self.outer * self.now * self.inner

    @property
    def longest(self) -> int:
        """Its size now."""
        return self.outer * self.most * self.inner


Lengths = dict[int, Length]  # by dimension


class Made(NamedTuple):
    """An operation, and what its result is beyond what counts of it.

    Attributes:
        op, args: the operation.
        lengths: of its result.
        clean: the dimensions beyond whose length its result is 0.
        several: the lengths of each result, if there are several.
    """

    op: str
    args: list[Any]
    lengths: Lengths = {}  # noqa: RUF012  (never changed)
    clean: frozenset[int] = frozenset()
    several: list[Lengths] | None = None


Rule = Callable[["Growing", Step], Made | None]
_RULES: dict[str, Rule] = {}


def made(graph: Growing, step: Step) -> Made | None:
    """The operation in place of a step; None if there is no rule for it."""
    name = step["op"]
    own = _RULES.get(name) or _RULES.get(name.split(".")[0] + ".*")
    if own is not None:
        return own(graph, step)
    return _pointwise(graph, step) if is_pointwise(step) else None


def is_pointwise(step: Step) -> bool:
    """Whether an operation computes each element by itself, and has one result."""
    name, fn = step["op"], TABLE.get(step["op"])
    if name in _RULES or _tensor_shape(step) is None:
        return False
    return name in _LIKE or fn is not None and fn.__module__.rpartition(".")[2] in _FILES


def through_view(shape: Sequence[int], lengths: Lengths, view: Sequence[int]) -> Lengths | None:
    """The lengths of a view that has another shape; None if two dimensions that grow become one."""
    found: Lengths = {}
    for dim, length in lengths.items():
        before = math.prod(shape[:dim]) * length.outer
        after = math.prod(shape[dim + 1:]) * length.inner
        for at, size in enumerate(view):
            first = math.prod(view[:at])
            last = math.prod(view[at + 1:])
            if first and last and before % first == 0 and after % last == 0 and (
                    size == before // first * length.now * (after // last)):
                break
        else:
            return None
        if at in found:
            return None
        found[at] = Length(length.now, length.most, before // first, after // last)
    return found


def _are_plain(*several: Lengths) -> bool:
    return all(length.is_plain for lengths in several for length in lengths.values())


def _rule(*names: str) -> Callable[[Rule], Rule]:
    """Adds a rule for operations, or with ``.*`` for all overloads."""

    def add(rule: Rule) -> Rule:
        _RULES.update(dict.fromkeys(names, rule))
        return rule

    return add


def _aligned(graph: Growing, links: list[dict[str, int]], shape: Sequence[int]
             ) -> tuple[list[dict[str, int]], Lengths] | None:
    """Values of an operation that broadcasts them to a shape, and the lengths of its result."""
    lengths: Lengths = {}
    before = [len(shape) - len(graph.shape(link)) for link in links]
    for link, more in zip(links, before, strict=True):
        for dim, length in graph.lengths.get(link["n"], {}).items():
            at = dim + more
            if at < 0 or lengths.setdefault(at, length) != length or shape[at] != length.size:
                return None
    return [padded_for(graph, link, len(shape), lengths) for link in links], lengths


def padded_for(graph: Growing, link: dict[str, int], rank: int, lengths: Lengths
               ) -> dict[str, int]:
    """A value that is broadcast to a result of a rank, which has grown."""
    own = graph.shape(link)
    more = rank - len(own)
    return graph.padded(link, {dim - more: its for dim, its in lengths.items()
                               if dim >= more and own[dim - more] == its.size})


def _tensor_shape(step: Step) -> list[int] | None:
    """The shape of a step's result; None if it has several."""
    return step["aval"][0] if is_tensor(step["aval"]) else None


def _pointwise(graph: Growing, step: Step) -> Made | None:
    found = _aligned(graph, links_in(step["args"]), step["aval"][0])
    return found and Made(step["op"], with_links(step["args"], found[0]), found[1])


@_rule("getitem")
def _item(graph: Growing, step: Step) -> Made | None:
    source, which = step["args"]
    several = graph.several.get(source["n"])
    return None if several is None else Made(step["op"], step["args"], several[which])


@_rule(*_VIEWS)
def _view(graph: Growing, step: Step) -> Made | None:
    x, shape = step["args"][0], step["aval"][0]
    own = graph.lengths[x["n"]]
    lengths = through_view(graph.shape(x), own, shape)
    if lengths is None:
        return None
    clean = frozenset(at for at, dim in zip(lengths, own, strict=True)
                      if dim in graph.clean.get(x["n"], ()))
    return Made("view.default", [x, _longest(shape, lengths)], lengths, clean)


@_rule(*EXPANDS)
def _expanded(graph: Growing, step: Step) -> Made | None:
    x, _, *rest = step["args"]
    shape = step["aval"][0]
    more = len(shape) - len(graph.shape(x))
    lengths = {dim + more: its for dim, its in graph.lengths[x["n"]].items()}
    if any(shape[dim] != its.size for dim, its in lengths.items()):
        return None
    return Made(step["op"], [x, _longest(shape, lengths), *rest], lengths, frozenset(
        dim + more for dim in graph.clean.get(x["n"], ())))


@_rule("permute.default", "t.default", "transpose.int")
def _permuted(graph: Growing, step: Step) -> Made | None:
    x, *rest = step["args"]
    order = [*range(len(graph.shape(x)))]
    if step["op"] == "permute.default":
        order = [dim % len(order) for dim in rest[0]]
    elif step["op"] == "t.default":
        order.reverse()
    else:
        a, b = (dim % len(order) for dim in rest)
        order[a], order[b] = b, a
    own, clean = graph.lengths[x["n"]], graph.clean.get(x["n"], frozenset())
    return Made(step["op"], step["args"],
                {at: own[dim] for at, dim in enumerate(order) if dim in own},
                frozenset(at for at, dim in enumerate(order) if dim in clean))


@_rule(TAKE, "slice.Tensor", "select.int")
def _part(graph: Growing, step: Step) -> Made | None:
    x = step["args"][0]
    box, own = Box.read_by(step, graph.shape(x)), graph.lengths.get(x["n"], {})
    if box is None or not _are_plain(own):
        return None
    starts, sizes = [*box.starts], [*box.sizes]
    clean = graph.clean.get(x["n"], frozenset())
    # the first elements of what grows grow as well
    lengths = {dim: Length(size, own[dim].most) for dim, size in enumerate(sizes)
               if dim in own and starts[dim] == 0 and size > 1}
    kept = {dim for dim in clean if dim in lengths and lengths[dim].now == own[dim].now}
    if not own:  # here it begins to grow
        before = through_view(step["aval"][0], graph.begun[step["to"]], sizes)
        if before is None:
            return None
        lengths = before
    found = through_view(sizes, lengths, step["aval"][0])
    if found is None:
        return None
    return Made(TAKE, [x, starts, _longest(sizes, lengths)], found,
                frozenset(at for at, dim in zip(found, lengths, strict=True) if dim in kept))


def _longest(sizes: Sequence[int], lengths: Lengths) -> list[int]:
    return [lengths[dim].longest if dim in lengths else size for dim, size in enumerate(sizes)]


@_rule("cat.default")
def _joined(graph: Growing, step: Step) -> Made | None:
    parts, (shape, kind) = step["args"][0], step["aval"]
    dim = step["args"][1] % len(shape)
    if any(graph.avals[p["n"]][1] != kind or len(graph.shape(p)) != len(shape) for p in parts):
        return None
    first, *others = [graph.lengths.get(p["n"], {}) for p in parts]
    if any(dim in its for its in others) or not _are_plain(first, *others):
        return None
    lengths: Lengths = {}
    for own in (first, *others):
        for at, length in own.items():
            if at != dim and lengths.setdefault(at, length) != length:
                return None
    length = first.get(dim)
    begun = graph.begun.get(step["to"], {}).get(dim)
    if length is None and begun is not None:
        length = Length(graph.shape(parts[0])[dim], begun.most)
    parts = [graph.padded(part, lengths) for part in parts]
    if length is None:
        return Made(step["op"], [parts, dim], lengths)
    if shape[dim] > length.most:
        return None
    whole = graph.padded(parts[0], {**lengths, dim: length})
    now, clean = length.now, graph.clean.get(whole["n"], frozenset()) & {dim}
    for number, part in enumerate(parts[1:], 2):
        starts, sizes = [0] * len(shape), graph.longer(part)
        starts[dim], now = now, now + graph.shape(part)[dim]
        put = Made(PUT, [whole, part, starts, sizes], {**lengths, dim: Length(now, length.most)},
                   clean)
        if number == len(parts):
            return put
        whole = graph.emit(put, [[*shape[:dim], now, *shape[dim + 1:]], kind])
    return None


@_rule(PUT, PLACE, ADD)
def _written(graph: Growing, step: Step) -> Made | None:
    *whole, part, starts, sizes = step["args"]
    if any(graph.lengths.get(one["n"]) for one in whole):
        return None
    own = graph.lengths[part["n"]]
    lengths = through_view(graph.shape(part), own, sizes)
    shape = step["aval"][0]
    if lengths is None or not _are_plain(own, lengths) or any(
            starts[dim] + its.most > shape[dim] for dim, its in lengths.items()):
        return None
    longest = _longest(sizes, lengths)
    beyond: Any = 0
    if step["op"] == PUT:  # what is there stays
        beyond = graph.emit(Made(TAKE, [whole[0], starts, longest], own), graph.avals[part["n"]])
    for dim in own:
        part = graph.filled(part, dim, beyond)
    return Made(step["op"], [*whole, part, starts, longest])


@_rule(*[f"{name}.default" for name in _PRODUCTS])
def _product(graph: Growing, step: Step) -> Made | None:
    *letters, result = _PRODUCTS[step["op"].split(".")[0]]
    links = links_in(step["args"])
    addends, factors = links[:-2], links[-2:]
    lengths: dict[str, Length] = {}
    for link, its in zip(factors, letters, strict=True):
        for dim, length in graph.lengths.get(link["n"], {}).items():
            if lengths.setdefault(its[dim], length) != length:
                return None
    made = []
    for link, its in zip(factors, letters, strict=True):
        link = graph.padded(link, {d: lengths[a] for d, a in enumerate(its) if a in lengths})
        for dim, letter in enumerate(its):
            if letter not in result:
                link = graph.filled(link, dim, 0)
        made.append(link)
    own = {dim: lengths[letter] for dim, letter in enumerate(result) if letter in lengths}
    if addends:
        shape = step["aval"][0]
        found = _aligned(graph, addends, shape)
        if found is None or any(own.get(dim) != its for dim, its in found[1].items()):
            return None
        addends = [padded_for(graph, addends[0], len(shape), own)]
    return Made(step["op"], with_links(step["args"], [*addends, *made]), own)


@_rule(*[f"{name}.*" for name in _NEUTRAL])
def _reduced(graph: Growing, step: Step) -> Made | None:
    name, _, overload = step["op"].partition(".")
    x, *rest = step["args"]
    kind, rank = graph.avals[x["n"]][1], len(graph.shape(x))
    shape, neutral = _tensor_shape(step), _NEUTRAL[name]
    if shape is None or kind not in ("float32", "float64") and (neutral != 0 or name == "mean"):
        return None
    dims = None if (name, overload) in (("sum", "default"), ("mean", "default")) else rest[0]
    if name.startswith("arg") and (dims is None or not _are_plain(graph.lengths[x["n"]])):
        return None  # a place among all elements
    dims = [dims] if isinstance(dims, int) else dims
    dims = [dim % rank for dim in dims] if dims else [*range(rank)]
    for dim in dims:
        x = graph.filled(x, dim, neutral)
    keep = len(shape) == rank
    lengths = {dim if keep else dim - sum(d < dim for d in dims): its
               for dim, its in graph.lengths[x["n"]].items() if dim not in dims}
    if name != "mean":
        return Made(step["op"], [x, *rest], lengths)
    total = graph.emit(Made("sum.dim_IntList", [x, dims, keep, None], lengths), step["aval"])
    count = math.prod(graph.shape(x)[dim] for dim in dims)
    return Made("div.Scalar", [total, float(count)], lengths)


@_rule("_softmax.default", "_log_softmax.default")
def _softmax(graph: Growing, step: Step) -> Made | None:
    x, dim, *rest = step["args"]
    dim %= len(graph.shape(x))
    is_log = step["op"].startswith("_log")
    return Made(step["op"], [graph.filled(x, dim, -math.inf), dim, *rest],
                graph.lengths[x["n"]], frozenset() if is_log else frozenset([dim]))


@_rule("_softmax_backward_data.default", "_log_softmax_backward_data.default")
def _softmax_backward(graph: Growing, step: Step) -> Made | None:
    g, y, dim, *rest = step["args"]
    shape = step["aval"][0]
    dim %= len(shape)
    found = _aligned(graph, [g, y], shape)
    if found is None:
        return None
    (g, y), lengths = found
    g = graph.filled(g, dim, 0)
    if not step["op"].startswith("_log"):
        y = graph.filled(y, dim, 0)
    return Made(step["op"], [g, y, dim, *rest], lengths)


@_rule("embedding.default")
def _embedding(graph: Growing, step: Step) -> Made | None:
    weight, index, *rest = step["args"]
    if graph.lengths.get(weight["n"]):
        return None
    return Made(step["op"], step["args"], graph.lengths[index["n"]])  # places are clipped


@_rule("native_layer_norm.default")
def _layer_norm(graph: Growing, step: Step) -> Made | None:
    x, shape, *rest = step["args"]
    lengths, rank = graph.lengths.get(x["n"], {}), len(graph.shape(x))
    if any(graph.lengths.get(link["n"]) for link in links_in(rest)) or any(
            dim >= rank - len(shape) for dim in lengths):
        return None
    return Made(step["op"], step["args"], several=[lengths] * 3)
