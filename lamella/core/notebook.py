"""Whether the program runs in a notebook."""

from __future__ import annotations

import sys
from typing import Any

__all__ = ["in_notebook", "shell"]


def shell() -> Any:
    """IPython's shell, where the program runs in one; else None. Nothing is imported."""
    get = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return None if get is None else get()


def in_notebook() -> bool:
    """Whether the program runs in a kernel of Jupyter's, which shows HTML and widgets."""
    return getattr(shell(), "kernel", None) is not None
