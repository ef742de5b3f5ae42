"""What `torch.autograd.grad`, `torch.func.vjp` and `torch.func.jvp` do, without their imports.

Where a gradient starts from a given tensor, the first imports SymPy to compare shapes, and the
others PyTorch's compiler: more than a second and 70 MB at the first derivative of a derivative, or
inside of `vmap`. Here the shapes fit, and `forward_rules` has what forward mode would import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch._C import _len_torch_function_stack  # type: ignore[attr-defined]
from torch._functorch import eager_transforms as transforms
from torch.autograd import forward_ad
from torch.autograd.variable import Variable

from ..core.state import state
from ..core.wrappers import functorch
from ..tensors.inplace import repeats_elements
from .forward_rules import load_rules

Raws = Sequence[torch.Tensor]
_SAVED_HOOKS = "For 'vmap', a gradient inside of it can't have hooks on saved tensors."
OVERWRITTEN = "modified by an inplace operation"  # what PyTorch says


def backpropagate(outs: Iterable[tuple[torch.Tensor, torch.Tensor]], inputs: Raws,
                  again: bool, nested: bool) -> Sequence[torch.Tensor | None]:
    """The gradient by each input of outputs that require one; None if none depends on it.

    Args:
        outs: the outputs, each with the gradient to start from, of its shape and type.
        inputs: what to differentiate by.
        again: whether there will be another backward pass through the same operations.
        nested: whether the gradients will be differentiated.
    """
    raws, starts = [], []
    for out, start in outs:
        raws.append(out)
        starts.append(start)
    if not raws or not inputs:
        return [None] * len(inputs)
    try:
        if state.masks is not None:
            with state.masks.placed(raws, inputs):
                return _run(raws, starts, inputs, again, nested)
        return _run(raws, starts, inputs, again, nested)
    except BaseException:
        state.failed += 1
        raise


def _run(raws: list[torch.Tensor], starts: list[torch.Tensor], inputs: Raws, again: bool,
         nested: bool) -> Sequence[torch.Tensor | None]:
    with in_this_thread():
        if _len_torch_function_stack():  # a mode that watches calls knows this one by its name
            return torch.autograd.grad(raws, inputs, starts, again, nested, allow_unused=True)
        try:
            return Variable._execution_engine.run_backward(
                tuple(raws), tuple(starts), again, nested, tuple(inputs), True,
                accumulate_grad=False)
        except RuntimeError as error:
            if OVERWRITTEN not in str(error):
                raise
            what = str(error).partition(OVERWRITTEN)[2].partition(", which")[0].strip(": ")
            raise RuntimeError(
                f"A derivative needs values that were {OVERWRITTEN} through a part of their "
                f"Tensor ({what}). Write m[0, 1] = m[0, 1] * a instead of m[0][1] *= a, or change "
                f"a copy (x.copy()).") from None


class in_this_thread:  # noqa: N801  (a block, entered for each gradient: faster than a generator)
    """A block in which backward passes run in the calling thread, whatever the device.

    PyTorch runs those of an accelerator in a thread of its own, where hooks and custom backward
    rules would find no level, no recording and no setting of the thread that asked.
    """

    __slots__ = ("before",)

    def __enter__(self) -> None:
        self.before = torch._C._is_multithreading_enabled()
        if self.before:
            torch._C._set_multithreading_enabled(False)

    def __exit__(self, *_: object) -> None:
        if self.before:
            torch._C._set_multithreading_enabled(True)


def vjp(fn: Callable[..., tuple[Any, Any]], *primals: torch.Tensor
        ) -> tuple[Raws, Callable[..., list[torch.Tensor]], Any]:
    """Run a function in a level of `torch.func` that records it for the gradient.

    It makes the calls of `torch.func.vjp` itself, which flattens and checks structures around them.

    Args:
        fn: from tensors to a tuple of tensors, and a tuple of those that no gradient starts from.
        primals: its arguments.

    Returns:
        The tensors, a function from their cotangents to those of the primals, with `again` and
        `nested` as those of `backpropagate`, and the other tensors.
    """
    with torch.autograd.graph.disable_saved_tensors_hooks(_SAVED_HOOKS):
        level = functorch._grad_increment_nesting()
        try:
            with torch.enable_grad():
                inputs = [_differentiated(functorch._wrap_for_grad(x, level)) for x in primals]
                outs, others = fn(*inputs)
                values, others = ([functorch._unwrap_for_grad(x, level) for x in part]
                                  for part in (outs, others))
        finally:
            functorch._grad_decrement_nesting()

    def back(starts: Raws, again: bool, nested: bool) -> list[torch.Tensor]:
        pairs = [(out, start) for out, start in zip(outs, starts, strict=True)
                 if out.requires_grad]
        found = backpropagate(pairs, inputs, again, nested)
        return [torch.zeros_like(x) if gradient is None else gradient
                for gradient, x in zip(found, inputs, strict=True)]

    return values, back, others


def _differentiated(x: torch.Tensor) -> torch.Tensor:
    """A tensor of a level of `torch.func`, which records what is computed with it."""
    allowed = functorch.get_inplace_requires_grad_allowed()
    functorch.set_inplace_requires_grad_allowed(True)
    try:
        return x.requires_grad_()
    finally:
        functorch.set_inplace_requires_grad_allowed(allowed)


def make_dual(primal: torch.Tensor, tangent: torch.Tensor) -> torch.Tensor:
    """A tensor that carries its tangent, inside of a forward derivative."""
    load_rules()
    if repeats_elements(primal):  # PyTorch gives the tangent the same strides
        primal = primal.clone(memory_format=torch.contiguous_format)
    return torch._VF._make_dual(primal, tangent, level=0)  # type: ignore[attr-defined]


def jvp(fn: Callable[..., tuple[Raws, Raws]], primals: Raws, tangents: Raws
        ) -> tuple[Raws, Raws, Raws]:
    """Run a function in a level of `torch.func` that carries tangents; such levels nest.

    Args:
        fn: from tensors to a tuple of tensors, and a tuple of those that have no tangents.
        primals, tangents: its arguments.

    Returns:
        The tensors, their tangents, and the other tensors.
    """
    level = transforms.enter_jvp_nesting()
    try:
        # PyTorch has one level of dual numbers, and those of `torch.func` inside of it
        outermost = forward_ad._current_level < 0
        with forward_ad._set_fwd_grad_enabled(True), (
                forward_ad.dual_level() if outermost else nullcontext()):
            outs, others = fn(*map(make_dual, primals, tangents))
            pairs = [forward_ad.unpack_dual(out) for out in outs]

            def plain(raw: torch.Tensor) -> torch.Tensor:
                return transforms._undo_create_differentiable(raw, level=level)

            return (tuple([plain(pair.primal) for pair in pairs]),
                    tuple([plain(torch.zeros_like(pair.primal) if pair.tangent is None
                                 else pair.tangent) for pair in pairs]),
                    tuple(map(plain, others)))
    finally:
        transforms.exit_jvp_nesting()
