"""Errors of a Cell's call: what it was given, and which layer of the network it is."""

from __future__ import annotations

from typing import Any

from ..core.errors import explained_in, is_own

_LAYER = "_lamella_layer"


def explained_call(cell: Any, args: tuple, kwargs: dict, error: Exception) -> Exception:
    """The error to raise when a call of `cell` failed with `error`, with a note of the layer."""
    explained = explained_in(type(cell).__name__, type(cell), cell.construct, args, kwargs, error)
    _note_layer(explained, cell)
    return explained


def _note_layer(error: Exception, cell: Any) -> None:
    """Note the path of the innermost Cell, as seen from `cell`, through which an error came.

    Called for each Cell on the way out. Cells of Lamella that are put around the user's network (a
    loss, a training step) add nothing to the path.
    """
    layer, note, is_users = error.__dict__.get(_LAYER) or (cell, "", False)
    if layer is not cell and not (is_users and is_own(type(cell))):
        path = next((path for path, inner in cell.cells_and_names() if inner is layer), "")
        if path:
            _forget(error, note)
            note = f"in layer '{path}' ({type(layer).__name__})"
            _add(error, note)
    error.__dict__[_LAYER] = layer, note, is_users or not is_own(type(cell))


def _add(error: Any, note: str) -> None:
    if hasattr(error, "add_note"):
        error.add_note(note)
    elif error.args and str(error.args[0]).startswith("For '"):  # Python 3.10 has no notes
        error.args = (f"{error.args[0]}\n{note}", *error.args[1:])


def _forget(error: Any, note: str) -> None:
    if note in getattr(error, "__notes__", ()):
        error.__notes__.remove(note)
    elif error.args:
        error.args = (str(error.args[0]).removesuffix(f"\n{note}"), *error.args[1:])
