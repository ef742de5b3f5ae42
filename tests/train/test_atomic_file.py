"""What becomes of the target of each writer: files, links, devices, pipes, sockets."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lamella as ms
from lamella import nn, ops
from lamella.train import atomic_file
from lamella.train.atomic_file import replacing
from lamella.train.exporting import export
from lamella.train.resume import save_run

ROOT = Path(ms.__file__).parents[1]


def _text(path: str) -> None:
    with replacing(path) as new, open(new, "w") as file:
        file.write("text")


WRITERS: dict[str, Callable[[str], Any]] = {
    "ckpt": lambda path: ms.save_checkpoint(nn.Dense(2, 1), path),
    "safetensors": lambda path: ms.save_checkpoint(nn.Dense(2, 1), path, format="safetensors"),
    "mindir": lambda path: export(nn.Dense(2, 1), ops.ones((1, 2)), file_name=path,
                                  file_format="MINDIR"),
    "onnx": lambda path: export(nn.Dense(2, 1), ops.ones((1, 2)), file_name=path,
                                file_format="ONNX"),
    "run.ckpt": lambda path: save_run(path, nn.Dense(2, 1)),
    "txt": _text,
}


@pytest.fixture(params=WRITERS)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Callable[[str], Any]]:
    return tmp_path / f"a.{request.param}", WRITERS[request.param]


@pytest.mark.parametrize("linked", [False, True])
def test_a_device_stays_a_device(target: Any, linked: bool) -> None:
    path, write = target
    device = path.with_name(f"device{path.suffix}") if linked else path
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))  # as /dev/null
        device.write_bytes(b"")
    except PermissionError:
        pytest.skip("only root may make a device, and not on every file system")
    if linked:
        path.symlink_to(device.name)
    write(str(path))
    assert stat.S_ISCHR(os.stat(path).st_mode) and path.is_symlink() == linked
    assert sorted(p.name for p in path.parent.iterdir()) == sorted({path.name, device.name})


@pytest.mark.parametrize("linked", [False, True])
def test_a_pipe_gets_what_a_file_would(target: Any, linked: bool) -> None:
    path, write = target
    if path.suffix == ".onnx":
        pytest.skip("PyTorch's exporter seeks in what it writes")
    pipe = path.with_name(f"pipe{path.suffix}") if linked else path
    os.mkfifo(pipe)
    if linked:
        path.symlink_to(pipe.name)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write(str(path))
    reader.join(60)
    file = path.with_name(f"file{''.join(path.suffixes)}")
    write(str(file))
    assert stat.S_ISFIFO(os.stat(path).st_mode)
    assert len(got[0]) == file.stat().st_size > 0


def test_a_link_stays_and_a_file_keeps_its_mode(target: Any) -> None:
    path, write = target
    file = path.with_name(f"old{path.suffix}")
    file.write_bytes(b"old")
    file.chmod(0o640)
    path.symlink_to(file.name)
    write(str(path))
    assert path.is_symlink() and file.read_bytes() != b"old"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert sorted(p.name for p in path.parent.iterdir()) == sorted({path.name, file.name})


def test_a_socket_is_refused(target: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path, write = target
    monkeypatch.chdir(path.parent)  # a socket's name is short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path.name)
        with pytest.raises(OSError, match="is a socket, no file"):
            write(str(path))
    assert stat.S_ISSOCK(os.stat(path).st_mode)


def test_an_error_names_the_target(target: Any) -> None:
    path, write = target
    missing = path.parent / "missing" / path.name
    with pytest.raises(OSError) as caught:
        write(str(missing))
    assert str(missing) in str(caught.value) and ".tmp" not in str(caught.value)
    os.symlink(f"/proc/{path.name}", path)  # a file system that can't be written to
    with pytest.raises(OSError) as caught:
        write(str(path))
    assert path.name in str(caught.value) and ".tmp" not in str(caught.value)


def test_an_error_of_a_read_only_disk_names_the_target(tmp_path: Path) -> None:
    # the folder is such a disk for this process only
    mounted = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
               f"mount -t tmpfs -o ro none {tmp_path} && exec \"$@\"", "sh"]
    if shutil.which("unshare") is None or subprocess.run([*mounted, "true"],
                                                         capture_output=True).returncode:
        pytest.skip("this machine lets no process mount a disk of its own")
    program = ("from lamella.train.atomic_file import replacing\n"
               f"with replacing({str(tmp_path / 'a.ckpt')!r}) as new:\n    open(new, 'w')\n")
    done = subprocess.run([*mounted, sys.executable, "-c", program], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": str(ROOT)})
    last = done.stderr.strip().splitlines()[-1]
    assert "Read-only" in last and f"'{tmp_path}/a.ckpt'" in last


@pytest.mark.parametrize("error, said", [
    (OSError(errno.ENOSPC, "No space left"), "{path}' can't be written: No space left."),
    (OSError(errno.ENOENT, "No such file", "other.txt"), "other.txt"),
    (OSError("broken"), "broken"), (ValueError("not a number"), "not a number")],
    ids=["full", "of another", "plain", "value"])
def test_an_error_while_a_pipe_is_written(tmp_path: Path, error: Exception, said: str) -> None:
    """One that names no file gets the pipe's name; all others come as they are."""
    path = str(tmp_path / "pipe")
    os.mkfifo(path)
    with pytest.raises(type(error)) as caught, replacing(path):
        raise error
    assert said.format(path=path) in str(caught.value)
    assert (caught.value is error) == ("{path}" not in said)
    assert getattr(caught.value, "errno", None) == getattr(error, "errno", None)


@pytest.mark.parametrize("error, said", [
    (OSError(errno.ENOSPC, "No space left"), "{path}' can't be written, and is as it was: No"),
    (OSError(errno.ENOENT, "No such file", "other.txt"), "other.txt"),
    (OSError("broken"), "broken"), (ValueError("not a number"), "not a number")],
    ids=["full", "of another", "plain", "value"])
def test_an_error_while_a_file_is_written(tmp_path: Path, error: Exception, said: str) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(type(error)) as caught, replacing(str(path)) as new:
        Path(new).write_text("new")
        raise error
    assert said.format(path=path) in str(caught.value)
    assert (caught.value is error) == ("{path}" not in said)
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"] and path.read_text() == "old"


def test_whether_a_process_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert not atomic_file._is_running(child.pid) and atomic_file._is_running(os.getpid())

    def refused(pid: int, signal: int) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "kill", refused)  # as of another user's
    assert atomic_file._is_running(1)
