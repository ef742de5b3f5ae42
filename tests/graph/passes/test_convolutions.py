"""The pass that computes convolutions as matrix products."""

import pytest
import torch
import torch.nn.functional as F

from lamella.graph.ir.lazy_module import copied
from lamella.graph.ir.metadata import TensorMetadata
from lamella.graph.passes import convolutions as module
from lamella.graph.passes import order, winograd
from lamella.graph.passes.order import simplify
from lamella.graph.passes.trial import NotYet
from tests.graph.passes.checks import check_same, count, recorded


@pytest.mark.parametrize("shape, padding", [((2, 3, 9, 7), (1, 1)), ((1, 4, 8, 8), (0, 0)),
                                            ((2, 3, 6, 11), (2, 1)), ((1, 2, 3, 3), (0, 0))])
def test_winograd(shape, padding, monkeypatch):
    torch.manual_seed(0)
    monkeypatch.setattr(winograd, "_matrix", _exact)
    x = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    w = torch.randn(5, shape[1], 3, 3, dtype=torch.float64, requires_grad=True)
    wanted = F.conv2d(x, w, padding=padding)
    gradient = torch.randn_like(wanted)
    of_x, of_w = torch.autograd.grad(wanted, (x, w), gradient)
    for weight in (w.detach(), w.detach().to(memory_format=torch.channels_last)):
        kept = winograd.transformed(x.detach(), weight, padding)
        y = winograd.forward(*kept, shape, padding)
        torch.testing.assert_close(y, wanted.detach())
        found = winograd.backward(gradient, kept[0], kept[1], x.shape, padding, True)
        for got, value in zip(found, (of_w, of_x), strict=True):
            torch.testing.assert_close(got, value)
        only, = winograd.backward(gradient, kept[0], kept[1], x.shape, padding, False)
        torch.testing.assert_close(only, of_w)


def _exact(name):
    line = {"input": winograd._INPUT, "weight": winograd._WEIGHT, "result": winograd._RESULT}[name]
    both = torch.tensor(line, dtype=torch.float64)
    return torch.kron(both, both)


def test_errors_in_float32_are_small():
    torch.manual_seed(0)
    x, w = torch.randn(2, 64, 28, 28), torch.randn(64, 64, 3, 3)
    exact = F.conv2d(x.double(), w.double(), padding=1)
    direct = (F.conv2d(x, w, padding=1) - exact).norm() / exact.norm()
    y = winograd.forward(*winograd.transformed(x, w, (1, 1)), x.shape, (1, 1))
    ours = (y - exact).norm() / exact.norm()
    assert ours < 1e-5 and ours < 20 * direct


def step(x, w1, b1, w2, w3):
    weights = [w.detach().requires_grad_() for w in (w1, b1, w2, w3)]
    y = F.conv2d(x, weights[0], weights[1], padding=2).relu()
    y = F.conv2d(y, weights[2], padding=1).relu()
    y = F.conv2d(y, weights[3], stride=2)
    loss = y.square().mean()
    return loss.detach(), y.detach(), *torch.autograd.grad(loss, weights)


@pytest.fixture
def inputs():
    torch.manual_seed(0)
    return [0.3 * torch.randn(s) for s in
            [(2, 3, 9, 9), (16, 3, 5, 5), (16,), (16, 16, 3, 3), (8, 16, 3, 3)]]


def rewritten(function, inputs, monkeypatch, names, tolerance=1e-3):
    """The graph with the first of these ways that suits each convolution."""
    monkeypatch.setattr(module, "SMALLEST", 0)
    monkeypatch.setattr(module.known, "find", lambda key, measure: measure(key))
    monkeypatch.setattr(module, "fastest", lambda c: next(
        (name for name in names if module.WAYS[name].suits(c)), "torch"))
    graph = recorded(function, *inputs)
    better = copied(graph)
    simplify(better)
    found = module.convolutions(better, inputs)
    if found is not None:
        simplify(found)
        found.recompile()
        check_same(graph, found, inputs, tolerance)
    return graph, found


@pytest.mark.parametrize("name, left", [("winograd", 2), ("windows", 0)])
def test_each_algorithm_in_a_step(inputs, monkeypatch, name, left):
    graph, found = rewritten(step, inputs, monkeypatch, [name])
    assert found is not None and count(graph, "convolution") == 3
    assert count(found, "convolution") == left


def test_with_channels_last(inputs, monkeypatch):
    last = [x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x for x in inputs]

    def function(x, w1, b1, w2, w3):  # weights that are copied
        return step(x, w1, b1, w2.clone(memory_format=torch.channels_last), w3)

    last[3] = inputs[3]
    _, found = rewritten(function, last, monkeypatch, ["winograd", "windows"])
    assert found is not None and count(found, "convolution") == 0
    starts = [n for n in found.graph.nodes if n.op == "placeholder"]
    assert not any("clone" in str(n.target) for n in starts[3].users)


@pytest.mark.parametrize("name", ["winograd", "windows", "tiles"])
@pytest.mark.parametrize("last", [(True, False), (False, True)])
def test_gradients_keep_their_strides(name, last, monkeypatch, request):
    channels = 16
    if name == "tiles":
        request.getfixturevalue("tiles")
        channels = 32
    def function(*given):
        given = [x.detach().requires_grad_() for x in given]
        return torch.autograd.grad(F.conv2d(*given).square().sum(), given)

    inputs = [torch.randn(2, channels, 9, 9), torch.randn(channels, channels, 3, 3)]
    inputs = [x.contiguous(memory_format=torch.channels_last) if is_last else x
              for x, is_last in zip(inputs, last, strict=True)]
    assert rewritten(function, inputs, monkeypatch, [name])[1] is not None


@pytest.mark.parametrize("function", [
    lambda x, w: F.conv2d(x, w),  # no gradient
    lambda x, w: _gradient(F.conv2d, x, w, dilation=2),
    lambda x, w: _gradient(F.conv2d, x, w[:, :1], groups=16),
    lambda x, w: _gradient(F.conv_transpose2d, x, w),
    lambda x, w: _gradient(F.conv2d, x.double(), w.double()),
    lambda x, w: _gradient(F.conv1d, x[:, :, 0], w[:, :, 0]),
])
def test_other_convolutions_stay(function, monkeypatch):
    inputs = [torch.randn(2, 16, 9, 9), torch.randn(16, 16, 3, 3)]
    assert rewritten(function, inputs, monkeypatch, ["windows"])[1] is None


@pytest.fixture
def tiles():
    if module.tiles.extension.module is None:
        pytest.skip("no C++ compiler that can build it")


@pytest.mark.parametrize("bias", [False, True])
def test_mixed_precision_by_tiles(tiles, monkeypatch, bias):
    """The gradient reads other casts and copies of the same values."""
    def function(x, w, *bias):
        narrow = [v.bfloat16() for v in (x, w, *bias)]
        y = torch.ops.aten.convolution(*narrow, *[None][:1 - len(bias)], *how)
        again = x.bfloat16(), w.bfloat16().clone(memory_format=torch.channels_last)
        return y, *torch.ops.aten.convolution_backward(
            y, *again, [32], *how, (True, True, bool(bias)))[:2 + len(bias)]

    how = (1, 1), (1, 1), (1, 1), False, (0, 0), 1
    torch.manual_seed(0)
    inputs = [torch.randn(2, 32, 9, 9).contiguous(memory_format=torch.channels_last),
              torch.randn(32, 32, 3, 3).mul_(0.05).contiguous(memory_format=torch.channels_last),
              *[torch.randn(32)][:bias]]
    _, found = rewritten(function, inputs, monkeypatch, ["tiles"], tolerance=0.3)
    assert found is not None and count(found, "winograd", "winograd_weights") == 3
    assert count(found, "convolution", "convolution_backward") == 0


def test_casts_of_what_is_written_in_between_are_others(tiles, monkeypatch):
    def function(x, w):
        y = torch.ops.aten.convolution(x.bfloat16(), w.bfloat16(), None, *how)
        w.mul_(2)
        return y, *torch.ops.aten.convolution_backward(
            y, x.bfloat16(), w.bfloat16(), None, *how, (True, True, False))[:2]

    how = (1, 1), (1, 1), (1, 1), False, (0, 0), 1
    inputs = [torch.randn(2, 32, 9, 9), torch.randn(32, 32, 3, 3)]
    assert rewritten(function, inputs, monkeypatch, ["tiles"])[1] is None


def test_a_choice_on_disk_whose_kernel_is_not_there_is_left_out(monkeypatch):
    monkeypatch.setattr(module, "SMALLEST", 0)
    monkeypatch.setattr(module.tiles.extension, "load", lambda: None)
    monkeypatch.setattr(module.known, "find", lambda key, measure: "tiles")
    inputs = [torch.randn(2, 32, 9, 9), torch.randn(32, 32, 3, 3)]
    graph = recorded(lambda x, w: _gradient(F.conv2d, x, w), *inputs)
    assert module.convolutions(graph, inputs) is None


def test_the_kernel_is_awaited_where_it_suits(monkeypatch):
    asked = []
    monkeypatch.setattr(module.tiles.extension, "request", lambda: asked.append(1))
    for channels in (16, 32):
        graph = recorded(lambda x, w: _gradient(F.conv2d, x, w), torch.randn(1, channels, 5, 5),
                         torch.randn(channels, channels, 3, 3))
        order.improve(graph, [])
        assert len(asked) == channels // 32


def _gradient(convolution, x, w, **how):
    w = w.detach().requires_grad_()
    return torch.autograd.grad(convolution(x, w, **how).sum(), w)


def test_convolutions_stay_if_weights_are_mutated_in_between(monkeypatch):
    def function(x, w):
        y = torch.ops.aten.convolution(x, w, None, (1, 1), (0, 0), (1, 1), False, (0, 0), 1)
        w.mul_(2)
        return y, *torch.ops.aten.convolution_backward(
            y, x, w, None, (1, 1), (0, 0), (1, 1), False, (0, 0), 1, (True, True, False))[:2]

    inputs = [torch.randn(2, 16, 9, 9), torch.randn(16, 16, 3, 3)]
    assert rewritten(function, inputs, monkeypatch, ["windows"])[1] is None


def test_the_timed_choice_of_an_algorithm_is_kept(inputs, monkeypatch, tmp_path):
    monkeypatch.setenv("LAMELLA_CACHE", str(tmp_path))
    known = module.Measured("convolutions", module.WAYS)
    monkeypatch.setattr(module, "known", known)
    graph = recorded(step, *inputs)
    monkeypatch.setattr(module, "SMALLEST", 0)
    better = order.improve(graph, inputs, measure=True)
    while better.meta["open"]:
        better = order.improve(graph, inputs, measure=True)
    check_same(graph, better, inputs, 1e-3)
    assert set(known.values()) <= set(module.WAYS) and len(known) >= 3
    again = module.Measured("convolutions", module.WAYS)
    again.load()
    assert again == known


def test_timing_one_whose_input_is_expanded():
    cpu = torch.device("cpu")
    x, w, y = (TensorMetadata(shape, torch.empty(shape).stride(), torch.float32, cpu)
               for shape in ((4, 16, 8, 8), (16, 16, 3, 3), (4, 16, 6, 6)))
    c = module.Convolution(x._replace(stride=(0, 64, 8, 1)), w, w, y, (1, 1), (0, 0), True)
    assert module.fastest(c) in module.WAYS


def test_timing_is_spread_over_several_tries(inputs, monkeypatch):
    monkeypatch.setattr(module, "AT_ONCE", -1.0)
    monkeypatch.setattr(module, "SMALLEST", 0)
    monkeypatch.setattr(module, "known", module.Measured("none", module.WAYS))
    monkeypatch.setenv("LAMELLA_CACHE", "0")
    graph = recorded(step, *inputs)
    with pytest.raises(NotYet):
        module.convolutions(graph, inputs)
    monkeypatch.setattr(module, "AT_ONCE", 60.0)
    module.convolutions(graph, inputs)
    monkeypatch.setattr(module, "AT_ONCE", -1.0)
    module.convolutions(graph, inputs)  # all is known


def test_a_fast_algorithm_with_other_results_is_never_chosen(monkeypatch):
    cpu = torch.device("cpu")
    x = TensorMetadata((4, 16, 32, 32), (16384, 1024, 32, 1), torch.float32, cpu)
    weight = TensorMetadata((16, 16, 3, 3), (144, 9, 3, 1), torch.float32, cpu)
    sizes = module.Convolution(x, weight, weight, x, (1, 1), (1, 1), True)
    right = module.WAYS["torch"]
    zeros = right._replace(forward=lambda c, *_: torch.zeros(c.y.shape))
    zero_gradients = right._replace(
        backward=lambda c, *_: (torch.zeros(c.weight.shape), torch.zeros(c.x.shape)))
    monkeypatch.setattr(module, "GAIN", 1e9)  # the fastest is chosen by any margin
    for wrong in (zeros, zero_gradients):
        monkeypatch.setattr(module, "WAYS", {"torch": right, "wrong": wrong})
        assert module.fastest(sizes) == "torch"


def described(x=(2, 32, 8, 8), weight=(32, 32, 3, 3), stride=(1, 1), padding=(1, 1),
              dtype=torch.float32):
    y = F.conv2d(torch.empty(x, device="meta"), torch.empty(weight, device="meta"), None, stride,
                 padding).shape
    metas = [TensorMetadata(tuple(shape), torch.empty(shape, device="meta").stride(), dtype,
                            torch.device("cpu")) for shape in (x, weight, y)]
    return module.Convolution(metas[0], metas[1], metas[1], metas[2], stride, padding, True)


@pytest.mark.parametrize("given, winograd, tiles", [
    ({}, True, True), ({"padding": (2, 1)}, True, True), ({"padding": (1, 3)}, True, False),
    ({"weight": (32, 32, 5, 3)}, False, False), ({"weight": (32, 32, 3, 2)}, False, False),
    ({"stride": (1, 2)}, False, False), ({"stride": (2, 1)}, False, False),
    ({"dtype": torch.float64}, False, True), ({"weight": (16, 32, 3, 3)}, True, False),
    ({"weight": (15, 32, 3, 3)}, False, False), ({"weight": (64, 32, 3, 3)}, True, True),
    ({"x": (2, 16, 8, 8), "weight": (32, 16, 3, 3)}, True, False),
    ({"x": (2, 15, 8, 8), "weight": (32, 15, 3, 3)}, False, False)])
def test_which_algorithms_suit_small_windows(given, winograd, tiles, monkeypatch):
    monkeypatch.setattr(module.tiles.extension, "load", lambda: True)
    c = described(**given)
    found = [module.WAYS[name].suits(c) for name in ("winograd", "tiles", "torch")]
    assert found == [winograd, tiles, True]


@pytest.mark.parametrize("channels, rows, dtype, want", [
    (16, 256, torch.float32, True), (16, 257, torch.float32, False), (17, 16, torch.float32, False),
    (1, 16, torch.float32, True), (16, 256, torch.bfloat16, False)])
def test_which_windows_are_few(channels, rows, dtype, want):
    """At most 2 ** 24 elements: 256 rows of 256 windows of 4 by 4 elements of 16 channels."""
    c = described((1, channels, rows + 3, 259), (8, channels, 4, 4), padding=(0, 0), dtype=dtype)
    assert module.LARGEST == 2**24 and module.WAYS["windows"].suits(c) is want


def written_through_a_view(value):
    value[:1].mul_(3)
    return value


HOW = (1, 1), (0, 0), (1, 1), False, (0, 0), 1


def pair(x=lambda x: x, w=lambda w: w, between=lambda x, w: None, again=lambda x, w: (x, w),
         how=HOW, wanted=(True, True, False), bias=None):
    """A convolution and its gradient, with something that may differ from what a tape records."""
    def both(*given):
        its = x(given[0]), w(given[1])
        y = torch.ops.aten.convolution(*its, None, *HOW)
        between(*its)
        found = torch.ops.aten.convolution_backward(
            F.pad(y, [how[1][0]] * 4), *again(*its), bias, *how, wanted)
        return y, *[f for f, is_wanted in zip(found, wanted, strict=True) if is_wanted]

    return both


@pytest.mark.parametrize("function, names, is_replaced", [
    (pair(), ["windows"], True), (pair(wanted=(False, True, False)), ["windows"], True),
    (pair(wanted=(True, True, True), bias=[16]), ["windows"], True),
    (pair(wanted=(False, True, True), bias=[16]), ["winograd"], True),
    (pair(wanted=(True, False, False)), ["windows"], False),
    (pair(wanted=(True, False, True), bias=[16]), ["windows"], False),
    (pair(how=((1, 1), (1, 1), *HOW[2:])), ["windows"], False),
    (pair(again=lambda x, w: (x * 2, w)), ["windows"], False),
    (pair(again=lambda x, w: (x, w * 2)), ["windows"], False),
    (pair(again=lambda x, w: (x.clone(), w)), ["windows"], True),
    (pair(again=lambda x, w: (x, w.clone())), ["winograd"], True),
    (pair(lambda x: x.clone(), lambda w: w.clone(), again=lambda x, w: (x, w)), ["winograd"], True),
    (pair(again=lambda x, w: (written_through_a_view(x.clone()), w)), ["windows"], False),
    (pair(again=lambda x, w: (x, written_through_a_view(w.clone()))), ["windows"], False),
    (pair(lambda x: written_through_a_view(x.clone())), ["windows"], True),
    (pair(w=lambda w: written_through_a_view(w.clone())), ["windows"], True),
    (pair(w=lambda w: written_through_a_view(w.clone())), ["winograd"], True),
    (pair(between=lambda x, w: written_through_a_view(x)), ["windows"], False),
    (pair(between=lambda x, w: written_through_a_view(w)), ["winograd"], False),
    (pair(between=lambda x, w: written_through_a_view(x), again=lambda x, w: (x.clone(), w)),
     ["windows"], False),
    (pair(lambda x: x.clone(), lambda w: w.clone(), lambda x, w: written_through_a_view(w)),
     ["windows"], False),
    (pair(again=lambda x, w: (x.contiguous(memory_format=torch.channels_last), w)), ["windows"],
     False),
    (pair(again=lambda x, w: (x, w.contiguous(memory_format=torch.channels_last))), ["windows"],
     False)])
def test_which_gradients_belong_to_a_convolution(function, names, is_replaced, monkeypatch):
    """Those of the same settings and of equal values, of which copies may have been made."""
    torch.manual_seed(0)
    inputs = [torch.randn(2, 16, 7, 8), torch.randn(16, 16, 3, 3)]
    graph, found = rewritten(function, inputs, monkeypatch, names)
    assert (found is not None) == is_replaced
    if found is not None:
        assert count(found, "convolution") == 0


@pytest.mark.parametrize("last", [(0, 0), (1, 0), (0, 1)])
@pytest.mark.parametrize("dtype, of_input, kept", [
    (torch.float32, True, False), (torch.float32, False, True), (torch.bfloat16, True, False)])
def test_what_decides_how_a_convolution_is_computed(last, dtype, of_input, kept, monkeypatch):
    """Its form, layouts, settings and type; only if it has many multiplications."""
    asked = []
    monkeypatch.setattr(module.known, "find", lambda key, measure: asked.append(key))
    x, w = (a.to(dtype).contiguous(memory_format=torch.channels_last) if is_last else a.to(dtype)
            for a, is_last in zip((torch.randn(2, 3, 7, 9), torch.randn(4, 3, 2, 3)), last,
                                  strict=True))
    how = (1, 2), (1, 0), (1, 1), False, (0, 0), 1

    def both(x, w):
        if kept:
            w = w.clone(memory_format=torch.preserve_format if last[1] else torch.channels_last)
        y = torch.ops.aten.convolution(x, w, None, *how)
        return y, *torch.ops.aten.convolution_backward(
            y, x, w, None, *how, (of_input, True, False))[not of_input:2]

    size = 4 * 3 * 2 * 3 * 2 * 8 * 4
    for smallest, wanted in ((size, 1), (size + 1, 0)):
        asked.clear()
        monkeypatch.setattr(module, "SMALLEST", smallest)
        assert module.convolutions(recorded(both, x, w), [x, w]) is None
        assert asked == [(2, 3, 7, 9, 4, 3, 2, 3, 1, 2, 1, 0, bool(last[0]), bool(last[1] or kept),
                          bool(last[1]), of_input, str(dtype), torch.get_num_threads())][:wanted]


@pytest.mark.parametrize("rows, is_asked", [(33, True), (32, False)])
def test_how_many_multiplications_are_timed_at_least(monkeypatch, rows, is_asked):
    """2 ** 20: 1024 weights for each of 32 by 32 results."""
    asked = []
    monkeypatch.setattr(module.known, "find", lambda key, measure: asked.append(key))
    inputs = [torch.zeros(1, 16, rows, 33), torch.zeros(16, 16, 2, 2)]
    module.convolutions(recorded(lambda x, w: _gradient(F.conv2d, x, w), *inputs), inputs)
    assert len(asked) == is_asked
