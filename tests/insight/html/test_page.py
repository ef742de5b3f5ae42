"""The HTML page of reports: what is written, and how a browser shows it."""

from __future__ import annotations

import json
import re

import pytest

from lamella.insight.html import Page

from ...browser import click, opened, running, texts


def example() -> Page:
    page = Page("Report <of> & things", "a </script> in the subtitle")
    page.tiles([{"label": "step", "value": "1.2 ms", "note": "median"}])
    page.section("Shares", "shares", {"format": "time", "rows": [
        {"label": "phase", "parts": [{"label": "forward", "value": 1e-3, "color": 0},
                                     {"label": "backward", "value": 3e-3, "color": 1}]}]})
    page.section("Rows", "table", {
        "columns": [{"key": "name", "label": "Name", "code": True, "color": "kind"},
                    {"key": "kind", "label": "Kind"},
                    {"key": "time", "label": "Time", "format": "time", "bar": True}],
        "rows": [{"id": "a", "name": "alpha", "kind": 1, "time": 2e-3},
                 {"id": "b", "name": "beta", "kind": 2, "time": 5e-6},
                 {"id": "c", "name": "gamma" * 20, "kind": 1, "time": None}],
        "groups": ["kind"], "total": ["time"], "sort": ["time", -1]}, note="Of all kinds.")
    page.section("Time", "timeline", {
        "lanes": ["one", "two"], "format": "time",
        "items": [{"id": "a", "lane": 0, "start": 0, "length": 2e-3, "label": "alpha"},
                  {"id": "b", "lane": 1, "start": 2e-3, "length": 5e-6, "label": "beta"}]})
    page.section("Plot", "plot", {
        "x": {"label": "x", "log": True}, "y": {"label": "y"},
        "points": [{"id": "a", "x": 1, "y": 3, "label": "alpha"},
                   {"id": "b", "x": 1000, "y": -3, "label": "beta"},
                   {"id": "c", "x": 0, "y": 1, "label": "not on this scale"}],
        "lines": [{"label": "limit", "points": [[1, 0], [1000, 2]], "dashed": True}]})
    page.section("Parts", "outline", {
        "nodes": [{"id": "net", "label": "net"}, {"id": "a", "parent": "net", "label": "alpha",
                                                  "value": 2},
                  {"id": "b", "parent": "net", "label": "beta", "value": 1}],
        "edges": [["a", "b", 100]], "weight_format": "bytes"})
    page.section("Words", "text", ["A paragraph."])
    page.section("Nothing", "table", {"columns": [{"key": "a", "label": "A"}], "rows": []})
    page.section("No time", "timeline", {"lanes": [], "items": []})
    page.section("No points", "plot", {"x": {"label": "x"}, "y": {"label": "y"}, "points": []})
    page.section("No parts", "outline", {"nodes": []})
    page.record("a", "alpha", [("time", "2 ms"), ("not a number", float("nan"))], code="x = <y>")
    page.record("b", "beta", [("time", 5)])
    return page


def test_data_can_not_end_the_script_they_stand_in():
    text = example().html()
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text)
    read = json.loads(data)
    assert read["subtitle"] == "a </script> in the subtitle"
    assert read["records"]["a"]["fields"][1] == ["not a number", None]
    assert "<title>Report &lt;of&gt; &amp; things</title>" in text


def test_a_page_loads_nothing_from_a_network():
    text = example().html()
    assert "default-src 'none'" in text
    addresses = set(re.findall(r"https?://[^\"'\s]+", text))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, not loaded


def test_a_report_of_its_own_script():
    page = Page("t")
    page.script("lamella.component('mine', (body) => body.append('</script>'));")
    assert page.html().count("</script>") == 1 + 5 + 2


def test_writing_replaces_the_file_as_a_whole(tmp_path):
    target = tmp_path / "r.html"
    target.write_text("before")
    assert Page("now").write(target) == target
    assert "now" in target.read_text(encoding="utf-8")
    with pytest.raises(TypeError):
        bad = Page("bad")
        bad.section("", "text", [object()])
        bad.write(target)
    assert "now" in target.read_text(encoding="utf-8")
    assert [f.name for f in tmp_path.iterdir()] == ["r.html"]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    path = example().write(folder / "report.html")
    with running(folder / "profile") as found:
        yield opened(found, path)


def rows(browser):
    return [t.split("\t")[0] for t in texts(
        browser, "section:nth-of-type(3) tbody tr > td:first-child")]


def test_sorting(browser):
    assert rows(browser) == ["alpha", "beta", "gamma" * 20]
    click(browser, "th[data-key=time]")
    assert rows(browser) == ["beta", "alpha", "gamma" * 20]  # what has no number comes last
    click(browser, "th[data-key=name]")
    assert rows(browser)[0] == "alpha"
    click(browser, "th[data-key=name]")
    assert rows(browser)[0] == "gamma" * 20


def test_search(browser):
    box = browser.find_element("css selector", "input[type=search]")
    box.send_keys("BETA µs")
    assert rows(browser) == ["beta"]
    assert texts(browser, ".count")[0] == "1 of 3 rows"
    box.clear()
    box.send_keys("nothing of the kind")
    assert texts(browser, ".empty")[0] == "No row has these words."
    browser.execute_script("arguments[0].value = ''; "
                           "arguments[0].dispatchEvent(new Event('input'))", box)
    assert len(rows(browser)) == 3


def test_groups_fold(browser):
    browser.execute_script("const s = document.querySelector('select'); s.value = 'kind'; "
                           "s.dispatchEvent(new Event('change'))")
    assert rows(browser) == ["▶1× 2", "▶2× 1"]
    click(browser, "tr.group")
    assert len(rows(browser)) == 4
    click(browser, "tr.group")
    assert len(rows(browser)) == 2
    browser.execute_script("const s = document.querySelector('select'); s.value = ''; "
                           "s.dispatchEvent(new Event('change'))")


@pytest.mark.parametrize("where", ["tr[data-id=a]", "rect[data-id=a]", "circle[data-id=a]"])
def test_a_click_shows_the_record(browser, where):
    click(browser, where)
    assert texts(browser, "#drawer.open h2") == ["alpha"]
    assert texts(browser, "#drawer dd") == ["2 ms", "–"]
    assert texts(browser, "#drawer pre") == ["x = <y>"]
    assert len(texts(browser, ".picked")) == 4  # wherever it is shown
    click(browser, "#drawer .close")
    assert texts(browser, "#drawer.open") == [] and texts(browser, ".picked") == []


def test_the_outline_folds(browser):
    names = "[data-component=outline] .name"
    assert len(texts(browser, names)) == 1 + 2
    assert len(texts(browser, "[data-component=outline] path")) == 1
    click(browser, "[data-component=outline] .fold")
    assert texts(browser, names) == ["▶net"]
    click(browser, "[data-component=outline] .fold")
    assert len(texts(browser, names)) == 3


def test_themes(browser):
    paper = "return getComputedStyle(document.documentElement).backgroundColor"
    before = browser.execute_script(paper)
    click(browser, "#theme")
    assert browser.execute_script(paper) != before
    click(browser, "#theme")
    assert browser.execute_script(paper) == before


def test_empty_sections_say_so(browser):
    assert len(texts(browser, ".empty")) == 4
