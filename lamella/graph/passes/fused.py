"""Putting PyTorch's fused kernel for attention in the place of what spells it out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch.fx import GraphModule, Node

from .forms import form_of, form_of_value
from .insert import inserted
from .known import Known
from .memory import Memory
from .views import VIEWS, Matrices, flattened, order_of, permuted, turn_of

aten = torch.ops.aten
Tensors = tuple[torch.Tensor, ...]


class Hiding(NamedTuple):
    """What hides keys.

    Attributes:
        node: what is added to the scores, or the condition of a fill.
        keeps: of a fill, whether the condition is true for the scores that stay.
        fill: what stands for those that don't; a number or a node.
    """

    node: Node
    keeps: bool | None = None
    fill: Any = None


@dataclass
class Attention:
    """One that is spelled out.

    Attributes:
        nodes: those it consists of.
        lead: the dimensions of the scores before rows and columns.
        scales: what multiplies or divides the scores, "mul" or "div" with a number or a node.
        hiding: what hides keys.
        is_causal: whether that is all that comes later.
        mask: what is to be added otherwise, if it is known beforehand.
        out: the result, a product.
        gradient: that of the result, if the graph has one.
        back: where the backward pass begins.
        gradients: of query (0), key (1) and value (2): products, and whether they are transposed.
    """

    query: Matrices
    key: Matrices
    lead: tuple[int, ...]
    nodes: list[Node]
    scales: list[tuple[str, Any]]
    hiding: list[Hiding]
    is_causal: bool = False
    mask: torch.Tensor | None = None
    out: Node | None = None
    value: Matrices | None = None
    gradient: Matrices | None = None
    back: Node | None = None
    gradients: list[tuple[int, Node, bool]] = field(default_factory=list)


class Writer:
    """Puts the fused kernel into a graph."""

    def __init__(self, module: GraphModule, known: Known, memory: Memory):
        self.module, self.graph = module, module.graph
        self.known, self.memory = known, memory
        self.now: dict[Node, Node] = {}  # what stands for results that have been replaced

    def write(self, found: Attention) -> None:
        """Replace one attention, and its gradients."""
        out, lead, is_causal = found.out, found.lead, found.is_causal
        assert out is not None and found.value is not None
        scale, factors = 1.0, []
        for kind, value in found.scales:
            number = self.known.number(value)
            if number is None:
                factors.append((kind, value))
            else:
                scale = scale * number if kind == "mul" else scale / number
        mask = self._mask(found, out)
        numbers = [n for _, n in factors]
        nodes, turns = zip(*[self._best(m, lead)
                             for m in (found.query, found.key, found.value)], strict=True)
        split = len(mask)

        def batches(*values: torch.Tensor) -> list[torch.Tensor]:
            q, k, v = [_in_batches(x, t, lead) for x, t in zip(values, turns, strict=False)]
            return [_times(q, factors, values[3 + split:]), k, v]

        def forward(*values: torch.Tensor) -> Tensors:
            added = values[3] if split else None
            y, sums = aten._scaled_dot_product_flash_attention_for_cpu(
                *batches(*values), 0.0, is_causal, attn_mask=added, scale=scale)
            return _with_lead(y, lead), sums

        given = [*nodes, *mask, *numbers]
        y, sums = inserted(self.module, out, forward, given)
        if found.gradient is not None:
            gradient, turn = self._best(found.gradient, lead)

            def backward(gradient: torch.Tensor, y: torch.Tensor, sums: torch.Tensor,
                         *values: torch.Tensor) -> Tensors:
                added = values[3] if split else None
                dq, dk, dv = aten._scaled_dot_product_flash_attention_for_cpu_backward(
                    _in_batches(gradient, turn, lead), *batches(*values),
                    _in_batches(y, False, lead), sums, 0.0, is_causal, attn_mask=added,
                    scale=scale)
                dq = _times(dq, factors, values[3 + split:])
                return tuple([_with_lead(d, lead) for d in (dq, dk, dv)])

            assert found.back is not None
            made = inserted(self.module, found.back, backward, [gradient, y, sums, *given])
            for number, node, turned in found.gradients:
                self._give(node, made[number], turned)
        self._give(out, y, False)

    def _best(self, given: Matrices, lead: Sequence[int]) -> tuple[Node, bool]:
        node, turned = given.best(lead)
        return self.now.get(node, node), turned

    def _mask(self, found: Attention, place: Node) -> list[Node]:
        """A node with what is added to the scores, if there is any."""
        if found.is_causal or not found.hiding:
            return []
        rank = len(found.lead) + 2
        if found.mask is None:
            return inserted(self.module, place, lambda *terms: (_sum_of_terms(terms, rank),),
                            [h.node for h in found.hiding])
        name = f"hidden_{place.name}"
        value = _in_rank(found.mask, rank).clone()
        self.module.register_buffer(name, value, persistent=False)
        with self.graph.inserting_before(place):
            node = self.graph.get_attr(name)
        node.meta["form"] = form_of_value(value)
        return [node]

    def _give(self, node: Node, value: Node, turned: bool) -> None:
        """Let a product's users have another value, transposed if `turned`.

        They get it in the layout of the product, unless they make a copy of their own anyway.
        """
        form, own = form_of(node), form_of(value)
        assert form is not None and own is not None
        order = list(range(len(own.shape)))
        if turned:
            order[-2:] = order[:-3:-1]
        with self.graph.inserting_before(node):
            found = flattened(self.graph, permuted(self.graph, value, order), form.shape)
        node.replace_all_uses_with(found)
        self.now[node] = found
        if self.memory.writes(node):
            return  # who copies it later wants what it has become
        pending = [(found, order if form.shape[:-2] == own.shape[:-2] else None)]
        while pending:
            view, order = pending.pop()
            for user in list(view.users):
                turn, shape = order_of(user), form_of(user)
                if order is not None and turn is not None:
                    pending.append((user, [order[i] for i in turn]))
                elif order is None and shape is not None and user.target in VIEWS and (
                        shape.shape[:-2] == own.shape[:-2] and turn_of(user) is False):
                    start = list(range(len(own.shape)))
                    pending.append((user, start[:-2] + start[:-3:-1] if turned else start))
                elif order is not None and _is_copy_by_rows(user):
                    with self.graph.inserting_before(user):
                        user.update_arg(0, permuted(self.graph, value, order))
                elif order is not None and shape is not None and user.target in VIEWS and (
                        all(_is_copy_by_rows(n) for n in user.users)):
                    with self.graph.inserting_before(user):
                        copy = flattened(self.graph, permuted(self.graph, value, order),
                                         shape.shape)
                    user.replace_all_uses_with(copy)


def _is_copy_by_rows(node: Node) -> bool:
    """Whether an operation copies what it is given, and strides are nothing to it."""
    form = form_of(node)
    if node.target is aten.cat.default:
        return form is not None and len(form.shape) == 3  # others may have the channels last
    return (node.target is aten.clone.default
            and node.kwargs.get("memory_format") is torch.contiguous_format)


def _in_batches(x: torch.Tensor, turned: bool, lead: Sequence[int]) -> torch.Tensor:
    """Matrices as the kernel takes them: (B, heads, T, d), rows in one piece."""
    x = x.transpose(-1, -2) if turned else x
    x = x if x.shape[:-2] == tuple(lead) else x.view(*lead, *x.shape[-2:])
    x = x if len(lead) == 2 else x.unsqueeze(1)
    return x if x.stride(-1) == 1 else x.contiguous()


def _with_lead(x: torch.Tensor, lead: Sequence[int]) -> torch.Tensor:
    return x if len(lead) == 2 else x.squeeze(1)


def _times(x: torch.Tensor, factors: Sequence[tuple[str, Any]], values: Sequence[torch.Tensor]
           ) -> torch.Tensor:
    for (kind, _), value in zip(factors, values, strict=True):
        x = x * value if kind == "mul" else x / value
    return x


def _in_rank(x: torch.Tensor, rank: int) -> torch.Tensor:
    """A mask of four dimensions, of one for scores of this many."""
    x = x.view(*[1] * (rank - x.dim()), *x.shape)
    return x if rank == 4 else x.unsqueeze(1)


def _sum_of_terms(terms: Sequence[torch.Tensor], rank: int) -> torch.Tensor:
    """The sum of what is added to scores.

    Where it is -inf for all keys, the softmax gives no number, but the kernel would give 0.
    """
    total = _in_rank(terms[0], rank)
    for term in terms[1:]:
        total = total + _in_rank(term, rank)
    return total.masked_fill(total.amax(-1, keepdim=True) == float("-inf"), float("nan"))
