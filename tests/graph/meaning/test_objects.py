"""Callables of every kind, compiled; copies, pickles and lifetimes of what is compiled."""

import copy
import gc
import pickle
import weakref

import lamella as ms
from lamella import Parameter, Tensor, jit, nn, ops

from .agreement import X, agree, close


def test_jit_of_everything_callable():
    class Thing:
        scale = 3.0

        def __init__(self, factor):
            self.factor = factor

        def plain(self, x):
            return x * self.factor

        @jit
        def method(self, x):
            return x * self.factor

        @staticmethod
        @jit
        def static(x):
            return x * 2

        @jit
        @staticmethod
        def static_too(x):
            return x * 2

        @classmethod
        @jit
        def of_class(cls, x):
            return x * cls.scale

        @jit
        @classmethod
        def of_class_too(cls, x):
            return x * cls.scale

        def __call__(self, x):
            return x - self.factor

    thing = Thing(5.0)
    for call, want in ((thing.method, 5.0), (thing.static, 2.0), (Thing.static, 2.0),
                       (thing.static_too, 2.0), (thing.of_class, 3.0), (Thing.of_class, 3.0),
                       (Thing.of_class_too, 3.0), (jit(thing.plain), 5.0)):
        for _ in range(2):
            close(call(X), X * want)
    close(jit(thing)(X), X - 5.0)
    close(jit(jit(lambda x: x + 1))(X), X + 1)
    close(jit(ops.relu)(X), ops.relu(X))
    close(jit(ops.ReLU())(X), ops.relu(X))
    twin = copy.copy(thing)
    twin.factor = 7.0
    close(twin.method(X), X * 7.0)
    close(thing.method(X), X * 5.0)


def test_jit_inside_jit_and_inside_gradients():
    inner = jit(lambda x: x * x if x.sum() > 0 else x)
    outer = jit(lambda x: ms.grad(inner)(x) + 1)
    for _ in range(2):
        close(outer(X), X * 2 + 1)
    assert inner.report()["traces"] == 0
    agree(ms.grad(lambda x: inner(x).sum()), (X,), (-X,))
    assert inner.report()["traces"] == 2


class Compiled(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([1.0, 2.0, 3.0]))

    @jit
    def construct(self, x):
        return x * self.w


def test_copies_and_pickles_of_compiled_cells():
    net = Compiled()
    close(net(X), X * net.w)
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        twin.w.set_data(Tensor([5.0, 5.0, 5.0]))
        for _ in range(2):
            close(twin(X), X * 5)
            close(net(X), X * net.w)


class Held(nn.Cell):
    """Keeps compiled functions of its own."""

    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([1.0, 1.0, 1.0]), name="w")
        self.scaled, self.relu = jit(self.body), jit(ops.relu)

    def body(self, x):
        return x * self.w

    def construct(self, x):
        return self.scaled(x) + self.relu(x)


@jit
def doubled(x):
    return x * 2


def test_copies_and_pickles_of_compiled_functions():
    net = Held()
    wanted = net(X)
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        ops.assign(net.w, net.w * 0)
        close(twin(X), wanted)
        ops.assign(net.w, net.w + 1)
        close(net(X), wanted)
    assert copy.deepcopy(doubled) is doubled is pickle.loads(pickle.dumps(doubled))
    relu = jit(nn.ReLU())
    for twin in (copy.copy(relu), copy.deepcopy(relu), pickle.loads(pickle.dumps(relu))):
        assert type(twin) is type(relu)
        close(twin(X), ops.relu(X))


def test_compiled_cells_are_freed():
    net = Compiled()
    around = jit(net)
    gradient = jit(ms.grad(net, None, net.trainable_params()))
    for call in (net, around, gradient):
        call(X), call(X)
    alive = weakref.ref(net), weakref.ref(net.w)
    del net, around, gradient, call
    gc.collect()
    assert alive[0]() is None and alive[1]() is None


def test_cells_as_arguments():
    def apply(net, x):
        return net(x) + net.bias

    class Net(nn.Cell):
        def __init__(self, bias):
            super().__init__()
            self.bias = bias
            self.w = Parameter(Tensor([1.0, 2.0, 3.0]))

        def construct(self, x):
            return x * self.w

    compiled = jit(apply)
    a, b = Net(1.0), Net(2.0)
    for _ in range(6):
        close(compiled(a, X), apply(a, X))
        close(compiled(b, X), apply(b, X))
    assert compiled.report()["traces"] == 2
    a.bias = 9.0
    close(compiled(a, X), apply(a, X))
