"""`TapeFunction`: a node of PyTorch's tape that transformations support, with less overhead.

PyTorch's `apply` of a function with `setup_context` looks for default arguments in each call, which
takes as long as ten small kernels.

PyTorch's own rules give no gradient where they are given none. A rule in Python would be called
with zeros, of which it may make something else: a rule of the program's anything, other rules NaN
where a derivative is infinite.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch._functorch.utils import unwrap_dead_wrappers

from .wrappers import functorch


def note_results(ctx: Any, results: Iterable[torch.Tensor], fills: bool = True) -> None:
    """Note what `only_with_gradients` needs.

    Args:
        fills: whether zeros stand for the gradients of some results, if others have any.
    """
    ctx.set_materialize_grads(False)
    ctx.likes = [(raw.shape, raw.dtype, raw.device) for raw in results] if fills else None


def only_with_gradients(backward: Callable[..., Any]) -> Callable[..., Any]:
    """A rule that isn't called if no result has a gradient.

    Args:
        backward: that of a class whose results are known by `note_results`.
    """
    @functools.wraps(backward)
    def called(ctx: Any, *gradients: Any) -> Any:
        if any(gradient is None for gradient in gradients):
            if all(gradient is None for gradient in gradients):
                return (None,) * len(ctx.needs_input_grad)
            if ctx.likes is not None:
                gradients = tuple([
                    torch.zeros(shape, dtype=dtype, device=device) if gradient is None else gradient
                    for gradient, (shape, dtype, device) in zip(gradients, ctx.likes, strict=True)])
        return backward(ctx, *gradients)

    return called


def _only_batches() -> bool:
    """Whether no transformation of PyTorch's but `vmap` runs: the others can't pass None on."""
    running = functorch.get_interpreter_stack() or ()
    return all(one.key() == functorch.TransformType.Vmap for one in running)


class TapeFunction(torch.autograd.Function):
    """A function with `setup_context`, which is called with all of its arguments, by position.

    Attributes:
        takes_none: whether its `backward` is called with None for gradients that aren't there.
    """

    takes_none = False

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if cls.takes_none:
            return
        set_up = cls.setup_context

        def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
            set_up(ctx, inputs, output)
            if not torch._C._are_functorch_transforms_active() or _only_batches():
                note_results(ctx, output if isinstance(output, tuple) else (output,))

        cls.setup_context = staticmethod(setup_context)
        cls.backward = staticmethod(only_with_gradients(cls.backward))

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """The results, tied to the tape."""
        if torch._C._are_functorch_transforms_active():
            return super().apply(*args)
        plain: Any = super(torch.autograd.Function, cls)
        return plain.apply(*unwrap_dead_wrappers(args))
