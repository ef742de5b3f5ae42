"""A disk that is full, and a shape that no tensor can have."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest

import lamella as ms
from lamella import Tensor
from lamella.train.atomic_file import folder_for, replacing

from ..zygote import run as python

FULL = """
import resource, signal, sys
import lamella as ms
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
path, format = sys.argv[1:]
ms.save_checkpoint([{"name": "w", "data": ms.ops.ones(10)}], path, format=format)
resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000))  # as if there were no more room
try:
    ms.save_checkpoint([{"name": "w", "data": ms.ops.ones(10**6)}], path, format=format)
except OSError as error:
    print(error)
"""


@pytest.mark.parametrize("format", ["ckpt", "safetensors"])
def test_a_file_that_can_not_be_written_is_named_and_stays(tmp_path, format) -> None:
    path = tmp_path / f"net.{format}"
    run = python("-c", FULL, path, format)
    assert run.returncode == 0, run.stderr
    assert str(path) in run.stdout and "can't be written" in run.stdout, run.stdout
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    found = ms.load_checkpoint(str(path), format=format)
    np.testing.assert_array_equal(found["w"].asnumpy(), np.ones(10, np.float32))


@pytest.mark.parametrize("shape", [[0, 2**63], [2**64, 0]])
def test_a_shape_that_no_tensor_can_have(tmp_path, shape) -> None:
    header = json.dumps({"w": {"dtype": "F32", "shape": shape, "data_offsets": [0, 0]}}).encode()
    path = tmp_path / "net.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header)
    with pytest.raises(ValueError, match="can't be read"):
        ms.load_checkpoint(str(path), format="safetensors")
    assert Tensor([1.0]).shape == (1,)


def test_what_a_killed_save_of_safetensors_leaves_is_found_again(tmp_path) -> None:
    path = tmp_path / "net.safetensors"
    ms.save_checkpoint([{"name": "w", "data": ms.ops.ones(10)}], str(path), format="safetensors")
    with replacing(str(path)) as new, folder_for(new) as folder:
        Path(new).write_bytes(path.read_bytes())
        left = Path(folder.replace(f".{os.getpid()}-", ".999999999-"))
        left.mkdir()
        (left / ".tmpAbc").touch()
    assert left.is_dir() and not Path(folder).exists()
    ms.save_checkpoint([{"name": "w", "data": ms.ops.ones(10)}], str(path), format="safetensors")
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
