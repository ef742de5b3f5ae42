"""``Validator`` and ``Rel``: checks of arguments as one class's functions."""

from __future__ import annotations

import enum

from ..core import checks

__all__ = ["Rel", "Validator"]


class Rel(enum.IntEnum):
    """Relations of a number to others.

    Examples:
        >>> from lamella.legacy.checks import Rel, Validator
        >>> Validator.check_int(3, 2, Rel.GE, "groups")
        3
    """

    EQ = checks.EQ
    NE = checks.NE
    LT = checks.LT
    LE = checks.LE
    GT = checks.GT
    GE = checks.GE
    INC_NEITHER = checks.INC_NEITHER
    INC_LEFT = checks.INC_LEFT
    INC_RIGHT = checks.INC_RIGHT
    INC_BOTH = checks.INC_BOTH
    IN = checks.IN
    NOT_IN = checks.NOT_IN


class Validator:
    """The checks of ``mindspore._checkparam`` as static methods."""

    check = staticmethod(checks.check)
    check_bool = staticmethod(checks.check_bool)
    check_equal_int = staticmethod(checks.check_equal_int)
    check_float = staticmethod(checks.check_float)
    check_float_range = staticmethod(checks.check_float_range)
    check_int = staticmethod(checks.check_int)
    check_int_range = staticmethod(checks.check_int_range)
    check_is_float = staticmethod(checks.check_is_float)
    check_is_int = staticmethod(checks.check_is_int)
    check_is_number = staticmethod(checks.check_is_number)
    check_isinstance = staticmethod(checks.check_isinstance)
    check_negative_float = staticmethod(checks.check_negative_float)
    check_negative_int = staticmethod(checks.check_negative_int)
    check_non_negative_float = staticmethod(checks.check_non_negative_float)
    check_non_negative_int = staticmethod(checks.check_non_negative_int)
    check_non_negative_int_sequence = staticmethod(checks.check_non_negative_int_sequence)
    check_non_positive_float = staticmethod(checks.check_non_positive_float)
    check_non_positive_int = staticmethod(checks.check_non_positive_int)
    check_number = staticmethod(checks.check_number)
    check_number_range = staticmethod(checks.check_number_range)
    check_positive_float = staticmethod(checks.check_positive_float)
    check_positive_float_sequence = staticmethod(checks.check_positive_float_sequence)
    check_positive_int = staticmethod(checks.check_positive_int)
    check_positive_int_sequence = staticmethod(checks.check_positive_int_sequence)
    check_string = staticmethod(checks.check_string)
    check_subclass = staticmethod(checks.check_subclass)
    check_type_name = staticmethod(checks.check_type_name)
    check_types_same_and_valid = staticmethod(checks.check_types_same_and_valid)
    check_value_type = staticmethod(checks.check_value_type)
