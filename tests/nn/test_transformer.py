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


def given(*tensors):
    return [None if t is None else ms.Tensor(t.numpy()) for t in tensors]


OPTIONS = [{"add_bias_kv": True}, {"add_zero_attn": True}, {"bias": False}, {"kdim": 3},
           {"vdim": 5}, {"kdim": 8, "vdim": 8}, {"batch_first": True},
           {"add_bias_kv": True, "add_zero_attn": True, "batch_first": True, "kdim": 5}]


@pytest.mark.parametrize("sequence", [False, True])
@pytest.mark.parametrize("options", OPTIONS, ids=range(len(OPTIONS)))
def test_options_of_attention(options, sequence):
    theirs = torch.nn.MultiheadAttention(8, 2, **options)
    own = {{"bias": "has_bias"}.get(name, name): value for name, value in options.items()}
    mine = take(nn.MultiheadAttention(8, 2, **own), theirs)
    assert sorted(p.name for p in mine.get_parameters()) == sorted(theirs.state_dict())
    for bias in theirs.parameters():  # zeros at first
        if bias.ndim == 1:
            torch.nn.init.normal_(bias)
    take(mine, theirs)
    key, value = (options.get(name) or 8 for name in ("kdim", "vdim"))
    shapes = [(4, 3, 8), (6, 3, key), (6, 3, value)]
    if options.get("batch_first"):
        shapes = [(b, a, c) for a, b, c in shapes]
    x = [torch.randn((shape[1] if options.get("batch_first") else shape[0], shape[2])
                     if sequence else shape) for shape in shapes]
    for g, w in zip(mine(*given(*x)), theirs(*x), strict=True):
        close(g, w)
    mask = torch.randn(x[0].shape[-2] if sequence or options.get("batch_first") else 4, 6)
    for g, w in zip(mine(*given(*x), attn_mask=ms.Tensor(mask.numpy())),
                    theirs(*x, attn_mask=mask), strict=True):
        close(g, w)


def test_masks_of_floats_are_added_and_weights_dropped_in_training_only():
    theirs = torch.nn.MultiheadAttention(8, 2, dropout=0.5).eval()
    mine = take(nn.MultiheadAttention(8, 2, dropout=0.5), theirs)
    x, padding = torch.randn(5, 3, 8), torch.randn(3, 5)
    close(mine(*given(x, x, x, padding))[0], theirs(x, x, x, padding)[0])
    mine.set_train()
    assert not np.allclose(mine(*given(x, x, x))[0].asnumpy(), theirs(x, x, x)[0].detach().numpy())


@pytest.mark.parametrize("activation, name", [
    ("relu", "relu"), ("gelu", "gelu"), (nn.ReLU(), "relu"), (nn.GELU(False), "gelu"),
    (ms.ops.relu, "relu"), (ms.ops.gelu, "gelu")], ids=range(6))
def test_activations_of_layers(activation, name):
    theirs = torch.nn.TransformerEncoderLayer(8, 2, 6, activation=name).eval()
    mine = take(nn.TransformerEncoderLayer(8, 2, 6, activation=activation), theirs)
    x = torch.randn(5, 3, 8)
    close(mine(*given(x)), theirs(x))


@pytest.mark.parametrize("activation", ["tanh", nn.Tanh(), ms.ops.tanh, None, nn.ReLU],
                         ids=range(5))
def test_activations_that_layers_do_not_have(activation):
    with pytest.raises(ValueError, match="'activation' must be"):
        nn.TransformerEncoderLayer(8, 2, 6, activation=activation)


def copied(mine, theirs):
    """Both in evaluation mode with random weights, biases and scales too."""
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return take(mine, theirs.eval())


STACKS = [{}, {"norm_first": True}, {"batch_first": True}, {"activation": "gelu"},
          {"layer_norm_eps": 0.5}]


@pytest.mark.filterwarnings("ignore:enable_nested_tensor:UserWarning")
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("options", STACKS, ids=range(len(STACKS)))
def test_stacks_are_pytorch_s_with_every_mask(options, last):
    encoder, mine = (of.TransformerEncoder(of.TransformerEncoderLayer(8, 2, 6, **options), 2, norm)
                     for of, norm in ((torch.nn, torch.nn.LayerNorm(8) if last else None),
                                      (nn, nn.LayerNorm((8,), epsilon=1e-5) if last else None)))
    mine = copied(mine, encoder)
    decoder, own = (of.TransformerDecoder(of.TransformerDecoderLayer(8, 2, 6, **options), 2, norm)
                    for of, norm in ((torch.nn, torch.nn.LayerNorm(8) if last else None),
                                     (nn, nn.LayerNorm((8,), epsilon=1e-5) if last else None)))
    own = copied(own, decoder)
    src, tgt = torch.randn(5, 3, 8), torch.randn(4, 3, 8)
    if options.get("batch_first"):
        src, tgt = src.swapaxes(0, 1), tgt.swapaxes(0, 1)
    masks = [torch.randn(5, 5), torch.randn(4, 4), torch.randn(4, 5)]
    padding = [torch.randn(3, 5), torch.randn(3, 4), torch.randn(3, 5)]
    memory = encoder(src, masks[0], padding[0])
    close(mine(*given(src, masks[0], padding[0])), memory)
    close(own(*given(tgt, memory.detach(), masks[1], masks[2], padding[1], padding[2])),
          decoder(tgt, memory, masks[1], masks[2], padding[1], padding[2]))


@pytest.mark.filterwarnings("ignore:enable_nested_tensor:UserWarning")
@pytest.mark.parametrize("options", STACKS, ids=range(len(STACKS)))
def test_transformers_are_pytorch_s_with_every_mask(options):
    sizes = {"num_encoder_layers": 1, "num_decoder_layers": 2, "dim_feedforward": 6, "dropout": 0.3}
    theirs = torch.nn.Transformer(8, 2, **sizes, **options)
    mine = copied(nn.Transformer(8, 2, **sizes, **options), theirs)
    src, tgt = torch.randn(5, 3, 8), torch.randn(4, 3, 8)
    if options.get("batch_first"):
        src, tgt = src.swapaxes(0, 1), tgt.swapaxes(0, 1)
    masks = [torch.randn(5, 5), torch.randn(4, 4), torch.randn(4, 5), torch.randn(3, 5),
             torch.randn(3, 4), torch.randn(3, 5)]
    close(mine(*given(src, tgt, *masks)), theirs(src, tgt, *masks))
    one = torch.randn(5, 8), torch.randn(4, 8)
    close(mine(*given(*one)), theirs(*one))


@pytest.mark.parametrize("batch_first, src, tgt, message", [
    (False, (5, 3, 8), (4, 2, 8), "equal batches"), (False, (3, 5, 8), (3, 4, 8), "equal batches"),
    (True, (5, 3, 8), (4, 3, 8), "equal batches"), (False, (5, 3, 6), (4, 3, 8), "must be 8"),
    (False, (5, 3, 8), (4, 3, 6), "must be 8"), (False, (5, 3, 8), (4, 3, 9), "must be 8")])
def test_sizes_of_transformers(batch_first, src, tgt, message):
    net = nn.Transformer(8, 2, 1, 1, 6, batch_first=batch_first)
    with pytest.raises(ValueError, match=message):
        net(ms.ops.ones(src), ms.ops.ones(tgt))


@pytest.mark.parametrize("make, error, message", [
    (lambda: nn.MultiheadAttention(8, 3), ValueError, "'num_heads' must divide .* 3 and 8"),
    (lambda: nn.MultiheadAttention(0, 1), ValueError, "'embed_dim'"),
    (lambda: nn.MultiheadAttention(8, 0), ValueError, "'num_heads'"),
    (lambda: nn.TransformerEncoder(nn.Dense(2, 2), 1), TypeError, "but got Dense"),
    (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 6), 1.5), TypeError,
     "num_layers")])
def test_layers_that_there_are_not(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_types_and_first_values():
    attention = nn.MultiheadAttention(64, 2, add_bias_kv=True, kdim=32, dtype=ms.float16)
    assert {p.dtype for p in attention.get_parameters()} == {ms.float16}
    assert nn.MultiheadAttention(8, 2, dtype=None).dtype == ms.float32
    for name, (rows, columns) in {"q_proj_weight": (64, 64), "k_proj_weight": (64, 32),
                                  "v_proj_weight": (64, 64)}.items():
        values = np.abs(getattr(attention, name).asnumpy().astype(np.float64))
        bound = (6 / (rows + columns)) ** 0.5  # of Xavier's uniform distribution
        assert 0.95 * bound < values.max() <= bound * 1.001
    assert not attention.in_proj_bias.asnumpy().any()
    net = nn.Transformer(64, 2, 1, 1, 32, dtype=ms.float16)
    assert {p.dtype for p in net.get_parameters()} == {ms.float16}
    for parameter in net.get_parameters():
        if parameter.ndim > 1:
            values = np.abs(parameter.asnumpy().astype(np.float64))
            bound = (6 / sum(parameter.shape)) ** 0.5
            assert 0.95 * bound < values.max() <= bound * 1.001, parameter.name
