"""Parameters, attributes, statistics, random numbers and optimizers, compiled as eagerly."""


import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Parameter, Tensor, jit, nn, ops

from .agreement import W, X, agree, agree_with_state, close, plain


class Counting(nn.Cell):
    def __init__(self):
        super().__init__()
        self.count = Parameter(Tensor(0.0), requires_grad=False)
        self.whole = Parameter(Tensor([1, 2], ms.int32), requires_grad=False)
        self.w = Parameter(Tensor([1.0, 2.0, 3.0]))
        self.last = None

    def construct(self, x, flag=True):
        self.count += 1
        ops.assign_add(self.whole, Tensor([1, 1], ms.int32))
        self.w = self.w * 1.5
        if flag:
            self.last = x * self.w
        self.w.set_data(self.w + 1)
        return x * self.w + self.count


def test_parameters_and_attributes_assigned():
    def make():
        net = Counting()
        return net, lambda: [p.value() for p in net.get_parameters()] + [net.last]

    agree_with_state(make, [(X,), (X, True), (W, False), (X, False), (W,), (X,)])


@pytest.mark.filterwarnings("ignore:The gradient doesn't flow through the assignment:UserWarning")
def test_parameters_assigned_inside_a_gradient():
    def make():
        net = Counting()
        gradient = ms.value_and_grad(lambda x: (net(x) * net.w).sum(), 0, [net.w])
        return gradient, lambda: [p.value() for p in net.get_parameters()] + [net.last]

    agree_with_state(make, [(X,), (W,), (X,)])


@pytest.mark.parametrize("train", [True, False])
def test_statistics_that_a_kernel_of_pytorch_changes_before_a_branch(train):
    def make():
        mean, var = Parameter(ops.zeros(3), name="mean"), Parameter(ops.ones(3), name="var")

        def step(x):
            y = Tensor.from_torch(torch.nn.functional.batch_norm(
                ops.stack([x, x * x]).to_torch(), mean.to_torch(), var.to_torch(), training=train))
            return y * 2 if x.sum() > 0 else y

        return step, lambda: [mean.value(), var.value()]

    agree_with_state(make, [(X,), (-X,), (X,), (2 * X,), (-3 * X,)])


@pytest.mark.parametrize("train", [True, False])
def test_batch_norm_statistics(train):
    rng = np.random.default_rng(0)
    batches = [(Tensor(rng.standard_normal((4, 3, 2, 2)), ms.float32),) for _ in range(4)]

    def make():
        net = nn.BatchNorm2d(3, momentum=0.5).set_train(train)
        gradient = ms.value_and_grad(lambda x: (net(x) ** 2 * x).sum(), 0, net.trainable_params())
        return gradient, lambda: [p.value() for p in net.get_parameters()]

    agree_with_state(make, batches)


@pytest.mark.parametrize("draw", [
    lambda x: ops.dropout(x, 0.5, True), lambda x: nn.Dropout(p=0.3).set_train()(x),
    lambda x: x + ops.randn(x.shape), lambda x: x + ops.standard_normal(x.shape),
    lambda x: x + ops.uniform(x.shape, Tensor(0.0), Tensor(2.0)),
    lambda x: x * ops.bernoulli(x, 0.5), lambda x: ops.randint(0, 9, x.shape),
    lambda x: ms.grad(lambda y: (ops.dropout(y, 0.5, True) ** 2).sum())(x),
    lambda x: ops.dropout(x, 0.5, True, seed=3), lambda x: ops.rand(4) + x[0],
])
def test_random_numbers_by_seed(draw):
    x = ops.ones((20,), ms.float32)
    compiled = jit(draw, fullgraph=True)
    for seed in (1, 2, 1):
        found = []
        for function in (draw, compiled):
            ms.set_seed(seed)
            found.append([function(x), function(x), ops.randn(2)])
        close(found[1], found[0])


def test_an_operator_with_a_seed_goes_on_with_its_stream():
    def drawn(wrap):
        ms.set_seed(5)
        uniform = ops.UniformReal(seed=1)
        draw = wrap(lambda x: x + uniform((3,)) if ops.rand(1) > 0.5 else x * 2)
        return [plain([draw(X), uniform((2,))]) for _ in range(9)]

    assert drawn(jit) == drawn(lambda fn: fn)


def test_optimizers_schedules_and_rates_changed_by_hand():
    def make():
        net = nn.Dense(3, 2, weight_init="ones")
        update = nn.Momentum(net.trainable_params(), nn.CosineDecayLR(0.01, 0.1, 5), 0.9)
        gradient = ms.value_and_grad(lambda x: (net(x) ** 2).sum(), None, net.trainable_params())

        def step(x):
            loss, gradients = gradient(x)
            update(gradients)
            return loss

        return step, lambda: [p.value() for p in (*net.get_parameters(), *update.get_parameters())]

    agree_with_state(make, [(ops.ones((2, 3)) * i,) for i in range(1, 8)])


def test_rates_changed_from_outside():
    def make():
        w = Parameter(Tensor([1.0, 2.0]), name="w")
        update = nn.SGD([w], 0.1)
        return update, w

    eager, a = make()
    function, b = make()
    compiled = jit(function, fullgraph=True)
    for rate in (0.1, 0.1, 0.5, 0.25, 0.1):
        for optimizer, call in ((eager, eager), (function, compiled)):
            ops.assign(optimizer.learning_rate, Tensor(rate))
            call((Tensor([1.0, 1.0]),))
        close(b.value(), a.value())
    assert compiled.report()["traces"] == 1


def test_a_parameter_shared_and_given_as_an_argument():
    class Tied(nn.Cell):
        def __init__(self):
            super().__init__()
            self.a = nn.Dense(3, 3, weight_init="ones", has_bias=False)
            self.b = nn.Dense(3, 3, weight_init="zeros", has_bias=False)
            self.b.weight = self.a.weight

        def construct(self, x):
            return self.b(self.a(x))

    net = Tied()
    agree(ms.grad(net, 0, net.trainable_params()), (X.reshape(1, 3),))
    p, q = Parameter(Tensor([1.0, 2.0]), name="p"), Parameter(Tensor([3.0, 4.0]), name="q")

    def bump(w, x):
        ops.assign_add(w, x)
        return w * 2

    compiled = jit(bump, fullgraph=True)
    for w, want in ((p, [4.0, 6.0]), (q, [8.0, 10.0]), (p, [6.0, 8.0]), (q, [10.0, 12.0])):
        assert compiled(w, Tensor([1.0, 1.0])).asnumpy().tolist() == want
    agree(ms.grad(lambda w: w * w), (p,), (q,))


def test_changes_in_place():
    def bumped(x):
        y = x * 1
        y += 1
        y[0] = 7.0
        y.add_(2)
        return y

    agree(bumped, (X,), (W,))

    def written(x):
        x[1] = 9.0
        x.mul_(2)
        return x.sum()

    compiled = jit(written, fullgraph=True)
    for _ in range(3):
        a, b = X.copy(), X.copy()
        close(compiled(a), written(b))
        close(a, b)


def test_outputs_that_are_inputs_or_parameters():
    w = Parameter(Tensor([1.0, 2.0, 3.0]), name="w")
    compiled = agree(lambda x: (x, x * 1, x.reshape(3, 1), w.value()), (X,), (W,))
    out = jit(lambda x: x)(X)
    close(out, X)
    result = compiled(X)
    w.set_data(Tensor([7.0, 7.0, 7.0]))
    before = result[1].asnumpy().copy()
    compiled(W)
    assert (result[1].asnumpy() == before).all()
    assert jit(lambda: w)() is w
