"""Registration of custom operators; the dicts are recorded from MindSpore 2.10."""

import pytest

from lamella.ops import CustomRegOp, DataType


def test_what_is_said_of_an_operator_comes_back():
    info = (CustomRegOp("k").fusion_type("OPAQUE").input(0, "x", "dynamic", foo=7).output(0, "y")
            .attr("a", "required", "all", "3", value=3)
            .dtype_format(DataType.F32_Default, DataType.F32_Default)
            .dtype_format(DataType.F16_FracNZ, DataType.I8_NC1HWC0).target("Ascend").get_op_info())
    assert info == {
        "op_name": "k", "fusion_type": "OPAQUE", "target": "Ascend",
        "inputs": [{"index": 0, "name": "x", "paramType": "dynamic", "foo": 7}],
        "outputs": [{"index": 0, "name": "y", "paramType": "required"}],
        "attr": [{"name": "a", "paramType": "required", "type": "all", "defaultValue": "3",
                  "value": 3}],
        "dtype_format": [(("float32", "DefaultFormat"), ("float32", "DefaultFormat")),
                         (("float16", "FRACTAL_NZ"), ("int8", "NC1HWC0"))]}


def test_nothing_said():
    assert CustomRegOp().input().attr().get_op_info() == {
        "op_name": "Custom", "inputs": [{"paramType": "required"}], "outputs": [], "attr": [{}],
        "fusion_type": "", "dtype_format": [], "target": "UnKnown"}


def test_types_with_layouts():
    names = [name for name in dir(DataType) if not name.startswith("_")]
    assert len(names) == 204  # as many as MindSpore has
    assert DataType.BF16_Default_Tuple == ("bfloat16", "DefaultFormat", "tuple")
    assert DataType.U8_5HD == ("uint8", "NC1HWC0") and DataType.BOOL_None == ("bool", "")
    assert not hasattr(DataType, "F64_NCDHW")


@pytest.mark.parametrize(("call", "kind", "message"), [
    (lambda: CustomRegOp(3), ValueError, "'op_name' must be a string, but got 3"),  # type: ignore
    (lambda: CustomRegOp().target(3), TypeError, "3 must be str, but got int"),  # type: ignore
    (lambda: CustomRegOp().attr("n", 3), TypeError, "3 must be str"),  # type: ignore
    (lambda: CustomRegOp().input("0", "x"), TypeError, "'0' must be int, but got str"),  # type: ignore
    (lambda: CustomRegOp().input(0, "x").dtype_format(DataType.F32_Default, DataType.F32_Default),
     ValueError, "each of the 1 inputs and outputs, but got 2"),
], ids=["name", "target", "attribute", "index", "types"])
def test_errors(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
