"""The user's backward rules, and what they did to the gradient."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import torch

from ...autodiff.rules import rule_name
from ...nn.cell import Cell
from ...tensors.tensor import Tensor
from .statistics import Numbers, measure


class SeenRule:
    """A rule on the tape.

    Attributes:
        name: what it is, with file and line: ``"InsertGradientOf rule 'clip' (net.py:3)"``.
        before, after: statistics of the gradient it was given and of the one it returned.
        effect: ``"unchanged"``, ``"zeroed"``, ``"scaled"``, ``"clipped"`` or ``"replaced"``; "" if
            it was not called, or is the derivative itself.
        calls: what it clips with, and where, as its code says.

    Args:
        name: as above.
        function: the rule.
    """

    def __init__(self, name: str, function: Callable[..., Any] | None = None):
        self.name = name
        self.before: Numbers | None = None
        self.after: Numbers | None = None
        self.effect = ""
        self.calls = list(_clippings(function))

    def observe(self, gradient: torch.Tensor, result: Any) -> None:
        """Note what the rule made of a gradient."""
        self.before = measure(gradient)
        if result is None:
            self.after, self.effect = self.before, "unchanged"
            return
        self.after = measure(result)
        with torch._C.DisableTorchFunction(), torch.no_grad():
            self.effect = _effect(gradient.detach(), result.detach())

    @property
    def text(self) -> str:
        """What it is and what it did."""
        did = {"": "", "unchanged": ", which left it as it was", "zeroed": ", which made it zero",
               "scaled": ", which scaled it", "clipped": ", which clipped it",
               "replaced": ", which replaced it"}[self.effect]
        calls = f" with {' and '.join(self.calls)}" if self.calls else ""
        return f"{self.name}{did}{calls}"

    def to_dict(self) -> dict[str, Any]:
        """What is known of it, by name."""
        return {"name": self.name, "effect": self.effect, "calls": self.calls,
                "before": self.before and self.before.to_dict(),
                "after": self.after and self.after.to_dict()}


def _clippings(function: Any) -> Iterator[str]:
    """The clipping that a rule's code does: ``clip_by_value at file:line``."""
    function = inspect.unwrap(getattr(function, "__func__", function))
    waiting = [getattr(function, "__code__", None)]
    while waiting:
        code = waiting.pop()
        if code is None:
            continue
        line = code.co_firstlineno
        for instruction in dis.get_instructions(code):
            start = instruction.starts_line
            if start is not None and not isinstance(start, bool):
                line = start
            elif start:  # Python 3.13 has a boolean there
                line = getattr(instruction, "line_number", line)
            name = instruction.argval
            if isinstance(name, str) and name.startswith(("clip", "clamp")) and (
                    instruction.opname.startswith("LOAD_")):
                yield f"{name} at {code.co_filename}:{line}"
        waiting += [inner for inner in code.co_consts if isinstance(inner, CodeType)]


def _effect(before: torch.Tensor, after: torch.Tensor) -> str:
    if torch.equal(before, after):
        return "unchanged"
    if not torch.count_nonzero(after):
        return "zeroed"
    if before.shape != after.shape:
        return "replaced"
    size = float((before * before.conj()).sum().real)
    factor = float((after * before.conj()).sum().real) / size if size else 0.0
    if factor and torch.allclose(after, before * factor, rtol=1e-4, atol=0.0):
        return "scaled"
    small = after.abs() <= before.abs() * (1 + 1e-6)
    if bool((small & (before * after.conj()).real.ge(0)
             if before.is_complex() else small & (before * after >= 0)).all()):
        return "clipped"
    return "replaced"


def rule_of_node(node: Any) -> tuple[SeenRule | None, Cell | None, str]:
    """The rule of the user's that a node of the tape calls, its Cell, and what to call the step."""
    kind = type(node).__name__
    if kind == "_BpropBackward":
        cell = node.call.cell
        return SeenRule(node.call.rule, cell.bprop), cell, f"bprop of {type(cell).__name__}"
    if kind == "_UserFunctionBackward":
        rule = rule_name(node.call.cls.backward)
        return (SeenRule(f"backward {rule} of {node.call.cls.__name__}", node.call.cls.backward),
                None, node.call.cls.__name__)
    if kind == "_StructureRuleBackward":
        return SeenRule(f"{node.name} rule {rule_name(node.rule)}", node.rule), None, node.name
    rule = getattr(node, "rule", None) if kind == "_NodeBackward" else None
    if rule is not None:
        return SeenRule(rule.name), None, rule.name.split(" ")[0]
    return None, None, ""


def parameter_rules(parameter: Tensor) -> list[SeenRule]:
    """The hooks registered on a Parameter or an input."""
    return [SeenRule(f"hook {rule_name(hook)}", hook)
            for hook in parameter.__dict__.get("_hooks", {}).values()]
