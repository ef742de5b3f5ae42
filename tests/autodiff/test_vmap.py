"""`vmap`: axes, ensembles, gradients by example, changes in place, and what is refused."""

import numpy as np
import pytest
import torch

import lamella as ms
from lamella import Parameter, Tensor, nn, ops
from lamella.core.state import state

from .arrays import arrays

M = Tensor(np.arange(6).reshape(2, 3), ms.float32)
B = Tensor([1.0, 2.0, 3.0])
DOUBLE, DOUBLE_T = [[0.0, 2.0, 4.0], [6.0, 8.0, 10.0]], [[0.0, 6.0], [2.0, 8.0], [4.0, 10.0]]


def twice(r):
    return r * 2


def cubes(r):
    return (r * r * r).sum()


# as MindSpore 2.10 prints them
@pytest.mark.parametrize("call, expected", [
    (lambda: ms.vmap(lambda r: r.sum())(M), [3.0, 12.0]),
    (lambda: ms.vmap(lambda r: r.sum(), -1)(M), [3.0, 5.0, 7.0]),
    (lambda: ms.vmap(lambda r, s: r + s, (0, None))(M, B), [[1.0, 3.0, 5.0], [4.0, 6.0, 8.0]]),
    (lambda: ms.vmap(lambda r, s: r + s, [0, None])(M, B), [[1.0, 3.0, 5.0], [4.0, 6.0, 8.0]]),
    (lambda: ms.vmap(twice, 0, 1)(M), DOUBLE_T),
    (lambda: ms.vmap(twice, 0, -1)(M), DOUBLE_T),
    (lambda: ms.vmap(lambda r: (r * 2, r.sum()), 0, (1, 0))(M), [DOUBLE_T, [3.0, 12.0]]),
    (lambda: ms.vmap(lambda r, s: (r * 2, s * 2), (0, None), (0, None))(M, B),
     [DOUBLE, [2.0, 4.0, 6.0]]),
    (lambda: ms.vmap(lambda r, s: (r * 2, s * 2), (0, None))(M, B),
     [DOUBLE, [[2.0, 4.0, 6.0], [2.0, 4.0, 6.0]]]),
    (lambda: ms.vmap(lambda t: t[0] + t[1], ((0, None),))((M, B)),
     [[1.0, 3.0, 5.0], [4.0, 6.0, 8.0]]),
    (lambda: ms.vmap(lambda t, s: t[0] + t[1] + s, ((0, 0), None))((M, M), B),
     [[1.0, 4.0, 7.0], [7.0, 10.0, 13.0]]),
    (lambda: ms.vmap(lambda t: t[0] + t[1])((M, M)), DOUBLE),
    (lambda: ms.vmap(lambda r, s: r * s, (0, None))(M, 2.0), DOUBLE),
    (lambda: ms.vmap(lambda r: (r, 3))(M)[1], [3, 3]),
    (lambda: ms.vmap(ms.vmap(lambda a, b: a * b, (None, 0)), (0, None))(B, B),
     [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [3.0, 6.0, 9.0]]),
    (lambda: ms.vmap(ms.grad(cubes))(M), [[0.0, 3.0, 12.0], [27.0, 48.0, 75.0]]),
    (lambda: ms.grad(lambda m: ms.vmap(cubes)(m))(M), [[0.0, 3.0, 12.0], [27.0, 48.0, 75.0]]),
    # beyond it
    (lambda: ms.vmap(lambda r, s=1: r * s)(M, s=2), DOUBLE),
    (lambda: ms.vmap(lambda d: {"b": d["a"] * 2})({"a": M}), {"b": DOUBLE}),
    (lambda: ms.vmap(lambda d: d["a"] * d["b"], ({"a": 0, "b": None},))({"a": M, "b": Tensor(2.0)}),
     DOUBLE),
    (lambda: ms.vmap(lambda r: {"a": r, "b": [r * 2]}, 0, {"a": 0, "b": 1})(M)["b"], [DOUBLE_T]),
])
def test_what_comes_back(call, expected):
    assert arrays(call()) == expected


@pytest.mark.parametrize("call, error, message", [
    (lambda: ms.vmap(3), TypeError, "'fn' must be a function, a Cell or a CellList, but got int"),
    (lambda: ms.vmap(twice, None), RuntimeError, "'in_axes' can't be None for everything"),
    (lambda: ms.vmap(twice, (None, None)), RuntimeError, "'in_axes' can't be None for everything"),
    (lambda: ms.vmap(twice, 0, None), RuntimeError, "'out_axes' can't be None for everything"),
    (lambda: ms.vmap(twice, "a"), RuntimeError, "must be an int or None, but got 'a'"),
    (lambda: ms.vmap(twice, 1.5), RuntimeError, "must be an int or None, but got 1.5"),
    (lambda: ms.vmap(twice, True), RuntimeError, "must be an int or None, but got True"),
    (lambda: ms.vmap(twice, ("a",)), RuntimeError, "in 'in_axes' must be an int or None.*'a'"),
    (lambda: ms.vmap(twice, 0, {"a": [1.5]}), RuntimeError, "in 'out_axes' must be an int or None"),
    (lambda: ms.vmap(twice, 2)(M), RuntimeError, "axis 2 in 'in_axes' is out of range.*2 dim"),
    (lambda: ms.vmap(twice)(Tensor(1.0)), RuntimeError, "axis 0 in 'in_axes' is out of range"),
    (lambda: ms.vmap(twice, 0, 5)(M), RuntimeError, "axis 5 in 'out_axes' is out of range"),
    (lambda: ms.vmap(twice, (0, 0))(M), RuntimeError, "an axis for each of 1"),
    (lambda: ms.vmap(lambda a, b: a, (0, 0))(M, B), RuntimeError, "one length, but got 2 and 3"),
    (lambda: ms.vmap(lambda r: (r, r), 0, (0, 0, 0))(M), RuntimeError, "axis for each of 2"),
    (lambda: ms.vmap(lambda r: (r, r), 0, (0, None))(M), RuntimeError, "differs between the exam"),
    (lambda: ms.vmap(lambda r, s: r * s)(M, 2.0), RuntimeError, "the axis 0 for the number 2.0"),
    (lambda: ms.vmap(twice, chunk_size=0), ValueError, "'chunk_size' must be an int of 1 or more"),
    (lambda: ms.vmap(twice, randomness="x"), ValueError, "'randomness' must be one of 'same'"),
    (lambda: ms.vmap(twice)(M[:0]), RuntimeError, "one example or more"),
    (lambda: ms.vmap(lambda r: r if r.sum() > 3 else -r)(M), RuntimeError, "ops.where"),
    (lambda: ms.vmap(lambda r: r * float(r.sum()))(M), RuntimeError, "ops.where"),
    (lambda: ms.vmap(lambda r: ops.arange(r[0]))(M), RuntimeError, "'arange'.*ops.where"),
    (lambda: ms.vmap(lambda r: r[r > 0])(M), RuntimeError, "shape of a result can't depend"),
    (lambda: ms.vmap(ops.nonzero)(M), RuntimeError, "'nonzero'.*shape of a result can't depend"),
    (lambda: ms.vmap(lambda r: Tensor(r.asnumpy()))(M), RuntimeError, "an array of NumPy's"),
    (lambda: ms.vmap(lambda r: r.tolist())(M), RuntimeError, "or Python numbers; return it"),
])
def test_errors_say_what_was_wrong(call, error, message):
    with pytest.raises(error, match=message):
        call()
    assert state.level is None and state.overlay is None


def test_chunks_and_random_numbers():
    x = Tensor(np.random.default_rng(0).standard_normal((7, 3)).astype(np.float32))
    np.testing.assert_allclose(ms.vmap(ms.grad(cubes), chunk_size=2)(x).asnumpy(),
                               ms.vmap(ms.grad(cubes))(x).asnumpy(), rtol=1e-6)
    drop = nn.Dropout(p=0.5).set_train()
    same = ms.vmap(drop, randomness="same")(ops.ones((4, 32))).asnumpy()
    assert (same == same[0]).all() and {0.0, 2.0} == set(same.reshape(-1))
    for options in ({}, {"randomness": "different"}):
        different = ms.vmap(drop, **options)(ops.ones((4, 32))).asnumpy()
        assert not (different == different[0]).all()
    with pytest.raises(RuntimeError, match="with randomness='error' no random numbers"):
        ms.vmap(drop, randomness="error")(ops.ones((4, 32)))


DRAWS = {
    "dropout1d": lambda x: ops.dropout1d(x.reshape(1, 8, 4), 0.5),
    "dropout2d": lambda x: ops.dropout2d(x.reshape(1, 8, 2, 2), 0.5),
    "seeded": lambda x: ops.dropout(x, 0.5, True, 3),
    "randn": lambda x: x + ops.randn(32),
    "uniform": lambda x: x + ops.uniform((32,), Tensor(0.0), Tensor(1.0), seed=3),
    "bernoulli": lambda x: ops.bernoulli(x * 0.5),
    "shuffle": lambda x: ops.arange(32)[ops.randperm(32, -1)] + x,
    "rrelu": lambda x: ops.rrelu(-x),
    "scaled": lambda x: ops.alpha_dropout(x) if hasattr(ops, "alpha_dropout") else ops.dropout(x),
}


@pytest.mark.parametrize("name", DRAWS)
def test_examples_draw_their_own_numbers(name):
    x = ops.ones((4, 32))
    run = ms.vmap(DRAWS[name])
    each = ms.vmap(ms.grad(lambda x: (DRAWS[name](x).reshape(-1) * x).sum()))
    for fn in (run, ms.jit(run), each):
        drawn = fn(x).asnumpy().reshape(4, -1)
        assert not (drawn == drawn[0]).all()
    same = ms.vmap(DRAWS[name], randomness="same")(x).asnumpy().reshape(4, -1)
    assert name == "bernoulli" or (same == same[0]).all()


GENERATOR = ms.Generator()
SEEDED = {
    "its own": lambda x: x + ops.zeros(32).uniform(generator=GENERATOR),
    **{name: DRAWS[name] for name in ("dropout2d", "seeded", "randn", "uniform", "shuffle")}}


@pytest.mark.parametrize("size", [1, 2, 5, 6])
@pytest.mark.parametrize("name", SEEDED)
def test_chunks_draw_the_same_where_all_examples_do(name, size):
    x, drawn = ops.ones((5, 32)), []
    for chunk_size in (None, size):
        ms.set_seed(4)
        GENERATOR.manual_seed(4)
        run = ms.vmap(SEEDED[name], randomness="same", chunk_size=chunk_size)
        drawn.append([run(x).asnumpy(), run(x).asnumpy(), run(x).asnumpy()])
    for whole, chunks in zip(*drawn, strict=True):
        np.testing.assert_array_equal(chunks, whole)
        assert (whole == whole[0]).all()
    assert not (drawn[0][0] == drawn[0][1]).all()
    compiled = ms.jit(ms.vmap(SEEDED[name], randomness="same", chunk_size=size))
    for _ in range(3):
        rows = compiled(x).asnumpy()
        assert (rows == rows[0]).all()


def test_chunks_of_other_axes_and_of_results_that_all_examples_share():
    def f(r, s):
        return r * s, s + 1, r.sum()

    x, s = Tensor(np.arange(10.0).reshape(2, 5)), Tensor(np.array([3.0, 4.0]))
    for size in (1, 2, 3, 5):
        product, shared, total = ms.vmap(f, (1, None), (1, None, 0), chunk_size=size)(x, s)
        np.testing.assert_array_equal(product.asnumpy(), x.asnumpy() * [[3.0], [4.0]])
        assert shared.tolist() == [4.0, 5.0] and total.tolist() == [5.0, 7.0, 9.0, 11.0, 13.0]


class Model(nn.Cell):
    def __init__(self, k):
        super().__init__()
        self.dense = nn.Dense(3, 2)
        self.w = Parameter(Tensor(float(k)), name="w")

    def construct(self, x):
        return self.dense(x) * self.w


def test_an_ensemble():
    nets = nn.CellList([Model(1), Model(2), Model(3)])
    x = Tensor(np.random.default_rng(0).standard_normal((3, 5, 3)).astype(np.float32))
    got = ms.vmap(nets, in_axes=0)(x)
    for i, net in enumerate(nets):
        np.testing.assert_allclose(got.asnumpy()[i], net(x[i]).asnumpy(), rtol=1e-5, atol=1e-6)
    for axes in (None, (None,)):
        shared = ms.vmap(nets, in_axes=axes)(x[0])
        for i, net in enumerate(nets):
            np.testing.assert_allclose(shared.asnumpy()[i], net(x[0]).asnumpy(), rtol=1e-5,
                                       atol=1e-6)
    weights = nets.trainable_params()
    together = ms.grad(lambda x: (ms.vmap(nets)(x) ** 2).sum(), None, weights)(x)
    apart = ms.grad(lambda x: sum((net(x[i]) ** 2).sum() for i, net in enumerate(nets)), None,
                    weights)(x)
    for a, b in zip(together, apart, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-5)


def test_an_ensemble_of_one():
    net, x = Model(2), ops.ones((1, 5, 3))
    np.testing.assert_allclose(ms.vmap(nn.CellList([net]))(x).asnumpy()[0], net(x[0]).asnumpy(),
                               rtol=1e-5, atol=1e-6)


def test_an_ensemble_keeps_its_own_statistics():
    nets = nn.CellList([nn.BatchNorm1d(3), nn.BatchNorm1d(3)]).set_train()
    twins = [nn.BatchNorm1d(3).set_train() for _ in range(2)]
    x = Tensor(np.random.default_rng(0).standard_normal((2, 6, 3)).astype(np.float32))
    ms.vmap(nets)(x)
    for i, (net, twin) in enumerate(zip(nets, twins, strict=True)):
        twin(x[i])
        np.testing.assert_allclose(net.moving_mean.asnumpy(), twin.moving_mean.asnumpy(),
                                   rtol=1e-6)
        np.testing.assert_allclose(net.moving_variance.asnumpy(),
                                   twin.moving_variance.asnumpy(), rtol=1e-6)
        assert type(net.moving_mean._data) is torch.Tensor


def test_cells_that_differ_are_no_ensemble():
    with pytest.raises(ValueError, match="of one class with Parameters of the same shapes"):
        ms.vmap(nn.CellList([Model(1), nn.Dense(3, 2)]))
    with pytest.raises(RuntimeError, match="and the CellList must have one length, but got 2 and"):
        ms.vmap(nn.CellList([Model(1), Model(2)]))(ops.ones((3, 5, 3)))


class LeNet5(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True)
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
        self.fc1, self.fc2 = nn.Dense(256, 84), nn.Dense(84, 10)
        self.pool = nn.MaxPool2d(2, 2)

    def construct(self, x):
        x = self.pool(ops.relu(self.conv1(x)))
        x = self.pool(ops.relu(self.conv2(x)))
        return self.fc2(ops.relu(self.fc1(x.reshape(x.shape[0], -1))))


def test_gradients_by_example():
    net, rng = LeNet5(), np.random.default_rng(0)
    images = Tensor(rng.standard_normal((3, 1, 28, 28)).astype(np.float32))
    labels = Tensor(rng.integers(0, 10, 3).astype(np.int32))

    def loss(image, label):
        return ops.cross_entropy(net(image[None]), label[None])

    weights = net.trainable_params()
    gradient = ms.value_and_grad(loss, None, weights)
    values, together = ms.vmap(gradient)(images, labels)
    for i in range(3):
        value, alone = gradient(images[i], labels[i])
        assert float(value) == pytest.approx(float(values[i]), rel=1e-5)
        for a, b in zip(together, alone, strict=True):
            np.testing.assert_allclose(a.asnumpy()[i], b.asnumpy(), rtol=1e-3, atol=1e-5)
    compiled = ms.jit(lambda images, labels: ms.vmap(gradient)(images, labels)[1])
    for a, b in zip(compiled(images, labels), together, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5, atol=1e-6)
    assert not any(w._raw.requires_grad for w in weights)


def test_over_cells_with_inputs_and_weights():
    net = Model(2)
    x = Tensor(np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32))
    np.testing.assert_allclose(ms.vmap(net)(x).asnumpy(), net(x).asnumpy(), rtol=1e-5, atol=1e-6)
    by_x, by_w = ms.vmap(ms.grad(lambda x: net(x).sum(), 0, net.trainable_params()))(x)
    assert by_x.shape == (4, 3) and [g.shape for g in by_w] == [(4,), (4, 2, 3), (4, 2)]
    aux = ms.vmap(ms.value_and_grad(lambda x: (net(x).sum(), x.argmax(), x * 2), has_aux=True))(x)
    assert aux[0][1].dtype is ms.int64 and arrays(aux[0][1]) == x.argmax(1).asnumpy().tolist()
    constant = ms.vmap(ms.grad(lambda x: Tensor(3.0)))(x)
    assert not constant.asnumpy().any()
    whole = ms.vmap(ms.grad(lambda i: i * i))(Tensor([1, 2, 3]))
    assert whole.dtype is ms.int64 and arrays(whole) == [2, 4, 6]


def test_a_gradient_to_start_from():
    f = ms.grad(lambda x: x * x, sens_param=True)
    got = ms.vmap(lambda x, s: f(x, s))(M, M + 1)
    np.testing.assert_allclose(got.asnumpy(), (2 * M * (M + 1)).asnumpy())
    with pytest.raises(ValueError, match="must have the output's shape"):
        ms.vmap(lambda x: f(x, Tensor(1.0)))(M)


def test_pulled_back_many_times():
    value, pull = ms.vjp(lambda x: ops.sin(x) * x, B)
    rows = ms.vmap(lambda v: pull(v)[0])(ops.eye(3))
    np.testing.assert_allclose(rows.asnumpy(), ms.jacrev(lambda x: ops.sin(x) * x)(B).asnumpy(),
                               rtol=1e-6)


def test_changes_in_place():
    def fill(r):
        out = ops.zeros(3)
        out[0] = r.sum()
        out[1:] = r[1:] * 2
        return out

    expected = [[3.0, 2.0, 4.0], [12.0, 8.0, 10.0]]
    assert arrays(ms.vmap(fill)(M)) == expected
    assert arrays(ms.vmap(ms.grad(lambda r: fill(r).sum()))(M)) == [[1.0, 3.0, 3.0]] * 2
    assert arrays(ms.grad(lambda m: ms.vmap(fill)(m).sum())(M)) == [[1.0, 3.0, 3.0]] * 2
    nested = ms.vmap(lambda m: ms.vmap(fill)(m))(ops.stack((M, M)))
    assert arrays(nested) == [expected, expected]

    def by_part(r):
        out = ops.zeros((2, 3)) * r
        row = out[0]
        row.add_(r)
        return out[0]

    assert arrays(ms.vmap(by_part)(M)) == arrays(M)
    with pytest.raises(RuntimeError, match="a part of a tensor that all examples share"):
        ms.vmap(lambda r: ops.zeros((2, 3))[0].add_(r))(M)


def test_assigned_parameters():
    w = Parameter(Tensor([1.0, 1.0, 1.0]), name="w")

    def shared(r):
        w.set_data(w * 2)
        return r * w

    assert arrays(ms.vmap(shared)(M)) == DOUBLE
    assert arrays(w.value()) == [2.0, 2.0, 2.0] and type(w._data) is torch.Tensor
    ms.vmap(ms.grad(lambda r: shared(r).sum()))(M)
    assert arrays(w.value()) == [4.0, 4.0, 4.0] and type(w._data) is torch.Tensor

    def own(r):
        w.set_data(r)
        return r

    with pytest.raises(RuntimeError, match="'Parameter w', a value that differs between the exam"):
        ms.vmap(own)(M)
    net = nn.BatchNorm1d(3).set_train()
    with pytest.raises(RuntimeError, match="a value that differs between the examples"):
        ms.vmap(net)(ops.stack((M, M)))
    assert type(net.moving_mean._data) is torch.Tensor and arrays(w.value()) == [4.0, 4.0, 4.0]


def test_rules_by_example():
    seen = []
    show = ops.InsertGradientOf(lambda g: seen.append(g.shape) or g * 2)

    class Clipped(nn.Cell):
        def construct(self, x):
            return x * 5

        def bprop(self, x, out, dout):
            return ops.clamp(dout, -1.0, 1.0) * out

    net = Clipped()
    assert arrays(ms.vmap(ms.grad(lambda r: show(r * 3).sum()))(M)) == [[6.0] * 3] * 2
    assert arrays(ms.grad(lambda m: ms.vmap(lambda r: show(r * 3))(m).sum())(M)) == [[6.0] * 3] * 2
    assert set(seen) == {(3,)}
    for f in (lambda m: ms.vmap(ms.grad(lambda r: (net(r) * 9).sum()))(m),
              lambda m: ms.grad(lambda m: (ms.vmap(net)(m) * 9).sum())(m)):
        np.testing.assert_allclose(f(M).asnumpy(), 5 * M.asnumpy())

    class Inner(nn.Cell):
        """A rule that takes a gradient itself."""

        def construct(self, x):
            return ops.sin(x)

        def bprop(self, x, out, dout):
            return ms.grad(lambda t: ops.sin(t))(x) * dout

    for f in (lambda m: ms.vmap(ms.grad(lambda r: Inner()(r).sum()))(m),
              lambda m: ms.grad(lambda m: ms.vmap(Inner())(m).sum())(m)):
        np.testing.assert_allclose(f(M).asnumpy(), np.cos(M.asnumpy()), rtol=1e-6)
    second = ms.vmap(ms.grad(lambda r: ms.grad(lambda t: Inner()(t).sum())(r).sum()))(M)
    np.testing.assert_allclose(second.asnumpy(), -np.sin(M.asnumpy()), rtol=1e-5, atol=1e-6)


def test_a_function_that_keeps_what_it_likes():
    class Kept(ms._Function):
        @staticmethod
        def forward(ctx, x, factor, flag):
            ctx.by_attribute = ops.exp(x)
            ctx.flag = flag
            ctx.save_for_backward(x, None, factor)
            return x * factor, x.argmax()

        @staticmethod
        def backward(ctx, grad, _):
            x, nothing, factor = ctx.saved_tensors
            assert nothing is None and ctx.flag == "yes"
            return grad * factor * ctx.by_attribute, (grad * x).sum(), None

    def f(r):
        out, place = Kept.apply(r, Tensor(3.0), "yes")
        return out.sum() + 0 * place

    expected = 3 * np.exp(M.asnumpy())
    np.testing.assert_allclose(ms.vmap(ms.grad(f))(M).asnumpy(), expected, rtol=1e-5)
    np.testing.assert_allclose(ms.grad(lambda m: ms.vmap(f)(m).sum())(M).asnumpy(), expected,
                               rtol=1e-5)
    by_factor = ms.vmap(ms.grad(lambda r, k: Kept.apply(r, k, "yes")[0].sum(), 1), (0, None))(
        M, Tensor(3.0))
    assert arrays(by_factor) == [3.0, 12.0]


@pytest.mark.parametrize("derivative", [lambda f: f, ms.grad, ms.jacfwd])
def test_what_all_examples_share_may_become_numbers(derivative):
    weight = ms.Parameter(Tensor([2.0, 3.0, 4.0], ms.float32), name="weight")

    def f(r):
        return (r * Tensor(weight.asnumpy()) + Tensor(weight.tolist())).sum() * weight[0].item()

    np.testing.assert_array_equal(ms.vmap(derivative(f))(M).asnumpy(),
                                  np.stack([derivative(f)(row).asnumpy() for row in M]))


def test_printing_shows_all_examples(capsys):
    kept = []

    def f(r, s):
        kept.append(r * s)
        print(r * s, [s])
        return (r * s).sum()

    ms.vmap(ms.vmap(ms.grad(f), (0, None)), (None, 0))(Tensor([[1.0, 2.0]]), Tensor([3.0, 4.0]))
    text = "".join(capsys.readouterr().out.split())
    assert text.startswith("[[[3.6.]][[4.8.]]]")
    assert "Tensor(shape=[],dtype=Float32,value=[3.00000000e+00,4.00000000e+00])" in text
    assert str(kept[0]).split() == "[[[3. 6.]] [[4. 8.]]]".split()
    with pytest.raises(RuntimeError, match="means nothing when that is over; return it"):
        ops.abs(kept[0])


def test_nothing_is_left_behind():
    ms.vmap(ms.grad(cubes))(M)
    with pytest.raises(KeyError, match="mine"):
        ms.vmap(lambda r: {}["mine"])(M)
    assert state.level is None and state.overlay is None and torch.is_grad_enabled()
    out = ms.vmap(ms.grad(cubes))(M)
    assert type(out._raw) is torch.Tensor and not out._raw.requires_grad


def test_optimizers_step_for_each_example() -> None:
    x = ms.Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    for step, count in ((ops.ApplyMomentum(), 1), (ops.ApplyAdagrad(), 1)):
        def states(count: int = count) -> list[ms.Parameter]:
            return [ms.Parameter(x + 1, name=f"p{i}") for i in range(count + 1)]

        def update(p, a, g, step=step):
            return step(p, a, 0.1, g, 0.9) if isinstance(step, ops.ApplyMomentum) else \
                step(p, a, 0.1, g)

        whole, mapped = states(), states()
        update(*whole, x)
        out = ms.vmap(update)(*mapped, x)
        for a, b in zip(whole, mapped, strict=True):
            assert np.allclose(a.asnumpy(), b.asnumpy())
        first = out[0] if isinstance(out, tuple) else out
        assert np.allclose(first.asnumpy(), whole[0].asnumpy())


def test_optimizers_refuse_a_parameter_that_all_examples_share() -> None:
    shared = ms.Parameter(ms.Tensor([1.0, 2.0, 3.0]), name="w")
    step = ops.ApplyGradientDescent()
    with pytest.raises(ValueError, match="all Parameters must be mapped over"):
        ms.vmap(lambda g: step(shared, 0.1, g))(ops.ones((2, 3)))


def test_linspace_between_numbers_of_each_example() -> None:
    x = ms.Tensor([[0.0, 1.0], [2.0, 6.0]])
    out = ms.vmap(lambda a: ops.linspace(a[0], a[1], 3))(x)
    assert np.allclose(out.asnumpy(), [[0, 0.5, 1], [2, 4, 6]])


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3])
def test_axes_of_inputs_and_outputs_from_either_end(axis):
    x = np.arange(24.0).reshape(2, 3, 4)
    rows = [np.take(x, i, axis) ** 2 for i in range(x.shape[axis])]
    for out in (0, 1, 2, -1, -2, -3):
        found = ms.vmap(lambda t: t * t, axis, out)(Tensor(x))
        np.testing.assert_array_equal(found.asnumpy(), np.stack(rows, out))


@pytest.mark.parametrize("axis", [3, -4])
def test_axes_one_beyond_either_end(axis):
    x = Tensor(np.arange(24.0).reshape(2, 3, 4))
    with pytest.raises(RuntimeError, match=f"the axis {axis} in 'in_axes' is out of range"):
        ms.vmap(lambda t: t * t, axis)(x)
    with pytest.raises(RuntimeError, match=f"the axis {axis} in 'out_axes' is out of range"):
        ms.vmap(lambda t: t * t, 0, axis)(x)


@pytest.mark.parametrize("size, fits", [
    (1, True), (2, True), (3, True), (9, True), (None, True), (0, False), (-1, False),
    (True, False), (1.0, False), ("2", False)])
def test_examples_at_once(size, fits):
    x = Tensor(np.arange(6.0).reshape(3, 2))
    if fits:
        assert ms.vmap(lambda t: t.sum(), chunk_size=size)(x).tolist() == [1.0, 5.0, 9.0]
    else:
        with pytest.raises(ValueError, match="'chunk_size' must be an int of 1 or more or None"):
            ms.vmap(lambda t: t.sum(), chunk_size=size)
