"""Recurrent layers and cells: their options beside PyTorch's, first values, what doesn't fit."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, nn
from lamella.nn.recurrent import _DynamicRNNBase
from tests.nn.test_recurrent import close, take

KINDS = [("RNN", {}), ("RNN", {"nonlinearity": "relu"}), ("GRU", {}), ("LSTM", {})]


def states(found):
    return found if isinstance(found, tuple) else (found,)


@pytest.mark.parametrize("name, own", KINDS, ids=["tanh", "relu", "gru", "lstm"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("layers, bidirectional", [(1, False), (1, True), (3, True)])
def test_every_option_with_a_first_state(name, own, bias, batch_first, layers, bidirectional):
    theirs = getattr(torch.nn, name)(3, 4, layers, bias=bias, batch_first=batch_first,
                                     bidirectional=bidirectional, **own)
    mine = take(getattr(nn, name)(3, 4, layers, bias, batch_first, 0.0, bidirectional, **own),
                theirs)
    assert {p.name for p in mine.get_parameters()} == set(theirs.state_dict())
    x, h = torch.randn(5, 2, 3), torch.randn(layers * (1 + bidirectional), 5 if batch_first else 2,
                                             4)
    given = (h, h * 0.5) if name == "LSTM" else h
    want, last = theirs(x, given)
    state = tuple(Tensor(part.numpy()) for part in states(given))
    got, end = mine(Tensor(x.numpy()), state if name == "LSTM" else state[0])
    close(got, want)
    for a, b in zip(states(end), states(last), strict=True):
        close(a, b)


@pytest.mark.parametrize("name, own", KINDS, ids=["tanh", "relu", "gru", "lstm"])
@pytest.mark.parametrize("kind", [ms.int32, ms.int64])
def test_lengths_beyond_the_end_are_the_whole(name, own, kind):
    """Of batches in the first dimension."""
    net = getattr(nn, name)(3, 4, batch_first=True, bidirectional=True, **own)
    x = ms.ops.randn(3, 5, 3)
    cut, cut_last = net(x, None, Tensor([9, 2, 5], kind))
    for place, length in ((0, 5), (1, 2), (2, 5)):
        alone, last = net(x[place:place + 1, :length])
        np.testing.assert_allclose(cut[place, :length].asnumpy(), alone[0].asnumpy(), rtol=1e-5,
                                   atol=1e-6)
        for a, b in zip(states(cut_last), states(last), strict=True):
            np.testing.assert_allclose(a[:, place].asnumpy(), b[:, 0].asnumpy(), rtol=1e-5,
                                       atol=1e-6)
    assert not cut[1, 2:].asnumpy().any()


def test_relu_under_vmap_and_lengths_that_are_empty():
    net = nn.RNN(3, 4, 2, nonlinearity="relu", has_bias=False, bidirectional=True)
    x, lengths = ms.ops.randn(3, 5, 2, 3), Tensor([0, 4], ms.int32)
    together, last = ms.vmap(lambda x: net(x, None, lengths))(x)
    for i in range(3):
        alone, end = net(x[i], None, lengths)
        np.testing.assert_allclose(together[i].asnumpy(), alone.asnumpy(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(last[i].asnumpy(), end.asnumpy(), rtol=1e-5, atol=1e-6)


def test_one_layer_drops_nothing():
    net, x = nn.GRU(3, 4, dropout=0.9), ms.ops.randn(5, 2, 3)
    want = net(x)[0].asnumpy()
    np.testing.assert_array_equal(net.set_train()(x)[0].asnumpy(), want)


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM, nn.RNNCell, nn.GRUCell, nn.LSTMCell])
@pytest.mark.parametrize("dtype", [ms.float32, ms.float16])
def test_first_values_and_types(kind, dtype):
    """Uniform up to one by the root of the state's length."""
    parameters = list(kind(30, 25, dtype=dtype).get_parameters())
    assert len(parameters) == 4
    for parameter in parameters:
        values = parameter.asnumpy().astype(np.float64)
        assert parameter.dtype == dtype and abs(values).max() <= 0.2 * 1.001
        assert values.min() < -0.15 and values.max() > 0.15, parameter.name


def first_numbers(kind, seed):
    ms.set_seed(seed)
    return next(iter(kind(3, 4).get_parameters())).asnumpy()


@pytest.mark.parametrize("kind", [nn.GRU, nn.GRUCell])
def test_a_seed_gives_the_same_first_values(kind):
    np.testing.assert_array_equal(first_numbers(kind, 3), first_numbers(kind, 3))
    assert (first_numbers(kind, 3) != first_numbers(kind, 4)).any()


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("name, own", KINDS, ids=["tanh", "relu", "gru", "lstm"])
def test_cells_with_and_without_biases(name, own, bias):
    theirs = getattr(torch.nn, f"{name}Cell")(3, 4, bias, **own)
    mine = take(getattr(nn, f"{name}Cell")(3, 4, bias, **own), theirs)
    assert len(list(mine.get_parameters())) == (4 if bias else 2)
    x, h, c = torch.randn(2, 3), torch.randn(2, 4), torch.randn(2, 4)
    mx, mh, mc = (Tensor(t.numpy()) for t in (x, h, c))
    want = theirs(x, (h, c) if name == "LSTM" else h)
    got = mine(mx, (mh, mc) if name == "LSTM" else mh)
    for a, b in zip(states(got), states(want), strict=True):
        close(a, b)


@pytest.mark.parametrize("lengths", [None, [9, 0, 2]])
def test_weights_as_inputs_without_biases_and_of_another_type(lengths):
    net = nn.LSTM(3, 4, has_bias=False)
    x, h = ms.ops.randn(5, 3, 3), ms.ops.randn(3, 4)
    sizes = None if lengths is None else Tensor(lengths, ms.int32)
    want, last = net(x, (h[None], h[None] * 2), sizes)
    weights = [p.value().astype(ms.float64) for p in net.get_parameters()]
    got, end = _DynamicRNNBase("LSTM")(x, (h, h * 2), sizes, *weights, None, None)
    np.testing.assert_array_equal(got.asnumpy(), want.asnumpy())
    for a, b in zip(end, last, strict=True):
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy()[0])


X, H = ms.ops.ones((5, 2, 3)), ms.ops.ones((1, 2, 4))


@pytest.mark.parametrize("call, error, text", [
    (lambda: nn.LSTM(3, 4)(X, [H, H]), TypeError, "'hx' must be a tuple of two Tensors"),
    (lambda: nn.LSTM(3, 4)(X, (H, H, H)), TypeError, "'hx' must be a tuple of two Tensors"),
    (lambda: nn.LSTM(3, 4)(X, H), TypeError, "'hx' must be a tuple of two Tensors"),
    (lambda: nn.LSTM(3, 4)(X, (H, 3)), TypeError, "'hx'"),
    (lambda: nn.LSTM(3, 4)(X, (H, H[:, :1])), ValueError, r"'hx' must have shape \(1, 2, 4\)"),
    (lambda: nn.GRU(3, 4)(X, (H,)), TypeError, "'hx'"),
    (lambda: nn.GRU(3, 4)(X, H.astype(ms.float64)), TypeError, "one floating type, but got"),
    (lambda: nn.GRU(3, 4)(X.astype(ms.int32), H.astype(ms.int32)), TypeError, "one floating type"),
    (lambda: nn.GRU(3, 4, bidirectional=True)(X, H), ValueError, r"shape \(2, 2, 4\)"),
    (lambda: nn.GRU(3, 4, 3)(X, H), ValueError, r"shape \(3, 2, 4\)"),
    (lambda: nn.GRU(3, 4)(X, None, Tensor([1, 2, 3])), ValueError, "each of the 2 sequences"),
    (lambda: nn.GRU(3, 4)(X, None, Tensor([[1, 2]])), ValueError, "each of the 2 sequences"),
    (lambda: nn.GRU(3, 4)(X, None, Tensor([1, 2], ms.int8)), TypeError, "int32 or int64"),
    (lambda: nn.GRU(3, 4)(3), TypeError, "'x'"),
    (lambda: nn.GRU(0, 4), ValueError, "input_size"), (lambda: nn.GRU(3, 0), ValueError, "hidden"),
    (lambda: nn.GRU(3, 4, 1.5), TypeError, "num_layers"),
    (lambda: nn.GRU(3, 4, 1, 1), TypeError, "has_bias"),
    (lambda: nn.GRU(3, 4, batch_first=1), TypeError, "batch_first"),
    (lambda: nn.GRU(3, 4, bidirectional=1), TypeError, "bidirectional"),
    (lambda: nn.GRU(3, 4, dropout=1.0), ValueError, "dropout"),
    (lambda: nn.GRU(3, 4, dropout=-0.1), ValueError, "dropout"),
    (lambda: nn.GRU(3, 4, dropout=0), TypeError, "dropout"),
    (lambda: nn.RNN(3, 4, nonlinearity="sigmoid"), ValueError, "nonlinearity"),
    (lambda: nn.RNNCell(3, 4, nonlinearity="sigmoid"), ValueError, "nonlinearity"),
    (lambda: nn.RNNCell(3, 4, nonlinearity=3), TypeError, "nonlinearity"),
    (lambda: nn.RNNCell(3, 4, 1), TypeError, "has_bias"),
    (lambda: nn.RNNCell(0, 4), ValueError, "input_size"),
    (lambda: nn.RNNCell(3, 0), ValueError, "hidden_size"),
    (lambda: nn.LSTMCell(3, 4)(X[0], [H[0], H[0]]), TypeError, "a tuple of two Tensors"),
    (lambda: nn.LSTMCell(3, 4)(X[0], (H[0],)), TypeError, "a tuple of two Tensors"),
    (lambda: nn.LSTMCell(3, 4)(X[0], (H[0], H[0].astype(ms.int32))), TypeError, "'cx' must be"),
    (lambda: nn.LSTMCell(3, 4)(X[0], (H[0].astype(ms.int32), H[0])), TypeError, "'hx' must be"),
    (lambda: nn.GRUCell(3, 4)(X[0].astype(ms.int32), H[0]), TypeError, "'x' must be floating"),
    (lambda: nn.RNNCell(3, 4)(X[0], H[0].astype(ms.int32)), TypeError, "'hx' must be floating"),
    (lambda: nn.GRUCell(3, 4)(X[0], 3), TypeError, "'hx'"),
], ids=range(36))
def test_what_does_not_fit(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("name, wrong", [("b_ih_list", (11,)), ("b_hh_list", (13,)),
                                         ("w_ih_list", (12, 4)), ("w_hh_list", (12, 5))])
@pytest.mark.parametrize("place", [0, 3])
def test_weights_of_other_shapes(name, wrong, place):
    net = nn.GRU(3, 4, 2, bidirectional=True)
    getattr(net, name)[place].set_data(ms.ops.ones(wrong), slice_shape=True)
    with pytest.raises(ValueError, match=f"_l{place // 2}.*' must have shape"):
        net(X)
