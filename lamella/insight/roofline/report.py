"""`Report`: the figures of a step as text and as a page."""

from __future__ import annotations

import io
import os
import pathlib
from typing import TYPE_CHECKING

from .figures import Figures
from .page import page_of
from .text import tables

if TYPE_CHECKING:
    from rich.console import RenderableType


class Report(Figures):
    """What a step does, and what limits it, to print or to save; made by `explain`.

    Its numbers are the attributes of `Figures`.
    """

    def save(self, path: str | os.PathLike[str]) -> pathlib.Path:
        """Write a page that needs nothing but itself: tables, timeline, roofline and graph.

        Args:
            path: of the HTML file.

        Returns:
            The path.
        """
        return page_of(self).write(path)

    def __rich__(self) -> RenderableType:
        return tables(self)

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(file=io.StringIO(), width=112, color_system=None)
        console.print(self)
        file = console.file
        assert isinstance(file, io.StringIO)
        return file.getvalue().rstrip()

    def _repr_html_(self) -> str:
        """The page in a notebook."""
        return page_of(self).inline()

    def __repr__(self) -> str:
        return f"<Report of {self.name}: {self.seconds:.3g} s, {len(self.kernels)} kernels>"
