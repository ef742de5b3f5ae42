"""Progress bars of notebooks: HTML that is shown once and then changed in its place.

No widget is needed, so every front end shows it, also one whose server is in another environment,
and a notebook that is saved keeps how far it came.
"""

from __future__ import annotations

import html
from typing import Any

from tqdm import tqdm

__all__ = ["HtmlBar"]


class HtmlBar(tqdm):
    """A bar of tqdm's, in a notebook's output.

    Args:
        **given: as for `tqdm`.
    """

    def __init__(self, **given: Any):
        from IPython.display import HTML, display
        super().__init__(gui=True, **given)  # draws nothing by itself
        self._html: Any = HTML
        self._shown: Any = display(HTML(self.as_html()), display_id=True)

    def as_html(self) -> str:
        """What is shown now: the description, the bar, and the figures beside it."""
        left, right = (html.escape(part) for part in self.format_meter(
            **{**self.format_dict, "bar_format": "{l_bar}<bar/>{r_bar}"}).split("<bar/>"))
        of = f" value='{self.n}' max='{self.total}'" if self.total else ""
        return (f"<div style='white-space:pre-wrap;font-family:monospace'>{left.rstrip('|')} "
                f"<progress{of} style='width:12em;vertical-align:middle'></progress> "
                f"{right.lstrip('| ')}</div>")

    def display(self, msg: Any = None, pos: Any = None) -> None:
        """Show how far it is, in the place where it was shown before."""
        self._shown.update(self._html(self.as_html()))

    def close(self) -> None:
        """End it: it stays as it is or, without `leave`, goes."""
        if self.disable:
            return
        super().close()
        self._shown.update(self._html(self.as_html() if self.leave else ""))
