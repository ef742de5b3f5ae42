"""What the compiler's process does in a folder, in this process."""

import hashlib
import os
import sys

import pytest
import torch

from lamella.graph.aoti import worker
from lamella.graph.ir.text import metas_of, to_text


def prepared(folder, threads="1"):
    """A folder as the parent prepares it, with the remains of an earlier attempt."""
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.output((graph.call_function(torch.ops.aten.sin.default, (x,)),))
    whole = torch.fx.GraphModule(torch.nn.Module(), graph)
    (folder / "graph.json").write_text(to_text(whole, metas_of([torch.ones(3)])))
    (folder / "threads").write_text(threads)
    for name in ("model.so", "digest"):
        (folder / name).write_text("of before")


@pytest.mark.parametrize("has_blank", [False, True])
def test_only_pythons_library_and_given_folders_are_on_the_path(has_blank, tmp_path, monkeypatch):
    folder = tmp_path / ("with blank" if has_blank else "plain") / "draft"
    folder.mkdir(parents=True)
    (folder / "path").write_text("/given\n/library\n/x/site-packages\n")
    monkeypatch.setattr(sys, "path", ["/library", "/x/site-packages", "/x/dist-packages",
                                      "/site-packages/library"])
    for name in ("TORCHINDUCTOR_CACHE_DIR", "AOT_INDUCTOR_ENABLE_LINE_TABLES"):
        monkeypatch.setenv(name, "before")
    monkeypatch.setattr(worker.tempfile, "mkdtemp", lambda prefix: f"/scratch/{prefix}")
    given, removed = [], []
    monkeypatch.setattr(worker, "compile_in", given.append)
    monkeypatch.setattr(worker.atexit, "register", lambda *args, **options: removed.append(
        (args, options)))
    worker.main(folder)
    assert given == [folder]
    assert sys.path == ["/library", "/site-packages/library", "/given", "/x/site-packages"]
    scratch = "/scratch/lamella-" if has_blank else str(folder.parent / "inductor")
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == scratch
    assert os.environ["AOT_INDUCTOR_ENABLE_LINE_TABLES"] == "0"
    assert removed == ([((worker.shutil.rmtree, scratch), {"ignore_errors": True})] if has_blank
                       else [])


@pytest.mark.parametrize("has_description", [False, True])
def test_a_compilation_takes_one_thread_and_gives_the_code_those_it_is_for(
        has_description, tmp_path, monkeypatch):
    made = tmp_path / "made"
    made.mkdir()
    (made / "c.so").write_bytes(b"the library" * 9)
    if has_description:
        (made / "c.json").write_text("kernels")
    seen = []

    def aot_compile(graph, inputs, options):  # Inductor's takes 10 s
        seen.append((torch.get_num_threads(), torch.is_grad_enabled(), options["cpp.threads"],
                     [raw.shape for raw in inputs]))
        return made / "c.so"

    monkeypatch.setattr(torch._inductor, "aot_compile", aot_compile, raising=False)
    folder = tmp_path / "draft"
    folder.mkdir()
    prepared(folder, "3")
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        worker.compile_in(folder)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen == [(1, False, 3, [(3,)])]
    assert (folder / "model.so").read_bytes() == b"the library" * 9
    assert (folder / "digest").read_text() == hashlib.sha256(b"the library" * 9).hexdigest()
    assert (folder / "model.json").exists() == has_description
    assert not made.exists() and not (folder / "failed").exists()


@pytest.mark.parametrize("missing, threads, is_kept", [
    (None, "many", True), ("threads", "1", False), ("graph.json", "1", False)])
def test_errors_but_the_systems_are_kept(missing, threads, is_kept, tmp_path):
    prepared(tmp_path, threads)
    if missing:
        (tmp_path / missing).unlink()
    before = torch.get_num_threads()
    try:
        worker.compile_in(tmp_path)
    finally:
        torch.set_num_threads(before)
    failed = tmp_path / "failed"
    assert failed.exists() == is_kept
    assert not is_kept or "ValueError" in failed.read_text()
    assert not (tmp_path / "model.so").exists() and not (tmp_path / "digest").exists()
