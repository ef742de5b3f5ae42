"""`jvp` and `linearize`: results, errors, threads, and kernels without a forward derivative."""

import threading

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Parameter, Tensor, nn, ops
from lamella.autodiff.tree import tensors
from lamella.core.state import state

from .arrays import V, X, Y, arrays, square


def product_and_sum(x, y):
    return x * y, x + y


# as MindSpore 2.10 prints them
@pytest.mark.parametrize("call, expected", [
    (lambda: ms.jvp(square, X, V), [[1.0, 4.0], [2.0, 40.0]]),
    (lambda: ms.jvp(square, (X,), V), [[1.0, 4.0], [2.0, 40.0]]),
    (lambda: ms.jvp(square, (X,), (V,)), [[1.0, 4.0], [2.0, 40.0]]),
    (lambda: ms.jvp(lambda x, y: x * y, [X, Y], [V, V]), [[3.0, 8.0], [4.0, 60.0]]),
    (lambda: ms.jvp(product_and_sum, (X, Y), (V, V)),
     [[[3.0, 8.0], [4.0, 6.0]], [[4.0, 60.0], [2.0, 20.0]]]),
    (lambda: ms.jvp(product_and_sum, (X, Y), (V, V), has_aux=True),
     [[3.0, 8.0], [4.0, 60.0], [4.0, 6.0]]),
    (lambda: ms.jvp(lambda x, y: (x * y, x + y, x - y), (X, Y), (V, V), True),
     [[3.0, 8.0], [4.0, 60.0], [[4.0, 6.0], [-2.0, -2.0]]]),
    (lambda: ms.jvp(square, Tensor([1, 2], ms.int32), Tensor([1, 2], ms.int32)), [[1, 4], [2, 8]]),
    (lambda: ms.jvp(lambda x: [x * x, x], X, V), [[[1.0, 4.0], [1.0, 2.0]],
                                                   [[2.0, 40.0], [1.0, 10.0]]]),
    (lambda: nn.Jvp(square)(X, V), [[1.0, 4.0], [2.0, 40.0]]),
    (lambda: nn.Jvp(lambda x, y: x * y)(X, Y, (V, V)), [[3.0, 8.0], [4.0, 60.0]]),
    (lambda: nn.Vjp(square)(X, V), [[1.0, 4.0], [2.0, 40.0]]),
    (lambda: nn.Vjp(lambda x, y: x * y)(X, Y, V), [[3.0, 8.0], [[3.0, 40.0], [1.0, 20.0]]]),
    (lambda: nn.Vjp(product_and_sum)(X, Y, (V, V)),
     [[[3.0, 8.0], [4.0, 6.0]], [[4.0, 50.0], [2.0, 30.0]]]),
])
def test_what_comes_back(call, expected):
    assert arrays(call()) == expected


@pytest.mark.parametrize("compiled", [False, True])
def test_arguments_whose_elements_share_memory(compiled):
    x = Tensor([[1.0], [2.0]]).broadcast_to((2, 3))
    v = Tensor(np.arange(6.0).reshape(2, 3), ms.float32)

    def found(x, v):
        by_x = ms.grad(lambda x: (x ** 3).sum())
        return (*ms.jvp(lambda x: (x ** 3).sum(), (x,), (v,)), ms.jvp(by_x, (x,), (v,))[1],
                ms.jet(lambda x: x * x, x, ops.stack([v, v]))[1])

    value, tangent, second, series = (ms.jit(found) if compiled else found)(x, v)
    a, b = x.asnumpy(), v.asnumpy()
    assert (float(value), float(tangent)) == (27.0, (3 * a ** 2 * b).sum())
    np.testing.assert_allclose(second.asnumpy(), 6 * a * b)
    np.testing.assert_allclose(series.asnumpy(), [2 * a * b, 2 * b * b + 2 * a * b])
    each = ms.vmap(lambda x, v: ms.jvp(lambda x: x ** 3, x.broadcast_to((3,)), v)[1])(x[:, 0], v)
    np.testing.assert_allclose(each.asnumpy(), 3 * a ** 2 * b)


def test_integers_keep_their_type():
    value, tangent = ms.jvp(square, Tensor([1, 2], ms.int32), Tensor([1, 2], ms.int32))
    assert value.dtype is ms.int32 and tangent.dtype is ms.int32


def test_nested_arguments_and_directions_left_out():
    def f(tree, y):
        return {"a": tree["x"][0] * y, "b": (tree["x"][1] ** 2, tree["n"])}

    tree = {"x": [X, Y], "n": 7}
    value, tangent = ms.jvp(f, (tree, Y), ({"x": [V, None], "n": None}, None))
    assert value["b"][1] == 7
    assert arrays(tangent["a"]) == [3.0, 40.0] and arrays(tangent["b"][0]) == [0.0, 0.0]
    _, tangent = ms.jvp(f, (tree, Y), (None, V))
    assert arrays(tangent["a"]) == [1.0, 20.0]


def test_outputs_that_do_not_move():
    value, (a, b, c) = ms.jvp(lambda x: (x.argmax(), ops.stop_gradient(x), Y), X, V)
    assert int(a) == 0 and a.dtype is ms.int64
    assert arrays(b) == [0.0, 0.0] and arrays(c) == [0.0, 0.0]

    def unrecorded(x):
        with ms._no_grad():
            y = x * x
        return x + y

    assert arrays(ms.jvp(unrecorded, X, V)[1]) == [1.0, 10.0]
    assert float(ms.grad(lambda x: ms.jvp(unrecorded, x, V)[1].sum())(X).sum()) == 0.0
    with ms._no_grad():
        assert arrays(ms.jvp(square, X, V)[1]) == [2.0, 40.0]


def test_nothing_is_left_behind():
    w = Parameter(Tensor([1.0, 1.0]), name="w")
    x = Tensor([1.0, 2.0])

    def f(x):
        x.add_(1.0)
        w.set_data(x * 2)
        return w * x

    value, tangent = ms.jvp(f, x, V)
    assert arrays(value) == [8.0, 18.0] and arrays(tangent) == [4.0, 60.0]
    assert arrays(w.value()) == [4.0, 6.0] and not w._data.requires_grad
    assert arrays(x) == [1.0, 2.0] and state.level is None
    assert not value._raw.requires_grad and not tangent._raw.requires_grad
    with pytest.raises(KeyError, match="mine"):
        ms.jvp(lambda x: {}["mine"], X, V)
    assert state.level is None and state.overlay is None
    assert arrays(ms.jvp(square, X, V)[1]) == [2.0, 40.0]


@pytest.mark.parametrize("call, error, message", [
    (lambda: ms.jvp(3, X, V), TypeError, "'fn' must be a function or a Cell, but got int"),
    (lambda: ms.jvp(square, 3.0, V), TypeError, "'inputs' must be a Tensor.*but got float"),
    (lambda: ms.jvp(square, X, 3.0), TypeError, "'v' must be a Tensor.*but got float"),
    (lambda: ms.jvp(square, X, (3.0,)), TypeError, "a tangent in 'v' must be a Tensor or None"),
    (lambda: ms.jvp(product_and_sum, (X, Y), (V,)), ValueError, "as there are inputs, 2, .* 1"),
    (lambda: ms.jvp(square, X, Tensor([1.0])), ValueError, r"shape \(2,\), but got \(1,\)"),
    (lambda: ms.jvp(square, X, V + 1j), TypeError, "type Float32 can't be complex, but got Compl"),
    (lambda: ms.jvp(square, X, V, has_aux=1), TypeError, "'has_aux' must be a bool, but got 1"),
    (lambda: ms.jvp(square, X, V, has_aux=True), ValueError, "must return two or more outputs"),
    (lambda: ms.jvp(lambda t: t[0], ((X, Y),), ((V,),)), ValueError, "structure of the inputs"),
    (lambda: ops.linearize(square, 3.0), TypeError, "For 'linearize', 'inputs' must be a Tensor"),
    (lambda: ops.linearize(square, X)[1](Tensor([1.0])), ValueError, "For 'linearize', a tangent"),
])
def test_errors_say_what_was_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_linearize():
    calls = []

    def f(x, y):
        calls.append(0)
        return x * x * y, x + y

    value, push = ops.linearize(f, (X, Y))
    assert arrays(value) == [[3.0, 16.0], [4.0, 6.0]]
    assert arrays(push((V, V))) == [[7.0, 200.0], [2.0, 20.0]]
    assert arrays(push((V, None))) == [[6.0, 160.0], [1.0, 10.0]]
    assert len(calls) == 1
    rows = ms.vmap(lambda v: push((v, None))[0])(ops.eye(2))
    assert arrays(rows) == [[6.0, 0.0], [0.0, 16.0]]
    by_v = ms.grad(lambda v: push((v, v))[0].sum())(V)
    assert arrays(by_v) == [7.0, 20.0]


def test_kernels_without_a_forward_derivative():
    a = Tensor([1.5, 2.5])
    draws = []

    def f(x):
        draws.append(ops.rand(2).asnumpy())
        return ops.igamma(a, x)

    ms.set_seed(1)
    value, tangent = ms.jvp(f, X, V)
    after = ops.rand(2).asnumpy()
    ms.set_seed(1)
    np.testing.assert_array_equal(draws, [ops.rand(2).asnumpy()])  # it has run once
    np.testing.assert_array_equal(after, ops.rand(2).asnumpy())
    exact = np.exp(-X.asnumpy()) * X.asnumpy() ** (a.asnumpy() - 1) / [0.886226925, 1.32934039]
    np.testing.assert_allclose(tangent.asnumpy(), exact * V.asnumpy(), rtol=1e-5)
    np.testing.assert_allclose(np.diag(ms.jacfwd(f)(X).asnumpy()), exact, rtol=1e-5)
    attention = lambda q: ops.flash_attention_score(q, q, q, 2, input_layout="BNSD")  # noqa: E731
    q = Tensor(np.random.default_rng(0).standard_normal((1, 2, 3, 2)).astype(np.float32))
    by_reverse = ms.jacrev(attention)(q).asnumpy().reshape(12, 12)
    np.testing.assert_allclose(ms.jvp(attention, q, q)[1].asnumpy().reshape(-1),
                               by_reverse @ q.asnumpy().reshape(-1), rtol=1e-4, atol=1e-6)


def test_threads_at_once():
    errors, got = [], {}
    start = threading.Barrier(6)

    def work(k):
        try:
            x = Tensor([float(k), 1.0])
            start.wait()
            for _ in range(50):
                got[k] = arrays(ms.jvp(lambda x: ops.sin(x) * 0 + x * x * x, x, V)[1])
        except Exception as error:  # noqa: BLE001  reported below
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    assert got == {k: [3.0 * k * k, 30.0] for k in range(6)}


def test_state_of_layers_in_training():
    x = Tensor(np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32))
    net, twin = nn.BatchNorm1d(3).set_train(), nn.BatchNorm1d(3).set_train()
    value, _ = ms.jvp(net, x, x)
    np.testing.assert_allclose(value.asnumpy(), twin(x).asnumpy(), rtol=1e-6)
    np.testing.assert_allclose(net.moving_mean.asnumpy(), twin.moving_mean.asnumpy(), rtol=1e-6)
    assert type(net.moving_mean._data) is torch.Tensor
    ms.jacfwd(lambda x: net(x).sum(0))(x)
    twin(x)
    np.testing.assert_allclose(net.moving_mean.asnumpy(), twin.moving_mean.asnumpy(), rtol=1e-6)


def _deformed(x):  # a Primitive
    offsets = ops.concat((ops.zeros((1, 8, 1, 1)), ops.ones((1, 4, 1, 1)) * 0.5), 1)
    return ops.DeformableOffsets((1, 1, 1, 1), (0, 0, 0, 0), (2, 2))(
        x.reshape(1, 1, 5, 4)[:, :, :2, :2], offsets)


RANDOM = np.random.default_rng(3).standard_normal((5, 1, 4)).astype(np.float32)
LSTM, STATES = ms.nn.LSTM(4, 3, 1), (ops.zeros((1, 1, 3)), ops.zeros((1, 1, 3)))
for _number, _weight in enumerate(LSTM.get_parameters()):  # the same in every run
    _weight.set_data(Tensor(np.random.default_rng(_number).uniform(
        -1, 1, _weight.shape).astype(np.float32)))


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("f", [
    _deformed, lambda x: LSTM(x, STATES)[0], lambda x: ops.bessel_j0(x).sum(),
    lambda x: ops.grid_sample(x.reshape(1, 1, 5, 4), x[:, :, :2].reshape(1, 5, 1, 2)).sum(),
    lambda x: ops.soft_margin_loss(x, ops.ones_like(x)) * ops.igamma(ops.exp(x), x * x).sum()])
def test_an_operator_without_a_forward_derivative_runs_alone_again(f):
    """And never the program: its side effects happen once, also under `vmap` and `jacfwd`."""
    x, calls = Tensor(RANDOM), []

    def counted(x):
        calls.append(1)
        return f(x)

    wanted = ms.jacrev(f)(x).asnumpy().reshape(-1, 20)
    value, tangent = ms.jvp(counted, x, x)
    np.testing.assert_allclose(value.asnumpy(), f(x).asnumpy(), rtol=1e-5)
    np.testing.assert_allclose(tangent.asnumpy().reshape(-1), wanted @ RANDOM.reshape(-1),
                               rtol=1e-4, atol=1e-5)
    found = ms.jacfwd(counted)(x).asnumpy().reshape(-1, 20)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    assert len(calls) == 2


def test_a_kernel_of_the_program_without_a_forward_derivative_is_an_error():
    """Running the program once more would do twice what it does."""
    calls = []

    def f(x):
        calls.append(1)
        raw = x.to_torch()
        return Tensor.from_torch(torch.special.zeta(raw + 1, raw))

    with pytest.raises(RuntimeError, match="no forward-mode derivative. Use Lamella's operator"):
        ms.jvp(f, X, V)
    assert calls == [1]


@pytest.mark.parametrize("f", [
    lambda x: x.argmax(), lambda x: (x.argmax(), x.sum()),
    lambda x: {"of": x.astype(ms.int8)}, lambda x: (Tensor(3.0), x)])
@pytest.mark.parametrize("direction", [V, None])
def test_results_and_directions_that_do_not_move_under_vmap(f, direction):
    value, tangent = ms.jvp(f, (X,), (direction,))
    values, tangents = ms.vmap(lambda x: ms.jvp(f, (x,), (direction,)))(ops.stack([X, X]))
    for alone, together in ((value, values), (tangent, tangents)):
        for one, both in zip(tensors(alone), tensors(together), strict=True):
            assert one.dtype is both.dtype and arrays(both) == [arrays(one)] * 2
    gradients = ms.vmap(ms.grad(f))(ops.stack([X, X]))
    assert arrays(gradients) == [arrays(ms.grad(f)(X))] * 2


def test_an_error_of_the_program_stays():
    def f(x):
        raise RuntimeError("mine")

    for call in (lambda: ms.jvp(f, X, V), lambda: ops.linearize(f, X), lambda: ms.jacfwd(f)(X),
                 lambda: ms.jvp(lambda x: ms.jvp(f, x, V)[1], X, V)):
        with pytest.raises(RuntimeError, match="^mine$"):
            call()
    assert state.level is None and arrays(ms.jvp(square, X, V)[1]) == [2.0, 40.0]


def test_what_is_changed_in_place_is_cut_from_a_linear_map():
    kept = Tensor([0.0, 0.0])

    def f(x):
        kept[0] = x[0] * 3
        return kept * x

    value, push = ops.linearize(f, X)
    assert arrays(value) == [3.0, 0.0] and arrays(push(V)) == [6.0, 0.0]
    assert arrays(kept) == [3.0, 0.0] and not kept._raw.requires_grad


def test_arguments_by_name_of_kernels_in_a_derivative_of_a_derivative():
    def f(x):
        return ms.mint.add(x ** 2, x ** 3, alpha=3).sum(dtype=ms.float64)

    along = lambda x: ms.jvp(f, x, V)[1]  # noqa: E731
    assert float(along(X)) == 11.0 + 400.0
    assert arrays(ms.grad(along)(X)) == [20.0, 380.0]
