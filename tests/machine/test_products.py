"""Matrix products by the fastest kernel."""

import json

import pytest
import torch
from torch.autograd import forward_ad

from lamella.core.state import state
from lamella.machine import products
from lamella.machine.products import Routes

needed = pytest.mark.skipif(not products.available(), reason="this PyTorch has no oneDNN")


@pytest.fixture
def always(monkeypatch):
    """Routes that say oneDNN for everything."""
    asked = []

    def way(*args):
        asked.append(args)
        return "onednn"

    monkeypatch.setattr(products.routes, "enabled", True)
    monkeypatch.setattr(products.routes, "eager", way)
    monkeypatch.setattr(products, "EAGER", 0)
    monkeypatch.setattr(products, "ELEMENTS", 0)
    return asked


def tensors(*shapes):
    torch.manual_seed(0)
    return [torch.randn(shape, requires_grad=True) for shape in shapes]


@needed
@pytest.mark.parametrize("shape", [(5, 7), (2, 5, 7), (2, 3, 5, 7)])
@pytest.mark.parametrize("bias", [True, False])
def test_linear_and_its_gradients(always, shape, bias):
    x, w, b = tensors(shape, (4, 7), (4,))
    inputs = [x, w, b] if bias else [x, w]
    results = []
    for function in (products.linear, torch.nn.functional.linear):
        y = function(x, w, b if bias else None)
        first = torch.autograd.grad(y.tanh().sum(), inputs, create_graph=True)
        second = torch.autograd.grad(torch.cat([g.flatten() for g in first]).sin().sum(), inputs)
        results.append([y, *first, *second])
    assert always
    for got, wanted in zip(*results, strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-4, atol=1e-5)


@needed
def test_matmul_of_transposed_factors(always):
    x, y = tensors((7, 5), (4, 7))
    got, wanted = products.matmul(x.t(), y.t()), torch.matmul(x.t(), y.t())
    torch.testing.assert_close(got, wanted)
    torch.testing.assert_close(torch.autograd.grad(got.sin().sum(), [x, y]),
                               torch.autograd.grad(wanted.sin().sum(), [x, y]))
    assert always


@needed
@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*is deprecated")  # PyTorch's own, on import
def test_what_others_look_into_is_left_to_pytorch(always, monkeypatch):
    x, y = tensors((6, 5), (5, 4))
    torch.func.vmap(lambda a: products.matmul(a, y))(x.reshape(3, 2, 5))
    with forward_ad.dual_level():
        products.matmul(forward_ad.make_dual(x, x), y)
    with torch.autocast("cpu", torch.bfloat16):
        assert products.matmul(x, y).dtype is torch.bfloat16
        assert products.linear(x, y.t(), None).dtype is torch.bfloat16
    products.matmul(x.double(), y.double())
    products.matmul(x.bfloat16(), y.bfloat16())
    products.linear(x[0], y.t(), None)
    for bias in (torch.randn(8)[::2], torch.randn(1).expand(4), torch.randn(1)):
        products.linear(x, y.t(), bias)  # oneDNN's kernel would read out of bounds
    products.matmul(x, y[:, 0])
    monkeypatch.setattr(state, "trace", object())
    products.matmul(x, y)
    assert not always
    monkeypatch.undo()
    with pytest.raises(RuntimeError, match="shapes"):
        products.matmul(x, x)


def layouts(m, k, n):
    return ((m, k), (k, 1)), ((k, n), (n, 1))


@needed
def test_each_shape_is_timed_once_and_remembered(monkeypatch, tmp_path):
    monkeypatch.setenv("LAMELLA_CACHE", str(tmp_path))
    timed = []
    monkeypatch.setattr(products, "_fastest", lambda key: timed.append(key) or "onednn")
    first = Routes()
    for _ in range(2):
        assert first.fastest(*layouts(64, 64, 64), False) == "onednn"
    assert first.fastest(*layouts(64, 64, 64), True, False) == "torch"  # unknown, and not timed
    assert first.fastest(*layouts(2, 2, 2), False) == "torch"
    for stride in ((128, 2), (1, 1), (0, 1), (1, 2)):  # with strides, or rows that overlap
        assert first.fastest(((64, 64), stride), ((64, 64), (64, 1)), False) == "torch"
        assert first.fastest(((64, 64), (64, 1)), ((64, 64), stride[::-1]), False) == "torch"
    assert Routes().fastest(*layouts(64, 64, 64), False, False) == "onednn"
    assert len(timed) == 1


@needed
@pytest.mark.parametrize("text", ["", "{", "[1]", '[["a", 1]]', "null",
                                  json.dumps([[64, 64, 64, "rr", False, 1, "magic"]])])
def test_damaged_files_are_as_none(monkeypatch, tmp_path, text):
    monkeypatch.setenv("LAMELLA_CACHE", str(tmp_path))
    monkeypatch.setattr(products, "_fastest", lambda key: "onednn")
    Routes().fastest(*layouts(64, 64, 64), False)
    file, = tmp_path.glob("products-*.json")
    file.write_text(text)
    again = Routes()
    assert again.fastest(*layouts(64, 64, 64), False, False) == "torch"
    assert again.fastest(*layouts(64, 64, 64), False) == "onednn"


@needed
def test_without_a_gain_eager_calls_are_left_alone(monkeypatch):
    monkeypatch.setenv("LAMELLA_CACHE", "0")
    monkeypatch.setattr(products, "_fastest", lambda key: "torch")
    routes = Routes()
    for n in range(products.GIVE_UP):
        assert routes.enabled
        routes.eager(*layouts(64, 64, 64 + n), False)
    assert not routes.enabled
    monkeypatch.setattr(products, "_fastest", lambda key: "onednn")
    assert routes.fastest(*layouts(64, 64, 99), False) == "onednn"  # graphs ask again
    routes.eager(*layouts(64, 64, 98), False)
    assert not routes.enabled


@needed
def test_eager_calls_keep_to_what_they_began_with(monkeypatch):
    monkeypatch.setenv("LAMELLA_CACHE", "0")
    monkeypatch.setattr(products, "_fastest", lambda key: "onednn")
    routes = Routes()
    assert routes.eager(*layouts(64, 64, 64), False) == "onednn"
    monkeypatch.setattr(products, "BUDGET", 0.0)
    assert routes.eager(*layouts(64, 64, 65), False) == "torch"  # no time left to measure
    assert routes.fastest(*layouts(64, 64, 65), False) == "onednn"  # for a graph
    assert routes.eager(*layouts(64, 64, 65), False) == "torch"
    assert routes.eager(*layouts(64, 64, 64), False) == "onednn"


@needed
def test_timing_names_a_kernel():
    assert products._fastest((64, 32, 64, "rc", True, 1)) in products.KERNELS


@needed
def test_each_type_has_a_fastest_kernel(monkeypatch):
    monkeypatch.setenv("LAMELLA_CACHE", "0")
    seen = []
    monkeypatch.setattr(products, "_fastest", lambda key: seen.append(key) or "onednn")
    routes = Routes()
    for dtype in (torch.float32, torch.bfloat16, torch.float32, torch.bfloat16):
        assert routes.fastest(*layouts(64, 64, 64), False, dtype=dtype) == "onednn"
    assert len(seen) == 2
    monkeypatch.undo()
    assert products._fastest(seen[1]) in products.KERNELS


def test_the_gradient_of_a_weight_has_its_memory_layout(monkeypatch):
    """Otherwise fused optimizers use another kernel, which is slower."""
    monkeypatch.setattr(products.routes, "enabled", products.available())
    monkeypatch.setattr(products.routes, "eager", lambda *_: "onednn" if products.available() else
                        "torch")
    x, w, b = torch.randn(64, 300), torch.randn(200, 300), torch.randn(200)
    found, wanted = [
        torch.autograd.grad(linear(x, *(leaves := (w.clone().requires_grad_(),
                                                   b.clone().requires_grad_()))).sin().sum(),
                            leaves)
        for linear in (products.linear, torch.nn.functional.linear)]
    assert found[0].stride() == w.stride()
    for mine, its in zip(found, wanted, strict=True):
        torch.testing.assert_close(mine, its, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("terms", [1, 50, 10**6])
@pytest.mark.parametrize("left, right", [
    ((3,), (3,)), ((4, 3), (3,)), ((3,), (3, 5)), ((4, 3), (3, 5)), ((2, 4, 3), (3, 5)),
    ((2, 1, 4, 3), (6, 3, 5)), ((3,), (2, 3, 5)), ((2, 4, 3), (3,))])
def test_products_of_integers_as_sums(left, right, terms, monkeypatch):
    """They wrap around as the numbers of the type do, some rows at a time."""
    monkeypatch.setattr(products, "TERMS", terms)
    drawn = torch.Generator().manual_seed(0)
    for kind in (torch.int8, torch.int64):
        most = torch.iinfo(kind).max
        a, b = (torch.randint(-most, most, shape, generator=drawn).to(kind)
                for shape in (left, right))
        found = products._summed(a, b)
        assert found.dtype is kind and torch.equal(found, torch.matmul(a, b))
    with pytest.raises(RuntimeError, match="reduction dim"):
        products._summed(torch.ones(2, 3).long(), torch.ones(4, 2).long())


class Ticking:
    """A clock that kernels move on, and these kernels; one may fail."""

    def __init__(self, monkeypatch, **seconds):
        self.now, self.calls = 0.0, dict.fromkeys(seconds, 0)
        monkeypatch.setattr(products.time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(products, "KERNELS", {
            name: lambda *given, name=name, took=took: self.run(name, took)
            for name, took in seconds.items()})

    def run(self, name, took):
        took = took(self.calls[name]) if callable(took) else took
        self.calls[name] += 1
        if took is None:
            raise RuntimeError("no such kernel")
        self.now += took


KEY = (4, 4, 4, "rr", False, 1)


@pytest.mark.parametrize("torch_, onednn, winner", [
    (1e-4, 0.97e-4, "torch"), (1e-4, 0.5e-4, "onednn"), (1e-4, 2e-4, "torch"),
    (1e-4, None, "torch"), (1e-4, lambda n: 1e-6 if n == 0 else 1.0, "torch"),  # it prepares
    (1e-4, lambda n: 1e-6 if n == 9 else 1.0, "onednn")])  # the quickest of nine
def test_another_kernel_must_be_clearly_faster(monkeypatch, torch_, onednn, winner):
    monkeypatch.setattr(products, "PATIENCE", 100.0)
    clock = Ticking(monkeypatch, torch=torch_, onednn=onednn)
    assert products.GAIN > 0.5
    assert products._fastest(KEY) == winner
    assert clock.calls["torch"] == products.ROUNDS + 1


@pytest.mark.parametrize("seconds, rounds", [(1e-6, 10), (0.0101, 3), (0.0099, 4), (9.0, 3)])
def test_slow_kernels_are_timed_less_often(monkeypatch, seconds, rounds):
    clock = Ticking(monkeypatch, torch=seconds, onednn=seconds)
    products._fastest(KEY)
    assert clock.calls["torch"] == rounds  # of at most 0.03 s for each kernel


@pytest.mark.parametrize("a, b, majors", [
    (((32, 64), (64, 1)), ((64, 32), (32, 1)), "rr"), (((32, 64), (1, 32)), ((64, 32), (1, 64)),
                                                       "cc"),
    (((32, 64), (70, 1)), ((64, 32), (1, 70)), "rc"),
    (((32, 64), (63, 1)), ((64, 32), (32, 1)), ""),
    (((32, 64), (1, 31)), ((64, 32), (32, 1)), ""), (((32, 64), (64, 1)), ((64, 32), (31, 1)), ""),
    (((32, 64), (64, 1)), ((64, 31), (31, 1)), ""), (((32, 63), (63, 1)), ((63, 32), (32, 1)), "")])
def test_products_that_are_worth_timing(a, b, majors):
    """From 2 ** 16 multiplications on, of matrices in rows or columns that don't overlap."""
    found = products._key(a, b, True)
    assert found == ((32, 64, 32, majors, True, torch.get_num_threads()) if majors else None)


@needed
@pytest.mark.parametrize("rows, inner, columns, asks", [
    (64, 128, 256, True), (64, 128, 255, False), (63, 128, 270, False), (16, 1024, 128, True)])
def test_small_products_are_not_looked_up(always, monkeypatch, rows, inner, columns, asks):
    monkeypatch.setattr(products, "EAGER", 2**21)
    monkeypatch.setattr(products, "ELEMENTS", 2**13)
    x, w = torch.randn(rows, inner), torch.randn(columns, inner)
    for given in (x, x.reshape(2 if rows % 2 == 0 else 3, -1, inner)):
        always.clear()
        torch.testing.assert_close(products.linear(given, w, None),
                                   torch.nn.functional.linear(given, w), rtol=1e-4, atol=1e-4)
        torch.testing.assert_close(products.matmul(given, w.t()), given @ w.t(), rtol=1e-4,
                                   atol=1e-4)
        assert len(always) == 2 * asks


@needed
@pytest.mark.parametrize("by, kernels", [
    ((False, False, False), 1), ((True, False, False), 2), ((False, True, False), 2),
    ((True, True, True), 3), ((False, False, True), 1)])
def test_which_products_a_gradient_asks_for(always, monkeypatch, by, kernels):
    """Where all are PyTorch's, its own node is on the tape."""
    x, w, b = (each.requires_grad_(needs) for each, needs in zip(
        (torch.randn(6, 5), torch.randn(4, 5), torch.randn(4)), by, strict=True))
    monkeypatch.setattr(products.routes, "eager", lambda *key: always.append(key) or "torch")
    found = products.linear(x, w, b)
    assert len(always) == kernels and always[0] == (((6, 5), (5, 1)), ((5, 4), (1, 5)), True)
    if by[0]:
        assert always[1] == (((6, 4), (4, 1)), ((4, 5), (5, 1)), False)
    if by[1]:
        assert always[-1] == (((4, 6), (1, 4)), ((6, 5), (5, 1)), False)
    assert (found.grad_fn is not None) is any(by)
    assert not any(by) or "Addmm" in type(found.grad_fn).__name__
    always.clear()
    rows = torch.randn(5, 4, requires_grad=by[1])
    products.matmul(x, rows)
    if by[1]:
        assert always[-1] == (((5, 6), (1, 5)), ((6, 4), (4, 1)), False)
    with torch.no_grad():
        always.clear()
        products.linear(x, w, b)
        assert len(always) == 1
