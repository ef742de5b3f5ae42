"""Checking replays against the function itself: ``LAMELLA_AUDIT=n``, for every n-th replay.

The function is run eagerly on copies, and everything that it changes is restored, before the graph
is replayed. Then the results and Tensors of both must agree up to rounding. This is meant for
tests: an audited call costs more than an eager one.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch

from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor
from ..guards.search import reachable_from_call
from ..tracing.copies import copied, copies_of
from ..tracing.lines import NOWHERE
from ..tracing.results import New
from ..tracing.undo import undone

if TYPE_CHECKING:
    from .replay import Replay

EVERY = int(os.environ.get("LAMELLA_AUDIT") or 0)  # one in so many replays is checked; 0: none
RELATIVE, ABSOLUTE = 1e-3, 1e-5
_WITH_TEXT = (bool, int, float, str, bytes, type(None))  # whose text says what they are


class Audit:
    """The results and side effects of a call, run eagerly on copies and undone.

    Args:
        wanted: copies of the results.
        held: the Tensors that the function can reach, with copies of their data after the call.
    """

    def __init__(self, wanted: Any, held: list[tuple[Tensor, torch.Tensor]]):
        self.wanted, self.held = wanted, held

    def check(self, found: Any, replay: Replay, name: str) -> None:
        """Compare with the results and the state after a replay.

        Raises:
            RuntimeError: if anything differs.
        """
        for place, got, want in _pairs(found, self.wanted, "its result"):
            if not _same(got, want):
                raise RuntimeError(
                    f"For 'jit', the audit of '{name}' failed: {place} is {_short(got)} in a "
                    f"replay, but {_short(want)} eagerly{_kernel(replay, place)}.")
        for tensor, want in self.held:
            if not _same(tensor, want):
                called = tensor.name if isinstance(tensor, Parameter) else "a Tensor"
                raise RuntimeError(
                    f"For 'jit', the audit of '{name}' failed: a replay leaves {_short(tensor)} in "
                    f"{called}, but eagerly it is {_short(want)}.")


def audited(call: Callable[[tuple, dict], Any], fn: Any, args: tuple, kwargs: dict) -> Audit:
    """Run a function eagerly on copies, and undo it; `call` runs it."""
    reach = reachable_from_call(fn, args, kwargs)
    with undone(reach), contextlib.redirect_stdout(io.StringIO()):
        wanted = copies_of(call(*copied((args, kwargs))))
        return Audit(wanted, [(t, t._raw.detach().clone()) for t in reach.tensors.all()])


def _pairs(found: Any, wanted: Any, place: str) -> Iterator[tuple[str, Any, Any]]:
    """The parts of two results in pairs, each with its name in messages."""
    if isinstance(wanted, (tuple, list)) and isinstance(found, (tuple, list)):
        if len(wanted) != len(found):
            yield f"the length of {place}", len(found), len(wanted)
            return
        for number, parts in enumerate(zip(found, wanted, strict=True)):
            yield from _pairs(*parts, f"{place}[{number}]")
    elif isinstance(wanted, dict) and isinstance(found, dict) and list(wanted) == list(found):
        for key in wanted:
            yield from _pairs(found[key], wanted[key], f"{place}[{key!r}]")
    else:
        yield place, found, wanted


def _same(got: Any, want: Any) -> bool:
    a, b = (v._raw if isinstance(v, Tensor) else v for v in (got, want))
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return (a.shape == b.shape and a.dtype is b.dtype and torch.allclose(
            a.detach(), b.detach(), RELATIVE, ABSOLUTE, equal_nan=True))
    if any(isinstance(v, (torch.Tensor, tuple, list, dict)) for v in (a, b)):
        return False  # like structures are taken apart before
    return not isinstance(want, _WITH_TEXT) or repr(got) == repr(want)


def _kernel(replay: Replay, place: str) -> str:
    """The kernel that computed a result, and its line, as text."""
    tree: Any = replay.outputs.out_tree[0]
    for key in place.replace("its result", "").replace("]", "").split("[")[1:]:
        tree = tree[int(key) if key.isdigit() else key.strip("'")]
    if type(tree) is not New:
        return ""
    output = next(n for n in reversed(replay.execution.graph.graph.nodes) if n.op == "output")
    results: Any = output.args[0]
    node = results[len(replay.execution.expected) + tree.number]
    return f"; it is given by {node.target}{node.meta.get('line', NOWHERE)}"


def _short(value: Any) -> str:
    raw = value._raw if isinstance(value, Tensor) else value
    if not isinstance(raw, torch.Tensor):
        return repr(value)
    text = ", ".join(f"{v:.6g}" for v in raw.detach().reshape(-1)[:4].tolist())
    return f"[{text}{', ...' if raw.numel() > 4 else ''}] of shape {list(raw.shape)}"
