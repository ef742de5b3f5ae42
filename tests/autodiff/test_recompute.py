"""Recomputation: the same gradients for less memory; networks called with other Parameters."""

import gc
import weakref

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import lamella as ms
from lamella import Parameter, Tensor, nn, ops
from lamella.core.state import state

RNG = np.random.default_rng(5)
X = RNG.standard_normal((16, 64))


class Peak(TorchDispatchMode):
    """Counts the bytes of tensors made inside the block that are alive, and their maximum."""

    def __enter__(self):
        self.now = self.most = 0
        self.known = {}
        return super().__enter__()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        for arg in args:
            if isinstance(arg, torch.Tensor) and id(arg.untyped_storage()) not in self.known:
                self.known[id(arg.untyped_storage())] = arg  # it existed before
        outs = func(*args, **(kwargs or {}))
        for out in outs if isinstance(outs, (tuple, list)) else (outs,):
            if isinstance(out, torch.Tensor):
                self._note(out.untyped_storage())
        return outs

    def _note(self, storage):
        if id(storage) in self.known:
            return
        key, size = id(storage), storage.nbytes()
        self.known[key] = weakref.finalize(storage, self._freed, key, size)
        self.known[key].atexit = False
        self.now += size
        self.most = max(self.most, self.now)

    def _freed(self, key, size):
        self.now -= size
        self.known.pop(key)


class Block(nn.Cell):
    """Several intermediate results, each as large as the input."""

    calls = 0

    def __init__(self, seed):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.w = Parameter(Tensor(rng.standard_normal((64, 64)) * 0.1), name="w")

    def construct(self, x):
        Block.calls += 1
        y = ops.matmul(x, self.w)
        for _ in range(6):
            y = ops.tanh(ops.sin(y) * 1.1)
        return x + y


class Deep(nn.Cell):
    def __init__(self, recomputed=False):
        super().__init__()
        self.blocks = nn.SequentialCell([Block(i) for i in range(8)])
        if recomputed:
            for block in self.blocks:
                block.recompute()

    def construct(self, x):
        return (self.blocks(x) ** 2).sum()


def assert_same(got, want, rtol=1e-12):
    for g, w in zip(got, want, strict=True):
        np.testing.assert_allclose(g.asnumpy(), w.asnumpy(), rtol=rtol, atol=1e-12)


def gradients(net, x):
    by_input, by_weights = ms.grad(net, 0, net.trainable_params())(x)
    return [by_input, *by_weights]


def test_less_memory_for_one_more_run():
    plain, deep, x = Deep(), Deep(recomputed=True), Tensor(np.tile(X, (16, 1)))
    size = x.asnumpy().nbytes
    measured = {}
    for name, net in (("plain", plain), ("recomputed", deep)):
        Block.calls = 0
        with Peak() as peak:
            gradients(net, x)
        measured[name] = peak.most, Block.calls
        gc.collect()
        assert peak.now < 1e4  # nothing is kept when the gradient has been computed
    assert_same(gradients(deep, x), gradients(plain, x))
    assert measured["plain"][1] == 8 and measured["recomputed"][1] == 16
    # 8 blocks of 7 results that derivatives need, against 8 inputs and one block's results
    assert measured["plain"][0] > 8 * 7 * size, measured
    assert measured["recomputed"][0] < (8 + 2 * 7) * size, measured


def test_functions_as_well():
    def block(x, scale, shift=None):
        for _ in range(20):
            x = ops.sin(x) * scale["by"]
        return {"out": x + shift, "more": (x * 2, 3)}

    def f(x, scale, shift, call):
        got = call(block, x, {"by": scale}, shift=shift)
        assert got["more"][1] == 3
        return got["out"].sum() + (got["more"][0] ** 2).sum()

    def plainly(function, *args, **kwargs):
        return function(*args, **kwargs)

    args = Tensor(X), Tensor(X * 0.1 + 1), Tensor(X)
    peaks, found = [], []
    for call in (plainly, ms.recompute):
        with Peak() as peak:
            found.append(ms.grad(lambda *a, call=call: f(*a, call), (0, 1, 2))(*args))
        peaks.append(peak.most)
    assert_same(*found)
    # the backward pass holds the block's results, too, but frees them as it goes
    assert peaks[1] <= 1.3 * peaks[0]
    assert float(ms.recompute(lambda x: x * 2, Tensor(2.0))) == 4.0


@pytest.mark.parametrize("transform", [
    lambda f, x: ms.grad(f)(x), lambda f, x: ms.vjp(f, x)[1](Tensor(1.0, ms.float64))[0],
    lambda f, x: ms.jvp(f, x, x)[1], lambda f, x: ms.jvp(ms.grad(f), x, x)[1],
    lambda f, x: ms.grad(lambda x: ms.jvp(f, x, x * 1.0)[1])(x),
    lambda f, x: ms.grad(lambda x: (ms.grad(f)(x) ** 2).sum())(x),
    lambda f, x: ms.vmap(ms.grad(f))(x), lambda f, x: ms.jacrev(f)(x),
    lambda f, x: ms.jacfwd(lambda t: f(x * t))(Tensor(1.0, ms.float64)),
    lambda f, x: ms.grad(lambda x: ms.vmap(f)(x).sum())(x),
    lambda f, x: ms.jit(ms.grad(f))(x), lambda f, x: ms.jit(lambda x: ms.jvp(f, x, x)[1])(x),
])
def test_under_every_derivative(transform):
    x = Tensor(X[:3])
    assert_same([transform(Deep(recomputed=True), x)], [transform(Deep(), x)], 1e-9)


def test_random_numbers_are_drawn_as_they_were():
    class Dropped(nn.Cell):
        def __init__(self):
            super().__init__()
            self.drop = nn.Dropout(p=0.5)

        def construct(self, x):
            return self.drop(x * x)

    x = Tensor(X)
    for recomputed in (False, True):
        net = Dropped().set_train()
        if recomputed:
            net.recompute()
        for _ in range(3):
            value, gradient = ms.value_and_grad(lambda x, net=net: (net(x), net(x)),
                                                has_aux=True)(x)
            kept = value[0].asnumpy() != 0
            np.testing.assert_allclose(gradient.asnumpy(), kept * 4 * X, rtol=1e-12)
            assert 0.3 < kept.mean() < 0.7
            assert (kept != (value[1].asnumpy() != 0)).any()


def test_state_changes_once():
    norms = [nn.BatchNorm1d(64).set_train() for _ in range(2)]
    norms[1].recompute()
    count = Parameter(Tensor(0.0), name="count", requires_grad=False)

    class Counting(nn.Cell):
        def __init__(self):
            super().__init__()
            self.count = count

        def construct(self, x):
            self.count += 1
            return x * x * self.count

    counting = Counting()
    counting.recompute()
    x = Tensor(X.astype(np.float32))
    for _ in range(2):
        assert_same([ms.grad(lambda x: norms[1](x)[0].sum())(x)],
                    [ms.grad(lambda x: norms[0](x)[0].sum())(x)], 1e-5)
        assert_same([norms[1].moving_mean, norms[1].moving_variance],
                    [norms[0].moving_mean, norms[0].moving_variance], 1e-6)
    for expected in (1.0, 2.0):
        got = ms.grad(counting)(x)
        assert float(count) == expected
        np.testing.assert_allclose(got.asnumpy(), 2 * expected * x.asnumpy(), rtol=1e-6)


def test_weights_assigned_in_between():
    w = Parameter(Tensor(2.0, ms.float64), name="w")

    class Scaled(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = w

        def construct(self, x):
            return ops.sin(x * self.w)

    net = Scaled()
    net.recompute()

    def f(x):
        y = net(x)
        w.set_data(w * 10)
        return y

    got = ms.grad(f)(Tensor(0.3, ms.float64))
    assert float(got) == pytest.approx(np.cos(0.6) * 2)
    assert float(w) == 20.0


def test_what_the_backward_rule_of_a_recomputed_cell_sees():
    seen = []

    class Ruled(nn.Cell):
        def construct(self, x):
            return x * x

        def bprop(self, x, out, dout):
            seen.append(float(out))
            return dout * 7

    class Outer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.inner = Ruled()
            self.recompute()

        def construct(self, x):
            return ops.exp(self.inner(x))

    assert float(ms.grad(Outer())(Tensor(1.0))) == pytest.approx(7 * np.e)
    assert seen == [1.0]


@pytest.mark.parametrize("call, error, message", [
    (lambda: ms.recompute(3), TypeError, "'block' must be a Cell or a function, but got int"),
    (lambda: ms.recompute(ops.sin, Tensor(1.0), context_fn=lambda: None), ValueError,
     "'context_fn' needs use_reentrant=False"),
    (lambda: ms.grad(lambda x: ms.recompute(lambda x: {}["mine"], x))(Tensor(1.0)), KeyError,
     "mine"),
])
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
    assert state.level is None and state.overlay is None and torch.is_grad_enabled()


def test_an_error_in_the_second_run():
    calls = []

    def fragile(x):
        calls.append(1)
        if len(calls) == 2:
            raise ArithmeticError("the second time")
        return ops.sin(ops.exp(x))

    with pytest.raises(ArithmeticError, match="the second time"):
        ms.grad(lambda x: ms.recompute(fragile, x))(Tensor(1.0))
    assert state.level is None and state.overlay is None and torch.is_grad_enabled()


def test_options_are_accepted():
    net = Deep()
    net.recompute(mp_comm_recompute=False, parallel_optimizer_comm_recompute=True,
                  recompute_slice_activation=True)
    x = Tensor(X)
    assert_same(gradients(net, x), gradients(Deep(), x))
    entered = []

    class Context:
        def __enter__(self):
            entered.append(1)

        def __exit__(self, *error):
            pass

    got = ms.grad(lambda x: ms.recompute(ops.exp, x, use_reentrant=False, early_stop=False,
                                         context_fn=lambda: (Context(), Context())).sum())(x)
    np.testing.assert_allclose(got.asnumpy(), np.exp(X))
    assert entered == [1, 1]


# networks called with other Parameters


class Scale(nn.Cell):
    def __init__(self, value=2.0):
        super().__init__()
        self.w = Parameter(Tensor(value, ms.float64), name="w")
        self.count = Parameter(Tensor(0.0), name="count", requires_grad=False)

    def construct(self, x, *, shift=0.0):
        self.count += 1
        return x * self.w + shift


@pytest.mark.parametrize("mode", [lambda f: f, ms.jit])
def test_a_cell_with_other_values(mode):
    net, x, w = Scale(), Tensor(3.0, ms.float64), Tensor(5.0, ms.float64)

    def call(w, x):
        return nn.functional_call(net, {"w": w, "count": Tensor(7.0)}, x, {"shift": 1.0})

    for _ in range(3):
        assert float(mode(call)(w, x)) == 16.0
        assert float(mode(ms.grad(call))(w, x)) == 3.0
        assert float(mode(ms.grad(call, (0, 1)))(w, x)[1]) == 5.0
        assert float(mode(lambda w, x: ms.jvp(call, (w, x), (w, None))[1])(w, x)) == 15.0
        by_example = mode(lambda w, x: ms.vmap(call, (0, None))(w, x))(ops.stack((w, w * 2)), x)
        assert by_example.asnumpy().tolist() == [16.0, 31.0]
    assert float(net.w) == 2.0 and float(net.count) == 0.0
    assert float(net(x)) == 6.0 and float(net.count) == 1.0
    assert float(nn.functional_call(net, [{"w": w}, {"count": Tensor(1.0)}], (x,))) == 15.0


@pytest.mark.parametrize("call, error, message", [
    (lambda net: nn.functional_call(3, {}), TypeError, "'cell' must be a Cell, but got 3 of type"),
    (lambda net: nn.functional_call(net, 3), TypeError, "must be a dict of Tensors or several"),
    (lambda net: nn.functional_call(net, {"v": Tensor(1.0)}), ValueError, "'v'.*it has"),
    (lambda net: nn.functional_call(net, {"w": 3}), TypeError, "for 'w' must be a Tensor"),
    (lambda net: nn.functional_call(net, {"w": Tensor([1.0])}), ValueError, "must have shape"),
    (lambda net: nn.functional_call(net, {"w": Tensor(1.0)}, 3, {"no": 1}), TypeError, "no"),
    (lambda net: nn.stack_parameters([]), ValueError, "one Cell or more"),
    (lambda net: nn.stack_parameters([net, nn.Dense(2, 2)]), ValueError, "of the same names"),
])
def test_errors_of_other_values(call, error, message):
    net = Scale()
    with pytest.raises(error, match=message):
        call(net)
    assert float(net.w) == 2.0 and state.overlay is None


@pytest.mark.parametrize("mode", [lambda f: f, ms.jit])
def test_an_ensemble_three_ways(mode):
    nets = nn.CellList([nn.SequentialCell(nn.Dense(4, 3), nn.Tanh(), nn.Dense(3, 2))
                        for _ in range(3)])
    x = Tensor(RNG.standard_normal((5, 4)).astype(np.float32))
    apart = np.stack([net(x).asnumpy() for net in nets])
    stacked = nn.stack_parameters(list(nets))
    assert {name: value.shape for name, value in stacked.items()} == {
        "0.weight": (3, 3, 4), "0.bias": (3, 3), "2.weight": (3, 2, 3), "2.bias": (3, 2)}

    def one(values, x):
        return nn.functional_call(nets[0], values, x)

    together = mode(lambda s, x: ms.vmap(one, (0, None))(s, x))(stacked, x)
    np.testing.assert_allclose(together.asnumpy(), apart, rtol=1e-5, atol=1e-6)
    listed = mode(lambda x: ms.vmap(nets, None)(x))(x)
    np.testing.assert_allclose(listed.asnumpy(), apart, rtol=1e-5, atol=1e-6)

    # a descent step for all at once, against each alone
    def loss(values, x):
        return (one(values, x) ** 2).mean()

    found = mode(lambda s, x: ms.vmap(ms.grad(loss), (0, None))(s, x))(stacked, x)
    weights = nets.trainable_params()
    by_list = mode(lambda x: ms.grad(lambda x: sum(
        (out**2).mean() for out in ms.vmap(nets, None)(x)), None, weights)(x))(x)
    listed = iter(by_list)
    for i, net in enumerate(nets):
        alone = ms.grad(lambda x, net=net: (net(x) ** 2).mean(), None, net.trainable_params())(x)
        for parameter, gradient in zip(net.trainable_params(), alone, strict=True):
            name = next(n for n, p in net.parameters_and_names() if p is parameter)
            np.testing.assert_allclose(found[name].asnumpy()[i], gradient.asnumpy(), rtol=1e-4,
                                       atol=1e-6)
            np.testing.assert_allclose(next(listed).asnumpy(), gradient.asnumpy(), rtol=1e-4,
                                       atol=1e-6)


# older forms, and derivatives of a high order


@pytest.mark.parametrize("mode", [lambda f: f, ms.jit])
def test_older_forms_under_other_transformations(mode):
    def f(x):
        return ops.sin(x) * x

    x, v = Tensor([0.3, -0.7], ms.float64), Tensor([2.0, 5.0], ms.float64)
    slope = np.cos(x.asnumpy()) * x.asnumpy() + np.sin(x.asnumpy())
    curve = 2 * np.cos(x.asnumpy()) - np.sin(x.asnumpy()) * x.asnumpy()
    for cell in (nn.Jvp(f), nn.Vjp(f)):
        np.testing.assert_allclose(mode(lambda x, v, c=cell: c(x, v))(x, v)[1].asnumpy(),
                                   slope * v.asnumpy(), rtol=1e-12)
        got = mode(ms.grad(lambda x, v, c=cell: c(x, v)[1].sum()))(x, v)
        np.testing.assert_allclose(got.asnumpy(), curve * v.asnumpy(), rtol=1e-12)
        got = mode(lambda x, v, c=cell: ms.vmap(lambda x, v: c(x, v)[1])(x, v))(x, v)
        np.testing.assert_allclose(got.asnumpy(), slope * v.asnumpy(), rtol=1e-12)


@pytest.mark.parametrize("mode", [lambda f: f, ms.jit])
def test_derivatives_of_a_high_order(mode):
    x = Tensor([0.3, -0.7], ms.float64)
    for order, want in enumerate((np.cos, lambda t: -np.sin(t), lambda t: -np.cos(t)), 1):
        value, found = mode(lambda x, n=order: ops.derivative(ops.sin, x, n))(x)
        np.testing.assert_allclose(value.asnumpy(), np.sin(x.asnumpy()), rtol=1e-12)
        np.testing.assert_allclose(found.asnumpy(), want(x.asnumpy()), rtol=1e-10)
    path = np.zeros((3, 2))
    path[0] = 1.0
    _, series = mode(lambda x, p: ops.jet(ops.sin, x, p))(x, Tensor(path))
    np.testing.assert_allclose(series.asnumpy(), [
        np.cos(x.asnumpy()), -np.sin(x.asnumpy()), -np.cos(x.asnumpy())], rtol=1e-10)
    # through a rule, and differentiated further
    triple = ops.InsertGradientOf(lambda g: g * 3)
    _, second = mode(lambda x: ops.derivative(lambda x: triple(x * x), x, 2))(x)
    np.testing.assert_allclose(second.asnumpy(), [6.0, 6.0])
    third = mode(ms.grad(lambda x: ops.derivative(ops.sin, x, 2)[1].sum()))(x)
    np.testing.assert_allclose(third.asnumpy(), -np.cos(x.asnumpy()), rtol=1e-10)


@pytest.mark.parametrize("mode", [lambda f: f, ms.jit])
def test_a_gradient_to_start_from(mode):
    def f(x, y):
        return x * y, x + y

    x, y = Tensor([1.0, 2.0], ms.float64), Tensor([3.0, 4.0], ms.float64)
    sens = Tensor([10.0, 100.0], ms.float64), Tensor([1.0, 2.0], ms.float64)
    by_x, by_y = mode(ms.grad(f, (0, 1), sens_param=True))(x, y, sens)
    assert by_x.asnumpy().tolist() == [31.0, 402.0] and by_y.asnumpy().tolist() == [11.0, 202.0]
    older = ops.GradOperation(get_all=True, sens_param=True)(f)
    assert [g.asnumpy().tolist() for g in mode(older)(x, y, sens)] == [[31.0, 402.0], [11.0, 202.0]]
    # the gradient depends on it linearly
    by_sens = mode(lambda s: ms.grad(lambda s: ms.grad(f, sens_param=True)(x, y, (s, s)).sum())(s))
    assert by_sens(sens[0]).asnumpy().tolist() == [4.0, 5.0]
    curved = mode(lambda s: ms.jvp(lambda s: ms.grad(f, sens_param=True)(x, y, (s, s)), s, s)[1])
    assert curved(sens[0]).asnumpy().tolist() == [40.0, 500.0]


@pytest.mark.parametrize("compiled", [False, True])
def test_a_needed_value_that_a_block_overwrites_through_a_part_is_an_error(compiled):
    """As it is without recomputing; what no derivative needs may be overwritten."""
    def needed(x):
        a = x * 1
        b = a * a
        a.reshape(2, 1)[1:].mul_(2.0)
        return (b * a).sum()

    def free(x):
        a = x * 1
        a.reshape(2, 1)[1:].mul_(2.0)
        return (a * a).sum()

    x = Tensor([1.0, 2.0])
    for block in (needed, lambda x: ms.recompute(needed, x)):
        by_x = ms.grad(block)
        with pytest.raises(RuntimeError, match=r"modified by an inplace operation .*2"):
            (ms.jit(by_x) if compiled else by_x)(x)
    by_x = ms.grad(lambda x: ms.recompute(free, x))
    assert (ms.jit(by_x) if compiled else by_x)(x).tolist() == [2.0, 16.0]
