"""What a block of MsDispatchMode sees, and what it may change."""

from __future__ import annotations

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops


class Seen(ms.MsDispatchMode):
    def __init__(self):
        self.names = []

    def __ms_dispatch__(self, func, args, kwargs=None):
        assert all(not hasattr(a, "untyped_storage") or isinstance(a, Tensor) for a in args)
        self.names.append(func.name)
        return func(*args, **kwargs or {})


X, Y = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([[2.0, 0.5], [1.0, 1.0]])

# as MindSpore 2.10 calls them
NAMES = [(lambda: X + Y, ["AddExt"]), (lambda: X * 2, ["Muls"]), (lambda: X - Y, ["SubExt"]),
         (lambda: X * Y, ["Mul"]), (lambda: X / Y, ["Div"]), (lambda: X @ Y, ["MatMulExt"]),
         (lambda: ops.relu(X), ["ReLU"]), (lambda: ops.sin(X), ["Sin"]),
         (lambda: X.sum(), ["SumExt"]), (lambda: ops.softmax(X), ["Softmax"]),
         (lambda: ops.cat((X, Y)), ["Concat"]), (lambda: X > Y, ["Greater"]),
         (lambda: X.astype(ms.int32), ["Cast"]), (lambda: -X, ["Neg"]),
         (lambda: ops.where(X > Y, X, Y), ["Greater", "Select"])]


# those of kernels that have no name there, those in place, and what isn't seen
NAMES += [(lambda: ops.cummax(X, 0)[0], ["Cummax"]), (lambda: 2 * X, ["Muls"]),
          (lambda: X.copy().add_(Y), ["Clone", "InplaceAddExt"]),
          (lambda: X.copy().mul_(2), ["Clone", "InplaceMuls"]),
          (lambda: X.copy().mul_(Y), ["Clone", "InplaceMul"]),
          (lambda: ops.split(X, 1)[1], ["Split"]), (lambda: ops.stop_gradient(X), []),
          (lambda: ops.log_softmax(X), ["LogSoftmax"])]


@pytest.mark.parametrize(("call", "names"), NAMES)
def test_names(call, names):
    want, mode = call().asnumpy(), Seen()
    with mode:
        got = call()
    with ms.MsDispatchMode():
        plain = call()
    assert mode.names == names
    for found in (got, plain):
        assert found.asnumpy().dtype == want.dtype
        np.testing.assert_array_equal(found.asnumpy(), want)


def test_the_innermost_block_counts_and_blocks_can_be_entered_again():
    outer, inner = Seen(), Seen()
    with outer:
        X * 2
        with inner, inner:
            X + Y
        X - Y
    X + X
    assert outer.names == ["Muls", "SubExt"] and inner.names == ["AddExt"]


def test_gradients_and_a_decorator():
    mode, net = Seen(), nn.Dense(2, 1)
    step = mode(ms.value_and_grad(lambda x: net(x).sum(), None, net.trainable_params()))
    value, gradients = step(X)
    assert len(mode.names) > 3
    np.testing.assert_allclose(gradients[0].asnumpy(), [[4.0, 6.0]])
    np.testing.assert_allclose(value.asnumpy(), net(X).sum().asnumpy(), rtol=1e-6)


def test_results_are_replaced():
    class Doubled(ms.MsDispatchMode):
        def __ms_dispatch__(self, func, args, kwargs=None):
            return func(*args) * 2 if func.name == "AddExt" else func(*args)

    with Doubled():
        found = X + Y
    np.testing.assert_array_equal(found.asnumpy(), 2 * (X + Y).asnumpy())


class Gives(ms.MsDispatchMode):
    """Gives something else in place of what an operator gives."""

    def __init__(self, change):
        super().__init__()
        self.change = change

    def __ms_dispatch__(self, func, args, kwargs=None):
        return self.change(func(*args, **kwargs or {}))


@pytest.mark.parametrize(("call", "change", "fits"), [
    (lambda: X + Y, lambda out: out, True), (lambda: X + Y, lambda out: (out,), False),
    (lambda: X + Y, lambda out: None, False), (lambda: ops.cummax(X, 0), tuple, True),
    (lambda: ops.cummax(X, 0), list, True), (lambda: ops.cummax(X, 0), lambda out: out[:1], False),
    (lambda: ops.cummax(X, 0), lambda out: out[0], False),
    (lambda: ops.cummax(X, 0), lambda out: (*out, X), False),
    (lambda: ops.split(X, 1), list, True), (lambda: X.asnumpy(), lambda out: 1 / 0, True)])
def test_forms_of_what_is_given(call, change, fits):
    if fits:
        with Gives(change):
            found = call()
        for a, b in zip(ms.tree.leaves(found), ms.tree.leaves(call()), strict=True):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))
        return
    with pytest.raises(RuntimeError, match="must be of the form that 'func.*args.' gives"), (
            Gives(change)):
        call()


def test_errors():
    class Wrong(ms.MsDispatchMode):
        def __ms_dispatch__(self, func):
            return func

    class Number(ms.MsDispatchMode):
        def __ms_dispatch__(self, func, args, kwargs=None):
            return 7

    class Stops(ms.MsDispatchMode):
        def __ms_dispatch__(self, func, args, kwargs=None):
            raise KeyError("stopped")

    class Adds(ms.MsDispatchMode):
        def __ms_dispatch__(self, func, args, kwargs=None):
            return func(*args) + None

    for mode, error, text in ((Wrong(), TypeError, "must take"),
                              (Number(), RuntimeError, "what it returns for AddExt"),
                              (Adds(), RuntimeError, "For 'Adds', '__ms_dispatch__' failed for"),
                              (Stops(), KeyError, "stopped")):
        with pytest.raises(error, match=text), mode:
            X + Y
        assert (X + Y).shape == (2, 2)  # nothing is left behind
