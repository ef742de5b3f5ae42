"""Cell: what it owns, how that is named, and what a call does."""

import copy
import pickle

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, nn, ops


class Layer(nn.Cell):
    def __init__(self, value=1.0):
        super().__init__()
        self.w = Parameter(Tensor([value, 2.0]))
        self.b = Parameter(Tensor([0.0, 0.0]), requires_grad=False)

    def construct(self, x):
        return x * self.w + self.b


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = Layer()
        self.scale = Parameter(Tensor(3.0), name="factor")
        self.second = Layer(5.0)
        self.register_buffer("count", Tensor([7.0]))
        self.register_buffer("cache", Tensor([8.0]), persistent=False)

    def construct(self, x):
        return self.second(self.first(x)) * self.scale


X = Tensor([1.0, 2.0])


def names(net):
    return [p.name for p in net.get_parameters()]


def test_parameters_are_named_after_their_path():
    net = Net()
    assert names(net) == ["factor", "first.w", "first.b", "second.w", "second.b"]
    assert [n for n, _ in net.parameters_and_names()] == [
        "scale", "first.w", "first.b", "second.w", "second.b"]
    assert [p.name for p in net.trainable_params()] == ["factor", "first.w", "second.w"]
    assert [p.name for p in net.untrainable_params()] == ["first.b", "second.b"]
    assert list(net.parameters_dict()) == names(net)
    assert [p.name for p in net.get_parameters(expand=False)] == ["factor"]
    assert net.second.param_prefix == "second"


def test_without_auto_prefix():
    class Plain(nn.Cell):
        def __init__(self):
            super().__init__(auto_prefix=False)
            self.layer = Layer()

    assert names(Plain()) == ["w", "b"]


def test_cells():
    net = Net()
    assert [n for n, _ in net.cells_and_names()] == ["", "first", "second"]
    assert list(net.cells()) == [net.first, net.second]
    assert list(net.name_cells()) == ["first", "second"]
    assert net.get_sub_cell("second") is net.second and net.get_sub_cell("") is net
    with pytest.raises(AttributeError, match="no Cell at 'first.x'.*Layer has no Cell 'x'"):
        net.get_sub_cell("first.x")
    seen = []
    assert net.apply(lambda c: seen.append(c.cls_name)) is net
    assert seen == ["Layer", "Layer", "Net"]


def test_a_shared_cell_counts_once():
    net = nn.Cell()
    net.a = Layer()
    net.b = net.a
    assert [n for n, _ in net.cells_and_names()] == ["", "a"]
    assert names(net) == ["b.w", "b.b"]  # MindSpore 2.10: the last attribute names it


def test_a_parameter_in_a_cell_below_is_named_after_its_path():
    net = nn.Cell()
    net.below = Net()
    assert names(net)[:2] == ["below.scale", "below.first.w"]
    net.update_parameters_name("all.")
    assert names(net)[:2] == ["all.below.scale", "all.below.first.w"]


def test_buffers():
    net = Net()
    assert [n for n, _ in net.named_buffers()] == ["count", "cache"]
    assert [float(b[0]) for b in net.buffers()] == [7.0, 8.0]
    assert net.get_buffer("count") is net.count
    net.count = Tensor([9.0])
    assert float(net.get_buffer("count")[0]) == 9.0
    with pytest.raises(TypeError, match="'count' is a buffer.*but got int"):
        net.count = 3
    with pytest.raises(AttributeError, match="Net has no attribute 'zz' that is a buffer"):
        net.get_buffer("zz")


def test_parameters_and_buffers_are_converted_but_what_is_none_or_whole():
    net = Net()
    net.register_buffer("nothing", None)
    net.register_buffer("whole", Tensor([3], ms.int32))
    net.insert_param_to_cell("absent", None)
    assert net.to(ms.float16) is net and net.nothing is None and net.absent is None
    assert {p.dtype for p in net.get_parameters()} == {ms.float16}
    assert (net.count.dtype, net.whole.dtype) == (ms.float16, ms.int32)
    assert net.count.tolist() == [7.0] and net.whole.tolist() == [3]


def test_assigning_to_what_is_there():
    net = Net()
    weight = net.first.w
    net.first.w = Tensor([4.0, 4.0])
    assert net.first.w is weight and weight.asnumpy().tolist() == [4.0, 4.0]
    net.first.w = Parameter(Tensor([1.0]), name="other")
    assert net.first.w.name == "other"
    net.first.b = None
    assert net.first.b is None and names(net.first) == ["other"]
    net.second = None
    assert names(net) == ["factor", "other"]
    del net.first
    assert not hasattr(net, "first")


@pytest.mark.parametrize("act, error, message", [
    (lambda n: setattr(n.first, "w", 3), TypeError, "'w' is a Parameter of Layer.*but got int"),
    (lambda n: setattr(n, "first", 3), TypeError, "'first' is a Cell of Net.*but got int"),
    (lambda n: n.zz, AttributeError, "'Net' object has no attribute 'zz'"),
    (lambda n: n.insert_child_to_cell("a.b", Layer()), KeyError, "without '.'"),
    (lambda n: n.insert_child_to_cell(5, Layer()), KeyError, "must be a str.*5"),
    (lambda n: n.insert_child_to_cell("scale", Layer()), KeyError, "has an attribute 'scale'"),
    (lambda n: n.insert_child_to_cell("x", 5), TypeError, "must be a Cell or None, but got int"),
    (lambda n: n.insert_param_to_cell("a.b", Parameter(1.0)), KeyError, "without '.'"),
    (lambda n: n.insert_param_to_cell("first", Parameter(1.0)), KeyError, "attribute 'first'"),
    (lambda n: n.insert_param_to_cell("x", X), TypeError, "a Parameter or None, but got Tensor"),
    (lambda n: n.register_buffer("first", X), KeyError, "has an attribute 'first' already"),
    (lambda n: n.register_buffer("x", 5), TypeError, "a Tensor or None, but got int"),
    (lambda n: n.to_float(ms.int32), ValueError, "float16, float32 or bfloat16, but got"),
    (lambda n: n.update_parameters_name(5), TypeError, "'prefix' must be a str, but got 5"),
    (lambda n: nn.Cell()(X), AttributeError, "the method 'construct' is not defined"),
    (lambda n: n.register_forward_hook(5), TypeError, "'hook_fn' must be a function"),
    (lambda n: n.load_state_dict(5), TypeError, "must be a mapping, but got int"),
    (lambda n: n.to("cpu"), TypeError, "a floating data type is expected"),
])
def test_errors_say_what_was_wrong(act, error, message):
    with pytest.raises(error, match=message):
        act(Net())


@pytest.mark.parametrize("value", [Parameter(Tensor(1.0)), Layer()])
def test_a_missing_super_init_is_named(value):
    class Forgot(nn.Cell):
        def __init__(self):
            self.x = value

    with pytest.raises(AttributeError, match=r"Call super\(\).__init__\(\) in Forgot.__init__"):
        Forgot()


def test_parameters_of_one_name_are_found():
    net = nn.Cell()
    net.a = Parameter(Tensor(1.0), name="p")
    net.b = Parameter(Tensor(1.0), name="p")
    with pytest.raises(ValueError, match="'a' and 'b' are both named 'p'"):
        net.check_names()
    net.check_names_and_refresh_name()
    assert names(net) == ["a", "b"]


def test_parameter_tuples_belong_to_the_cell():
    class Holder(nn.Cell):
        def __init__(self):
            super().__init__()
            self.group = ms.ParameterTuple([Parameter(Tensor(1.0), name="p1"),
                                            Parameter(Tensor(2.0), name="p2")])
            self.unnamed = [Parameter(Tensor(3.0)), Parameter(Tensor(4.0))]

    assert names(Holder()) == ["p1", "p2"]  # lists hold Parameters of the program's own
    assert isinstance(Holder().group, ms.ParameterTuple)


def test_parameter_tuples_number_parameters_without_a_name():
    class Holder(nn.Cell):
        def __init__(self):
            super().__init__()
            self.first = ms.ParameterTuple([Parameter(Tensor(1.0)), Parameter(Tensor(2.0), "b")])
            self.second = ms.ParameterTuple([Parameter(Tensor(3.0))])
            self.listed = [Parameter(Tensor(4.0))]

    cell = nn.SequentialCell(Holder())
    assert names(cell) == ["0.Parameter$1", "0.b", "0.Parameter$2"]
    assert cell[0].listed[0].name.startswith("Parameter#")
    weights = cell.trainable_params()
    total = ms.grad(lambda: cell[0].second[0] * 2 + cell[0].listed[0], None, weights)()
    assert [float(g) for g in total] == [0, 0, 2]


def test_training_mode_and_flags():
    net = Net()
    assert net.training is False
    assert net.set_train() is net and net.first.training
    net.set_train(False)
    assert not net.second.training
    net.add_flags_recursive(fast=True)
    assert net.first.fast and net.get_flags() == {"fast": True}
    assert nn.Cell(flags={"deep": 1}).deep == 1


def test_to_float_casts_inputs_and_weights_but_keeps_them():
    net = Net()
    assert net.to_float(ms.float16) is net
    out = net(X)
    assert out.dtype is ms.float16 and net.scale.dtype is ms.float32
    net.second.to_float(ms.float32)
    seen = []
    net.second.register_forward_hook(lambda c, a, out: seen.append((a[0].dtype, out.dtype)))
    net(X)
    assert seen == [(ms.float16, ms.float32)]
    gradients = ms.grad(net, None, net.trainable_params())(X)
    assert [g.dtype for g in gradients] == [ms.float32] * 3
    np.testing.assert_allclose(gradients[0].asnumpy(), 5.0 + 8.0)


def test_state_dict():
    net, other = Net(), Net()
    state = net.state_dict()
    assert list(state) == ["scale", "count", "first.w", "first.b", "second.w", "second.b"]
    for value in state.values():
        if isinstance(value, Parameter):
            value.set_data(value * 0 + 9.0)
    net.count = Tensor([1.0])
    assert other.load_state_dict(net.state_dict()) == ([], [])
    assert other.second.w.asnumpy().tolist() == [9.0, 9.0] and float(other.count[0]) == 1.0
    state = dict(net.state_dict())
    state["extra"] = X
    del state["scale"]
    with pytest.raises(RuntimeError, match="missing: scale; not in the network: extra"):
        other.load_state_dict(state)
    assert other.load_state_dict(state, strict=False) == (["scale"], ["extra"])
    state["first.w"] = Tensor([1.0])
    before = other.second.w.asnumpy().copy()
    state["second.w"] = X
    with pytest.raises(RuntimeError, match=r"'first.w' has shape \(2,\), but got \(1,\)"):
        other.load_state_dict(state, strict=False)
    assert other.second.w.asnumpy().tolist() == before.tolist()


def test_state_hooks_and_extra_state():
    class Extra(Layer):
        seen = None

        def get_extra_state(self):
            return {"epoch": 3}

        def set_extra_state(self, state):
            self.seen = state

    net, calls = Extra(), []
    net.register_state_dict_pre_hook(lambda cell, prefix, keep: calls.append("pre"))
    handle = net.register_state_dict_post_hook(lambda cell, d, prefix, meta: d.update(more=X))
    state = net.state_dict()
    assert calls == ["pre"] and state["_extra_state"] == {"epoch": 3} and "more" in state
    handle.remove()
    net.register_load_state_dict_post_hook(lambda cell, keys: calls.append(keys))
    net.load_state_dict(net.state_dict())
    assert net.seen == {"epoch": 3} and calls[-1] == ([], [])
    with pytest.raises(RuntimeError, match="Layer defines no 'get_extra_state'"):
        Layer().get_extra_state()


def test_copies_are_independent():
    net = Net()
    for twin in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert names(twin) == names(net)
        assert twin(X).asnumpy().tolist() == net(X).asnumpy().tolist()
        twin.first.w.set_data(Tensor([0.0, 0.0]))
        assert net.first.w.asnumpy().tolist() == [1.0, 2.0]


def test_recompute_gives_the_same_gradients():
    calls = []

    class Counted(Layer):
        def construct(self, x):
            calls.append(1)
            return super().construct(x) ** 2

    net = Counted()
    want = ms.grad(net, 0, net.trainable_params())(X)
    net.recompute()
    calls.clear()
    got = ms.grad(net, 0, net.trainable_params())(X)
    assert len(calls) == 2
    assert got[0].asnumpy().tolist() == want[0].asnumpy().tolist()
    assert got[1][0].asnumpy().tolist() == want[1][0].asnumpy().tolist()


def test_conversion():
    net = Net()
    assert net.to(ms.float16) is net
    assert net.first.w.dtype is ms.float16 and net.count.dtype is ms.float16
    net.to_empty()
    assert net.first.w.shape == (2,)
    assert [i.dtype for i in net.cast_inputs((X, Tensor([1])), ms.float16)] == [ms.float16] * 2


def test_printed_form():
    class Named(Layer):
        def extend_repr(self):
            return "size=2"

    net = nn.Cell()
    net.a = Named()
    net.b = nn.CellList([Named()])
    assert repr(net) == ("Cell(\n  (a): Named(size=2)\n  (b): CellList(\n    (0): Named(size=2)\n"
                         "  )\n)")
    assert repr(Named()) == "Named(size=2)"


def test_inputs_that_were_announced():
    net = Net()
    assert net.get_inputs() is None
    net.set_inputs(X)
    assert net.get_inputs() == (X,)


def test_initial_data_can_be_delayed():
    net = Net()
    assert net.init_parameters_data()[net.scale] is net.scale


class TestOperatorsOfLayers:
    """Programs that derive from a layer call the operators that MindSpore's keeps."""

    def test_they_compute_what_the_layer_does(self):
        class Conv(nn.Conv2d):
            def construct(self, x):
                return self.bias_add(self.conv2d(x, self.weight), self.bias)

        class Dense(nn.Dense):
            def construct(self, x):
                flat = self.reshape(x, (-1, self.shape_op(x)[-1]))
                return self.bias_add(self.matmul(flat, self.weight), self.bias)

        class Norm(nn.LayerNorm):
            def construct(self, x):
                return self.layer_norm(x, self.gamma, self.beta)[0]

        class Group(nn.GroupNorm):
            def construct(self, x):
                return self._cal_output(x)

        image = ops.sin(ops.arange(2 * 4 * 5 * 6).reshape(2, 4, 5, 6).astype(ms.float32))
        for cell, x in ((Conv(4, 6, (3, 2), 2, "pad", 1, (1, 2), 2, has_bias=True), image),
                        (Dense(6, 3), image[0, 0]), (Norm((5, 6), 2, 2), image),
                        (Group(2, 4), image)):
            expected = type(cell).__base__.construct(cell, x)
            np.testing.assert_allclose(cell(x).numpy(), expected.numpy(), atol=1e-6)

    def test_losses(self):
        class Loss(nn.LossBase):
            def construct(self, x, y):
                both = self.mul(self.cast(x, ms.float32), y)
                return self.reduce_mean(both), self.reduce_sum(both)

        mean, total = Loss()(Tensor([1, 3]), Tensor([1.0, 2.0]))
        assert (float(mean), float(total)) == (3.5, 7.0)

    def test_names_of_ones_own_come_first(self):
        class Own(nn.Dense):
            def __init__(self):
                super().__init__(2, 2)
                self.matmul = nn.ReLU()
                self.reshape = 3

        net = Own()
        assert isinstance(net.matmul, nn.ReLU) and net.reshape == 3
        assert not hasattr(net, "conv2d") and net._amp_level == ""


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_a_parameter_of_one_number_is_assigned_numbers(mode, request):
    request.addfinalizer(lambda: ms.set_context(mode=ms.PYNATIVE_MODE))

    class Count(nn.Cell):
        def __init__(self):
            super().__init__()
            self.calls = Parameter(Tensor(0, ms.int32), name="calls", requires_grad=False)
            self.rate = Parameter(Tensor(0.5), name="rate")
            self.weight = Parameter(ops.ones((2,)), name="weight")

        def construct(self, x):
            self.calls += 1
            self.rate = 2
            y = x * self.calls
            self.calls = 5
            return y

    ms.set_context(mode=mode)
    net = Count()
    assert [net(Tensor([1.0])).asnumpy().tolist() for _ in range(3)] == [[1.0], [6.0], [6.0]]
    assert int(net.calls) == 5 and float(net.rate) == 2.0 and net.rate.dtype == ms.float32
    with pytest.raises(TypeError, match="can't take the float"):
        net.calls = 0.5
    with pytest.raises(TypeError, match="or a number if it holds one"):
        net.weight = 1
    assert int(net.calls) == 5 and net.weight.asnumpy().tolist() == [1.0, 1.0]


@pytest.mark.parametrize("compiled", [False, True])
def test_an_operator_takes_the_place_of_a_cell(compiled):
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.layer = nn.Dense(2, 2)
            self.layer = ops.Abs()

        def construct(self, x):
            return self.layer(x)

    net = Net()  # recorded from MindSpore: the tree keeps the Cell, the attribute is the operator
    call = ms.jit(net) if compiled else net
    assert call(Tensor([-1.0])) == 1
    assert [p.name for p in net.get_parameters()] == ["layer.weight", "layer.bias"]
    net.layer = nn.Tanh()
    assert call(Tensor([0.0])) == 0 and isinstance(net.layer, nn.Tanh)
    net.layer = ops.identity
    assert call(Tensor([-1.0])) == -1
    net.layer = None
    assert net.layer is None
    with pytest.raises(TypeError, match="by a Cell, a Primitive or None, but got builtin_function"):
        Net().layer = abs


def test_gradients_pass_an_operator_in_place_of_their_reducer():
    net = nn.Dense(2, 1)
    step = nn.TrainOneStepWithLossScaleCell(
        nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1),
        Tensor(1.0, ms.float32))
    step.grad_reducer = ops.identity
    before = net.weight.asnumpy().copy()
    step(Tensor([[1.0, 2.0]]), Tensor([[100.0]]))
    assert (net.weight.asnumpy() != before).all()


def test_a_child_may_have_the_name_of_a_method():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.buffers = nn.Dense(2, 2)  # a method of Cell since 2.8

        def construct(self, x):
            return self.buffers(x)

    net = Net()
    x = ms.ops.ones((1, 2))
    assert net(x).shape == (1, 2) and net.buffers is net._cells["buffers"]
    assert [p.name for p in net.trainable_params()] == ["buffers.weight", "buffers.bias"]
    twin = copy.deepcopy(net)
    assert twin.buffers is twin._cells["buffers"] is not net.buffers
    first, net.buffers = net.buffers, nn.Dense(2, 3)
    assert net(x).shape == (1, 3) and net.buffers is not first
    del net.buffers
    assert callable(net.buffers) and "buffers" not in net._cells


def test_a_parameter_takes_a_tensor_of_another_shape_in_a_gradient():
    class Keeps(nn.Cell):
        def __init__(self):
            super().__init__(auto_prefix=False)
            self.w = Parameter(Tensor([2.0, 3.0]), name="w")
            self.seen = Parameter(ms.ops.zeros((8, 1)), name="seen", requires_grad=False)

        def construct(self, x):
            y = x * self.w
            self.seen = y
            return y.sum() + self.seen.sum()

    for compiled in (False, True):
        net = Keeps()
        step = ms.value_and_grad(net, None, [net.w])
        if compiled:
            step = ms.jit(step)
        for rows in (2, 3, 3):
            x = ms.ops.ones((rows, 2))
            value, (gradient,) = step(x)
            assert value.asnumpy() == 10.0 * rows and gradient.asnumpy().tolist() == [rows, rows]
            assert net.seen.asnumpy().tolist() == [[2.0, 3.0]] * rows
