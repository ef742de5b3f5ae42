"""``mindspore.parallel._transformer`` beside PyTorch's layers with the same weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor
from lamella.legacy import transformer as old
from lamella.legacy.transformer import layers

SIZE, HEADS, BATCH, LENGTH = 8, 2, 3, 5


def filled(cell):
    """The layer computing in float32, with weights that are easily told apart."""
    rng = np.random.default_rng(1)
    for parameter in cell.get_parameters():
        parameter.set_data(Tensor(rng.standard_normal(parameter.shape).astype(np.float32) / 3))
    for _, part in cell.cells_and_names():
        if isinstance(part, (layers._Linear, old.MultiHeadAttention)):
            part.dtype = ms.float32
    return cell.set_train(False)


def torch_attention(cell):
    found = torch.nn.MultiheadAttention(SIZE, HEADS, batch_first=True)
    parts = [cell.dense1, cell.dense2, cell.dense3]
    with torch.no_grad():
        found.in_proj_weight.copy_(torch.cat([p.weight._raw for p in parts]))
        found.in_proj_bias.copy_(torch.cat([p.bias._raw for p in parts]))
        found.out_proj.weight.copy_(cell.projection.weight._raw.T)
        found.out_proj.bias.copy_(cell.projection.bias._raw)
    return found


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def lower(size, batch=BATCH):
    return np.tile(np.tril(np.ones((size, size), np.float32)), (batch, 1, 1))


@pytest.mark.parametrize("flat", [False, True])
def test_attention_is_pytorchs(flat):
    cell = filled(old.MultiHeadAttention(BATCH, LENGTH, LENGTH, SIZE, HEADS, 0.0, 0.0))
    x, mask = numbers(BATCH, LENGTH, SIZE), lower(LENGTH)
    given = Tensor(x.reshape(-1, SIZE) if flat else x)
    out, (keys, values) = cell(given, given, given, Tensor(mask))
    hidden = torch.from_numpy(mask).repeat_interleave(HEADS, 0) == 0
    t = torch.from_numpy(x)
    wanted = torch_attention(cell)(t, t, t, attn_mask=hidden)[0].detach().numpy()
    assert out.shape == given.shape
    np.testing.assert_allclose(out.asnumpy().reshape(x.shape), wanted, rtol=1e-4, atol=1e-5)
    assert keys.shape == (BATCH, HEADS, SIZE // HEADS, LENGTH)
    assert values.shape == (BATCH, HEADS, LENGTH, SIZE // HEADS)


def reference(cell, post, mask, source=None, source_mask=None):
    """What a layer computes, by PyTorch's attention: of a decoder's, with what it looks at."""
    def norm(layer, value):
        return torch.nn.functional.layer_norm(value, (SIZE,), layer.gamma._raw, layer.beta._raw,
                                              1e-5)

    def attended(attention, queries, keys, mask):
        hidden = torch.from_numpy(mask).repeat_interleave(HEADS, 0) == 0
        return torch_attention(attention)(queries, keys, keys, attn_mask=hidden)[0]

    def layer(t):
        normed = norm(cell.layernorm1, t)
        t = (normed if post else t) + attended(cell.attention, normed, normed, mask)
        if source is not None:
            normed = norm(cell.cross_attention_layernorm, t)
            t = (normed if post else t) + attended(cell.cross_attention, normed,
                                                   torch.from_numpy(source), source_mask)
        normed = norm(cell.layernorm2, t)
        wide = torch.relu(normed @ cell.output.mapping.weight._raw + cell.output.mapping.bias._raw)
        narrow = wide @ cell.output.projection.weight._raw + cell.output.projection.bias._raw
        return (normed if post else t) + narrow

    return layer


@pytest.mark.parametrize("post", [False, True])
@pytest.mark.parametrize("source", [None, 4])
def test_a_layer_and_its_gradients(post, source):
    """Of an encoder; of a decoder, which looks at what has another length."""
    settings = {"post_layernorm_residual": post, "hidden_act": "relu"}
    x, mask = numbers(BATCH, LENGTH, SIZE), lower(LENGTH)
    if source is None:
        cell = filled(old.TransformerEncoderLayer(BATCH, SIZE, 16, HEADS, LENGTH, 0.0, 0.0,
                                                  **settings))
        seen = ()
    else:
        cell = filled(old.TransformerDecoderLayer(SIZE, 16, HEADS, BATCH, source, LENGTH, 0.0, 0.0,
                                                  **settings))
        seen = numbers(BATCH, source, SIZE, seed=2), lower(LENGTH)[:, :, :source].copy()
    t = torch.from_numpy(x).requires_grad_()
    expected = reference(cell, post, mask, *seen)(t)
    (expected ** 2).sum().backward()
    given = Tensor(mask), *map(Tensor, seen)

    def squared(value):
        return (cell(value, *given)[0] ** 2).sum()
    np.testing.assert_allclose(cell(Tensor(x), *given)[0].asnumpy(), expected.detach().numpy(),
                               rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ms.grad(squared)(Tensor(x)).asnumpy(), t.grad.numpy(), rtol=1e-3,
                               atol=1e-3)


def test_a_transformer_of_encoder_and_decoder_goes_with_its_parts():
    cell = filled(old.Transformer(SIZE, BATCH, 16, LENGTH, 4, 1, 1, HEADS, 0.0, 0.0))
    x, y = Tensor(numbers(BATCH, LENGTH, SIZE)), Tensor(numbers(BATCH, 4, SIZE, seed=1))
    seen, memory = Tensor(lower(LENGTH)), Tensor(np.ones((BATCH, 4, LENGTH), np.float32))
    out, encoded, decoded = cell(x, seen, y, Tensor(lower(4)), memory)
    between, _ = cell.encoder.blocks[0](x, seen)
    again, present = cell.decoder.blocks[0](y, Tensor(lower(4)), between, memory)
    np.testing.assert_allclose(out.asnumpy(), again.asnumpy(), rtol=1e-5)
    assert len(encoded) == len(decoded) == 1 and len(present) == 4
    names = set(cell.parameters_dict())
    assert {"encoder.blocks.0.attention.dense1.weight", "decoder.blocks.0.output.mapping.weight",
            "decoder.blocks.0.cross_attention_layernorm.gamma"} <= names


def test_products_are_of_float16_and_results_of_the_inputs_type():
    cell = layers._Linear(4, 3, transpose_b=False)
    x = Tensor(numbers(2, 4))
    assert cell.weight.shape == (4, 3) and cell(x).dtype == ms.float32
    rounded = ms.ops.matmul(x.astype(ms.float16), cell.weight.astype(ms.float16))
    np.testing.assert_array_equal(cell(x).asnumpy(), rounded.asnumpy().astype(np.float32))


def test_the_loss_counts_unmasked_tokens():
    logits, labels = numbers(6, 4), np.array([0, 1, 2, 3, 0, 1], np.int32)
    weights = np.float32([1, 0, 1, 1, 0, 1])
    each = torch.nn.functional.cross_entropy(torch.from_numpy(logits),
                                             torch.from_numpy(labels).long(), reduction="none")
    loss = old.CrossEntropyLoss()(Tensor(logits), Tensor(labels), Tensor(weights))
    np.testing.assert_allclose(loss.asnumpy(), [(each.numpy() * weights).sum() / 4], rtol=1e-6)


def test_configurations_are_checked_and_told_as_dicts():
    config = old.TransformerOpParallelConfig(data_parallel=2, recompute=True)
    assert config.moe_parallel_config.dpmp == config.dp_mp_config == old.OpParallelConfig(2, 1)
    assert config.embedding_dp_mp_config.to_dict() == {
        "data_parallel": 2, "model_parallel": 1, "vocab_emb_dp": True}
    with pytest.raises(ValueError, match="'data_parallel' must be int and must be > 0"):
        old.OpParallelConfig(0)
    with pytest.raises(TypeError, match="'vocab_emb_dp' must be"):
        config.vocab_emb_dp = 1
    with pytest.raises(TypeError, match="'recompute' must be"):
        old.TransformerOpParallelConfig(recompute=3)


@pytest.mark.parametrize("make", [
    lambda: old.MoEConfig(expert_num=2), lambda: old.FixedSparseAttention(1),
    lambda: old.FeedForward(4, 8, 0.0, expert_num=2), lambda: layers.MoE(),
    lambda: old.MultiHeadAttention(1, 2, 2, 4, 2, use_past=True),
])
def test_what_is_not_there_says_so(make):
    with pytest.raises(NotImplementedError, match="isn't in Lamella|aren't in Lamella"):
        make()


def test_arguments_are_checked_by_functions_of_value_and_name():
    @layers._args_type_validator_check(size=layers._valid_type_checks([int], "Layer"),
                                       kind=layers._valid_value_checks([ms.float32], "Layer"))
    def make(size, kind=ms.float32):
        return size
    assert make(3, kind=ms.float32) == 3
    with pytest.raises(TypeError, match="'size' must be one of"):
        make("3")
    with pytest.raises(TypeError, match="'kind' must be one of"):
        make(3, ms.float16)


def test_input_checks_name_the_layer():
    check = layers._LayerInputCheck
    assert check.check_shape_equal((2, 3), "x", "Layer", [[1, 3], [2, 3]])
    assert check.check_shape_length((2, 3), "x", "Layer", [2, 3])
    assert check.check_shape_value_on_axis((2, 3), 1, "x", "Layer", 3)
    for wrong in (lambda: check.check_shape_equal((2, 3), "x", "Layer", [2, 2]),
                  lambda: check.check_shape_length((2, 3), "x", "Layer", 3),
                  lambda: check.check_shape_value_on_axis((2, 3), 1, "x", "Layer", 4)):
        with pytest.raises(ValueError, match="For 'Layer', 'x' must have"):
            wrong()


def test_an_argument_of_the_past_stays_at_its_default_without_it():
    check = layers._check_past_none_input_none
    # use_past, is_tensor, is_default
    for use_past, is_tensor, is_default in ((True, True, False), (True, False, False),
                                            (True, True, True), (False, False, True)):
        assert check(use_past, "key_past", "Layer", None, is_tensor, is_default)
    for is_tensor, is_default in ((True, False), (False, False), (True, True)):
        with pytest.raises(TypeError, match="Layer key_past must be None if use_past is False"):
            check(False, "key_past", "Layer", None, is_tensor, is_default)
    layers._check_input_dtype(ms.float16, "x", [ms.float16, ms.float32], "Layer")
    with pytest.raises(TypeError, match="'x'"):
        layers._check_input_dtype(ms.int8, "x", [ms.float16, ms.float32], "Layer")


def test_dropout_by_what_is_kept():
    drop = layers._Dropout(0.8)
    drop.set_train()
    found = drop(ms.ops.ones((100, 100), ms.float32)).asnumpy()
    np.testing.assert_allclose(np.unique(found), [0.0, 1.25], rtol=1e-6)
    assert abs((found > 0).mean() - 0.8) < 0.03
    default = layers._Dropout()
    default.set_train()
    assert abs((default(ms.ops.ones((100, 100))).asnumpy() > 0).mean() - 0.5) < 0.03
    assert drop.shard(((1, 1),)) is drop
