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


NONE, TENSOR, PARAMETER = None, Tensor([1.0]), ms.Parameter(1.0)
VALUES: dict[str, Any] = {
    "none": NONE, "tensor": TENSOR, "parameter": PARAMETER, "tuple": (1,), "list": [1],
    "dict": {1: 2}, "str": "a", "bool": True, "numpy bool": np.bool_(True), "int": 3,
    "numpy int": np.int32(3), "float": 0.5, "numpy float": np.float32(0.5), "complex": 1j,
    "slice": slice(2), "ellipsis": ..., "type": ms.float32, "function": len}
INTS, FLOATS = "int, numpy int", "float, numpy float"
FITS = {  # the values that each name stands for
    "Tensor": "tensor, parameter", "Parameter": "parameter", "Ref": "parameter", "Tuple": "tuple",
    "List": "list", "Dictionary": "dict", "Dict": "dict", "String": "str", "Str": "str",
    "None": "none", "TypeNone": "none", "Bool": "bool, numpy bool", "Bool_": "bool, numpy bool",
    "Int": INTS, "Int32": INTS, "Int64": INTS, "Int_": INTS, "Float": FLOATS, "Float32": FLOATS,
    "Float64": FLOATS, "Float_": FLOATS, "Slice": "slice", "Ellipsis": "ellipsis",
    "Number": f"bool, complex, {INTS}, {FLOATS}", "Type": "type", "TypeType": "type",
    " tensor[float32] ": "tensor, parameter", "Tensor[Float64]": "", "Tensor[Int64]": "",
    "Undetermined": "", "RowTensor": "", "MapTensor": ""}


@pytest.mark.parametrize("name", FITS)
def test_values_that_a_name_stands_for(name: str) -> None:
    graph = ops.MultitypeFuncGraph("graph")
    graph.register(name)(lambda x: True)
    graph.register_default()(lambda *x: False)
    assert {key for key, value in VALUES.items() if graph(value)} == set(
        FITS[name].split(", ")) - {""}
    assert not graph(1, 1) and not graph()


@pytest.mark.parametrize(("kind", "fits"), [
    (ms.common.dtype.type_none, "none"), (ms.int_, INTS), (ms.float_, FLOATS),
    (ms.common.dtype.type_type, "type"), (int, "int, bool"), (str, "str"),
    (ms.tensor_type, "tensor, parameter")])
def test_values_that_a_type_stands_for(kind: Any, fits: str) -> None:
    graph = ops.MultitypeFuncGraph("graph")
    graph.register(kind)(lambda x: True)
    graph._register_default()(lambda *x: False)
    assert {key for key, value in VALUES.items() if graph(value)} == set(fits.split(", "))


def test_functions_are_no_tensors() -> None:
    graph = ops.MultitypeFuncGraph("graph")
    for name in ("Function", "Func"):
        graph.register(name)(lambda x: "called")
    graph.register_default()(lambda x: "other")
    assert graph(len) == graph(lambda: 1) == graph(int) == "called"
    assert graph(Tensor([1.0])) == graph(1) == "other"


def test_a_single_body_and_a_default() -> None:
    graph = ops.MultitypeFuncGraph("graph")
    graph.register("Tensor")(lambda x: "tensor")
    assert graph(3) == "tensor"
    graph.register_default()(lambda *x: "other")
    assert graph(3) == "other" and graph(Tensor(1)) == "tensor"
    other = ops.MultitypeFuncGraph("other")
    for name in ("Tensor", "Number"):
        other.register(name)(lambda x, name=name: name)
    for arguments in ((), (1, 2), ("a",)):
        with pytest.raises(ValueError, match="no function is registered"):
            other(*arguments)


def test_nested_sequences_and_their_order() -> None:
    tree, seen = (1, [2, (3, 4)], ()), []

    def twice(*leaves: int) -> int:
        seen.append(leaves)
        return 2 * leaves[0]

    assert ops.HyperMap(twice)(tree) == (2, (4, (6, 8)), ())
    assert seen == [(1,), (2,), (3,), (4,)]
    seen.clear()
    assert ops.HyperMap(twice, True)(tree, tree) == (2, (4, (6, 8)), ())
    assert seen == [(4, 4), (3, 3), (2, 2), (1, 1)]
    assert ops.Map()(lambda a: a, ((1, 2), 3)) == ((1, 2), 3)
    assert ops.Map(lambda a, b: (a, b))((1, 2, 3), [4, 5]) == ((1, 4), (2, 5))
    assert ops.HyperMap(lambda a, b: a * b)([3, 4], Tensor([2.0, 5.0])) == (6, 20)
    for call in (lambda: ops.HyperMap(twice)(), lambda: ops.HyperMap()(twice)):
        with pytest.raises(TypeError, match="give a sequence after the function"):
            call()
    for other in ((5,), (None, {1: 2})):
        with pytest.raises(TypeError, match="sequences of one shape"):
            ops.HyperMap(twice)((1, (2,)), (1, *other[-1:]))


def test_constants_of_a_class() -> None:
    def double(n: int) -> int:
        return 2 * n

    for mark in (ops.constexpr, ops._primexpr):
        assert mark(double) is mark()(double) is double
        assert mark(get_instance=False)(double)() is mark(double, False)() is double


def test_flags_are_added_to_those_there_are() -> None:
    def call() -> None:
        """Nothing."""

    assert ops.add_flags(call, a=1, b=2) is call
    assert ops.add_flags(b=3, c=4)(call)._func_graph_flags == {"a": 1, "b": 3, "c": 4}
    with pytest.raises(TypeError, match="'fn' must be a function or a Cell, but"):
        ops.add_flags(3)


def test_attributes_and_arguments_that_do_not_fit() -> None:
    class Scale(ops.Primitive):
        @ops.prim_attr_register
        def __init__(self, factor: int, more: int = 5):
            self.add_prim_attr("last", factor + more)

    scale = Scale(2)
    assert scale.attrs == {"factor": 2, "more": 5, "last": 7} and scale.name == "Scale"
    with pytest.raises(TypeError, match="Scale"):
        Scale()
    with pytest.raises(TypeError, match="Scale"):
        Scale(1, 2, 3)


def test_mixed_precision_leaves_what_is_not_floating() -> None:
    whole = Tensor([1])
    found = ops.mixed_precision_cast(ms.float16, (whole, [Tensor([1.0], ms.float64)], "a", True))
    assert found[0] is whole and isinstance(found[1], tuple) and found[2:] == ("a", True)
    assert found[1][0].dtype is ms.float16 and found[1][0].tolist() == [1]


def test_elements_of_tuples() -> None:
    for sequence in ((4, 5, 6), [4, 5, 6]):
        assert [ops.tuple_getitem(sequence, i) for i in range(-3, 3)] == [4, 5, 6] * 2
        for index in (3, -4):
            with pytest.raises(IndexError, match=r"must be in \[-3, 3\)"):
                ops.tuple_getitem(sequence, index)
    with pytest.raises(TypeError, match="'value' must be a tuple or list"):
        ops.tuple_getitem("ab", 0)
    with pytest.raises(TypeError, match="'index' must be an int"):
        ops.tuple_getitem((1,), 0.0)
    assert ops.make_range(2, 9, 3) == (2, 5, 8) and ops.tuple_len((4, 4, 4)) == 3
    with pytest.raises(TypeError, match=r"args\[1\]"):
        ops.make_range(1, 2.0)
    with pytest.raises(TypeError, match="'function' must be callable"):
        ops.partial(3)
    assert ops.typeof(Tensor(1)) is ms.tensor_type and ops.typeof(2.5) is ms.float64
