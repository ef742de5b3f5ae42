"""Which parts of a network compute in low precision, and training steps of such networks."""

import copy

import numpy as np
import pytest

import lamella as ms
from lamella import amp, nn, ops


class Probe(nn.Cell):
    """Records the data type of its input."""

    def __init__(self, seen):
        super().__init__()
        self.seen = seen

    def construct(self, x):
        self.seen.append(str(x.dtype))
        return x


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.seen = []
        self.fc = nn.Dense(4, 4)
        self.after_fc = Probe(self.seen)
        self.ln = nn.LayerNorm((4,))
        self.after_ln = Probe(self.seen)
        self.matmul = ops.MatMul()
        self.after_matmul = Probe(self.seen)

    def construct(self, x):
        x = self.after_ln(self.ln(self.after_fc(self.fc(x))))
        return self.after_matmul(self.matmul(x, x))


X = ms.Tensor(np.arange(16, dtype=np.float32).reshape(4, 4) / 10)
LOW = {ms.float16: "Float16", ms.bfloat16: "BFloat16"}


@pytest.mark.parametrize("kind", LOW)
@pytest.mark.parametrize("level, low", [("O0", (0, 0, 0)), ("O1", (0, 0, 0)), ("O2", (1, 1, 1)),
                                        ("O3", (1, 1, 1)), ("auto", (1, 0, 1))])
def test_levels(level, low, kind):
    net = Net()
    exact = Net()
    ms.load_param_into_net(exact, net.parameters_dict())
    mixed = amp.auto_mixed_precision(net, level, kind)
    out = mixed(X)
    assert net.seen == [LOW[kind] if is_low else "Float32" for is_low in low]
    assert out.dtype == (kind if level == "auto" else ms.float32)
    assert all(p.dtype == ms.float32 for p in mixed.get_parameters())
    assert [p.name for p in mixed.trainable_params()] == [p.name for p in exact.trainable_params()]
    np.testing.assert_allclose(out.astype(ms.float32).asnumpy(), exact(X).asnumpy(), atol=0.1)


def test_o1_really_computes_low():
    big = ms.Tensor(np.full((4, 4), 1e3, np.float32))
    net = Net()
    net.fc.weight.set_data(ms.Tensor(np.full((4, 4), 1e3, np.float32)))
    assert np.isfinite(net.fc(big).asnumpy()).all()
    amp.auto_mixed_precision(net, "O1")
    assert not np.isfinite(net.fc(big).asnumpy()).any()


def test_gradients_come_in_the_parameters_type():
    net = amp.auto_mixed_precision(Net(), "O2")
    grads = ms.grad(lambda x: net(x).sum(), None, net.trainable_params())(X)
    assert all(g.dtype == ms.float32 and np.isfinite(g.asnumpy()).all() for g in grads)


def test_a_copy_of_an_auto_network_is_its_own():
    net = amp.auto_mixed_precision(nn.Dense(4, 4), "auto")
    twin = copy.deepcopy(net)
    twin.weight.set_data(twin.weight * 0)
    twin.bias.set_data(twin.bias * 0)
    assert np.abs(twin(X).astype(ms.float32).asnumpy()).max() == 0


def test_auto_on_a_function():
    product = amp.auto_mixed_precision(lambda a: ops.matmul(a, a), "auto")
    assert product(X).dtype == ms.float16


def test_auto_keeps_sensitive_operators_in_float32():
    def sensitive(a):
        low = ops.matmul(a, a)
        return low, ops.softmax(low), ops.exp(low), low + low

    out = amp.auto_mixed_precision(sensitive, "auto")(X)
    assert [o.dtype for o in out] == [ms.float16, ms.float32, ms.float32, ms.float16]


def test_lists():
    assert nn.Dense in amp.get_white_list() and ops.MatMul in amp.get_white_list()
    assert nn.LayerNorm in amp.get_black_list()
    amp.get_black_list().clear()
    assert amp.get_black_list()


def test_custom():
    net = Net()
    assert amp.custom_mixed_precision(net, white_list=[Probe], dtype=ms.bfloat16) is net
    assert net(X).dtype == ms.float32 and set(net.seen) == {"BFloat16"}
    net = Net()
    amp.custom_mixed_precision(net, black_list=[Probe])
    assert net.fc(X).dtype == ms.float32 and net(X).dtype == ms.float32
    assert set(net.seen) == {"Float32"}


ERRORS = [
    (lambda: amp.auto_mixed_precision(Net(), "O9"), ValueError, "got 'O9'"),
    (lambda: amp.auto_mixed_precision(lambda x: x, "O2"), TypeError, "must be a Cell"),
    (lambda: amp.auto_mixed_precision(3, "auto"), TypeError, "a Cell or a function"),
    (lambda: amp.auto_mixed_precision(Net(), "O2", ms.float32), ValueError, "float16 or bfloat16"),
    (lambda: amp.custom_mixed_precision(Net()), ValueError, "exactly one"),
    (lambda: amp.custom_mixed_precision(Net(), white_list=[nn.Dense], black_list=[nn.Dense]),
     ValueError, "exactly one"),
    (lambda: amp.custom_mixed_precision(Net(), white_list=[3]), TypeError, "got 3"),
    (lambda: amp.custom_mixed_precision(3, white_list=[]), TypeError, "got 3 of type int"),
]


@pytest.mark.parametrize("make, kind, message", ERRORS)
def test_errors(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


# -- build_train_network -------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["O0", "O2", "O3"])
def test_a_trained_network_s_parameters_keep_their_names(level):
    net = nn.SequentialCell(nn.Dense(2, 3), nn.Dense(3, 1))
    names = [p.name for p in net.trainable_params()]
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    step = amp.build_train_network(net, optimizer, nn.MSELoss(), level)
    assert names == [p.name for p in net.trainable_params()]
    assert set(names) <= {p.name for p in step.get_parameters()}


class Mean(nn.Cell):
    """Its gradient by `w` is the mean of what it is given."""

    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(ms.Tensor(0.0), name="w")

    def construct(self, x):
        return (self.w * x).mean()


def test_gradients_of_a_batch_in_parts_are_those_of_the_whole():
    net = Mean()
    optimizer = nn.SGD(net.trainable_params(), 1.0)
    step = amp.build_train_network(nn.GradAccumulationCell(net, 4), optimizer)
    step(ms.Tensor([1.0, 2.0, 3.0, 6.0]))
    assert net.w.asnumpy() == -3.0


def mean_error():
    class MeanError(nn.Cell):
        def construct(self, out, label):
            assert out.dtype == ms.float32
            return (out - label).abs().mean()

    return MeanError()


def built(level, **options):
    net = nn.Dense(4, 1, weight_init="ones")
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    return net, amp.build_train_network(net, optimizer, mean_error(), level, **options)


Y = ms.Tensor(-np.ones((4, 1), np.float32))


@pytest.mark.parametrize("level, options, kind", [
    ("O0", {}, nn.TrainOneStepCell), ("O1", {}, nn.TrainOneStepCell),
    ("O2", {}, nn.TrainOneStepWithLossScaleCell), ("O3", {}, nn.TrainOneStepCell),
    ("O2", {"loss_scale_manager": None}, nn.TrainOneStepCell),
    ("O0", {"loss_scale_manager": amp.FixedLossScaleManager(8.0)},
     nn.TrainOneStepWithLossScaleCell)])
def test_built_steps_train(level, options, kind):
    net, step = built(level, **options)
    assert type(step) is kind and step.training
    before = net.weight.asnumpy().copy()
    if kind is nn.TrainOneStepWithLossScaleCell and not options:
        step.set_sense_scale(ms.Tensor(1024.0))  # the first one, 2 ** 24, overflows in float16
    for _ in range(2):
        step(X, Y)
    assert net.weight.dtype == ms.float32
    wanted = before - 0.29 * X.asnumpy().mean(0)
    np.testing.assert_allclose(net.weight.asnumpy(), wanted, rtol=2e-3)


@pytest.mark.parametrize("level, seen", [
    ("O0", ms.float16), ("O1", ms.float16), ("O2", ms.float32), ("O3", ms.float32)])
def test_the_loss_of_a_network_that_is_mixed_already(level, seen):
    class Mixed(nn.Cell):
        def __init__(self):
            super().__init__()
            self.dense = nn.Dense(4, 1)

        def construct(self, x):
            return self.dense(x).astype(ms.float16)

    class Loss(nn.Cell):
        def construct(self, out, label):
            kinds.append(out.dtype)
            return (out - label).abs().mean()

    kinds: list = []
    net = amp.auto_mixed_precision(Mixed(), level)
    amp.build_train_network(net, nn.SGD(net.trainable_params(), 0.1), Loss())(X, Y)
    assert kinds == [seen]


def test_a_fixed_scale_that_the_optimizer_divides_by():
    net = nn.Dense(4, 1)
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9, loss_scale=8.0)
    step = amp.build_train_network(net, optimizer, mean_error(),
                                   loss_scale_manager=amp.FixedLossScaleManager(8.0, False))
    assert step.sens == 8.0


BUILD_ERRORS = [
    (dict(level="O7"), ValueError, "got 'O7'"), (dict(level=2), TypeError, "'level' must be a str"),
    (dict(level="O0", foo=1), ValueError, "foo"),
    (dict(level="O0", boost_level="O5"), ValueError, "'boost_level'"),
    (dict(level="O0", cast_model_type=ms.int32), TypeError, "'cast_model_type'"),
    (dict(level="O0", keep_batchnorm_fp32=1), TypeError, "'keep_batchnorm_fp32'"),
    (dict(level="O0", loss_scale_manager=3), TypeError, "'loss_scale_manager'"),
]


@pytest.mark.parametrize("options, kind, message", BUILD_ERRORS)
def test_build_errors(options, kind, message):
    with pytest.raises(kind, match=message):
        built(**options)
    with pytest.raises(TypeError, match="'optimizer' must be an Optimizer"):
        amp.build_train_network(nn.Dense(1, 1), 3)


def test_what_programs_import_from_train_amp():
    from lamella.amp.build import _add_loss_network, _config_level
    from lamella.amp.mixed_precision import _auto_black_list, _do_keep_batchnorm_fp32

    def network():
        return nn.SequentialCell(nn.Dense(4, 3), nn.LayerNorm((3,)))

    net = _auto_black_list(network(), [nn.LayerNorm], ms.bfloat16)
    x = ms.ops.ones((2, 4))
    assert net[0](x).dtype == net(x).dtype == ms.bfloat16
    net = network()
    _do_keep_batchnorm_fp32(net)
    assert net(x).dtype == ms.float16
    loss = _add_loss_network(net, nn.MSELoss(), _config_level["O2"]["cast_model_type"])
    assert loss(x, ms.ops.ones((2, 3), ms.float16)).dtype == ms.float32
    with pytest.raises(TypeError, match="'loss_fn' must be a Cell, but got 'mse' of type str"):
        _add_loss_network(net, "mse", ms.float32)
    assert [level for level, config in _config_level.items() if config["keep_batchnorm_fp32"]] == [
        "O2"]
