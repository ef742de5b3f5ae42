"""Maps over nested sequences, dispatch on types, and the decorators of operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, ops


def test_dispatch_on_types() -> None:
    kind = ops.MultitypeFuncGraph("kind")
    for names in (("Number",), ("Tensor",), ("Tensor", "Number"), ("Tuple",), ("None",), ("Bool",),
                  ("Function",), ("String",), ("List",)):
        kind.register(*names)(lambda *args, names=names: names)
    assert kind(1) == kind(2.5) == ("Number",)
    assert kind(Tensor([1])) == kind(ms.Parameter(1.0)) == ("Tensor",)
    assert kind(Tensor([1]), 2) == ("Tensor", "Number")
    assert kind((1,)) == ("Tuple",) and kind([1]) == ("List",) and kind(None) == ("None",)
    assert kind(len) == ("Function",) and kind("a") == ("String",)
    with pytest.raises(ValueError, match="'kind', no function is registered for the types"):
        kind({}, 1)


def test_dispatch_on_names_of_types() -> None:
    kind = ops.MultitypeFuncGraph("kind")
    for name in ("Tensor[Float32]", "RowTensor", "COOTensor", "CSRTensor", "Func", "Int_", "Float_",
                 "Bool_", "Dictionary", "Slice", "Ellipsis", "TypeType", "Parameter"):
        kind.register(name)(lambda x, name=name: name)
    places = Tensor([[0, 1]], ms.int32)
    for value, want in (
            (Tensor([1.0]), "Tensor[Float32]"), (4, "Int_"), (0.5, "Float_"), (True, "Bool_"),
            ({}, "Dictionary"), (slice(1), "Slice"), (..., "Ellipsis"), (len, "Func"),
            (ms.float16, "TypeType"), (ms.COOTensor(places, Tensor([1.0]), (2, 2)), "COOTensor"),
            (ms.CSRTensor(Tensor([0, 1], ms.int32), Tensor([0], ms.int32), Tensor([1.0]), (1, 2)),
             "CSRTensor"), (ms.RowTensor(Tensor([0], ms.int32), Tensor([[1.0]]), (2, 1)),
                            "RowTensor")):
        assert kind(value) == want
    for value in (Tensor([1]), "text", None):
        with pytest.raises(ValueError, match="no function is registered for the types"):
            kind(value)
    with pytest.raises(TypeError, match="the type 'Whatever' is not known. Known: "):
        ops.MultitypeFuncGraph("other").register("Whatever")(len)


def test_a_single_body_takes_all_types() -> None:
    only = ops.MultitypeFuncGraph("only")
    only.register("Tensor")(lambda x: x)
    assert only(3) == 3


def test_types_of_register() -> None:
    graph = ops.MultitypeFuncGraph("graph")
    graph.register(ms.tensor_type)(lambda x: "tensor")
    graph.register(ms.number)(lambda x: "number")
    assert graph(Tensor(1)) == "tensor" and graph(1) == "number"
    with pytest.raises(TypeError, match="by name or as a mindspore data type"):
        graph.register(3)
    with pytest.raises(TypeError, match="the type 'Tenser' is not known"):
        graph.register("Tenser")


def test_gradient_clipping_as_programs_write_it() -> None:
    """The idiom of nearly every training script: HyperMap, partial and MultitypeFuncGraph."""
    clip = ops.MultitypeFuncGraph("clip")

    @clip.register("Number", "Tensor")
    def _clip(limit: float, gradient: Tensor) -> Tensor:
        most = ops.fill(gradient.dtype, gradient.shape, limit)
        return ops.select(gradient > limit, most, gradient)

    gradients = (Tensor([1.0, 5.0]), Tensor([[7.0]]))
    clipped = ops.HyperMap()(ops.partial(clip, 2.0), gradients)
    assert isinstance(clipped, tuple)
    assert [c.tolist() for c in clipped] == [[1.0, 2.0], [[2.0]]]


def test_maps_over_parameter_tuples_and_reverse() -> None:
    seen = []
    pair = ms.ParameterTuple([ms.Parameter(1.0, name="a"), ms.Parameter(2.0, name="b")])
    out = ops.Map(reverse=True)(lambda p: seen.append(p.name) or p * 2, pair)
    assert seen == ["b", "a"] and [float(o) for o in out] == [2.0, 4.0]
    with pytest.raises(TypeError, match="sequences of one shape"):
        ops.HyperMap()(lambda a, b: a, (1, 2), 3)
    with pytest.raises(TypeError, match="'ops' must be a function"):
        ops.HyperMap(3)


def test_prim_attr_register() -> None:
    class Scale(ops.Primitive):
        @ops.prim_attr_register
        def __init__(self, factor: int = 2, *, name2: str = "x"):
            self.seen = factor

        def __call__(self, x: Any) -> Any:
            return x * self.factor

    scale = Scale(3)
    assert scale(2) == 6 and scale.seen == 3 and scale.attrs["name2"] == "x"
    assert repr(scale) == "Prim[Scale]<factor=3, name2=x>"


def test_constexpr_and_add_flags() -> None:
    @ops.constexpr(check=False)
    def double(n: int) -> int:
        return 2 * n

    class Net(ms.nn.Cell):
        @ops.add_flags(loop=True)
        def construct(self, x: Any) -> Any:
            return x

    assert double(4) == 8 and Net().construct._func_graph_flags == {"loop": True}
    with pytest.raises(TypeError, match="add_flags.*abs"):
        ops.add_flags(abs)


def test_pyfunc_gives_tuples_of_the_types_asked_for() -> None:
    kinds = []
    number = ops.PyFunc(lambda n, x: kinds.append((type(n), x.shape)) or x * n,
                        [ms.int32, ms.float32], [(), (2,)], [ms.float32], [(2,)])
    assert number(ms.Tensor([3], ms.int32), ms.Tensor([1.0, 2.0]))[0].tolist() == [3, 6]
    assert number(ms.Tensor(3, ms.int32), ms.Tensor([1.0, 2.0]))[0].tolist() == [3, 6]
    assert kinds == [(int, (2,))] * 2
    both = ops.PyFunc(lambda x: (x.sum(), x > 1), [ms.float32], [(2,)], [ms.float64, ms.bool_],
                      [(), (2,)])
    total, more = both(Tensor([1.0, 2.0]))
    assert total.dtype == ms.float64 and float(total) == 3.0
    np.testing.assert_array_equal(more.asnumpy(), [False, True])


def test_mixed_precision_cast() -> None:
    out = ops.mixed_precision_cast(ms.bfloat16, {"a": [Tensor([1.0]), 3], "b": Tensor([1])})
    assert out["a"][0].dtype == ms.bfloat16 and out["a"][1] == 3 and out["b"].dtype == ms.int64


def test_the_type_of_a_class_is_that_of_classes() -> None:
    assert ops.typeof(Tensor) == ops.typeof(int) == ms.common.dtype.type_type
    with pytest.raises(NotImplementedError, match="No data type stands for"):
        ms.get_py_obj_dtype(Tensor)
