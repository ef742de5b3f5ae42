"""`ScopedValue`: a value in the source of a network: a name, a number, or a tuple of these."""

from __future__ import annotations

import ast
import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..core.require import of_type

__all__ = ["ScopedValue", "ValueType"]

_SCOPE = "self"


class ValueType(enum.Enum):
    """What a `ScopedValue` is."""

    ConstantValue = 0
    TupleValue = 20
    ListValue = 21
    DictValue = 22
    NamingValue = 40
    CustomObjValue = 41
    UnsupportedValue = 50


class ScopedValue(NamedTuple):
    """A value in source code.

    Attributes:
        type: a `ValueType`.
        scope: ``"self"`` for what belongs to the network, ``""`` for a variable.
        value: the name, the number, the tuple of values; of what is none of them, its `ast`.

    Examples:
        >>> print(ScopedValue.create_naming_value("conv", "self"))
        self.conv
        >>> ScopedValue.create_variable_value((1, "a")).type
        <ValueType.TupleValue: 20>
    """

    type: ValueType
    scope: str = ""
    value: Any = None

    @classmethod
    def create_variable_value(cls, value: Any) -> ScopedValue:
        """The value of a constant, or of a tuple, list or dict of constants."""
        if isinstance(value, cls):
            return value
        if isinstance(value, (tuple, list)):
            kind = ValueType.TupleValue if isinstance(value, tuple) else ValueType.ListValue
            return cls(kind, "", tuple(map(cls.create_variable_value, value)))
        if isinstance(value, dict):
            return cls(ValueType.DictValue, "", tuple(
                (cls.create_variable_value(k), cls.create_variable_value(v))
                for k, v in value.items()))
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            return cls(ValueType.ConstantValue, "", value)
        return cls(ValueType.CustomObjValue, "", value)

    @classmethod
    def create_naming_value(cls, name: str, scope: str = "") -> ScopedValue:
        """The value that a name stands for.

        Raises:
            TypeError: if an argument is no str.
        """
        for argument, given in (("name", name), ("scope", scope)):
            of_type(given, str, argument, "create_naming_value")
        return cls(ValueType.NamingValue, scope, name)

    @staticmethod
    def create_name_values(names: Sequence[str], scopes: Sequence[str] | None = None
                           ) -> list[ScopedValue]:
        """The values of several names.

        Raises:
            ValueError: if there are not as many scopes as names.
        """
        if scopes is not None and len(scopes) != len(names):
            raise ValueError(f"For 'create_name_values', there must be as many scopes as names, "
                             f"{len(names)}, but got {len(scopes)}.")
        return [ScopedValue.create_naming_value(name, scope)
                for name, scope in zip(names, scopes or [""] * len(names), strict=True)]

    def __repr__(self) -> str:
        return ast.unparse(as_ast(self))

    __str__ = __repr__


def as_value(expression: ast.expr) -> ScopedValue:
    """The value of an expression."""
    if isinstance(expression, ast.Name):
        return ScopedValue(ValueType.NamingValue, "", expression.id)
    if isinstance(expression, ast.Constant):
        return ScopedValue(ValueType.ConstantValue, "", expression.value)
    if isinstance(expression, ast.Attribute) and isinstance(expression.value, ast.Name) \
            and expression.value.id == _SCOPE:
        return ScopedValue(ValueType.NamingValue, _SCOPE, expression.attr)
    if isinstance(expression, (ast.Tuple, ast.List)):
        kind = ValueType.TupleValue if isinstance(expression, ast.Tuple) else ValueType.ListValue
        return ScopedValue(kind, "", tuple(map(as_value, expression.elts)))
    return ScopedValue(ValueType.UnsupportedValue, "", expression)


def as_ast(value: ScopedValue, store: bool = False) -> ast.expr:
    """The expression of a value; `store` for what an assignment changes."""
    context = ast.Store() if store else ast.Load()
    if value.type is ValueType.NamingValue:
        if value.scope:
            return ast.Attribute(ast.Name(value.scope, ast.Load()), value.value, context)
        return ast.Name(value.value, context)
    if value.type in (ValueType.TupleValue, ValueType.ListValue):
        kind = ast.Tuple if value.type is ValueType.TupleValue else ast.List
        return kind([as_ast(v, store) for v in value.value], context)
    if value.type is ValueType.DictValue:
        return ast.Dict([as_ast(k) for k, _ in value.value], [as_ast(v) for _, v in value.value])
    if value.type is ValueType.UnsupportedValue:
        return value.value
    if value.type is ValueType.CustomObjValue:
        raise TypeError(f"An object of type {type(value.value).__name__} can't be written into "
                        f"source code; make it an attribute of the network, and name that.")
    return ast.Constant(value.value)


def variables(value: ScopedValue) -> list[str]:
    """The names of the variables in a value."""
    if value.type is ValueType.CustomObjValue:
        return []
    return [part.id for part in ast.walk(as_ast(value)) if isinstance(part, ast.Name)
            and part.id != _SCOPE]
