"""The names around `jit`: arguments, errors and printed forms as in MindSpore 2.10."""

import numpy as np
import pytest

import lamella as ms
from lamella import JitConfig, Parameter, Tensor, jit, nn, ops
from lamella.common import api

X = Tensor([1.0, 2.0])


def double(x):
    return x * 2


@pytest.mark.parametrize("make", [
    lambda: jit(double), lambda: jit()(double), lambda: jit(function=double),
    lambda: jit(fn=double), lambda: jit(double, capture_mode="trace", jit_level="O1"),
    lambda: jit(capture_mode="bytecode", fullgraph=True)(double),
    lambda: jit(double, dynamic=1, backend="ms_backend"),
    lambda: jit(double, backend="GE", exec_order="bfs", disable_format_transform=True),
    lambda: jit(mode="PIJit", hash_args=3, compile_once=True)(double),
    lambda: jit(double, jit_config=JitConfig(jit_level="O1")),
    lambda: jit(double, input_signature=Tensor(shape=[None], dtype=ms.float32)),
    lambda: jit(double, infer_boost="on", something_new=1), lambda: jit(jit(double)),
])
def test_ways_to_compile(make):
    compiled = make()
    for _ in range(2):
        assert compiled(X).asnumpy().tolist() == [2.0, 4.0]
    assert compiled.report()["replays"] == 1 and compiled.__name__ == "double"


def test_what_the_arguments_mean():
    for level in ("O0", "O1"):
        assert jit(double, jit_level=level).level == level
    assert jit(double, jit_level="O2").level == "O1"
    assert jit(double, jit_config=JitConfig("O1", jit_syntax_level="STRICT")).fullgraph
    assert jit(double).dynamic is None and jit(double, dynamic=1).dynamic == []
    forms = (Tensor(shape=[None, 3], dtype=ms.float32), [Tensor(shape=[2], dtype=ms.float32)])
    assert jit(double, input_signature=forms).dynamic == [(None, 3), [(2,)]]


@pytest.mark.parametrize("call, error, message", [
    (lambda: jit(3), TypeError, "'function' must be a function or a Cell, but got int"),
    (lambda: jit(capture_mode="z"), ValueError, "'capture_mode' must be one of .*'z'"),
    (lambda: jit(jit_level="O3"), ValueError, "'jit_level' must be one of"),
    (lambda: jit(jit_level=3), ValueError, "'jit_level' must be one of"),
    (lambda: jit(dynamic=2), ValueError, "'dynamic' must be 0 or 1"),
    (lambda: jit(dynamic="x"), TypeError, "'dynamic' must be an int"),
    (lambda: jit(fullgraph=1), TypeError, "'fullgraph' must be a bool"),
    (lambda: jit(backend="tpu"), ValueError, "'backend' must be one of"),
    (lambda: jit(exec_order="z"), ValueError, "'exec_order' must be one of 'bfs', 'dfs'"),
    (lambda: jit(infer_boost="z"), ValueError, "'infer_boost'"),
    (lambda: jit(disable_format_transform=3), TypeError, "'disable_format_transform'"),
    (lambda: jit(double, jit_config=3), TypeError, "'jit_config' must be a JitConfig"),
    (lambda: JitConfig(jit_level="O3"), ValueError, "'jit_level'"),
    (lambda: JitConfig(exc_mode="z"), ValueError, "'exc_mode'"),
    (lambda: JitConfig(jit_syntax_level="z"), ValueError, "'jit_syntax_level'"),
    (lambda: JitConfig(debug_level="z"), ValueError, "'debug_level'"),
    (lambda: JitConfig(infer_boost="z"), ValueError, "'infer_boost'"),
    (lambda: nn.ReLU().set_jit_config(3), TypeError, "'jit_config' must be a JitConfig"),
    (lambda: ms.jit_class(nn.ReLU), TypeError, "must be no Cell"),
    (lambda: ms.jit_class(len), TypeError, "a class must be given"),
    (lambda: ms.mutable("a"), TypeError, "'input_data' must be"),
    (lambda: ms.mutable(None), TypeError, "'input_data' must be"),
    (lambda: ms.mutable(3, True), TypeError, "a tuple or a list"),
    (lambda: ms.mutable((1,), 3), TypeError, "'dynamic_len' must be a bool"),
    (lambda: ms.enable_dynamic(), ValueError, "at least one argument"),
    (lambda: ms.enable_dynamic(x=X), TypeError, "'x' must be a Tensor with None"),
    (lambda: ms.enable_dynamic(z=Tensor(shape=[None], dtype=ms.float32))(jit(double)),
     ValueError, "no argument 'z'"),
    (lambda: ms.lazy_inline(nn.ReLU), ValueError, "__init__ of a Cell"),
    (lambda: ms.lazy_inline(double), ValueError, "__init__ of a Cell"),
    (lambda: ms.lazy_inline(lambda x: x), ValueError, "__init__ of a Cell"),
    (lambda: ms.lazy_inline(nn.ReLU.__init__, policy="back"), ValueError, "None or 'front'.*back"),
    (lambda: ms.lazy_inline(nn.ReLU.__init__, 3), ValueError, "'attrs' must be a name.*3"),
    (lambda: ms.lazy_inline(nn.ReLU.__init__, ["a", 3]), ValueError, "'attrs' must be a name"),
    (lambda: ms.enable_dynamic(x=3), TypeError, "'x' must be a Tensor with None"),
    (lambda: ms.enable_dynamic(x=(X, X)), TypeError, "'x' must be a Tensor with None"),
    (lambda: ms.enable_dynamic(x=Tensor(shape=[None], dtype=ms.float32))(3),
     ValueError, "a function decorated with jit"),
    (lambda: ms.mutable((1, [None])), TypeError, "'input_data' must be"),
    (lambda: ms.mutable({"a": (1, "b")}), TypeError, "'input_data' must be"),
    (lambda: ms.mutable({"a": 1}, True), TypeError, "a tuple or a list"),
    (lambda: jit(dynamic=-1), ValueError, "'dynamic' must be 0 or 1"),
    (lambda: jit(ge_options=3), TypeError, "'ge_options' must be a dict"),
    (lambda: jit(auto_offload="z"), ValueError, "'auto_offload'"),
    (lambda: ms.set_context(jit_level="O9"), ValueError, "'jit_level'"),
    (lambda: ms.set_context(jit_config={"jit_level": "O9"}), ValueError, "'jit_level'"),
    (lambda: ms.set_context(jit_config=3), TypeError, "'jit_config' must be a dict"),
    (lambda: ms.set_context(jit_syntax_level=7), ValueError, "STRICT or LAX"),
    (lambda: ms.set_context(save_graphs=5), ValueError, "'save_graphs' must be 0 to 3"),
    (lambda: nn.ReLU().set_inputs(X, input=X), ValueError, "by position or by name"),
    (lambda: nn.ReLU().set_inputs(other=X), ValueError, "no argument 'other'"),
    (lambda: nn.ReLU().register_parameter_forward_hook(3), TypeError, "a function or a list"),
    (lambda: nn.ReLU().register_parameter_forward_hook([{"params": []}]), ValueError,
     "'params' and 'hook'"),
    (lambda: nn.ReLU().register_parameter_forward_hook([{"params": [3], "hook": double}]),
     TypeError, "must hold Parameters"),
    (lambda: nn.ReLU().register_parameter_forward_hook([{"params": [], "hook": 3}]),
     TypeError, "'hook' must be a function"),
])
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_jit_config():
    assert JitConfig().jit_config_dict == {
        "jit_level": "", "exc_mode": "auto", "jit_syntax_level": "", "debug_level": "RELEASE",
        "infer_boost": "off"}
    assert JitConfig("O1", foo=3).jit_config_dict["foo"] == 3
    assert JitConfig("O1").jit_config_dict["backend"] == "ms_backend"
    assert JitConfig("O2").jit_config_dict["backend"] == "GE"
    net = nn.ReLU()
    assert net.jit_config_dict == {}
    net.set_jit_config(JitConfig("O1"))
    net.set_jit_config(JitConfig("O0"))  # counts once
    assert net.jit_config_dict["jit_level"] == "O1"


def test_cell_classes():
    @jit
    class Net(nn.Cell):
        def construct(self, x):
            return x + 1

    net = Net()
    for _ in range(2):
        assert net(X).asnumpy().tolist() == [2.0, 3.0]
    assert net.construct.report()["replays"] == 1


def test_mutable_gives_back_what_it_got():
    shared = [1]
    for value in (3, 1.0, True, (1, X), [1], {"a": (X,)}, X, [shared, (shared, shared)], (), {}):
        assert ms.mutable(value) is value
    assert ms.mutable((X, X * 2), dynamic_len=True)[1] is not X
    looped = []
    looped.append(looped)
    with pytest.raises(TypeError, match="does not hold itself"):
        ms.mutable(looped)
    pair = ms.mutable((Tensor(2.0), Tensor(3.0)))
    gradient = jit(ms.grad(lambda z: z[0] * z[1]))
    assert [float(g) for g in gradient(pair)] == [3.0, 2.0]


def test_enable_dynamic():
    @ms.enable_dynamic(y=Tensor(shape=[None], dtype=ms.float32))
    @jit
    def f(x, y):
        return x * y.sum()

    @jit
    @ms.enable_dynamic(x=(Tensor(shape=[None], dtype=ms.float32), X))
    def g(x):
        return x[0].sum() + x[1]

    assert f.dynamic == [None, (None,)] and g.dynamic == [[(None,), (2,)]]
    for n in (1, 2, 3, 4):
        assert f(X, ops.ones(n)).asnumpy().tolist() == [n, 2.0 * n]
        assert g((ops.ones(n), X)).asnumpy().tolist() == [n + 1.0, n + 2.0]


def test_lazy_inline():
    class Block(nn.Cell):
        @ms.lazy_inline
        def __init__(self, size, kind="a"):
            super().__init__()
            self.size = size

    class Named(nn.Cell):
        @ms.lazy_inline(attrs=["size", "missing"], policy="front")
        def __init__(self, size):
            super().__init__()
            self.size = size

    class One(nn.Cell):
        @ms.lazy_inline(attrs="size")
        def __init__(self, size, other):
            """Makes it."""
            super().__init__()
            self.size = size

    assert One(5, 6).cell_init_args == "lazy_inline_One[5]" and not hasattr(One(5, 6), "no_inline")
    assert One.__init__.__doc__ == "Makes it." and ms.no_inline()(double) is double
    assert Block(3, kind="b").cell_init_args == "lazy_inline_Block[3, 'b']"
    assert Named(4).cell_init_args == "lazy_inline_Named[4]" and Named(4).no_inline is False
    assert ms.no_inline(double) is double and double.no_inline is True
    del double.no_inline


def test_compile_changes_nothing():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.count = Parameter(Tensor(0.0), requires_grad=False)
            self.norm = nn.BatchNorm1d(2)
            self.last = None

        def construct(self, x):
            self.count += 1
            self.last = x
            x.add_(1)
            return ops.dropout(self.norm(x), 0.5, True) * self.count

    net = Net().set_train()
    x = Tensor([[1.0, 2.0], [3.0, 5.0]])
    mean = net.norm.moving_mean.asnumpy().copy()
    ms.set_seed(1)
    drawn = ops.rand(1)
    ms.set_seed(1)
    assert net.compile(x) is None
    assert (ops.rand(1) == drawn).all()
    assert float(net.count) == 0 and net.last is None and x.asnumpy()[0, 0] == 1.0
    assert (net.norm.moving_mean.asnumpy() == mean).all()
    net.compile_and_run(x)
    found = net._compiled_whole.report()
    assert found["traces"] == 1 and found["replays"] == 1
    assert float(net.count) == 1 and x.asnumpy()[0, 0] == 2.0
    net.compile(Tensor(shape=[None, 2], dtype=ms.float32))
    assert net.get_inputs()[0].shape == (-1, 2)


def test_declared_inputs():
    net = nn.ReLU()
    assert net.get_inputs() is None and net.declared_inputs() is None
    net.set_inputs(Tensor(shape=[None, 2], dtype=ms.float32))
    assert net.declared_inputs() == [(None, 2)]
    net.set_inputs(input=Tensor(shape=[3, None], dtype=ms.float32))
    assert net.declared_inputs() == [(3, None)] and list(net.get_inputs()) == ["input"]


def test_parameter_hooks_act_in_compiled_calls():
    class Scale(nn.Cell):
        def __init__(self):
            super().__init__()
            self.weight = Parameter(Tensor(2.0))

        def construct(self, x):
            return x * self.weight

    net = Scale()
    net.register_parameter_forward_hook([{"params": [net.weight], "hook": lambda p: p * 10}])
    x = Tensor(3.0)
    compiled = jit(ms.value_and_grad(net, 0, [net.weight]))
    for _ in range(2):
        out, (dx, dw) = compiled(x)
        assert (float(out), float(dx), float(dw[0])) == (60.0, 20.0, 30.0)
    assert float(net(x)) == 6.0  # MindSpore 2.10 leaves eager calls alone, too
    outer = nn.SequentialCell(Scale())
    outer.register_parameter_forward_hook(lambda p: p * 5)
    around = jit(outer)
    assert float(around(x)) == 30.0
    outer[0].register_parameter_forward_hook(lambda p: p + 1)
    assert float(around(x)) == 33.0
    assert float(outer[0].weight) == 2.0


def test_constants():
    @ops.constexpr(check=False)
    def sizes(shape):
        return tuple(n * 2 for n in shape)

    @ops._primexpr
    def first(shape):
        return shape[0]

    @jit
    def f(x):
        return ops.ones(sizes(x.shape)) * first(x.shape)

    assert f(X).asnumpy().tolist() == [2.0] * 4


def test_jit_class():
    @ms.jit_class
    class Net:
        def __init__(self):
            self.value = 10

        def func(self, x):
            return 2 * x

    class User(nn.Cell):
        def __init__(self):
            super().__init__()
            self.net = Net()

        def construct(self, x):
            return self.net.value + self.net.func(x)

    user = User()
    compiled = jit(user)
    assert compiled(5) == 20 and compiled(Tensor(5)).asnumpy() == 20
    user.net.value = 11
    assert compiled(5) == 21


def test_common_api():
    net = nn.ReLU()
    name, fresh = api._cell_graph_executor.compile(net, X, phase="train")
    assert fresh and name.startswith("train.ReLU")
    assert not api._cell_graph_executor.compile(net, X)[1]
    assert api._cell_graph_executor(net, X).asnumpy().tolist() == [1.0, 2.0]
    api._pynative_executor.sync()
    api.cells_compile_cache.clear()
    ms.ms_memory_recycle()


def test_options_of_the_context():
    assert ms.get_context("jit_level") == "" and ms.get_context("jit_config") == {}
    assert ms.get_context("jit_syntax_level") == ms.LAX and ms.get_context("save_graphs") == 0
    ms.set_context(save_graphs=True, save_graphs_path="./graphs", jit_level="O1")
    assert ms.get_context("save_graphs") == 1 and ms.get_context("jit_level") == "O1"
    ms.set_context(save_graphs=0, jit_level="")


def test_numbers_recorded_from_examples_of_graph_mode():
    z = (Tensor([[0.5, 0.6, 0.4], [1.2, 1.3, 1.1]]),
         Tensor([[0.01, 0.3, 1.1], [0.1, 0.2, 1.3], [2.1, 1.2, 3.3]]))
    gradient = jit(ops.GradOperation()(lambda z: ops.matmul(*z)))
    for _ in range(2):
        a, b = gradient(z)
    np.testing.assert_allclose(a.asnumpy(), [[1.41, 1.6, 6.6]] * 2, rtol=1e-6)
    np.testing.assert_allclose(b.asnumpy(), [[1.7] * 3, [1.9] * 3, [1.5] * 3], rtol=1e-6)
