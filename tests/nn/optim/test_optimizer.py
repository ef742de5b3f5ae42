"""What optimizers share: arguments, groups, attributes, the step itself."""

import copy
import inspect

import numpy as np
import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

import lamella as ms
from lamella import nn, ops
from lamella.nn import optim
from lamella.parallel import parts


def parameter(values, name="w"):
    return ms.Parameter(ms.Tensor(np.asarray(values, np.float32)), name=name)


REQUIRED = {"Momentum": dict(learning_rate=0.1, momentum=0.9), "AdaFactor": {}}
WRAPPERS = {"Optimizer", "LARS", "AdaSumByDeltaWeightWrapCell", "AdaSumByGradWrapCell"}
EVERY = {name: REQUIRED.get(name, dict(learning_rate=0.1))
         for name in optim.__all__ if name not in WRAPPERS}


@pytest.fixture
def w():
    return parameter([[1.0, -2.0, 3.0], [0.5, 0.25, -1.0]])


@pytest.fixture
def b():
    return parameter([0.5, -0.5], "bn.beta")


# -- parity with torch.optim, where the formulas coincide ----------------------------------------

TORCH = {
    "SGD": (dict(learning_rate=0.1), torch.optim.SGD, dict(lr=0.1)),
    "Momentum": (dict(learning_rate=0.1, momentum=0.9), torch.optim.SGD,
                 dict(lr=0.1, momentum=0.9)),
    "Momentum nesterov": (dict(learning_rate=0.1, momentum=0.9, use_nesterov=True),
                          torch.optim.SGD, dict(lr=0.1, momentum=0.9, nesterov=True)),
    "SGD dampening": (dict(learning_rate=0.1, momentum=0.9, dampening=0.3, weight_decay=0.1),
                      torch.optim.SGD,
                      dict(lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.1)),
    "Adam": (dict(learning_rate=0.1, eps=1e-12), torch.optim.Adam, dict(lr=0.1, eps=1e-12)),
    "AdaMax": (dict(learning_rate=0.1, eps=1e-12), torch.optim.Adamax, dict(lr=0.1, eps=1e-12)),
    "Adadelta": (dict(learning_rate=1.0), torch.optim.Adadelta, dict(lr=1.0, rho=0.9)),
    "Adagrad": (dict(learning_rate=0.1), torch.optim.Adagrad,
                dict(lr=0.1, initial_accumulator_value=0.1)),
    "Rprop": (dict(learning_rate=0.1), torch.optim.Rprop, dict(lr=0.1)),
}


@pytest.mark.parametrize("case", TORCH)
def test_like_torch(case, w):
    options, theirs, their_options = TORCH[case]
    other = torch.nn.Parameter(torch.tensor(w.asnumpy()))
    ours = getattr(nn, case.split()[0])([w], **options)
    theirs = theirs([other], **their_options)
    for step in range(5):
        g = np.cos(np.arange(6).reshape(2, 3) + step).astype(np.float32)
        ours((ms.Tensor(g),))
        other.grad = torch.tensor(g)
        theirs.step()
    np.testing.assert_allclose(w.asnumpy(), other.detach().numpy(), rtol=2e-5, atol=2e-6)


# -- formulas that MindSpore has no CPU kernel for, by hand --------------------------------------


def test_lamb_step_has_the_length_of_the_parameter(w):
    before = w.asnumpy().copy()
    nn.Lamb([w], learning_rate=0.1)((ms.Tensor(np.ones((2, 3), np.float32) * 5),))
    moved = np.linalg.norm(w.asnumpy() - before)
    np.testing.assert_allclose(moved, 0.1 * np.linalg.norm(before), rtol=1e-5)


def test_lamb_by_hand(w):
    p, m, v = w.asnumpy().astype(np.float64), 0.0, 0.0
    optimizer = nn.Lamb([w], learning_rate=0.1, weight_decay=0.1)
    for step in range(1, 4):
        g = np.cos(np.arange(6).reshape(2, 3) + step)
        optimizer((ms.Tensor(g.astype(np.float32)),))
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        u = m / (1 - 0.9**step) / (np.sqrt(v / (1 - 0.999**step)) + 1e-6) + 0.1 * p
        p = p - 0.1 * np.linalg.norm(p) / np.linalg.norm(u) * u
    np.testing.assert_allclose(w.asnumpy(), p, rtol=1e-4)


@pytest.mark.parametrize("use_clip", [False, True])
def test_lars_by_hand(w, use_clip):
    p = w.asnumpy().astype(np.float64)
    inner = nn.Momentum([w], 0.5, 0.9, weight_decay=0.1, loss_scale=2.0)
    optimizer = nn.LARS(inner, epsilon=1e-3, coefficient=0.02, use_clip=use_clip)
    a = 0.0
    for step in range(3):
        g = np.cos(np.arange(6).reshape(2, 3) + step)
        optimizer((ms.Tensor((2 * g).astype(np.float32)),))
        lp, lg = np.linalg.norm(p), np.linalg.norm(g)
        ratio = 0.02 * lp / (lg + 0.1 * lp + 1e-3)
        ratio = min(ratio / 0.5, 1.0) if use_clip else ratio
        a = 0.9 * a + ratio * (g + 0.1 * p)
        p = p - 0.5 * a
    np.testing.assert_allclose(w.asnumpy(), p, rtol=1e-5)
    assert optimizer.global_step.asnumpy().tolist() == [3]


def test_lars_leaves_out_what_its_filter_does():
    w = parameter([3.0, 4.0], "fc.bias")
    nn.LARS(nn.SGD([w], 1.0), coefficient=0.1)((ms.Tensor([0.0, 2.0]),))
    assert w.asnumpy().tolist() == [3.0, 2.0]


def test_ftrl_pulls_small_elements_to_zero():
    w = parameter([0.1, 5.0])
    nn.FTRL([w], learning_rate=0.1, l1=2.0)((ms.Tensor([0.01, -9.0]),))
    out = w.asnumpy()
    assert out[0] == 0.0 and out[1] > 1.0


def test_adagrad_without_slots_keeps_its_sums(w):
    optimizer = nn.Adagrad([w], learning_rate=0.1, update_slots=False)
    optimizer((ms.Tensor(np.ones((2, 3), np.float32)),))
    np.testing.assert_allclose(optimizer.accum[0].asnumpy(), 0.1, rtol=1e-6)


# -- learning rates ------------------------------------------------------------------------------


def test_get_lr_of_each_kind(w, b):
    assert nn.SGD([w], 0.5).get_lr().name == "learning_rate"
    listed = nn.SGD([w], [0.1, 0.2])
    assert listed.get_lr().shape == () and listed.get_lr().asnumpy() == np.float32(0.1)
    listed((w * 0,))
    assert listed.get_lr().asnumpy() == np.float32(0.2)
    tensor = nn.SGD([w], ms.Tensor([0.25, 0.5]))
    assert tensor.dynamic_lr and tensor.get_lr().asnumpy() == 0.25
    groups = nn.SGD([{"params": [w], "lr": 0.5}, {"params": [b]}], 0.125)
    assert [p.asnumpy().item() for p in groups.get_lr()] == [0.5, 0.125]
    dynamic = nn.SGD([{"params": [w], "lr": nn.WarmUpLR(1.0, 4)}, {"params": [b]}], 0.125)
    dynamic((w * 0, b * 0))
    assert [t.asnumpy().item() for t in dynamic.get_lr()] == [0.25, 0.125]


def test_the_learning_rate_can_be_set(w):
    optimizer = nn.SGD([w], 0.5)
    optimizer.learning_rate.set_data(ms.Tensor(0.0))
    before = w.asnumpy().copy()
    optimizer((w * 0 + 1,))
    np.testing.assert_array_equal(w.asnumpy(), before)


def test_the_momentum_can_be_set():
    w = parameter([0.0])
    optimizer = nn.Momentum([w], 1.0, 0.5)
    optimizer((ms.Tensor([1.0]),))
    optimizer.momentum.set_data(ms.Tensor(0.0))
    optimizer((ms.Tensor([1.0]),))
    assert w.asnumpy().tolist() == [-2.0]


def test_a_list_of_rates_that_ends(w):
    optimizer = nn.SGD([w], [0.1])
    optimizer((w * 0,))
    with pytest.raises(RuntimeError, match="list of 1 learning rates ends before step 1"):
        optimizer((w * 0,))


def test_get_lr_parameter(w, b):
    optimizer = nn.SGD([{"params": [w], "lr": [0.5, 0.25]}, {"params": [b]}], 0.125)
    rates = optimizer.get_lr_parameter([w, b])
    assert rates[0].asnumpy().tolist() == [0.5, 0.25] and rates[1].asnumpy() == 0.125
    with pytest.raises(ValueError, match="'other' is not among"):
        optimizer.get_lr_parameter(parameter([1.0], "other"))


# -- decay, scale, centralization ----------------------------------------------------------------


def test_decay_leaves_out_beta_and_gamma(w, b):
    optimizer = nn.SGD([w, b], 1.0, weight_decay=0.5)
    assert optimizer.decay_flags == (True, False)
    decayed = optimizer.decay_weight((w * 0, b * 0))
    np.testing.assert_allclose(decayed[0].asnumpy(), w.asnumpy() * 0.5)
    np.testing.assert_array_equal(decayed[1].asnumpy(), 0)
    assert optimizer.get_weight_decay().asnumpy() == 0.5


def test_scale_grad_and_decay_under_a_loss_scale(w):
    optimizer = nn.SGD([w], 1.0, weight_decay=0.5, loss_scale=4.0)
    assert optimizer.get_weight_decay().asnumpy() == 2.0
    assert optimizer.scale_grad((w * 0 + 8,))[0].asnumpy()[0, 0] == 2.0
    before = w.asnumpy().copy()
    optimizer((w * 0,))
    np.testing.assert_allclose(w.asnumpy(), before * 0.5, rtol=1e-6)


def test_centralization_of_a_group():
    w = ms.Parameter(ms.Tensor(np.zeros((2, 16), np.float32)), name="w")
    g = np.arange(32, dtype=np.float32).reshape(2, 16)
    nn.SGD([{"params": [w], "grad_centralization": True}], 1.0)((ms.Tensor(g),))
    np.testing.assert_allclose(w.asnumpy(), g.mean(1, keepdims=True) - g, atol=1e-5)


def test_overridden_helpers_are_used(w):
    class Clipped(nn.SGD):
        def scale_grad(self, gradients):
            return tuple(g * 0 for g in gradients)

    before = w.asnumpy().copy()
    Clipped([w], 1.0)((w * 0 + 1,))
    np.testing.assert_array_equal(w.asnumpy(), before)


def test_an_optimizer_of_ones_own_counts_steps_that_matter(w):
    class Descent(nn.Optimizer):
        def construct(self, gradients):
            gradients = self._grad_sparse_indices_deduplicate(gradients)
            lr = self.get_lr()
            if self._is_dynamic_lr_or_weight_decay():
                self.assignadd(self.global_step, self.global_step_increase_tensor)
            for p, g in zip(self.parameters, gradients, strict=True):
                p.set_data(p - lr * g)
            return True

    start = w.numpy().copy()
    fixed, scheduled = Descent(0.5, [w]), Descent([0.5, 0.25], [w])
    for optimizer, total in ((fixed, 1.0), (scheduled, 1.75)):
        for _ in range(2):
            optimizer((ops.ones_like(w),))
        np.testing.assert_allclose(w.numpy(), start - total, rtol=1e-6)
    assert fixed.global_step.numpy() == 0 and scheduled.global_step.numpy() == 2
    step = ms.jit(Descent([0.5, 0.25, 0.125], [w]))
    for _ in range(3):
        step((ops.ones_like(w),))
    assert step.report()["traces"] == 1


def test_order_params(w, b):
    optimizer = nn.SGD([{"params": [b]}, {"params": [w]}, {"order_params": [w, b]}], 1.0)
    assert [p.name for p in optimizer.parameters] == ["w", "bn.beta"]


# -- the step ------------------------------------------------------------------------------------


def test_a_transposed_gradient_is_read_in_order(w):
    g = np.arange(6, dtype=np.float32).reshape(3, 2)
    before = w.asnumpy().copy()
    nn.SGD([w], 1.0)((ms.Tensor.from_torch(torch.from_numpy(g).T),))
    np.testing.assert_allclose(w.asnumpy(), before - g.T)


def test_a_gradient_of_another_type(w):
    before = w.asnumpy().copy()
    nn.Adam([w], 0.5)((ms.Tensor(np.ones((2, 3)), ms.float16),))
    np.testing.assert_allclose(w.asnumpy(), before - 0.5, atol=1e-5)


def test_replaced_data_is_followed(w):
    optimizer = nn.SGD([w], 1.0)
    optimizer((w * 0,))
    w._data = torch.zeros(2, 3)
    optimizer((ms.Tensor(np.ones((2, 3), np.float32)),))
    np.testing.assert_array_equal(w.asnumpy(), -1)


def test_an_update_inside_a_gradient_call():
    w = parameter([3.0])
    optimizer = nn.SGD([w], 1.0)

    def step(x):
        y = w * w * x
        optimizer((ms.Tensor([1.0]),))
        return y + w * 0

    value, gradient = ms.value_and_grad(step, None, [w])(ms.Tensor([2.0]))
    assert value.asnumpy() == 18.0 and gradient[0].asnumpy() == 12.0
    assert w.asnumpy() == 2.0


def test_it_trains():
    w = parameter([4.0, -3.0])
    optimizer = nn.Adam([w], 0.1)
    step = ms.value_and_grad(lambda: (w * w).sum(), None, optimizer.parameters)
    for _ in range(200):
        optimizer(step()[1])
    assert np.abs(w.asnumpy()).max() < 1e-2


@pytest.mark.parametrize("name, options", [
    *EVERY.items(), ("AdamWeightDecay", {"weight_decay": 0.1}), ("SGD", {"momentum": 0.9})])
def test_it_can_be_traced(name, options, w):
    optimizer = getattr(nn, name)([w], **options)

    def step(raw):
        optimizer((ms.Tensor.from_torch(raw),))
        return raw + 1

    graph = make_fx(step)(torch.ones(2, 3))
    assert not any("_local_scalar_dense" in str(node.target) for node in graph.graph.nodes)


def test_a_copy_has_its_own_state(w):
    optimizer = nn.Adam([w], 0.5)
    twin = copy.deepcopy(optimizer)
    twin((w * 0 + 1,))
    assert optimizer.global_step.asnumpy() == 0 and twin.global_step.asnumpy() == 1
    assert w.asnumpy()[0, 0] == 1.0
    np.testing.assert_allclose(twin.parameters[0].asnumpy()[0, 0], 0.5, rtol=1e-5)


def test_initial_arguments_are_kept(w):
    optimizer = nn.Momentum([w], ms.Tensor(0.5), momentum=0.9)
    assert optimizer.init_learning_rate == 0.5 and optimizer.init_params["params"] == [w]
    assert optimizer.init_args == {"momentum": 0.9, "weight_decay": 0.0, "loss_scale": 1.0,
                                   "use_nesterov": False}
    assert nn.Momentum([w], nn.WarmUpLR(0.1, 2), 0.9).init_learning_rate is None


def test_target_and_unique(w):
    optimizer = nn.Adam([w])
    optimizer.target = "CPU"
    assert optimizer.target == "CPU" and optimizer.unique is True
    with pytest.raises(ValueError, match="can't be 'Ascend'"):
        optimizer.target = "Ascend"
    with pytest.raises(NotImplementedError, match="'target' can't be set"):
        nn.SGD([w]).target = "CPU"


ERRORS = [
    (lambda w: nn.Momentum([w], -0.1, 0.9), ValueError, "'learning_rate'.*0 or more.*-0.1"),
    (lambda w: nn.Momentum([w], "a", 0.9), TypeError, "'learning_rate'.*got 'a'"),
    (lambda w: nn.Momentum(None, 0.1, 0.9), ValueError, "got None"),
    (lambda w: nn.Momentum([], 0.1, 0.9), ValueError, "must not be empty"),
    (lambda w: nn.Momentum([ms.Tensor(1.0)], 0.1, 0.9), TypeError, "got Tensor"),
    (lambda w: nn.Momentum(3, 0.1, 0.9), TypeError, "got int"),
    (lambda w: nn.Momentum([w], 0.1, 1), TypeError, "'momentum' must be a float, but got 1"),
    (lambda w: nn.Momentum([w], 0.1, -0.5), ValueError, "'momentum'.*-0.5"),
    (lambda w: nn.Momentum([w], 0.1, 0.9, weight_decay=-1.0), ValueError, "'weight_decay'.*-1.0"),
    (lambda w: nn.Momentum([w], 0.1, 0.9, weight_decay="a"), TypeError, "'weight_decay'.*'a'"),
    (lambda w: nn.Momentum([w], 0.1, 0.9, loss_scale=0.0), ValueError, "'loss_scale'.*above 0"),
    (lambda w: nn.Momentum([{"params": [w], "x": 1}], 0.1, 0.9), KeyError, r"got \['x'\]"),
    (lambda w: nn.Momentum([{"lr": 1.0}], 0.1, 0.9), KeyError, "'params'"),
    (lambda w: nn.Momentum([{"params": [w]}, {"params": [w]}], 0.1, 0.9), RuntimeError,
     "'w' is in the groups twice"),
    (lambda w: nn.Momentum([w, w], 0.1, 0.9), ValueError, "got 'w' twice"),
    (lambda w: nn.Momentum([w], ms.Tensor([[0.1]]), 0.9), ValueError, r"shape \(1, 1\)"),
    (lambda w: nn.Momentum([{"params": [w], "lr": [0.1]},
                            {"params": [parameter([1.0], "b")], "lr": [0.1, 0.2]}], 0.1, 0.9),
     ValueError, r"lengths \[1, 2\]"),
    (lambda w: nn.Momentum([{"params": [w]}, {"order_params": [w, w]}], 0.1, 0.9), ValueError,
     "1 parameters once, but got 2"),
    (lambda w: nn.Momentum([{"params": [w], "grad_centralization": 1}], 0.1, 0.9), TypeError,
     "'grad_centralization' must be a bool"),
    (lambda w: nn.Adam([w], beta1=1.0), ValueError, r"'beta1' must be in \(0.0, 1.0\)"),
    (lambda w: nn.Adam([w], beta1=1), TypeError, "'beta1' must be a float"),
    (lambda w: nn.Adam([w], foo=1), KeyError, "foo"),
    (lambda w: nn.Adam([w], use_lazy=True, use_offload=True), ValueError, "at most one"),
    (lambda w: nn.SGD([w], nesterov=True), ValueError, "'nesterov' needs"),
    (lambda w: nn.SGD([w], weight_decay=nn.WarmUpLR(0.1, 1)), TypeError, "got a Cell"),
    (lambda w: nn.FTRL([w], learning_rate=[0.1, 0.2]), ValueError, "one number"),
    (lambda w: nn.Rprop([w], etas=(0.5, 0.9)), ValueError, "above 1"),
    (lambda w: nn.AdaFactor([w], learning_rate=0.1), ValueError, "relative_step"),
    (lambda w: nn.Optimizer(0.1, [w])((w,)), NotImplementedError, "construct"),
    (lambda w: nn.SGD([w])((w, w)), ValueError, "1 parameters, but got 2"),
    (lambda w: nn.SGD([w])((ms.Tensor([1.0]),)), ValueError, r"shape \(2, 3\), but got \(1,\)"),
]


@pytest.mark.parametrize("make, kind, message", ERRORS)
def test_errors(make, kind, message, w):
    with pytest.raises(kind, match=message):
        make(w)


# -- bad steps ------------------------------------------------------------------------------------

@pytest.mark.parametrize("cut", [False, True], ids=["whole", "others are cut"])
@pytest.mark.parametrize("name", EVERY)
def test_a_refused_step_changes_nothing(name, cut, monkeypatch):
    monkeypatch.setattr(parts, "in_use", cut)

    def steps(bad):
        w = parameter([1.0, 2.0])
        optimizer = getattr(nn, name)([w], **EVERY[name])
        for gradients, kind in bad:
            with pytest.raises(kind, match=f"^For '{name}', the gradient"):
                optimizer(gradients)
        for _ in range(2):
            optimizer((ms.Tensor([0.5, -1.0]),))
        return w.asnumpy()

    np.testing.assert_array_equal(steps([(None, TypeError), ((None,), TypeError), ((), ValueError),
                                         ((ms.Tensor([1.0, 2.0, 3.0]),), ValueError)]), steps([]))


def test_errors_of_arguments(w):
    with pytest.raises(TypeError, match="For 'Adam', 'learning_rate'.*True"):
        nn.Adam([w], True)
    with pytest.raises(TypeError, match="For 'Lamb', .*missing 1 required positional argument"):
        nn.Lamb([w])
    with pytest.raises(TypeError, match="For 'TrainOneStepCell', 'optimizer'.*5"):
        nn.TrainOneStepCell(nn.Cell(), 5)
    with pytest.raises(TypeError, match="For 'TrainOneStepCell', 'network'.*None"):
        nn.TrainOneStepCell(None, None)


@pytest.mark.parametrize("kind", [nn.Momentum, nn.Adam])
def test_a_step_changes_no_attribute(kind):
    """A compiled step would look all its attributes over again."""
    net = nn.Dense(2, 2)
    rates = {"momentum": 0.9} if kind is nn.Momentum else {}
    optimizer = kind(net.trainable_params(), learning_rate=0.1, **rates)
    before = dict(vars(optimizer))
    optimizer(tuple(ops.ones_like(p) for p in net.trainable_params()))
    after = vars(optimizer)
    assert list(after) == list(before) and all(after[name] is before[name] for name in before)


@pytest.mark.parametrize("name", [
    "SGD", "Momentum", "Adam", "Lamb", "FTRL", "RMSProp", "ProximalAdagrad", "LazyAdam", "Adagrad",
    "ASGD", "Rprop", "AdaMax", "Adadelta", "LARS", "AdaFactor"])
def test_signatures_that_take_anything_as_in_mindspore(name):
    assert str(inspect.signature(getattr(nn, name).__init__)) == "(self, *args, **kwargs)"


def test_signatures_that_name_their_arguments_as_in_mindspore():
    for kind in (nn.AdamWeightDecay, nn.AdamOffload, nn.Optimizer):
        assert "learning_rate" in inspect.signature(kind.__init__).parameters


def test_a_list_of_rates_at_a_step():
    rates = nn.SGD([ms.Parameter(ms.Tensor([1.0]), name="w")], [0.1, 0.2, 0.3]).learning_rate
    for step, rate in ((-1, 0.3), (1, 0.2), (-3, 0.1)):
        found = rates(ms.Tensor(step))
        assert found.shape == () and float(found) == pytest.approx(rate)
    assert rates(ms.Tensor([2])).shape == (1,)
    for step in (3, 5, -4):
        with pytest.raises(RuntimeError, match="list of 3 learning rates ends before step"):
            rates(ms.Tensor(step))


@pytest.mark.parametrize("decay", [1.0, 1.5])
def test_adafactor_decays_weights_by_less_than_all(decay):
    weight = ms.Parameter(ops.ones(2), name="weight")
    with pytest.raises(ValueError, match=r"'weight_decay' must be in \[0, 1\)"):
        nn.AdaFactor([weight], weight_decay=decay)


def test_steps_of_rprop_may_be_of_one_size():
    w = ms.Parameter(ms.Tensor([1.0, -2.0]), name="w")
    step = nn.Rprop([w], 0.1, step_sizes=(0.25, 0.25))
    for _ in range(3):
        step((ms.Tensor([3.0, -1.0]),))
    np.testing.assert_allclose(w.asnumpy(), [0.25, -1.25], rtol=1e-6)
