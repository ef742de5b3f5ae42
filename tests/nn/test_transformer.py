"""Attention: masks, parity with PyTorch's layers, first values of stacked layers."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import nn


def take(mine, theirs):
    """Give my layer the weights of PyTorch's, whose names differ in a few words."""
    state = theirs.state_dict()
    for parameter in mine.get_parameters():
        name = parameter.name
        if "norm" in name:
            name = name.replace("gamma", "weight").replace("beta", "bias")
        name = name.replace("dense", "linear")
        parameter.set_data(ms.Tensor(state[name].numpy()))
    return mine


def close(got, want):
    np.testing.assert_allclose(got.asnumpy(), want.detach().numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
def test_attention_with_masks(average, batch_first):
    theirs = torch.nn.MultiheadAttention(8, 2, batch_first=batch_first)
    mine = take(nn.MultiheadAttention(8, 2, batch_first=batch_first), theirs)
    x = torch.randn(3, 4, 8)
    batch, steps = (3, 4) if batch_first else (4, 3)
    padding = torch.zeros(batch, steps, dtype=torch.bool)
    padding[0, -1] = True
    mask = torch.triu(torch.ones(steps, steps), 1).bool()
    want = theirs(x, x, x, padding, True, mask, average)
    mx = ms.Tensor(x.numpy())
    got = mine(mx, mx, mx, ms.Tensor(padding.numpy()), True, ms.Tensor(mask.numpy()), average)
    for g, w in zip(got, want, strict=True):
        close(g, w)
    (alone,) = mine(mx, mx, mx, ms.Tensor(padding.numpy()), False, ms.Tensor(mask.numpy()))
    close(alone, want[0])


def test_attention_of_one_sequence():
    theirs = torch.nn.MultiheadAttention(8, 2, kdim=3, vdim=5)
    mine = take(nn.MultiheadAttention(8, 2, kdim=3, vdim=5), theirs)
    q, k, v = torch.randn(4, 8), torch.randn(6, 3), torch.randn(6, 5)
    for g, w in zip(mine(*(ms.Tensor(t.numpy()) for t in (q, k, v))), theirs(q, k, v), strict=True):
        close(g, w)


@pytest.mark.parametrize("norm_first", [True, False])
def test_layers_are_pytorch_s(norm_first):
    options = {"dim_feedforward": 6, "norm_first": norm_first}
    encoder = torch.nn.TransformerEncoderLayer(8, 2, **options).eval()
    decoder = torch.nn.TransformerDecoderLayer(8, 2, **options).eval()
    src, tgt = torch.randn(5, 3, 8), torch.randn(4, 3, 8)
    memory = encoder(src)
    mine = take(nn.TransformerEncoderLayer(8, 2, **options), encoder)(ms.Tensor(src.numpy()))
    close(mine, memory)
    mask = torch.triu(torch.ones(4, 4), 1).bool()
    got = take(nn.TransformerDecoderLayer(8, 2, **options), decoder)(
        ms.Tensor(tgt.numpy()), mine, tgt_mask=ms.Tensor(mask.numpy()))
    close(got, decoder(tgt, memory, tgt_mask=mask))


def test_stacked_layers_begin_equal_and_are_separate():
    net = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 6), 2)
    first, second = (list(layer.get_parameters()) for layer in net.layers)
    for a, b in zip(first, second, strict=True):
        assert (a == b).all() and a is not b
    first[0].set_data(first[0] + 1)
    assert not (first[0] == second[0]).any()


def test_transformer_with_cells_of_one_s_own():
    class Encoder(nn.Cell):
        def construct(self, src, src_mask=None, src_key_padding_mask=None):
            return src * 2

    net = nn.Transformer(8, 2, custom_encoder=Encoder(), num_decoder_layers=1, dim_feedforward=6)
    src, tgt = ms.ops.randn(5, 3, 8), ms.ops.randn(4, 3, 8)
    np.testing.assert_allclose(net(src, tgt).asnumpy(), net.decoder(tgt, src * 2).asnumpy())


def test_dropout_acts_in_training_only():
    net = nn.TransformerEncoderLayer(8, 2, 6, dropout=0.5)
    x = ms.ops.randn(5, 3, 8)
    assert (net(x) == net(x)).all()
    net.set_train()
    assert not (net(x) == net(x)).all()


@pytest.mark.parametrize(("call", "message"), [
    (lambda x: nn.Transformer(8, 2)(x, ms.ops.ones((5, 4, 8))), "equal batches"),
    (lambda x: nn.Transformer(6, 2)(x, x), "last dimension"),
    (lambda x: nn.Transformer(8, 2, num_encoder_layers=2**31), "'num_layers' must be at most"),
    (lambda x: nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2), 2**31), "at most 16384"),
    (lambda x: nn.MultiheadAttention(8, 2)(x, x, x, ms.ops.ones((3, 5), ms.int32)), "boolean")])
def test_wrong_inputs(call, message):
    with pytest.raises(ValueError, match=message):
        call(ms.ops.ones((5, 3, 8)))
