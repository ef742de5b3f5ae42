"""The comparison of whole programs: what counts as agreement; it continues after an error."""

import lamella.alias
import pytest

from lamella import Tensor, nn
from tests.conformance import clients


class Broken(nn.Cell):
    def construct(self, x):
        raise ValueError("not today")


@pytest.fixture
def models(monkeypatch):
    def of_package(names):
        for name in names:
            yield name, (Broken if name == "broken" else lambda: nn.Conv2d(3, 2, 3)), [(2, 3, 8, 8)]

    monkeypatch.setitem(clients.PACKAGES, "mindcv", of_package)
    lamella.alias.install()
    yield
    lamella.alias.uninstall()


def test_models_that_run_and_agree(models, tmp_path, capsys):
    here, there = tmp_path / "here", tmp_path / "there"
    for path in (here, there):
        with pytest.raises(SystemExit):
            clients.record("mindcv", path, "*", ["one", "broken", "two", "other"], 1e6)
        clients.record("mindcv", path, "[!o]*", ["one", "broken", "two", "other"], 1e6)
    found = clients.read(here)
    assert list(found) == ["one", "broken", "two"]
    assert found["broken"]["error"] == "ValueError: not today"
    assert [part[0] for part in found["two"]["gradients"]] == [[2, 3, 3, 3]]
    capsys.readouterr()
    clients.compare(here, there)
    assert capsys.readouterr().out == (
        "broken | ValueError: not today | ValueError: not today\n"
        "3 models, 2 run on both sides: results agree for 2, gradients for 2 of 2\n")


def test_models_that_differ(models, tmp_path, capsys, monkeypatch):
    here, there = tmp_path / "here", tmp_path / "there"
    clients.record("mindcv", here, "*", ["one"], 1e6)
    monkeypatch.setattr(clients, "numbers",
                        lambda name, shape, draw=clients.numbers: draw(name, shape) * 1.1)
    clients.record("mindcv", there, "*", ["one"], 1e6)
    capsys.readouterr()
    clients.compare(here, there)
    assert capsys.readouterr().out == (
        "one differs\n1 models, 1 run on both sides: results agree for 0, gradients for 0 of 1\n")


def test_distance():
    some = [clients.digest(Tensor([3.0, 4.0]))]
    assert some == [[[2], 5.0, [3.0, 4.0]]]
    assert clients.distance(some, some) == 0
    assert clients.distance(some, [[[2], 5.0, [3.0, 9.0]]]) == pytest.approx(5 / 90**0.5)
    assert clients.distance(some, [[[1, 2], 5.0, [3.0, 4.0]]]) == float("inf")
    assert clients.tensors({"a": [Tensor(1), 2], "b": (None, Tensor(3))})[1] == 3
