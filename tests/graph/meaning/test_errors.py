"""Errors, threads and printing, compiled as eagerly."""

import threading

import pytest

import lamella as ms
from lamella import Parameter, Tensor, jit, nn, ops
from lamella.graph.runtime import dry_run

from .agreement import W, X, close


def test_an_exception_in_the_middle_leaves_what_was_done_before_it():
    class Fails(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor([1.0, 2.0, 3.0]))
            self.last = 0

        def construct(self, x):
            self.w += 1
            if x.sum() > 100:
                raise ValueError("too much")
            return self.w * x

    net = Fails()
    compiled = jit(net)
    close(compiled(X), Tensor([2.0, 3.0, 4.0]) * X)
    for count in (1, 2):
        with pytest.raises(ValueError, match="too much"):
            compiled(X * 100)
        assert net.w.asnumpy().tolist() == [2.0 + count, 3.0 + count, 4.0 + count]
    close(compiled(X), Tensor([5.0, 6.0, 7.0]) * X)
    assert compiled.report()["replays"] == 1


class _Own(BaseException):
    pass


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit, _Own])
@pytest.mark.parametrize("last", [1, 2, 3, 5])
def test_an_exit_or_interrupt_of_the_program_leaves_what_it_has_done(kind, last):
    def outcomes(wrap):
        weight, count = Parameter(Tensor([0.0]), name="w"), {"n": 0}

        def step(x):
            count["n"] += 1
            weight.set_data(weight + 1)
            if count["n"] == last:
                raise kind
            return x * count["n"] + weight

        step, found = wrap(step), []
        for _ in range(7):
            try:
                found.append(step(X).asnumpy().tolist())
            except kind:
                found.append(kind)
            found.append((count["n"], weight.asnumpy().tolist()))
        return found

    assert outcomes(jit) == outcomes(lambda step: step)


def test_ctrl_c_in_a_dry_run_comes_after_the_real_run(monkeypatch):
    count = {"n": 0}

    def step(x):
        count["n"] += 1
        return x * count["n"]

    def interrupted(*args, **kwargs):
        run_traced(*args, **kwargs)
        raise KeyboardInterrupt

    run_traced = dry_run.run_traced
    compiled = jit(step)
    compiled(X)
    monkeypatch.setattr(dry_run, "run_traced", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compiled(X)
    assert count["n"] == 2
    monkeypatch.undo()
    assert compiled(X).asnumpy().tolist() == (X * 3).asnumpy().tolist()


LABELS = Tensor([0, 1, 2], ms.int32)


@pytest.mark.parametrize("function, good, bad", [
    (lambda i: ops.gather(X, i, 0), LABELS, LABELS + 7),
    (lambda i: X[i], LABELS, LABELS - 7),
    (lambda i: ops.cross_entropy(X.expand((3, 3)), i), LABELS, LABELS + 1),
    (lambda i: ops.embedding(i, X.reshape((3, 1))), LABELS, LABELS + 7),
    (lambda p: ops.rand(1) + ops.multinomial(p, 2), ops.ones(3), -ops.ones(3)),
    (ops.inverse, ops.eye(3) * 1.0, ops.zeros((3, 3))),
    (ops.cholesky, ops.eye(3) * 1.0, -ops.eye(3)),
])
def test_errors_by_values_are_the_same_in_replays(function, good, bad):
    weight = Parameter(Tensor(0.0), name="w")

    def step(x):
        found = function(x)
        ops.assign_add(weight, 1.0)
        return found

    compiled = jit(step)
    with pytest.raises((ArithmeticError, LookupError, RuntimeError, ValueError)) as wanted:
        function(bad)
    for i in range(1, 4):
        compiled(good)
        with pytest.raises(wanted.type) as got:
            compiled(bad)
        assert str(got.value) == str(wanted.value)
        assert float(weight) == i
    assert compiled.report()["replays"] == 2


def test_errors_of_operators_are_the_same():
    compiled = jit(lambda x, y: x @ y)
    for function in (compiled, compiled.fn):
        with pytest.raises(ValueError, match="matmul|MatMul|'@'"):
            function(ops.ones((2, 3)), ops.ones((2, 3)))
    with pytest.raises(TypeError):
        compiled(X)
    close(compiled(ops.ones((2, 3)), ops.ones((3, 2))), ops.ones((2, 2)) * 3)


def in_threads(*works):
    errors = []

    def run(work):
        try:
            work()
        except BaseException as error:  # noqa: BLE001  reported below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_threads_with_one_function_and_with_several():
    net = nn.Dense(3, 2, weight_init="ones")
    forward, gradient = jit(net), jit(ms.grad(lambda x: net(x).sum(), 0, net.trainable_params()))
    inner = jit(lambda x: net(x) * 2)
    outer = ms.grad(lambda x: (inner(x) * x.sum()).sum())
    xs = [ops.ones((n % 3 + 1, 3)) * n for n in range(6)]

    def work(function):
        plain_one = getattr(function, "fn", function)
        want = [plain_one(x) for x in xs]

        def run():
            for _ in range(5):
                for x, w in zip(xs, want, strict=True):
                    close(function(x), w)
        return run

    in_threads(*[work(f) for f in (forward, gradient, inner, outer, forward, gradient, outer)])


def test_what_is_printed(capsys):
    def f(x):
        print("before", x, [x * 2, 3])
        y = x + 1
        print(f"{x.shape} and", y.sum(), sep="|", end="!\n")
        ops.Print()("value", y)
        return y

    def printed(call):
        call(X), call(W)
        return capsys.readouterr().out

    want = printed(f)
    compiled = jit(f, fullgraph=True)
    assert printed(compiled) == want
    assert printed(compiled) == want
    assert compiled.report()["traces"] == 1
    fails = jit(lambda x: (print("seen", x), ops.ones((2, 2)) @ ops.ones((3, 3))))
    with pytest.raises(ValueError):
        fails(X)
    assert capsys.readouterr().out == "seen [ 1. -2.  3.]\n"


def test_a_kernel_that_fails_after_a_parameter_has_changed_and_whose_error_is_caught():
    def outcomes(wrap):
        w = Parameter(Tensor([1.0, 2.0, 3.0]), name="w")
        counts = Parameter(Tensor([0, 0]), name="counts")

        def step(i):
            w.set_data(w * 2)
            counts[0] = counts[0] + 1
            try:
                found = ops.gather(w, i, 0).sum()
            except RuntimeError:
                counts[1] = counts[1] + 1
                return w.sum()
            w[0] = found
            return found

        run, found = wrap(step), []
        for i in ([0], [1], [2], [9], [0], [7], [1]):
            found.append((float(run(Tensor(i))), w.asnumpy().tolist(), counts.asnumpy().tolist()))
        return found, run

    compiled, step = outcomes(jit)
    assert compiled == outcomes(lambda fn: fn)[0]
    assert step.report()["graphs"] == 1 and step.report()["replays"] >= 4


def test_a_kernel_that_fails_after_a_parameter_has_changed():
    w = Parameter(Tensor([1.0, 2.0]), name="w")

    @jit
    def step(i):
        w.set_data(w * 2)
        return ops.gather(w, i, 0).sum()

    for _ in range(3):
        step(Tensor([0]))
    with pytest.raises((RuntimeError, IndexError)):
        step(Tensor([9]))
    assert w.asnumpy().tolist() == [16.0, 32.0] and float(step(Tensor([0]))) == 32
