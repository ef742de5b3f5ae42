"""Reads the bytecode of a function: its names, operators, imports and `is` comparisons.

A code object is disassembled once; what it says is kept as long as the code itself.
"""

from __future__ import annotations

import dis
import types
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...core.classes import is_a
from ...tensors.tensor import Tensor


class Facts(NamedTuple):
    """What a code object, with the functions defined in it, says.

    Attributes:
        names: those in the code, also those in strings.
        methods: the names of the Tensor's methods that it may call, by names and by operators.
        globals: the names that it may read as globals. Names of attributes are not among them:
            ``self.step`` doesn't read a global ``step``.
        imports: the modules that it imports; relative ones begin with dots.
        identities: whether it may compare identities of objects.
        handles: whether it has an ``except``; those of ``with`` and ``finally`` raise again.
        assigns: whether it assigns variables of the enclosing functions.
    """

    names: frozenset[str]
    methods: frozenset[str]
    globals: frozenset[str]
    imports: frozenset[str]
    identities: bool
    handles: bool
    assigns: bool


_known: weakref.WeakKeyDictionary[types.CodeType, Facts] = weakref.WeakKeyDictionary()


def facts_of(code: types.CodeType) -> Facts:
    """What a code object says: see `Facts`."""
    found = _known.get(code)
    if found is None:
        found = _known[code] = _read(code)
    return found


def with_inner(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object, and those of the functions defined in it."""
    yield code
    for constant in code.co_consts:
        if is_a(constant, types.CodeType):
            yield from with_inner(constant)


def _names_of(code: types.CodeType) -> frozenset[str]:
    found: set[str] = set()
    for part in with_inner(code):
        texts = [text for constant in part.co_consts
                 for text in (constant if type(constant) is tuple else (constant,))
                 if is_a(text, str)]
        found.update(part.co_names, *[  # paths, too: "settings.scale"
            (text, *text.split(".")) for text in texts
            if all(map(str.isidentifier, text.split(".")))])
    return frozenset(found)


def _read(code: types.CodeType) -> Facts:
    names = _names_of(code)
    called, read, imports = set(names), set(), set()
    identities = handles = assigns = False
    for part in with_inner(code):
        identities = identities or not _IDENTITIES.isdisjoint(part.co_names)
        before = ""
        constants: list[Any] = [0, 0]  # the last two: of an import, how many dots, and its names
        for step in dis.get_instructions(part):
            name = step.opname
            operator = (_OPERATORS.get(step.argrepr) or _OPERATORS.get(step.argrepr[:-1])
                        or _OPERATIONS.get(name))  # [:-1] for a += b
            if operator is not None:
                called.update([f"__{kind}{operator}__" for kind in ("", "r", "i")])
            if step.opcode in _OF_GLOBALS:
                read.add(step.argval)
            elif name == "IMPORT_NAME":
                imports.add("." * constants[0] + step.argval)
            elif (name in _BY_HASH or name == "BUILD_MAP" and step.arg
                    or name == "IS_OP" and before != "LOAD_CONST"):
                identities = True
            elif "EXC_MATCH" in name or before == "PUSH_EXC_INFO" and name == "POP_TOP" or (
                    name == "SETUP_FINALLY"):  # of Python 3.10
                handles = True
            elif name in _TO_CLOSURE:
                assigns = assigns or step.argval in part.co_freevars
            if name == "LOAD_CONST":
                constants = [constants[1], step.argval]
            before = name
    return Facts(names, frozenset(called & vars(Tensor).keys()),
                 names if names & _WAYS_AROUND else frozenset(read), frozenset(imports),
                 identities, handles, assigns)


_OPERATORS = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow",
    "@": "matmul", "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift",
    "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
_OPERATIONS = {  # the instructions of Python 3.10, and of one operand
    "BINARY_ADD": "add", "BINARY_SUBTRACT": "sub", "BINARY_MULTIPLY": "mul",
    "BINARY_TRUE_DIVIDE": "truediv", "BINARY_FLOOR_DIVIDE": "floordiv", "BINARY_MODULO": "mod",
    "BINARY_POWER": "pow", "BINARY_MATRIX_MULTIPLY": "matmul", "BINARY_SUBSCR": "getitem",
    "STORE_SUBSCR": "setitem", "UNARY_NEGATIVE": "neg", "UNARY_INVERT": "invert"}
_IDENTITIES = frozenset(("id", "is_", "is_not", "index", "remove", "count", "set", "frozenset"))
_BY_HASH = frozenset(("CONTAINS_OP", "BUILD_SET", "SET_ADD", "MAP_ADD"))
_TO_CLOSURE = frozenset(("STORE_DEREF", "DELETE_DEREF"))
_OF_GLOBALS = frozenset(number for name, number in dis.opmap.items()
                        if "GLOBAL" in name or name.endswith("_NAME") and "IMPORT" not in name)
_WAYS_AROUND = frozenset({"globals", "vars", "eval", "exec", "__dict__", "__globals__", "modules",
                          "import_module", "__import__", "__name__"})
