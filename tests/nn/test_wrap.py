"""Cells that wrap a network."""

import numpy as np
import pytest

import lamella as ms
from lamella import nn, ops


class Line(nn.Cell):
    """The mean distance of ``w · x`` from `y`."""

    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(ms.Tensor([1.0, 2.0]), name="w")

    def construct(self, x, y):
        return abs(self.w @ x - y)


X, Y = ms.Tensor([3.0, 1.0]), ms.Tensor(1.0)


def test_train_one_step():
    net = Line()
    step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.5))
    loss = step(X, Y)
    assert loss.asnumpy() == 4.0
    np.testing.assert_array_equal(net.w.asnumpy(), [-0.5, 1.5])
    assert [p.name for p in step.trainable_params()][:1] == ["w"]


def test_train_one_step_with_sens_and_gradients():
    net = Line()
    step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.5), sens=2.0,
                               return_grad=True)
    loss, grads = step(X, Y)
    assert loss.asnumpy() == 4.0 and list(grads) == ["w"]
    np.testing.assert_array_equal(grads["w"].asnumpy(), [6.0, 2.0])
    np.testing.assert_array_equal(net.w.asnumpy(), [-2.0, 1.0])
    with pytest.raises(ValueError, match="'sens' must not be 0"):
        nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.5), sens=0)


def test_a_network_of_several_losses_is_summed():
    class Two(Line):
        def construct(self, x, y):
            return super().construct(x, y), self.w.sum()

    net = Two()
    step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.5))
    assert [out.asnumpy() for out in step(X, Y)] == [4.0, 3.0]
    np.testing.assert_array_equal(net.w.asnumpy(), [-1.0, 1.0])


def scaled(scale, net=None):
    net = net or Line()
    return net, nn.TrainOneStepWithLossScaleCell(net, nn.SGD(net.trainable_params(), 0.5), scale)


@pytest.mark.parametrize("scale", [ms.Tensor(1024.0), ms.Tensor([1024.0]),
                                   nn.FixedLossScaleUpdateCell(1024.0)])
def test_a_scaled_step(scale):
    net, step = scaled(scale)
    loss, overflow, used = step(X, Y)
    assert loss.asnumpy() == 4.0 and not overflow and used.asnumpy() == 1024.0
    np.testing.assert_array_equal(net.w.asnumpy(), [-0.5, 1.5])


def test_an_overflow_leaves_out_the_update_and_halves_the_scale():
    net, step = scaled(nn.DynamicLossScaleUpdateCell(2.0**120, 2.0**100, 10))
    _, overflow, used = step(X * 1e30, Y)
    assert overflow and used.asnumpy() == 2.0**120
    np.testing.assert_array_equal(net.w.asnumpy(), [1.0, 2.0])
    assert step.scale_sense.asnumpy() == 2.0**20
    assert not step(X, Y)[1]
    np.testing.assert_array_equal(net.w.asnumpy(), [-0.5, 1.5])


def test_dynamic_scale_over_many_steps():
    # the scales that MindSpore 2.10 gives
    scale = ms.Parameter(ms.Tensor(8.0), name="scale")
    update = nn.DynamicLossScaleUpdateCell(8.0, 2, 3)
    overflows = [0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    found = []
    for overflow in overflows:
        update(scale, ms.Tensor(bool(overflow)))
        found.append(scale.asnumpy().item())
    assert found == [8, 8, 16, 16, 8, 8, 8, 16, 16, 8, 4, 2, 1, 1]
    assert [p.name for p in update.get_parameters()] == ["current_iterator_step",
                                                         "last_overflow_iterator_step"]


def test_a_subclass_in_the_way_of_model_zoos():
    class Clipping(nn.TrainOneStepWithLossScaleCell):
        def construct(self, *inputs):
            loss = self.network(*inputs)
            scale = self.scale_sense
            status, scale = self.start_overflow_check(loss, scale)
            sens = loss * 0 + scale
            grads = self.grad(self.network, self.weights)(*inputs, sens)
            grads = tuple((g / scale).clip(-1.0, 1.0) for g in grads)
            grads = self.grad_reducer(grads)
            overflow = self.process_loss_scale(self.get_overflow_status(status, grads))
            if not overflow:
                self.optimizer(grads)
            return loss, overflow, scale.value()

    net = Line()
    step = Clipping(net, nn.SGD(net.trainable_params(), 0.5), ms.Tensor(4.0))
    loss, overflow, _ = step(X, Y)
    assert loss.asnumpy() == 4.0 and not overflow
    np.testing.assert_array_equal(net.w.asnumpy(), [0.5, 1.5])


def test_the_scale_can_be_set():
    _, step = scaled(ms.Tensor(4.0))
    step.set_sense_scale(ms.Tensor(8.0))
    assert step.scale_sense.asnumpy() == 8.0
    with pytest.raises(TypeError, match="must be a Tensor, but got 3 of type int"):
        step.set_sense_scale(3)


@pytest.mark.parametrize("scale, kind, message", [
    (3, TypeError, "a Cell or a Tensor, but got int"),
    (ms.Tensor([1.0, 2.0]), ValueError, r"shape \(\) or \(1,\), but got \(2,\)")])
def test_wrong_scales(scale, kind, message):
    with pytest.raises(kind, match=message):
        scaled(scale)


@pytest.mark.parametrize("bad", [float("inf"), float("-inf"), float("nan")])
def test_overflow_status(bad):
    _, step = scaled(ms.Tensor(4.0))
    fine = ms.Tensor([65504.0, -65504.0], ms.float16)
    assert not step.get_overflow_status(None, (fine, ms.Tensor([1e38]), ms.Tensor([3])))
    assert step.get_overflow_status(None, (fine, ms.Tensor([[1.0, bad]])))
    assert not step.get_overflow_status(None, (ms.Tensor([3]),))


def test_with_loss_grad_and_eval():
    class Twice(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = ms.Parameter(ms.Tensor(2.0), name="w")

        def construct(self, x):
            return self.w * x

    def loss(out, label):
        return (out - label).sum()

    net = Twice()
    x, y = ms.Tensor([1.0, 3.0]), ms.Tensor([0.0, 1.0])
    with_loss = nn.WithLossCell(net, loss)
    assert with_loss(x, y).asnumpy() == 7.0 and with_loss.backbone_network is net
    assert nn.WithGradCell(net, loss)(x, y)[0].asnumpy() == 4.0
    assert nn.WithGradCell(with_loss, sens=ms.Tensor(3.0))(x, y)[0].asnumpy() == 12.0
    out = nn.WithEvalCell(net, loss, add_cast_fp32=True)(ms.Tensor([1.5], ms.float16),
                                                         ms.Tensor([1], ms.int32))
    assert [o.dtype for o in out] == [ms.float32, ms.float32, ms.int32]
    with pytest.raises(TypeError, match="'add_cast_fp32'"):
        nn.WithEvalCell(net, loss, 1)


def test_forward_value_and_grad():
    net = Line()
    weights = net.trainable_params()
    value, grads = nn.ForwardValueAndGrad(net, weights, get_by_list=True)(X, Y)
    assert value.asnumpy() == 4.0 and len(grads) == 1
    value, (inputs, grads) = nn.ForwardValueAndGrad(net, weights, True, True)(X, Y)
    assert len(inputs) == 2 and inputs[1].asnumpy() == -1.0
    value, own = nn.ForwardValueAndGrad(net, sens_param=True)(X, Y, ms.Tensor(2.0))
    np.testing.assert_array_equal(own.asnumpy(), [2.0, 4.0])
    with pytest.raises(TypeError, match="'weights' must be a tuple or list"):
        nn.ForwardValueAndGrad(net, get_by_list=True)
    with pytest.raises(TypeError, match="a Cell or a function"):
        nn.ForwardValueAndGrad(3)


@pytest.mark.parametrize("wrap", [
    lambda net, _: nn.WithGradCell(net), lambda net, _: nn.ForwardValueAndGrad(net),
    lambda net, _: nn.WithEvalCell(net, nn.MSELoss()), nn.TrainOneStepCell])
def test_wrappers_leave_the_names_of_weights(wrap):
    net = Line()
    wrapper = wrap(net, nn.SGD(net.trainable_params(), 0.1))
    assert [p.name for p in wrapper.trainable_params() if p is net.w] == ["w"]


class Mean(nn.Cell):
    def construct(self, x, y):
        return (x * y).mean()


@pytest.mark.parametrize("make", [lambda n: nn.GradAccumulationCell(n, 2), nn.MicroBatchInterleaved,
                                  lambda n: nn.PipelineCell(n, 2)])
def test_micro_batches(make):
    x = ms.Tensor([1.0, 3.0, 5.0, 7.0])
    net = make(Mean())
    assert net(x, x).asnumpy() == 5.0 + 37.0
    with pytest.raises(ValueError, match=r"multiple of the 2 parts, but got shape \(3,\)"):
        net(x[:3], x[:3])


def test_micro_batch_errors():
    with pytest.raises(ValueError, match="'micro_size' must be an int above 0"):
        nn.GradAccumulationCell(Mean(), 0)
    with pytest.raises(TypeError, match="'network' must be a Cell"):
        nn.MicroBatchInterleaved(3)
    with pytest.raises(KeyError, match="no Cell 'nowhere'"):
        nn.PipelineCell(Mean(), 2, stage_config={"nowhere": 0})


def test_stages_are_noted():
    net = nn.WithLossCell(Mean(), lambda out, label: out)
    nn.PipelineCell(net, 2, stage_config={"_backbone": 1})
    assert net.backbone_network.pipeline_stage == 1


def test_parameter_update_and_reducer():
    w = ms.Parameter(ms.Tensor([1.0]), name="w")
    nn.ParameterUpdate(w)(ms.Tensor([4.0]))
    assert w.asnumpy() == 4.0
    with pytest.raises(TypeError, match="'param' must be a Parameter"):
        nn.ParameterUpdate(ms.Tensor([1.0]))
    grads = (ms.Tensor([1.0]),)
    assert nn.DistributedGradReducer([w], mean=True, degree=4)(grads) is grads
    with pytest.raises(ValueError, match="'degree'.*0"):
        nn.DistributedGradReducer([w], degree=0)


def test_operators_of_old_programs_are_there():
    _, step = scaled(ms.Tensor(4.0))
    for name, operator in (("hyper_map", "HyperMap"), ("reduce_sum", "ReduceSum"),
                           ("less_equal", "LessEqual"), ("logic_not", "LogicalNot")):
        assert isinstance(getattr(step, name), getattr(ops, operator))
