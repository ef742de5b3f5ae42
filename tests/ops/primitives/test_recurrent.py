"""Recurrent Primitives step by step in NumPy, with every option, and what their shapes must be."""

from collections import namedtuple

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Tensor, ops
from lamella.ops.primitives import recurrent

RNG = np.random.default_rng(3)
T, N, E, H = 4, 2, 3, 5
X, H0, C0 = RNG.normal(size=(T, N, E)), RNG.normal(size=(N, H)), RNG.normal(size=(N, H))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def wide(x):
    return Tensor(np.asarray(x, np.float32))


def close(found, wanted):
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("clip", [-1.0, 0.0, 0.3])
def test_dynamic_rnn(clip):
    w, b = RNG.normal(size=(E + H, 4 * H)), RNG.normal(size=4 * H)
    found = ops.DynamicRNN(cell_clip=clip, forget_bias=0.7)(wide(X), wide(w), wide(b), None,
                                                            wide(H0[None]), wide(C0[None]))
    h, c, steps = H0, C0, []
    for x in X:
        take, value, keep, show = np.split(np.concatenate([x, h], 1) @ w + b, 4, 1)
        take, value = sigmoid(take), np.tanh(value)
        keep, show = sigmoid(keep + 0.7), sigmoid(show)
        c = keep * c + take * value
        c = np.clip(c, -clip, clip) if clip > 0 else c
        h = show * np.tanh(c)
        steps.append([h, h, c, take, value, keep, show, np.tanh(c)])
    for part, wanted in zip(found, zip(*steps, strict=True), strict=True):
        close(part, wanted)


@pytest.mark.parametrize("order", ["rzh", "zrh"])
@pytest.mark.parametrize("after", [True, False])
@pytest.mark.parametrize("biases", [(True, True), (False, True), (True, False), (False, False)])
def test_dynamic_gru(biases, after, order):
    w, u = RNG.normal(size=(E, 3 * H)), RNG.normal(size=(H, 3 * H))
    a, b = (RNG.normal(size=3 * H) if given else np.zeros(3 * H) for given in biases)
    found = ops.DynamicGRUV2(gate_order=order, reset_after=after)(
        wide(X), wide(w), wide(u), wide(a) if biases[0] else None, wide(b) if biases[1] else None,
        None, wide(H0))
    h, steps = H0, []
    for x in X:
        one, other, own = np.split(x @ w + a, 3, 1)
        gates = [sigmoid(part + more) for part, more in zip(
            (one, other), np.split(h @ u[:, :2 * H] + b[:2 * H], 2, 1), strict=True)]
        reset, update = gates if order == "rzh" else gates[::-1]
        hidden = (h if after else reset * h) @ u[:, 2 * H:] + b[2 * H:]
        new = np.tanh(own + (reset * hidden if after else hidden))
        h = new + update * (h - new)
        steps.append([h, h, update, reset, new, hidden])
    for part, wanted in zip(found, zip(*steps, strict=True), strict=True):
        close(part, wanted)


def test_the_type_of_a_gru_is_that_of_a_bias():
    w, u, b = (wide(RNG.normal(size=shape)) for shape in ((E, 3 * H), (H, 3 * H), 3 * H))
    for given in ((b.half(), None), (None, b.half()), (None, None)):
        found = ops.DynamicGRUV2()(wide(X), w, u, *given, None, wide(H0))
        assert found[0].dtype is (ms.float16 if any(v is not None for v in given) else ms.float32)


def test_one_step_of_lstm():
    w, b = RNG.normal(size=(E + H, 4 * H)), RNG.normal(size=4 * H)
    found = ops.BasicLSTMCell(forget_bias=0.6)(*map(wide, (X[0], H0, C0, w, b)))
    enter, new, keep, leave = np.split(np.concatenate([X[0], H0], 1) @ w + b, 4, 1)
    enter, new, keep, leave = sigmoid(enter), np.tanh(new), sigmoid(keep + 0.6), sigmoid(leave)
    c = keep * C0 + enter * new
    for part, wanted in zip(found, (c, leave * np.tanh(c), enter, new, keep, leave, np.tanh(c)),
                            strict=True):
        close(part, wanted)


@pytest.mark.parametrize("place, shape", [
    (0, (N, E + 1)), (0, (N, E, 1)), (1, (N, H + 1)), (1, (N + 1, H)), (2, (N, H + 1)),
    (3, (E + H + 1, 4 * H)), (3, (E + H, 4 * H + 1)), (4, (4 * H + 1,)), (4, (4 * H, 1))])
def test_shapes_of_one_step(place, shape):
    shapes = [(N, E), (N, H), (N, H), (E + H, 4 * H), (4 * H,)]
    shapes[place] = shape
    with pytest.raises(ValueError, match="the shapes must be"):
        ops.BasicLSTMCell()(*map(ops.ones, shapes))


@pytest.mark.parametrize("w, b", [((E + H + 1, 4 * H), (4 * H,)), ((E + H, 4 * H + 1), (4 * H,)),
                                  ((E + H, 4 * H), (4 * H + 1,)), ((E + H, 4 * H), (4 * H, 1))])
def test_shapes_of_dynamic_weights(w, b):
    with pytest.raises(ValueError, match="'w' and 'b' must have the shapes"):
        ops.DynamicRNN()(wide(X), ops.ones(w), ops.ones(b), None, wide(H0[None]), wide(C0[None]))


@pytest.mark.parametrize("made", [
    lambda: ops.DynamicRNN("GRU"), lambda: ops.DynamicRNN(direction="BIDIRECTIONAL"),
    lambda: ops.DynamicRNN(use_peephole=True), lambda: ops.DynamicRNN(num_proj=1),
    lambda: ops.DynamicRNN(time_major=False), lambda: ops.DynamicRNN(activation="relu"),
    lambda: ops.DynamicGRUV2("BIDIRECTIONAL"), lambda: ops.DynamicGRUV2(num_proj=1),
    lambda: ops.DynamicGRUV2(time_major=False), lambda: ops.DynamicGRUV2(activation="relu"),
    lambda: ops.DynamicGRUV2(gate_order="hrz"), lambda: ops.BasicLSTMCell(0.5),
    lambda: ops.BasicLSTMCell(1.0, 1.0, False), lambda: ops.BasicLSTMCell(activation="relu"),
    lambda: ops.DynamicRNN()(wide(X), wide(X), wide(X), Tensor([1]), wide(X), wide(X)),
    lambda: ops.DynamicGRUV2()(wide(X), wide(X), wide(X), None, None, Tensor([1]), wide(X))])
def test_attributes_with_one_value(made):
    with pytest.raises(ValueError, match="must be "):
        made()


PACKED = {"input_size": 3, "hidden_size": 2, "num_layers": 1, "has_bias": True,
          "bidirectional": False, "dropout": 0.0}


@pytest.mark.parametrize("change, kind", [
    ({"input_size": 0}, ValueError), ({"hidden_size": 0}, ValueError),
    ({"num_layers": 0}, ValueError), ({"num_layers": True}, (ValueError, TypeError)),
    ({"hidden_size": 2.0}, (ValueError, TypeError)), ({"has_bias": 1}, TypeError),
    ({"bidirectional": 1}, TypeError), ({"dropout": 1}, TypeError), ({"dropout": -0.1}, ValueError),
    ({"dropout": 1.1}, ValueError), ({"proj_size": 2}, ValueError), ({"proj_size": -1}, ValueError)
])
def test_attributes_of_packed_networks(change, kind):
    with pytest.raises(kind, match="^For '"):
        ops.LSTM(**PACKED | change)


def test_attributes_of_packed_networks_at_their_limits():
    for change in ({"input_size": 1, "hidden_size": 1}, {"dropout": 1.0}, {"proj_size": 1}):
        assert ops.LSTM(**PACKED | change).num_layers == 1


@pytest.mark.parametrize("place, shape, text", [
    (0, (4, 2), "'input' must have shape"), (0, (4, 2, 4), "'input' must have shape"),
    (0, (4, 3, 3), "'h' must have shape"), (1, (2, 2, 2), "'h' must have shape"),
    (1, (1, 2, 3), "'h' must have shape"), (2, (1, 2, 3), "'c' must have shape"),
    (3, (55, 1, 1), "'w' must have 56 elements"), (3, (49, 1, 1), "'w' must have 56 elements")])
def test_shapes_of_packed_networks(place, shape, text):
    shapes = [(4, 2, 3), (1, 2, 2), (1, 2, 2), (56, 1, 1)]
    shapes[place] = shape
    with pytest.raises(ValueError, match=text):
        ops.LSTM(**PACKED)(*map(ops.ones, shapes))


@pytest.mark.parametrize("h, c, wrong", [(1, 2, ""), (2, 2, "h"), (1, 1, "c")])
def test_widths_of_states_with_projections(h, c, wrong):
    """What is handed on is narrower than the memory."""
    lstm = ops.LSTM(**PACKED, proj_size=1)
    given = [ops.ones(shape) for shape in ((4, 2, 3), (1, 2, h), (1, 2, c), (8 * 4 + 2 + 16, 1, 1))]
    if wrong:
        with pytest.raises(ValueError, match=f"'{wrong}' must have shape"):
            lstm(*given)
    else:
        out, last, memory, *_ = lstm(*given)
        assert (out.shape, last.shape, memory.shape) == ((4, 2, 1), (1, 2, 1), (1, 2, 2))


def test_one_floating_type_of_packed_networks():
    given = [ops.ones(shape) for shape in ((4, 2, 3), (1, 2, 2), (1, 2, 2), (56, 1, 1))]
    for place in range(4):
        with pytest.raises(TypeError, match="one floating type|type"):
            ops.LSTM(**PACKED)(*given[:place], given[place].half(), *given[place + 1:])


Attributes = namedtuple("Attributes", "input_size hidden_size num_layers bidirectional has_bias "
                                      "projected")


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("biases", ["two", "their sum", "none"])
@pytest.mark.parametrize("mode, projected", [("LSTM", 0), ("LSTM", 2), ("GRU", 0)])
def test_weights_in_the_order_of_pytorch(mode, biases, bidirectional, projected):
    """What a network of PyTorch holds, packed layer by layer and unpacked again."""
    torch.manual_seed(0)
    options = {"proj_size": projected} if projected else {}
    network = getattr(torch.nn, mode)(3, 4, 2, biases != "none", bidirectional=bidirectional,
                                      **options)
    groups = [[p.detach() for p in group] for group in network.all_weights]
    matrices = [torch.cat([m.reshape(-1) for m in group if m.dim() == 2]) for group in groups]
    pairs = [[v for v in group if v.dim() == 1] for group in groups]
    rest = {"two": [v for pair in pairs for v in pair],
            "their sum": [sum(pair) for pair in pairs], "none": []}[biases]
    packed = torch.cat([*matrices, *rest])
    gates = 4 if mode == "LSTM" else 3
    found = recurrent.unpacked("F", Tensor(packed), gates, Attributes(
        3, 4, 2, bidirectional, biases != "none", projected))
    wanted = []
    for group, pair in zip(groups, pairs, strict=True):
        if biases == "their sum":
            group = [*group[:2], sum(pair), torch.zeros_like(pair[0]), *group[4:]]
        wanted += group
    assert len(found) == len(wanted)
    for one, other in zip(found, wanted, strict=True):
        assert torch.equal(one, other)
    with pytest.raises(ValueError, match="'w' must have"):
        recurrent.unpacked("F", Tensor(packed[1:]), gates, Attributes(
            3, 4, 2, bidirectional, biases != "none", projected))
