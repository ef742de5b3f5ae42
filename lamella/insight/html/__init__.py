"""Pages for reports: self-contained HTML files, light and dark, with nothing from a network.

A report fills a `Page` with sections, each a component and its data, and writes it::

    page = Page("Gradients of LeNet5", "one training step")
    page.tiles([{"label": "largest norm", "value": "12.4", "note": "conv1.weight"}])
    page.section("Parameters", "table", {
        "columns": [{"key": "name", "label": "Parameter"},
                    {"key": "norm", "label": "Norm", "format": "number"}],
        "rows": [{"id": "p0", "name": "conv1.weight", "norm": 12.4}],
        "sort": ["norm", -1]}, note="Click a row for its numbers.")
    page.record("p0", "conv1.weight", [("shape", "(6, 1, 5, 5)"), ("norm", "12.4")])
    page.write("report.html")

What has an ``id`` can be clicked, in whatever component it is: the record of that id is shown at
the side, and everything of the same id is highlighted. The components are ``tiles``, ``shares``,
``table``, ``timeline``, ``plot``, ``outline`` and ``text``; `Page.section` says what each takes.
A report may bring components of its own with `Page.script`.
"""

from .page import Page as Page
