"""Machine code: what the process that compiles gets and leaves, and what is kept of it."""

import json
import os
import sys

import pytest
import torch

from lamella.graph.ir.machine_code import MachineCode
from lamella.machine import cache

WORKER = """
import json, os, pathlib, sys
folder = pathlib.Path(sys.argv[1])
what = (folder / "graph.json").read_text()
(folder / "seen").write_text(json.dumps([
    what, (folder / "threads").read_text(), (folder / "path").read_text().split("\\n"),
    os.environ.get("OF_THE_WORKER"), sys.flags.isolated]))
if what in ("digest", "failed"):
    (folder / what).write_text("")
"""


@pytest.fixture(autouse=True)
def folder(cache_folder):
    return cache_folder


class Code(MachineCode):
    settings = {"OF_THE_WORKER": "a setting"}  # noqa: RUF012
    backends = ("replay", "other")


def made(tmp_path, key="a" * 40):
    code = Code(key)
    (tmp_path / "worker.py").write_text(WORKER)
    code.worker = str(tmp_path / "worker.py")
    return code


@pytest.mark.parametrize("what", ["digest", "failed", "nothing"])
def test_what_a_worker_finishes_is_kept(what, tmp_path, folder):
    code, texts = made(tmp_path), [what]
    assert code.entry() is None and not code.requested and not code.finished
    code.compile(texts, prompt=60.0)
    assert texts == []
    if what == "nothing":  # it may be tried again
        assert code.entry() is None and list(folder.iterdir()) == []
        return
    assert code.entry() == folder / code.key and [f.name for f in folder.iterdir()] == [code.key]
    text, threads, path, setting, isolated = json.loads((code.entry() / "seen").read_text())
    assert (text, threads, setting, isolated) == (
        what, str(torch.get_num_threads()), "a setting", 1)
    for module in (torch, sys.modules["lamella"]):
        assert os.path.dirname(os.path.dirname(module.__file__)) in path
    assert [place for place in path if place.endswith("site-packages")]
    assert {place for place in sys.path if place.endswith("site-packages")} <= set(path)


@pytest.mark.parametrize("key, kept", [(None, True), ("b" * 40, False)])
def test_without_a_name_or_a_folder_nothing_is_compiled(key, kept, tmp_path, folder, monkeypatch):
    if not kept:
        monkeypatch.setenv("LAMELLA_CACHE", "0")
    code, called = made(tmp_path, key), []
    code.compile_by(["text"], called.append)
    assert called == [] and code.entry() is None and list(folder.glob("a*")) == []


def test_the_fastest_backend_is_remembered(tmp_path, folder):
    code = made(tmp_path)
    for change in (code.forget, lambda: code.remember("other")):  # there is no entry yet
        change()
        assert code.remembered() is None
    code.compile_by(["digest"], lambda draft: (draft / "digest").write_text(""))
    assert code.remembered() is None
    for name, found in (("other", "other"), ("replay", "replay"), ("of another version", None)):
        code.remember(name)
        assert code.remembered() == found
    (folder / code.key / "fastest").write_bytes(b"\xff")
    assert code.remembered() is None
    code.remember("other")
    code.forget()
    code.forget()
    assert code.remembered() is None and cache.entry(code.key) == code.entry()
    assert Code(None).remembered() is None
    with pytest.raises(NotImplementedError):
        code.load()
