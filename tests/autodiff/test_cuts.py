"""Warnings where a gradient ends by the meaning of an operation, and none where it doesn't matter.
"""

import logging
import warnings

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops
from lamella.core import cuts

POINT = [1.0, 2.0, 3.0]


@pytest.fixture(autouse=True)
def _fresh():
    cuts._seen.clear()


def helper(y):
    return float(y.sum())


def by_array(x):
    return (Tensor(x.asnumpy() * 2) * x).sum()


def by_array_and_variables(x):
    a = x.asnumpy()
    b = np.maximum(a, 0) * 2
    z = ms.Tensor(b)
    y = ops.exp(z)
    return (y * x).sum()


def by_number(x):
    return float(x.sum()) * x


def by_later_number(x):
    s = float(x.sum())
    y = x * 2
    return (s * y).sum()


def by_item(x):
    scale = 1.0 / (x * x).sum().item()
    x = x * scale
    return x.sum()


def by_list(x):
    return (Tensor((x * 2).tolist()) * x).sum()


def by_numpy_function(x):
    mean = np.median(x)
    return ((x - float(mean)) * x).sum()


def by_loop(x):
    parts = []
    for v in x:
        parts.append(Tensor(v.asnumpy()) * 2)
    return (ops.stack(parts) * x).sum()


def by_capsule(x):
    return (Tensor.from_dlpack((x * 2).to_dlpack()) * x).sum()


def with_aux(x):
    loss = (x * float(x[0])).sum()
    return loss, x


CUT = [by_array, by_array_and_variables, by_number, by_later_number, by_item, by_list,
       by_numpy_function, by_loop, by_capsule, with_aux]


@pytest.mark.parametrize("f", CUT, ids=lambda f: f.__name__)
def test_what_comes_back_warns_once(f):
    x = Tensor(POINT)
    with pytest.warns(UserWarning, match="inspect_gradients") as found:
        ms.grad(f)(x)
    lines = {w.lineno - f.__code__.co_firstlineno for w in found}
    assert len(found) == len(lines) and min(lines) > 0 and found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ms.grad(f)(x)


def test_a_lambda_warns():
    with pytest.warns(UserWarning, match="asnumpy"):
        ms.grad(lambda x: (Tensor(x.asnumpy() * 2) * x).sum())(Tensor(POINT))
    for read in (float, complex):
        with pytest.warns(UserWarning, match=read.__name__):
            ms.jvp(lambda x, read=read: abs(read(x.sum())) * x, Tensor(POINT), Tensor(POINT))


history = []
log = logging.getLogger("test_cuts")


def printed(x):
    loss = (x * x).sum()
    print(loss, float(loss), f"{float(loss):.3f}", loss.asnumpy())
    log.info("loss %f", loss.item())
    history.append(float(loss))
    return loss


def measured(x):
    y = x * 2
    predicted = y.asnumpy()
    correct = (predicted.argmax() == 2).mean()
    accuracy = float(correct) / len(predicted)
    logs = {"accuracy": accuracy, "norm": np.sqrt((y.asnumpy() ** 2).sum())}
    loss = (y * y).sum()
    logs["loss"] = float(loss)
    return loss, logs


def decided(x):
    loss = (x * x).sum()
    if float(loss) > 3 and loss.item() > 2:
        return loss * 2
    while x[0].item() < 0:
        x = x + 1
    return loss


def indexed(x):
    order = np.argsort(x.asnumpy())
    return ops.gather(x, Tensor(order), 0)[int(x[0])]


def stopped(x):
    scale = float(ops.stop_gradient(x).sum())
    with ms._no_grad():
        other = x.sum().item()
    return (x * scale * other).sum()


def of_constants(x):
    weights = Tensor([1.0, 2.0, 3.0])
    return (float(weights.sum()) * x * weights.asnumpy()[0]).sum()


def by_helper_for_a_log(x):
    log.info("%f", helper(x))
    return (x * x).sum()


@pytest.mark.parametrize("f", [printed, decided, indexed, stopped, of_constants,
                               by_helper_for_a_log], ids=lambda f: f.__name__)
def test_ordinary_programs_do_not_warn(f):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ms.grad(f)(Tensor(POINT))
        ms.vjp(f, Tensor(POINT))[1](Tensor(1.0))


def test_metrics_beside_a_loss_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (loss, logs), gradient = ms.value_and_grad(measured, has_aux=True)(Tensor(POINT))
    assert logs["loss"] == 56 and gradient.asnumpy().tolist() == [8, 16, 24]


class Normalized(nn.Cell):
    def __init__(self, used):
        super().__init__()
        self.mean = ms.Parameter(ops.zeros(3), name="mean", requires_grad=False)
        self.used = used

    def construct(self, x):
        self.mean.set_data(0.9 * self.mean + 0.1 * x)
        return ((x - self.mean if self.used else x) ** 2).sum()


def test_assignments_warn_where_the_result_depends_on_them():
    with pytest.warns(UserWarning, match="assignment to parameter 'mean'") as found:
        gradient = ms.grad(Normalized(used=True))(Tensor(POINT))
    assert found[0].filename == __file__
    np.testing.assert_allclose(gradient.asnumpy(), np.array(POINT) * 1.8, rtol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        net = Normalized(used=False)
        assert ms.grad(net)(Tensor(POINT)).asnumpy().tolist() == [2, 4, 6]
        np.testing.assert_allclose(net.mean.asnumpy(), np.array(POINT) * 0.1, rtol=1e-6)


def test_assignments_to_weights():
    w = ms.Parameter(Tensor(POINT), name="w")

    def f(x):
        w.set_data(w * x)
        return (w * 2).sum()

    with pytest.warns(UserWarning, match="assignment to parameter 'w'"):
        gradient = ms.grad(f, None, w)(Tensor(POINT))
    assert gradient.asnumpy().tolist() == [2, 2, 2]


def test_batch_normalization_does_not_warn():
    net = nn.SequentialCell(nn.BatchNorm1d(3), nn.Dense(3, 2), nn.BatchNorm1d(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ms.grad(lambda x: net(net[0](x)).sum(), weights=net.trainable_params())(ops.rand(4, 3))


def test_a_step_inside_of_a_gradient_warns():
    w = ms.Parameter(Tensor(POINT), name="w")
    optimizer = nn.SGD([w], 0.1)
    inner = ms.grad(lambda x: (w * w * x).sum(), None, (w,))

    def outer(x):
        optimizer(inner(x))
        return (w * x).sum()

    with pytest.warns(UserWarning, match="step of 'SGD'"):
        ms.grad(outer)(Tensor(POINT))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer(inner(Tensor(POINT)))


def test_rules_that_close_over_what_is_differentiated_warn():
    def by_bprop(x):
        class Scaled(nn.Cell):
            def construct(self, y):
                return y * x

            def bprop(self, y, out, dout):
                return (dout * x,)

        return Scaled()(x * 2).sum()

    def by_function(x):
        class Scaled(ms._Function):
            @staticmethod
            def forward(ctx, y):
                return y * x

            @staticmethod
            def backward(ctx, gradient):
                return gradient * x

        return Scaled.apply(x * 2).sum()

    class Kept(nn.Cell):
        def construct(self, y):
            return y * self.scale

        def bprop(self, y, out, dout):
            return (dout * self.scale,)

    def by_attribute(x):
        cell = Kept()
        cell.scale = x
        return cell(x * 2).sum()

    for f in (by_bprop, by_function, by_attribute):
        with pytest.warns(UserWarning, match="is none of its inputs|which is\nnone of its|none of"):
            assert ms.grad(f)(Tensor(POINT)).asnumpy().tolist() == [2, 4, 6]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        constant = Tensor(POINT)

        class Fixed(nn.Cell):
            def construct(self, y):
                return y * constant

            def bprop(self, y, out, dout):
                return (dout * constant,)

        ms.grad(Fixed())(Tensor(POINT))


class Holder:
    def __init__(self):
        self.kept = 0.0

    def times(self, number, x):
        return x * number


def by_annotated_and_added(x):
    a: float = x.sum().item()
    a += 1
    return x * a


def by_parts_of_a_tuple(x):
    a, b = 1.0, float(x.sum())
    return x * b + a


def by_one_of_several(x):
    a, b = divmod(float(x.sum()), 2.0)
    return x * b


def by_starred(x):
    a, *b = x.tolist()
    return x * b[0]


def by_walrus(x):
    if (a := float(x.sum())) > 0:
        return x * a
    return x


def by_comprehension(x):
    return ops.stack([x * v for v in x.tolist()])


def by_condition(x):
    a = x.sum().item() if x.shape[0] else 0.0
    return x * a


def by_dict(x):
    a = {"s": float(x.sum())}
    return x * a["s"]


def by_attribute_of_an_object(x):
    holder = Holder()
    holder.kept = float(x.sum())
    return x * holder.kept


def by_method_of_an_object(x):
    return Holder().times(float(x.sum()), x)


def by_function_of_a_module(x):
    return ops.mul(x.sum().item(), x)


def by_function(x):
    return scaled(float(x.sum()), 2)


def scaled(number, times):
    return Tensor([1.0]) * number * times


def by_plain_functions(x):
    return x * max(abs(round(x.sum().item(), 3)), 1)


def by_try(x):
    a = 0.0
    try:
        b = 1.0
    except ValueError:
        a = 2.0
    else:
        a = float(x.sum())
    finally:
        b = 2.0
    return x * a * b


def by_finally_and_with(x):
    try:
        pass
    finally:
        with ms._no_grad():
            a = [0.0]
        for _ in range(1):
            a[0] = float(x.sum())
    return x * a[0]


def by_handler(x):
    a = 1.0
    try:
        raise ValueError
    except ValueError:
        a = float(x.sum())
    return x * a


def by_generator(x):
    parts = list(float(v) for v in x)  # noqa: C400  (whose frame holds the iterator alone)
    return x * 2 * parts[0]


def by_negation(x):
    return x * -float(x.sum())


def first_of_several(x):
    a = float(x.sum())
    return x * a, 3


@pytest.mark.parametrize("f", [
    by_annotated_and_added, by_parts_of_a_tuple, by_one_of_several, by_starred, by_walrus,
    by_comprehension, by_condition, by_dict, by_attribute_of_an_object, by_method_of_an_object,
    by_function_of_a_module, by_function, by_plain_functions, by_try, by_finally_and_with,
    by_handler, by_generator, by_negation, first_of_several], ids=lambda f: f.__name__)
def test_ways_in_which_a_number_comes_back(f):
    with pytest.warns(UserWarning, match="The gradient doesn't flow through"):
        ms.vjp(f, Tensor(POINT))


def other_of_several(x):
    return x * 2, x * float(x.sum())


def other_part_of_a_tuple(x):
    _, b = float(x.sum()), 2.0
    return x * b


def compared(x):
    return x * (float(x.sum()) > 1)


def not_of_it(x):
    return x * (not float(x.sum()))


def in_a_text(x):
    name = f"{float(x.sum()):.2f}"
    return x * len(name)


def counted(x):
    return x * len(x.tolist()) * isinstance(x.tolist(), list) * x.asnumpy().size


def about_it(x):
    return x * x.asnumpy().shape[0] * int(np.argmax(x.asnumpy()))


def in_an_inner_function(x):
    def show():
        value = float(x.sum())
        return value * x

    history.append(show)
    return x * 2


def of_nothing(x):
    history.append(float(x.sum()))
    return None if x.shape[0] == 0 else x * 1.0


def as_an_array(x):
    return x * 1.0, np.sqrt(x.asnumpy())


@pytest.mark.parametrize("f", [
    other_of_several, other_part_of_a_tuple, compared, not_of_it, in_a_text, counted, about_it,
    in_an_inner_function, of_nothing, as_an_array], ids=lambda f: f.__name__)
def test_numbers_that_do_not_come_back(f):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ms.jvp(f, Tensor(POINT), Tensor(POINT))
        ms.grad(lambda x: f(x)[0].sum() if isinstance(f(x), tuple) else f(x).sum())(Tensor(POINT))


def test_an_array_alone_is_no_cut_of_a_tensor():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ms.grad(lambda x: (x * 2).sum() + 0 * len(x.asnumpy()))(
            Tensor(POINT)).tolist() == [2, 2, 2]
