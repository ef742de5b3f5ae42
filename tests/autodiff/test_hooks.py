"""`InsertGradientOf`, `HookBackward`, `Tensor.register_hook`, and the hooks of Cells."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import lamella as ms
from lamella import Parameter, Tensor, nn, ops

X, Y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])


def test_insert_gradient_of_changes_only_the_gradient():
    def clip(gradient):
        if gradient[0] > 1.1:
            return gradient * 0 + 1.1
        return gradient

    op = ops.InsertGradientOf(clip)
    assert op(X) is X
    np.testing.assert_allclose(ms.grad(lambda x: op(x) * Y)(X).asnumpy(), [1.1, 1.1])
    np.testing.assert_allclose(ms.grad(lambda x: op(x) * 0.5)(X).asnumpy(), [0.5, 0.5])


def test_a_number_stands_for_the_whole_gradient():
    op = ops.InsertGradientOf(lambda gradient: 100.0)
    gradient = ms.grad(lambda x: op(x) * Y)(X)
    assert gradient.shape == () and str(gradient) == "100.0"
    both = ms.grad(lambda x: op(x) * Y + x)(X)
    np.testing.assert_allclose(both.asnumpy(), [101.0, 101.0])


def test_none_leaves_the_gradient():
    op = ops.InsertGradientOf(lambda gradient: None)
    np.testing.assert_allclose(ms.grad(lambda x: op(x) * Y)(X).asnumpy(), [3.0, 4.0])


def test_nested_containers():
    op = ops.InsertGradientOf(lambda g: {"a": g["a"] * 10, "b": [g["b"][0], 7.0]})

    def f(x, y):
        tree = op({"a": x, "b": [x, y]})
        return tree["a"] + tree["b"][0] * 2 + tree["b"][1]

    dx, dy = ms.grad(f, (0, 1))(X, Y)
    assert dx.asnumpy().tolist() == [12.0, 12.0] and dy.asnumpy().tolist() == [7.0, 7.0]


def test_second_order_through_the_rule():
    op = ops.InsertGradientOf(lambda gradient: gradient**2)
    inner = ms.grad(lambda v: (op(v) ** 2).sum())  # (2 v)^2
    np.testing.assert_allclose(inner(X).asnumpy(), [4.0, 16.0])
    # d/dv (2 op(v))^2 = 8 v, which passes through op, and so its rule, once more
    np.testing.assert_allclose(ms.grad(inner)(X).asnumpy(), [64.0, 256.0])


@pytest.mark.parametrize("rule, error, message", [
    (lambda g: Tensor([1.0, 2.0, 3.0]), ValueError, r"InsertGradientOf rule .*\(2,\).*\(3,\)"),
    (lambda g: "x", TypeError, "InsertGradientOf rule .*test_hooks.py.*returned str"),
])
def test_wrong_rules_are_named(rule, error, message):
    op = ops.InsertGradientOf(rule)
    with pytest.raises(error, match=message):
        ms.grad(lambda x: op(x) * Y)(X)


def test_wrong_structure_is_named():
    op = ops.InsertGradientOf(lambda g: g[0])
    with pytest.raises(ValueError, match="it was given, tuple of 2, but it returned Tensor"):
        ms.grad(lambda x: op((x, x))[0])(X)
    with pytest.raises(TypeError, match="'f' must be a function, but got int"):
        ops.InsertGradientOf(3)
    with pytest.raises(TypeError, match="'hook_fn' must be a function, but got int"):
        ops.HookBackward(3)


def test_an_error_in_a_rule_reaches_the_user():
    def broken(gradient):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        ms.grad(lambda x: ops.InsertGradientOf(broken)(x))(X)


def test_hook_backward_sees_and_replaces():
    seen = []
    see = ops.HookBackward(lambda g: seen.append(g[0].asnumpy().tolist()))
    np.testing.assert_allclose(ms.grad(lambda x: see(x * 2) * 3)(X).asnumpy(), [6.0, 6.0])
    assert seen == [[3.0, 3.0]]
    double = ops.HookBackward(lambda g: (g[0] * 2,))
    np.testing.assert_allclose(ms.grad(lambda x: double(x) * 3)(X).asnumpy(), [6.0, 6.0])


def test_hooks_of_tensors():
    x = Tensor([1.0, 2.0])
    handle = x.register_hook(lambda g: g * 10)
    assert ms.grad(lambda x: x * 3)(x).asnumpy().tolist() == [30.0, 30.0]
    handle.remove()
    assert ms.grad(lambda x: x * 3)(x).asnumpy().tolist() == [3.0, 3.0]
    seen = []

    def f(x):
        y = x * 2
        y.register_hook(lambda g: seen.append(float(g.sum())))
        z = x * 5
        z.register_hook(lambda g: g * 0).remove()
        return y * 4 + z

    assert ms.grad(f)(x).asnumpy().tolist() == [13.0, 13.0] and seen == [8.0]
    with pytest.raises(TypeError, match="'hook' must be a function"):
        x.register_hook(5)


def test_hooks_of_parameters():
    w = Parameter(Tensor([1.0, 2.0]), name="w")
    handle = w.register_hook(lambda g: g + 1)
    step = ms.grad(lambda x: x * w, None, w)
    assert step(X).asnumpy().tolist() == [2.0, 3.0]
    handle.remove()
    assert step(X).asnumpy().tolist() == [1.0, 2.0]


class Scale(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor([2.0, 3.0]))

    def construct(self, x, extra=0.0):
        return x * self.w + extra


def test_forward_hooks():
    net = Scale()
    seen = []
    pre = net.register_forward_pre_hook(lambda cell, args: (args[0] * 10,))
    post = net.register_forward_hook(
        lambda cell, args, out: seen.append(args[0].asnumpy().tolist()))
    assert net(X).asnumpy().tolist() == [20.0, 60.0] and seen == [[10.0, 20.0]]
    pre.remove()
    post.remove()
    assert net(X).asnumpy().tolist() == [2.0, 6.0]
    net.register_forward_pre_hook(lambda cell, a, k: (a, {"extra": 1.0}), with_kwargs=True)
    net.register_forward_hook(lambda cell, a, k, out: out * k["extra"] * 2, with_kwargs=True)
    net.register_forward_hook(lambda cell, a, out: out + 100, prepend=True)
    assert net(X).asnumpy().tolist() == [206.0, 214.0]


def test_a_forward_hook_may_be_called_after_a_failure():
    net = Scale()
    seen = []
    net.register_forward_hook(lambda cell, args, out: seen.append(out), always_call=True)
    net.register_forward_hook(lambda cell, args, out: seen.append("no"))
    with pytest.raises(ValueError):
        net(Tensor([1.0, 2.0, 3.0]))
    assert seen == [None]


def test_backward_hooks():
    net = Scale()
    seen = []

    def hook(cell, grad_input, grad_output):
        seen.append((cell, grad_input[0].asnumpy().tolist(), grad_output[0].asnumpy().tolist()))
        return (grad_input[0] * 2,)

    handle = net.register_backward_hook(hook)
    gradient = ms.grad(lambda x: net(x) * 5)(X)
    assert gradient.asnumpy().tolist() == [20.0, 30.0]
    assert seen == [(net, [10.0, 15.0], [5.0, 5.0])]
    handle.remove()
    net.register_backward_pre_hook(lambda cell, grad_output: (grad_output[0] * 0 + 1,))
    assert ms.grad(lambda x: net(x) * 5)(X).asnumpy().tolist() == [2.0, 3.0]
    with pytest.raises(TypeError, match="'hook_fn' must be a function"):
        net.register_backward_hook(1)


def test_hooks_of_inner_cells_and_higher_order():
    class Outer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.inner = Scale()

        def construct(self, x):
            return self.inner(x) ** 2

    net = Outer()
    net.inner.register_backward_hook(lambda cell, gi, go: (gi[0] * 3,))
    single = ms.grad(lambda x: net(x))(X)
    np.testing.assert_allclose(single.asnumpy(), 3 * 2 * np.array([2.0, 3.0]) ** 2 * [1.0, 2.0])
    double = ms.grad(ms.grad(lambda x: net(x)))(X)
    np.testing.assert_allclose(double.asnumpy(), 9 * 2 * np.array([2.0, 3.0]) ** 2)


def test_hooks_in_their_order():
    x = ms.Tensor([1.0])
    assert x.hooks() == []
    first, second = x.register_hook(abs), x.register_hook(str)
    assert x.hooks() == [abs, str]
    first.remove()
    assert x.hooks() == [str]
    second.remove()
    assert x.hooks() == []


def test_a_hook_that_another_thread_removes_before_the_call_gets_there():
    net = nn.ReLU()
    handle = net.register_forward_hook(lambda cell, given, out: out * 2)
    handle.remove()
    assert "_call_hooks" not in net.__dict__
    x = ms.Tensor([1.0])
    assert float(net._call_hooked(net._call_unhooked, (x,), {}).asnumpy()[0]) == 1  # as it goes on


def test_hooks_added_and_removed_by_several_threads():
    net, before = nn.ReLU(), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def change(_):
        for _ in range(300):
            handle = net.register_forward_hook(lambda cell, given, out: None)
            if not net.__dict__.get("_call_hooks", {}).get("forward"):
                return False  # it was lost
            handle.remove()
        return True

    try:
        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(change, range(4)))
    finally:
        sys.setswitchinterval(before)
    assert "_call_hooks" not in net.__dict__


FACTORS = Tensor([3.0, 4.0])
JACOBIANS = {
    "jacrev": ms.jacrev, "jacfwd": ms.jacfwd,
    "jvp": lambda f: lambda x: ms.vmap(lambda v: ms.jvp(f, x, v)[1], 0, 1)(ops.eye(2)),
    "vjp": lambda f: lambda x: ms.vmap(ms.vjp(f, x)[1])(ops.eye(2))[0],
    "grad under vmap": lambda f: lambda x: ms.vmap(
        lambda row: ms.grad(lambda x: (f(x) * row).sum())(x))(ops.eye(2)),
    "grad under jvp": lambda f: lambda x: ops.stack([ms.jvp(
        lambda t: ms.grad(lambda x: (f(x) * t).sum())(x), ops.zeros(2), row)[1]
        for row in ops.eye(2)]),
    "compiled": lambda f: ms.jit(ms.jacrev(f)),
}


def stretched(gradient):
    return gradient * Tensor([1.0, 10.0])


def turned(gradient):
    return ops.flip(gradient, (0,))


@pytest.mark.parametrize("place", ["input", "inside"])
@pytest.mark.parametrize("way", JACOBIANS)
def test_hooks_are_called_in_their_order(way, place):
    def f(x):
        y = x * 1
        if place == "inside":
            y.register_hook(stretched)
            y.register_hook(turned)
        return y * FACTORS

    x = Tensor([1.0, 2.0])
    if place == "input":
        x.register_hook(stretched)
        x.register_hook(turned)
    assert JACOBIANS[way](f)(x).asnumpy().tolist() == [[0.0, 3.0], [40.0, 0.0]]


@pytest.mark.parametrize("way", JACOBIANS)
def test_hooks_taken_away_in_any_order(way):
    def f(x):
        y = x * 1
        handles = [y.register_hook(hook) for hook in (stretched, turned, lambda g: g * 7)]
        handles[2].remove()
        handles[0].remove()
        handles[0].remove()
        return y * FACTORS

    assert JACOBIANS[way](f)(X).asnumpy().tolist() == [[0.0, 3.0], [4.0, 0.0]]


def test_hooks_of_a_weight_in_their_order_under_vmap():
    w = Parameter(Tensor([1.0, 2.0]), name="w")
    w.register_hook(lambda gradient: gradient + 1)
    w.register_hook(lambda gradient: gradient * 10)
    by_w = ms.grad(lambda x: x * w, None, w)
    assert by_w(X).asnumpy().tolist() == [20.0, 30.0]
    assert ms.vmap(by_w)(ops.stack([X, Y])).asnumpy().tolist() == [[20.0, 30.0], [40.0, 50.0]]


def test_a_hook_sees_the_gradient_of_uses_before_it_too():
    def f(x):
        y = x * 1
        z = y * 2
        y.register_hook(lambda gradient: gradient * 10)
        return z + y * 3

    assert ms.grad(f)(X).asnumpy().tolist() == [50.0, 50.0]


@pytest.mark.parametrize("call", [
    lambda f: f(X), lambda f: ms.grad(f)(X), lambda f: ms.jvp(f, X, X), lambda f: ms.jacfwd(f)(X),
    lambda f: ms.jvp(lambda x: ms.grad(f)(x), X, X)])
def test_a_hook_of_a_tensor_from_outside_waits_for_a_gradient_by_it(call):
    factor, seen = Tensor([5.0, 6.0]), []
    hook = lambda gradient: seen.append(1)  # noqa: E731

    def f(x):
        if not factor.hooks():
            factor.register_hook(hook)
        return x * factor

    call(f)
    assert factor.hooks() == [hook] and not seen
    assert ms.grad(f)(factor).asnumpy().tolist() == [5.0, 6.0] and seen == [1]


def test_three_hooks_are_kept_in_front_and_behind():
    hooks = [lambda g: g + 1, lambda g: g * 2, lambda g: g - 3]
    x = Tensor([1.0, 2.0])
    handles = [x.register_hook(hook) for hook in hooks]
    assert x.hooks() == hooks and len({handle.handle_id for handle in handles}) == 3
    assert ms.grad(lambda x: x * 5)(x).asnumpy().tolist() == [9.0, 9.0]
    handles[1].remove()
    handles[1].remove()
    assert x.hooks() == hooks[::2]
    x.register_hook(hooks[1])
    assert ms.grad(lambda x: x * 5)(x).asnumpy().tolist() == [6.0, 6.0]


@pytest.mark.parametrize("op", [ops.InsertGradientOf, ops.HookBackward])
def test_a_rule_for_several_uses_weights_of_the_gradient_around(op):
    w = Parameter(Tensor([2.0, 3.0]), name="w")
    rule = op(lambda gradients: (gradients[0] * w * w, gradients[1]))

    def f(x):
        a, b = rule((x, x)) if op is ops.InsertGradientOf else rule(x, x)
        return a * FACTORS + b

    assert ms.grad(f)(X).asnumpy().tolist() == [13.0, 37.0]
    assert ms.grad(lambda x: ms.grad(f)(x), None, w)(X).asnumpy().tolist() == [12.0, 24.0]
    assert ms.vmap(ms.grad(f))(ops.stack([X, Y])).asnumpy().tolist() == [[13.0, 37.0]] * 2


def test_several_inputs_of_a_hook():
    seen = []
    see = ops.HookBackward(lambda gradients: seen.append([g.tolist() for g in gradients]))
    by_x, by_y = ms.grad(lambda x, y: (lambda a, b: a * 3 + b * 5)(*see(x, y)), (0, 1))(X, Y)
    assert by_x.tolist() == [3.0, 3.0] and by_y.tolist() == [5.0, 5.0]
    assert seen == [[[3.0, 3.0], [5.0, 5.0]]]
