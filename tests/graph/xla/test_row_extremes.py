"""Rows that compute each element by itself, at NaN, infinity, zeros and limits, beside PyTorch's
kernels: all rows whose arguments are tensors and numbers, in types that PyTorch takes them in."""

import itertools

import pytest
import torch

from lamella.graph.xla.lowering import TABLE

from . import samples

FILES = ("table", "pointwise", "activations")  # whose rows compute each element by itself
FRACTIONS = [torch.nan, torch.inf, 0.0, 1e-30, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 6, 20, 80, 1e4]
VALUES = {
    torch.float32: FRACTIONS + [-x for x in FRACTIONS],
    torch.bfloat16: FRACTIONS + [-x for x in FRACTIONS],
    torch.int64: [0, 1, -1, 2, -2, 3, -3, 7, 63, 2**31, -(2**31) - 1, 2**53 + 1, -(2**62) - 1,
                  2**62 + 3]}
CLOSE = {torch.float32: 2e-5, torch.bfloat16: 8e-3}
UNDEFINED = ("fill", "copy", "empty_like")
SKIPPED = ("gelu.default",)  # whose kernel differs between processors at infinity


def rows(*kinds):
    """The rows whose first arguments are of these kinds; others have defaults."""
    for name in sorted(TABLE):
        packet, _, overload = name.partition(".")
        func = getattr(getattr(torch.ops.aten, packet, None), overload, None)
        if func is None or TABLE[name].__module__.rpartition(".")[2] not in FILES:
            continue
        formals = func._schema.arguments
        its = [str(formal.type) for formal in formals if not formal.has_default_value()]
        is_left_out = packet.endswith("_backward") or packet in UNDEFINED or name in SKIPPED
        if its == [*kinds] and not is_left_out and str(func._schema.returns[0].type) == "Tensor":
            yield func


def called(func, *args):
    """A call; none if PyTorch refuses these types."""
    try:
        return [(func, args, {}, func(*args))]
    except (RuntimeError, NotImplementedError):
        return []


def of_one(kind):
    x = torch.tensor(VALUES[kind], dtype=kind)
    for func in rows("Tensor"):
        yield from called(func, x)
    for func in rows("Tensor", "number"):
        yield from called(func, x, 0.3 if kind.is_floating_point else 3)


def of_two(kind):
    divisors = VALUES[kind] if kind.is_floating_point else [n for n in VALUES[kind] if n]
    x, y = (torch.tensor(each, dtype=kind)
            for each in zip(*itertools.product(VALUES[kind], divisors), strict=True))
    for func in rows("Tensor", "Tensor"):
        yield from called(func, x, y)


def of_three(kind):
    few = [torch.nan, torch.inf, -1.5, 0.0, 0.25, 2.5] if kind.is_floating_point else VALUES[kind]
    columns = zip(*itertools.product(few[:6], few[:4], few[-4:]), strict=True)
    x, y, z = (torch.tensor(each, dtype=kind) for each in columns)
    for func in rows("Tensor", "Tensor", "Tensor"):
        yield from called(func, x, y, z)
        yield from called(func, x > 0, y, z)


@pytest.mark.parametrize("calls, kind", [
    (of_one, torch.float32), (of_one, torch.int64), (of_two, torch.float32), (of_two, torch.int64),
    (of_three, torch.float32)])
def test_values_at_the_limits(monkeypatch, calls, kind):
    for each, limit in CLOSE.items():
        monkeypatch.setitem(samples.TOLERANCE, each, limit)
    given = list(calls(kind))
    assert len(given) > (1 if calls is of_three else 10)
    wrong = samples.check(given)
    assert not wrong, "\n".join(wrong)


GRADIENTS = [("hardtanh_backward", -0.5, 1.5), ("leaky_relu_backward", 0.3, False),
             ("softplus_backward", 1.5, 3), ("hardshrink_backward", 0.5),
             ("softshrink_backward", 0.5), ("threshold_backward", 0.5), ("gelu_backward",),
             ("hardswish_backward",), ("hardsigmoid_backward",), ("silu_backward",),
             ("sigmoid_backward",), ("tanh_backward",), ("_prelu_kernel_backward",)]


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16], ids=lambda kind: str(kind)[6:])
def test_gradients_at_the_limits(monkeypatch, kind):
    for each, limit in CLOSE.items():
        monkeypatch.setitem(samples.TOLERANCE, each, limit)
    x = torch.tensor([n for n in VALUES[kind] if n == n], dtype=kind)  # of NaN it isn't defined
    g = torch.linspace(-2, 2, len(x)).to(kind)
    calls = []
    for name, *rest in GRADIENTS:
        func = getattr(torch.ops.aten, name).default
        args = (g, x, torch.full_like(x, 0.25)) if "prelu" in name else (g, x, *rest)
        calls.append((func, args, {}, func(*args)))
    calls += [(func, args, {}, func(*args)) for is_result in (True, False) for func, args in [
        (torch.ops.aten.elu_backward.default, (g, 1.5, 0.5, 2.0, is_result, x))]]
    buffer = torch.exp(-x.abs())
    func = torch.ops.aten.log_sigmoid_backward.default
    calls.append((func, (g, x, buffer), {}, func(g, x, buffer)))
    func = torch.ops.aten.elu.default
    calls.append((func, (x, 1.5, 0.5, 2.0), {}, func(x, 1.5, 0.5, 2.0)))
    wrong = samples.check(calls)
    assert not wrong, "\n".join(wrong)
