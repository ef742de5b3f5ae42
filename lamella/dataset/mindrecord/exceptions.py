"""What goes wrong with mindrecord files."""

from __future__ import annotations

from typing import Any


class MindRecordException(Exception):
    """The base of errors about mindrecord files."""


class MRMOpenError(MindRecordException):
    """A file can't be opened, or is damaged."""


class MRMInvalidSchemaError(MindRecordException):
    """A schema that can't be."""


class MRMDefineIndexError(MindRecordException):
    """A field that can't be an index."""


class MRMValidateDataError(MindRecordException):
    """A row that doesn't fit the schema."""


class MRMUnsupportedSchemaError(MindRecordException):
    """A schema that isn't supported."""


class MRMDefineCategoryError(MindRecordException):
    """A field that can't be a category."""


class ParamTypeError(MindRecordException):
    """An argument of the wrong type."""


class ParamValueError(MindRecordException):
    """An argument of a wrong value."""


class PathNotExistsError(MindRecordException):
    """A path where nothing is."""


def wrong_value(detail: str) -> ParamValueError:
    """The error of an argument's value, as MindSpore says it."""
    return ParamValueError(f"[ParamValueError]: Invalid parameter value. {detail}")


def wrong_type(detail: str) -> ParamTypeError:
    """The error of an argument's type, as MindSpore says it."""
    return ParamTypeError(f"[ParamTypeError]: Invalid parameter type. {detail}")


def check_path(path: Any) -> None:
    """Refuse what can't be the path of a file.

    Raises:
        ParamValueError: if it is none.
    """
    if path is None or path == "":
        raise wrong_value("File path is not allowed None or empty!")
    if not isinstance(path, str):
        raise wrong_value(f"File path: {path} is not string.")
