"""Recurrent layers: parity with PyTorch's, sequences of several lengths, dropout between layers."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, nn
from lamella.nn.recurrent import _DynamicRNNBase
from lamella.nn.recurrent_steps import run_by_steps


def take(mine, theirs):
    for parameter in mine.get_parameters():
        parameter.set_data(ms.Tensor(getattr(theirs, parameter.name).detach().numpy()))
    return mine


def close(got, want):
    np.testing.assert_allclose(got.asnumpy(), want.detach().numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("lengths", [None, [5, 2, 4]])
def test_pytorch_s(name, bidirectional, lengths):
    theirs = getattr(torch.nn, name)(3, 4, 2, bidirectional=bidirectional)
    mine = take(getattr(nn, name)(3, 4, 2, bidirectional=bidirectional), theirs)
    x = torch.randn(5, 3, 3)
    if lengths is None:
        want, last = theirs(x)
        got, state = mine(ms.Tensor(x.numpy()))
    else:
        packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
        want, last = theirs(packed)
        want, _ = torch.nn.utils.rnn.pad_packed_sequence(want, total_length=5)
        got, state = mine(ms.Tensor(x.numpy()), None, ms.Tensor(lengths, ms.int32))
    close(got, want)
    for mine_state, their_state in zip(state if name == "LSTM" else (state,),
                                       last if name == "LSTM" else (last,), strict=True):
        close(mine_state, their_state)


@pytest.mark.parametrize("name", ["GRU", "LSTM"])
def test_an_empty_sequence_keeps_its_state(name):
    net = getattr(nn, name)(3, 4)
    h = ms.ops.randn(1, 2, 4)
    given = (h, h + 1) if name == "LSTM" else h
    out, state = net(ms.ops.randn(5, 2, 3), given, ms.Tensor([0, 3], ms.int32))
    assert (out[:, 0] == 0).all() and (out[3:, 1] == 0).all()
    for got, want in zip(state if name == "LSTM" else (state,),
                         given if name == "LSTM" else (given,), strict=True):
        assert (got[:, 0] == want[:, 0]).all() and not (got[:, 1] == want[:, 1]).any()


def test_batch_first_is_a_transposition():
    net = nn.LSTM(3, 4, 2)
    turned = nn.LSTM(3, 4, 2, batch_first=True)
    turned.load_state_dict(net.state_dict())
    x = ms.ops.randn(5, 2, 3)
    np.testing.assert_allclose(turned(x.swapaxes(0, 1))[0].swapaxes(0, 1).asnumpy(),
                               net(x)[0].asnumpy(), rtol=1e-5)


def test_dropout_is_applied_between_layers():
    net = nn.GRU(3, 4, 2, dropout=0.9)
    x = ms.ops.randn(5, 2, 3)
    still, state = net(x)
    net.set_train()
    ms.set_seed(1)
    first, last = net(x)
    assert not np.allclose(first.asnumpy(), still.asnumpy())
    assert (first != 0).all()  # none behind the last layer
    np.testing.assert_allclose(last[0].asnumpy(), state[0].asnumpy(), rtol=1e-5)  # layer 0
    ms.set_seed(1)
    assert (net(x)[0] == first).all()


def test_cells_are_pytorch_s():
    for name in ("RNNCell", "GRUCell", "LSTMCell"):
        theirs = getattr(torch.nn, name)(3, 4)
        mine = take(getattr(nn, name)(3, 4), theirs)
        x, h = torch.randn(2, 3), torch.randn(2, 4)
        mx, mh = ms.Tensor(x.numpy()), ms.Tensor(h.numpy())
        if name == "LSTMCell":
            for got, want in zip(mine(mx, (mh, mh)), theirs(x, (h, h)), strict=True):
                close(got, want)
        else:
            close(mine(mx, mh), theirs(x, h))


def test_half_precision():
    out, (h, c) = nn.LSTM(3, 4)(ms.ops.randn(5, 2, 3).astype(ms.float16))
    assert out.dtype == h.dtype == c.dtype == ms.float16


@pytest.mark.parametrize(("call", "kind", "message"), [
    (lambda: nn.GRU(3, 4)(ms.ops.ones((5, 2, 3)), ms.ops.ones((2, 2, 4))), ValueError, "shape"),
    (lambda: nn.GRU(3, 4)(ms.ops.ones((2, 3))), ValueError, "3 dimensions"),
    (lambda: nn.GRU(3, 4)(ms.ops.ones((5, 2, 3)), None, ms.Tensor([1.0, 2.0])), TypeError, "int32"),
    (lambda: nn.LSTMCell(3, 4)(ms.ops.ones((2, 3), ms.int32), (ms.ops.ones((2, 4)),) * 2),
     TypeError, "floating"),
    *[(lambda kind=kind: kind(3, 4, 2**31), ValueError,
       f"For '{kind.__name__}', 'num_layers' must be at most 16384, but got 2147483648")
      for kind in (nn.RNN, nn.GRU, nn.LSTM)]])
def test_wrong_inputs(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_steps_as_functions():
    from lamella.nn.recurrent import _gru_cell, _lstm_cell, _rnn_relu_cell

    x, h = ms.ops.randn(2, 3), ms.ops.randn(2, 4)
    for cell, step, state in ((nn.GRUCell(3, 4), _gru_cell, h),
                              (nn.LSTMCell(3, 4), _lstm_cell, (h, h)),
                              (nn.RNNCell(3, 4, False, "relu"), _rnn_relu_cell, h)):
        got = step(x, state, cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
        for a, b in zip(got if isinstance(got, tuple) else (got,),
                        cell(x, state) if isinstance(got, tuple) else (cell(x, state),),
                        strict=True):
            assert (a == b).all()


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
def test_sizes_that_a_kernel_trusts_in(kind):
    net, x = kind(9, 16, 2), ms.ops.ones((3, 5, 9))
    for call in (net, ms.grad(lambda x: net(x)[0]), ms.jit(net, jit_level="O0")):
        for wrong in (8, 10, 1, 0, 1000):
            with pytest.raises(ValueError, match=f"For '{kind.__name__}', the last dimension"):
                call(ms.ops.ones((3, 5, wrong)))
    with pytest.raises(ValueError, match="lengths in 'seq_length' must be 0 or more"):
        net(x, None, ms.Tensor([3, -1, 2, 1, 3], ms.int32))
    net.w_hh_list[0].set_data(ms.ops.ones((4, 4)), slice_shape=True)
    with pytest.raises(ValueError, match=r"Parameter 'weight_hh_l0' must have shape \(\d+, 16\)"):
        net(x)


def test_lists_of_weights_are_replaced_by_others_of_the_same_names():
    net = nn.LSTM(2, 3)
    names = [p.name for p in net.trainable_params()]
    new = ms.ParameterTuple([ms.Parameter(ms.ops.ones((12, 2)), name="weight_ih_l0")])
    net.w_ih_list = new
    assert [p.name for p in net.trainable_params()] == names
    assert net.parameters_dict()["weight_ih_l0"] is new[0]
    with pytest.raises(ValueError, match="exists already"):
        net.more = ms.ParameterTuple([ms.Parameter(ms.ops.ones(2), name="weight_hh_l0")])


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("options", [{}, {"num_layers": 2, "bidirectional": True},
                                     {"has_bias": False, "batch_first": True}],
                         ids=["plain", "deep", "no bias"])
def test_under_vmap(kind, options):
    """Each example's output, gradients by example, and a Jacobian, without PyTorch's kernel."""
    ms.set_seed(0)
    net = getattr(nn, kind)(3, 4, **{"has_bias": True, **options})
    x = ms.Tensor(np.random.default_rng(0).standard_normal((5, 2, 6, 3)).astype(np.float32))

    def loss(x):
        output, last = net(x)
        return (output**2).sum() + (last[1] if kind == "LSTM" else last).sum()

    weights = net.trainable_params()
    together, last = ms.vmap(net)(x)
    gradients = ms.vmap(ms.grad(loss, 0, weights))(x)
    compiled = ms.jit(ms.vmap(ms.grad(loss)))
    for i in range(5):
        alone, end = net(x[i])
        np.testing.assert_allclose(together[i].asnumpy(), alone.asnumpy(), rtol=1e-5, atol=1e-6)
        for a, b in zip(ms.tree.leaves(last), ms.tree.leaves(end), strict=True):
            np.testing.assert_allclose(a[i].asnumpy(), b.asnumpy(), rtol=1e-5, atol=1e-6)
        by_x, by_w = ms.grad(loss, 0, weights)(x[i])
        np.testing.assert_allclose(gradients[0][i].asnumpy(), by_x.asnumpy(), rtol=1e-4, atol=1e-5)
        for a, b in zip(gradients[1], by_w, strict=True):
            np.testing.assert_allclose(a[i].asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-4)
    for _ in range(2):
        np.testing.assert_allclose(compiled(x).asnumpy(), gradients[0].asnumpy(), rtol=1e-4,
                                   atol=1e-5)
    jacobian = ms.jacrev(lambda x: net(x)[0].sum((0, 1)))(x[0])
    np.testing.assert_allclose(jacobian.sum(0).asnumpy(),
                               ms.grad(lambda x: net(x)[0].sum())(x[0]).asnumpy(),
                               rtol=1e-4, atol=1e-5)


def test_lengths_under_vmap():
    net = nn.LSTM(3, 4, bidirectional=True)
    x = ms.Tensor(np.random.default_rng(0).standard_normal((4, 6, 3, 3)).astype(np.float32))
    lengths = ms.Tensor([6, 0, 2], ms.int32)
    together, (h, c) = ms.vmap(lambda x: net(x, None, lengths))(x)
    for i in range(4):
        alone, (a, b) = net(x[i], None, lengths)
        for found, want in ((together, alone), (h, a), (c, b)):
            np.testing.assert_allclose(found[i].asnumpy(), want.asnumpy(), rtol=1e-5, atol=1e-6)


def test_an_ensemble_of_networks():
    nets = nn.CellList([nn.GRU(3, 4) for _ in range(3)])
    x = ms.Tensor(np.random.default_rng(0).standard_normal((6, 2, 3)).astype(np.float32))
    together = ms.vmap(nets, in_axes=None)(x)[0]
    for i, net in enumerate(nets):
        np.testing.assert_allclose(together[i].asnumpy(), net(x)[0].asnumpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("lengths", [None, [5, 2, 4]])
def test_float16_is_float32_rounded_once(name, lengths):
    half, whole = (getattr(nn, name)(3, 4, 2, bidirectional=True) for _ in range(2))
    for a, b in zip(half.get_parameters(), whole.get_parameters(), strict=True):
        b.set_data(a.astype(ms.float16).astype(ms.float32))
    half.to_float(ms.float16)
    x = ms.ops.randn(5, 3, 3).astype(ms.float16)
    sizes = None if lengths is None else ms.Tensor(lengths, ms.int32)
    (got, last), (want, final) = (net(given, None, sizes) for net, given in (
        (half, x), (whole, x.astype(ms.float32))))
    pairs = [(got, want), *(zip(last, final, strict=True) if name == "LSTM" else [(last, final)])]
    for mine, exact in pairs:
        assert mine.dtype == ms.float16 and (mine == exact.astype(ms.float16)).all()

    def gradients(net, given):
        return ms.grad(lambda given: (net(given, None, sizes)[0].astype(ms.float32) ** 2).sum(),
                       None, net.trainable_params())(given)

    for mine, exact in zip(gradients(half, x), gradients(whole, x.astype(ms.float32)), strict=True):
        assert mine.dtype == ms.float32
        np.testing.assert_allclose(mine.asnumpy(), exact.asnumpy(), rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("mode, layer", [("LSTM", nn.LSTM), ("GRU", nn.GRU), ("RNN_TANH", nn.RNN)])
@pytest.mark.parametrize("lengths", [None, [2, 4, 1]])
def test_a_layer_whose_weights_are_inputs(mode, layer, lengths):
    net = layer(3, 5)
    x = Tensor(np.random.default_rng(0).normal(size=(4, 3, 3)).astype(np.float32))
    start = ms.ops.ones((1, 3, 5)) * 0.1
    state = (start, start) if mode == "LSTM" else start
    sizes = None if lengths is None else Tensor(lengths, ms.int32)
    want, last = net(x, state, sizes)
    weights = [p.value() for p in net.get_parameters()]
    inner = (start[0], start[0]) if mode == "LSTM" else start[0]
    out, final = _DynamicRNNBase(mode)(x, inner, sizes, *weights)
    np.testing.assert_array_equal(out.asnumpy(), want.asnumpy())
    pairs = zip(final, last, strict=True) if mode == "LSTM" else [(final, last)]
    for found, expected in pairs:
        np.testing.assert_array_equal(found.asnumpy(), expected.asnumpy()[0])
    with pytest.raises(ValueError, match="'mode' must be one of"):
        _DynamicRNNBase("QRNN")


@pytest.mark.parametrize("mode", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("lengths", [None, [5, 2, 4]])
def test_steps_give_what_the_kernels_give(mode, bidirectional, bias, lengths):
    net = getattr(nn, mode)(3, 4, 2, bias, bidirectional=bidirectional)
    ways = 2 if bidirectional else 1
    x, h = torch.randn(5, 3, 3), torch.randn(2 * ways, 3, 4)
    state = (h, h * 0.5) if mode == "LSTM" else (h,)
    given = tuple(Tensor(s.numpy()) for s in state)
    want, last = net(Tensor(x.numpy()), given if mode == "LSTM" else given[0],
                     None if lengths is None else Tensor(lengths, ms.int32))
    got, end = run_by_steps("RNN_TANH" if mode == "RNN" else mode, x, state,
                            net._weights(0, 2 * ways, x.dtype), 2, bias, bidirectional, lengths)
    close(want, got)
    for mine, theirs in zip(last if mode == "LSTM" else (last,), end, strict=True):
        close(mine, theirs)


@pytest.mark.parametrize("bidirectional", [False, True])
def test_layers_one_after_the_other_are_all_at_once(bidirectional):
    """With so little dropout that nothing is dropped, training gives what evaluation gives."""
    net = nn.GRU(3, 4, 3, bidirectional=bidirectional, dropout=1e-7)
    x = ms.ops.randn(5, 2, 3)
    want, last = net(x)
    got, end = net.set_train()(x)
    np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(end.asnumpy(), last.asnumpy(), rtol=1e-5, atol=1e-6)
