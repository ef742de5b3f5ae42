"""Floating-point operations, bytes and kinds of kernels, against counts by hand."""

from __future__ import annotations

import pytest
import torch

from lamella.insight.roofline.costs import cost_of, is_free, kind_of
from lamella.machine import winograd

aten = torch.ops.aten
F32 = 4


def cost(target, *args, **kwargs):
    return cost_of(target, args, kwargs, target(*args, **kwargs))


def test_products():
    a, b, bias = torch.ones(3, 5), torch.ones(5, 7), torch.ones(7)
    assert cost(aten.mm.default, a, b)[:4] == ("product", 2 * 3 * 5 * 7,
                                               F32 * (15 + 35 + 21), "float32")
    assert cost(aten.addmm.default, bias, a, b).flops == 2 * 3 * 5 * 7
    assert cost(aten.bmm.default, torch.ones(2, 3, 5), torch.ones(2, 5, 7)).flops == 2 * 210
    assert cost(aten.mv.default, a, torch.ones(5)).flops == 2 * 15
    assert cost(aten.mm.default, a, b).forms == "3×5, 5×7 → 3×7"


@pytest.mark.skipif(not hasattr(torch.ops.mkldnn, "_linear_pointwise"), reason="needs oneDNN")
def test_products_of_onednn():
    linear = torch.ops.mkldnn._linear_pointwise.default
    found = cost(linear, torch.ones(3, 5), torch.ones(7, 5), None, "none", [], "")
    assert found[:3] == ("product", 2 * 3 * 5 * 7, F32 * (15 + 35 + 21))


def test_convolution_and_its_gradient():
    x, w = torch.ones(2, 3, 8, 8), torch.ones(4, 3, 3, 3)
    forward = cost(aten.convolution.default, x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
    assert (forward.kind, forward.flops) == ("convolution", 2 * (2 * 4 * 64) * (3 * 9))
    backward = cost(aten.convolution_backward.default, torch.ones(2, 4, 8, 8), x, w, [0], [1, 1],
                    [1, 1], [1, 1], False, [0, 0], 1, [True, True, False])
    assert backward.flops == 2 * forward.flops


def test_products_of_winograds_algorithm():
    """Sixteen multiplications for each tile of 2 x 2 results, those beyond the edge included."""
    x, w, g = torch.ones(2, 32, 7, 9), torch.ones(64, 32, 3, 3), torch.ones(2, 64, 7, 9)
    products = 2 * 16 * (2 * 4 * 5) * 32 * 64
    if winograd.extension.module is None:
        pytest.skip("no C++ compiler that can build it")
    kernels = torch.ops.lamella
    for kernel, *given in ((kernels.winograd.default, x, w, 1, 1, False),
                           (kernels.winograd.default, g, w, 1, 1, True),
                           (kernels.winograd_weights.default, g, x, 1, 1)):
        found = cost(kernel, *given)
        assert (found.kind, found.flops) == ("convolution", products)


def test_attention_under_a_causal_mask_looks_at_what_is_before():
    q = torch.ones(2, 3, 16, 8)
    attention = aten._scaled_dot_product_flash_attention_for_cpu.default
    pairs = 16 * 16
    found = cost(attention, q, q, q, 0.0, False)
    assert (found.kind, found.flops) == ("attention", 2 * 6 * pairs * 16)
    assert cost(attention, q, q, q, 0.0, True).flops == 2 * 6 * (16 * 17 // 2) * 16
    assert cost(attention, q, q, q, is_causal=True).flops == 2 * 6 * (16 * 17 // 2) * 16


def test_elementwise_reduction_movement():
    x = torch.ones(10, 4)
    assert cost(aten.add.Tensor, x, x)[:3] == ("elementwise", 40, 3 * 160)
    assert cost(aten.add_.Tensor, x, x)[:3] == ("elementwise", 40, 3 * 160)  # reads two, writes one
    assert cost(aten.relu.default, x)[:3] == ("elementwise", 40, 2 * 160)
    assert cost(aten.sum.dim_IntList, x, [0])[:3] == ("reduction", 40, 160 + 16)
    assert cost(aten.clone.default, x)[:3] == ("movement", 0, 2 * 160)
    assert cost(aten.zero_.default, x)[:3] == ("movement", 0, 160)
    assert cost(aten.copy_.default, x, x.clone())[:3] == ("movement", 0, 2 * 160)


def test_elements_that_repeat_are_read_once():
    row = torch.ones(4).expand(10, 4)
    assert cost(aten.add.Tensor, row, torch.ones(10, 4)).bytes == 16 + 2 * 160


def test_a_lookup_reads_the_rows_it_asks_for():
    table, rows = torch.ones(1000, 8), torch.zeros(3, dtype=torch.int64)
    found = cost(aten.embedding.default, table, rows)
    assert found[:3] == ("movement", 0, 3 * 8 + 2 * 3 * 8 * F32)


def test_a_fused_optimizer():
    parts = [[torch.ones(10), torch.ones(5)] for _ in range(3)]
    found = cost(aten._fused_sgd_.default, *parts, weight_decay=0.0, momentum=0.9, lr=0.1,
                 dampening=0.0, nesterov=False, maximize=False, is_first_step=False)
    assert found[:3] == ("optimizer", 15, 15 * F32 * (3 + 2))  # gradients are only read


@pytest.mark.parametrize("target, kind", [
    (aten.native_layer_norm.default, "normalization"),
    (aten.native_batch_norm_backward.default, "normalization"),
    (aten.max_pool2d_with_indices.default, "reduction"),
    (aten._log_softmax.default, "reduction"), (aten.linalg_vector_norm.default, "reduction"),
    (aten.gelu_backward.default, "elementwise"), (aten.bernoulli.p, "elementwise"),
    (aten.embedding_dense_backward.default, "movement"), (aten.index_put_.default, "movement"),
    (aten._fused_adamw_.default, "optimizer"), (aten.mkldnn_rnn_layer.default, "recurrent"),
    (aten._foreach_mul_.Scalar, "elementwise"), (aten.linalg_qr.default, "other"),
    (aten.addmm_.default, "product"), (aten.ge_.Scalar, "elementwise"),
    (aten.div.Tensor_mode, "elementwise"),
    (aten.mse_loss.default, "elementwise"), (aten.reflection_pad2d.default, "movement")])
def test_kinds(target, kind):
    assert kind_of(target) == kind


def test_views_and_empty_memory_and_facts_are_free():
    assert is_free(aten.view.default) and is_free(aten.t.default)
    assert is_free(aten.empty_like.default) and is_free(aten.detach.default)
    assert is_free(aten.is_same_size.default) and not is_free(aten._local_scalar_dense.default)
    assert not is_free(aten._foreach_add_.List) and not is_free(aten.unbind_copy.int)
    assert not is_free(aten.add_.Tensor) and not is_free(aten.clone.default)
    for free in (len, aten.sym_size.int, aten._unsafe_view.default, aten.squeeze_.default,
                 aten.new_empty.default, aten.split.Tensor):
        assert is_free(free)
    for costs in (aten.zero_.default, aten.max.dim, aten.split_copy.Tensor):
        assert not is_free(costs)


def test_what_a_cost_says():
    """The type is that of floats if there are any, of results first; long lists are cut short."""
    half, whole = torch.ones(2, 3, dtype=torch.float16), torch.ones(2, 3, dtype=torch.int16)
    for given, out, dtype in (((whole, half), whole, "float16"), ((half,), ROWS, "float32"),
                              ((whole,), PLACES, "int64"), ((whole,), 3, "int16"),
                              ((2,), 3, "float32")):
        assert cost_of(aten.clone.default, given, {}, out).dtype == dtype
    for count, more in ((6, ""), (7, " and 1 more"), (9, " and 3 more")):
        parts = [torch.ones(i, 2) for i in range(count)]
        found = cost(aten.cat.default, parts)
        assert found.forms == (", ".join(f"{i}×2" for i in range(6)) + more
                               + f" → {count * (count - 1) // 2}×2")
    assert cost(aten.sum.default, ROWS).forms == "6×5 → number"
    assert cost_of(len, (), {}, 3)[:3] == ("other", 0, 0)


@pytest.mark.parametrize("t, size", [
    (torch.ones(0, 4), 0), (torch.ones(1, 4).expand(0, 4), 0), (torch.ones(4, 1).expand(4, 9), 16),
    (torch.ones(()), 4), (torch.ones(()).expand(2, 3), 4), (torch.ones(2, 3).to_sparse(), 24)],
    ids=range(6))
def test_memory_that_is_read(t, size):
    assert cost_of(aten.relu.default, (t,), {}, None).bytes == size


ROWS, VECTOR = torch.ones(6, 5), torch.ones(6)  # 120 and 24 bytes
LARGE = torch.ones(40, 5)
PLACES = torch.tensor([3, 1, 0])  # 24 bytes
BYTES = torch.ones(6, 5, dtype=torch.int8)
Q = torch.ones(2, 3, 7, 4)


@pytest.mark.parametrize("target, args, flops, size", [
    (aten.dot.default, (VECTOR, VECTOR), 12, 2 * 24 + 4),
    (aten.vdot.default, (VECTOR, VECTOR), 12, 2 * 24 + 4),
    (aten.mv.default, (ROWS, torch.ones(5)), 60, 120 + 20 + 24),
    (aten.addmv.default, (VECTOR, ROWS, torch.ones(5)), 60, 24 + 120 + 20 + 24),
    (aten._int_mm.default, (torch.ones(32, 8, dtype=torch.int8), torch.ones(
        8, 16, dtype=torch.int8)), 2 * 32 * 8 * 16, 32 * 8 + 8 * 16 + 4 * 32 * 16),
    (aten.index_select.default, (LARGE, 0, PLACES), 0, 60 + 24 + 60),
    (aten.gather.default, (LARGE, 0, PLACES[:, None]), 0, 12 + 24 + 12),
    (aten.take.default, (LARGE, PLACES), 0, 12 + 24 + 12),
    (aten.index.Tensor, (LARGE, [PLACES]), 0, 60 + 24 + 60),
    (aten.embedding.default, (LARGE, PLACES), 0, 60 + 24 + 60),
    (aten.index_add_.default, (LARGE.clone(), 0, PLACES, ROWS[:3]), 0, 24 + 60 + 2 * 60),
    (aten.scatter_add_.default, (LARGE.clone(), 0, PLACES[:, None], ROWS[:3, :1]), 0,
     24 + 12 + 2 * 12),
    (aten.scatter_.src, (LARGE.clone(), 0, PLACES[:, None], ROWS[:3, :1]), 0, 24 + 12 + 2 * 12),
    (aten.index_put_.default, (LARGE.clone(), [PLACES], ROWS[:3], True), 0, 24 + 60 + 2 * 60),
    (aten.index_put_.default, (LARGE.clone(), [PLACES, PLACES], VECTOR[:3]), 0, 48 + 12 + 2 * 12),
    (aten.index_add_.default, (LARGE.long(), 0, PLACES, ROWS[:3].long()), 0, 24 + 120 + 2 * 120),
    (aten.fill_.Scalar, (ROWS.clone(), 2.0), 0, 120), (aten.normal_.default, (ROWS.clone(),), 30,
                                                       120),
    (aten.bernoulli_.float, (ROWS.clone(),), 30, 120),
    (aten.mul_.Tensor, (ROWS.clone(), ROWS), 30, 3 * 120),
    (aten.mul_.Tensor, (ROWS.clone(), torch.ones(5)), 30, 2 * 120 + 20),
    (aten.add.Tensor, (ROWS, ROWS.expand(2, 6, 5)), 60, 120 + 120 + 240),
    (aten.add.Tensor, (BYTES, BYTES), 30, 3 * 30), (aten.sum.default, (ROWS,), 30, 124),
    (aten.nll_loss_forward.default, (ROWS, torch.tensor([0, 4, 1, 1, 2, 3]), None, 1, -100), 30,
     24 + 48 + 8),
    (aten._foreach_zero_.default, ([ROWS.clone(), VECTOR.clone()],), 0, 120 + 24),
    (aten._foreach_add_.Scalar, ([ROWS.clone(), VECTOR.clone()], 1.0), 36, 2 * (120 + 24)),
    (aten._scaled_dot_product_flash_attention_for_cpu.default, (Q, Q, Q), 2 * 6 * 49 * 8, None),
    (aten._scaled_dot_product_flash_attention_for_cpu_backward.default,
     (Q, Q, Q, Q, Q, torch.zeros(2, 3, 7), 0.0, False), 2.5 * 2 * 6 * 49 * 8, None),
    (aten._scaled_dot_product_flash_attention_for_cpu_backward.default,
     (Q, Q, Q, Q, Q, torch.zeros(2, 3, 7), 0.0, True), 2.5 * 2 * 6 * 28 * 8, None),
], ids=lambda value: getattr(value, "__name__", ""))
def test_operations_and_bytes_by_hand(target, args, flops, size):
    found = cost(target, *args)
    assert found.flops == flops and (size is None or found.bytes == size)


def test_steps_of_a_recurrent_layer():
    inputs, weights = torch.ones(9, 2, 5), [torch.ones(12, 5), torch.ones(12, 3)]
    biases = torch.ones(12), torch.ones(12)  # which are no products
    for name, times in (("mkldnn_rnn_layer", 1), ("mkldnn_rnn_layer_backward", 2)):
        found = cost_of(getattr(aten, name).default, (inputs, *weights, *biases), {},
                        torch.ones(9, 2, 3))
        assert found.kind == "recurrent"
        assert found.flops == times * 9 * 2 * 2 * (12 * 5 + 12 * 3)


def test_what_is_written_to_memory_that_is_given_is_not_read():
    assert cost(aten.mul.out, ROWS, ROWS, out=torch.empty(6, 5)).bytes == 3 * 120


@pytest.mark.parametrize("above, left, backward, tiles", [
    (0, 0, False, 3 * 4), (1, 1, False, 4 * 5), (2, 0, False, 5 * 4), (0, 2, False, 3 * 6),
    (0, 0, True, 5 * 6), (1, 0, True, 4 * 6), (2, 2, True, 3 * 4)])
def test_tiles_of_winograds_algorithm(above, left, backward, tiles):
    """Of results of a 7 x 9 picture with so much padding; back, of what is missing of it."""
    def winograd(): ...

    x, w = torch.ones(2, 5, 7, 9), torch.ones(6, 3, 3, 3)
    found = cost_of(winograd, (x, w, above, left, backward), {}, None)
    assert (found.kind, found.flops) == ("convolution", 2 * 16 * 2 * 6 * 3 * tiles)
