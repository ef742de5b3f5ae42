"""Packages: networks that run where Lamella isn't."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor, nn, ops

from ..zygote import run

RUN = Path(__file__).parents[2] / "examples" / "package" / "run.py"


class Counting(nn.Cell):
    """A layer, and a Parameter that counts calls."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Dense(4, 3, activation="relu")
        self.calls = ms.Parameter(Tensor([0.0]), name="calls", requires_grad=False)

    def construct(self, x):
        """The layer's output, and the number of the call."""
        self.calls += 1
        return self.layer(x) + 0.5, self.calls + 0


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Any:
    folder, net = tmp_path_factory.mktemp("package"), Counting().set_train(False)
    any_batch = Tensor(shape=[None, 4], dtype=ms.float32)
    ms.export(net, any_batch, file_name=str(folder / "net"), file_format="PACKAGE")
    assert os.listdir(folder) == ["net.pt2"]
    return net, folder / "net.pt2"


@pytest.mark.long("AOTInductor's code runs in tests/graph/aoti/, another format without Lamella in "
                  "test_stablehlo.py")
def test_a_process_without_lamella_runs_it(exported, tmp_path):
    net, path = exported
    blocked = tmp_path / "blocked" / "lamella"
    blocked.mkdir(parents=True)
    (blocked / "__init__.py").write_text("raise ImportError('Lamella is not here')\n")
    environment = {**os.environ, "PYTHONPATH": str(blocked.parent)}
    refused = subprocess.run([sys.executable, "-c", "import lamella"], env=environment, timeout=300,
                             cwd=tmp_path, capture_output=True, text=True)
    assert "Lamella is not here" in refused.stderr
    x = np.random.default_rng(6).standard_normal((6, 4)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    done = run(RUN, path, "y.npy", "x.npy", cwd=tmp_path, env=environment, bare=True)
    assert done.returncode == 0, done.stderr
    wanted = net.layer(Tensor(x)) + 0.5
    np.testing.assert_allclose(np.load(tmp_path / "y.npy"), wanted.asnumpy(), rtol=1e-5, atol=1e-6)


def test_what_can_not_be_compiled_leaves_no_file(tmp_path, monkeypatch):
    path = tmp_path / "net.pt2"
    path.write_bytes(b"before")
    monkeypatch.setenv("CXX", "no-such-compiler")
    monkeypatch.setattr("torch._inductor.config.cpp.cxx", (None, "no-such-compiler"))
    with pytest.raises(RuntimeError, match="can't be compiled as 'PACKAGE'"):
        ms.export(nn.Dense(5, 2), ops.ones((1, 5)), file_name=str(path), file_format="PACKAGE")
    assert path.read_bytes() == b"before" and os.listdir(tmp_path) == ["net.pt2"]
