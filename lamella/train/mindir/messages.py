"""The messages of a MindIR file that say what a network computes.

The names and numbers are those of the message types that MindSpore publishes as ``mind_ir.proto``.
"""

from __future__ import annotations

from ..wire_format import Fields

__all__ = ["ENUMERATIONS", "MODEL", "OF_OPERATORS", "TENSORS", "TYPES", "TYPE_INPUTS"]

TENSOR: Fields = {
    1: ("dims", "int", True), 2: ("data_type", "int", False), 3: ("float_data", "float", True),
    4: ("int32_data", "int", True), 5: ("string_data", "bytes", True),
    6: ("int64_data", "int", True), 7: ("name", "str", False), 9: ("raw_data", "bytes", False),
    10: ("double_data", "double", True), 11: ("uint64_data", "int", True),
    12: ("external_data", {1: ("location", "str", False), 2: ("offset", "int", False),
                           3: ("length", "int", False)}, False),
    13: ("ref_key", "str", False), 16: ("compression_type", "int", False)}

ATTRIBUTE: Fields = {
    1: ("name", "str", False), 2: ("f", "float", False), 3: ("i", "int", False),
    4: ("d", "double", False), 5: ("s", "bytes", False), 6: ("t", TENSOR, False),
    8: ("floats", "float", True), 9: ("doubles", "double", True), 10: ("ints", "int", True),
    11: ("strings", "bytes", True), 12: ("tensors", TENSOR, True), 16: ("type", "int", False)}
ATTRIBUTE[17] = ("values", ATTRIBUTE, True)

VALUE: Fields = {1: ("name", "str", False), 2: ("tensor", TENSOR, True),
                 4: ("denotation", "str", False), 5: ("attr_info", ATTRIBUTE, False)}

NODE: Fields = {1: ("input", "str", True), 2: ("output", "str", True), 3: ("name", "str", False),
                4: ("op_type", "str", False), 5: ("attribute", ATTRIBUTE, True)}

GRAPH: Fields = {1: ("node", NODE, True), 2: ("name", "str", False),
                 3: ("parameter", TENSOR, True), 5: ("input", VALUE, True),
                 6: ("output", VALUE, True)}

PRIMITIVE: Fields = {1: ("name", "str", False), 2: ("op_type", "str", False),
                     3: ("attribute", ATTRIBUTE, True), 5: ("prim_type", "int", False)}

MODEL: Fields = {1: ("ir_version", "str", False), 2: ("producer_name", "str", False),
                 3: ("producer_version", "str", False), 5: ("model_version", "str", False),
                 7: ("graph", GRAPH, False), 8: ("functions", GRAPH, True),
                 9: ("preprocessor", {}, False), 10: ("little_endian", "int", False),
                 12: ("primitives", PRIMITIVE, True), 13: ("mind_ir_version", "int", False)}

# the types of tensors, by their numbers
TENSORS = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64",
           9: "bool", 10: "float16", 11: "float64", 12: "uint32", 13: "uint64", 14: "complex64",
           15: "complex128", 16: "bfloat16", 17: "float64"}

# the types of attributes, by their numbers
FLOAT, INT64, STRING, BOOL, DOUBLE = 1, 7, 8, 9, 11
TENSOR_VALUE, SOME_TENSORS, TUPLE, LIST = 17, 19, 20, 21
UMONAD, IOMONAD, NONE, SCALAR = 23, 24, 25, 39
WHOLE = frozenset((2, 3, 4, 5, 6, 7, 12, 13))  # numbers of 8 to 64 bits

# numbers by which graphs name what Python's code names by texts: by an argument's default
ENUMERATIONS: dict[str, dict[int, str]] = {
    **dict.fromkeys(("none", "mean", "sum"), {0: "sum", 1: "mean", 2: "none"}),
    **dict.fromkeys(("NCHW", "NHWC"), {0: "NCHW", 1: "NHWC", 14: "NCDHW"}),
    **dict.fromkeys(("valid", "same", "pad", "VALID", "SAME"), {0: "pad", 1: "same", 2: "valid"}),
    **dict.fromkeys(("bilinear", "nearest"), {0: "bilinear", 1: "nearest"}),
    **dict.fromkeys(("zeros", "border", "reflection"), {0: "zeros", 1: "border", 2: "reflection"}),
    **dict.fromkeys(("ij", "xy"), {0: "ij", 1: "xy"}),
    **dict.fromkeys(("backward", "forward", "ortho"), {0: "backward", 1: "forward", 2: "ortho"}),
    **dict.fromkeys(("align_corners", "half_pixel", "asymmetric"),
                    {0: "asymmetric", 1: "align_corners", 2: "half_pixel"}),
}

# those of attributes whose default names another
OF_OPERATORS = {("TensorScatterElements", "reduction"): {0: "none", 1: "add"}}

# numbers by which graphs name types
TYPES = {30: "bool_", 32: "int8", 33: "int16", 34: "int32", 35: "int64", 37: "uint8", 38: "uint16",
         39: "uint32", 40: "uint64", 42: "float16", 43: "float32", 44: "float64", 45: "bfloat16",
         51: "complex64", 52: "complex128"}
# operators with a type among their inputs, and its place
TYPE_INPUTS = {
    "Arange": 3, "Cast": 1, "CumsumExt": 2, "Eye": 2, "FillScalar": 2, "FillTensor": 2,
    "LogSoftmaxExt": 2, "MeanExt": 3, "OnesLikeExt": 1, "ProdExt": 3, "SumExt": 3,
    "ZerosLikeExt": 1, "Zeros": 1, "Ones": 1, "LinSpaceExt": 3, "NansumExt": 3, "TupleToTensor": 1,
    "ListToTensor": 1, "ScalarToTensor": 1}
