"""Background processes: they end with the program, yield to it, leave nothing unfinished."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from lamella.machine import background, cache, extension, library, quiet

from ..zygote import run as python

PATIENCE = 120.0
COUNT = """
import pathlib, time
for number in range(10**9):
    pathlib.Path("count").write_text(str(number))
    time.sleep(0.005)
"""


def until(holds):
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_share_of():
    assert quiet.share_of(None) == quiet.share_of("much") == quiet.SHARE
    assert quiet.share_of("0.5") == 0.5
    assert quiet.share_of("7") == 1.0 and quiet.share_of("-1") == 0.01


def test_jobs_run_in_turn(tmp_path):
    over, done = threading.Event(), []

    def fails():
        raise OSError("the disk is full")

    background.submit(fails)
    background.submit(lambda: done.append(background.run(
        [sys.executable, "-c", "print('it says this')"], tmp_path, PATIENCE)))
    background.submit(lambda: done.append(background.run(
        [sys.executable, "-c", "raise SystemExit(3)"], tmp_path, PATIENCE)))
    background.submit(over.set)
    assert background.is_busy()
    assert over.wait(PATIENCE) and done == [True, False]
    until(lambda: not background.is_busy())


def test_threads_started_at_once_are_all_ended_with_the_program():
    begin, over, found = threading.Barrier(4), threading.Event(), []

    def start():
        begin.wait(PATIENCE)
        found.append(background.start("test", lambda: over.wait(PATIENCE)))

    starting, before = [threading.Thread(target=start) for _ in range(4)], sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in starting:
            thread.start()
        for thread in starting:
            thread.join(PATIENCE)
        assert len(found) == 4 and set(found) <= set(background._threads)
    finally:
        over.set()
        sys.setswitchinterval(before)
        for thread in found:
            thread.join(PATIENCE)


def test_a_job_that_fails_does_not_end_those_after_it(capfd):
    over = threading.Event()
    background.submit(lambda: [][0])
    background.submit(over.set)
    assert over.wait(PATIENCE)
    said = capfd.readouterr().err
    assert "IndexError" in said and "Traceback" not in said


@pytest.mark.parametrize("work", ["while True: a @ a", "background.run([sys.executable, '-c', "
                                  "'import time; time.sleep(99)'], pathlib.Path(), 99)"],
                         ids=["multiplies", "waits for a process"])
def test_the_program_ends_while_it_goes_on(work, tmp_path):
    script = tmp_path / "program.py"
    script.write_text("import pathlib, sys, threading\nimport torch\n"
                      "from lamella.machine import background\n"
                      "a, begun = torch.ones(300, 300), threading.Event()\n"
                      f"def job():\n    begun.set()\n    {work}\n"
                      "background.submit(job)\nbackground.submit(job)\nbegun.wait()\n")
    ended = python(script, cwd=tmp_path, timeout=PATIENCE)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_temporary_files_go_with_the_folder(tmp_path):
    folder = tmp_path / "draft"
    folder.mkdir()
    command = "import tempfile, time; tempfile.mkstemp('mine'); time.sleep(1000)"
    assert not background.run([sys.executable, "-c", command], folder, 2.0)
    made = tmp_path / "made"
    made.mkdir()
    assert background.run(
        [sys.executable, "-c", "import tempfile; tempfile.mkstemp('mine')"], made, PATIENCE)
    assert list(made.glob("*mine")) and not folder.exists()


@pytest.mark.parametrize("patience", [0.0, 1.0], ids=["while it starts", "while it runs"])
def test_what_takes_too_long_is_ended(patience, tmp_path):
    folder = tmp_path / "draft"
    folder.mkdir()
    assert not background.run([sys.executable, "-c", "import time; time.sleep(1000)"], folder,
                              patience)
    assert not folder.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="Linux only")
def test_it_is_quiet_and_ends_with_its_parent_even_while_it_is_stopped(tmp_path):
    """The command is stopped most of the time."""
    folder = tmp_path / "draft"
    folder.mkdir()
    code = (f"import os, subprocess, sys, time; p = subprocess.Popen([sys.executable, '-I', '-S', "
            f"{quiet.__file__!r}, str(os.getpid()), {str(folder)!r}, '0', sys.executable, '-c', "
            f"{COUNT!r}], cwd={str(folder)!r}, start_new_session=True); time.sleep(1000)")
    parent = subprocess.Popen([sys.executable, "-c", code],
                              env={**os.environ, "LAMELLA_COMPILE_SHARE": "0.01"})
    until((folder / "count").exists)
    (worker,) = [int(p) for p in os.listdir("/proc") if p.isdigit() and _runs(p, "import pathlib")]
    assert os.sched_getscheduler(worker) == os.SCHED_IDLE
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    until(lambda: not _runs(str(worker), "import pathlib") and not folder.exists())


def _runs(pid, text):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
        return len(words) > 2 and words[1] == b"-c" and words[2].strip().startswith(text.encode())
    except OSError:
        return False


def test_idle_seconds_pass():
    if sys.platform == "linux":
        assert quiet.idle_seconds() > 0
    else:
        assert quiet.idle_seconds() >= 0


@pytest.fixture
def kept(tmp_path, monkeypatch):
    tmp_path.chmod(0o700)
    monkeypatch.setenv("LAMELLA_CACHE", str(tmp_path))
    return tmp_path


def source(folder, text):
    file = folder / "module.cpp"
    file.write_text(text)
    return file


MODULE = """
#include <Python.h>
static PyModuleDef described = {PyModuleDef_HEAD_INIT, "lamella_test", nullptr, 7, nullptr};
PyMODINIT_FUNC PyInit_lamella_test() { return PyModule_Create(&described); }
"""


def run(command, folder, patience):
    return not subprocess.run(command, cwd=folder, timeout=patience, stderr=-3).returncode


@pytest.mark.skipif(extension.compiler() is None, reason="no C++ compiler here")
def test_an_extension_is_built_once_and_checked_when_it_is_loaded(kept, monkeypatch):
    file = source(kept, MODULE.replace("<Python.h>", "<Python.h>\n#include <cstdint>"))
    first = extension.Extension("lamella_test", file)
    assert first.load() is None and not first.is_awaited
    waiting = []
    monkeypatch.setattr(extension.background, "submit", waiting.append)
    first.request()
    first.request()
    assert first.is_awaited and len(waiting) == 1
    first.build(run)
    assert first.is_finished and first.load() is not None and not first.is_awaited
    again = extension.Extension("lamella_test", file)
    assert again.load() is not None and again.is_finished
    (built,) = kept.glob("*/module.so")
    content = built.read_bytes()
    built.unlink()  # this process has the old file mapped
    built.write_bytes(content[:-100])
    damaged = extension.Extension("lamella_test", file)
    assert damaged.load() is None and not built.exists()  # so that it is built again
    changed = extension.Extension("lamella_test", source(kept, MODULE + "// another\n"))
    assert changed.load() is None


@pytest.mark.skipif(extension.compiler() is None, reason="no C++ compiler here")
def test_what_cannot_be_built_is_not_tried_again(kept):
    file = source(kept, "this is no C++")
    first = extension.Extension("lamella_test", file)
    first.build(run)
    assert first.load() is None and first.is_finished
    again = extension.Extension("lamella_test", file)
    assert again.load() is None and again.is_finished
    again.request()
    assert not list(kept.glob("draft-*"))
    (mark,) = kept.glob("*/failed")
    os.utime(mark, (0, 0))  # long ago; the disk may have been full
    later = extension.Extension("lamella_test", file)
    assert later.load() is None and not later.is_finished and not mark.exists()


def test_building_imports_no_tool_of_python_packages(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "setuptools", None)  # it may be absent, or the user's
    monkeypatch.delitem(sys.modules, "torch.utils.cpp_extension", raising=False)
    command = extension.Extension("lamella_test", tmp_path / "module.cpp")._command(tmp_path)
    folders = [word[2:] for word in command if word.startswith(("-I", "-L"))]
    assert len(folders) == 4 and all(map(os.path.isdir, folders))


def test_an_extension_can_be_switched_off_or_lack_a_compiler(kept, monkeypatch):
    file = source(kept, MODULE)
    monkeypatch.setenv("LAMELLA_CPP", "0")
    off = extension.Extension("lamella_test", file)
    assert off.load() is None and off.is_finished  # without a request
    off.request()
    assert off.load() is None and off.is_finished
    monkeypatch.delenv("LAMELLA_CPP")
    monkeypatch.setenv("CXX", "no-such-compiler")
    without = extension.Extension("lamella_test", file)
    without.request()
    assert without.load() is None and without.is_finished
    monkeypatch.setenv("LAMELLA_CACHE", "0")
    nowhere = extension.Extension("lamella_test", file)
    nowhere.request()
    assert nowhere.load() is None and nowhere.is_finished


def test_a_library_is_whole(tmp_path):
    (tmp_path / "made.so").write_bytes(bytes(80))
    library.keep(tmp_path / "made.so", tmp_path)
    assert library.checked(tmp_path).read_bytes() == bytes(80)
    (tmp_path / "model.so").write_bytes(b"something else")
    with pytest.raises(ValueError, match="digest"):
        library.checked(tmp_path)
    assert cache.key_of_code("a", 1) != cache.key_of_code("a", 2)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux only")
def test_a_prompt_job_yields_once_it_has_used_its_seconds(tmp_path):
    """Its priority is ordinary at first, and the lowest after the seconds of processor time."""
    script = tmp_path / "job.py"
    script.write_text("import os, time\n"
                      "first = os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0)\n"
                      "end = time.monotonic() + 100\n"
                      "while os.getpriority(os.PRIO_PROCESS, 0) == first[0]"
                      " and time.monotonic() < end:\n    sum(range(1000))\n"
                      "raise SystemExit(0 if first[1] == os.SCHED_OTHER"
                      " and time.monotonic() < end else 1)\n")
    assert background.run([sys.executable, str(script)], tmp_path, PATIENCE,
                          {"LAMELLA_COMPILE_SHARE": "0.5"}, prompt=0.2)
