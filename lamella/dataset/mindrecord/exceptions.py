"""What goes wrong with mindrecord files."""

from __future__ import annotations


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
