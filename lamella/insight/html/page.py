"""`Page`: a report as one HTML file."""

from __future__ import annotations

import html
import json
import math
import os
import pathlib
from collections.abc import Iterable
from typing import Any

ASSETS = pathlib.Path(__file__).parent / "assets"
SCRIPTS = ("shell.js", "table.js", "charts.js", "plot.js", "outline.js")
# nothing is loaded from anywhere, whatever the data say
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"


class Page:
    """A report being put together.

    Args:
        title: of the page.
        subtitle: a line under it.

    Examples:
        >>> from lamella.insight.html import Page
        >>> page = Page("A report", "of nothing much")
        >>> page.section("Numbers", "table", {"columns": [{"key": "n", "label": "N"}],
        ...                                   "rows": [{"id": "a", "n": 1}]})
        >>> page.record("a", "The number", [("value", 1)])
        >>> page.html().startswith("<!doctype html>")
        True
    """

    def __init__(self, title: str, subtitle: str = ""):
        self.title = title
        self.subtitle = subtitle
        self.sections: list[dict[str, Any]] = []
        self.records: dict[str, dict[str, Any]] = {}
        self.scripts: list[str] = []

    def section(self, title: str, component: str, data: Any, note: str = "") -> None:
        """Add a section.

        Numbers in the data are plain; ``format`` says how they are shown: ``"time"`` (seconds),
        ``"count"``, ``"bytes"``, ``"rate"`` (FLOP/s), ``"bandwidth"`` (bytes/s), ``"percent"`` (of
        1) or ``"number"``. ``color`` is a number from 0 to 7. What has no ``id`` can't be clicked.

        Args:
            title: above it; empty for none.
            component: one of

                - ``"tiles"``: a list of dicts of ``label``, ``value`` (text) and ``note``;
                - ``"shares"``: dict of ``rows``, dicts of ``label`` and ``parts`` (dicts of
                  ``label``, ``value``, ``color``), and ``format``;
                - ``"table"``: dict of ``columns`` (dicts of ``key``, ``label``, and perhaps
                  ``format``, ``title``, ``bar`` (true: a bar behind the number), ``code``,
                  ``wrap`` (true: texts of several lines), ``narrow``, ``color`` (the row's key
                  that holds the color of a dot)), ``rows``, ``sort`` (key and 1 or -1),
                  ``groups`` (keys to group by) and ``total`` (keys added up in the heads of
                  groups);
                - ``"timeline"``: dict of ``lanes`` (names), ``items`` (dicts of ``id``, ``lane``,
                  ``start``, ``length``, ``label``, ``color``), ``format`` and ``legend`` (dicts of
                  ``label`` and ``color``);
                - ``"plot"``: dict of ``x`` and ``y`` (dicts of ``label``, ``format``, ``log``),
                  ``points`` (dicts of ``id``, ``x``, ``y``, ``size`` (0 to 1), ``label``,
                  ``color``), ``lines`` (dicts of ``label``, ``points``, ``dashed``, ``color``) and
                  ``legend``;
                - ``"outline"``: dict of ``nodes`` (dicts of ``id``, ``parent``, ``label``,
                  ``value``, ``note``, ``color``), ``edges`` (lists of the ids of two nodes without
                  children and a weight), ``format``, ``weight_format`` and ``open`` (levels
                  unfolded at first);
                - ``"text"``: a list of paragraphs.
            data: for it, as above.
            note: a line under the title.
        """
        self.sections.append({"title": title, "component": component, "data": data, "note": note})

    def tiles(self, tiles: list[dict[str, Any]]) -> None:
        """Add a row of numbers with labels, each a dict of ``label``, ``value`` and ``note``."""
        self.section("", "tiles", tiles)

    def record(self, id: str, title: str, fields: Iterable[tuple[str, Any]], code: str = "",
               note: str = "") -> None:
        """What is shown at the side when something of this id is clicked.

        Args:
            id: of what is clicked.
            title: of the record.
            fields: names and values, in order; a value is text or a number.
            code: a line of source, shown as such.
            note: a sentence under the fields.
        """
        self.records[id] = {"title": title, "fields": [[k, v] for k, v in fields], "code": code,
                            "note": note}

    def script(self, source: str) -> None:
        """Add JavaScript of a report's own: ``lamella.component(name, (element, data) => ...)``."""
        self.scripts.append(source)

    def html(self) -> str:
        """The page."""
        title = html.escape(self.title)
        data = _json({"title": self.title, "subtitle": self.subtitle, "sections": self.sections,
                      "records": self.records})
        scripts = [_asset(name) for name in SCRIPTS] + self.scripts + ["lamella.start();"]
        return "\n".join([
            "<!doctype html>", '<html lang="en">', "<head>", '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            '<link rel="icon" href="data:,">',
            f"<title>{title}</title>", f"<style>\n{_asset('style.css')}</style>", "</head>",
            "<body>", f"<noscript><h1>{title}</h1>This page needs JavaScript.</noscript>",
            f'<script type="application/json" id="data">{data}</script>',
            *(f"<script>\n{_script(source)}</script>" for source in scripts), "</body>", "</html>",
            ""])

    def inline(self, height: int = 640) -> str:
        """The page within a notebook, in a frame of its own.

        Args:
            height: of the frame, in pixels.
        """
        return (f"<iframe srcdoc=\"{html.escape(self.html())}\" sandbox='allow-scripts' "
                f"style='width:100%;height:{height}px;border:0'></iframe>")

    def write(self, path: str | os.PathLike[str]) -> pathlib.Path:
        """Write the page to a file, whole or not at all; returns its path."""
        target = pathlib.Path(path)
        draft = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            draft.write_text(self.html(), encoding="utf-8")
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
        return target


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def _script(source: str) -> str:
    return source.replace("</script", "<\\/script")


def _json(value: Any) -> str:
    """JSON that can stand inside a script element: numbers that aren't finite become null."""
    text = json.dumps(_finite(value), allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(k): _finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(v) for v in value]
    return value
