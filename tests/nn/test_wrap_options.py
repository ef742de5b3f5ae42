"""Cells that wrap a network: every option by hand-made derivatives, and what they refuse."""

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.nn.wrap.loss_scale import _grad_overflow, grad_scale, has_overflow


class Cubic(nn.Cell):
    """w x^3 + b y; its derivatives are 3 w x^2 and b, and x^3 and y."""

    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(Tensor(2.0), name="w")
        self.b = ms.Parameter(Tensor(5.0), name="b")

    def construct(self, x, k=None, y=None):
        out = self.w * x ** 3
        return out if y is None else out + self.b * y


X, Y = Tensor(3.0), Tensor(7.0)


def numbers(found):
    return [numbers(each) for each in found] if isinstance(found, (tuple, list)) else (
        None if found is None else float(found))


@pytest.mark.parametrize("get_all, by_list, inputs, wanted", [
    (False, False, (X,), 54.0), (True, False, (X,), [54.0]), (False, True, (X,), [27.0, 0.0]),
    (True, True, (X,), [[54.0], [27.0, 0.0]]), (True, False, (X, 4, Y), [54.0, 5.0]),
    (False, False, (X, "a", Y), 54.0), (True, True, (X, None, Y), [[54.0, 5.0], [27.0, 7.0]])])
@pytest.mark.parametrize("sens", [None, 2.0])
def test_values_and_derivatives(get_all, by_list, inputs, wanted, sens):
    net = Cubic()
    run = nn.ForwardValueAndGrad(net, list(net.trainable_params()), get_all, by_list,
                                 sens is not None)
    value, found = run(*inputs, *([] if sens is None else [Tensor(sens)]))
    assert float(value) == 54.0 + (35.0 if inputs[-1] is Y else 0.0)

    def scaled(each):
        return [scaled(one) for one in each] if isinstance(each, list) else each * (sens or 1)

    assert numbers(found) == scaled(wanted)
    assert isinstance(found, tuple) is isinstance(wanted, list)
    assert net.requires_grad  # its calls are recorded


@pytest.mark.parametrize("name", ["get_all", "get_by_list", "sens_param"])
def test_options_are_bools(name):
    with pytest.raises(TypeError, match=f"'{name}'"):
        nn.ForwardValueAndGrad(Cubic(), **{name: 1})


@pytest.mark.parametrize("sens, factor", [(None, 1.0), (3, 3.0), (0.5, 0.5), (Tensor(4.0), 4.0),
                                          (-1.0, -1.0)])
@pytest.mark.parametrize("gives", [False, True])
def test_a_step_from_another_gradient(sens, factor, gives):
    net = Cubic()
    step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.0625), sens, gives)
    found = step(X, None, Y)
    loss, grads = found if gives else (found, None)
    assert float(loss) == 54.0 + 35.0
    assert grads is None or {k: float(v) for k, v in grads.items()} == {
        "w": 27.0 * factor, "b": 7.0 * factor}
    assert float(net.w) == 2.0 - 27.0 * factor / 16 and float(net.b) == 5.0 - 7.0 * factor / 16
    assert step.sense_flag is (sens is not None) and step.parallel_mode == "stand_alone"
    assert step.grad_reducer((X,)) == (X,) and not step.reducer_flag


@pytest.mark.parametrize("given, error, text", [
    ((lambda x: x, None), TypeError, "'network' must be a Cell with 'set_grad'"),
    ((Cubic(), 3), TypeError, "'optimizer' must be a Cell with 'parameters', but got 3"),
    ((Cubic(), nn.SGD(Cubic().trainable_params()), 0), ValueError, "'sens' must not be 0"),
    ((Cubic(), nn.SGD(Cubic().trainable_params()), 0.0), ValueError, "'sens' must not be 0")],
    ids=range(4))
def test_what_is_no_step(given, error, text):
    with pytest.raises(error, match=text):
        nn.TrainOneStepCell(*given)


def test_gradients_of_a_network_with_and_without_a_loss():
    net = Cubic()
    plain = nn.WithGradCell(net)
    assert net.training and numbers(plain(X, None, Y)) == [27.0, 7.0]
    with_loss = nn.WithGradCell(net, lambda out, label: (out - label) ** 2)
    assert numbers(with_loss(X, Tensor(50.0))) == [27.0 * 2 * 4.0, 0.0]
    started = nn.WithGradCell(net, lambda out, label: (out - label) ** 2, Tensor(0.5))
    assert numbers(started(X, Tensor(50.0))) == [27.0 * 4.0, 0.0]


OVERFLOWS = [
    ([], False), ([[]], False), ([[], [np.inf]], True), ([[1, 2]], False),
    ([[1.0], [np.nan]], True), ([[-np.inf, 0.0]], True), ([np.array([1 + 2j])], False),
    ([np.array([complex(1, np.inf)])], True), ([np.array([6e4], np.float16)], False),
    ([np.array([3e38, 3e38], np.float32)], False), ([np.array([True])], False)]


@pytest.mark.parametrize("values, wanted", OVERFLOWS, ids=range(len(OVERFLOWS)))
def test_overflows(values, wanted):
    given = tuple(Tensor(np.asarray(each)) for each in values)
    assert bool(has_overflow(given)) is wanted
    if len(given) == 1:
        found = _grad_overflow(given[0])
        assert found.shape == (1,) and found.dtype is ms.float32 and float(found) == wanted


@pytest.mark.parametrize("scale", [4.0, 4, Tensor(4.0), Tensor([4.0])])
@pytest.mark.parametrize("kind", [ms.float16, ms.float32, ms.float64])
def test_gradients_are_divided_by_the_scale(scale, kind):
    found = grad_scale(scale, Tensor([2.0, -6.0], kind))
    assert found.dtype is kind and found.tolist() == [0.5, -1.5]


@pytest.mark.parametrize("factor, window, overflows, wanted", [
    (4, 1, [0, 0, 1, 0], [32, 128, 32, 128]), (2.5, 2, [0, 1, 0, 0], [8, 3.2, 3.2, 8]),
    (2, 2, [1, 1, 1, 1, 1], [4, 2, 1, 1, 1]), (2, 3, [0, 0, 0, 0, 0, 0], [8, 8, 16, 16, 16, 32])])
@pytest.mark.parametrize("shape", [(), (1,)])
def test_scales_that_change(factor, window, overflows, wanted, shape):
    scale = ms.Parameter(ops.ones(shape) * 8, name="scale")
    update = nn.DynamicLossScaleUpdateCell(8.0, factor, window)
    assert update.get_loss_scale() == 8.0
    found = []
    for step, overflow in enumerate(overflows):
        given = [bool(overflow), Tensor(bool(overflow)), Tensor([float(overflow)])][step % 3]
        assert update(scale, given) is given
        found.append(float(scale))
    assert found == pytest.approx(wanted, rel=1e-6) and scale.shape == shape
    fixed = nn.FixedLossScaleUpdateCell(8.0)
    assert fixed(scale, 3) == 3 and fixed.get_loss_scale() == 8.0
    assert float(scale) == pytest.approx(wanted[-1], rel=1e-6)


@pytest.mark.parametrize("given", [(8.0, "2", 3), (8.0, 2, 3.0), (8.0, None, 3), (8.0, 2, None)])
def test_settings_of_scales(given):
    with pytest.raises(TypeError, match="'scale_factor'|'scale_window'"):
        nn.DynamicLossScaleUpdateCell(*given)


class Product(nn.Cell):
    def construct(self, x, y):
        return (x * y).sum()


@pytest.mark.parametrize("make, parts", [
    (lambda n: nn.GradAccumulationCell(n, 1), 1), (lambda n: nn.GradAccumulationCell(n, 3), 3),
    (lambda n: nn.MicroBatchInterleaved(n, 6), 6), (lambda n: nn.PipelineCell(n, 2), 2)],
    ids=range(4))
def test_parts_of_batches(make, parts):
    net, x = make(Product()), Tensor(np.arange(12.0).reshape(6, 2))
    assert float(net(x, x + 1)) == (x * (x + 1)).sum()
    cut = nn.wrap.micro_batch._MicroBatch(parts)
    for i in range(parts):
        first, second = cut(i, x, x[:, 0])
        part = slice(i * 6 // parts, (i + 1) * 6 // parts)
        assert (first == x[part]).all() and (second == x[part, 0]).all()
    for wrong, text in (((x, Tensor(1.0)), "but got a scalar"), ((x, 3), "'inputs'")):
        with pytest.raises((TypeError, ValueError), match=text):
            net(*wrong)
    if parts > 1:
        with pytest.raises(ValueError, match=f"a multiple of the {parts} parts"):
            net(x, x[:5])


@pytest.mark.parametrize("make, error, text", [
    (lambda: nn.GradAccumulationCell(Product(), 1.5), TypeError, "micro_size"),
    (lambda: nn.MicroBatchInterleaved(Product(), 0), ValueError, "interleave_num"),
    (lambda: nn.PipelineCell(Product(), 0), ValueError, "micro_size"),
    (lambda: nn.PipelineCell(3, 1), TypeError, "'network' must be a Cell"),
    (lambda: nn.PipelineCell(Product(), 1).shard(((1,),)), ValueError, "no 'shard'"),
    (lambda: nn.PipelineCell(Product(), 1, segment_config={"a": 0}), KeyError, "no Cell 'a'"),
    (lambda: nn.PipelineCell(Product(), 1, {"Product()": -1}), ValueError, "pipeline_stage"),
    (lambda: nn.DistributedGradReducer([], degree=1.5), ValueError, "'degree'"),
    (lambda: nn.DistributedGradReducer([], degree=-1), ValueError, "'degree'")], ids=range(9))
def test_what_is_not_cut_in_parts(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_stages_and_segments_by_path():
    net = nn.SequentialCell(nn.SequentialCell(nn.ReLU()), nn.Tanh())
    nn.PipelineCell(net, 1, {"0": 0, "0.0": 1, "1": 2}, {"1": 1})
    assert (net[0].pipeline_stage, net[0][0].pipeline_stage, net[1].pipeline_stage) == (0, 1, 2)
    assert net[1].pipeline_segment == 1 and not hasattr(net[0], "pipeline_segment")
    alone = Product()
    nn.PipelineCell(alone, 1, {"Product()": 3}, {str(alone): 0})
    assert (alone.pipeline_stage, alone.pipeline_segment) == (3, 0)


def test_gradients_of_stages_are_divided():
    given = (Tensor([2.0]), Tensor([4.0], ms.float16))
    found = nn.PipelineGradReducer([], 4.0)(given)
    assert [each.tolist() for each in found] == [[0.5], [1.0]]
    assert [each.dtype for each in found] == [ms.float32, ms.float16]
    assert nn.PipelineGradReducer([])(given)[0].tolist() == [2.0]


def test_evaluation_leaves_types_as_they_are_unless_asked():
    half, label = Tensor([1.5], ms.float16), (Tensor([1.0], ms.float64), Tensor([2]))
    for cast, kinds in ((False, [ms.float16, ms.float64, ms.int64]),
                        (True, [ms.float32, ms.float32, ms.int64])):
        loss, out, labels = nn.WithEvalCell(nn.ReLU(), lambda a, b: a.dtype, cast)(half, label)
        assert [loss, *(each.dtype for each in labels)] == kinds and out.dtype is loss


def test_forward_and_backward_of_several_inputs():
    value, tangent = nn.Jvp(lambda x, y: x * y)(X, Y, (Tensor(1.0), Tensor(2.0)))
    assert numbers([value, tangent]) == [21.0, 7.0 + 6.0]
    value, pulled = nn.Vjp(lambda x, y: x * y)(X, Y, Tensor(2.0))
    assert numbers([value, pulled]) == [21.0, [14.0, 6.0]] and isinstance(pulled, tuple)
    assert numbers(nn.Vjp(lambda x: x * x)(X, Tensor(2.0))) == [9.0, 12.0]


def test_what_subclasses_of_the_scaled_step_read():
    net = Cubic()
    step = nn.TrainOneStepWithLossScaleCell(net, nn.SGD(net.trainable_params(), 0.1), Tensor(4.0))
    assert (float(step.base), step.base.dtype) == (1.0, ms.float32)
    assert (int(step.base0), step.base0.dtype) == (0, ms.int32)
    assert step.is_distributed is False
    status, given = step.start_overflow_check(None, X)
    assert given is X and status.dtype == ms.int32 and status.asnumpy().tolist() == [0] * 8
    assert not step.get_overflow_status(status, (X, Y))
    assert step.get_overflow_status(status, (X, Tensor(np.inf)))


@pytest.mark.parametrize("wrap", [
    lambda net: nn.WithLossCell(net, None), lambda net: nn.WithEvalCell(net, None),
    lambda net: nn.WithGradCell(net), nn.ForwardValueAndGrad, nn.VirtualDatasetCellTriple,
    lambda net: nn.TrainOneStepCell(net, nn.SGD(net.trainable_params())),
    lambda net: nn.GradAccumulationCell(net, 2), lambda net: nn.PipelineCell(net, 2)])
def test_a_wrapper_leaves_the_names_of_parameters_alone(wrap):
    net = Cubic()
    wrap(net)
    assert [p.name for p in net.get_parameters()] == ["w", "b"]


def test_what_subclasses_of_a_step_read():
    net = Cubic()
    step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params()))
    assert (step.sens, step.sense_flag, step.use_graceful_exit) == (1.0, False, False)
    assert numbers(step.grad_no_sens(net, step.weights)(X, None, Y)) == [27.0, 7.0]
    assert numbers(step.grad(net, step.weights)(X, None, Y, Tensor(2.0))) == [54.0, 14.0]
