"""Attention that is spelled out, softmax(Q Kᵀ scale + mask) V, by PyTorch's fused kernel.

The kernel goes through the keys in blocks and never writes all scores down (Dao et al., 2022,
FlashAttention); its gradient computes them again. A graph of a training step has both directions,
and they are replaced together or not at all: nothing else may use the scores, the probabilities or
their gradients. Graphs on the CPU in float32 and float64 are looked at, no others.

What hides keys is added to the scores, as the kernel has it. Numbers that were added stay what they
were. A fill (`masked_fill`, `where`) becomes -inf, which is the same only if the fill itself is
nothing after the softmax: it must be -10⁴ or less, known beforehand with its condition, and
every row must keep a key. What is known to hide all that comes later is the kernel's own rule.
(Scores near -10⁴ themselves would tell the difference; a model that works has none.) The gradient
goes by the logarithm of the sum of a row's exponentials, in which a number that is added to all of
them leaves no digits, as -10⁹ does; so with gradients, what is added has to be known beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.fx import GraphModule, Node

from ..ir.draft import copied
from .constants import MOST_BYTES
from .forms import Form, form_of
from .fused import Attention, Hiding, Writer
from .known import Known
from .memory import Memory
from .views import Matrices, readers, turn_of

aten = torch.ops.aten

FAR = -1e4  # what makes nothing of a probability when it is added to the score, or stands for it
FEWEST = 16  # keys; with fewer, the kernel gives zeros for a query that is not a number
MOST = 100.0  # what may be added to all scores of a row, if there is a gradient

_PRODUCT, _ADDING = aten.bmm.default, aten.baddbmm.default
_SCALINGS: dict[object, str] = {aten.mul.Tensor: "mul", aten.mul.Scalar: "mul",
                                aten.div.Tensor: "div", aten.div.Scalar: "div"}
_FILLS = (aten.masked_fill.Scalar, aten.masked_fill.Tensor, aten.where.self)


def attention(module: GraphModule, inputs: Sequence[torch.Tensor]) -> GraphModule | None:
    """The graph with attention by the fused kernel; None if none is spelled out.

    Results differ by rounding. What is infinite or not a number in a key that is hidden reaches
    fewer results than before, and a row whose scores are all -inf by themselves gives zeros.
    """
    module = copied(module)
    reader = _Reader(module, inputs)
    found = [a for a in map(reader.read, module.graph.nodes) if a is not None]
    writer = Writer(module, reader.known, reader.memory)
    for each in found:
        writer.write(each)
    return module if found else None


class _No(Exception):
    """This isn't attention, or none that may be replaced."""


def _need(condition: object) -> None:
    if not condition:
        raise _No


class _Reader:
    """Finds attention in a graph."""

    def __init__(self, module: GraphModule, inputs: Sequence[torch.Tensor]):
        self.memory = Memory(module.graph)
        self.known = Known(module, inputs, self.memory)

    def read(self, node: Node) -> Attention | None:
        """The attention whose probabilities a node gives."""
        form = form_of(node)
        if (node.target is not aten._softmax.default or form is None or not form.size
                or node.args[1] not in (-1, len(form.shape) - 1) or node.args[2]
                or form.shape[-1] < FEWEST or form.device.type != "cpu"
                or form.dtype not in (torch.float32, torch.float64)):
            return None
        try:
            found = self._scores(node, form)
            softmax_back = self._probabilities(found, node)
            if softmax_back is not None:
                self._way_back(found, softmax_back, form)
            self._mask(found, form)
            self._check(found, form)
        except _No:
            return None
        return found

    def _scores(self, softmax: Node, form: Form) -> Attention:
        """From the softmax up to the product of query and key."""
        nodes, scales, hiding = [softmax], [], []
        node, lead = softmax.args[0], form.shape[:-2]
        while True:
            own = form_of(node)
            _need(isinstance(node, Node) and len(node.users) == 1 and own is not None)
            assert isinstance(node, Node) and own is not None
            nodes.append(node)
            if node.target in (_PRODUCT, _ADDING):
                break
            if not hiding and len(own.shape) > len(lead) + 2:
                lead = own.shape[:-2]
            if turn_of(node) is False:
                node = node.args[0]
            elif node.target in _SCALINGS:
                node, scale = _scaled(node)
                number = self.known.number(scale)  # the kernel scales after hiding what comes later
                _need(number is None or 0 < number < float("inf"))
                scales.append((_SCALINGS[nodes[-1].target], scale))
            else:
                _need(not scales and (not hiding or own.shape[:-2] == lead))
                lead = own.shape[:-2]
                node, hidden = self._hiding(node, own)
                hiding.append(hidden)
        if node.target is _ADDING:
            _need(not node.kwargs and not scales and (not hiding or own.shape[:-2] == lead))
            lead = own.shape[:-2]
            hiding.append(_added(node.args[0], own))
        a, b = _factors(node)
        return Attention(Matrices(a, False, self.memory), Matrices(b, True, self.memory), lead,
                         nodes, scales, hiding)

    def _hiding(self, node: Node, form: Form) -> tuple[Node, Hiding]:
        """The scores that a node takes, and what it does to them."""
        ways = _fillings(node)
        if node.target is aten.add.Tensor and not node.kwargs:
            a, b = _factors(node)
            ways = [(a, Hiding(b)), (b, Hiding(a))]
        for scores, hidden in ways:
            own, other = form_of(scores), form_of(hidden.node)
            wanted = form.dtype if hidden.keeps is None else torch.bool
            if (own is not None and own.shape == form.shape and other is not None and other.shape
                    and other.dtype is wanted and _leads_to_product(scores)):
                return scores, hidden
        raise _No

    def _probabilities(self, found: Attention, softmax: Node) -> Node | None:
        """What takes the probabilities; returns the softmax's own gradient."""
        softmax_back = None
        for user, via, turned in readers(softmax):
            found.nodes.append(user)
            a, b, *_ = (*user.args, None, None)
            if user.target is aten._softmax_backward_data.default:
                _need(softmax_back is None and a is not via and b is via and not turned)
                softmax_back = user
                continue
            _need(user.target is _PRODUCT and a is not b)
            if a is via and not turned:
                _need(found.out is None)
                found.out, found.value = user, Matrices(b, False, self.memory)  # type: ignore
            else:
                _need((a is via) == turned)
                self._has_gradient(found, b if turned else a, not turned)
                found.gradients.append((2, user, not turned))
        _need(found.out is not None)
        return softmax_back

    def _way_back(self, found: Attention, softmax_back: Node, form: Form) -> None:
        """From the softmax's gradient up to that of the result, and down to query's and key's."""
        node, _, dim, dtype = softmax_back.args
        turned = False
        _need(dim in (-1, len(form.shape) - 1) and dtype is form.dtype)
        while True:
            _need(isinstance(node, Node) and len(node.users) == 1)
            assert isinstance(node, Node)
            found.nodes.append(node)
            if node.target is _PRODUCT:
                break
            turn = turn_of(node)
            _need(turn is not None)
            node, turned = node.args[0], turned ^ bool(turn)
        a, b = node.args[::-1] if turned else node.args
        self._has_gradient(found, a, turned)
        _need(Matrices(b, not turned, self.memory) == found.value)  # type: ignore[arg-type]
        fills = [h for h in found.hiding if h.keeps is not None]
        pending = [(softmax_back, False, found.scales, fills)]
        while pending:
            source, before, scales, fills = pending.pop()
            for user, via, turn in readers(source):
                found.nodes.append(user)
                turned = before ^ turn
                if user.target is _PRODUCT:
                    _need(not scales and not fills)
                    self._gradient(found, user, via, turned)
                elif user.target in _SCALINGS:
                    value, scale = _scaled(user)
                    own = (_SCALINGS[user.target], scale)
                    _need(value is via and own in scales)
                    at = scales.index(own)
                    pending.append((user, turned, scales[:at] + scales[at + 1:], fills))
                else:
                    own = [h for value, h in _fillings(user) if value is via]
                    rest = [h for h in fills if not own or h[:2] != own[0][:2]]
                    shape = form_of(user)
                    _need(own and not turned and len(rest) == len(fills) - 1 and shape is not None
                          and shape.shape == (*found.lead, *form.shape[-2:])
                          and self.known.number(own[0].fill) == 0)
                    pending.append((user, turned, scales, rest))

    def _has_gradient(self, found: Attention, node: Any, turned: bool) -> None:
        """Note the gradient of the result, of which there must be one only."""
        gradient = Matrices(node, turned, self.memory)
        found.gradient = found.gradient or gradient
        _need(gradient == found.gradient)

    def _gradient(self, found: Attention, product: Node, scores: Node, turned: bool) -> None:
        """A product of the scores' gradient dS: dS K, dSᵀ Q, Qᵀ dS or Kᵀ dSᵀ."""
        a, b = product.args
        _need(a is not b)
        left = a is scores
        of_query = left != turned
        other = Matrices(b if left else a, not left, self.memory)  # type: ignore[arg-type]
        _need(other == (found.key if of_query else found.query))
        found.gradients.append((0 if of_query else 1, product, not left))

    def _mask(self, found: Attention, form: Form) -> None:
        """Find what is to be added, if that is known and nothing else than what was there."""
        if not found.hiding:
            return
        total, least = torch.zeros((1, 1), dtype=form.dtype), float("-inf")
        fills = [h for h in found.hiding if h.keeps is not None]
        for hidden in found.hiding:
            value = self.known.value(hidden.node)
            if hidden.keeps is not None:
                fill = self.known.number(hidden.fill)
                _need(value is not None and fill is not None and fill <= FAR)
                assert value is not None and fill is not None
                value = torch.where(value ^ hidden.keeps, float("-inf"), 0.0).to(form.dtype)
                least = max(least, fill)
            if value is None:
                return _need(not fills and found.gradient is None)
            total = total + value
        most, near = total.amax(-1), MOST if found.gradient is not None else float("inf")
        if not ((most > least / 2) & (most.abs() <= near)).all():
            return _need(not fills and found.gradient is None)
        later = torch.ones(form.shape[-2:], dtype=torch.bool).triu(1)
        found.is_causal = bool(torch.where(later, total <= FAR, total == 0).all())
        found.mask = None if found.is_causal else total
        _need(total.numel() * total.element_size() <= MOST_BYTES)

    def _check(self, found: Attention, form: Form) -> None:
        """That types and lengths fit, and what is read at another time hasn't changed by then."""
        assert found.out is not None and found.value is not None
        _need(len(found.lead) in (1, 2))
        given = [found.query, found.key, found.value]
        shapes = [_shape(m, form.dtype) for m in given]
        _need(len({shape[-1] for shape in shapes}) == 1 and shapes[0][-1])
        place = self.memory.place
        read = [m.best(found.lead)[0] for m in given] + [h.node for h in found.hiding]
        read += [scale for _, scale in found.scales if isinstance(scale, Node)]
        if found.gradient is not None:
            _shape(found.gradient, form.dtype)
            later = [n for n in found.nodes if place[n] > place[found.out]]
            products = [n for n in later if n.target is _PRODUCT]
            gradient = found.gradient.best(found.lead)[0]
            found.back = min(products, key=lambda n: place[n], default=None)
            _need(found.back is not None and place[gradient] < place[found.back]
                  and all(place[n] > place[found.out] for _, n, _ in found.gradients)
                  and self._steady([gradient], products))
        _need(self._steady(read, found.nodes))

    def _steady(self, read: Sequence[Node], nodes: Sequence[Node]) -> bool:
        """Whether nothing changes what is read from the first of these nodes to the last."""
        places = [self.memory.place[n] for n in nodes]
        return self.memory.version(read, min(places)) == self.memory.version(read, max(places))


def _shape(given: Matrices, dtype: torch.dtype) -> tuple[int, ...]:
    node, turned = given.ways[0]
    form = form_of(node)
    _need(form is not None and form.dtype is dtype and len(form.shape) == 3)
    assert form is not None
    return (form.shape[0], *form.shape[:0:-1]) if turned else form.shape


def _factors(node: Node) -> Any:
    return node.args[-2:]


def _added(node: Any, form: Form) -> Hiding:
    """What is added to scores of this form."""
    own = form_of(node)
    _need(own is not None and own.shape and own.dtype is form.dtype)
    return Hiding(node)


def _scaled(node: Node) -> tuple[Node, Any]:
    """The tensor that a node multiplies or divides by a number, and that number."""
    a, b = node.args[:2]
    form = form_of(node)
    _need(not node.kwargs and form is not None)
    ways = [(a, b)] if _SCALINGS[node.target] == "div" else [(a, b), (b, a)]
    for value, scale in ways:
        own, number = form_of(value), form_of(scale)
        if own is not None and form is not None and own.shape == form.shape and (
                number.shape == () and number.dtype.is_floating_point if number is not None
                else isinstance(scale, (int, float))):
            return value, scale  # type: ignore[return-value]
    raise _No


def _fillings(node: Node) -> list[tuple[Any, Hiding]]:
    """What may be the values that a node fills, and how."""
    args: Any = node.args
    if node.target in (aten.masked_fill.Scalar, aten.masked_fill.Tensor):
        return [(args[0], Hiding(args[1], False, args[2]))]
    if node.target is aten.where.self:
        condition, a, b = args
        return [(a, Hiding(condition, True, b)), (b, Hiding(condition, False, a))]
    return []


def _leads_to_product(node: Any) -> bool:
    """Whether a value comes from a product, by what may be done to scores."""
    if not isinstance(node, Node) or len(node.users) != 1:
        return False
    along = node.target in (aten.add.Tensor, *_SCALINGS, *_FILLS) or turn_of(node) is False
    return node.target in (_PRODUCT, _ADDING) or (
        along and any(map(_leads_to_product, node.all_input_nodes)))
