import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops

X, Y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])


def test_a_python_function_with_its_own_gradient():
    add = ops.Custom(lambda a, b: a + b, (2,), ms.float32, "pyfunc",
                     bprop=lambda x, y, out, dout: (dout * 2, dout * 3))
    np.testing.assert_array_equal(add(X, Y).asnumpy(), [4.0, 6.0])
    found = ms.grad(add, (0, 1))(X, Y)  # as recorded from MindSpore
    assert [g.asnumpy().tolist() for g in found] == [[2.0, 2.0], [3.0, 3.0]]


def test_shapes_and_types_are_functions_or_given():
    two = ops.Custom(lambda a: (a.sum(), a * 2), lambda s: ((), s), lambda t: (ms.float64, t))
    total, double = two(X)
    assert total.dtype is ms.float64 and total.asnumpy() == 3.0
    assert double.dtype is ms.float32 and double.asnumpy().tolist() == [2.0, 4.0]
    assert ops.Custom(np.argmax, func_type="hybrid")(X).asnumpy() == 1


@pytest.mark.parametrize("make, kind, text", [
    (lambda: ops.Custom(3), TypeError, "'func' must be a function"),
    (lambda: ops.Custom(abs, func_type="nope"), ValueError, "'func_type' must be one of"),
    (lambda: ops.Custom("x.so:f", func_type="aot"), NotImplementedError, "only MindSpore can load"),
    (lambda: ops.Custom(abs, bprop=3), TypeError, "'bprop' must be a function"),
    (lambda: ops.Custom(abs, (3,))(X), ValueError, r"shape \(3,\).*shape \(2,\)"),
    (lambda: ops.Custom(lambda a: (a, a), lambda s: (s,))(X), ValueError, "give 1 results"),
    (lambda: ops.Morph(3, abs, abs), TypeError, "'fn' must be a function"),
    (lambda: ops.PyFunc(3, [], [], [], []), TypeError, "'fn' must be a function"),
], ids=range(8))
def test_what_is_no_function_is_refused(make, kind, text):
    with pytest.raises(kind, match=text):
        make()


def test_morph_is_differentiated_or_has_a_rule():
    cube = ops.Morph(lambda x: x ** 3, lambda s: s, lambda t: t)
    np.testing.assert_allclose(ms.grad(cube)(X).asnumpy(), [3.0, 12.0])
    ruled = ops.Morph(lambda x: x ** 3, lambda s: s, lambda t: t, lambda x, out, dout: x * dout)
    np.testing.assert_allclose(ms.grad(lambda x: ruled(x) * 2)(X).asnumpy(), [2.0, 4.0])
    step = ms.jit(lambda x: ms.grad(ruled)(x))
    for _ in range(3):
        np.testing.assert_allclose(step(X).asnumpy(), [1.0, 2.0])
    assert step.report()["replays"] == 2


class Scaled(ops.PrimitiveWithInfer):
    @ops.prim_attr_register
    def __init__(self, factor=2.0):
        super().__init__("Scaled")

    def __call__(self, x):
        return x * self.factor

    def infer_shape(self, x):
        return x


def test_an_operator_of_the_program():
    scaled = Scaled(3.0)
    assert (scaled.name, scaled.factor, scaled.get_attr_dict()) == ("Scaled", 3.0, {"factor": 3.0})
    np.testing.assert_array_equal(ms.grad(scaled)(X).asnumpy(), [3.0, 3.0])
    scaled.set_user_data("mine", [1])
    assert scaled.get_user_data("mine") == [1] and scaled.get_user_data("other") is None
    assert Scaled().get_user_data("mine") is None
    scaled.add_attr("more", 1)
    assert scaled.more == 1
    scaled.del_attr("more")
    assert "more" not in scaled.attrs


def test_a_name_is_the_operator_of_that_name():
    assert ops.Primitive("Add")(X, Y).asnumpy().tolist() == [4.0, 6.0]
    total = ops.Primitive("ReduceSum").add_prim_attr("keep_dims", True)
    assert total(X, 0).shape == (1,)
    for name in ("NoSuchOperator", "PrimitiveWithInfer", "add"):
        with pytest.raises(NotImplementedError, match=name):
            ops.Primitive(name)(X)
    with pytest.raises(NotImplementedError, match="Checked"):
        type("Checked", (ops.PrimitiveWithCheck,), {})("Checked")(X)


@pytest.mark.parametrize("declared, given, kind", [
    ((), [[2.0]], float), ((1,), [2.0], np.ndarray), ((), [2.0, 3.0], np.ndarray),
    (None, [2.0], np.ndarray)])
def test_a_declared_number_is_given_as_one(declared, given, kind):
    seen = []
    fn = ops.PyFunc(lambda x: seen.append(x) or np.zeros(1, np.float32), [ms.float32], [declared],
                    [ms.float32], [(1,)])
    fn(Tensor(given))
    assert type(seen[0]) is kind
    np.testing.assert_array_equal(np.ravel(seen[0]), np.ravel(given))
