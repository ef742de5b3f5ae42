"""Parameter and ParameterTuple, with answers of MindSpore 2.10."""

import copy
import pickle
import re
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, ParameterTuple, Tensor, nn
from lamella.common.initializer import Normal, initializer
from lamella.tensors.param_info import ParamInfo
from lamella.tensors.parameter import parameter_around

TYPES = [ms.bool_, ms.int8, ms.int32, ms.int64, ms.uint8, ms.float16, ms.bfloat16, ms.float32,
         ms.float64, ms.complex64]


def two(dtype=ms.float32, name="w"):
    return Parameter(Tensor([1.0, 0.0], dtype), name=name)


# -- making one ----------------------------------------------------------------------------------


@pytest.mark.parametrize("data, dtype, value", [
    (1, "Int32", 1), (1.5, "Float32", 1.5), ([1, 2], "Int64", [1, 2]),
    ([1.0, 2], "Float32", [1, 2]),
    (np.float64(2), "Float32", 2), (np.arange(2), "Int64", [0, 1]),
    (np.arange(2.0), "Float64", [0, 1]), (Tensor([True]), "Bool", [True]),
    (Tensor([[1]], ms.int8), "Int8", [[1]]), (Parameter(3, name="q"), "Int32", 3)])
def test_forms_of_data(data, dtype, value):
    p = Parameter(data, name="p")
    assert str(p.dtype) == dtype and p.asnumpy().tolist() == value
    assert repr(p) == f"Parameter (name=p, shape={p.shape}, dtype={dtype}, requires_grad=True)"
    assert str(p) == repr(p) and isinstance(p, Tensor)


@pytest.mark.parametrize("arguments, error, match", [
    ({"default_input": True}, ValueError, "bool"), ({"default_input": (1,)}, TypeError, "tuple"),
    ({"default_input": "a"}, TypeError, "str"), ({"default_input": None}, TypeError, "NoneType"),
    ({"default_input": 1j}, TypeError, "complex"),
    ({"name": 3}, ValueError, "'name' must be a str"),
    ({"name": "a" * 1025}, ValueError, "got 1025: 'aaa"),
    ({"requires_grad": 1}, TypeError, "requires_grad"),
    ({"layerwise_parallel": 1}, TypeError, "layerwise_parallel"),
    ({"parallel_optimizer": 1}, TypeError, "parallel_optimizer"),
    ({"storage_format": 1}, TypeError, "storage_format")])
def test_wrong_arguments(arguments, error, match):
    with pytest.raises(error, match=match):
        Parameter(**{"default_input": Tensor(1.0), **arguments})


def test_the_data_is_copied():
    array, tensor = np.ones(2, np.float32), Tensor([1.0, 1.0])
    a, b = Parameter(array, name="a"), Parameter(tensor, name="b")
    array[:] = 5
    tensor[0] = 5
    assert a.asnumpy().tolist() == b.asnumpy().tolist() == [1, 1]


def test_names():
    a, b, c = Parameter(1.0), Parameter(1.0, name=""), Parameter(1.0, name="  c ")
    assert re.fullmatch(r"Parameter#\d+", a.name) and re.fullmatch(r"Parameter#\d+", b.name)
    assert a.name != b.name and c.name == "c"
    c.name = "d"
    assert c.name == "d"
    c.name = None
    assert c.name.startswith("Parameter#")
    with pytest.raises(ValueError, match="must be a str"):
        c.name = 3


def test_a_cell_names_it_after_its_attribute():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.scale = Parameter(1.0)
            self.kept = Parameter(1.0, name="mine")

    assert [p.name for p in Net().get_parameters()] == ["scale", "mine"]
    ParameterTuple([Parameter(1.0), Parameter(2.0)])  # their names differ


# -- options -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, default, new, bad", [
    ("requires_grad", True, False, 1), ("layerwise_parallel", False, True, 1),
    ("parallel_optimizer", True, False, 1), ("parallel_optimizer_comm_recompute", False, True, 1),
    ("cache_enable", False, True, 1), ("key", -1, 5, "a"), ("comm_fusion", 1, 2, "a"),
    ("cache_shape", [], [1], 3)])
def test_checked_options(name, default, new, bad):
    p = two()
    assert getattr(p, name) == default and getattr(p.param_info, name) == default
    setattr(p, name, new)
    assert getattr(p, name) == new and getattr(p.param_info, name) == new
    with pytest.raises(TypeError, match=f"'{name}'"):
        setattr(p, name, bad)


def test_plain_options():
    p = two()
    assert (p.sliced, p.unique, p.is_init, p.requires_aggr, p.inited_param) == (
        False, False, False, True, None)
    p.sliced = p.unique = True
    assert p.sliced and p.unique
    with pytest.raises(AttributeError):
        p.inited_param = 1
    with pytest.raises(ValueError, match="0 or more"):
        p.comm_fusion = -1


def test_param_info_is_copied_and_given_to_another():
    p = ms.Parameter(Tensor([1.0]), name="w", requires_grad=False, layerwise_parallel=True)
    p.comm_fusion = 3
    copied = p.param_info.clone()
    q = ms.Parameter(Tensor([2.0]), name="q")
    q.param_info = copied
    assert (q.name, q.requires_grad, q.layerwise_parallel, q.comm_fusion) == ("w", False, True, 3)
    q.name = "moments." + q.name  # optimizers of programs name their states so
    assert (p.name, copied.name) == ("w", "moments.w")
    copied.requires_grad = True
    assert q.requires_grad and not p.requires_grad
    with pytest.raises(TypeError, match="'param_info' must be a ParamInfo"):
        q.param_info = "w"


def test_param_info_of_no_parameter_is_that_of_a_new_one():
    info, fresh = ParamInfo(), ms.Parameter(ms.Tensor(1.0), name="Parameter")
    assert info.as_dict() == fresh.param_info.as_dict()
    info.name, info.requires_grad = "w", False
    p = ms.Parameter(ms.Tensor(1.0))
    p.param_info = info
    assert p.name == "w" and not p.requires_grad
    info.name = "v"
    assert p.name == "v" and ParamInfo().name == "Parameter"


def test_param_info():
    p = two()
    info = p.param_info
    assert info.obj is p and info.name == "w" and info.parameter_shape == (2,)
    info.name = "v"
    info.requires_grad = False
    assert p.name == "v" and not p.requires_grad


# -- data ----------------------------------------------------------------------------------------


def test_data_is_a_tensor_that_shares_memory():
    p = two()
    assert type(p.data) is Tensor and type(p.value()) is Tensor
    p.data.asnumpy()[0] = 7
    assert p.asnumpy().tolist() == [7, 0]
    p.data = Tensor([3.0, 4.0])
    assert p.asnumpy().tolist() == [3, 4]
    assert type(p + 1) is Tensor


@pytest.mark.parametrize("own", TYPES)
@pytest.mark.parametrize("given", TYPES)
def test_set_data_converts(own, given):
    p = two(own)
    assert p.set_data(Tensor([0.0, 1.0], given)) is p
    assert p.dtype == own and p.asnumpy().tolist() == [0, 1]


def test_set_data_takes_numbers():
    assert Parameter(1.0, name="w").set_data(3).asnumpy() == 3
    assert Parameter(1, name="w").set_data(True).asnumpy() == 1
    with pytest.raises(TypeError, match="'w' of type Int32 can't take the float 3.5"):
        Parameter(1, name="w").set_data(3.5)
    for bad in ([1.0, 2.0], np.ones(2), None, "a", (1.0, 2.0)):
        with pytest.raises(TypeError, match=f"but got {type(bad).__name__}"):
            two().set_data(bad)


def test_set_data_and_shapes():
    for data in (Tensor([1.0, 2.0, 3.0]), Tensor(1.0), Tensor([[1.0, 2.0]])):
        p = two().set_data(data)
        assert p.shape == data.shape and not p.sliced
        assert two().set_data(data, slice_shape=True).sliced


def test_set_data_keeps_the_memory():
    p = two()
    view = p.asnumpy()
    p.set_data(Tensor([5, 6]))
    assert view.tolist() == [5, 6]
    source = Tensor([1.0, 2.0])
    p.set_data(source)
    source[0] = 9
    assert p.asnumpy().tolist() == [1, 2]


def test_set_data_with_an_initializer():
    assert two().set_data(initializer("ones", (2,))).asnumpy().tolist() == [1, 1]
    waiting = initializer("ones", (2,), ms.float16)
    assert two().set_data(waiting).dtype == ms.float32 and waiting.has_init
    assert two().set_data(initializer("ones", (3,))).asnumpy().tolist() == [1, 1, 1]


def test_set_data_inside_a_gradient():
    p = two()

    def forward(x):
        y = (p * x).sum()
        p.set_data(Tensor([10.0, 20.0]))
        return y + (p * x).sum()

    gradient = ms.grad(forward)(Tensor([1.0, 1.0]))
    assert gradient.asnumpy().tolist() == [11, 20] and p.asnumpy().tolist() == [10, 20]


# -- data made later -----------------------------------------------------------------------------


def test_no_init_parameters():
    with nn.no_init_parameters():
        p = Parameter(initializer("normal", (2, 3)), name="z")
        with nn.no_init_parameters():
            pass
        q = Parameter(initializer("ones", (2,)), name="q")
        assert not two().has_init
    assert not Parameter(initializer("ones", (2,)), name="r").has_init
    assert p.has_init and p.shape == (2, 3) and p.dtype == ms.float32
    twin, other = copy.deepcopy(p), p.clone()
    assert twin.has_init and other.has_init
    assert p.init_data() is p and not p.has_init and p.asnumpy().std() > 0
    assert p.init_data() is p
    assert not np.array_equal(twin.init_data().asnumpy(), p.asnumpy())
    assert q.asnumpy().tolist() == [1, 1] and not q.has_init


def test_a_waiting_parameter_may_get_another_initializer_or_data():
    with nn.no_init_parameters():
        p, q = (Parameter(initializer("normal", (2,)), name=n) for n in "pq")
    p.set_data(initializer("ones", (2,)))
    assert p.has_init and p.asnumpy().tolist() == [1, 1]
    q.set_data(Tensor([5.0, 6.0]))
    assert not q.has_init and q.asnumpy().tolist() == [5, 6]
    q[0] = 1.0
    assert q.asnumpy().tolist() == [1, 6]


def test_a_waiting_parameter_has_no_data_to_compute_with():
    with nn.no_init_parameters():
        p = Parameter(initializer("ones", (2,)), name="p")
    x = Tensor([1.0, 2.0])
    for use in (lambda: p + 1, lambda: x * p, lambda: p.sum(), lambda: p[0],
                lambda: ms.grad(lambda x: (x * p).sum())(x)):
        with pytest.raises(RuntimeError, match="must be made by 'init_data'"):
            use()
    assert p.has_init and (p.init_data() + 1).asnumpy().tolist() == [2, 2]


@pytest.mark.parametrize("run", [lambda f: f, ms.jit])
def test_a_network_whose_parameters_wait_gets_first_values_when_it_is_called(run):
    with nn.no_init_parameters():
        net = nn.SequentialCell(nn.Dense(3, 2, weight_init="ones", bias_init="ones"), nn.ReLU())
    first = copy.deepcopy(net)[0]
    assert net[0].weight.has_init
    called = run(lambda x: net(x))
    x = Tensor([[1.0, 1.0, 1.0]])
    for _ in range(3):
        assert called(x).asnumpy().tolist() == [[4.0, 4.0]]
    assert not net[0].weight.has_init and net[0].weight.asnumpy().tolist() == [[1.0] * 3] * 2
    first.weight.init_data().set_data(Tensor([[2.0] * 3] * 2))  # data of its own stays
    assert first(x).asnumpy().tolist() == [[7.0, 7.0]]


# -- copies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("init, value", [
    ("same", [1, 0]), ("ones", [1, 1]), (3, [3, 3]), (Tensor([7.0, 8.0]), [7, 8])])
def test_clone(init, value):
    p = two()
    p.requires_grad, p.comm_fusion = False, 3
    twin = p.clone(init)
    assert twin.asnumpy().tolist() == value and twin is not p
    assert (twin.name, twin.requires_grad, twin.comm_fusion) == ("w", False, 3)
    twin.set_data(Tensor([9.0, 9.0]))
    twin.requires_grad = True
    assert p.asnumpy().tolist() == [1, 0] and not p.requires_grad


def test_clone_with_an_initializer():
    assert two().clone(Normal(1.0)).asnumpy().std() > 0
    for bad, error in ((Tensor([1.0]), ValueError), ("nope", ValueError), (None, TypeError)):
        with pytest.raises(error, match="For 'initializer'"):
            two().clone(bad)
    p = two()
    p.cache_enable = True
    assert p.clone().key != p.clone().key


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda p: p.copy(),
                                 lambda p: pickle.loads(pickle.dumps(p))])
def test_copies(how):
    p = two()
    p.requires_grad = False
    twin = how(p)
    assert type(twin) is Parameter and repr(twin) == repr(p)
    p.set_data(Tensor([5.0, 5.0]))
    assert twin.asnumpy().tolist() == [1, 0]


# -- ParameterTuple ------------------------------------------------------------------------------


def test_parameter_tuple():
    a, b = two(name="a"), two(name="b")
    pair = ParameterTuple(p for p in [a, b])
    assert isinstance(pair, tuple) and pair[0] is a and len(pair) == 2
    assert len(ParameterTuple([a, a])) == 2
    moments = pair.clone("m", "zeros")
    assert isinstance(moments, ParameterTuple) and [p.name for p in moments] == ["m.a", "m.b"]
    assert moments[0].asnumpy().tolist() == [0, 0] and a.asnumpy().tolist() == [1, 0]
    assert pair.clone("m")[1].asnumpy().tolist() == [1, 0]


@pytest.mark.parametrize("items, error, match", [
    ([two(name="a"), two(name="a")], ValueError, "got 'a' twice"), ([1], TypeError, "int"),
    (two(), TypeError, "Tensor"), ({"a": two()}, TypeError, "str")])
def test_wrong_parameter_tuples(items, error, match):
    with pytest.raises(error, match=match):
        ParameterTuple(items)


def test_wrong_prefixes():
    for prefix, error in ((3, TypeError), ("", ValueError), ("a-b", ValueError)):
        with pytest.raises(error, match="'prefix'"):
            ParameterTuple([two()]).clone(prefix)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_gradient_call_gives_parameters_their_first_values(compiled):
    with nn.no_init_parameters():
        net = nn.Dense(2, 1, weight_init="ones", bias_init="ones")
    gradient = ms.value_and_grad(lambda x: net(x).sum(), None, net.trainable_params())
    if compiled:
        gradient = ms.jit(gradient)
    for _ in range(2):
        value, gradients = gradient(Tensor([[2.0, 3.0]]))
        assert float(value) == 6 and gradients[0].asnumpy().tolist() == [[2, 3]]
    assert not net.weight.has_init


@pytest.mark.parametrize("call", [
    lambda nets, x: ms.vmap(ms.grad(lambda x: nets[0](x).sum(), None, nets[0].weight))(x)[0],
    lambda nets, x: ms.jacrev(lambda x: nets[0](x).sum(), None, weights=nets[0].weight)(x[0]),
    lambda nets, x: ms.jacfwd(lambda x: nets[0](x).sum(), None, weights=nets[0].weight)(x[0]),
    lambda nets, x: ms.grad(lambda x: ms.vmap(nets)(x).sum(), None, nets[0].weight)(x),
    lambda nets, x: ms.vjp(nets[0], x[0], weights=nets[0].weight)[1](Tensor([[1.0]]))[1]],
    ids=range(5))
def test_other_derivatives_give_parameters_their_first_values(call):
    with nn.no_init_parameters():
        nets = nn.CellList([nn.Dense(2, 1, weight_init="ones") for _ in range(2)])
    assert nets[0].weight.has_init
    assert call(nets, Tensor([[[2.0, 3.0]], [[5.0, 7.0]]])).tolist() == [[2.0, 3.0]]


@pytest.mark.filterwarnings("ignore:The gradient doesn't flow through the assignment")
def test_a_gradient_is_by_what_was_assigned_too():
    w, x = two(), Tensor([3.0, 5.0])
    w.set_data(Tensor([1.0, 2.0]))

    def loss(x):
        first = (w * x).sum()
        w.set_data(w * 2)
        return first + (w * w).sum()

    assert ms.grad(loss, None, w)(x).tolist() == [3.0 + 2 * 2.0, 5.0 + 2 * 4.0]
    assert w.tolist() == [2.0, 4.0]


def test_first_values_that_two_threads_ask_for_are_made_once():
    class Slow(ms.common.initializer.Initializer):
        made = 0

        def _initialize(self, arr):
            Slow.made += 1
            time.sleep(0.05)
            arr[:] = Slow.made

    with nn.no_init_parameters():
        p = Parameter(ms.common.initializer.initializer(Slow(), [3]), name="p")
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: p.init_data().asnumpy(), range(4)))
    np.testing.assert_array_equal(found, np.ones((4, 3)))
    assert Slow.made == 1


def test_the_longest_name():
    assert len(Parameter(Tensor(1.0), name="a" * 1024).name) == 1024


def test_a_parameter_around_a_tensor_has_the_usual_options():
    p, usual = parameter_around(Tensor([1.0, 2.0])._raw, "p"), Parameter(Tensor([1.0]), name="p")
    for name in ("name", "requires_grad", "layerwise_parallel", "parallel_optimizer", "key",
                 "storage_format", "parallel_optimizer_comm_recompute", "cache_enable", "sliced"):
        assert getattr(p, name) == getattr(usual, name)
    assert ms.grad(lambda x: x * p, None, p)(Tensor([3.0, 4.0])).tolist() == [3.0, 4.0]


def test_assigned_data_is_called_sliced():
    p = two()
    assert not p.set_data(Tensor([3.0, 4.0])).sliced
    p.data = Tensor([5.0, 6.0])
    assert p.sliced and p.tolist() == [5.0, 6.0] and not p.set_data(p.data).sliced


@pytest.mark.parametrize("transform", [lambda f: f, ms.vmap, lambda f: lambda x: ms.jvp(
    lambda x: ms.grad(lambda t: t)(x) * 0 + f(x), x, x)[0]], ids=["plain", "vmap", "jvp"])
def test_a_parameter_made_inside_of_a_gradient_is_a_value_like_any_other(transform):
    gradient = ms.grad(lambda x: Parameter(x * 2, name="p") * x)
    x = Tensor([1.0, 3.0])
    assert transform(gradient)(x).tolist() == [4.0, 12.0]
    assert ms.jvp(lambda x: Parameter(x * 2, name="p") * x, x, x)[1].tolist() == [4.0, 36.0]


@pytest.mark.parametrize("by_weight", [False, True])
def test_data_of_another_shape_inside_of_a_gradient(by_weight):
    p = two()

    def forward(x):
        first = (p * x).sum()
        p.set_data(Tensor([[10.0, 20.0, 30.0]]))
        return first + p.sum() * x[0]

    x = Tensor([3.0, 4.0])
    found = ms.grad(forward)(x) if not by_weight else ms.grad(forward, 0, two(name="v"))(x)[0]
    assert found.tolist() == [61.0, 0.0] and p.tolist() == [[10.0, 20.0, 30.0]]
