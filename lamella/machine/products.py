"""An autotuner of matrix products: the fastest kernel for each shape on this machine.

PyTorch computes products of float32 matrices by MKL, which on some CPUs runs at half the speed of
oneDNN's kernels, and on others is the faster one. So each shape is timed once, when it is first
needed, and the result is kept in the process and on disk. Recorded graphs (`graph.passes.routes`)
and eager operators use it.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from ..core.state import is_plain_run, state
from ..core.tape import note_results, only_with_gradients
from .halves import in_float32
from .measured import Key, Measured
from .timing import GAIN

SMALLEST = 2**16  # multiplications in a product that is worth timing
EAGER = 2**21  # and in one whose eager call is worth a lookup,
ELEMENTS = 2**13  # if the first factor has so many elements, which is checked first
GIVE_UP = 6  # shapes without any gain, after which eager calls use PyTorch's kernel
ROUNDS, PATIENCE = 9, 0.03  # the most rounds of timing one kernel; seconds
BUDGET = 2.0  # the most seconds that eager calls of a process spend on timing

Layout = tuple[Sequence[int], Sequence[int]]  # shape and strides of a matrix

_linear: Any = None
with contextlib.suppress(AttributeError, RuntimeError):
    _linear = torch.ops.mkldnn._linear_pointwise.default


def available() -> bool:
    """Whether there is another kernel than PyTorch's own."""
    return (_linear is not None and torch.backends.mkldnn.is_available()
            and not torch.are_deterministic_algorithms_enabled())  # timing isn't deterministic


def by_torch(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """a b + bias, as PyTorch does it."""
    return torch.mm(a, b) if bias is None else torch.addmm(bias, a, b)


def by_onednn(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """a b + bias, by oneDNN's kernel."""
    return _linear(a, b.t(), bias, "none", [], "")


KERNELS: dict[str, Callable[..., torch.Tensor]] = {"torch": by_torch, "onednn": by_onednn}


class Routes:
    """For each shape of a product, the fastest kernel.

    Attributes:
        known: by shape, layout, bias and number of threads.
        enabled: whether eager calls look it up; no more after `GIVE_UP` shapes without any gain.
    """

    def __init__(self) -> None:
        self.known = Measured("products", KERNELS)
        self.enabled = available()
        self._fixed: dict[Key, str] = {}
        self._spent = 0.0

    def fastest(self, a: Layout, b: Layout, bias: bool, measure: bool = True,
                dtype: torch.dtype = torch.float32) -> str:
        """The name of the fastest kernel for matrices of these forms.

        Args:
            a, b: shape and strides of the factors.
            bias: whether a vector is added to each row.
            measure: whether the kernels may be timed now, if the fastest isn't known.
            dtype: float32 or bfloat16.
        """
        key = _key(a, b, bias)
        if key is None or not available():
            return "torch"
        if dtype is not torch.float32:
            key = *key, str(dtype)
        return self.known.find(key, _fastest if measure else None) or "torch"

    def eager(self, a: Layout, b: Layout, bias: bool) -> str:
        """The same for an eager call; the first answer stays the same in this process.

        So equal calls give equal results, also after a recorded graph has timed the shape.
        """
        key = _key(a, b, bias)
        if key is None or not available():
            return "torch"
        found = self._fixed.get(key)
        if found is None:
            start = time.perf_counter()
            found = self._fixed[key] = self.fastest(a, b, bias, self._spent < BUDGET)
            self._spent += time.perf_counter() - start
            won = any(name != "torch" for name in self.known.values())
            self.enabled = self.enabled and (won or len(self.known) < GIVE_UP)
        return found


routes = Routes()


def _key(a: Layout, b: Layout, bias: bool) -> Key | None:
    """The key of a product; None if it isn't worth timing, or there is no other kernel."""
    rows, columns = _major(a), _major(b)
    m, k, n = a[0][0], a[0][1], b[0][1]
    if not rows or not columns or m * k * n < SMALLEST:
        return None
    return (m, k, n, rows + columns, bias, torch.get_num_threads())


def _major(matrix: Layout) -> str:
    """"r" for a matrix in rows, "c" in columns, "" for anything else, such as rows that overlap."""
    (rows, columns), (down, across) = matrix
    return "r" if across == 1 and down >= columns else "c" if down == 1 and across >= rows else ""


def _fastest(key: Key) -> str:
    """The name of the fastest kernel; the first one unless another is clearly faster."""
    m, k, n, majors, bias, _, *narrow = key
    assert isinstance(m, int) and isinstance(k, int) and isinstance(n, int)
    assert isinstance(majors, str)
    best = dict.fromkeys(KERNELS, float("inf"))
    with torch.no_grad(), torch.random.fork_rng([]):
        dtype = torch.bfloat16 if narrow else torch.float32
        a = torch.randn(m, k) if majors[0] == "r" else torch.randn(k, m).t()
        b = torch.randn(k, n) if majors[1] == "r" else torch.randn(n, k).t()
        a, b, added = a.to(dtype), b.to(dtype), torch.randn(n).to(dtype) if bias else None
        start = time.perf_counter()
        for number in range(ROUNDS + 1):
            for name, kernel in KERNELS.items():
                begin = time.perf_counter()
                try:
                    kernel(a, b, added)
                except RuntimeError:
                    continue
                if number:  # the first run makes the kernel
                    best[name] = min(best[name], time.perf_counter() - begin)
            if number >= 2 and time.perf_counter() - start > PATIENCE * len(KERNELS):
                break
    winner = min(best, key=lambda name: best[name])
    return winner if best[winner] < GAIN * best["torch"] else "torch"


def _summed(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product of integers as sums, which are exact and wrap around; some rows at a time.

    Only CPUs have kernels for it.
    """
    torch.matmul(a.new_empty(a.shape, device="meta"), b.new_empty(b.shape, device="meta"))
    left = a.unsqueeze(0) if a.dim() == 1 else a
    right = b.unsqueeze(-1) if b.dim() == 1 else b
    rows = max(1, TERMS // max(right.numel(), 1))
    out = torch.cat([(part.unsqueeze(-1) * right.unsqueeze(-3)).sum(-2, dtype=a.dtype)
                     for part in left.split(rows, -2)], -2)
    out = out.squeeze(-2) if a.dim() == 1 else out
    return out.squeeze(-1) if b.dim() == 1 else out


TERMS = 2**24  # of products of integers that are in memory at a time
ROWS = 8  # of float16, with which float32's kernel is the faster one
_linear_rows = in_float32(F.linear, ROWS)
mm, bmm, any_matmul = (in_float32(kernel, ROWS, integers=_summed)
                       for kernel in (torch.mm, torch.bmm, torch.matmul))
inner = in_float32(torch.inner, ROWS)
tensordot = in_float32(torch.tensordot, ROWS)
addmm, baddbmm = (in_float32(kernel, ROWS, factor=1)
                  for kernel in (torch.addmm, torch.baddbmm))
addbmm = in_float32(torch.addbmm, factor=1)  # PyTorch's own rounds the sum after each product
bilinear, cdist = (in_float32(F.bilinear, ROWS, lowered=False),
                   in_float32(torch.cdist, lowered=False))
_einsum = in_float32(lambda *operands, equation: torch.einsum(equation, *operands))


def einsum(equation: Any, *operands: Any) -> torch.Tensor:
    """Products summed over letters; or pairs of a tensor and its axes, the first one in place of
    the equation."""
    if isinstance(equation, str) and operands:
        return _einsum(*operands, equation=equation)
    return torch.einsum(equation, *operands)


def linear(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """x W^T + bias, by the fastest kernel for its shape."""
    if (not routes.enabled or state.trace is not None or x.numel() < ELEMENTS or weight.dim() != 2
            or x.numel() * weight.shape[0] < EAGER or x.dim() < 2
            or x.shape[-1] != weight.shape[1] or not _plain(x, weight, bias)):
        return _linear_rows(x, weight, bias)
    return _product(x, weight.t(), bias)


def matmul(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """x y, by the fastest kernel for its shape."""
    if (not routes.enabled or state.trace is not None or x.numel() < ELEMENTS
            or y.dim() != 2 or x.dim() < 2 or x.numel() * y.shape[1] < EAGER
            or x.shape[-1] != y.shape[0] or not _plain(x, y, None)):
        return any_matmul(x, y)
    return _product(x, y, None)


def _plain(x: torch.Tensor, y: torch.Tensor, bias: torch.Tensor | None) -> bool:
    """Whether other kernels support these matrices, outside of recordings and transformations.

    Autocast and DTensors, too, have rules for PyTorch's products only.
    """
    return (not hasattr(x, "device_mesh") and not hasattr(y, "device_mesh")
            and x.dtype is torch.float32 and y.dtype is torch.float32 and is_plain_run()
            and x.device.type == "cpu" and y.device.type == "cpu"
            and (bias is None or bias.dtype is torch.float32 and bias.shape == y.shape[:1]
                 and bias.is_contiguous())  # oneDNN's kernel reads it as if it were
            and not torch.is_autocast_enabled("cpu"))


def _product(x: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    a = x if x.dim() == 2 else x.reshape(-1, x.shape[-1])
    out = _routed(a, b, bias)
    return out if x.dim() == 2 else out.view(*x.shape[:-1], b.shape[1])


def _routed(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """a b + bias; with PyTorch's own node on the tape, if its kernels are fastest throughout."""
    needed = torch.is_grad_enabled() and (a.requires_grad or b.requires_grad or (
        bias is not None and bias.requires_grad))
    name = routes.eager((a.shape, a.stride()), (b.shape, b.stride()), bias is not None)
    if not needed:
        return KERNELS[name](a, b, bias)
    (m, k), n = a.shape, b.shape[1]
    back = ((m, n), (n, 1))
    left = right = "torch"
    if a.requires_grad:
        left = routes.eager(back, ((n, k), b.stride()[::-1]), False)
    if b.requires_grad and _major((b.shape, b.stride())) == "c":
        right = routes.eager(((n, m), (1, n)), (a.shape, a.stride()), False)
    elif b.requires_grad:
        right = routes.eager(((k, m), a.stride()[::-1]), back, False)
    if name == left == right == "torch":
        return by_torch(a, b, bias)
    return _Routed.apply(a, b, bias)  # type: ignore[return-value]


class _Routed(torch.autograd.Function):
    """A product on the tape; those of its gradient, of any order, are routed too."""

    @staticmethod
    def forward(ctx: Any, a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None
                ) -> torch.Tensor:
        ctx.save_for_backward(a, b)
        name = routes.eager((a.shape, a.stride()), (b.shape, b.stride()), bias is not None)
        found = KERNELS[name](a, b, bias)
        note_results(ctx, (found,))
        return found

    @staticmethod
    @only_with_gradients
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        gradient, = gradients
        a, b = ctx.saved_tensors
        of_a, of_b, of_bias = ctx.needs_input_grad
        by_b = None
        if of_b and _major((b.shape, b.stride())) == "c":  # gives the layout of the weight
            by_b = _routed(gradient.t(), a, None).t()
        elif of_b:
            by_b = _routed(a.t(), gradient, None)
        return (_routed(gradient, b.t(), None) if of_a else None, by_b,
                gradient.sum(0) if of_bias else None)
