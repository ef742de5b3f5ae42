"""The pages of the reference have an entry for every public name (`docs/entries.py`)."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

import lamella as ms
from lamella.compat.foreign_names import FOREIGN_NAMES

DOCS = Path(ms.__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def entries():
    spec = importlib.util.spec_from_file_location("entries", DOCS / "entries.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["entries"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["entries"]


@pytest.fixture(scope="module")
def pages(entries):
    return {page.path: page.text for _, found in entries.pages() for page in found}


@pytest.fixture(scope="module")
def described(pages):
    """How often each path has an entry."""
    return Counter(path for text in pages.values() for path in re.findall(
        r"^(?:::: |### .* \{ #)([\w.]+)", text, re.MULTILINE))


def test_every_function_and_class_has_one_entry(entries, described):
    paths = {e.path for room in entries.NAMESPACES for e in entries.public(room)[0]}
    assert len(paths) > 2500
    assert set(described) == paths
    assert [path for path, count in described.items() if count > 1] == []


def test_every_name_of_a_room_is_on_its_page(entries, pages):
    for room in entries.NAMESPACES:
        own = entries.page_of(room)
        text = "\n".join(text for path, text in pages.items()
                         if path.startswith((f"{own}.md", f"{own}/")))
        found, constants = entries.public(room)
        missing = [e.name for e in found
                   if f"`{e.name}`" not in text and f"[{e.name}]" not in text and not re.search(
                       rf"[`.\[: #]{re.escape(e.path)}\b", text)]
        assert missing == [], room
        assert [name for name in constants if f"| `{name}` |" not in text] == [], room


@pytest.mark.parametrize("room", ["lamella.train", "lamella.dataset", "lamella.parallel",
                                  "lamella.nn.probability.distribution"])
def test_what_a_room_says_it_has_is_listed(room, entries):
    module = importlib.import_module(room)
    listed = {e.name for e in entries.public(room)[0]} | set(entries.public(room)[1])
    names = {name for name in getattr(module, "__all__", dir(module)) if not name.startswith("_")
             and not isinstance(getattr(module, name), ModuleType)
             and (getattr(getattr(module, name), "__module__", "") or "").startswith("lamella")}
    assert names <= listed


def test_the_page_of_training_is_full(pages):
    text = pages["reference/train.md"]
    assert "::: lamella.train.model.Model\n" in text and "Accuracy" in text


def test_pages_of_families_are_small_and_linked(pages):
    families = {path: text for path, text in pages.items() if path.startswith("reference/ops/")}
    assert len(families) > 50
    assert max(text.count("\n::: ") + text.count("\n### ") for text in families.values()) < 100
    index = pages["reference/ops.md"]
    for path in families:
        assert f"]({path.removeprefix('reference/')})" in index
    anchors = re.findall(r"\]\((ops/\w+\.md)#([\w.]+)\)", index)
    assert len(anchors) > 1000
    for path, anchor in anchors:
        assert anchor in pages[f"reference/{path}"]


def test_the_cheat_sheets_have_their_rows():
    rows = Counter(row.framework for row in FOREIGN_NAMES if row.theirs)
    assert rows["PyTorch"] > 20 and rows["JAX"] > 20


def test_links_of_guides_into_the_reference_lead_to_entries(pages):
    links = [(path.name, page, anchor) for path in sorted((DOCS / "tutorial").glob("*/*.md"))
             for page, anchor in re.findall(r"\.\./(reference/[\w/]+\.md)#([\w.]+)",
                                            path.read_text("utf-8"))]
    assert len(links) > 40
    lost = [link for link in links if not re.search(
        rf"^(:::|### .* \{{) ?#?{re.escape(link[2])}\b", pages.get(link[1], ""), re.MULTILINE)]
    assert lost == []
