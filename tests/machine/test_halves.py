"""Products of float16 on a CPU: exact to one rounding, and PyTorch's own for few rows."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import nn, ops
from lamella.machine import halves as machine_halves
from lamella.machine import products

RANDOM = np.random.default_rng(6)


def halves(*shapes):
    return [torch.from_numpy(RANDOM.standard_normal(shape)).half() for shape in shapes]


@pytest.mark.parametrize(("kernel", "own", "shapes"), [
    (products.mm, torch.mm, ((9, 40), (40, 7))),
    (products.bmm, torch.bmm, ((3, 9, 40), (3, 40, 7))),
    (products.any_matmul, torch.matmul, ((2, 3, 9, 40), (3, 40, 7))),
    (products.matmul, torch.matmul, ((3, 9, 40), (40,))),
    (products.linear, torch.nn.functional.linear, ((3, 9, 40), (7, 40), (7,))),
    (products.addmm, torch.addmm, ((7,), (9, 40), (40, 7))),
    (products.baddbmm, torch.baddbmm, ((3, 9, 7), (3, 9, 40), (3, 40, 7))),
    (products.addbmm, torch.addbmm, ((9, 7), (3, 9, 40), (3, 40, 7))),
    (products.inner, torch.inner, ((9, 40), (7, 40))),
    (products.bilinear, torch.nn.functional.bilinear, ((9, 8), (9, 6), (4, 8, 6), (4,))),
    (lambda *given: products.einsum("ij,kjl,lm->kim", *given),
     lambda *given: torch.einsum("ij,kjl,lm->kim", *given), ((9, 8), (3, 8, 6), (6, 5))),
    (lambda a, b: products.tensordot(a, b, ([1, 2], [0, 1])),
     lambda a, b: torch.tensordot(a, b, ([1, 2], [0, 1])), ((9, 4, 5), (4, 5, 3))),
])
def test_products_are_rounded_once_and_so_are_gradients(kernel, own, shapes):
    given = halves(*shapes)
    if kernel is products.linear:
        assert torch.equal(kernel(given[0], given[1], None),
                           own(given[0].float(), given[1].float()).half())
    exact = own(*[t.double() for t in given])
    out = kernel(*given)
    assert out.dtype == torch.float16
    torch.testing.assert_close(out.double(), exact, rtol=2**-11 + 1e-5, atol=1e-5)
    cotangent = torch.linspace(-1, 1, out.numel()).reshape(out.shape).half()

    def gradients(function, convert):
        inputs = [convert(t).requires_grad_() for t in given]
        return torch.autograd.grad((function(*inputs) * cotangent.to(exact.dtype)).sum(), inputs)

    for ours, theirs in zip(gradients(kernel, torch.clone), gradients(own, torch.Tensor.double),
                            strict=True):
        torch.testing.assert_close(ours.double(), theirs, rtol=2**-11 + 1e-5, atol=1e-4)


def test_bfloat16_without_kernels_is_that_of_float32_rounded_once(monkeypatch):
    monkeypatch.setattr(machine_halves, "SLOW", frozenset((torch.float16, torch.bfloat16)))
    for kernel, own, rows in ((products.mm, torch.mm, 9), (products.mm, torch.mm, 2)):
        a, b = (t.bfloat16().requires_grad_() for t in halves((rows, 40), (40, 7)))
        wide = [t.detach().float().requires_grad_() for t in (a, b)]
        found, wanted = kernel(a, b), own(*wide)
        assert found.dtype is torch.bfloat16 and torch.equal(found, wanted.bfloat16())
        ours = torch.autograd.grad(found, (a, b), torch.ones_like(found))
        for one, two in zip(ours, torch.autograd.grad(wanted, wide, torch.ones_like(wanted)),
                            strict=True):
            assert torch.equal(one, two.bfloat16())
    with torch.no_grad():  # where the second factor's reading takes the time
        assert torch.equal(products.mm(a, b), torch.mm(a, b))


def test_attention_of_bfloat16_without_kernels_is_pytorchs_but_for_gradients(monkeypatch):
    monkeypatch.setattr(machine_halves, "SLOW", frozenset((torch.float16, torch.bfloat16)))
    q, k, v = (t.bfloat16() for t in halves(*[(2, 3, 12, 8)] * 3))
    attend = ops.attention.attend
    found = attend(q, k, v, None, 0.0, False, None, False)
    own = torch.nn.functional.scaled_dot_product_attention
    assert torch.equal(found, own(q, k, v))
    recorded = attend(q.requires_grad_(), k, v, None, 0.0, False, None, False)
    assert recorded.dtype is torch.bfloat16 and recorded.requires_grad
    torch.testing.assert_close(recorded, own(*[t.float() for t in (q, k, v)]).bfloat16(),
                               rtol=0, atol=0)


def test_a_few_rows_are_pytorchs_and_other_types_are_left_alone(monkeypatch):
    monkeypatch.setattr(machine_halves, "SLOW", frozenset((torch.float16,)))
    a, b = halves((2, 40), (40, 7))
    assert torch.equal(products.mm(a, b), torch.mm(a, b))
    for kind in (torch.float32, torch.bfloat16):
        a, b = (t.to(kind) for t in halves((9, 40), (40, 7)))
        assert torch.equal(products.mm(a, b), torch.mm(a, b))
    with pytest.raises(RuntimeError):
        products.mm(*halves((9, 40)), torch.ones(40, 7))
    assert products.mm(*halves((9, 0), (0, 7))).abs().sum() == 0


def test_sums_with_products_take_their_factors_and_few_rows_are_pytorchs():
    added, a, b = halves((7,), (9, 40), (40, 7))
    exact = (2 * added.float() + 0.5 * (a.float() @ b.float())).half()
    torch.testing.assert_close(products.addmm(added, a, b, beta=2, alpha=0.5), exact)
    assert torch.equal(products.addmm(added, a[:2], b), torch.addmm(added, a[:2], b))
    held = ms.Tensor(np.zeros((9, 7)), ms.float16)
    alias = held
    held.addmm_(ms.Tensor.from_torch(a), ms.Tensor.from_torch(b), alpha=0.5)
    assert alias is held and held.dtype == ms.float16
    np.testing.assert_array_equal(held.asnumpy(), (0.5 * (a.float() @ b.float())).half().numpy())
    with pytest.raises(ValueError):
        ms.Tensor(np.zeros((1, 7)), ms.float16).addmm_(ms.Tensor.from_torch(a),
                                                       ms.Tensor.from_torch(b))


def test_sums_of_many_terms_dont_overflow_on_the_way():
    # 400 terms of 256, and as many of -256: float16's own sums would lose them or be inf
    x = ms.Tensor(np.full((9, 800), 16), ms.float16)
    y = ms.Tensor(np.repeat([16, -16], 400)[:, None].repeat(4, 1), ms.float16)
    for product in (ops.einsum("ij,jk->ik", x, y), ops.tensor_dot(x, y, 1),
                    ops.addmm(ms.Tensor(np.zeros(4), ms.float16), x, y)):
        assert product.dtype == ms.float16 and not product.asnumpy().any()


def test_overflow_is_infinite_as_in_float16():
    a = ms.Tensor(np.full((9, 8), 200), ms.float16)
    assert np.isinf(ops.matmul(a, a.T).asnumpy()).all()


@pytest.mark.parametrize("function", [
    lambda x, w: ops.matmul(x, w), lambda x, w: ops.MatMul(transpose_b=True)(x, w.T),
    lambda x, w: ops.BatchMatMul()(x.expand_dims(0), w.expand_dims(0)),
    lambda x, w: ops.dense(x, w.T), lambda x, w: ops.bmm(x.expand_dims(0), w.expand_dims(0))])
def test_eager_and_compiled_agree(function):
    x, w = map(ms.Tensor.from_torch, halves((16, 24), (24, 8)))
    step = ms.value_and_grad(lambda x, w: ops.tanh(function(x, w)).astype(ms.float32).sum(), (0, 1))
    compiled = ms.jit(step)
    for _ in range(3):
        value, gradients = compiled(x, w)
    assert compiled.report()["replays"] > 0
    expected, wanted = step(x, w)
    np.testing.assert_allclose(value.asnumpy(), expected.asnumpy(), rtol=1e-4)
    for one, two in zip(gradients, wanted, strict=True):
        assert one.dtype == ms.float16
        np.testing.assert_allclose(one.asnumpy(), two.asnumpy(), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("mask", [None, "bool", "float16"])
def test_attention_of_float16_is_that_of_float32_rounded_once(mask):
    q, k, v = halves(*[(2, 3, 12, 8)] * 3)
    given = {"attn_mask": None}
    if mask is not None:
        below = torch.ones(12, 12).tril()
        given["attn_mask"] = below.bool() if mask == "bool" else (below - 1).mul(100).half()
    tensors = {name: None if raw is None else ms.Tensor.from_torch(raw)
               for name, raw in given.items()}
    out = ms.mint.nn.functional.scaled_dot_product_attention(
        *map(ms.Tensor.from_torch, (q, k, v)), **tensors)
    if mask == "float16":
        given["attn_mask"] = given["attn_mask"].float()
    exact = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float(),
                                                             **given)
    np.testing.assert_array_equal(out.asnumpy(), exact.half().numpy())


def test_a_layer_of_float16():
    layer = nn.Dense(24, 8, dtype=ms.float16)
    x = ms.Tensor.from_torch(halves((16, 24))[0])
    exact = x.asnumpy().astype(float) @ layer.weight.asnumpy().astype(float).T
    np.testing.assert_allclose(layer(x).asnumpy(), exact + layer.bias.asnumpy(), rtol=1e-3,
                               atol=1e-3)


HALF, BRAIN, WIDE = torch.float16, torch.bfloat16, torch.float32


def spy(slow, monkeypatch, **options):
    """A kernel for which these types are slow, and the types that it is given."""
    monkeypatch.setattr(machine_halves, "SLOW", frozenset(slow))
    seen = []

    def kernel(a, *others, **settings):
        seen.append([v.dtype for v in (a, *others) if isinstance(v, torch.Tensor)])
        return a * 2

    return machine_halves.in_float32(kernel, **options), seen


# slow types, options, types of the arguments, the first one's shape, whether a gradient is wanted,
# and the types that the kernel computes with
KINDS = {
    "float32": ((HALF,), {}, [WIDE], (9, 4), False, [WIDE]),
    "float16": ((HALF,), {}, [HALF], (9, 4), False, [WIDE]),
    "a mask": ((HALF,), {}, [HALF, torch.bool], (9, 4), False, [WIDE, torch.bool]),
    "several types": ((HALF,), {}, [HALF, WIDE], (9, 4), False, [HALF, WIDE]),
    "fast bfloat16": ((HALF,), {}, [BRAIN], (9, 4), False, [BRAIN]),
    "slow bfloat16": ((HALF, BRAIN), {}, [BRAIN], (9, 4), False, [WIDE]),
    "few rows": ((HALF,), {"rows": 8}, [HALF], (7, 4), False, [HALF]),
    "enough rows": ((HALF,), {"rows": 8}, [HALF], (8, 4), False, [WIDE]),
    "rows of a batch": ((HALF,), {"rows": 8}, [HALF], (2, 4, 4), False, [WIDE]),
    "a number": ((HALF,), {"rows": 8}, [HALF], (), False, [HALF]),
    "a number, any rows": ((HALF,), {}, [HALF], (), False, [WIDE]),
    "few rows, a gradient": ((HALF,), {"rows": 8}, [HALF], (7, 4), True, [HALF]),
    "few rows of bfloat16": ((HALF, BRAIN), {"rows": 8}, [BRAIN], (7, 4), False, [BRAIN]),
    "few of bfloat16, a gradient": ((BRAIN,), {"rows": 8}, [BRAIN], (7, 4), True, [WIDE]),
    "a fast kernel forward": ((BRAIN,), {"forward": True}, [BRAIN], (9, 4), False, [BRAIN]),
    "forward, a gradient": ((BRAIN,), {"forward": True}, [BRAIN], (9, 4), True, [WIDE]),
    "forward, float16": ((HALF,), {"forward": True}, [HALF], (9, 4), False, [WIDE]),
    "another factor": ((HALF,), {"rows": 8, "factor": 1}, [HALF, HALF], (9, 4), False,
                       [HALF, HALF]),  # the second has two rows
}


@pytest.mark.parametrize("name", KINDS)
def test_the_type_that_a_kernel_computes_in(monkeypatch, name):
    slow, options, types, shape, gradient, wanted = KINDS[name]
    kernel, seen = spy(slow, monkeypatch, **options)
    given = [torch.ones(shape if i == 0 else (2, 4)).to(kind) for i, kind in enumerate(types)]
    given[0].requires_grad_(gradient)
    found = kernel(*given, 3, other=None)
    assert seen == [wanted]
    assert found.dtype is types[0] and found.requires_grad is gradient
    if gradient:  # not where none is recorded
        with torch.no_grad():
            kernel(*given)
        assert seen[1] == ([types[0]] if types[0] is BRAIN else wanted)


@pytest.mark.parametrize("low, lowered, types, wanted", [
    (BRAIN, True, [WIDE, WIDE], [WIDE, WIDE]), (HALF, True, [WIDE, HALF], [WIDE, WIDE]),
    (BRAIN, True, [WIDE, torch.bool], [WIDE, torch.bool]), (BRAIN, False, [WIDE], [WIDE]),
    (BRAIN, True, [WIDE, torch.float64], [WIDE, torch.float64])])
def test_autocast_lowers_what_a_kernel_gives(monkeypatch, low, lowered, types, wanted):
    kernel, seen = spy((HALF, BRAIN), monkeypatch, lowered=lowered)
    given = [torch.full((9, 4), 1.001).to(kind) for kind in types]
    with torch.autocast("cpu", low):
        found = kernel(*given)
    lowers = lowered and torch.float64 not in types
    assert seen == [wanted] and found.dtype is (low if lowers else WIDE)
    assert torch.equal(found, (given[0].to(low) if lowers else given[0]) * 2)


@pytest.mark.parametrize("device, kind, summed", [
    ("meta", torch.int32, True), ("meta", WIDE, False), ("cpu", torch.int32, False)])
def test_integers_are_summed_where_a_device_has_no_kernel(device, kind, summed):
    def fails(*given):
        raise RuntimeError("no kernel")

    given = torch.ones(2, dtype=kind, device=device), 3
    for integers in (None, lambda *given: given):
        kernel = machine_halves.in_float32(fails, integers=integers)
        if summed and integers is not None:
            found = kernel(*given)
            assert found[0] is given[0] and found[1] == 3
        else:
            with pytest.raises(RuntimeError, match="no kernel"):
                kernel(*given)
