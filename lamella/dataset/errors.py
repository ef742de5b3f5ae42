"""What a pipeline raises: the same three kinds of message for everything that goes wrong in it."""

from __future__ import annotations

import csv
import importlib
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType

from ..core.reading import UNEXPECTED

_RULE = "-" * 66


class DataError(RuntimeError):
    """An error of a pipeline that is explained; outer operations pass it on as it is."""


class SkippedRow(Exception):
    """Raised to leave a row out, where `config.set_error_samples_mode` says so."""


def failed(what: str, files: Sequence[str] = ()) -> str:
    """The sentence that begins an error: what failed, and on a row of which files."""
    named = f" The corresponding data file is: {', '.join(files)}." if files else ""
    return f"{what} failed.{named}"


def in_user_code(what: str, error: BaseException, files: Sequence[str] = ()) -> RuntimeError:
    """The error to raise when a function of the user's failed, with its call stack."""
    if isinstance(error, (DataError, KeyboardInterrupt)):
        return error  # type: ignore[return-value]
    stack = "".join(traceback.format_exception(error)).rstrip()
    return DataError(
        f"Exception thrown from user defined Python function in dataset. \n\n{_RULE}\n"
        f"- Python Call Stack: \n{_RULE}\n{failed(what, files)} Error description:\n"
        f"{type(error).__name__}: {stack}\n\n{_RULE}\n- Dataset Pipeline Error Message: \n{_RULE}\n"
        f"[ERROR] Execute user Python code failed, check 'Python Call Stack' above.\n")


def in_pipeline(message: str) -> RuntimeError:
    """The error to raise when rows don't fit an operation."""
    return DataError(
        f"Exception thrown from dataset pipeline. Refer to 'Dataset Pipeline Error Message'. \n\n"
        f"{_RULE}\n- Dataset Pipeline Error Message: \n{_RULE}\n[ERROR] {message}\n")


@contextmanager
def taken_apart(what: str, path: str) -> Iterator[None]:
    """A block in which `what` takes a file apart; whatever is wrong with that names the file."""
    try:
        yield
    except DataError:
        raise
    except (OSError, EOFError, csv.Error, *UNEXPECTED) as error:
        why = "Failed to cast to Unicode string: " * isinstance(error, UnicodeDecodeError)
        raise in_pipeline(f"{what}: {why}the file {path} can't be read: {type(error).__name__}: "
                          f"{error}") from error


def needs(extra: str, module: str, package: str | None = None) -> ModuleType:
    """Import an optional package.

    Args:
        extra: which of Lamella's extras brings it.
        module: what is imported.
        package: its name for pip, if it differs.

    Raises:
        ImportError: if it isn't there; the message says what to install.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"This needs the package '{package or module}'. Install it with "
            f"'pip install lamella[{extra}]', or 'pip install {package or module}'.") from error
