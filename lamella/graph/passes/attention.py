"""Attention that is spelled out, ``softmax(q kᵀ · scale + mask) v``, by PyTorch's fused kernel.

The fused kernel (Dao et al., "FlashAttention", 2022) goes through the scores by blocks and never
has all of them, in the backward pass neither. Attention with dropout stays as it is: PyTorch's
kernel for CPUs has none. So does one whose scores or weights are used elsewhere.

A row whose scores are all minus infinity gives zeros in the fused kernel, where spelled out it
gives NaN.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from torch.fx import GraphModule, Node

from ..ir.forms import form_of
from ..ir.lazy_module import copied
from .insert import inserted
from .memory import Memory

aten = torch.ops.aten
_BMM, _SOFTMAX = aten.bmm.default, aten._softmax.default
_SAME = (aten.view.default, aten._unsafe_view.default, aten.clone.default, aten.expand.default,
         aten.detach.default, aten.alias.default)
_TURNS = (aten.transpose.int, aten.permute.default)
_TIMES = (aten.mul.Tensor, aten.mul.Scalar)
_OVER = (aten.div.Tensor, aten.div.Scalar)

FEWEST = 2**18  # scores; with fewer, a step of many small kernels is better left to compilers


class Factor(NamedTuple):
    """A factor of a product of matrices: the tensor that has them, maybe transposed."""

    root: Node
    turned: bool

    @property
    def transposed(self) -> Factor:
        return Factor(self.root, not self.turned)

    def matrices(self, value: torch.Tensor, batch: tuple[int, ...]) -> torch.Tensor:
        """The matrices of the root's value, with these dimensions before."""
        found = value.transpose(-1, -2) if self.turned else value
        return found.reshape(*batch, *found.shape[-2:])


class Gradient(NamedTuple):
    """The backward pass of attention: the gradient that it begins with, and those it gives."""

    begin: Factor
    first: Node  # before which the fused kernel goes
    query: list[Node]
    key: list[Node]
    value: list[Node]


class Attention(NamedTuple):
    """Attention that is spelled out in a graph."""

    query: Factor
    key: Factor  # (..., keys, depth)
    value: Factor
    scale: float
    mask: Node | None
    shape: tuple[int, ...]  # of the scores
    result: Node
    gradient: Gradient | None

    @property
    def batch(self) -> tuple[int, int]:
        """The two dimensions that the fused kernel wants before those of the matrices."""
        return (1, *self.shape[:-2])[-2:]  # type: ignore[return-value]


def attention(module: GraphModule, inputs: Sequence[torch.Tensor]) -> GraphModule | None:
    """The graph with fused attention; None if it spells none out."""
    module = copied(module)
    memory = Memory(module.graph)
    found = [one for node in list(module.graph.nodes) if node.target is _SOFTMAX
             for one in _spelled(node, memory)]
    if not found or not all(_replaced(module, one) for one in found):
        return None
    return module


def _replaced(module: GraphModule, one: Attention) -> bool:
    """Put the fused kernel in place of attention; whether the results lie in memory as before."""
    batch, shape = one.batch, (*one.batch, *one.shape[-2:])
    masks = [] if one.mask is None else [one.mask]
    last = one.result

    def given(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> list[torch.Tensor]:
        return [factor.matrices(raw, batch) for factor, raw in zip(
            (one.query, one.key, one.value), (q, k, v), strict=True)]

    def mask_of(q: torch.Tensor, masks: Sequence[torch.Tensor]) -> torch.Tensor | None:
        return masks[0].to(q.dtype).expand(one.shape).reshape(shape) if masks else None

    def forward(q: Any, k: Any, v: Any, *masks: Any) -> list[torch.Tensor]:
        q, k, v = given(q, k, v)
        out, sums = aten._scaled_dot_product_flash_attention_for_cpu(
            q, k, v, attn_mask=mask_of(q, masks), scale=one.scale)
        return [out.reshape(-1, *out.shape[-2:]).contiguous(), out, sums]

    def backward(g: Any, out: Any, sums: Any, q: Any, k: Any, v: Any, *masks: Any
                 ) -> list[torch.Tensor]:
        assert one.gradient is not None
        q, k, v = given(q, k, v)
        found = aten._scaled_dot_product_flash_attention_for_cpu_backward(
            one.gradient.begin.matrices(g, batch), q, k, v, out, sums, 0.0, False,
            attn_mask=mask_of(q, masks), scale=one.scale)
        by_query, by_key, by_value = [x.reshape(-1, *x.shape[-2:]) for x in found]
        return [by_query.contiguous(), by_key.transpose(-1, -2).contiguous(), by_value.contiguous()]

    read = [one.query.root, one.key.root, one.value.root, *masks]
    result, out, sums = inserted(module, last, forward, read)
    pairs = [(last, result)]
    if one.gradient is not None:
        grads = inserted(module, one.gradient.first, backward,
                         [one.gradient.begin.root, out, sums, *read])
        for nodes, grad in zip(one.gradient[2:], grads, strict=True):
            pairs.extend((node, grad) for node in nodes)
    if any(form_of(old) != form_of(new) for old, new in pairs):
        return False
    for old, new in pairs:
        old.replace_all_uses_with(new)
    return True


# -- finding it ------------------------------------------------------------------------------------


def _spelled(softmax: Node, memory: Memory) -> Iterator[Attention]:
    """The attention whose weights a softmax gives; none if it is something else."""
    form, dim = form_of(softmax), softmax.args[1]
    if (form is None or form.device.type != "cpu" or len(form.shape) not in (3, 4)
            or dim not in (-1, len(form.shape) - 1) or form.size < FEWEST):
        return
    scores = _scores(softmax.args[0])
    uses: dict[str, Node] = {}
    for user, through, turned, scale in _uses(softmax):
        kind = _kind_of_use(softmax, user, through, turned)
        if kind is None or kind in uses or scale != 1.0:
            return
        uses[kind] = user
    result = uses.get("forward")
    if scores is None or result is None:
        return
    product, scale, mask = scores
    query, key, value = _factor(product.args[0]), _factor(product.args[1]), _factor(result.args[1])
    one = Attention(query, key.transposed, value, scale, mask, form.shape, result, None)
    if len(uses) > 1:
        gradient = _gradient(one, uses.get("backward"), uses.get("by_value"), memory)
        if gradient is None:
            return
        one = one._replace(gradient=gradient)
    if _is_unchanged(one, memory):
        yield one


def _kind_of_use(softmax: Node, user: Node, through: Node, turned: bool) -> str | None:
    """What an operation of attention's does with the weights; None if it is something else."""
    if user.target is _BMM and user.args[0] is through:
        return "by_value" if turned else "forward"
    is_backward = user.target is aten._softmax_backward_data.default and user.args[1] is softmax
    return "backward" if is_backward else None


def _gradient(one: Attention, backward: Node | None, by_value: Node | None, memory: Memory
              ) -> Gradient | None:
    """The backward pass of attention; None if it is something else, too."""
    if backward is None:  # the gradient by the values alone
        return None
    found = _scores(backward.args[0])
    if found is None or found[1:] != (1.0, None):
        return None
    product = found[0]
    begin = _factor(product.args[0])
    if _factor(product.args[1]) != one.value.transposed or by_value is not None and (
            _factor(by_value.args[1]) != begin):
        return None
    query: list[Node] = []
    key: list[Node] = []
    for user, through, turned, scale in _uses(backward):
        if user.target is not _BMM or turned or not math.isclose(scale, one.scale, rel_tol=1e-6):
            return None
        if user.args[0] is through and _factor(user.args[1]) == one.key:
            query.append(user)
        elif user.args[1] is through and _factor(user.args[0]) == one.query.transposed:
            key.append(user)
        else:
            return None
    value = [] if by_value is None else [by_value]
    return Gradient(begin, min((product, *value), key=memory.place.__getitem__), query, key, value)


def _is_unchanged(one: Attention, memory: Memory) -> bool:
    """Whether nothing mutates what the fused kernels read, until they read it."""
    read = [one.query.root, one.key.root, one.value.root, *([one.mask] if one.mask else [])]
    last = one.result
    if one.gradient is not None:
        last = one.gradient.first
        read.append(one.gradient.begin.root)
    return all(not any(memory.place[node] < write < memory.place[last]
                       for write in memory.writes(node)) for node in read)


def _scores(node: Any) -> tuple[Node, float, Node | None] | None:
    """The product of matrices that scores come from, the factor and the mask that they get."""
    scale, mask = 1.0, None
    while isinstance(node, Node) and len(node.users) == 1:
        if node.target is _BMM:
            return node, scale, mask
        if node.target in _SAME and _is_as_large(node) or _is_cast(node):
            node = node.args[0]
        elif (number := _number(node)) is not None:
            scale *= number
            node = node.args[0]
        elif node.target is aten.add.Tensor and mask is None and scale == 1.0 and not node.kwargs:
            a, b = node.args
            if not (isinstance(a, Node) and isinstance(b, Node)):
                return None
            if not _reaches_product(a):
                a, b = b, a
            node, mask, form, whole = a, b, form_of(b), form_of(node)
            if form is None or whole is None or form_of(a) is None or (
                    form_of(a).shape != whole.shape  # type: ignore[union-attr]
                    or not form.dtype.is_floating_point):
                return None
        else:
            return None
    return None


def _reaches_product(node: Any) -> bool:
    while isinstance(node, Node) and node.target is not _BMM:
        if not (node.target in _SAME or _is_cast(node) or _number(node) is not None):
            return False
        node = node.args[0]
    return isinstance(node, Node)


def _number(node: Node) -> float | None:
    """The number that an operation multiplies by."""
    if node.target not in (*_TIMES, *_OVER) or node.kwargs or type(node.args[1]) not in (
            int, float):
        return None
    number = float(node.args[1])  # type: ignore[arg-type]
    return number if node.target in _TIMES else 1 / number if number else None


def _is_cast(node: Node) -> bool:
    form, source = form_of(node), form_of(node.args[0]) if node.args else None
    return (node.target is aten._to_copy.default and form is not None and source is not None
            and form.dtype.is_floating_point and source.dtype.is_floating_point)


def _is_as_large(node: Node) -> bool:
    form, source = form_of(node), form_of(node.args[0])
    return form is not None and source is not None and form.size == source.size


def _has_same_matrices(node: Node) -> bool:
    form, source = form_of(node), form_of(node.args[0])
    return _is_as_large(node) and form.shape[-2:] == source.shape[-2:]  # type: ignore[union-attr]


def _turns(node: Node) -> bool:
    """Whether an operation transposes the last two dimensions, and nothing else."""
    form = form_of(node)
    if node.target not in _TURNS or form is None:
        return False
    count = len(form.shape)
    order = list(range(count))
    if node.target is aten.permute.default:
        order = [d % count for d in node.args[1]]  # type: ignore[union-attr, operator]
    else:
        a, b = int(node.args[1]) % count, int(node.args[2]) % count  # type: ignore[arg-type]
        order[a], order[b] = b, a
    return order == [*range(count - 2), count - 1, count - 2]


def _factor(node: Any) -> Factor:
    """Where the matrices of a factor come from."""
    turned = False
    while True:
        if _turns(node):
            turned = not turned
        elif node.target not in _SAME or not _has_same_matrices(node):
            return Factor(node, turned)
        node = node.args[0]


def _uses(node: Node, turned: bool = False, scale: float = 1.0
          ) -> Iterator[tuple[Node, Node, bool, float]]:
    """The operations that read a value, or views and multiples of it.

    For each: what it reads, whether that is transposed, and the factor of the value in it.
    """
    for user in node.users:
        if user.target in _SAME and _has_same_matrices(user) or _is_cast(user):
            yield from _uses(user, turned, scale)
        elif _turns(user):
            yield from _uses(user, not turned, scale)
        elif (number := _number(user)) is not None:
            yield from _uses(user, turned, scale * number)
        else:
            yield user, node, turned, scale
