"""Fixtures of tests of graphs."""

import pytest

from lamella.graph.guards import identity
from lamella.graph.runtime import program
from lamella.graph.tracing import outside
from lamella.graph.xla import client


@pytest.fixture(params=["C++", "Python"])
def executor(request, monkeypatch):
    """Each executor in turn, and guards and the profiler in the same language."""
    if request.param == "Python":
        for left_out in (identity.extension, outside.extension, program.extension,
                         client.extension):
            monkeypatch.setattr(left_out, "module", None)
            monkeypatch.setattr(left_out, "_ready", False)
    elif program.extension.module is None:
        pytest.skip("the C++ executor isn't there")
    return request.param


@pytest.fixture
def cache_folder(tmp_path, monkeypatch):
    """A folder of a test's own to keep compiled graphs in, which `LAMELLA_CACHE` names."""
    found = tmp_path / "kept"
    found.mkdir(mode=0o700)
    monkeypatch.setenv("LAMELLA_CACHE", str(found))
    return found


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder of a module's own to keep compiled graphs in."""
    folder = tmp_path_factory.mktemp("kept graphs")
    folder.chmod(0o700)
    return folder
